"""Rendering of the evidence page as one self-contained HTML file."""

from __future__ import annotations

import html
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from neuid3.data.examples import Examples
from neuid3.errors import ExportError
from neuid3.explain.page.content import BranchContent, LeafContent, NodeMasses, PageContent, Tile, page_content
from neuid3.explain.page.numbers import NumberContent
from neuid3.explain.page.pictures import Entry, PageImages, page_images
from neuid3.explain.page.scores import score_sentences
from neuid3.explain.quotes import with_sources
from neuid3.export import export_text
from neuid3.export.palette import css_variables
from neuid3.export.unwrap import is_forest, is_sum, model_of
from neuid3.tree.anchors import distinct
from neuid3.tree.concept_accuracy import concept_scores
from neuid3.tree.labels import model_labels
from neuid3.tree.reliability import Reliability
from neuid3.tree.tree import NetworkStatistics
from neuid3.utils.files import write_atomically
from neuid3.utils.versions import installed_version

TITLE = "Evidence page"


def evidence_page(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    title: str = TITLE,
    images: int = 9,
    concepts: Mapping[str, Any] | None = None,
) -> str:
    """The evidence page of a tree: every test with its rules and most certain examples, and the values of every network.

    The page is complete in itself and loads nothing from the internet. Rows that the tree was learned from are recognised
    and counted separately.

    Parameters
    ----------
    model : a model or a fitted estimator, of one tree, of a boosted sum or of a forest.
    X : the table to be shown.
    y : the classes of its rows, or their numbers, if known.
    title : the title of the page.
    images : the most examples of each kind.
    concepts : labels of what networks see, as in `fit`, for their concept accuracy on this table; columns of `X` with
        names such as `rank(first)` hold labels too.

    Returns
    -------
    The HTML text.
    """
    return page_and_scores(model, X, y, title=title, images=images, concepts=concepts)[0]


def page_and_scores(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    title: str = TITLE,
    images: int = 9,
    concepts: Mapping[str, Any] | None = None,
) -> tuple[str, tuple[str, ...], Reliability | None]:
    """The evidence page, the sentences about scores at its top, and the reliability on rows that were not learned from."""
    if is_forest(model):
        from neuid3.explain.page.forests import forest_page  # it needs this module

        return forest_page(getattr(model, "model_", model), X, y, title=title)
    if is_sum(model):
        from neuid3.explain.page.sums import sum_page  # it needs this module

        return sum_page(model, X, y, title=title)
    tree = model_of(model, "columns and networks, of which a page is made")
    labelled, labels = model_labels(tree, X, concepts)
    examples = tree.read(X)
    content = page_content(tree, examples, y, images, X)
    of_concepts = concept_scores(tree, labelled, distinct(labels))
    scores = score_sentences(content.row_groups, tree.training_record, of_concepts)
    style, script = css_variables() + page_file("page.css"), page_file("page.js")
    page = Template(page_file("page.html")).substitute(
        title=html.escape(title),
        policy=html.escape(content_policy(style, script)),
        style=style,
        script=script,
        content=script_json(_content_to_json(content, scores, _pictures(content, with_sources(tree, examples, X)))),
        text=html.escape("\n".join((export_text(tree), "", *scores))),
    )
    return page, scores, content.reliability


def write_page(
    path: str | Path,
    model: Any,
    X: Any,
    y: Any = None,
    *,
    title: str = TITLE,
    images: int = 9,
    concepts: Mapping[str, Any] | None = None,
) -> Path:
    """Write the evidence page to a file, atomically.

    Parameters
    ----------
    path : the file.
    model, X, y, title, images, concepts : as in `evidence_page`.

    Returns
    -------
    The path of the file.
    """
    return save_page(path, evidence_page(model, X, y, title=title, images=images, concepts=concepts))


