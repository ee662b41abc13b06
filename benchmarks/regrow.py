"""Study of regrowing a tree from network predictions, inside training folds of tables as images.

NEUID3_DATA=… python -m benchmarks.regrow results/again.jsonl; finished folds are not repeated. Rows are those of one training fold in inner
folds; validation rows and training rows have different images, all of them MNIST's training images. One tree is regrown and one is
not, and a third tree is learned from the symbols.
python -m benchmarks.regrow --table results/again.jsonl PAGE draws the table.
"""

from __future__ import annotations

import sys
import warnings
import zlib
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from benchmarks.rows import append_row, insert_table, read_rows
from experiments import settings
from experiments.configuration import classifier
from experiments.datasets import mnist, uci_fold
from neuid3 import Examples
from neuid3.training.threads import one_thread

# A table, one of its outer folds, and the number of inner folds of its training rows.
JOBS = (
    ("wine", 0, 5),
    ("congressional", 0, 5),
    ("dermatology", 0, 5),
    ("diabetes", 0, 5),
    ("breast-cancer", 0, 5),
    ("credit-approval", 0, 10),
    ("credit-approval", 5, 10),
)
TRAINING_IMAGES = 48_000  # of MNIST's training images; the others are for validation rows


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    finished = {(row["table"], row["outer"], row["inner"]) for row in read_rows(path)}
    with one_thread(), threadpool_limits(1):
        for name, outer, folds in JOBS:
            for inner in range(folds):
                if (name, outer, inner) not in finished:
                    append_row(
                        path, {"table": name, "outer": outer, "inner": inner, **measured(name, outer, inner, folds)}
                    )


def measured(name: str, outer: int, inner: int, folds: int) -> dict[str, Any]:
    """The number of validation rows, and for each tree its correct predictions and its leaves."""
    X, y = uci_fold(name, "onehot", outer, settings.FOLDS).train
    split = StratifiedKFold(folds, shuffle=True, random_state=outer).split(np.zeros(len(y)), y)
    training, validation = list(split)[inner]
    images = [
        Examples(
            {column: digit_images(X.column(column).values[rows], part, (outer, inner, column)) for column in X.schema}
        )
        for part, rows in enumerate((training, validation))
    ]
    parameters = {**settings.UCI_TREE["default"], "random_state": 100 * outer + inner}
    row: dict[str, Any] = {"rows": len(validation)}
    for tree_name, changes in (("first", {"rounds": 0}), ("once_more", {})):
        clf = classifier({**parameters, **changes})
        clf.fit(images[0], y[training])
        right = int((clf.predict(images[1]) == y[validation]).sum())
        row[tree_name] = [right, len(clf.tree_.leaves)]
    by_symbols = classifier(parameters).fit(X[training], y[training])
    right = int((by_symbols.predict(X[validation]) == y[validation]).sum())
    return {**row, "symbols": [right, len(by_symbols.tree_.leaves)]}


def digit_images(values: Any, part: int, drawn: tuple[int, int, str]) -> Any:
    """A random image of a 1 for every true value and of a 0 for every false one."""
    shown, digits = mnist("train")
    outer, inner, column = drawn
    rng = np.random.default_rng([outer, inner, part, zlib.crc32(column.encode())])
    mine = np.arange(len(digits)) < TRAINING_IMAGES if part == 0 else np.arange(len(digits)) >= TRAINING_IMAGES
    rows = np.empty(len(values), dtype=np.int64)
    for digit in (0, 1):
        of = np.flatnonzero(values == bool(digit))
        rows[of] = rng.choice(np.flatnonzero(mine & (digits == digit)), len(of))
    return shown[rows]


def table(path: str, page: str) -> None:
    rows = read_rows(path)
    lines = ["| table | validation rows | first tree | regrown tree | from symbols |", "|---|---|---|---|---|"]
    for name in dict.fromkeys(name for name, _, _ in JOBS):
        mine = [row for row in rows if row["table"] == name]
        count = sum(row["rows"] for row in mine)
        cells = []
        for tree_name in ("first", "once_more", "symbols"):
            right, leaves = (sum(row[tree_name][i] for row in mine) for i in (0, 1))
            cells.append(f"{right / count:.3f}, {leaves / len(mine):.1f}")
        lines.append(f"| {name} | {count} | " + " | ".join(cells) + " |")
    insert_table(page, "again", lines)


if __name__ == "__main__":
    table(*sys.argv[2:]) if sys.argv[1] == "--table" else main(*sys.argv[1:])
