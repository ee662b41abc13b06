"""Number and variants of the restarts of a test."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from neuid3 import Examples
from neuid3.learning.grow import OpenNode
from neuid3.learning.restarts import RestartVariants
from neuid3.learning.sample import Sample
from neuid3.logic.program import Program
from neuid3.training.config import TrainingConfig
from neuid3.training.task import RestartVariant
from neuid3.tree.criteria import ClassCriterion, Target
from neuid3.tree.node_tests import AtomTest
from neuid3.tree.semantics import Semantics

PROGRAM = """
nn(kind_net, [I], B, [0, 1]) :: kind(I, B).
alternate(A, B) :- kind(A, X), kind(B, Y), X \\= Y.
"""


RULE, NETWORK = AtomTest("alternate(a, b)"), AtomTest("kind(a, 1)")

# Enough of them that the least number of restarts at the root has no effect.
MANY = 12


def variants_of(
    test: AtomTest, restarts: int, colours: bool, tests: int = MANY, inner: bool = False, normalised: bool = False
) -> list[RestartVariant]:
    """The restarts of a test over small images, half of whose examples are positive."""
    shape = (6, 3, 12, 12) if colours else (6, 12, 12)
    examples = Examples({name: np.zeros(shape, dtype=np.float32) for name in "ab"})
    sample = Sample(examples, Target(np.arange(6) % 2, np.ones(6), ClassCriterion(2)), np.zeros(6, dtype=bool))
    semantics = Semantics(Program(PROGRAM, examples.schema))
    root = OpenNode.root(6)
    node = replace(root, path=((NETWORK, True),)) if inner else root
    chosen = RestartVariants(sample, semantics, replace(TrainingConfig(), restarts=restarts), tests, "cpu")
    return chosen.variants(node, test, ("a", "b"), normalised)


def test_both_polarities_of_a_rule_have_equally_many_restarts() -> None:
    found = variants_of(RULE, 4, colours=False)
    assert [variant.flipped_polarity for variant in found] == [False, True, False, True]
    assert len(set(variants_of(RULE, 4, colours=True))) == 4, "each polarity once, with and without grayscale warm-up"


@pytest.mark.parametrize("colours", [False, True])
@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("test", [RULE, NETWORK])
def test_more_configured_restarts_are_more_restarts(test: AtomTest, inner: bool, colours: bool) -> None:
    assert len(variants_of(test, 1, colours, inner=inner)) == 1
    assert len(variants_of(test, 16, colours, inner=inner)) >= 2 * len(variants_of(test, 4, colours, inner=inner))


def test_a_network_by_itself_has_one_polarity() -> None:
    assert variants_of(NETWORK, 4, colours=False) == [RestartVariant(), RestartVariant()]
    assert variants_of(NETWORK, 4, colours=True) == [RestartVariant(), RestartVariant(grayscale_warmup=True)]


def test_few_tests_have_more_restarts_each_and_inner_nodes_fewer() -> None:
    assert len(variants_of(RULE, 4, colours=False, tests=1)) == 8
    assert len(variants_of(RULE, 4, colours=False, tests=3)) == 6
    assert len(variants_of(RULE, 4, colours=True, inner=True)) == 2
    assert len(variants_of(NETWORK, 4, colours=False, inner=True)) == 1


def test_networks_with_batch_normalisation_have_few_restarts_of_each_polarity() -> None:
    both = [RestartVariant(False), RestartVariant(True)]
    for inner in (False, True):
        assert variants_of(RULE, 4, colours=True, inner=inner, normalised=True) == both
        assert variants_of(NETWORK, 4, colours=True, inner=inner, normalised=True) == [RestartVariant()]
        assert variants_of(RULE, 16, colours=True, inner=inner, normalised=True) == 4 * both
    assert variants_of(RULE, 1, colours=True, normalised=True) == both[:1]
    assert variants_of(RULE, 4, colours=True, tests=1, normalised=True) == 2 * both, (
        "a single test does not depend on one draw"
    )
