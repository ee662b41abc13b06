"""Networks that many columns share: training, significance and scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from small_data import drawn

from neuid3 import Examples
from neuid3.circuits.reach import Reach
from neuid3.circuits.torch_arrays import TorchArrays
from neuid3.data.priors import Priors
from neuid3.learning.candidates import Candidates
from neuid3.learning.column_pretraining import ColumnPretrainingTask
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.sample import Instance, Sample
from neuid3.logic.program import Program
from neuid3.networks.defaults import default_network
from neuid3.training.config import TrainingConfig
from neuid3.training.task import TrainingResult
from neuid3.tree.criteria import ClassCriterion, Target
from neuid3.tree.node_tests import AtomTest


def target_of(y: np.ndarray) -> Target:
    return Target(y.astype(np.int64), np.ones(len(y)), ClassCriterion(int(y.max()) + 1))


def learner_of(columns: dict[str, np.ndarray], y: np.ndarray, **settings: object) -> NodeLearner:
    X = Examples(columns)
    background = "\n".join(f"nn({name}_net, [I]) :: {name}_on(I)." for name in columns)
    tests = tuple(AtomTest(f"{name}_on({name})") for name in columns)
    sample = Sample(X, target_of(y), np.arange(len(y)) % 4 == 0)
    arguments = {"priors": Priors(), "penalty": 2.0, "adaptive": True, "share_networks": True, "seed": 0, **settings}
    return NodeLearner(sample, Program(background, X.schema), Candidates(tests, ()), {}, TrainingConfig(), **arguments)


def shared_tasks_of(learner: NodeLearner) -> list[ColumnPretrainingTask]:
    return list(learner.neural.pretrainer.columns.training_tasks(learner.neural.tests))


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(2, 4))
def test_the_average_gain_is_that_of_tests_one_by_one(seed: int, tests: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    n = 40
    which, labels, weights = rng.integers(0, tests, n), rng.integers(0, classes, n), rng.random(n)
    responses = rng.random(n)
    sides = np.zeros((2 * tests, n))
    sides[2 * which, np.arange(n)], sides[2 * which + 1, np.arange(n)] = responses, 1.0 - responses
    target = Target(labels, weights, ClassCriterion(classes))
    alone = sum(weights[which == j].sum() * target[which == j].gain(responses[which == j]) for j in range(tests))
    assert target.mean_information_gain(sides) == pytest.approx(alone / weights.sum(), abs=1e-12)


def test_each_half_of_the_columns_trains_once_and_validates_once() -> None:
    columns, y = drawn(60, 0)
    one, other = shared_tasks_of(learner_of(columns, y))
    assert one.columns | other.columns == set(columns)
    assert not one.columns & other.columns
    for shared in (one, other):
        task = shared.task
        assert len(task.target) == 45 * 4 + 60 * 4, "training columns without the rows of the validation split"
        assert int((~task.unseen).sum()) == 45 * 4
        shown = np.asarray(task.columns["image"])
        training = sorted(shared.columns)
        np.testing.assert_array_equal(shown[:45], columns[training[0]][np.arange(60) % 4 != 0])
        np.testing.assert_array_equal(shown[-60:], columns[max(set(columns) - shared.columns)])


def test_an_example_takes_the_paths_of_its_column_only() -> None:
    columns, y = drawn(40, 0)
    task = shared_tasks_of(learner_of(columns, y))[0].task
    (network,) = task.outputs
    outputs = np.random.default_rng(0).random(len(task.target))

    class GivenEvidence:
        def __len__(self) -> int:
            return len(outputs)

        def weights(self, variable: object) -> torch.Tensor:
            return torch.tensor(
                np.stack((1 - outputs, outputs)) if variable == network else task.fixed_weights[variable]
            ).double()

    reached = Reach(task.paths, TorchArrays())(GivenEvidence()).numpy()
    (which,) = task.fixed_weights.values()
    for j, here in enumerate(which.astype(bool)):
        np.testing.assert_allclose(reached[here][:, [2 * j, 2 * j + 1]], np.stack((outputs, 1 - outputs), 1)[here])
        assert not np.delete(reached[here], [2 * j, 2 * j + 1], axis=1).any()


@pytest.mark.parametrize("gain", [0.0, 0.001, 0.01, 0.02, 0.1])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_p_value_is_that_of_the_chi_squared_distribution(gain: float, classes: int) -> None:
    columns, y = drawn(80, 0)
    shared = shared_tasks_of(learner_of(columns, (y + np.arange(80)) % classes))[0]
    validation_images = 80 * 4
    expected = chi2.sf(2 * np.log(2) * gain * validation_images, 4 * (classes - 1))
    net = next(iter(shared.task.initial_networks[0].values()))
    kept = shared.instances(TrainingResult({shared.name: net}, np.zeros((0, classes)), gain, gain, 1))
    assert bool(kept) == (expected < 1e-3)
    assert not shared.instances(None)


def test_networks_are_shared_only_on_request() -> None:
    columns, y = drawn(60, 0)
    assert not shared_tasks_of(learner_of(columns, y, share_networks=False))


def test_fewer_than_four_columns_share_nothing() -> None:
    columns, y = drawn(60, 0)
    assert not shared_tasks_of(learner_of({name: columns[name] for name in ("c0", "c1", "c2")}, y))


def test_missing_images_are_used_neither_for_training_nor_for_validation() -> None:
    columns, y = drawn(60, 0)
    columns["c3"][::3] = np.nan
    sizes = {len(shared.task.target) for shared in shared_tasks_of(learner_of(columns, y))}
    assert sizes == {45 * 4 + 60 * 4 - 15, 45 * 4 + 60 * 4 - 20}


# Scores of shared networks ------------------------------------------------------------------------
def shared_network_of(columns: dict[str, np.ndarray], trained_on: set[str], name: str) -> tuple[str, Instance]:
    """A network with random weights, declared as trained on these columns."""
    torch.manual_seed(len(name))
    return f"{name}_net#1", Instance(
        default_network([columns[name].shape[1:]], 1), f"{name}_net", frozenset(trained_on), False, True
    )


def test_a_shared_network_serves_columns_it_was_not_trained_on_and_counts_like_a_fact() -> None:
    columns, y = drawn(80, 0)
    halves = {"c0", "c1", "c2", "c3"}, {"c4", "c5", "c6", "c7"}
    networks = dict([shared_network_of(columns, halves[0], "c0"), shared_network_of(columns, halves[1], "c4")])
    learner = learner_of(columns, y, reused=networks)
    for test in learner.neural.tests:
        other = "c4_net#1" if str(test)[:2] in halves[0] else "c0_net#1"
        (candidate,) = learner.neural.ready.scored(learner.root, test)
        assert dict(candidate.test.instances) == {f"{str(test)[:2]}_net": other}
        assert not candidate.validated
        responses = learner.inference.conditional((), candidate.test)
        assert candidate.gain == pytest.approx(target_of(y).gain(responses)), "all examples count"
        assert candidate.bits == pytest.approx(80 * candidate.gain)
        assert candidate.tolerance * 80 == pytest.approx(0.5), "half a bit less is as good"
        unseen = np.arange(80) % 4 == 0
        assert learner.neural.ready.validation_bits(learner.root, candidate.test) == pytest.approx(
            target_of(y)[unseen].gain(responses[unseen])
        )


def test_the_only_shared_network_is_scored_on_validation_examples_for_its_training_columns() -> None:
    columns, y = drawn(80, 0)
    learner = learner_of(columns, y, reused=dict([shared_network_of(columns, {"c0", "c1", "c2", "c3"}, "c0")]))
    own, foreign = (next(learner.neural.ready.scored(learner.root, learner.neural.tests[i])) for i in (1, 5))
    assert own.validated
    assert not foreign.validated
    assert own.bits == pytest.approx(20 * own.gain)


def test_a_column_that_leaves_a_child_too_small_is_no_candidate() -> None:
    columns, y = drawn(80, 0)
    networks = dict([shared_network_of(columns, {"c0", "c1", "c2", "c3"}, "c0")])
    learner = learner_of(columns, y, reused=networks, min_child_mass=41.0)
    assert not list(learner.neural.ready.scored(learner.root, learner.neural.tests[5])), "neither side has 41 of 80"


def test_a_network_of_its_own_must_gain_more_than_a_shared_one_on_the_same_examples() -> None:
    columns, y = drawn(80, 0)
    learner = learner_of(columns, y, reused=dict([shared_network_of(columns, {"c0"}, "c0")]))
    neural, node = learner.neural, learner.root
    ready = {test: list(neural.ready.scored(node, test)) for test in neural.tests}
    test = neural.tests[5]
    ready[test][0].bits = 100.0  # as if it had a large gain
    gains = neural.gains_to_beat(node, ready)
    assert gains[test] == neural.ready.validation_bits(node, ready[test][0].test)
    assert all(gain == 0.0 for other, gain in gains.items() if other != test)
    below = replace(node, path=((AtomTest("c6_on(c6)", (("c6_net", "c0_net#1"),)), True),))
    assert not neural.gains_to_beat(below, ready), "below the root, shared networks are used as they are"
