"""The regressor on plain tables, against scikit-learn, enumeration and ProbLog."""

from __future__ import annotations

import datetime as dt
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeRegressor

from neuid3 import Examples, NeuID3Classifier, NeuID3Regressor, NeurosymbolicTree, load
from neuid3.errors import CheckpointError, DataError, ModelFileError, TreeError
from neuid3.tree import NumberCriterion, NumberLeaf
from neuid3.tree.record import NumberScore
from neuid3.tree.tree import Branch, preorder


def table(n: int = 200, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "size": rng.uniform(20.0, 200.0, n).round(1),
            "town": rng.choice(["Rome", "Oslo", "Bonn"], n),
            "garden": rng.random(n) < 0.4,
        }
    )
    y = 2.0 * X["size"] + 80.0 * X["garden"] + 50.0 * (X["town"] == "Oslo") + rng.normal(0.0, 10.0, n)
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def diabetes() -> tuple[pd.DataFrame, pd.Series]:
    return load_diabetes(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def fitted() -> NeuID3Regressor:
    return NeuID3Regressor(max_depth=4).fit(*table())


@pytest.mark.parametrize(("depth", "min_mass"), [(1, 2), (3, 10), (6, 2), (None, 40)])
def test_splits_without_pruning_are_those_of_scikit_learn(diabetes: Any, depth: int | None, min_mass: int) -> None:
    X, y = diabetes
    ours = NeuID3Regressor(pruning=0, max_depth=depth, min_mass=min_mass).fit(X, y)
    theirs = DecisionTreeRegressor(max_depth=depth, min_samples_split=min_mass, min_samples_leaf=min_mass // 2)
    theirs.fit(X.to_numpy(dtype=np.float64), y)
    rows = X.to_numpy(dtype=np.float64)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(rows), rtol=1e-9)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    groups = {(int(a), int(b)) for a, b in zip(ours.apply(X), theirs.apply(rows), strict=True)}
    assert len(groups) == ours.get_n_leaves()


def test_leaves_hold_the_mean_and_deviation_of_their_rows(fitted: NeuID3Regressor) -> None:
    X, y = table()
    leaves = fitted.apply(X)
    for number, leaf in enumerate(fitted.tree_.leaves):
        assert isinstance(leaf, NumberLeaf)
        assert leaf.mean == pytest.approx(y[leaves == number].mean())
        assert leaf.deviation == pytest.approx(max(y[leaves == number].std(), 0.01 * y.std()))
        assert leaf.mass == (leaves == number).sum()
    root = fitted.tree_.root
    assert isinstance(root, Branch)
    assert root.summary is not None
    assert root.summary.value == pytest.approx((y.mean(), y.std()))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_repeating_a_row_is_doubling_its_weight(missing: float) -> None:
    X, y = table(120)
    rng = np.random.default_rng(1)
    X = X.mask(rng.random(X.shape) < missing)
    counts = rng.integers(0, 4, len(X))
    rows = np.repeat(np.arange(len(X)), counts)
    weighted = NeuID3Regressor().fit(X, y, sample_weight=counts)
    repeated = NeuID3Regressor().fit(X.iloc[rows], y[rows])
    assert [str(test) for test in weighted.tree_.tests] == [str(test) for test in repeated.tree_.tests]
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X))


