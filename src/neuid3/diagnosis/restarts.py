"""Fits that more training, or a lower penalty of splits, would change."""

from __future__ import annotations

from neuid3.diagnosis.case import Case, Outcome, accuracy_of, is_confirmed
from neuid3.diagnosis.findings import Cause, Finding
from neuid3.diagnosis.separation import Separation
from neuid3.tree.record import AnyScore, Score

# How many times as many restarts are tried, and at least how many.
FACTOR, RESTARTS = 4, 8

# How much better unseen rows must be predicted, in accuracy or R².
IMPROVEMENT = 0.1

# The values of `pruning` that are tried, as fractions of its present value.
FRACTIONS = (0.75, 0.5, 0.25, 0.1, 0.0)


def more_training(case: Case) -> Finding | None:
    """The finding that networks were stuck on a saddle which more restarts leave, or had too few epochs.

    Parameters
    ----------
    case : the fit.

    Returns
    -------
    The finding; None where other training changes little.
    """
    if not case.neural_tests or case.config.validation_fraction is None:
        return None
    restarts, epochs = case.config.restarts, case.config.epochs
    many = max(FACTOR * restarts, RESTARTS)
    fewer = [value for value in (restarts + 1, many // 2) if restarts < value < many][-1:]
    found = _first_better(case, "restarts", [many, *fewer])
    if found is not None:
        return _finding(case, "more_restarts", "restarts", "The networks were stuck", *found)
    found = _first_better(case, "epochs", [FACTOR * epochs])
    if found is not None:
        return _finding(case, "more_epochs", "epochs", "The networks were not trained long enough", *found)
    return None


def _first_better(case: Case, setting: str, values: list[int]) -> tuple[int, AnyScore] | None:
    """The last of these values up to which each makes unseen rows better predicted, with the score; None if none does."""
    best = None
    for value in values:
        changes = {f"training__{setting}": value} | ({"training__max_steps": None} if setting == "epochs" else {})
        after = case.refit(changes)
        if not _is_better(case, after):
            break
        assert after.validation is not None
        best = value, after.validation
    return best


def _finding(case: Case, cause: Cause, setting: str, text: str, value: int, after: AnyScore) -> Finding:
    before, present = case.outcome.validation, getattr(case.config, setting)
    measure = "accuracy" if isinstance(after, Score) else "R²"
    first = "" if before is None else f"{accuracy_of(before):.2f} before, "
    return Finding(
        cause,
        f"{text}: with {setting}={value} in place of {present}, the {measure} on {after.rows:,} unseen rows is "
        f"{accuracy_of(after):.2f} ({first}{case.baseline:.2f} by chance).",
        f"Fit with {setting}={value}.",
        {
            setting: value,
            "before": None if before is None else accuracy_of(before),
            "after": accuracy_of(after),
            "rows": after.rows,
        },
    )


def _is_better(case: Case, after: Outcome) -> bool:
    """Whether another fit predicts unseen rows much better, and better than chance."""
    before = case.outcome.validation
    if after.validation is None or not is_confirmed(after.validation, case.baseline):
        return False
    reference = case.baseline if before is None or case.is_single_leaf else accuracy_of(before)
    return accuracy_of(after.validation) >= max(reference, case.baseline) + IMPROVEMENT


def penalty_too_high(case: Case, separation: Separation | None) -> Finding | None:
    """The finding that a candidate tells classes apart, and pruning cuts it off; None where that is not so.

    Parameters
    ----------
    case : the fit.
    separation : the best candidate without networks.

    Returns
    -------
    The finding.
    """
    if separation is None or not separation.is_real or not case.is_single_leaf or not case.pruning:
        return None
    tried = [round(case.pruning * fraction, 4) for fraction in FRACTIONS]
    enough = next((value for value in tried if case.refit({"pruning": value}).tree.tests), None)
    advice = "Add rows." if enough is None else f"Add rows, or fit with pruning={enough:g}."
    return Finding(
        "penalty",
        f"'{separation.test}' tells rows apart ({separation.gain:.3f} gained, as much in {separation.probability:.1%} of "
        f"shuffles), and that is less than the penalty of a split with pruning={case.pruning:g}.",
        advice,
        {"test": separation.test, "gain": separation.gain, "probability": separation.probability, "pruning": enough},
    )
