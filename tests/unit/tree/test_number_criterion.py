"""The criterion of numbers against plain formulas, on fractional examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.metrics import r2_score

from neuid3.errors import DataError
from neuid3.tree import ClassCriterion, NumberCriterion, NumberLeaf, Target
from neuid3.tree.criteria import criterion_of
from neuid3.tree.criterion import Criterion
from neuid3.tree.number_criterion import RESOLUTION
from neuid3.tree.record import NumberScore

RNG = np.random.default_rng(0)


def drawn(n: int = 40) -> tuple[NumberCriterion, Target]:
    numbers, weights = 50.0 + 7.0 * RNG.normal(size=n), RNG.uniform(0.1, 2.0, n)
    criterion = NumberCriterion().for_targets(numbers, weights)
    return criterion, Target(criterion.standardized(numbers), weights, criterion)


def squared_error(target: Target) -> float:
    """Σ w (z − mean)², term by term."""
    mean = np.average(target.values, weights=target.weights)
    return float(sum(w * (z - mean) ** 2 for z, w in zip(target.values, target.weights, strict=True)))


@pytest.mark.parametrize("case", range(20))
def test_the_gain_is_the_reduction_of_the_expected_squared_error_with_fractional_examples(case: int) -> None:  # noqa: ARG001
    _, target = drawn()
    responses = RNG.choice([0.0, 1.0, RNG.random()], len(target))
    if not 0 < responses.sum() < len(responses):
        return
    sides = [target.weighted(target.weights * p) for p in (responses, 1.0 - responses)]
    before, after = squared_error(target), sum(map(squared_error, (side[side.weights > 0] for side in sides)))
    assert target.gain(responses) == pytest.approx((before - after) / target.weights.sum(), rel=1e-9)
    assert target.information_gain(responses) >= 0.0


def test_statistics_add_up_and_targets_are_standardised() -> None:
    criterion, target = drawn()
    assert isinstance(criterion, Criterion)
    assert criterion.impurity(target.sums()) == pytest.approx(1.0)
    assert criterion.means(target.sums()) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(target.statistics().sum(0), target.sums(), atol=1e-12)
    codes = RNG.integers(3, size=len(target))
    by_code = [target[codes == code].sums() for code in range(3)]
    np.testing.assert_allclose(target.sums_by_code(codes, 3), by_code, atol=1e-12)
    numbers = criterion.numbers(target.values)
    assert criterion.leaf(target.sums()).mean == pytest.approx(np.average(numbers, weights=target.weights))
    assert criterion.leaf(np.zeros(3)) == NumberLeaf(criterion.center, criterion.scale)


@pytest.mark.parametrize(("offset", "factor"), [(0.0, 1000.0), (1e9, 1.0), (0.0, 1e-140), (0.0, -1e140)])
def test_nothing_depends_on_the_unit_of_the_target(offset: float, factor: float) -> None:
    plain, weights = np.arange(20.0) ** 2, np.ones(20)
    numbers = offset + factor * plain
    one, other = (NumberCriterion().for_targets(values, weights) for values in (plain, numbers))
    z, sign = other.standardized(numbers), math.copysign(1.0, factor)
    np.testing.assert_allclose(sign * z, one.standardized(plain), rtol=1e-6, atol=1e-6)
    halves = [Target(z[half], np.ones(10), other).sums() for half in (slice(10), slice(10, None))]
    plain_halves = [
        Target(one.standardized(plain)[half], np.ones(10), one).sums() for half in (slice(10), slice(10, None))
    ]
    assert float(other.gain(*halves)) == pytest.approx(float(one.gain(*plain_halves)), rel=1e-6)
    lengths = [c.description_length(h, h[0] + h[1]) for c, h in ((one, plain_halves), (other, halves))]
    assert lengths[0] == pytest.approx(lengths[1], rel=1e-6)


def test_rounding_errors_do_not_choose_between_equal_splits() -> None:
    _, target = drawn(30)
    order = RNG.permutation(30)
    responses = (np.arange(30) < 12).astype(float)
    assert target.gain(responses) == target[order].gain(responses[order])


def test_separate_groups_are_worth_a_split_and_noise_is_not() -> None:
    criterion = NumberCriterion()
    weights = np.ones(50)
    low, high = RNG.normal(-1.0, 0.3, 50), RNG.normal(1.0, 0.3, 50)
    for one, other, is_worth in ((low, high, True), (low, RNG.permutation(low), False)):
        sides = [criterion.sums(values, weights) for values in (one, other)]
        node = sides[0] + sides[1]
        assert (criterion.description_length(sides, node) < criterion.description_length([node], node)) == is_worth


def test_equal_numbers_are_pure_and_their_code_is_finite() -> None:
    criterion = NumberCriterion()
    equal = criterion.sums(np.full(10, 3.7), np.full(10, 0.3))
    assert criterion.is_pure(equal)
    assert float(criterion.entropy(equal)) == pytest.approx(0.0, abs=1e-9)
    assert math.isfinite(criterion.code_length(equal, equal))
    assert criterion.leaf(equal).deviation == RESOLUTION
    spread = criterion.sums(RNG.normal(size=1000), np.ones(1000))
    assert float(criterion.entropy(spread)) == pytest.approx(math.log2(1 / RESOLUTION), abs=0.1)


def test_likelihoods_are_those_of_normal_distributions_and_their_entropy_is_the_criterions() -> None:
    criterion = NumberCriterion()
    z = RNG.normal(size=2000)
    leaf = criterion.leaf_parameters([criterion.leaf(criterion.sums(z, np.ones(2000)))])
    likelihoods = criterion.likelihoods(torch.from_numpy(leaf)[None], torch.from_numpy(z)[None]).flatten().numpy()
    bits = -np.log2(likelihoods).mean()
    assert bits == pytest.approx(float(criterion.entropy(criterion.sums(z, np.ones(2000)))), abs=1e-3)
    logs = criterion.log_likelihoods(np.ones((2000, 1)), criterion.sums(z, np.ones(2000))[None], z)
    np.testing.assert_allclose(logs, np.log(likelihoods), atol=1e-3)


def test_the_gradient_of_the_loss_is_that_of_finite_differences() -> None:
    criterion, target = drawn(12)
    targets = torch.from_numpy(target.values)[None]
    paths = torch.from_numpy(RNG.dirichlet(np.ones(3), 12).T.copy())[:, None]  # (path, restart, row)
    start = torch.from_numpy(RNG.normal(0.0, 0.5, (1, 3, 2)))

    def loss(parameters: torch.Tensor) -> torch.Tensor:
        return -(paths * criterion.likelihoods(parameters, targets)).sum(0).log().sum()

    assert torch.autograd.gradcheck(loss, (start.requires_grad_(),))


def test_parameters_of_leaves_are_read_back() -> None:
    criterion, _ = drawn()
    leaves = [NumberLeaf(60.0, 3.0, 4), NumberLeaf(45.0, 0.0)]
    values = criterion.leaf_values(torch.from_numpy(criterion.leaf_parameters(leaves)))
    again = [criterion.with_value(leaf, value) for leaf, value in zip(leaves, values, strict=True)]
    assert [leaf.mean for leaf in again] == pytest.approx([60.0, 45.0])
    assert [leaf.deviation for leaf in again] == pytest.approx([3.0, RESOLUTION * criterion.scale])
    assert again[0].masses == (4.0,)
    upright, flipped = (
        criterion.initial_parameters(np.array([2.0, 1.0, 2.5]), 2, flip, lambda n: np.ones(n, bool)) for flip in (0, 1)
    )
    assert upright[0, 0] > 0.5 > upright[1, 0]
    np.testing.assert_allclose(upright[::-1], flipped)


def test_a_score_is_that_of_scikit_learn() -> None:
    criterion, target = drawn()
    reach = RNG.dirichlet(np.ones(2), len(target))
    score = criterion.score("held-out", reach, [NumberLeaf(40.0), NumberLeaf(60.0)], target.values)
    assert isinstance(score, NumberScore)
    numbers, predictions = criterion.numbers(target.values), reach @ [40.0, 60.0]
    assert score.r2 == pytest.approx(r2_score(numbers, predictions))
    assert score.mean_absolute_error == pytest.approx(np.abs(numbers - predictions).mean())


def test_strata_are_deciles() -> None:
    strata = NumberCriterion().strata(RNG.normal(size=1000))
    assert set(np.bincount(strata)) == {100}
    assert len(set(NumberCriterion().strata(np.repeat([1.0, 2.0], 50)).tolist())) == 2


def test_criteria_of_numbers_and_of_classes_are_told_apart_by_name() -> None:
    assert criterion_of("squared_error", NumberCriterion) == NumberCriterion()
    with pytest.raises(DataError, match="'gini' is not one of numbers; give one of 'squared_error'"):
        criterion_of("gini", NumberCriterion)
    with pytest.raises(DataError, match=r"'squared_error' is not one of classes; give one of .*'entropy', 'gini'"):
        criterion_of("squared_error", ClassCriterion)


@pytest.mark.parametrize(("numbers", "message"), [([3.0] * 5, "one value only, 3"), ([-1e308, 1e308], "too large")])
def test_targets_that_cannot_be_learned_are_refused(numbers: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        NumberCriterion().for_targets(np.array(numbers), np.ones(len(numbers)))