@pytest.mark.parametrize(("offset", "factor"), [(0.0, 1000.0), (1e9, 1.0), (7.0, 1e-6)])
def test_the_tree_does_not_depend_on_the_unit_of_the_target(offset: float, factor: float) -> None:
    X, y = table()
    one, other = (NeuID3Regressor(max_depth=4).fit(X, target) for target in (y, offset + factor * y))
    assert one.tree_.tests == other.tree_.tests
    assert one.get_n_leaves() == other.get_n_leaves()
    means, deviations = other.predict(X, return_std=True)
    expected = one.predict(X, return_std=True)
    np.testing.assert_allclose((means - offset) / factor, expected[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(deviations / factor, expected[1], rtol=1e-5)


def test_a_prediction_is_the_mixture_of_leaves_as_enumeration_finds_it() -> None:
    X, y = table()
    X = X.mask(np.random.default_rng(2).random(X.shape) < 0.3)
    reg = NeuID3Regressor(max_depth=4).fit(X, y)
    means, deviations = reg.predict(X, return_std=True)
    leaves = [leaf for leaf in reg.tree_.leaves if isinstance(leaf, NumberLeaf)]
    for reach, mean, deviation in zip(reg.leaf_probabilities(X)[:40], means, deviations, strict=False):
        expected = sum(p * leaf.mean for p, leaf in zip(reach, leaves, strict=True))
        variance = sum(
            p * (leaf.deviation**2 + (leaf.mean - expected) ** 2) for p, leaf in zip(reach, leaves, strict=True)
        )
        assert mean == pytest.approx(expected)
        assert deviation == pytest.approx(math.sqrt(variance))
    assert deviations.max() > deviations.min()
    assert reg.model_.verify(X, rows=4) < 1e-12


def test_pruning_keeps_noise_out() -> None:
    rng = np.random.default_rng(0)
    X = {name: rng.random(200) for name in "abc"}
    with pytest.warns(UserWarning, match="the tree is a single leaf"):
        noise = NeuID3Regressor(max_depth=3).fit(X, rng.normal(size=200))
    assert noise.get_n_leaves() == 1
    step = NeuID3Regressor(max_depth=3).fit(X, (X["a"] > 0.5) + rng.normal(0.0, 0.2, 200))
    assert step.get_n_leaves() == 2
    assert NeuID3Regressor(pruning=0, max_depth=5).fit(X, rng.normal(size=200)).get_n_leaves() > 8


def test_a_tree_is_saved_without_pickle_and_loaded(fitted: NeuID3Regressor, tmp_path: Path) -> None:
    X, y = table()
    other, y_other = table(seed=5)
    score = fitted.record_score(other, y_other)
    assert isinstance(score, NumberScore)
    assert score.r2 == pytest.approx(fitted.score(other, y_other))
    loaded = load(fitted.save(tmp_path / "price"))
    assert isinstance(loaded, NeuID3Regressor)
    assert loaded.tree_ == fitted.tree_
    assert loaded.get_params() == fitted.get_params()
    assert loaded.training_record_ is not None
    assert loaded.training_record_.scores == (score,)
    for one, same in zip(fitted.predict(X, return_std=True), loaded.predict(X, return_std=True), strict=True):
        np.testing.assert_array_equal(one, same)
    model = load(fitted.model_.save(tmp_path / "tree"))
    assert isinstance(model, NeurosymbolicTree)
    assert repr(model).endswith("leaves, numbers)")
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    again = loaded.fit(X, y)
    assert again.tree_ == NeuID3Regressor(max_depth=4).fit(X, y).tree_


def test_a_file_whose_kind_is_not_that_of_its_tree_is_damaged(fitted: NeuID3Regressor, tmp_path: Path) -> None:
    from neuid3.io.container import SavedFile, read_container, write_container

    saved = read_container(fitted.save(tmp_path / "price"))
    fields = {**saved.fields, "labels": {"type": "str", "values": ["a", "b"]}}
    path = write_container(tmp_path / "wrong.neuid3", SavedFile(fields, saved.background, dict(saved.tensors)))
    with pytest.raises(ModelFileError):
        load(path)


def test_an_interrupted_fit_continues_with_the_same_tree(tmp_path: Path) -> None:
    X, y = table()
    with pytest.warns(UserWarning, match="time_limit=0 was reached"):
        NeuID3Regressor(max_depth=3, time_limit=0, random_state=3).fit(X, y, checkpoint=tmp_path / "fit")
    continued = NeuID3Regressor(max_depth=3, random_state=3).fit(X, y, checkpoint=tmp_path / "fit")
    assert continued.tree_ == NeuID3Regressor(max_depth=3, random_state=3).fit(X, y).tree_
    with pytest.raises(CheckpointError, match="belongs to another fit: targets"):
        NeuID3Regressor(max_depth=3, random_state=3).fit(X, y + X["garden"], checkpoint=tmp_path / "fit")


def test_it_works_with_the_tools_of_scikit_learn() -> None:
    X, y = table()
    search = GridSearchCV(NeuID3Regressor(), {"pruning": [0.0, 0.75], "max_depth": [1, 4]}, cv=3).fit(X, y)
    assert search.best_params_["max_depth"] == 4
    assert search.best_score_ > 0.9
    pipeline = make_pipeline(FunctionTransformer(lambda X: X.drop(columns="town")), NeuID3Regressor()).fit(X, y)
    assert pipeline.score(X, y) > 0.5
    copied = clone(NeuID3Regressor(max_depth=2).set_params(training__epochs=3))
    assert (copied.max_depth, copied.get_params()["training__epochs"]) == (2, 3)


def test_importances_name_the_columns_that_reduce_the_error(fitted: NeuID3Regressor) -> None:
    importances = dict(zip(fitted.feature_names_in_, fitted.feature_importances_, strict=True))
    assert importances["size"] > importances["garden"] > importances["town"] > 0
    assert sum(importances.values()) == pytest.approx(1.0)
    gains = [visit.node.gain for visit in preorder(fitted.tree_.root) if isinstance(visit.node, Branch)]
    assert gains[0] == max(gains)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["low", "high"] * 10, "y holds text such as 'low', and a regressor predicts numbers; .*NeuID3Classifier"),
        ([1.0, np.nan] * 10, "Input y contains NaN: every example needs a number"),
        ([1.0, None] * 10, "Input y contains NaN: every example needs a number"),
        ([1.0, np.inf] * 10, "contains infinity"),
        ([4.0] * 20, "y has one value only, 4"),
        ([1.0] * 19, "inconsistent numbers of samples"),
        ([-1e308, 1e308] * 10, "too large to compute with"),
        ([1e200, 2e200] * 10, "y holds 2e\\+200, .* too large to compute with"),
        ([1e-200, 2e-200] * 10, "differ by 1e-200 at most, which is too little"),
        (list(pd.date_range("2026-01-01", periods=20)), "y holds dates or times such as 2026-01-01"),
        ([dt.date(2026, 1, 1), dt.date(2026, 1, 2)] * 10, "y holds dates or times such as 2026-01-01"),
    ],
)
def test_targets_that_are_no_numbers_are_refused(y: list[Any], message: str) -> None:
    named = {"a": [True, False] * 10}
    for X in (named, np.arange(40.0).reshape(20, 2)):
        with pytest.raises((DataError, ValueError), match=message):
            NeuID3Regressor().fit(X, y)