def save_page(path: str | Path, page: str) -> Path:
    """Write a page to a file, atomically; returns the path."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, page.encode("utf-8"))
    except OSError as error:
        raise ExportError(f"The page cannot be written to {target} ({error.strerror}); choose another path.") from None
    return target


def page_file(name: str) -> str:
    """The text of a file beside this module."""
    return files("neuid3.explain.page").joinpath(name).read_text(encoding="utf-8")


def content_policy(style: str, script: str) -> str:
    """The content security policy: the browser may show the pictures, the style and the script of the page, nothing else."""
    return (
        f"default-src 'none'; img-src data:; style-src {_source_hash(style)}; script-src {_source_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _source_hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def script_json(content: Any) -> str:
    """JSON that is safe inside a script element, whatever strings it contains.

    >>> script_json(["</script>"])
    '["\\\\u003c/script\\\\u003e"]'
    """
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)  # ASCII only, so U+2028 is escaped, too
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


# Content as JSON, with the field names that page.js reads -----------------------------------------


def _pictures(content: PageContent, examples: Examples) -> PageImages:
    required = [(tile.row, column) for tile in _all_tiles(content) for column in tile.columns]
    # The panel of a selected example shows all its columns, also those that the test of its tile does not read.
    rows = dict.fromkeys(tile.row for tile in _all_tiles(content))
    return page_images(examples, required, [(row, column) for row in rows for column in content.columns])


def _all_tiles(content: PageContent) -> Iterable[Tile]:
    yield from content.errors
    for node in content.nodes:
        if isinstance(node, BranchContent):
            yield from (*node.surely_true, *node.undecided, *node.surely_false)
    for predicate in content.predicates:
        for value in predicate.values:
            yield from value.shown


def _content_to_json(content: PageContent, scores: Sequence[str], pictures: PageImages) -> dict[str, Any]:
    return {
        "version": installed_version(),
        "classes": content.classes,
        "rows": content.rows,
        "columns": content.columns,
        "scores": scores,
        "nodes": [_branch_to_json(n) if isinstance(n, BranchContent) else _leaf_to_json(n) for n in content.nodes],
        "networks": [
            {
                "name": predicate.network,
                "predicate": predicate.predicate,
                "inputs": predicate.inputs,
                "branches": predicate.branches,
                "calls": predicate.calls,
                "fixed": predicate.fixed,
                "values": [
                    {
                        "name": value.name,
                        "count": value.count,
                        "probability": _rounded(value.mean_probability),
                        "tiles": _tiles_to_json(value.shown),
                    }
                    for value in predicate.values
                ],
            }
            for predicate in content.predicates
        ],
        "instances": content.instances,
        "errors": _tiles_to_json(content.errors),
        "reliability": None if content.reliability is None else content.reliability.to_json(),
        "examples": [
            {
                "row": example.row,
                "label": example.label,
                "classes": [_rounded(p) for p in example.probabilities],
                "responses": [_rounded(response) for response in example.responses],
                "values": dict(example.values),
                "networkValues": example.network_values,
                "learned": example.learned,
                "pictures": _picture_indices(example.row, content.columns, pictures),
            }
            for example in content.examples
        ],
        "pictures": pictures.pictures,
        "numbers": content.numbers and _numbers_to_json(content.numbers),
    }


def _numbers_to_json(numbers: NumberContent) -> dict[str, Any]:
    return {
        "nodes": [{"said": node.said, "found": node.found, "residual": node.residual} for node in numbers.nodes],
        "predictions": {str(row): [said, true] for row, said, true in numbers.predictions},
        "points": numbers.points,
    }


def _branch_to_json(node: BranchContent) -> dict[str, Any]:
    return {
        "test": node.test,
        "rules": node.rules,
        "networks": node.networks,
        "columns": node.columns,
        "gain": node.gain,
        "statistics": node.statistics and _statistics_to_json(node.statistics),
        "yes": node.yes,
        "no": node.no,
        "strips": [_tiles_to_json(strip) for strip in (node.surely_true, node.undecided, node.surely_false)],
        "sides": node.sides and [{"values": side.values, **_masses_to_json(side.masses)} for side in node.sides],
        **_masses_to_json(node.masses),
    }


def _statistics_to_json(statistics: NetworkStatistics) -> dict[str, Any]:
    return {
        "decided": statistics.decided,
        "trained": statistics.trained_gain,
        "unseen": statistics.unseen_gain,
        "unseenMass": statistics.unseen_mass,
        "nearChance": statistics.near_chance,
    }


def _leaf_to_json(node: LeafContent) -> dict[str, Any]:
    goal = {"goal": node.goal, "noise": node.noise, "rules": node.rules, "networks": node.networks} if node.goal else {}
    return {"probabilities": node.probabilities, **goal, **_masses_to_json(node.masses)}


def _masses_to_json(masses: NodeMasses) -> dict[str, Any]:
    # Not rounded: shares of rounded masses would differ from those in text exports and drawings.
    return {
        "training": masses.training,
        "trainingMass": masses.training_text,
        "mass": masses.mass,
        "shares": masses.classes,
    }


def _tiles_to_json(tiles: Iterable[Tile]) -> list[list[Any]]:
    return [[tile.row, _rounded(tile.probability), tile.columns] for tile in tiles]


def _picture_indices(row: int, columns: Sequence[str], pictures: PageImages) -> dict[str, int]:
    entries: list[Entry] = [(row, column) for column in columns]
    return {column: pictures.index[row, column] for row, column in entries if (row, column) in pictures.index}


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 4)
