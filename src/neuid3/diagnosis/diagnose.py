"""The order in which causes are looked for."""

from __future__ import annotations

import numpy as np

from neuid3.data.splits import fold_numbers
from neuid3.diagnosis.case import Case, accuracy_of, chance, is_confirmed
from neuid3.diagnosis.classes import rare_classes
from neuid3.diagnosis.findings import Diagnosis, Finding
from neuid3.diagnosis.labels import contradicting_labels, explains_failure
from neuid3.diagnosis.pictures import classes_look_alike, pictures_alike
from neuid3.diagnosis.restarts import more_training, penalty_too_high
from neuid3.diagnosis.rules import rules_without_effect
from neuid3.diagnosis.separation import LEVEL, Separation, no_candidate, symbolic_separation
from neuid3.tree.number_criterion import NumberCriterion
from neuid3.tree.record import Score

# Where unseen rows are predicted at least so well, no other training is tried.
GOOD = 0.9

# Folds in which a tree is tried whose first test is no better than chance.
FOLDS = 3


def diagnose(case: Case) -> Diagnosis:
    """Why a fit learned nothing, or that nothing is wrong.

    What the data show by themselves comes first: labels that contradict each other, classes with too few rows, pictures
    that are alike, rules without effect. Only then are networks trained again, with more restarts. What is left is that no
    candidate tells the classes apart.

    Parameters
    ----------
    case : the fit.

    Returns
    -------
    The causes with their evidence.
    """
    separation = symbolic_separation(case)
    learned = _has_learned(case, separation)
    labels, rules = contradicting_labels(case), rules_without_effect(case)
    few = [] if labels is None or explains_failure(case, labels) else [labels]  # too few rows to be the cause
    causes = [finding for finding in (labels, rare_classes(case)) if finding is not None and finding not in few]
    if not learned:
        causes = [*causes, *rules, *few] if causes else [*_causes(case, separation, rules), *few]
        return Diagnosis(learned, _summary(case, learned), tuple(causes))
    if not causes and _may_be_stuck(case) and (finding := more_training(case)) is not None:
        causes.append(finding)
    return Diagnosis(learned, _summary(case, learned), tuple(causes), (*rules, *few))


def _causes(case: Case, separation: Separation | None, rules: list[Finding]) -> list[Finding]:
    """The causes of a fit that has learned nothing, where labels and classes are not to blame."""
    alike = pictures_alike(case)
    if alike is not None and not rules:
        return [alike]
    if rules:
        return [*rules, *([] if alike is None else [alike])]
    for finding in (more_training(case), penalty_too_high(case, separation), classes_look_alike(case)):
        if finding is not None:
            return [finding]
    return [no_candidate(case, separation)]


def _has_learned(case: Case, separation: Separation | None) -> bool:
    """Whether the tree has tests, and unseen rows or shuffled targets confirm the best of them."""
    if case.is_single_leaf:
        return bool(case.problem.goals) and _is_confirmed(case)
    if any(case.semantics.is_neural(test) for test in case.outcome.tree.tests) and case.outcome.validation is not None:
        return _is_confirmed(case) or (separation is not None and separation.is_real)
    if separation is None and not case.phrases:
        return True  # a generator makes the candidates, and the penalty of a split has tried them
    return (separation is not None and separation.is_real) or _predicts_folds(case)


def _predicts_folds(case: Case) -> bool:
    """Whether trees predict rows that they were not learned from, in cross-validation, better than chance.

    The first test of a tree may be as good as chance where tests tell something together only.
    """
    values = case.target.values
    folds = fold_numbers(values, FOLDS, np.random.default_rng(0))
    predictions = np.zeros(len(values))
    for fold in range(FOLDS):
        predictions[folds == fold] = case.refit({}, weights=(folds != fold).astype(float)).predictions[folds == fold]
    if case.classes:
        return chance(int((predictions == values).sum()), len(values), case.baseline) < LEVEL
    criterion = case.target.criterion
    assert isinstance(criterion, NumberCriterion)
    numbers = criterion.numbers(values)
    return bool(((predictions - numbers) ** 2).mean() < 0.95 * numbers.var())


def _is_confirmed(case: Case) -> bool:
    validation = case.outcome.validation
    return validation is not None and is_confirmed(validation, case.baseline)


def _may_be_stuck(case: Case) -> bool:
    """Whether networks take part and unseen rows are not predicted well."""
    validation = case.outcome.validation
    return bool(case.neural_tests) and validation is not None and accuracy_of(validation) < GOOD


def _summary(case: Case, learned: bool) -> str:
    tests = len(case.outcome.tree.tests)
    size = "The tree is a single leaf" if not tests else f"The tree has {tests:,} test{'s' * (tests > 1)}"
    validation = case.outcome.validation
    if validation is not None:
        baseline = f" (the most frequent class: {case.baseline:.3f})" if isinstance(validation, Score) else ""
        return f"{size}; on {validation.rows:,} unseen rows: {validation}{baseline}."
    return f"{size}, which shuffled rows {'confirm' if learned else 'do not confirm'}." if tests else f"{size}."
