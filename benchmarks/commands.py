"""The command that measures: run rows, keep them, draw a table or a picture of what was kept."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click

from neuid3.cli.commands import Command
from neuid3.utils.output import guard, remember

HISTORY = Path("results/bench/history.jsonl")


@click.command(cls=Command, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("rows", nargs=-1, metavar="[ROW]...")
@click.option("--quick", is_flag=True, help="Shrink everything, and keep nothing: do the rows run at all?")
@click.option(
    "--history",
    type=click.Path(path_type=Path, dir_okay=False),
    default=HISTORY,
    show_default=True,
    help="Where rows are added, one JSON line each.",
)
@click.option("--list", "listed", is_flag=True, help="Name the rows, and measure nothing.")
@click.option("--table", "only_table", is_flag=True, help="Draw the table of the newest rows, and measure nothing.")
@click.option(
    "--into",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Put the table between <!-- table:bench --> and <!-- /table:bench --> of a Markdown page.",
)
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw the history, and measure nothing.")
def bench(
    rows: tuple[str, ...],
    quick: bool,
    history: Path,
    listed: bool,
    only_table: bool,
    into: Path | None,
    plot: Path | None,
) -> None:
    """Measure how fast everything is, beside what it is compared with.

    Every row is a ratio of times taken in this run, one JSON line on the standard output. Rows that need what is not
    installed or not there say so. Ends with 1 where a bar is missed. Example: python -m benchmarks facts_vs_sklearn growth
    """
    if listed:
        _tell_names()
        return
    met = only_table or plot is not None or _measure(rows, quick, history)
    if plot is not None:
        _plot(history, plot)
    if only_table or into is not None:
        _table(history, into)
    if not met:
        raise SystemExit(1)


def _tell_names() -> None:
    from benchmarks.runner import CLAIMS

    for name, claim in CLAIMS.items():
        click.echo(f"{name}  (slow: runs when asked for)" if claim.slow else name)


def _measure(rows: tuple[str, ...], quick: bool, history: Path) -> bool:
    from benchmarks.report import HEADER, check_history, keep, shown
    from benchmarks.runner import chosen, measured

    chosen(rows)
    if not quick:
        check_history(history)
    met = True
    click.echo(HEADER, err=True)
    with only_rows_on_stdout() as out:
        for row in measured(rows, quick):
            if not quick:
                keep([row], history)
            print(json.dumps(row), file=out, flush=True)
            click.echo(shown(row), err=True)
            met = met and row.get("met") is not False
    return met


def _table(history: Path, into: Path | None) -> None:
    from benchmarks.report import read, table
    from experiments.tables import insert

    drawn = table(read(history))
    if into is None:
        click.echo(drawn)
    else:
        insert(into, {"bench": drawn})


def _plot(history: Path, plot: Path) -> None:
    from benchmarks.report import draw, read
    from neuid3.utils.files import check_writable

    check_writable(plot)
    draw(read(history), plot)
    remember(f"the picture is written to {plot}")
    click.echo(f"drawn: {plot}")


@contextmanager
def only_rows_on_stdout() -> Iterator[TextIO]:
    """Where rows are written; whatever libraries print meanwhile, also from C, goes to stderr."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as rows:
        os.dup2(2, 1)
        try:
            yield guard(rows)
        finally:
            sys.stdout.flush()
            rows.flush()
            os.dup2(rows.fileno(), 1)
