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
    """

    table: TableData
    test_rows: npt.NDArray[np.bool_]
    declarations: Mapping[int, Declaration]
    labels: Anchors
    anchors: Anchors
    calibration_rows: npt.NDArray[np.bool_]
    groups: npt.NDArray[np.int64] | None = None

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

    from neuid3.data.reading.part_files import with_part_files
    from neuid3.data.reading.sheet import open_text_table
    from neuid3.data.reading.table import read_text_table
    from neuid3.tree.anchors import distinct
    from neuid3.tree.labels import label_columns, read_labels
    from neuid3.tree.number_criterion import NumberCriterion

    types = _declared_kinds(options.types)
    text_table = with_part_files(open_text_table(options.table), options.parts, options.part_relations)
    types |= _group_kind(options, text_table)
    declarations = _declarations(rules, options, text_table, types)
    table = read_text_table(
        text_table,
        types,
        target=options.target,
        task=options.task,
        image_size=options.image_size,
        concept_columns=label_columns(text_table.columns, declarations),
        concept_file=options.concept_file,
    )
    groups = _groups(options, text_table, table)
    table = table if groups is None else _with_group_column(table, options.groups, groups)
    assert table.labels is not None
    echo(f"{options.table.name}: {len(table.examples):,} rows\n\n{table}\n")
    labels = read_labels(table.concepts, table.examples, declarations, location=row_location(table.lines))
    anchors = distinct(labels)
    strata = NumberCriterion().strata(table.labels) if table.task == "regression" else table.labels
    test_rows = _held_out_rows(strata, options, anchors, groups)
    calibration_rows = _calibration_rows(test_rows, options.calibration, options.seed, groups)
    if groups is not None and len(np.unique(groups[~(test_rows | calibration_rows)])) == 1:
        raise DataError(
            f"--groups {options.groups} leaves a single group to learn from; add groups, or hold out less with --held-out."
        )
    return FitData(table, test_rows, declarations, labels, anchors, calibration_rows, groups)


def _group_kind(options: FitOptions, table: TextTable) -> dict[str, str]:
    """The declared kind of the column of groups: it is no candidate test."""
    from neuid3.errors import did_you_mean

    if options.groups is None:
        return {}
    if options.groups == options.target:
        raise DataError(f"--groups {options.groups} is the target; name another column.")
    if table.columns.get(options.groups) is None:
        raise DataError(
            f"--groups {options.groups} is no column of {table.path.name} with text or numbers."
            f"{did_you_mean(options.groups, table.columns)}"
        )
    return {options.groups: "ignore"}


def _groups(options: FitOptions, text_table: TextTable, table: TableData) -> npt.NDArray[np.int64] | None:
    """The number of the group of each row that has a class or a number."""
    import numpy as np

    from neuid3.data.groups import group_numbers
    from neuid3.data.reading.cells import cells_and_missing
    from neuid3.data.reading.targets import labelled_rows

    if options.groups is None:
        return None
    kind = "number" if table.task == "regression" else "class"
    cells, missing = cells_and_missing(options.groups, labelled_rows(text_table, options.target, kind)[0])
    entries = [None if is_missing else cell for cell, is_missing in zip(cells, missing, strict=True)]
    return group_numbers(entries, np.ones(len(entries), dtype=bool), row_location(table.lines))


def _with_group_column(table: TableData, name: str | None, groups: npt.NDArray[np.int64]) -> TableData:
    """The table, whose summary says that a column holds groups."""
    count = int(groups.max()) + 1
    summaries = [
        replace(column, kind="groups", details=f"{count:,} groups of rows that are held out together")
        if column.name == name
        else column
        for column in table.columns
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


def _declarations(
    rules: str, options: FitOptions, table: TextTable, types: Mapping[str, str]
) -> Mapping[int, Declaration]:
    """The neural declarations of the rules, where labels of concepts may refer to them."""
    from neuid3.data.reading.table import text_schema
    from neuid3.logic.program import Program
    from neuid3.logic.relations import with_relations
    from neuid3.tree.labels import looks_like_call

    if options.concept_file is None and not any(map(looks_like_call, table.columns)):
        return {}
    schema, relations = text_schema(table, types), read_relations(options.relations)
    return Program(with_relations(rules, relations, schema, options.limits), schema, options.limits).declarations


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
    table = fit_data.table
    known = {label: number for number, label in enumerate(estimator.model_.classes)}
    classes = np.array([known[label] for label in fit_data.targets.tolist()])
    message = contradiction_message(
        estimator.model_, table.examples, fit_data.labels, classes, row_location(table.lines)
    )
    if message is not None:
        warnings.warn(message, LabelWarning, stacklevel=2)


def concept_scores(estimator: TreeEstimator, fit_data: FitData) -> tuple[ConceptScore, ...]:
    """The concept accuracy on labels of held-out rows, where there are any, else on those that the fit held out."""
    examples, _, concepts = fit_data.rows(fit_data.test_rows)
    return estimator.score_concepts(examples, concepts) if concepts else estimator.concept_scores_
