"""Forests as estimators: exact averages of their trees, files, out-of-bag scores, explanations, errors."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from neuid3 import Examples, NeuID3ForestClassifier, NeuID3ForestRegressor, NeurosymbolicForest, load
from neuid3.errors import DataError, ModelFileError, NeuID3Error, ParameterError, RowError
from neuid3.explain.page.forests import forest_page
from neuid3.io.container import SavedFile, read_container, write_container

RULES = "sick :- fever, cough.\nsick :- rash.\nodd :- fever, \\+ cough.\n"


def mixed_table(rng: np.random.Generator, rows: int = 120, missing: float = 0.15) -> tuple[Examples, Any]:
    """A table of every kind, with missing entries, and a class that depends on some of them."""

    def holes(values: Any, nothing: object = None) -> Any:
        column = np.array(values, dtype=object)
        column[rng.random(rows) < missing] = nothing
        return column

    fever, cough, rash = (rng.random(rows) < 0.5 for _ in range(3))
    age = rng.normal(50, 10, rows).round()
    suit = rng.choice(["hearts", "clubs", "spades"], rows)
    y = np.where((fever & cough) | rash, "sick", np.where(age > 55, "old", "well"))
    columns = {
        "fever": holes([bool(x) for x in fever]),
        "cough": holes([bool(x) for x in cough]),
        "rash": holes([bool(x) for x in rash]),
        "age": holes(age, np.nan).astype(float),
        "suit": holes(suit.tolist()),
        "p": rng.random(rows),
    }
    return Examples(columns, kinds={"p": "probability"}), y


def small(**parameters: Any) -> NeuID3ForestClassifier:
    return NeuID3ForestClassifier(**{"n_estimators": 6, "random_state": 0, **parameters})


def not_for_bootstrap_samples(estimator: Any) -> dict[str, str]:
    """The checks that no bootstrap passes: a row of weight 2 is drawn as a whole, two equal rows are not."""
    names = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return dict.fromkeys(names, "bootstrap samples are drawn row by row") if estimator.bootstrap else {}


@parametrize_with_checks(
    [
        NeuID3ForestClassifier(n_estimators=5, max_features="sqrt", min_mass=2.0),
        NeuID3ForestRegressor(n_estimators=2, bootstrap=False, max_features=None, min_mass=2.0),
    ],
    expected_failed_checks=not_for_bootstrap_samples,
)
def test_scikit_learn_takes_forests_for_its_own(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("background", ["", RULES])
def test_a_forest_is_the_average_of_its_trees(background: str) -> None:
    X, y = mixed_table(np.random.default_rng(0))
    forest = small(background=background).fit(X, y)
    expected = np.mean([tree.predict_proba(X) for tree in forest.estimators_], axis=0)
    assert len(forest.estimators_) == 6
    assert np.abs(expected - forest.predict_proba(X)).max() < 1e-9
    unseen, _ = mixed_table(np.random.default_rng(1), 50, missing=0.4)
    expected = np.mean([tree.predict_proba(unseen) for tree in forest.estimators_], axis=0)
    assert np.abs(expected - forest.predict_proba(unseen)).max() < 1e-9
    assert forest.predict_log_proba(X).max() <= 0


def test_atoms_of_rules_are_tests() -> None:
    X, y = mixed_table(np.random.default_rng(0), missing=0.0)
    forest = small(background=RULES, tests=["sick", "age"], max_features=None).fit(X, y)
    assert {str(test) for test in forest.forest_.tests} == {"sick"}
    assert forest.score(X, y) > 0.9
    used = dict(zip(X.names, forest.feature_importances_, strict=True))
    assert used["suit"] == 0
    assert used["rash"] > 0


def test_numbers_are_predicted_with_their_standard_deviation() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = NeuID3ForestRegressor(n_estimators=10, random_state=0, oob_score=True).fit(X, y)
    means, deviations = forest.predict(X, return_std=True)
    of_trees = [tree.predict_number(X) for tree in forest.estimators_]
    assert np.allclose(means, np.mean([mean for mean, _ in of_trees], axis=0))
    second = np.mean([deviation**2 + mean**2 for mean, deviation in of_trees], axis=0)
    assert np.allclose(deviations, np.sqrt(second - means**2))
    assert 0.1 < forest.oob_score_ < forest.score(X, y)
    assert np.isfinite(forest.oob_prediction_).mean() > 0.9


def test_the_forest_is_as_good_as_that_of_scikit_learn() -> None:
    X, y = load_wine(return_X_y=True)
    ours = cross_val_score(NeuID3ForestClassifier(n_estimators=50, random_state=0), X, y, cv=3).mean()
    theirs = cross_val_score(RandomForestClassifier(50, random_state=0), X, y, cv=3).mean()
    assert ours > theirs - 0.02


def test_out_of_bag_rows_are_those_that_a_tree_has_not_learned_from() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)  # nothing to learn
    forest = NeuID3ForestClassifier(n_estimators=30, oob_score=True, random_state=0).fit(X, y)
    assert forest.score(X, y) > 0.8
    assert abs(forest.oob_score_ - 0.5) < 0.15
    record = forest.training_record_
    assert record is not None
    assert record.score("out-of-bag") is not None


def test_workers_do_not_change_the_forest() -> None:
    X, y = mixed_table(np.random.default_rng(0))
    alone = small(n_jobs=1).fit(X, y).predict_proba(X)
    assert np.array_equal(alone, small(n_jobs=2).fit(X, y).predict_proba(X))
    with parallel_config(backend="threading", n_jobs=2):
        assert np.array_equal(alone, small().fit(X, y).predict_proba(X))
    assert not np.array_equal(alone, small(random_state=1).fit(X, y).predict_proba(X))


def test_a_grower_can_be_sent_to_another_process() -> None:
    from neuid3.binned import BinnedGrower, BinnedLimits, BinnedTarget, bin_columns

    X, y = mixed_table(np.random.default_rng(0))
    grower = BinnedGrower(bin_columns(X))
    target = BinnedTarget.of_classes(np.unique(y, return_inverse=True)[1], 3, np.ones(len(X)))
    tree = grower.grow(target, BinnedLimits())
    assert np.array_equal(pickle.loads(pickle.dumps(grower)).grow(target, BinnedLimits()).column, tree.column)


@pytest.mark.parametrize("background", ["", RULES])
def test_files_hold_the_whole_forest(background: str, tmp_path: Path) -> None:
    X, y = mixed_table(np.random.default_rng(0))
    forest = small(background=background, oob_score=True).fit(X, y)
    loaded = load(forest.save(tmp_path / "forest"))
    assert isinstance(loaded, NeuID3ForestClassifier)
    assert loaded.get_params() == forest.get_params()
    assert np.array_equal(loaded.predict_proba(X), forest.predict_proba(X))
    assert loaded.estimators_[2].tree == forest.estimators_[2].tree
    assert np.array_equal(loaded.feature_importances_, forest.feature_importances_)
    model = load(forest.model_.save(tmp_path / "model"))
    assert isinstance(model, NeurosymbolicForest)
    assert np.array_equal(model.predict(X), forest.predict(X))
    assert clone(loaded).get_params() == forest.get_params()


def test_a_file_with_a_node_that_is_not_there_is_refused(tmp_path: Path) -> None:
    X, y = mixed_table(np.random.default_rng(0))
    saved = read_container(small(n_estimators=2).fit(X, y).save(tmp_path / "forest"))
    changes = [
        ("column", lambda a: np.where(a < 0, 99, a)),
        ("column", lambda a: np.where(np.arange(len(a)) == len(a) - 1, 0, a)),
        ("code", lambda a: a + 1000),
        ("fraction", lambda a: a - 2.0),
        ("threshold", lambda a: a * np.nan),
        ("statistics", lambda a: a - 1.0),
        ("sizes", lambda a: a[:0]),
        ("sizes", lambda a: a + 1),
        ("gain", lambda a: a[1:]),
    ]
    for number, (name, change) in enumerate(changes):
        tensors = {**saved.tensors, f"/forest/{name}": change(np.asarray(saved.tensors[f"/forest/{name}"]))}
        path = write_container(tmp_path / f"{number}", SavedFile(saved.fields, saved.background, tensors))
        with pytest.raises(ModelFileError):
            load(path)


def test_contributions_add_up_to_the_prediction() -> None:
    X, y = mixed_table(np.random.default_rng(0))
    forest = small(background=RULES).fit(X, y)
    for row in (0, 5, -1):
        explanation = forest.explain(X, row)
        total = np.array(explanation.base) + np.sum([item.amounts for item in explanation.contributions], axis=0)
        assert np.allclose(total, explanation.prediction)
        assert np.allclose(explanation.prediction, forest.predict_proba(X)[row])
        assert sum(explanation.votes) == 6
    assert "Tests that most trees ask" in str(explanation)
    with pytest.raises(RowError, match="There is no row 500"):
        forest.explain(X, 500)


def test_contributions_of_numbers_add_up_too() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = NeuID3ForestRegressor(n_estimators=4, max_depth=4, random_state=0).fit(X, y)
    explanation = forest.explain(X, 3)
    assert explanation.base[0] + sum(item.amounts[0] for item in explanation.contributions) == pytest.approx(
        forest.predict(X)[3]
    )
    assert "half of the 4 trees" in str(explanation)


def test_text_and_page_show_importances_and_trees() -> None:
    X, y = mixed_table(np.random.default_rng(0))
    forest = small(background=RULES).fit(X, y)
    text = forest.export_text(max_trees=2)
    assert all(
        words in text for words in ("6 trees", "Importances", "Asked by most trees", "At the root", "Tree 2 of 6")
    )
    assert "Tree 3 of 6" not in text
    page, sentences, _ = forest_page(forest.model_, X, y)
    assert "Importances of columns" in page
    assert page.count("<summary>tree ") == 6
    assert any("All of these 120 rows are rows that it was learned from" in sentence for sentence in sentences)


def test_forests_work_in_pipelines_and_searches() -> None:
    X, y = load_iris(return_X_y=True)
    assert make_pipeline(StandardScaler(), small()).fit(X, y).score(X, y) > 0.9
    search = GridSearchCV(small(n_estimators=3), {"max_depth": [1, 4]}, cv=2).fit(X, y)
    assert search.best_params_ == {"max_depth": 4}


def test_class_weights_and_sample_weights_move_predictions() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), (rng.random(200) < 0.2).astype(int)
    plain = small(max_depth=2).fit(X, y).predict_proba(X)[:, 1].mean()
    assert small(max_depth=2, class_weight="balanced").fit(X, y).predict_proba(X)[:, 1].mean() > plain + 0.1
    assert small(max_depth=2).fit(X, y, np.where(y == 1, 4.0, 1.0)).predict_proba(X)[:, 1].mean() > plain + 0.1


def test_time_limits_leave_at_least_one_tree() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="5 trees were not grown"):
        forest = small(time_limit=0.0, max_features="sqrt", min_mass=2.0).fit(X, y)
    assert len(forest.estimators_) == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"n_estimators": 2.5}, "n_estimators"),
        ({"max_features": 0}, "max_features"),
        ({"max_features": "half"}, "max_features"),
        ({"max_samples": 1.5}, "max_samples"),
        ({"criterion": "accuracy"}, "criterion"),
        ({"oob_score": True, "bootstrap": False}, "oob_score=True needs bootstrap=True"),
        ({"max_samples": 500}, "max_samples=500 is no size"),
    ],
)
def test_parameters_that_make_no_sense_are_errors(parameters: dict[str, Any], message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        small(**parameters).fit(X, y)


def test_a_forest_without_a_test_says_so() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="No tree of the forest has a test"):
        small(min_mass=1000.0).fit(X, y)


def test_generators_of_candidates_are_refused() -> None:
    from neuid3 import RandomCandidates

    X, y = load_iris(return_X_y=True)
    with pytest.raises(ParameterError, match="RandomCandidates"):
        small(tests=RandomCandidates(fraction=0.5)).fit(X, y)


def test_targets_of_the_wrong_kind_are_errors() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(DataError):
        NeuID3ForestRegressor(n_estimators=2).fit(X, y.astype(str).astype(object) + "x")
    with pytest.raises(ValueError, match="inf"):
        NeuID3ForestRegressor(n_estimators=2).fit(X, np.full(len(X), np.inf))
    with pytest.raises(NeuID3Error):
        small().fit(X, np.zeros(len(X)))
