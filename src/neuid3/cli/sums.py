"""What the commands print about a boosted sum."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from neuid3.errors import DataError

if TYPE_CHECKING:
    from neuid3.data.examples import Examples
    from neuid3.data.reading import TextTable
    from neuid3.estimators.sum_model import NeurosymbolicSum

# The number of rows read and predicted at a time; their images are in memory together.
BATCH = 4096


def sum_predictions(model: NeurosymbolicSum, text_table: TextTable) -> Iterator[str]:
    """Lines of a CSV: the predicted class and its probabilities, or the predicted number, of every row."""
    from neuid3.data.reading import read_with_schema

    head: list[list[Any]] = [["prediction", *(f"p_{label}" for label in model.classes)]]
    for start in range(0, len(text_table), BATCH):
        batch = text_table.take(range(start, min(start + BATCH, len(text_table))))
        examples = read_with_schema(batch, model.schema, model.columns)
        rows: list[list[Any]]
        if model.classes:
            probabilities = model.predict_proba(examples)
            best = [model.classes[i] for i in probabilities.argmax(axis=1)]
            rows = [
                [label, *(f"{p:.6f}" for p in row)] for label, row in zip(best, probabilities.tolist(), strict=True)
            ]
        else:
            rows = [[repr(number)] for number in model.predict(examples).tolist()]
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows(head + rows)
        yield buffer.getvalue()
        head = []


def sum_as(model: NeurosymbolicSum, style: str, rules: bool) -> str:
    """A sum in one of the formats of `neuid3 show`.

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
            return json.dumps(_sum_to_json(model), indent=1, ensure_ascii=False)
        case _:
            raise DataError(f"--format {style} is for single trees, and the model is a sum; choose text, svg or json.")


def _sum_to_json(model: NeurosymbolicSum) -> dict[str, Any]:
    from neuid3.io.record import record_to_json
    from neuid3.io.serialize import schema_to_json
    from neuid3.io.sums import sum_to_json

    record = model.training_record
    return {
        "classes": list(model.classes),
        "columns": schema_to_json(model.schema),
        "background": model.program.text,
        "sum": sum_to_json(model.boosted_sum),
        "training_record": None if record is None else record_to_json(record),
    }


def sum_explanation(model: NeurosymbolicSum, examples: Examples, style: str) -> str:
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
            raise DataError(f"--format {style} is for single trees, and the model is a sum; choose text, json or svg.")