def test_parameters_of_the_other_task_are_refused() -> None:
    X, y = table(40)
    with pytest.raises(DataError, match="'gini' is not one of numbers"):
        NeuID3Regressor(criterion="gini").fit(X, y)
    with pytest.raises(DataError, match="'squared_error' is not one of classes"):
        NeuID3Classifier(criterion="squared_error").fit(X, y > 100)
    with pytest.raises(TypeError, match="class_weight"):
        NeuID3Regressor(class_weight="balanced")  # type: ignore[call-arg]
    with pytest.raises(DataError, match=r"training='paper' .* y has numbers"):
        NeuID3Regressor(training="paper").fit(X, y)
    with pytest.raises(ValueError, match=r"at least one non-zero number|has weight 0"):
        NeuID3Regressor().fit(X, y, sample_weight=np.zeros(40))
    assert NeuID3Regressor(criterion=NumberCriterion()).fit(X, y).tree_ == NeuID3Regressor().fit(X, y).tree_


def test_methods_about_classes_say_that_there_are_none(fitted: NeuID3Regressor) -> None:
    X, _ = table()
    with pytest.raises(TreeError, match="predicts numbers, so `predict_proba` has no classes; use `predict`"):
        fitted.model_.predict_proba(X)
    assert not hasattr(fitted, "predict_proba")
    assert not hasattr(fitted, "classes_")
    classes = NeuID3Classifier(max_depth=1).fit({"a": [True, False] * 10}, [1, 0] * 10)
    with pytest.raises(TreeError, match="predicts classes and no numbers"):
        classes.model_.predict_number({"a": [True]})
    with pytest.raises(DataError, match="threshold=3 is for trees that predict numbers"):
        classes.model_.explain({"a": [True]}, threshold=3)


def test_rows_that_were_learned_are_recognised(fitted: NeuID3Regressor) -> None:
    X, y = table()
    with pytest.warns(UserWarning, match="Each of these [0-9]+ rows is equal to a training row"):
        fitted.record_score(X.iloc[:5], y[:5])
    with pytest.raises(DataError, match="y has 4 numbers for 5 examples"):
        fitted.record_score(X.iloc[:5], y[:4])


def test_own_kinds_of_columns_and_rules_are_learned() -> None:
    rng = np.random.default_rng(0)
    X = Examples(
        {"p": rng.random(200), "a": rng.random(200) < 0.5, "b": rng.random(200) < 0.5}, kinds={"p": "probability"}
    )
    y = np.where(np.asarray(X.column("a").values) ^ np.asarray(X.column("b").values), 10.0, 2.0)
    y = y + 5.0 * (rng.random(200) < np.asarray(X.column("p").values))
    reg = NeuID3Regressor(background="differ :- a, \\+ b.\ndiffer :- b, \\+ a.", tests=["differ", "p"]).fit(X, y)
    assert [str(test) for test in reg.tree_.tests] == ["differ", "p"]
    assert reg.score(X, y) > 0.6
    assert reg.model_.verify(X, rows=3) < 1e-12
