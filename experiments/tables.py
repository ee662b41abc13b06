"""Tables of our results beside published ones, as Markdown, as JSON, or inserted into a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.published import Published
from neuid3.errors import DataError
from neuid3.utils.files import read_text, write_atomically

SHORT = "▼"
LEGEND = (
    f"Ours as mean ± standard deviation over folds or seeds (dividing by n, not n − 1), (published) in brackets. {SHORT} falls short of its bar. "
    "A cell says “3 of 7” while units are missing."
)


@dataclass(frozen=True, slots=True)
class Cell:
    """The scores or times of finished units, with the published value and a bar.

    Attributes
    ----------
    values : one score or time per finished unit, or one mean per cell.
    expected : number of units when all are finished.
    published : the published mean, with or without its standard deviation.
    bar : the mean has to be at least this, or at most this where `at_most` is set.
    decimals : digits after the point; None: two below 10, none above.
    show_std : whether the standard deviation is shown.
    unit_counts : finished and expected units of a cell whose values are means of other cells.
    """

    values: tuple[float, ...]
    expected: int
    published: Published | float | None = None
    bar: float | None = None
    at_most: bool = False
    decimals: int | None = 3
    show_std: bool = True
    unit_counts: tuple[int, int] | None = None

    @property
    def units(self) -> tuple[int, int]:
        """Finished and expected units."""
        return self.unit_counts or (len(self.values), self.expected)

    @property
    def mean(self) -> float | None:
        return float(np.mean(self.values)) if self.values else None

    @property
    def std(self) -> float | None:
        return float(np.std(self.values)) if self.values else None

    @property
    def comparable(self) -> bool:
        """Whether there is a bar and enough units to compare with it: one for a mean of units, all for a mean of cells."""
        finished, expected = self.units
        return self.bar is not None and finished > 0 and (self.unit_counts is None or finished == expected)

    @property
    def short(self) -> bool:
        """Whether the mean misses its bar; False where it is not comparable yet."""
        if self.mean is None or self.bar is None or not self.comparable:
            return False
        return self.mean > self.bar if self.at_most else self.mean < self.bar

    def __str__(self) -> str:
        parts = ["–"]
        if self.mean is not None:
            parts = [self._format(self.mean, self.mean)]
            if self.show_std and len(self.values) > 1:
                parts.append(f"± {self._format(self.std or 0.0, self.mean)}")
            if self.short:
                parts.append(SHORT)
        if isinstance(self.published, Published):
            mean, std = self.published.mean, self.published.std
            parts.append(f"({self._format(mean, mean)} ± {self._format(std, mean)})")
        elif self.published is not None:
            parts.append(f"({self._format(self.published, self.published)})")
        finished, expected = self.units
        if self.values and finished < expected:
            parts.append(f"{finished} of {expected}{' units' if self.unit_counts else ''}")
        return " ".join(parts)

    def _format(self, number: float, size: float) -> str:
        """A number with the decimals of a number of this size."""
        return f"{number:.{(0 if size >= 10 else 2) if self.decimals is None else self.decimals}f}"

    def as_json(self) -> dict[str, Any]:
        published = self.published
        return {
            "mean": self.mean,
            "std": self.std,
            "units": self.units[0],
            "of": self.units[1],
            "published": published.mean if isinstance(published, Published) else published,
            "published_std": published.std if isinstance(published, Published) else None,
            "bar": self.bar,
            "short": self.short,
        }


Entry = Cell | str | int


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title; the first entry of a row is its name. `needs` is the command that runs units of other reports."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    needs: str = ""

    def cells_with_bars(self) -> Iterator[tuple[str, Cell]]:
        """All cells with a bar, each with the names of its row and column."""
        for row in self.rows:
            for column, entry in zip(self.columns, row, strict=True):
                if isinstance(entry, Cell) and entry.bar is not None:
                    yield f"{row[0]} ({column})", entry

    def markdown(self) -> str:
        title = f"**{self.title}**" + (f" (with units of `{self.needs}`)" if self.needs else "")
        lines = [title, "", _line(self.columns), _line(["---"] * len(self.columns))]
        return "\n".join([*lines, *(_line(row) for row in self.rows)])

    def as_json(self) -> dict[str, Any]:
        rows = [
            {
                column: entry.as_json() if isinstance(entry, Cell) else entry
                for column, entry in zip(self.columns, row, strict=True)
            }
            for row in self.rows
        ]
        return {"title": self.title, "needs": self.needs, "rows": rows}


@dataclass(frozen=True, slots=True)
class Report:
    """All tables of an experiment, its finished and expected units, and the commands that run and draw it."""

    name: str
    finished: int
    expected: int
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()

    @property
    def commands(self) -> tuple[str, str]:
        return f"python -m experiments reproduce {self.name}", f"python -m experiments reproduce table {self.name}"

    @property
    def verdict(self) -> str | None:
        """How many bars are met, and the names of missed ones; None where no cell is comparable yet."""
        cells = [named for table in self.tables for named in table.cells_with_bars()]
        comparable = sum(cell.comparable for _, cell in cells)
        missed = [f"{name} {cell.mean:.3f}, bar {cell.bar:.4f}" for name, cell in cells if cell.short]
        if not comparable:
            return None
        met = "All" if not missed and comparable == len(cells) else f"{comparable - len(missed)} of"
        pending = f" {len(cells) - comparable} wait for units." if comparable < len(cells) else ""
        short = f" {SHORT} Short: {'; '.join(missed)}." if missed else ""
        return f"**{met} {len(cells)} bars are met.{pending}{short}**"

    def markdown(self) -> str:
        run, draw = self.commands
        units = f"{self.finished} of {self.expected} units. Run by `{run}`, drawn by `{draw}`."
        summary = [units] if self.verdict is None else [units, self.verdict]
        return "\n\n".join([*summary, *(table.markdown() for table in self.tables), *self.notes, LEGEND])

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "commands": list(self.commands),
            "finished": self.finished,
            "of": self.expected,
            "verdict": self.verdict,
            "tables": [table.as_json() for table in self.tables],
            "notes": list(self.notes),
        }


def insert(page: Path, tables: Mapping[str, str]) -> None:
    """Replace the text between `<!-- table:NAME -->` and `<!-- /table:NAME -->` in a page, for every name."""
    text = read_text(page, "Markdown page")
    for name, table in tables.items():
        between = re.compile(rf"(<!-- table:{name} -->\n).*?(<!-- /table:{name} -->)", re.DOTALL)
        text, replaced = between.subn(lambda marks, table=table: f"{marks[1]}\n{table}\n\n{marks[2]}", text)  # type: ignore[misc]
        if not replaced:
            raise DataError(
                f"{page} has no marks <!-- table:{name} --> … <!-- /table:{name} -->; add them, one a line."
            )
    write_atomically(page, text.encode())


def _line(entries: Any) -> str:
    return "| " + " | ".join(str(entry) for entry in entries) + " |"
