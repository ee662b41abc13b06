"""Equal rows whose classes or numbers contradict each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.diagnosis.case import Case
from neuid3.diagnosis.findings import Finding
from neuid3.tree.record import row_digests

# Of all rows, more than this fraction must contradict equal rows, and no fewer than so many.
FRACTION, ROWS = 0.05, 3

# Equal pairs count as copies where there are so many times more of them than independent columns would have.
COINCIDENCE = 3.0

# They explain that nothing was learned where they are at least this fraction of the rows that the most frequent class misses.
EXPLAINS = 0.3

# A column has many different entries where these are more than one for so many rows.
MANY = 4

# Numbers contradict each other where they vary within equal rows by more than this fraction of their variance.
VARIANCE = 0.2

SHOWN = 3


def contradicting_labels(case: Case) -> Finding | None:
    """Rows that agree in every column that candidates read, more often than by coincidence, and not in their targets.

    Parameters
    ----------
    case : the fit.

    Returns
    -------
    The finding; None where there are few such rows.
    """
    groups = np.unique(row_digests(case.examples.select(case.columns), 0), return_inverse=True)[1]
    sizes = np.bincount(groups)
    equal_pairs = float((sizes * (sizes - 1) / 2).sum())
    if not equal_pairs or equal_pairs <= COINCIDENCE * _coincidences(case):
        return None
    wrong = _disagreeing_rows(case, groups)
    if len(wrong) < max(ROWS, FRACTION * len(groups)):
        return None
    pairs = [[int(np.flatnonzero((groups == groups[row]) & _differs(case, row))[0]), int(row)] for row in wrong]
    shown = "; ".join(f"{case.location(a)} and {case.location(b)}" for a, b in pairs[:SHOWN])
    best = 1 - len(wrong) / len(groups)
    noun = "class" if case.classes else "number"
    limit = f" No tree over these columns can be right about more than {best:.0%} of the rows." if case.classes else ""
    return Finding(
        "contradicting_labels",
        f"{len(wrong):,} of {len(groups):,} rows are equal to another row and have another {noun}, such as {shown}.{limit}",
        f"Settle the {noun} of these rows or drop them, or add the column by which they differ.",
        {
            "contradicting_rows": len(wrong),
            "rows": len(groups),
            "best_accuracy": best if case.classes else None,
            "pairs": pairs[:100],
            "columns": case.columns,
        },
    )


def explains_failure(case: Case, finding: Finding) -> bool:
    """Whether contradicting rows are so many that they explain why nothing was learned.

    Parameters
    ----------
    case : the fit.
    finding : that of `contradicting_labels`.
    """
    share = float(finding.evidence["contradicting_rows"] / finding.evidence["rows"])
    return share >= EXPLAINS * (1 - case.baseline)


def _coincidences(case: Case) -> float:
    """The number of equal pairs to be expected if columns were independent.

    A column with many different entries, such as pictures, hardly has equal ones by coincidence: those that it has are copies.
    """
    count = len(case.examples)
    expected = count * (count - 1) / 2
    for name in case.columns:
        sizes = np.unique(row_digests(case.examples.select([name]), 0), return_counts=True)[1]
        equal = float((sizes * (sizes - 1)).sum()) / max(count * (count - 1), 1)
        expected *= equal if len(sizes) * MANY < count else min(equal, 1 / count**2)
    return expected


def _disagreeing_rows(case: Case, groups: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The rows whose class is not the most frequent one of the rows that equal them, or whose number is far off."""
    values = case.target.values
    if case.classes:
        counts = np.zeros((groups.max() + 1, len(case.classes)))
        np.add.at(counts, (groups, values), 1.0)
        return np.flatnonzero(values != counts.argmax(axis=1)[groups])
    numbers = np.asarray(values, dtype=np.float64)
    means = np.bincount(groups, numbers) / np.bincount(groups)
    deviations = np.abs(numbers - means[groups])
    return np.flatnonzero(deviations > np.sqrt(VARIANCE * numbers.var()))


def _differs(case: Case, row: int) -> npt.NDArray[np.bool_]:
    """The mask of the rows with another class or number than this one."""
    differs: npt.NDArray[np.bool_] = case.target.values != case.target.values[row]
    return differs
