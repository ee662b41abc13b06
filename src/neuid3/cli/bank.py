"""The commands `bank …`: add, list, show and remove trained tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.cli.common import FILE, limit_option, open_model
from neuid3.errors import BankError, did_you_mean
from neuid3.utils.output import set_outcome

if TYPE_CHECKING:
    from neuid3.logic.sandbox import Limits
    from neuid3.tree.tree import Tree

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


@click.group()
def bank() -> None:
    """Manage a bank of trained tests for reuse in other trees.

    A bank is a folder with one file for each test, which documents its meaning, its training data and its gain.

    Example: neuid3 bank add tests/ cards.neuid3 --meaning "the second card is higher", then
    neuid3 fit other.csv --target result --bank tests/
    """


@bank.command()
@click.argument("folder", type=FILE)
@click.argument("model", type=FILE)
@click.option("--test", "atom", metavar="ATOM", help="A test of the model.  [default: all tests with networks]")
@click.option("--name", metavar="NAME", help="Name of the test in the bank.  [default: its predicate]")
@click.option("--meaning", default="", metavar="TEXT", help="Meaning of the test, as free text.")
@click.option(
    "--trained-on", default="", metavar="TEXT", help="Training data, as free text.  [default: the model's file]"
)
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
    """Add tests of a model to a bank.

    Example: neuid3 bank add tests/ cards.neuid3 --test "higher(second, first)" --name higher
    """
    tree_model = open_model(model, limits)
    from neuid3.io.bank import Bank
    from neuid3.io.trained_tests import trained_tests

    tests = {str(test): test for test in trained_tests(tree_model) if test.networks}
    if not tests:
        raise BankError(f"{model} has no test with networks, so there are no trained parameters to keep.")
    if atom is not None and atom not in tests:
        raise BankError(f"{model} has no test '{atom}' with networks.{did_you_mean(atom, tests)}")
    if name is not None and atom is None and len(tests) > 1:
        raise BankError(f"{model} has {len(tests)} tests; give the one to be named {name!r} by --test.")
    target = Bank(folder)
    selected = [test for test in tests if atom in (None, test)]
    names = [name] if name is not None else _names(selected)
    for test_name in names:
        if test_name in target.names():  # before anything is written
            raise BankError(f"The bank has a test {test_name!r}; remove it first, or give another --name.")
    for test, test_name in zip(selected, names, strict=True):
        card = {
            "meaning": meaning,
            "trained_on": trained_on or _printable(model),
            "scores": _scores(tree_model.tree, test),
        }
        path = target.add(test_name, tests[test], **card)
        set_outcome(f"the bank has {', '.join(names[: names.index(test_name) + 1])}")
        click.echo(f"{test} is in the bank as {path.stem}.")


def _printable(path: Path) -> str:
    """A path as text; bytes that are not UTF-8 are escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def _names(tests: Sequence[str]) -> list[str]:
    """The predicates of tests as their names, with a number from the second test of a predicate on.

    >>> _names(["bright(left)", "higher(a, b)", "bright(right)"])
    ['bright', 'higher', 'bright-2']
    """
    predicates = [test.split("(")[0] for test in tests]
    counts = [predicates[: index + 1].count(predicate) for index, predicate in enumerate(predicates)]
    return [name if count == 1 else f"{name}-{count}" for name, count in zip(predicates, counts, strict=True)]


def _scores(tree: Tree, test: str) -> dict[str, float]:
    """The gain and mass of a test in a tree."""
    from neuid3.tree.tree import branches

    node = next(branch for branch in branches(tree.root) if str(branch.test) == test)
    scores = {} if node.gain is None else {"gain": round(node.gain, 4)}
    return scores if node.masses is None else {**scores, "mass": round(sum(node.masses), 1)}


@bank.command(name="list")
@click.argument("folder", type=FILE)
@as_json
def list_(folder: Path, as_json: bool) -> None:
    """List the tests of a bank.

    Example: neuid3 bank list tests/
    """
    tests = _open_bank(folder)
    cards = [tests.card(name) for name in tests.names()]
    if as_json:
        click.echo(json.dumps(cards, indent=1, ensure_ascii=False))
        return
    width = max((len(card["name"]) for card in cards), default=0)
    for card in cards:
        meaning = f"  {card['meaning']}" if card.get("meaning") else ""
        click.echo(f"{card['name']:{width}}  {card['test']}{meaning}")
    if not cards:
        click.echo("The bank is empty; add tests of a model with `neuid3 bank add`.")


@bank.command()
@click.argument("folder", type=FILE)
@click.argument("name")
@as_json
def show(folder: Path, name: str, as_json: bool) -> None:
    """Show the card of a test.

    Example: neuid3 bank show tests/ higher
    """
    card = _open_bank(folder).card(name)
    from neuid3.io.bank import card_text

    click.echo(json.dumps(card, indent=1, ensure_ascii=False) if as_json else card_text(card))


@bank.command()
@click.argument("folder", type=FILE)
@click.argument("name")
def remove(folder: Path, name: str) -> None:
    """Remove a test from a bank; its file is deleted.

    Example: neuid3 bank remove tests/ higher
    """
    _open_bank(folder).remove(name)
    set_outcome(f"{name} is no longer in the bank")
    click.echo(f"{name} is no longer in the bank.")


def _open_bank(folder: Path) -> Any:
    from neuid3.errors import MissingFileError
    from neuid3.io.bank import Bank

    if not folder.is_dir():
        raise MissingFileError(f"There is no bank {folder}; create one with `neuid3 bank add`.")
    return Bank(folder)
