"""How do the facts become one page that needs nothing but itself?"""

from __future__ import annotations

import html
import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from sklearn.utils.validation import check_is_fitted

from neuid3 import __version__
from neuid3.data.examples import Examples
from neuid3.errors import ExportError, TreeError
from neuid3.explain.page.content import End, Facts, Question, Reached, Shown, gather
from neuid3.explain.page.pictures import PageImages, Wanted, page_images
from neuid3.explain.page.scores import sentences
from neuid3.export import export_text
from neuid3.tree.model import TreeModel
from neuid3.tree.tree import NetworkStatistics
from neuid3.utils.files import write_atomically

TITLE = "What the tree looks at"


def evidence_page(model: Any, X: Any, y: Any = None, *, title: str = TITLE, images: int = 9) -> str:
    """One page of HTML that shows what a tree looks at: every test with its rules and the examples it is surest of.

    `X` is the table to be shown, and `y` its classes where they are known; `images` examples of each kind are shown.
    Rows that the tree was learned from are recognised and counted apart from the others. The page holds everything it needs
    and asks no other machine for anything.
    """
    return page_and_scores(model, X, y, title=title, images=images)[0]


def page_and_scores(
    model: Any, X: Any, y: Any = None, *, title: str = TITLE, images: int = 9
) -> tuple[str, tuple[str, ...]]:
    """The page, and the sentences about scores at its top."""
    tree = _tree_of(model)
    examples = tree.read(X)
    facts = gather(tree, examples, y, images, X)
    scores = sentences(facts.tallies, tree.training_record)
    style, script = _file("page.css"), _file("page.js")
    page = Template(_file("page.html")).substitute(
        title=html.escape(title),
        policy=html.escape(_policy(style, script)),
        style=style,
        script=script,
        facts=data_text(_told(facts, scores, _album(facts, examples))),
        text=html.escape("\n".join((export_text(tree.tree), "", *scores))),
    )
    return page, scores


def write_page(
    path: str | Path,
    model: Any,
    X: Any,
    y: Any = None,
    *,
    title: str = TITLE,
    images: int = 9,
) -> Path:
    """Write `evidence_page` to a file, which is there whole or not at all."""
    return keep_page(path, evidence_page(model, X, y, title=title, images=images))


def keep_page(path: str | Path, page: str) -> Path:
    """Write a page to a file, which is there whole or not at all."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, page.encode("utf-8"))
    except OSError as error:
        raise ExportError(f"The page cannot be written to {target} ({error.strerror}); choose another place.") from None
    return target


def _tree_of(model: Any) -> TreeModel:
    if hasattr(model, "get_params"):
        check_is_fitted(model)
    found = getattr(model, "model_", model)
    if isinstance(found, TreeModel):
        return found
    raise TreeError(
        f"A page is made of a fitted NeuID3Classifier or of a NeurosymbolicTree; found a {type(model).__name__}."
    )


def _file(name: str) -> str:
    return files("neuid3.explain.page").joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """What the browser may do with this page: show its pictures, its one style and its one script, nothing else."""
    return (
        f"default-src 'none'; img-src data:; style-src {_fingerprint(style)}; script-src {_fingerprint(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _fingerprint(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def data_text(facts: Any) -> str:
    """Facts as JSON that can stand inside a script element, whatever names they hold.

    >>> data_text(["</script>"])
    '["\\\\u003c/script\\\\u003e"]'
    """
    text = json.dumps(facts, separators=(",", ":"), allow_nan=False)  # ASCII only, so U+2028 is escaped, too
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


# Facts as the script reads them --------------------------------------------------------------------


def _album(facts: Facts, examples: Examples) -> PageImages:
    needed = [(shown.row, column) for shown in _all_shown(facts) for column in shown.columns]
    # Whoever chooses an example wants to see all of it, also what the test that showed it did not look at.
    by_tests = dict.fromkeys(shown.row for shown in _all_shown(facts))
    return page_images(examples, needed, [(row, column) for row in by_tests for column in facts.columns])


def _all_shown(facts: Facts) -> Iterable[Shown]:
    yield from facts.surprises
    for node in facts.nodes:
        if isinstance(node, Question):
            yield from (*node.surely_true, *node.undecided, *node.surely_false)
    for predicate in facts.predicates:
        for value in predicate.values:
            yield from value.shown


def _told(facts: Facts, scores: Sequence[str], pictures: PageImages) -> dict[str, Any]:
    return {
        "version": __version__,
        "classes": facts.classes,
        "rows": facts.rows,
        "columns": facts.columns,
        "scores": scores,
        "nodes": [_question(node) if isinstance(node, Question) else _end(node) for node in facts.nodes],
        "networks": [
            {
                "name": predicate.network,
                "predicate": predicate.predicate,
                "reads": predicate.reads,
                "askedBy": predicate.asked_by,
                "looks": predicate.looks,
                "values": [
                    {
                        "name": value.name,
                        "count": value.count,
                        "sureness": _rounded(value.sureness),
                        "shown": _strip(value.shown),
                    }
                    for value in predicate.values
                ],
            }
            for predicate in facts.predicates
        ],
        "surprises": _strip(facts.surprises),
        "examples": [
            {
                "row": example.row,
                "label": example.label,
                "classes": [_rounded(p) for p in example.probabilities],
                "answers": [_rounded(answer) for answer in example.answers],
                "values": dict(example.values),
                "calls": example.calls,
                "learned": example.learned,
                "pictures": _pictures(example.row, facts.columns, pictures),
            }
            for example in facts.examples
        ],
        "pictures": pictures.pictures,
    }


def _question(node: Question) -> dict[str, Any]:
    return {
        "test": node.test,
        "rules": node.rules,
        "networks": node.networks,
        "columns": node.columns,
        "gain": node.gain,
        "statistics": node.statistics and _statistics(node.statistics),
        "yes": node.yes,
        "no": node.no,
        "strips": [_strip(shown) for shown in (node.surely_true, node.undecided, node.surely_false)],
        "sides": node.sides and [{"values": side.values, **_reached(side.reached)} for side in node.sides],
        **_reached(node.reached),
    }


def _statistics(statistics: NetworkStatistics) -> dict[str, Any]:
    return {
        "decided": statistics.decided,
        "trained": statistics.trained_gain,
        "unseen": statistics.unseen_gain,
        "unseenMass": statistics.unseen_mass,
        "nearChance": statistics.near_chance,
    }


def _end(node: End) -> dict[str, Any]:
    return {"probabilities": node.probabilities, **_reached(node.reached)}


def _reached(reached: Reached) -> dict[str, Any]:
    # As they are: shares that are counted from rounded masses would not be those of the tree's text and pictures.
    return {
        "training": reached.training,
        "trainingMass": reached.written,
        "mass": reached.mass,
        "shares": reached.classes,
    }


def _strip(strip: Iterable[Shown]) -> list[list[Any]]:
    return [[shown.row, _rounded(shown.probability), shown.columns] for shown in strip]


def _pictures(row: int, columns: Sequence[str], pictures: PageImages) -> dict[str, int]:
    wanted: list[Wanted] = [(row, column) for column in columns]
    return {column: pictures.places[row, column] for row, column in wanted if (row, column) in pictures.places}


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 4)
