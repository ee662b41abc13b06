"""Pretraining by all candidates at once: the features of its head, and the tasks that there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from neuid3 import Examples
from neuid3.data.priors import Priors
from neuid3.learning import candidate_pretraining as module
from neuid3.learning.candidate_pretraining import CandidatePretrainingTask, candidate_pretraining, symbolic_features
from neuid3.learning.candidates import Candidates
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.sample import Sample
from neuid3.logic.program import Program
from neuid3.networks.defaults import default_network
from neuid3.training.config import TrainingConfig
from neuid3.training.task import TrainingResult
from neuid3.tree.criteria import ClassCriterion, Target
from neuid3.tree.node_tests import AtomTest


def sample_of(columns: dict[str, Any], n: int, kinds: dict[str, Any] | None = None) -> Sample:
    X = Examples(columns, kinds=kinds or {})
    return Sample(X, Target(np.arange(n) % 3, np.ones(n), ClassCriterion(3)), np.arange(n) == n - 1)


# Features -------------------------------------------------------------------------------------------
def test_every_kind_of_column_has_its_features_and_missing_entries_are_zero() -> None:
    numbers = np.array([1.0, 3.0, np.nan, 8.0, 1e9])  # the last row is unseen
    sample = sample_of(
        {
            "fact": [True, False, None, True, True],
            "sure": [0.25, 0.5, None, 1.0, 0.0],
            "suit": ["hearts", "clubs", None, "clubs", "hearts"],
            "rank": np.array([[0.5, 0.5], [1.0, 0.0], [np.nan, np.nan], [0.0, 1.0], [0.1, 0.9]]),
            "age": numbers,
            "image": np.zeros((5, 8, 8), dtype="float32"),
        },
        5,
        {"sure": "probability", "rank": ["low", "high"], "age": "number"},
    )
    scaled = (numbers - 4.0) / np.std([1.0, 3.0, 8.0])
    expected = np.array(
        [
            [1, 0, 0, 1, 1],
            [0.25, 0.5, 0, 1, 0],
            [0, 1, 0, 1, 0],  # clubs
            [1, 0, 0, 0, 1],  # hearts
            [0.5, 1, 0, 0, 0.1],
            [0.5, 0, 0, 1, 0.9],
            np.where(np.isnan(scaled), 0.0, scaled),
        ]
    ).T
    np.testing.assert_allclose(symbolic_features(sample), expected)


def test_a_constant_or_unknown_number_has_a_finite_feature_or_none() -> None:
    features = symbolic_features(sample_of({"same": np.full(4, 7.0)}, 4, {"same": "number"}))
    assert features.tolist() == [[0.0]] * 4
    only_unseen = np.array([np.nan, np.nan, np.nan, 5.0])
    assert symbolic_features(sample_of({"late": only_unseen}, 4, {"late": "number"})).shape == (4, 0)


def test_there_are_at_most_so_many_features(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {f"fact{j}": np.arange(4) % 2 == j % 2 for j in range(6)}
    monkeypatch.setattr(module, "MAX_FEATURES", 5)
    assert symbolic_features(sample_of(columns, 4)).shape == (4, 5)


# Tasks ----------------------------------------------------------------------------------------------
RULES = """
nn(digit_net, [I], D, [0, 1, 2]) :: digit(I, D).
nn(lit_net, [I]) :: lit(I).
same(A, B) :- digit(A, D), digit(B, D).
bright(A, B) :- lit(A), lit(B).
"""


def built(
    *tests: str,
    networks: dict[str, Any] | None = None,
    restarts: int = 3,
    starts: dict[str, torch.nn.Module] | None = None,
) -> CandidatePretrainingTask | None:
    rng = np.random.default_rng(0)
    shown = {name: rng.random((30, 8, 8)).astype("float32") for name in "abc"}
    sample = sample_of({**shown, "fact": rng.random(30) < 0.5}, 30)
    atoms = tuple(map(AtomTest, tests))
    config = TrainingConfig(restarts=restarts, epochs=4, batch_size=10)
    learner = NodeLearner(
        sample,
        Program(RULES, sample.examples.schema),
        Candidates(atoms, ()),
        networks or {},
        config,
        priors=Priors(),
        penalty=0.0,
        adaptive=True,
        seed=0,
    )
    learning = learner.network_learning
    assert learning is not None
    return candidate_pretraining(
        atoms, learner.inference, learning.initializer, learning.shared_columns, config, starts or {}
    )


def test_one_instance_of_each_network_is_trained_by_all_rules_on_all_their_columns() -> None:
    given = built("same(a, b)", "same(b, c)", "lit(a)")
    assert given is not None
    assert set(given.names) == {"digit_net", "lit_net"}
    digits, lights = given.names["digit_net"], given.names["lit_net"]
    assert digits.startswith("digit_net#")
    assert given.columns == {digits: frozenset("abc"), lights: frozenset("a")}
    task = given.task
    assert task.head is not None
    assert (task.head.rules, task.head.parameters, task.head.features.shape) == (3, 3, (30, 1))
    assert len(task.initial_networks) == 6, "twice the restarts of a test"
    assert all(set(networks) == {digits, lights} for networks in task.initial_networks)
    assert task.config.steps(29) == 3 * 4 * 3, "three times the steps of a test"
    trained = given.instances(TrainingResult(dict(task.initial_networks[0]), np.zeros((1, 3)), 0.0, 0.0, 1))
    assert {name: (i.network, i.trained_on, i.frozen) for name, i in trained.items()} == {
        digits: ("digit_net", frozenset("abc"), False),
        lights: ("lit_net", frozenset("a"), False),
    }


def test_one_restart_of_four_begins_with_the_networks_of_a_tree() -> None:
    tree = default_network([(8, 8)], 3)
    given = built("same(a, b)", "same(b, c)", restarts=4, starts={"digit_net": tree})
    assert given is not None
    name, weights = given.names["digit_net"], tree.state_dict()
    begins = [
        all(torch.equal(tensor, weights[key]) for key, tensor in networks[name].state_dict().items())
        for networks in given.task.initial_networks
    ]
    assert begins == [number % 4 == 2 for number in range(8)]
    assert all(networks[name] is not tree for networks in given.task.initial_networks), "it is not trained itself"


def test_rules_of_different_networks_teach_together() -> None:
    assert built("same(a, b)", "bright(a, b)") is not None


def test_nothing_is_pretrained_where_tests_have_nothing_to_teach_together() -> None:
    assert built("same(a, b)") is None
    assert built("same(a, b)", "lit(a)") is None
    given = {"digit_net": default_network([(8, 8)], 3)}
    assert built("same(a, b)", "same(b, c)", networks=given) is None


def test_too_many_rules_are_not_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    tests = ("same(a, b)", "same(b, c)", "same(a, c)")
    monkeypatch.setattr(module, "MAX_RULES", 3)
    assert built(*tests) is not None
    monkeypatch.setattr(module, "MAX_RULES", 2)
    assert built(*tests) is None
