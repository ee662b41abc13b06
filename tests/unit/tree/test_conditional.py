"""Conditional probabilities of tests below paths that compare one expression many times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuid3 import AtomTest, Branch, Examples, Leaf, NeurosymbolicTree, Tree
from neuid3.data.priors import Priors, column_priors
from neuid3.tree.tree import Path

KINDS = {"a": "number", "b": "number"}

# Many paths of these are possible, and many of their comparisons imply others.
bounds = st.tuples(st.just("a + b"), st.sampled_from(("<", "=<", ">", ">=")), st.integers(0, 4))
comparisons = st.tuples(
    st.sampled_from(("a + b", "a - b", "a")), st.sampled_from(("<", "=<", ">", ">=", "=:=")), st.integers(0, 3)
)


@settings(deadline=None)
@given(
    above=st.lists(st.tuples(bounds | comparisons, st.booleans()), min_size=2, max_size=5),
    asked=comparisons,
    seed=st.integers(0, 100),
)
def test_comparisons_that_others_imply_change_no_probability(
    above: list[tuple[tuple[str, str, int], bool]], asked: tuple[str, str, int], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X = Examples({name: np.where(rng.random(12) < 0.4, np.nan, rng.integers(0, 3, 12)) for name in "ab"}, kinds=KINDS)
    compared = [*(comparison for comparison, _ in above), asked]
    rules = "\n".join(f"t{i} :- {' '.join(map(str, comparison))}." for i, comparison in enumerate(compared))
    tests = [AtomTest(f"t{i}") for i in range(len(compared))]
    path: Path = tuple((test, response) for test, (_, response) in zip(tests, above, strict=False))
    root: Branch | Leaf = Leaf((1.0, 0.0))
    for test in tests:  # a model reads the columns of its tests only
        root = Branch(test, root, Leaf((0.0, 1.0)))
    model = NeurosymbolicTree(Tree(root, ("x", "y")), X.schema, background=rules, priors=Priors(column_priors(X)))
    evidence = model.evidence(X)
    yes, whole = model.inference.reach(evidence, [(*path, (tests[-1], True)), path]).T
    found = model.inference.conditional(evidence, path, tests[-1])
    possible = whole > 1e-9
    assert found[possible] == pytest.approx(yes[possible] / whole[possible], abs=1e-9)
