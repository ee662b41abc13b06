"""Run the benchmarks: `python -m benchmarks [row …]`, one JSON line for each measurement."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from benchmarks import addition, evaluators, gt_rank, learning, tree
from benchmarks.timing import Row

ROWS: Mapping[str, Callable[[], Iterator[Row]]] = {
    "gt_rank_vs_torch": gt_rank.against_torch,
    "gt_rank_vs_deepproblog": gt_rank.against_deepproblog,
    "tree_vs_problog": tree.against_problog,
    "addition_with_carry": addition.with_carry,
    "circuit_vs_klay": evaluators.against_klay,
    "training_vs_torch": learning.one_test,
    "fit_wine_vs_network": learning.wine,
    "two_workers_vs_one": learning.workers,
}


@contextmanager
def only_rows_on_stdout() -> Iterator[TextIO]:
    """Where rows are written; whatever libraries print meanwhile, also from C, goes to stderr."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as rows:
        os.dup2(2, 1)
        try:
            yield rows
        finally:
            sys.stdout.flush()
            rows.flush()
            os.dup2(rows.fileno(), 1)


def shown(row: Row) -> str:
    """A row as a person reads it."""
    mark = {True: "met", False: "MISSED", None: ""}[row.get("met")]
    numbers = (row.get(key) for key in ("ours_seconds", "other_seconds", "ratio"))
    cells = "".join(f"{'' if number is None else format(number, '.3g'):>11}" for number in numbers)
    return f"{row['name']:<44}{cells}  {row.get('bar') or '':<22}{mark}"


def main() -> int:
    """Run the rows asked for, all by default; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="row", help=f"any of {', '.join(ROWS)}; default: all")
    asked = parser.parse_args().rows
    unknown = [name for name in asked if name not in ROWS]
    if unknown:
        parser.error(f"no row is called {', '.join(unknown)}; choose from {', '.join(ROWS)}")
    start, met = time.perf_counter(), True
    with only_rows_on_stdout() as rows:
        print(f"{'row':<44}{'ours s':>11}{'other s':>11}{'ratio':>11}", file=sys.stderr)
        for name in asked or ROWS:
            for row in ROWS[name]():
                print(json.dumps(row), file=rows, flush=True)
                print(shown(row), file=sys.stderr, flush=True)
                met = met and row.get("met") is not False
        print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
