"""Scores of texts: small whole weights of phrases, learned from the training rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.texts import score_text
from neuid3.tree.target import Target

Floats = npt.NDArray[np.float64]

# The numbers of phrases of a score that are compared by cross-validation, in so many folds. A score must be better than the
# best single phrase, by so many standard errors of the difference.
SIZES, FOLDS, MARGIN = (1, 8, 16, 32, 64), 3, 2.0

# Weights are rounded so that the largest is this; phrases whose weight becomes 0 are left out. With 3 or 5, trees were less
# accurate by 0.01 on news of eight topics, with 1000 no better.
LARGEST = 9

# The most rows that scores are learned from, the most classes that have a score of their own, and the fewest rows of one.
MAX_ROWS, MAX_SCORES, MIN_ROWS = 8192, 16, 10

# The ridge penalty of weights, in rows.
RIDGE = 1.0


def phrase_scores(phrases: Sequence[str], occurs: Any, target: Target) -> Iterator[str]:
    """The scores of a text column: one for each class against the others, or one for numbers.

    Phrases are chosen by the elastic net and weighted by ridge regression. The number of phrases is chosen by cross-validation; where a
    single phrase predicts unseen rows about as well, there is no score.

    Parameters
    ----------
    phrases : phrases of the texts, `(phrase,)`.
    occurs : whether each text contains each phrase, a sparse array, `(text, phrase)`.
    target : the targets of the texts.

    Returns
    -------
    Scores as `neuid3.data.texts.score_terms` reads them.
    """
    if not phrases:
        return
    rows = np.unique(np.linspace(0, len(target) - 1, min(len(target), MAX_ROWS)).astype(np.intp))
    target, table = target[rows], np.asarray(occurs[rows].todense(), dtype=np.float64)
    found: set[str] = set()
    for values in _numbers_to_predict(target):
        size = _best_size(table, values, target.weights)
        if size > 1:
            score = _text_of(_weights(table, values, target.weights, size), table.std(axis=0), phrases)
            if score and score not in found:
                found.add(score)
                yield score


def _numbers_to_predict(target: Target) -> Iterator[Floats]:
    """What scores predict: the membership in each frequent class, in the second of two; or the numbers of the target."""
    if target.values.dtype.kind not in "biu":
        yield np.asarray(target.values, dtype=np.float64)
        return
    classes, counts = np.unique(target.values, return_counts=True)
    frequent = [classes[i] for i in np.argsort(-counts, kind="stable") if counts[i] >= MIN_ROWS][:MAX_SCORES]
    for number in frequent[1:] if len(classes) == 2 else frequent:
        yield (target.values == number).astype(np.float64)


def _best_size(table: Floats, values: Floats, weights: Floats) -> int:
    """The number of phrases with the least squared error on unseen rows; 1 where no larger one is clearly better."""
    folds = np.random.default_rng(0).permutation(len(values)) % FOLDS
    errors = np.full((len(SIZES), len(values)), np.inf)
    for fold in range(FOLDS):
        train, unseen = folds != fold, folds == fold
        for i, size in enumerate(SIZES):
            chosen = _weights(table[train], values[train], weights[train], size)
            errors[i, unseen] = _squared_errors(table, chosen, values, weights, train, unseen)
    means = np.average(errors, axis=1, weights=weights)
    best = int(np.argmin(means))
    gain = errors[0] - errors[best]
    deviation = np.sqrt(np.average((gain - gain.mean()) ** 2, weights=weights) / len(values))
    return SIZES[best] if means[0] - means[best] > MARGIN * deviation else 1


def _squared_errors(table: Floats, chosen: Floats, values: Floats, weights: Floats, train: Any, unseen: Any) -> Floats:
    """The squared errors on unseen rows of the line of least squares through the scores of the training rows."""
    scores = table @ chosen
    center = np.average(scores[train], weights=weights[train])
    mean = np.average(values[train], weights=weights[train])
    spread = float(np.average((scores[train] - center) ** 2, weights=weights[train]))
    slope = float(np.average((scores[train] - center) * (values[train] - mean), weights=weights[train])) / (
        spread or 1.0
    )
    errors: Floats = (values[unseen] - mean - slope * (scores[unseen] - center)) ** 2
    return errors


def _weights(table: Floats, values: Floats, weights: Floats, size: int) -> Floats:
    """Whole weights of at most `size` phrases, `(phrase,)`."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import lars_path_gram

    mass = weights / weights.sum() * len(weights)
    centred = (table - np.average(table, axis=0, weights=mass)) * np.sqrt(mass)[:, None]
    residual = (values - np.average(values, weights=mass)) * np.sqrt(mass)
    moments, gram = centred.T @ residual, centred.T @ centred + RIDGE * np.eye(table.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # where few phrases leave nothing to explain, the path ends early
        path = lars_path_gram(moments, gram, n_samples=len(values), max_iter=size, method="lasso")[2]
    chosen = np.flatnonzero(path[:, -1])
    result = np.zeros(table.shape[1])
    if not chosen.size:
        return result
    result[chosen] = np.linalg.solve(gram[np.ix_(chosen, chosen)], moments[chosen])
    largest = float(np.abs(result).max())
    return np.round(result / largest * LARGEST) if largest > 0.0 else result


def _text_of(weights: Floats, deviations: Floats, phrases: Sequence[str]) -> str:
    """A score as text, the phrases that change it most first; weights with a common divisor are divided by it."""
    whole = weights.astype(int)
    divisor = int(np.gcd.reduce(whole)) or 1
    order = sorted(np.flatnonzero(whole).tolist(), key=lambda i: (-abs(weights[i]) * deviations[i], phrases[i]))
    return score_text({phrases[i]: int(whole[i]) // divisor for i in order})
