"""How is a table drawn? Cells of numbers beside published ones, as Markdown, as JSON, or into a page."""

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
    """The scores or times of a cell's finished units; of how many units; what was published; what must be reached.

    `rests` is for cells whose values are means themselves: on how many units of how many all of them rest. Where
    `decimals` is None, large numbers have fewer of them.
    """

    values: tuple[float, ...]
    of: int
    published: Published | float | None = None
    bar: float | None = None
    at_most: bool = False
    decimals: int | None = 3
    spread: bool = True
    rests: tuple[int, int] | None = None

    @property
    def units(self) -> tuple[int, int]:
        """How many units are finished, and how many there are to be."""
        return self.rests or (len(self.values), self.of)

    @property
    def mean(self) -> float | None:
        return float(np.mean(self.values)) if self.values else None

    @property
    def std(self) -> float | None:
        return float(np.std(self.values)) if self.values else None

    @property
    def judged(self) -> bool:
        """Is there a bar, and enough to be held to it? Some units are; a mean over cells has to rest on all of its own."""
        finished, wanted = self.units
        return self.bar is not None and finished > 0 and (self.rests is None or finished == wanted)

    @property
    def short(self) -> bool:
        """Does the mean miss its bar? What cannot be judged yet misses nothing."""
        if self.mean is None or self.bar is None or not self.judged:
            return False
        return self.mean > self.bar if self.at_most else self.mean < self.bar

    def __str__(self) -> str:
        parts = ["–"]
        if self.mean is not None:
            parts = [self._written(self.mean, self.mean)]
            if self.spread and len(self.values) > 1:
                parts.append(f"± {self._written(self.std or 0.0, self.mean)}")
            if self.short:
                parts.append(SHORT)
        if isinstance(self.published, Published):
            mean, std = self.published.mean, self.published.std
            parts.append(f"({self._written(mean, mean)} ± {self._written(std, mean)})")
        elif self.published is not None:
            parts.append(f"({self._written(self.published, self.published)})")
        finished, wanted = self.units
        if self.values and finished < wanted:
            parts.append(f"{finished} of {wanted}{' units' if self.rests else ''}")
        return " ".join(parts)

    def _written(self, number: float, size: float) -> str:
        """A number with as many decimals as one of this size has."""
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
    """Rows under one title; the first entry of a row is its name. `needs` is a command that makes what is beside the report's own units."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    needs: str = ""

    def held(self) -> Iterator[tuple[str, Cell]]:
        """The cells that have something to reach, each by the names of its row and column."""
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
    """All tables of an experiment, how many of its units they rest on, and the commands that make them."""

    name: str
    finished: int
    of: int
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()

    @property
    def commands(self) -> tuple[str, str]:
        return f"python -m experiments reproduce {self.name}", f"python -m experiments reproduce table {self.name}"

    @property
    def verdict(self) -> str | None:
        """How many bars are met, and by name those that are not; None where nothing can be judged yet."""
        held = [named for table in self.tables for named in table.held()]
        judged = sum(cell.judged for _, cell in held)
        missed = [f"{name} {cell.mean:.3f}, bar {cell.bar:.4f}" for name, cell in held if cell.short]
        if not judged:
            return None
        met = "All" if not missed and judged == len(held) else f"{judged - len(missed)} of"
        waiting = f" {len(held) - judged} wait for units." if judged < len(held) else ""
        short = f" {SHORT} Short: {'; '.join(missed)}." if missed else ""
        return f"**{met} {len(held)} bars are met.{waiting}{short}**"

    def markdown(self) -> str:
        run, draw = self.commands
        rests = f"{self.finished} of {self.of} units. Run by `{run}`, drawn by `{draw}`."
        told = [rests] if self.verdict is None else [rests, self.verdict]
        return "\n\n".join([*told, *(table.markdown() for table in self.tables), *self.notes, LEGEND])

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "commands": list(self.commands),
            "finished": self.finished,
            "of": self.of,
            "verdict": self.verdict,
            "tables": [table.as_json() for table in self.tables],
            "notes": list(self.notes),
        }


def insert(page: Path, tables: Mapping[str, str]) -> None:
    """Replace what stands between `<!-- table:NAME -->` and `<!-- /table:NAME -->` in a page, for every name."""
    text = read_text(page, "Markdown page")
    for name, table in tables.items():
        between = re.compile(rf"(<!-- table:{name} -->\n).*?(<!-- /table:{name} -->)", re.DOTALL)
        text, found = between.subn(lambda marks, table=table: f"{marks[1]}\n{table}\n\n{marks[2]}", text)  # type: ignore[misc]
        if not found:
            raise DataError(
                f"{page} has no marks <!-- table:{name} --> … <!-- /table:{name} -->; add them, one a line."
            )
    write_atomically(page, text.encode())


def _line(entries: Any) -> str:
    return "| " + " | ".join(str(entry) for entry in entries) + " |"
