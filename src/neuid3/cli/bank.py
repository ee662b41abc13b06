"""How is a bank of trained tests kept from the command line?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.cli.common import FILE, limit_option, load_classifier
from neuid3.errors import BankError, did_you_mean
from neuid3.utils.output import remember

if TYPE_CHECKING:
    from neuid3.logic.sandbox import Limits

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


@click.group()
def bank() -> None:
    """Keep trained tests for the next tree.

    A bank is a folder with a file for each test, which tells what it means, what it was trained on and what it told there.

    Example: neuid3 bank add tests/ cards.neuid3 --meaning "the second card is higher", then
    neuid3 fit other.csv --target result --bank tests/
    """


@bank.command()
@click.argument("folder", type=FILE)
@click.argument("model", type=FILE)
@click.option(
    "--test", "atom", metavar="ATOM", help="Which test of the model.  [default: all that look through networks]"
)
@click.option("--name", metavar="NAME", help="What the test is called in the bank.  [default: its predicate]")
@click.option("--meaning", default="", metavar="TEXT", help="What the test means, in your words.")
@click.option("--trained-on", default="", metavar="TEXT", help="What it was trained on.  [default: the model's file]")
@limit_option
def add(
    folder: Path,
    model: Path,
    atom: str | None,
    name: str | None,
    meaning: str,
    trained_on: str,
    limits: Limits | None,
) -> None:
    """Put tests of a model into a bank.

    Example: neuid3 bank add tests/ cards.neuid3 --test "higher(second, first)" --name higher
    """
    clf = load_classifier(model, limits)
    from neuid3.io.bank import Bank

    found = {str(test): test for test in clf.tests_ if test.networks}
    if not found:
        raise BankError(f"{model} has no test that looks through a network, so there is nothing trained to be kept.")
    if atom is not None and atom not in found:
        raise BankError(f"{model} has no test '{atom}' with networks.{did_you_mean(atom, found)}")
    if name is not None and atom is None and len(found) > 1:
        raise BankError(f"{model} has {len(found)} tests; say with --test which of them is to be called {name!r}.")
    kept = Bank(folder)
    wanted = [said for said in found if atom in (None, said)]
    names = [name] if name is not None else _names(wanted)
    for called in names:
        if called in kept.names():  # before anything is written
            raise BankError(f"The bank has a test {called!r}; remove it first, or give this one another --name.")
    for said, called in zip(wanted, names, strict=True):
        card = {"meaning": meaning, "trained_on": trained_on or _shown(model), "scores": _scores(clf, said)}
        path = kept.add(called, found[said], **card)
        remember(f"the bank has {', '.join(names[: names.index(called) + 1])}")
        click.echo(f"{said} is in the bank as {path.stem}.")


def _shown(path: Path) -> str:
    """A path as text; what in it is no UTF-8 is spelled out."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def _names(tests: Sequence[str]) -> list[str]:
    """Tests by their predicates, numbered from the second of the same one on.

    >>> _names(["bright(left)", "higher(a, b)", "bright(right)"])
    ['bright', 'higher', 'bright-2']
    """
    predicates = [test.split("(")[0] for test in tests]
    seen = [predicates[: place + 1].count(predicate) for place, predicate in enumerate(predicates)]
    return [name if count == 1 else f"{name}-{count}" for name, count in zip(predicates, seen, strict=True)]


def _scores(clf: Any, said: str) -> dict[str, float]:
    """What the test told in the tree it comes from."""
    from neuid3.tree.tree import branches

    node = next(branch for branch in branches(clf.tree_.root) if str(branch.test) == said)
    scores = {} if node.gain is None else {"gain": round(node.gain, 4)}
    return scores if node.masses is None else {**scores, "mass": round(sum(node.masses), 1)}


@bank.command(name="list")
@click.argument("folder", type=FILE)
@as_json
def list_(folder: Path, as_json: bool) -> None:
    """List the tests of a bank.

    Example: neuid3 bank list tests/
    """
    kept = _opened(folder)
    cards = [kept.card(name) for name in kept.names()]
    if as_json:
        click.echo(json.dumps(cards, indent=1, ensure_ascii=False))
        return
    width = max((len(card["name"]) for card in cards), default=0)
    for card in cards:
        meaning = f"  {card['meaning']}" if card.get("meaning") else ""
        click.echo(f"{card['name']:{width}}  {card['test']}{meaning}")
    if not cards:
        click.echo("The bank is empty; `neuid3 bank add` puts tests of a model into it.")


@bank.command()
@click.argument("folder", type=FILE)
@click.argument("name")
@as_json
def show(folder: Path, name: str, as_json: bool) -> None:
    """Show the card of a test.

    Example: neuid3 bank show tests/ higher
    """
    card = _opened(folder).card(name)
    from neuid3.io.bank import card_text

    click.echo(json.dumps(card, indent=1, ensure_ascii=False) if as_json else card_text(card))


@bank.command()
@click.argument("folder", type=FILE)
@click.argument("name")
def remove(folder: Path, name: str) -> None:
    """Take a test out of a bank; its file is deleted.

    Example: neuid3 bank remove tests/ higher
    """
    _opened(folder).remove(name)
    remember(f"{name} is no longer in the bank")
    click.echo(f"{name} is no longer in the bank.")


def _opened(folder: Path) -> Any:
    from neuid3.errors import MissingFileError
    from neuid3.io.bank import Bank

    if not folder.is_dir():
        raise MissingFileError(f"There is no bank {folder}; `neuid3 bank add` makes one.")
    return Bank(folder)
