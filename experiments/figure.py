"""Figure of our means against the published ones, one point per cell."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from experiments.published import Published
from experiments.tables import SHORT, Cell, Report
from neuid3.errors import DataError
from neuid3.export.figures import save_figure


def draw(reports: Iterable[Report], path: Path) -> None:
    """Save a picture with a point for every published cell of our trees: above the diagonal, ours is better."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DataError("Figures need matplotlib; install it with: pip install 'neuid3[plots]'.") from None
    figure = Figure(figsize=(6, 6), layout="constrained")
    axes = figure.subplots()
    axes.axline((1, 1), slope=1, color="0.7", linewidth=1)
    lowest = 1.0
    for number, report in enumerate(reports):
        cells = [cell for cell in published_cells(report) if cell.values]
        if not cells:
            continue
        name = f"{report.name}, {sum(cell.short for cell in cells)} {SHORT} of {len(cells)} cells"
        published = np.array([cell.published.mean for cell in cells if isinstance(cell.published, Published)])
        ours = np.array([np.mean(cell.values) for cell in cells])
        short = np.array([cell.short for cell in cells])
        spread = [np.std(cell.values) for cell in cells]
        colour = f"C{number}"
        axes.errorbar(published, ours, yerr=spread, fmt="none", elinewidth=0.6, ecolor=colour, alpha=0.4)
        axes.plot(published[~short], ours[~short], "o", markersize=4, color=colour, label=name)
        axes.plot(published[short], ours[short], "v", markersize=8, markeredgecolor="black", color=colour)
        lowest = min(lowest, float(published.min()), float(ours.min()))
    ends = (max(0.0, np.floor(10 * lowest - 0.5) / 10), 1.02)
    axes.set(xlabel="published", ylabel="ours", xlim=ends, ylim=ends, aspect="equal")
    axes.legend(loc="lower right")
    save_figure(figure, path)


def published_cells(report: Report) -> list[Cell]:
    """The cells of a report that have a bar and a published mean with a standard deviation, row by row.

    These are the cells of our trees, each once: baselines have no bars.
    """
    cells = [entry for table in report.tables for row in table.rows for entry in row if isinstance(entry, Cell)]
    return [cell for cell in cells if cell.bar is not None and isinstance(cell.published, Published)]
