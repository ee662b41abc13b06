"""Stages of boosting against plain formulas: derivatives, joint Newton steps, growers, and the number of trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from neuid3.data.examples import Examples
from neuid3.data.priors import Priors, column_priors
from neuid3.learning.boosting import (
    Boosting,
    BoostingSettings,
    LeafReach,
    LogisticLoss,
    Loss,
    PlainStageGrower,
    SquaredLoss,
    StageLimits,
    boosted,
)
from neuid3.learning.boosting.binned_stages import BinnedStageGrower
from neuid3.learning.candidates import Candidates
from neuid3.learning.inference import ExactInference
from neuid3.learning.problem import read_problem
from neuid3.learning.sample import Sample
from neuid3.tree.criteria import ClassCriterion
from neuid3.tree.inference import arrays_for
from neuid3.tree.semantics import Semantics
from neuid3.tree.sum_model import SumModel
from neuid3.tree.sums import BoostedSum
from neuid3.tree.target import Target
from neuid3.tree.tree import Branch, Node, branches, paths


def setting(X: Examples, y: Any, background: str = "") -> tuple[ExactInference, Candidates]:
    problem = read_problem(X.schema, background=background, tests="auto", bank=None, modes=None, limits=None)
    weights = np.ones(len(X))
    sample = Sample(X, Target(np.asarray(y), weights, ClassCriterion(2)), np.zeros(len(X), dtype=bool))
    semantics = Semantics(problem.program, problem.candidates.tests)
    priors = Priors(column_priors(X, weights))
    return ExactInference(sample, semantics, {}, priors, "cpu", arrays_for(neural=False)), problem.candidates


def table(rng: np.random.Generator, n: int, missing: float = 0.0) -> tuple[Examples, Any]:
    age, suit = rng.integers(0, 30, n).astype(float), rng.choice(["clubs", "hearts", "spades"], n)
    rain, cold = rng.random(n) < 0.4, rng.random(n)
    y = (age + 10 * (suit == "hearts") + 8 * rain + rng.normal(size=n) * 4 > 18).astype(int)
    columns: dict[str, Any] = {"age": age, "suit": suit.astype(object), "rain": rain.astype(object), "cold": cold}
    for name in ("age", "suit", "rain"):
        gone = rng.random(n) < missing
        if gone.any():
            columns[name] = np.where(gone, np.nan if name == "age" else None, columns[name])
    return Examples(columns, kinds={"age": "number", "suit": "category", "rain": "boolean", "cold": "probability"}), y


@pytest.mark.parametrize(
    ("loss", "targets"), [(LogisticLoss(2), (0, 1)), (LogisticLoss(4), (0, 3)), (SquaredLoss(), (1.5, -2.0))]
)
def test_derivatives_are_those_of_the_loss(loss: Loss, targets: tuple[float, float]) -> None:
    rng = np.random.default_rng(0)
    y = np.array(targets * 3)
    scores, step = rng.normal(size=(6, loss.width)), 1e-4
    first, second = loss.derivatives(scores, y)
    for k in range(loss.width):
        up, down = scores.copy(), scores.copy()
        up[:, k] += step
        down[:, k] -= step
        above, here, below = loss.losses(up, y), loss.losses(scores, y), loss.losses(down, y)
        np.testing.assert_allclose(first[:, k], (above - below) / (2 * step), atol=1e-6)
        np.testing.assert_allclose(second[:, k], (above - 2 * here + below) / step**2, atol=1e-5)


@pytest.mark.parametrize("loss", [LogisticLoss(2), LogisticLoss(3), SquaredLoss()])
def test_the_initial_scores_have_the_least_loss(loss: Loss) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2 if loss.width == 1 else 3, 50)
    weights = rng.random(50)
    initial = loss.initial(y, weights)
    first, _ = loss.derivatives(np.tile(initial, (50, 1)), y)
    np.testing.assert_allclose(weights @ first, 0.0, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("l2", [0.0, 1.0])
def test_the_joint_newton_step_minimises_the_expansion_of_the_loss(seed: int, l2: float) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.ones(3), 40)
    first, second, weights = rng.normal(size=(40, 2)), rng.random((40, 2)) + 0.1, rng.random(40)
    scores = LeafReach.of(matrix).newton_scores(first, second, weights, l2)

    def expansion(values: Any, k: int) -> float:
        change = matrix @ values
        return float(weights @ (first[:, k] * change + 0.5 * second[:, k] * change**2) + 0.5 * l2 * values @ values)

    for k in range(2):
        best = expansion(scores[:, k], k)
        for _ in range(20):
            assert best <= expansion(scores[:, k] + rng.normal(size=3) * 0.1, k) + 1e-12


def test_certain_leaves_are_solved_as_the_same_matrix() -> None:
    rng = np.random.default_rng(0)
    leaf = rng.integers(0, 4, 60)
    matrix = np.eye(4)[leaf]
    first, second, weights = rng.normal(size=(60, 1)), rng.random((60, 1)), rng.random(60)
    certain, joint = LeafReach.of(matrix), LeafReach(4, matrix=matrix)
    assert certain.leaf is not None
    for l2 in (0.0, 2.0):
        arguments = (first, second, weights, l2)
        np.testing.assert_allclose(certain.newton_scores(*arguments), joint.newton_scores(*arguments), atol=1e-9)


def forms(root: Node) -> list[str]:
    return [str(branch.test) for branch in branches(root)]


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_engine_grows_the_trees_of_the_plain_grower(seed: int, width: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    X, y = table(rng, 80, missing)
    inference, candidates = setting(X, y)
    first, second = rng.normal(size=(80, width)) + y[:, None], rng.random((80, width)) + 0.2
    weights = rng.integers(0, 3, 80).astype(float)
    for limits in (StageLimits(max_depth=2), StageLimits(max_splits=4, min_child_mass=3.0, l2=0.5)):
        trees = [
            grower.grow(first, second, weights, limits, 0).root()
            for grower in (PlainStageGrower(inference, candidates), BinnedStageGrower(inference, candidates))
        ]
        assert forms(trees[0]) == forms(trees[1])
        gains = [[branch.gain for branch in branches(root)] for root in trees]
        np.testing.assert_allclose(gains[0], gains[1], rtol=1e-6)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_both_growers_know_the_exact_reach_of_their_trees(missing: float) -> None:
    rng = np.random.default_rng(3)
    X, y = table(rng, 60, missing)
    inference, candidates = setting(X, y)
    first, second = rng.normal(size=(60, 1)) + y[:, None], np.ones((60, 1))
    for grower in (PlainStageGrower(inference, candidates), BinnedStageGrower(inference, candidates)):
        stage = grower.grow(first, second, np.ones(60), StageLimits(max_depth=3), 0)
        root = stage.root()
        leaves = sum(1 for _ in branches(root)) + 1
        values = rng.normal(size=(leaves, 1))
        exact = inference.reach([path for path, _ in paths(root)])
        np.testing.assert_allclose(stage.reach().sums(values), exact @ values, atol=1e-9)


def test_a_rule_is_a_candidate_of_both_growers() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(200) < 0.5, rng.random(200) < 0.5
    y = (a ^ b).astype(int)
    X = Examples({"a": a, "b": b})
    inference, candidates = setting(X, y, "differ :- a, \\+ b. differ :- b, \\+ a.")
    first, second = LogisticLoss(2).derivatives(np.zeros((200, 1)), y)
    for grower in (PlainStageGrower(inference, candidates), BinnedStageGrower(inference, candidates)):
        root = grower.grow(first, second, np.ones(200), StageLimits(max_depth=1), 0).root()
        assert forms(root) == ["differ"]


def test_learning_stops_where_unseen_examples_become_less_likely() -> None:
    rng = np.random.default_rng(0)
    X, y = table(rng, 200)
    noise = rng.permutation(y)
    inference, candidates = setting(X, noise)
    learned = np.arange(200) < 120
    settings = BoostingSettings(max_trees=60, patience=5, tree=StageLimits(max_depth=4))
    boosting = Boosting(
        BinnedStageGrower(inference, candidates), LogisticLoss(2), noise, np.ones(200), learned, settings, 0
    )
    trees = boosted(boosting)
    losses = boosting.unseen_losses
    assert len(trees) == int(np.argmin(losses)) < 60
    model = SumModel(BoostedSum(tuple(trees), tuple(boosting.initial), (0, 1)), X.schema, priors=inference.priors)
    np.testing.assert_allclose(model.scores(X), boosting.scores, atol=1e-9)


def test_cross_validation_chooses_more_trees_where_there_is_more_to_learn() -> None:
    rng = np.random.default_rng(0)
    X, y = table(rng, 300)
    counts = []
    for targets in (y, rng.permutation(y)):
        inference, candidates = setting(X, targets)
        settings = BoostingSettings(max_trees=40, folds=3, patience=5, tree=StageLimits(max_depth=2))
        grower = BinnedStageGrower(inference, candidates)
        boosting = Boosting(grower, LogisticLoss(2), targets, np.ones(300), np.ones(300, bool), settings, 0)
        counts.append(len(boosted(boosting)))
    assert counts[0] > 10 > counts[1]


def test_the_number_of_splits_of_all_trees_is_limited() -> None:
    rng = np.random.default_rng(0)
    X, y = table(rng, 200)
    inference, candidates = setting(X, y)
    settings = BoostingSettings(max_splits=7, folds=0, tree=StageLimits(max_depth=2))
    boosting = Boosting(
        PlainStageGrower(inference, candidates), LogisticLoss(2), y, np.ones(200), np.ones(200, bool), settings, 0
    )
    trees = boosted(boosting)
    assert sum(1 for root in trees for _ in branches(root)) == boosting.splits == 7


class OnlyRain:
    """Constraints that allow splits by one column, and no scores below 0."""

    bounds = None

    def allowed(self, node: Any, candidates: Candidates) -> Candidates:  # noqa: ARG002
        return Candidates(tuple(test for test in candidates.tests if str(test) == "rain"), ())

    def scores(self, root: Node, scores: Any) -> Any:  # noqa: ARG002
        return np.maximum(scores, 0.0)


def test_constraints_choose_candidates_and_scores() -> None:
    rng = np.random.default_rng(0)
    X, y = table(rng, 100)
    inference, candidates = setting(X, y)
    constraints = OnlyRain()
    settings = BoostingSettings(max_trees=3, folds=0, tree=StageLimits(max_depth=3))
    grower = PlainStageGrower(inference, candidates, constraints=constraints)
    ones = np.ones(100)
    boosting = Boosting(grower, LogisticLoss(2), y, ones, ones > 0, settings, 0, constraints)
    trees = boosted(boosting)
    assert trees
    for root in trees:
        assert isinstance(root, Branch)
        assert forms(root) == ["rain"]
        assert min(root.yes.value[0], root.no.value[0]) >= 0.0
