"""The command `python -m benchmarks`: measure rows, add them to the history, draw a table or a figure of it."""

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
from neuid3.utils.output import guard, set_outcome

HISTORY = Path("results/bench/history.jsonl")


@click.command(cls=Command, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("rows", nargs=-1, metavar="[ROW]...")
@click.option("--quick", is_flag=True, help="Use small sizes and write nothing: check that the rows run.")
@click.option(
    "--history",
    type=click.Path(path_type=Path, dir_okay=False),
    default=HISTORY,
    show_default=True,
    help="The file to which rows are added, one JSON line each.",
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
    """Measure the speed of the library against other programs.

    Every row is a ratio of times of this run, one JSON line on the standard output. A row whose packages or data are
    missing is skipped, and says so. Ends with 1 where a bar is missed. Example: python -m benchmarks facts_vs_sklearn growth
    """
    if listed:
        _list_rows()
        return
    met = only_table or plot is not None or _measure(rows, quick, history)
    if plot is not None:
        _plot(history, plot)
    if only_table or into is not None:
        _table(history, into)
    if not met:
        raise SystemExit(1)


def _list_rows() -> None:
    from benchmarks.runner import BENCHMARKS

    for name, benchmark in BENCHMARKS.items():
        click.echo(f"{name}  (slow: runs on request)" if benchmark.slow else name)


def _measure(rows: tuple[str, ...], quick: bool, history: Path) -> bool:
    from benchmarks.report import HEADER, append, check_history, formatted
    from benchmarks.runner import measure, select

    select(rows)
    if not quick:
        check_history(history)
    met = True
    click.echo(HEADER, err=True)
    with only_rows_on_stdout() as out:
        for row in measure(rows, quick):
            if not quick:
                append([row], history)
            print(json.dumps(row), file=out, flush=True)
            click.echo(formatted(row), err=True)
            met = met and row.get("met") is not False
    return met


def _table(history: Path, into: Path | None) -> None:
    from benchmarks.report import read, table
    from experiments.tables import insert

    markdown = table(read(history))
    if into is None:
        click.echo(markdown)
    else:
        insert(into, {"bench": markdown})


def _plot(history: Path, plot: Path) -> None:
    from benchmarks.report import draw, read
    from neuid3.utils.files import check_writable

    check_writable(plot)
    draw(read(history), plot)
    set_outcome(f"the picture is written to {plot}")
    click.echo(f"drawn: {plot}")


@contextmanager
def only_rows_on_stdout() -> Iterator[TextIO]:
    """A stream to standard output for rows; everything else that is printed meanwhile, also from C, goes to stderr."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as rows:
        os.dup2(2, 1)
        try:
            yield guard(rows)
        finally:
            sys.stdout.flush()
            rows.flush()
            os.dup2(rows.fileno(), 1)
