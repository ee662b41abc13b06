"""Canonical candidates: of tests that are one test up to the names of networks and values, only the first is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from torch import nn

from neuid3 import Examples
from neuid3.data.priors import Priors
from neuid3.learning import canonical
from neuid3.learning.candidates import Candidates
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.sample import Instance, Sample
from neuid3.logic.program import Program
from neuid3.networks.defaults import default_network
from neuid3.training.config import TrainingConfig
from neuid3.tree.criteria import ClassCriterion, Target
from neuid3.tree.node_tests import AtomTest

RULES = """
nn(red_net, [C]) :: red(C).
nn(face_net, [C]) :: face(C).
nn(rank_net, [C], R, [1, 2, 3, 4]) :: rank(C, R).
colour_changes(A, B) :- red(A), \\+ red(B).
colour_changes(A, B) :- \\+ red(A), red(B).
face_changes(A, B) :- face(A), \\+ face(B).
face_changes(A, B) :- \\+ face(A), face(B).
higher(A, B) :- rank(A, X), rank(B, Y), X > Y.
"""
TESTS = (
    "colour_changes(last, played)",
    "face_changes(last, played)",
    "higher(last, played)",
    "higher(played, last)",
)


def learner(*tests: str, networks: dict[str, Any] | None = None, **settings: Any) -> NodeLearner:
    rng = np.random.default_rng(0)
    X = Examples({name: rng.random((12, 8, 8)).astype("float32") for name in ("last", "played")})
    sample = Sample(X, Target(np.arange(12) % 2, np.ones(12), ClassCriterion(2)), np.arange(12) % 4 == 0)
    candidates = Candidates(tuple(map(AtomTest, tests or TESTS)), ())
    settings = {"priors": Priors(), "penalty": 0.0, "adaptive": True, "seed": 0, **settings}
    return NodeLearner(sample, Program(RULES, X.schema), candidates, networks or {}, TrainingConfig(), **settings)


def classes(of: NodeLearner) -> list[list[str]]:
    assert of.neural is not None
    assert of.neural.canonical is not None
    found = of.neural.canonical.classes(of.neural.tests)
    assert of.neural.canonical.first_forms(of.neural.tests) == [members[0] for members in found]
    return [list(map(str, members)) for members in found]


def test_colour_and_face_are_one_candidate_and_so_is_higher_in_both_orders() -> None:
    assert classes(learner()) == [list(TESTS[:2]), list(TESTS[2:])]


def test_the_first_form_is_the_first_candidate() -> None:
    assert classes(learner(*reversed(TESTS))) == [list(TESTS[:1:-1]), list(TESTS[1::-1])]


def test_other_columns_are_another_candidate() -> None:
    assert classes(learner("red(last)", "red(played)", "face(last)")) == [["red(last)", "face(last)"], ["red(played)"]]


def test_networks_of_different_architecture_are_not_exchanged() -> None:
    def wide() -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 1), nn.Sigmoid())

    assert classes(learner(networks={"face_net": wide})) == [[TESTS[0]], [TESTS[1]], list(TESTS[2:])]
    same = {"red_net": wide, "face_net": wide}
    assert classes(learner(networks=same)) == [list(TESTS[:2]), list(TESTS[2:])]


def test_a_network_that_is_given_as_a_module_keeps_its_meaning() -> None:
    ranks = default_network([(8, 8)], 4)
    assert classes(learner(networks={"rank_net": ranks})) == [list(TESTS[:2]), [TESTS[2]], [TESTS[3]]]


def test_a_network_of_a_reused_test_keeps_its_meaning() -> None:
    reused = {"red_net": Instance(default_network([(8, 8)], 1), "red_net", frozenset(), True)}
    assert classes(learner(reused=reused)) == [[TESTS[0]], [TESTS[1]], list(TESTS[2:])]


def test_once_the_tree_calls_a_network_its_values_have_a_meaning() -> None:
    of = learner()
    assert len(classes(of)) == 2
    of.inference.bindings["rank_net"] = "rank_net#1"
    assert classes(of) == [list(TESTS[:2]), [TESTS[2]], [TESTS[3]]]
    of.inference.bindings["red_net"] = "red_net#2"
    assert classes(of) == [[test] for test in TESTS]
    of.inference.bindings = {}
    assert len(classes(of)) == 2, "also after the networks of another start are gone"


def test_without_reuse_every_candidate_is_trained() -> None:
    of = learner(adaptive=False)
    assert of.neural is not None
    assert of.neural.canonical is None


def test_after_the_deadline_all_candidates_count_as_different(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canonical, "SECONDS", 0.0)
    assert classes(learner()) == [[test] for test in TESTS]
