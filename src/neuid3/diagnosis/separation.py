"""Whether candidates without networks tell classes apart better than by chance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.kinds import Boolean, Category, Date, Number, Probability
from neuid3.data.priors import Priors, column_priors
from neuid3.diagnosis.case import Case, chance
from neuid3.diagnosis.findings import Finding
from neuid3.learning.generators import FixedCandidates
from neuid3.learning.grow import OpenNode
from neuid3.learning.inference import ExactInference
from neuid3.learning.sample import Sample
from neuid3.learning.symbolic_splitter import SymbolicSplitter
from neuid3.tree.inference import arrays_for

# Shuffles of the targets, the rows that take part, and the shuffles with as high a gain after which no more are tried.
SHUFFLES, MOST_ROWS, ENOUGH = 199, 5_000, 10

# The probability of as high a gain by chance below which a candidate counts as one that tells classes apart.
LEVEL = 0.01


@dataclass(frozen=True, slots=True)
class Separation:
    """The best candidate without networks at the root.

    Attributes
    ----------
    test : its text.
    gain : its gain.
    probability : how often the best candidate gains as much where targets are shuffled.
    candidates : how many candidates there are; number columns and families count once.
    """

    test: str
    gain: float
    probability: float
    candidates: int

    @property
    def is_real(self) -> bool:
        """Whether chance hardly explains the gain."""
        return self.probability < LEVEL


def symbolic_inference(case: Case) -> ExactInference:
    """Exact inference for the candidates without networks."""
    sample = Sample(case.examples, case.target, np.zeros(len(case.target), dtype=bool))
    priors = Priors(column_priors(case.examples, case.target.weights))
    return ExactInference(sample, case.semantics, {}, priors, "cpu", arrays_for(neural=False))


def symbolic_separation(case: Case) -> Separation | None:
    """The best candidate without networks, compared with the best one after the targets are shuffled.

    Parameters
    ----------
    case : the fit.

    Returns
    -------
    The best candidate; None without such candidates, or where a generator makes them node by node.
    """
    program = case.problem.program
    # Phrases were chosen by the targets, so that shuffled targets would have others.
    tests = tuple(test for test in case.symbolic_tests if not test.columns(program) & case.phrases)
    candidates = replace(case.problem.candidates, tests=tests)
    count = len(candidates.tests) + len(candidates.numbers) + len(candidates.families)
    if not count or not isinstance(case.problem.generator, FixedCandidates):
        return None
    rng = np.random.default_rng(0)
    if len(case.target) > MOST_ROWS:
        rows = np.sort(rng.choice(len(case.target), MOST_ROWS, replace=False))
        case = replace(case, examples=case.examples[rows], target=case.target[rows])
    splitter = SymbolicSplitter(symbolic_inference(case), candidates, case.min_child_mass)
    root, sample = OpenNode.root(len(case.target)), splitter.sample

    def best(order: Any) -> tuple[float, str]:
        splitter.sample = replace(sample, target=case.target[order])
        scored = splitter.candidates(root, candidates)
        return max(((candidate.gain, str(candidate.test)) for candidate in scored), default=(0.0, "none"))

    gain, test = best(np.arange(len(case.target)))
    higher = tried = 0
    while tried < SHUFFLES and higher < ENOUGH:
        tried += 1
        higher += best(rng.permutation(len(case.target)))[0] >= gain - 1e-12
    return Separation(test, float(gain), (higher + 1) / (tried + 1), count)


def no_candidate(case: Case, separation: Separation | None) -> Finding:
    """The finding that no candidate tells the classes apart, with what a forest over the same columns can do.

    Parameters
    ----------
    case : the fit.
    separation : the best candidate without networks, if there are any.

    Returns
    -------
    The finding.
    """
    noun = "classes" if case.classes else "numbers"
    evidence: dict[str, Any] = {"candidates": 0 if separation is None else separation.candidates}
    texts = []
    if separation is not None:
        evidence |= {"best": separation.test, "gain": separation.gain, "probability": separation.probability}
        texts.append(
            f"the best of {separation.candidates:,}, '{separation.test}', gains {separation.gain:.3f}, and as much is gained in "
            f"{separation.probability:.0%} of shuffles of the {noun}"
        )
    if case.neural_tests:
        validation = case.outcome.validation
        evidence["neural_candidates"] = len(case.neural_tests)
        score = "" if validation is None else f" ({validation} on {validation.rows:,} unseen rows)"
        texts.append(f"the {len(case.neural_tests):,} with networks save too little on unseen rows{score}")
    together = _together(case)
    advice = f"Add columns that tell the {noun} apart, or rules that combine columns."
    if together is not None:
        accuracy, pair = together
        evidence |= {"forest_accuracy": accuracy, "pair": list(pair)}
        advice = (
            f"The columns do tell the {noun} apart together (a forest over them: {accuracy:.2f} on rows out of bag): add a rule "
            f"that combines {pair[0]} and {pair[1]}."
        )
    if case.phrases:
        evidence["phrases"] = len(case.phrases)
        texts.append(
            f"with the {len(case.phrases):,} best phrases trees predict other rows no better than without any test"
        )
    return Finding("no_candidate", f"No candidate test tells the {noun} apart: {'; '.join(texts)}.", advice, evidence)


def _together(case: Case) -> tuple[float, tuple[str, str]] | None:
    """The out-of-bag score of a forest that beats chance, and the two columns that it needs most; None otherwise."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    numbers = {name: _numbers_of(case, name) for name in case.columns}
    of_names = {name: values for name, values in numbers.items() if values is not None}
    if len(of_names) < 2:
        return None
    names, table = list(of_names), np.column_stack(list(of_names.values()))
    kind = RandomForestClassifier if case.classes else RandomForestRegressor
    # All columns at each node: where only pairs of columns tell something, a draw rarely has both.
    forest = kind(60, max_features=None, min_samples_leaf=2, oob_score=True, random_state=0)
    forest.fit(table, case.target.values)
    score = float(forest.oob_score_)
    if case.classes and chance(round(score * len(table)), len(table), case.baseline) >= LEVEL / 10:
        return None
    if not case.classes and score < 0.1:
        return None
    first, second = np.argsort(-forest.feature_importances_)[:2]
    return score, (names[int(first)], names[int(second)])


def _numbers_of(case: Case, name: str) -> npt.NDArray[np.float64] | None:
    """A column as numbers, missing entries as their median; None where it has no such form."""
    column = case.examples.column(name)
    if not isinstance(column.kind, (Boolean, Category, Date, Number, Probability)):
        return None
    values = np.asarray(column.values, dtype=np.float64)
    if column.missing is not None and column.missing.any():
        values = np.where(
            column.missing, np.median(values[~column.missing]) if (~column.missing).any() else 0.0, values
        )
    return values
