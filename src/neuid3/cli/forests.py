"""What the commands print about a forest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from neuid3.errors import DataError

if TYPE_CHECKING:
    from neuid3.data.examples import Examples
    from neuid3.estimators.forest_model import NeurosymbolicForest


def forest_as(model: NeurosymbolicForest, style: str, rules: bool) -> str:
    """A forest in one of the formats of `neuid3 show`.

    Raises
    ------
    DataError : where the format is one of single trees.
    """
    match style:
        case "text":
            from neuid3.explain.page.scores import record_sentences
            from neuid3.export.forests import forest_text

            program = [f"\n{model.program.text.strip()}"] if rules and model.program.text.strip() else []
            return "\n".join((forest_text(model), *program, "", *record_sentences(model.training_record)))
        case "json":
            return json.dumps(_forest_to_json(model), indent=1, ensure_ascii=False)
        case _:
            raise DataError(f"--format {style} is for single trees, and the model is a forest; choose text or json.")


def _forest_to_json(model: NeurosymbolicForest) -> dict[str, Any]:
    from neuid3.export.forests import importances
    from neuid3.io.record import record_to_json
    from neuid3.io.serialize import nodes_to_json, schema_to_json

    record = model.training_record
    return {
        "classes": list(model.classes),
        "columns": schema_to_json(model.schema),
        "background": model.program.text,
        "importances": dict(importances(model)),
        "trees": [nodes_to_json(model.forest.tree(number).root) for number in range(len(model.forest))],
        "training_record": None if record is None else record_to_json(record),
    }


def forest_explanation(model: NeurosymbolicForest, examples: Examples, style: str) -> str:
    """The explanation of one row in one of the formats of `neuid3 explain`.

    Raises
    ------
    DataError : where the format is one of single trees.
    """
    explanation = model.explain(examples)
    match style:
        case "text":
            return str(explanation)
        case "json":
            return explanation.json()
        case _:
            raise DataError(f"--format {style} is for single trees, and the model is a forest; choose text or json.")
