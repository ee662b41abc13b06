"""The command `show`: the tree of a saved model in several formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.cli.common import FILE, limit_option, load_classifier, out_option, write_output
from neuid3.errors import DataError

if TYPE_CHECKING:
    from neuid3.estimators.classifier import NeuID3Classifier
    from neuid3.logic.sandbox import Limits

FORMATS = ("text", "svg", "dot", "problog", "json")


@click.command()
@click.argument("model", type=FILE)
@click.option("--format", "style", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--json", "style", flag_value="json", help="The same as --format json.")
@click.option("--rules", is_flag=True, help="Print the rules behind the tests below the tree; for text only.")
@limit_option
@out_option
def show(model: Path, style: str, rules: bool, limits: Limits | None, out: Path | None) -> None:
    """Show the tree of a model.

    As text, as a figure (svg), for Graphviz (dot), as a ProbLog program for an example in which every column is missing, or
    as JSON with its columns and rules.

    Example: neuid3 show cards.neuid3 --format svg --out tree.svg
    """
    if rules and style != "text":
        raise DataError(f"--rules applies to text, not to --format {style}; leave one of them out.")
    write_output([_tree_as(load_classifier(model, limits), style, rules).rstrip("\n") + "\n"], out, model)


def _tree_as(clf: NeuID3Classifier, style: str, rules: bool) -> str:
    import neuid3

    match style:
        case "text":
            from neuid3.explain.page.scores import record_sentences

            return "\n".join((clf.export_text(rules=rules), "", *record_sentences(clf.training_record_)))
        case "svg":
            return neuid3.export_svg(clf)
        case "dot":
            return neuid3.export_graphviz(clf)
        case "problog":
            return _program(clf)
        case _:
            return json.dumps(_tree_to_json(clf), indent=1, ensure_ascii=False)


def _program(clf: NeuID3Classifier) -> str:
    from neuid3.data.columns import all_missing
    from neuid3.data.examples import Examples

    unknown = Examples({name: all_missing(clf.schema_[name], 1) for name in clf.model_.columns})
    return clf.model_.to_problog(unknown)


def _tree_to_json(clf: NeuID3Classifier) -> dict[str, Any]:
    from neuid3.io.record import record_to_json
    from neuid3.io.serialize import nodes_to_json, schema_to_json

    record = clf.training_record_
    return {
        "classes": clf.classes_.tolist(),
        "columns": schema_to_json(clf.schema_),
        "background": clf.model_.program.text,
        "nodes": nodes_to_json(clf.tree_.root),
        "training_record": None if record is None else record_to_json(record),
    }
