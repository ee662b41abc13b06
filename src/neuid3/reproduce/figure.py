"""How do our means and the published ones look side by side? A picture, one point a cell."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from neuid3.errors import DataError
from neuid3.reproduce.published import Published
from neuid3.reproduce.tables import SHORT, Cell, Report


def draw(reports: Iterable[Report], path: Path) -> None:
    """Save a picture with a point for every published cell of our trees: above the diagonal, ours is better."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DataError("Figures need matplotlib; install it with: pip install 'neuid3[plots]'.") from None
    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.subplots()
    axes.axline((0, 0), slope=1, color="0.7", linewidth=1)
    for report in reports:
        cells = [cell for cell in published_cells(report) if cell.values]
        if not cells:
            continue
        axes.errorbar(
            [cell.published.mean for cell in cells if isinstance(cell.published, Published)],
            [np.mean(cell.values) for cell in cells],
            yerr=[np.std(cell.values) for cell in cells],
            fmt="o",
            markersize=4,
            elinewidth=0.7,
            label=f"{report.name}, {sum(cell.short for cell in cells)} {SHORT} of {len(cells)} cells",
        )
    axes.set(xlabel="published", ylabel="ours", xlim=(0, 1.02), ylim=(0, 1.02), aspect="equal")
    axes.legend(loc="lower right")
    figure.savefig(path)


def published_cells(report: Report) -> list[Cell]:
    """The cells of a report that are held to something and have a published mean with a deviation, row by row.

    Those are the cells of our trees, each once: baselines have nothing to reach.
    """
    cells = [entry for table in report.tables for row in table.rows for entry in row if isinstance(entry, Cell)]
    return [cell for cell in cells if cell.bar is not None and isinstance(cell.published, Published)]
