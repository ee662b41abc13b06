"""scikit-learn's meta-estimators with images among the columns: `Examples` where rows are indexed, otherwise DataFrames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from neuid3 import Examples, NeuID3Classifier, Probability, Tensor, TrainingConfig
from neuid3.errors import DataError

TRAINING = TrainingConfig(epochs=15, learning_rate=0.02, restarts=1, joint_epochs=0)


def classifier(**changes: Any) -> NeuID3Classifier:
    return NeuID3Classifier(**{"training": TRAINING, "max_depth": 1, "random_state": 0, **changes})


def columns(n: int = 80) -> tuple[dict[str, Any], Any]:
    """A fact, a probability and an image; the class is whether the image is bright."""
    rng = np.random.default_rng(0)
    bright = rng.random(n) < 0.5
    images = (rng.random((n, 6, 6)) * 0.2 + 0.8 * bright[:, None, None]).astype(np.float32)
    values = {"fact": rng.random(n) < 0.5, "chance": rng.random(n), "image": images}
    return values, np.where(bright, "bright", "dark")


def examples() -> tuple[Examples, Any]:
    values, y = columns()
    return Examples(values, kinds={"chance": "probability"}), y


def frame() -> tuple[pd.DataFrame, Any]:
    """The same columns; the images are the cells of an object column."""
    values, y = columns()
    return pd.DataFrame({**values, "image": list(values["image"])}), y


def is_learned_from_images(clf: NeuID3Classifier) -> bool:
    return any(
        isinstance(clf.schema_[column], Tensor) for test in clf.tree_.tests for column in clf.model_.columns_of(test)
    )


@pytest.mark.parametrize("table", [examples, frame])
def test_folds_keep_the_kinds_of_columns(table: Any) -> None:
    X, y = table()
    scores = cross_validate(classifier(), X, y, cv=2, return_estimator=True)
    assert scores["test_score"].min() > 0.9
    assert all(map(is_learned_from_images, scores["estimator"]))
    if isinstance(X, Examples):
        assert all(clf.schema_ == X.schema and clf.schema_["chance"] == Probability() for clf in scores["estimator"])
    probabilities = cross_val_predict(classifier(), X, y, cv=2, method="predict_proba")
    assert probabilities.shape == (len(y), 2)
    assert (np.array(["bright", "dark"])[probabilities.argmax(1)] == y).mean() > 0.9


def test_the_fields_of_training_are_searched_by_name() -> None:
    X, y = examples()
    search = GridSearchCV(classifier(), {"training__epochs": [1, 15], "pruning": [0.75]}, cv=2, error_score="raise")
    search.fit(X, y)
    assert search.best_params_ == {"training__epochs": 15, "pruning": 0.75}
    assert search.best_estimator_.training == TRAINING
    configurations = [TrainingConfig(epochs=1, restarts=1), TRAINING]
    search = GridSearchCV(classifier(), {"training": configurations}, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_ == {"training": TRAINING}


def test_the_fields_of_training_are_set_inside_a_pipeline() -> None:
    pipeline = make_pipeline(FunctionTransformer(), classifier(training="default"))
    pipeline.set_params(neuid3classifier__training__epochs=3)
    assert pipeline[-1].training == TrainingConfig(epochs=3)
    assert pipeline.get_params()["neuid3classifier__training__epochs"] == 3


@pytest.mark.parametrize(
    "ensemble",
    [
        lambda: VotingClassifier([("one", classifier()), ("other", classifier(random_state=1))], voting="soft"),
        lambda: VotingClassifier([("one", classifier()), ("other", classifier(random_state=1))], voting="hard"),
        lambda: StackingClassifier([("tree", classifier())], cv=2),
        lambda: CalibratedClassifierCV(classifier(), cv=2),
        lambda: CalibratedClassifierCV(classifier(), cv=2, ensemble=False, method="isotonic"),
    ],
    ids=["soft votes", "hard votes", "stacking", "calibrated", "calibrated once"],
)
@pytest.mark.parametrize("table", [examples, frame])
def test_ensembles_of_estimators_take_images(ensemble: Any, table: Any) -> None:
    X, y = table()
    fitted = ensemble().fit(X[:60] if isinstance(X, Examples) else X.iloc[:60], y[:60])
    unseen = X[60:] if isinstance(X, Examples) else X.iloc[60:]
    assert fitted.predict(unseen).shape == (20,)
    assert fitted.score(unseen, y[60:]) > 0.9


def test_bagging_takes_frames_with_images() -> None:
    X, y = frame()
    bagging = BaggingClassifier(classifier(), n_estimators=2, random_state=0).fit(X.iloc[:60], y[:60])
    assert all(map(is_learned_from_images, bagging.estimators_))
    assert bagging.score(X.iloc[60:], y[60:]) > 0.9
    subspaces = BaggingClassifier(classifier(), n_estimators=3, max_features=2, random_state=0).fit(X.iloc[:60], y[:60])
    assert {clf.n_features_in_ for clf in subspaces.estimators_} == {2}
    assert subspaces.predict(X).shape == (80,)


def test_permuted_images_cost_accuracy_and_other_columns_none() -> None:
    X, y = frame()
    importance = permutation_importance(classifier().fit(X, y), X, y, n_repeats=2, random_state=0)
    fact, chance, image = importance.importances_mean
    assert image > 0.2
    assert fact == chance == 0.0


@pytest.mark.parametrize(
    "use",
    [
        lambda clf, X, y: BaggingClassifier(clf).fit(X, y),
        lambda clf, X, y: permutation_importance(clf.fit(X, y), X, y),
        lambda _, X, __: np.asarray(X),
    ],
    ids=["bagging", "permutation importance", "NumPy"],
)
def test_what_needs_an_array_is_advised_to_take_a_frame(use: Any) -> None:
    X, y = examples()
    with pytest.raises(DataError, match=r"Examples are not an array.*DataFrame"):
        use(classifier(max_depth=0), X, y)
