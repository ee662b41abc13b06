"""Reports of rows: a line for the terminal, a table for the documentation, a figure of the history."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from neuid3.errors import DataError, MissingFileError
from neuid3.export.figures import save_figure
from neuid3.utils.files import check_readable, check_writable, read_text

Row = Mapping[str, Any]

HEADER = f"{'row':<40}{'ours s':>10}{'other s':>10}{'ratio':>10}"


def formatted(row: Row) -> str:
    """A row as a line of text."""
    if "skipped" in row:
        return f"{row['name']:<40}not measured: {row['skipped']}"
    cells = "".join(f"{_number(row.get(key)):>10}" for key in ("ours_seconds", "other_seconds", "ratio"))
    return f"{row['name']:<40}{cells}  {row.get('bar') or '':<24}{_mark(row)}"


def check_history(history: Path) -> None:
    """Raise an error where no line can be added to a history, before anything is measured."""
    history.parent.mkdir(parents=True, exist_ok=True)
    check_writable(history)
    if history.exists():
        check_readable(history, "history")


def append(rows: Iterable[Row], history: Path) -> None:
    """Add rows to a history, one JSON line each."""
    check_history(history)
    with history.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def read(history: Path) -> list[Row]:
    """All rows of a history, the oldest first."""
    if not history.exists():
        raise MissingFileError(f"There is no history {history}; run `python -m benchmarks` first, or name another one.")
    lines = read_text(history, "history").splitlines()
    try:
        return [json.loads(line) for line in lines if line.strip()]
    except ValueError as error:
        raise DataError(f"{history} is no history of measurements ({error}); name another one.") from None


def newest(rows: Iterable[Row]) -> dict[str, Row]:
    """The newest measurement of every row."""
    return {row["name"]: row for row in rows if "skipped" not in row}


def table(rows: Iterable[Row]) -> str:
    """The newest measurement of every row as a Markdown table."""
    lines = ["| row | ours, s | other, s | ratio | bar | | measured |", "|---|---|---|---|---|---|---|"]
    for name, row in newest(rows).items():
        numbers = (_number(row.get(key)) for key in ("ours_seconds", "other_seconds", "ratio"))
        bar = str(row.get("bar") or "").replace("<=", "≤").replace(">=", "≥")
        cells = (f"`{name}`", *numbers, bar, _mark(row), str(row.get("date", ""))[:10])
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(rows: Sequence[Row], path: Path) -> None:
    """Save a figure of all ratios relative to their bars, one point per measurement, and of the growth of the newest times."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DataError("Pictures need matplotlib; install it with: pip install 'neuid3[plots]'.") from None
    points_by_row: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        relative = over_bar(row)
        if relative is not None:
            points = points_by_row.setdefault(row["name"], [])
            points.append((len(points), relative))
    if not points_by_row:
        raise DataError("No row of this history has a ratio and a bar; run `python -m benchmarks` first.")
    grown = {name: row["seconds"] for name, row in newest(rows).items() if isinstance(row.get("seconds"), dict)}
    heights = [0.3 * len(points_by_row) + 1.2, *([2.6] if grown else [])]
    figure = Figure(figsize=(8, sum(heights)), layout="constrained")
    above, *below = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    axes = above.subplots()
    for height, points in enumerate(points_by_row.values()):
        last = points[-1][0] or 1
        for number, ratio in points:
            axes.plot(ratio, height, "o", color="tab:blue", alpha=0.25 + 0.75 * number / last, markersize=5)
    axes.axvline(1.0, color="0.4", linewidth=1)
    axes.set(xscale="log", xlabel="time over what the bar allows (left of the line: met; darker: newer)")
    axes.set_yticks(range(len(points_by_row)), list(points_by_row))
    axes.invert_yaxis()
    for part in below:
        _draw_growth(part, grown)
    save_figure(figure, path)


def _draw_growth(figure: Any, grown: Mapping[str, Mapping[str, float]]) -> None:
    """Seconds by amount of work on logarithmic axes; the dashed line is linear growth."""
    for axes, (name, seconds) in zip(figure.subplots(1, len(grown), squeeze=False)[0], grown.items(), strict=True):
        sizes = [float(size) for size in seconds]
        first = next(iter(seconds.values()))
        axes.loglog(sizes, list(seconds.values()), "o-", color="tab:blue", markersize=4)
        axes.loglog(sizes, [first * size / sizes[0] for size in sizes], "--", color="0.6", linewidth=1)
        axes.set_xticks([sizes[0], sizes[-1]], [f"{sizes[0]:,.0f}", f"{sizes[-1]:,.0f}"])
        axes.minorticks_off()
        axes.set_xlabel(name.rsplit("/", 1)[-1].replace("_", " "))
    figure.supylabel("seconds", fontsize="medium")


def over_bar(row: Row) -> float | None:
    """The ratio of a row relative to its bar, at most 1 where the bar is met; None where there is no ratio with a bar.

    >>> over_bar({"ratio": 140.0, "bar": "other / ours >= 70"}), over_bar({"ratio": 0.5, "bar": "slope <= 1"})
    (0.5, 0.5)
    """
    parts = str(row.get("bar") or "").split()
    if row.get("ratio") is None or len(parts) < 2 or parts[-2] not in ("<=", ">="):
        return None
    try:
        limit = float(parts[-1])
    except ValueError:
        return None
    return row["ratio"] / limit if parts[-2] == "<=" else limit / row["ratio"]


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.3g}"


def _mark(row: Row) -> str:
    return {True: "met", False: "missed"}.get(row.get("met"), "")  # type: ignore[arg-type]
