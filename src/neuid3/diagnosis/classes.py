"""Classes with too few rows."""

from __future__ import annotations

import numpy as np

from neuid3.diagnosis.case import Case
from neuid3.diagnosis.findings import Finding

# A class with fewer rows that is never predicted has too few of them.
FEW = 10

# How many times as many rows are tried.
FACTORS = (1, 2, 3, 5, 8, 12, 20, 50)


def rare_classes(case: Case) -> Finding | None:
    """The classes that the tree never predicts and that have too few rows.

    A class has too few rows where there are fewer than ten, or where even a column that tells it apart without error would
    not be tested, because the penalty of a split is higher than what it gains.

    Parameters
    ----------
    case : the fit.

    Returns
    -------
    The finding; None where each class is predicted, or has enough rows.
    """
    if not case.classes:
        return None
    codes = np.asarray(case.target.values)
    counts = np.bincount(codes, minlength=len(case.classes))
    frequent = int(counts.argmax())
    # Classes without a row are values of goals, which no row needs to teach.
    others = [c for c in range(len(counts)) if counts[c] and c != frequent]
    missed = [c for c in others if not (case.outcome.predictions[codes == c] == c).any()]
    rare = {c: max(needed, FEW) for c in missed if (needed := _needed_rows(case, codes == c)) > counts[c]}
    rare |= {c: FEW for c in missed if counts[c] < FEW and c not in rare}
    if not rare:
        return None
    listed = ", ".join(f"{case.classes[c]!s} has {counts[c]:,}" for c in rare)
    needed = max(rare.values())
    rows = {str(case.classes[c]): np.flatnonzero(codes == c).tolist()[:100] for c in rare}
    return Finding(
        "few_rows",
        f"Of {len(codes):,} rows, {listed}, and the tree never predicts "
        f"{'it' if len(rare) == 1 else 'them'}: no test that tells so few rows apart is worth a split.",
        f"Add rows of {' and '.join(str(case.classes[c]) for c in rare)} until there are {needed:,} or more, or join the class "
        "to another.",
        {"rows_of_class": {str(case.classes[c]): int(counts[c]) for c in rare}, "needed": needed, "rows": rows},
    )


def _needed_rows(case: Case, of_class: np.ndarray) -> int:
    """The least number of rows of a class with which a column that tells it apart would be tested."""
    count = int(of_class.sum())
    for factor in FACTORS:
        weights = np.where(of_class, float(factor), 1.0)
        if case.refit({}, {"perfect": of_class}, weights).tree.tests:
            return count * factor
    return count * FACTORS[-1]
