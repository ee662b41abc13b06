"""The table of the command `fit`: its rows, labels of concepts, and the rows held out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from neuid3.cli.common import row_location
from neuid3.cli.fit_options import FitOptions, read_relations
from neuid3.errors import DataError, LabelWarning

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from neuid3.data.columns import Schema
    from neuid3.data.examples import Examples
    from neuid3.data.reading import TableData
    from neuid3.data.reading.sheet import TextTable
    from neuid3.estimators.tree_estimator import TreeEstimator
    from neuid3.logic.program import Declaration
    from neuid3.tree.anchors import Anchors
    from neuid3.tree.record import ConceptScore


@dataclass(frozen=True)
class FitData:
    """The rows of a table, divided into those that are learned from and those held out.

    Attributes
    ----------
    table : the rows of the table, with their classes or numbers.
    test_rows : the mask of the rows held out.
    declarations : the neural declarations that labels of concepts refer to; empty where the table has no labels.
    labels : the labels of concepts.
    anchors : the same, with one label for an image.
    calibration_rows : the mask of the rows held out to calibrate the tree.
    groups : the number of each row's group, which is held out or learned from as a whole; None without groups.
    weights : the weight of each row; None where all have the same.
    """

    table: TableData
    test_rows: npt.NDArray[np.bool_]
    declarations: Mapping[int, Declaration]
    labels: Anchors
    anchors: Anchors
    calibration_rows: npt.NDArray[np.bool_]
    groups: npt.NDArray[np.int64] | None = None
    weights: npt.NDArray[np.float64] | None = None

    @property
    def training_rows(self) -> npt.NDArray[np.bool_]:
        """The mask of the rows that are learned from."""
        return ~(self.test_rows | self.calibration_rows)

    @property
    def targets(self) -> npt.NDArray[Any]:
        """The class or the number of each row."""
        assert self.table.labels is not None
        return self.table.labels

    @property
    def is_regression(self) -> bool:
        """Whether numbers are predicted."""
        return self.table.task == "regression"

    def rows(self, mask: npt.NDArray[np.bool_]) -> tuple[Examples, npt.NDArray[Any], dict[str, Any]]:
        """The examples of some rows, their targets and the labels of their images."""
        from neuid3.tree.anchors import selected_concepts

        concepts = selected_concepts(self.anchors, self.declarations, mask)
        return self.table.examples[mask], self.targets[mask], concepts


def read_fit_data(options: FitOptions, rules: str, echo: Callable[[str], object]) -> FitData:
    """Read the table, say how each column was read, check the labels of concepts and hold rows out."""
    import numpy as np

    from neuid3.data.parts import has_parts
    from neuid3.data.reading.part_files import with_part_files
    from neuid3.data.reading.sheet import open_text_table
    from neuid3.data.reading.table import read_text_table, text_schema
    from neuid3.data.slots import needed_slots, unfolded
    from neuid3.tree.anchors import distinct
    from neuid3.tree.labels import columns_like_calls, label_columns, read_labels
    from neuid3.tree.number_criterion import NumberCriterion

    types = _declared_kinds(options.types)
    text_table = with_part_files(open_text_table(options.table), options.parts, options.part_relations)
    types |= _no_tests(options, text_table)
    like_calls = columns_like_calls(text_table.columns, with_parts=bool(options.parts))
    may_have_labels = options.concept_file is not None or bool(like_calls)
    schema = text_schema(text_table, types) if may_have_labels else {}
    declarations = _declarations(rules, options, schema) if may_have_labels else {}
    table = read_text_table(
        text_table,
        types,
        target=options.target,
        task=options.task,
        image_size=options.image_size,
        concept_columns=label_columns(text_table.columns, declarations, schema),
        concept_file=options.concept_file,
    )
    groups, weights = _groups(options, text_table, table), _weights(options, text_table, table)
    if groups is not None:
        found = f"{int(groups.max()) + 1:,} groups of rows that are held out together"
        table = _with_summary(table, options.groups, "groups", found)
    if weights is not None:
        table = _with_summary(table, options.weights, "weights", f"from {weights.min():g} to {weights.max():g}")
    assert table.labels is not None
    echo(f"{options.table.name}: {len(table.examples):,} rows\n\n{table}\n")
    slots = needed_slots(table.examples) if has_parts(table.examples.schema) else None
    labels = read_labels(
        table.concepts, unfolded(table.examples, slots), declarations, location=row_location(table.lines)
    )
    anchors = distinct(labels)
    strata = NumberCriterion().strata(table.labels) if table.task == "regression" else table.labels
    test_rows = _held_out_rows(strata, options, anchors, groups)
    calibration_rows = _calibration_rows(test_rows, options.calibration, options.seed, groups)
    if groups is not None and len(np.unique(groups[~(test_rows | calibration_rows)])) == 1:
        raise DataError(
            f"--groups {options.groups} leaves a single group to learn from; add groups, or hold out less with --held-out."
        )
    return FitData(table, test_rows, declarations, labels, anchors, calibration_rows, groups, weights)


def _no_tests(options: FitOptions, table: TextTable) -> dict[str, str]:
    """The declared kinds of the columns of groups and weights: they are no candidate tests."""
    from neuid3.errors import did_you_mean

    kinds = {}
    for option, name in (("--groups", options.groups), ("--weights", options.weights)):
        if name is None:
            continue
        if name == options.target:
            raise DataError(f"{option} {name} is the target; name another column.")
        if table.columns.get(name) is None:
            raise DataError(
                f"{option} {name} is no column of {table.path.name} with text or numbers.{did_you_mean(name, table.columns)}"
            )
        kinds[name] = "ignore"
    return kinds


def _labelled(options: FitOptions, text_table: TextTable, table: TableData) -> TextTable:
    """The rows that have a class or a number."""
    from neuid3.data.reading.targets import labelled_rows

    return labelled_rows(text_table, options.target, "number" if table.task == "regression" else "class")[0]


def _weights(options: FitOptions, text_table: TextTable, table: TableData) -> npt.NDArray[np.float64] | None:
    """The weight of each row that has a class or a number."""
    import numpy as np

    from neuid3.data.reading.cells import number_column

    if options.weights is None:
        return None
    column = number_column(options.weights, _labelled(options, text_table, table))
    wrong = ~(column.values >= 0) if column.missing is None else column.missing | ~(column.values >= 0)
    if wrong.any():
        line = row_location(table.lines)(int(np.flatnonzero(wrong)[0]))
        raise DataError(f"--weights {options.weights} has no weight of 0 or more in {line}; mend the cell.")
    weights: npt.NDArray[np.float64] = column.values
    return weights


def read_validation_table(options: FitOptions, fit_data: FitData) -> tuple[Examples, npt.NDArray[Any]]:
    """The examples and targets of the table of `--validation`, read as those of TABLE are."""
    from neuid3.data.reading import read_table

    assert options.validation is not None
    read = read_table(
        options.validation,
        target=options.target,
        task=fit_data.table.task or "classification",
        schema=fit_data.table.examples.schema,
    )
    assert read.labels is not None
    return read.examples, read.labels


def _groups(options: FitOptions, text_table: TextTable, table: TableData) -> npt.NDArray[np.int64] | None:
    """The number of the group of each row that has a class or a number."""
    import numpy as np

    from neuid3.data.groups import group_numbers
    from neuid3.data.reading.cells import cells_and_missing

    if options.groups is None:
        return None
    cells, missing = cells_and_missing(options.groups, _labelled(options, text_table, table))
    entries = [None if is_missing else cell for cell, is_missing in zip(cells, missing, strict=True)]
    return group_numbers(entries, np.ones(len(entries), dtype=bool), row_location(table.lines))


def _with_summary(table: TableData, name: str | None, kind: str, details: str) -> TableData:
    """The table, whose summary says what a column is used for."""
    summaries = [
        replace(column, kind=kind, details=details) if column.name == name else column for column in table.columns
    ]
    return replace(table, columns=tuple(summaries))


def _calibration_rows(
    test_rows: npt.NDArray[np.bool_], fraction: float, seed: int, groups: npt.NDArray[np.int64] | None
) -> npt.NDArray[np.bool_]:
    """A mask of a random fraction of all rows, none of which is held out already.

    They are drawn without regard to classes: calibration rows must come about as later rows do.
    """
    import numpy as np

    from neuid3.data.splits import drawn_rows

    chosen = drawn_rows(fraction, np.random.default_rng([seed, 1]), ~test_rows, groups)
    if (test_rows | chosen).all():
        raise DataError(
            f"--calibration {fraction:g} with the rows held out leaves none to learn from; hold out less, or calibrate with less."
        )
    return chosen


def _declared_kinds(types: tuple[str, ...]) -> dict[str, str]:
    declared = {}
    for entry in types:
        name, equals, kind = entry.rpartition("=")
        if not equals or not name:
            raise DataError(f"--type {entry!r} is incomplete; write --type COLUMN=KIND.")
        declared[name.strip()] = kind.strip()
    return declared


def _declarations(rules: str, options: FitOptions, schema: Schema) -> Mapping[int, Declaration]:
    """The neural declarations of the rules, which labels of concepts refer to."""
    from neuid3.logic.relations import with_relations
    from neuid3.queries.grounding import read_program

    text = with_relations(rules, read_relations(options.relations), schema, options.limits)
    return read_program(text, schema, options.limits).declarations


def _held_out_rows(
    labels: npt.NDArray[Any], options: FitOptions, anchors: Anchors, groups: npt.NDArray[np.int64] | None
) -> npt.NDArray[np.bool_]:
    """The mask of the held-out rows; where concepts have few labels, none of these is among them."""
    from neuid3.data.splits import held_out_rows
    from neuid3.tree.anchors import anchored_rows

    kept = anchored_rows(anchors, len(labels)) if anchors else None
    return held_out_rows(labels, options.held_out, options.seed, kept=kept, groups=groups)


def warn_of_contradictions(estimator: TreeEstimator, fit_data: FitData) -> None:
    """Warn where labels contradict the classes of more lines of the table than noise explains."""
    import numpy as np

    from neuid3.identifiability import contradiction_message

    if not fit_data.labels or fit_data.is_regression:
        return
    table, model = fit_data.table, estimator.model_
    known = {label: number for number, label in enumerate(model.classes)}
    classes = np.array([known[label] for label in fit_data.targets.tolist()])
    examples = model.read_with(table.examples)
    message = contradiction_message(model, examples, fit_data.labels, classes, row_location(table.lines))
    if message is not None:
        warnings.warn(message, LabelWarning, stacklevel=2)


def concept_scores(estimator: TreeEstimator, fit_data: FitData) -> tuple[ConceptScore, ...]:
    """The concept accuracy on labels of held-out rows, where there are any, else on those that the fit held out."""
    examples, _, concepts = fit_data.rows(fit_data.test_rows)
    return estimator.score_concepts(examples, concepts) if concepts else estimator.concept_scores_
