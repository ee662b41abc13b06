"""What the commands print about models of many trees."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from neuid3.errors import DataError

if TYPE_CHECKING:
    from neuid3.data.examples import Examples
    from neuid3.estimators.forest_model import NeurosymbolicForest
    from neuid3.estimators.sum_model import NeurosymbolicSum

    ManyTrees = NeurosymbolicSum | NeurosymbolicForest


def trees_as(model: ManyTrees, style: str, rules: bool) -> str:
    """Many trees in one of the formats of `neuid3 show`.

    Raises
    ------
    DataError : where the format is one of single trees.
    """
    match style:
        case "text":
            from neuid3.explain.page.scores import record_sentences

            return "\n".join((model.export_text(rules=rules), "", *record_sentences(model.training_record)))
        case "svg":
            return model.export_svg()
        case "json":
            return json.dumps(_to_json(model), indent=1, ensure_ascii=False)
        case _:
            raise _of_single_trees(model, style)


def _to_json(model: ManyTrees) -> dict[str, Any]:
    from neuid3.io.record import record_to_json
    from neuid3.io.serialize import schema_to_json

    record = model.training_record
    return {
        "classes": list(model.classes),
        "columns": schema_to_json(model.schema),
        "background": model.program.text,
        **model.trees_to_json(),
        "training_record": None if record is None else record_to_json(record),
    }


def trees_explanation(model: ManyTrees, examples: Examples, style: str) -> str:
    """The explanation of one row in one of the formats of `neuid3 explain`.

    Raises
    ------
    DataError : where the format is one of single trees.
    """
    explanation = model.explain(examples)
    match style:
        case "text":
            return explanation.text()
        case "json":
            return explanation.json()
        case "svg":
            return explanation.svg()
        case _:
            raise _of_single_trees(model, style)


def _of_single_trees(model: ManyTrees, style: str) -> DataError:
    return DataError(
        f"--format {style} is for single trees, and the model is a {model.noun}; choose text, json or svg."
    )
