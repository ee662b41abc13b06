"""The command `show`: the tree of a saved model in several formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.cli.common import FILE, has_many_trees, limit_option, open_any_model, out_option, write_output
from neuid3.cli.ensembles import trees_as
from neuid3.errors import DataError

if TYPE_CHECKING:
    from neuid3.estimators.model import NeurosymbolicTree
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

    As text, as a figure (svg), for Graphviz (dot), as a ProbLog program for an example in which every column is missing and
    that owns no parts, or as JSON with its columns and rules.

    Example: neuid3 show cards.neuid3 --format svg --out tree.svg
    """
    if rules and style != "text":
        raise DataError(f"--rules applies to text, not to --format {style}; leave one of them out.")
    opened = open_any_model(model, limits)
    text = trees_as(opened, style, rules) if has_many_trees(opened) else _tree_as(opened, style, rules)
    write_output([text.rstrip("\n") + "\n"], out, model)


def _tree_as(model: NeurosymbolicTree, style: str, rules: bool) -> str:
    import neuid3

    match style:
        case "text":
            from neuid3.explain.page.scores import record_sentences

            return "\n".join((neuid3.export_text(model, rules=rules), "", *record_sentences(model.training_record)))
        case "svg":
            return neuid3.export_svg(model)
        case "dot":
            return neuid3.export_graphviz(model)
        case "problog":
            return _program(model)
        case _:
            return json.dumps(_tree_to_json(model), indent=1, ensure_ascii=False)


def _program(model: NeurosymbolicTree) -> str:
    from neuid3.data.columns import all_missing
    from neuid3.data.examples import Examples
    from neuid3.data.parts import has_parts

    columns = {
        name: all_missing(kind, 1)
        for name, kind in model.schema.items()
        if name in model.columns or has_parts({name: kind})
    }
    unknown = Examples(columns)
    return model.to_problog(unknown)


def _tree_to_json(model: NeurosymbolicTree) -> dict[str, Any]:
    from neuid3.io.record import record_to_json
    from neuid3.io.serialize import nodes_to_json, schema_to_json

    record = model.training_record
    return {
        "classes": list(model.classes),
        "columns": schema_to_json(model.schema),
        "background": model.program.text,
        "nodes": nodes_to_json(model.tree.root),
        "training_record": None if record is None else record_to_json(record),
    }
