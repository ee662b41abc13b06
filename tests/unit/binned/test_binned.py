"""Trees over coded columns: the kernel, numpy, the plain grower and exact inference agree on generated tables."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.tree import DecisionTreeRegressor

from neuid3 import NeuID3Classifier
from neuid3.binned import (
    BinnedCriterion,
    BinnedForest,
    BinnedGrower,
    BinnedLimits,
    BinnedTarget,
    BinnedTree,
    bin_columns,
    column_values,
    tree_nodes,
)
from neuid3.binned.cuts import shortest_cut
from neuid3.binned.kernel import binned_kernel
from neuid3.data.columns import Distribution
from neuid3.data.examples import Examples
from neuid3.data.priors import Priors, column_priors
from neuid3.errors import DataError
from neuid3.tree import AtomTest, Branch, Leaf, Tree
from neuid3.tree.criteria import ClassCriterion, GiniCriterion
from neuid3.tree.model import TreeModel
from neuid3.tree.tree import Node
from neuid3.utils import kernel as kernel_module

CLASSES = 3
FIELDS = ("column", "code", "yes", "no", "parent", "threshold", "gain", "fraction", "statistics")


@pytest.fixture(params=["kernel", "numpy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """With the compiled kernel, and without it."""
    monkeypatch.setenv("NEUID3_KERNEL", "off" if request.param == "numpy" else "on")
    kernel_module.clear_choice()
    if request.param == "kernel" and binned_kernel() is None:
        pytest.skip("there is no kernel here")
    yield request.param
    kernel_module.clear_choice()


def table(rng: np.random.Generator, rows: int, missing: float, uncertain: bool = True) -> Examples:
    """A table with columns of every kind that a test without networks reads."""

    def holes(values: npt.ArrayLike, nothing: object = None) -> npt.NDArray[np.object_]:
        column = np.array(values, dtype=object)
        column[rng.random(rows) < missing] = nothing
        return column

    columns = {
        "fever": holes([bool(x) for x in rng.random(rows) < 0.4]),
        "cough": holes([bool(x) for x in rng.random(rows) < 0.7]),
        "suit": holes(rng.choice(["hearts", "clubs", "spades", "stars"], rows).tolist()),
        "age": holes(np.round(rng.normal(size=rows), 1), np.nan).astype(np.float64),
        "size": holes(rng.normal(size=rows), np.nan).astype(np.float64),
    }
    if not uncertain:
        return Examples(columns)
    shades = rng.random((rows, 3))
    return Examples(
        columns | {"seen": rng.random(rows), "shade": shades / shades.sum(1, keepdims=True)},
        kinds={"seen": "probability", "shade": Distribution(("red", "green", "blue"))},
    )


def targets(rng: np.random.Generator, rows: int, weights: npt.NDArray[np.float64]) -> list[BinnedTarget]:
    classes = rng.integers(0, CLASSES, rows)
    return [
        BinnedTarget.of_classes(classes, CLASSES, weights, BinnedCriterion.GINI),
        BinnedTarget.of_classes(classes, CLASSES, weights, BinnedCriterion.ENTROPY),
        BinnedTarget.of_numbers(rng.normal(size=rows) + 5, weights),
        BinnedTarget.of_gradients(rng.normal(size=rows), rng.random(rows), weights),
        BinnedTarget.of_gradients(rng.normal(size=(rows, 3)), rng.random((rows, 3)), weights),
    ]


LIMITS = (
    BinnedLimits(max_features=2),
    BinnedLimits(max_depth=3, min_gain=1e-4),
    BinnedLimits(max_splits=5, l2=1.0, min_hessian=0.1),
)


@pytest.mark.skipif(binned_kernel() is None, reason="there is no kernel here")
@pytest.mark.parametrize("seed", range(8))
def test_the_kernel_grows_and_applies_the_trees_that_numpy_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(5, 120))
    X = table(rng, rows, missing=0.2 * (seed % 2))
    weights = rng.integers(0, 3, rows).astype(float) if seed % 3 else rng.random(rows)
    binned = bin_columns(X, weights, max_bins=5 if seed % 4 == 0 else 65_535)
    values = column_values(binned.columns, X)
    for target in targets(rng, rows, weights):
        for limits in LIMITS:
            results = []
            for setting in ("on", "off"):
                monkeypatch.setenv("NEUID3_KERNEL", setting)
                kernel_module.clear_choice()
                tree = BinnedGrower(binned).grow(target, limits, seed)
                forest = BinnedForest([tree, tree], binned.columns)
                leaf_values = np.arange(2.0 * forest.leaf_offsets[-1]).reshape(-1, 2)
                results.append((tree, forest.sums(values, leaf_values), forest.reach(values, 1)))
            kernel_module.clear_choice()
            (one, sums, reach), (other, other_sums, other_reach) = results
            for name in FIELDS:
                assert np.allclose(getattr(one, name), getattr(other, name), atol=1e-9), name
            assert np.allclose(sums, other_sums)
            assert np.array_equal(reach[0], other_reach[0])
            assert np.allclose(_dense(reach, one), _dense(other_reach, one))


def _dense(reach: tuple[npt.NDArray[np.int64], ...], tree: BinnedTree) -> npt.NDArray[np.float64]:
    starts, leaves, weights = reach
    dense = np.zeros((len(starts) - 1, int(tree.is_leaf.sum())))
    dense[np.repeat(np.arange(len(starts) - 1), np.diff(starts)), leaves] = weights
    return dense


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("way")
def test_trees_reach_their_leaves_as_exact_inference_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, unseen = table(rng, 60, missing=0.2), table(rng, 40, missing=0.3)
    weights = rng.random(60) + 0.1
    binned = bin_columns(X, weights, max_bins=65_535 if seed % 2 else 7)
    target = BinnedTarget.of_classes(rng.integers(0, CLASSES, 60), CLASSES, weights)
    tree = BinnedGrower(binned).grow(target, BinnedLimits(max_features=3, max_depth=5), seed)
    root = tree_nodes(tree, binned, ClassCriterion(CLASSES).leaf)
    model = TreeModel(Tree(root, ("a", "b", "c")), X.schema, priors=Priors(column_priors(X, weights)))
    for examples in (X, unseen):
        examples = Examples.read(examples, X.schema)
        found = _dense(BinnedForest([tree], binned.columns).reach(column_values(binned.columns, examples)), tree)
        assert np.abs(found - model.leaf_probabilities(examples)).max() < 1e-9


@pytest.mark.usefixtures("way")
def test_responses_of_further_tests_are_columns_too() -> None:
    rng = np.random.default_rng(0)
    X, hidden = table(rng, 50, missing=0.0), rng.random(50) < 0.5
    test = AtomTest("hidden")
    binned = bin_columns(X, facts={test: hidden})
    tree = BinnedGrower(binned).grow(BinnedTarget.of_classes(hidden, 2, np.ones(50)), BinnedLimits())
    root = tree_nodes(tree, binned, ClassCriterion(2).leaf)
    assert isinstance(root, Branch)
    assert root.test == test
    values = column_values(binned.columns, X, facts={test: ~hidden})
    assert np.array_equal(BinnedForest([tree], binned.columns).sums(values, np.array([[1.0], [0.0]]))[:, 0], ~hidden)


@pytest.mark.parametrize("criterion", [ClassCriterion(CLASSES), GiniCriterion(CLASSES)], ids=lambda c: c.name)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("way")
def test_with_all_columns_the_tree_is_that_of_the_plain_grower(seed: int, criterion: ClassCriterion) -> None:
    rng = np.random.default_rng(seed)
    X = table(rng, 80, missing=0.15 * (seed % 3), uncertain=False)
    weights, classes = rng.integers(1, 4, 80).astype(float), rng.integers(0, CLASSES, 80)
    # Without a least mass: the plain grower does not apply it to tests that share a missing entry with the path.
    clf = NeuID3Classifier(criterion=criterion.name, pruning=0.0, max_depth=4, min_mass=1e-6).fit(X, classes, weights)
    kind = BinnedCriterion.GINI if criterion.name == "gini" else BinnedCriterion.ENTROPY
    binned = bin_columns(X, weights)
    limits = BinnedLimits(max_depth=4, min_gain=1e-7, min_mass=1e-6)
    tree = BinnedGrower(binned).grow(BinnedTarget.of_classes(classes, CLASSES, weights, kind), limits)
    assert_same_up_to_ties(tree_nodes(tree, binned, criterion.leaf), clf.tree_.root)


def assert_same_up_to_ties(one: Node, other: Node) -> None:
    """The same tests and leaves from the root down, as far as no two tests were equally good."""
    assert type(one) is type(other)
    if isinstance(one, Branch) and isinstance(other, Branch):
        assert one.gain == pytest.approx(other.gain, abs=1e-6)  # responses are of single precision there
        if one.test == other.test:
            assert_same_up_to_ties(one.yes, other.yes)
            assert_same_up_to_ties(one.no, other.no)
    elif isinstance(one, Leaf) and isinstance(other, Leaf):
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.usefixtures("way")
def test_squared_error_gives_the_splits_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 3))
    y = 1e6 + X[:, 0] * np.where(X[:, 1] > 0, 1, -1) + 0.1 * rng.normal(size=100)
    theirs = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    examples = Examples(X)
    binned = bin_columns(examples)
    tree = BinnedGrower(binned).grow(BinnedTarget.of_numbers(y, np.ones(100)), BinnedLimits(max_depth=4))
    means = tree.leaf_statistics[:, 1] / tree.leaf_statistics[:, 0]
    found = BinnedForest([tree], binned.columns).sums(column_values(binned.columns, examples), means[:, None])
    assert np.allclose(found[:, 0], theirs.predict(X), rtol=1e-9)
    assert tree.leaf_statistics.sum(0) == pytest.approx([100, y.sum(), (y**2).sum()])


@pytest.mark.usefixtures("way")
def test_growth_by_a_number_of_splits_takes_the_best_first() -> None:
    rng = np.random.default_rng(0)
    X = table(rng, 100, missing=0.1)
    binned, target = bin_columns(X), BinnedTarget.of_numbers(rng.normal(size=100), np.ones(100))
    grower = BinnedGrower(binned)
    totals = []
    for splits in range(1, 8):
        tree = grower.grow(target, BinnedLimits(max_splits=splits))
        assert int(tree.is_leaf.sum()) == splits + 1
        totals.append(tree.column_gains(tree.statistics[:, 0], len(binned.columns)).sum())
    assert all(more > fewer for fewer, more in pairwise(totals))
    assert grower.grow(target, BinnedLimits(max_splits=0)).is_leaf.tolist() == [True]


@pytest.mark.usefixtures("way")
def test_the_seed_decides_what_is_drawn() -> None:
    rng = np.random.default_rng(0)
    X = table(rng, 100, missing=0.1)
    binned, target = bin_columns(X), BinnedTarget.of_classes(rng.integers(0, 2, 100), 2, np.ones(100))
    trees = [BinnedGrower(binned).grow(target, BinnedLimits(max_features=1), seed) for seed in (1, 1, 2, 3, 4)]
    assert np.array_equal(trees[0].column, trees[1].column)
    assert len({int(tree.column[0]) for tree in trees}) > 1


@pytest.mark.skipif(binned_kernel() is None, reason="there is no kernel here")
def test_the_kernel_rounds_thresholds_as_python_does() -> None:
    kernel = binned_kernel()
    assert kernel is not None
    kernel.shortest_cut.restype = ctypes.c_double
    rng = np.random.default_rng(0)
    for digits in (0, 1, 3, 6, 17):
        for low, high in np.sort(np.round(rng.normal(size=(200, 2)) * 10.0 ** rng.integers(-8, 8), digits), axis=1):
            if low < high:
                found = kernel.shortest_cut(ctypes.c_double(low), ctypes.c_double(high))
                assert found == shortest_cut(float(low), float(high))


def test_too_many_bins_are_an_error() -> None:
    with pytest.raises(DataError, match="max_bins=1 "):
        bin_columns(Examples({"a": [1.0, 2.0]}), max_bins=1)
