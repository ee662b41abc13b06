"""Suggested labels: the images whose labels settle most of what the values of a tree's networks mean."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, overload

from neuid3.data.columns import are_image_names
from neuid3.data.reading.concepts import FILE_COLUMNS, SEPARATOR
from neuid3.errors import DataError, MissingPackageError
from neuid3.tree.labels import call_text
from neuid3.utils.files import write_atomically

# The columns of the table to fill in; the first three are those that `neuid3 fit --concepts` reads.
TABLE_COLUMNS = (*FILE_COLUMNS, "row", "columns", "values", "predicted", "probability", "why")


@dataclass(frozen=True, slots=True)
class LabelSuggestion:
    """An image, or several that a network reads together, to be labelled.

    Attributes
    ----------
    row : the row of the table, counted from 0.
    columns : the columns that the network reads.
    predicate : the neural predicate, or the network where several networks have one predicate.
    values : the values that a label may have; `no` and `yes` for a neural fact.
    predicted : the most probable value of the network.
    probability : its probability.
    reason : why a label is suggested.
    settles : whether the label is one of a smallest set that leaves one reading.
    cells : the cell of each column where the table is one of text, such as the path of an image; empty otherwise.
    """

    row: int
    columns: tuple[str, ...]
    predicate: str
    values: tuple[str, ...]
    predicted: str
    probability: float
    reason: str
    settles: bool
    cells: tuple[str, ...] = ()

    @property
    def concept(self) -> str:
        """The network call that the label is for, as in `rank(first)`: a key of `concepts`."""
        return call_text(self.predicate, self.columns)

    def to_record(self) -> dict[str, Any]:
        """The suggestion as a line of the table to fill in, with an empty value.

        A single image of a file is named by its path and the predicate; other inputs by their cells and the network call.

        Returns
        -------
        Plain values by column.
        """
        is_file = len(self.cells) == 1 and are_image_names(self.cells)
        return dict(
            zip(
                TABLE_COLUMNS,
                (
                    SEPARATOR.join(self.cells),
                    self.predicate if is_file else self.concept,
                    "",
                    self.row,
                    ", ".join(self.columns),
                    ", ".join(self.values),
                    self.predicted,
                    round(self.probability, 4),
                    self.reason,
                ),
                strict=True,
            )
        )


@dataclass(frozen=True, slots=True)
class LabelSuggestions(Sequence[LabelSuggestion]):
    """Images to label, those that settle most first; `print` shows them as text.

    Attributes
    ----------
    suggestions : the images.
    notes : sentences about what the labels settle, and about limits that were reached.
    rows : the number of examples.
    """

    suggestions: tuple[LabelSuggestion, ...]
    notes: tuple[str, ...]
    rows: int

    def __len__(self) -> int:
        return len(self.suggestions)

    def __iter__(self) -> Iterator[LabelSuggestion]:
        return iter(self.suggestions)

    @overload
    def __getitem__(self, index: int) -> LabelSuggestion: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[LabelSuggestion, ...]: ...

    def __getitem__(self, index: int | slice) -> LabelSuggestion | tuple[LabelSuggestion, ...]:
        return self.suggestions[index]

    def __str__(self) -> str:
        head = ("row", "concept", "network says", "why")
        lines = [
            (str(s.row), s.concept, f"{s.predicted} ({probability_text(s.probability)})", s.reason)
            for s in self.suggestions
        ]
        table = [head, *lines] if lines else []
        widths = [max(len(line[i]) for line in table) for i in range(3)] if table else []
        rows = [
            f"{line[0]:>{widths[0]}}  {line[1]:<{widths[1]}}  {line[2]:<{widths[2]}}  {line[3]}".rstrip()
            for line in table
        ]
        return "\n".join([*rows, *self.notes])

    def to_records(self) -> list[dict[str, Any]]:
        """The table to fill in: a dictionary for each suggestion, with an empty `value`.

        Returns
        -------
        Dictionaries with the columns of the file.
        """
        return [suggestion.to_record() for suggestion in self.suggestions]

    def to_frame(self) -> Any:
        """The table to fill in, as a DataFrame.

        Returns
        -------
        A `pandas.DataFrame` with a row for each suggestion and an empty column `value`.

        Raises
        ------
        MissingPackageError : where pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise MissingPackageError("A DataFrame needs pandas: pip install pandas; or use to_records().") from None
        return pandas.DataFrame(self.to_records(), columns=list(TABLE_COLUMNS))

    def to_csv(self, path: Path | str | None = None) -> str:
        """The table to fill in, as CSV; `neuid3 fit --concepts` reads the filled file.

        Parameters
        ----------
        path : a file to write it to, atomically.

        Returns
        -------
        The text.
        """
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, TABLE_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.to_records())
        if path is not None:
            write_atomically(Path(path), text.getvalue().encode("utf-8"))
        return text.getvalue()

    def to_concepts(self, values: Iterable[Any]) -> dict[str, list[Any]]:
        """Labels for these suggestions, in the form that `concepts` has in Python.

        Parameters
        ----------
        values : a label for each suggestion, None, NaN or "" where there is none, such as a filled column `value`.

        Returns
        -------
        By network call, as in `rank(first)`, an entry for each example; None where there is no label.

        Raises
        ------
        DataError : where the number of labels is another.
        """
        given = list(values)
        if len(given) != len(self):
            raise DataError(
                f"There are {len(given)} labels for {len(self)} suggestions; give one, or None, for each of them."
            )
        concepts: dict[str, list[Any]] = {}
        for suggestion, value in zip(self.suggestions, given, strict=True):
            concepts.setdefault(suggestion.concept, [None] * self.rows)[suggestion.row] = value
        return concepts

    def with_cells(self, table: Mapping[str, Sequence[str] | None]) -> LabelSuggestions:
        """The same suggestions with the cells of their inputs, such as paths of images, for the file to fill in.

        Parameters
        ----------
        table : the cells of each column.

        Returns
        -------
        The suggestions.
        """

        def cells(suggestion: LabelSuggestion) -> tuple[str, ...]:
            columns = [table.get(name) for name in suggestion.columns]
            return tuple(column[suggestion.row] for column in columns if column is not None)

        return replace(self, suggestions=tuple(replace(s, cells=cells(s)) for s in self.suggestions))


def probability_text(probability: float) -> str:
    """A probability in percent, rounded down, so that only certainty is 100%.

    >>> probability_text(1.0), probability_text(0.9996), probability_text(0.514)
    ('100%', '99%', '51%')
    """
    return f"{int(100 * probability + 1e-9)}%"
