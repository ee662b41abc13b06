"""Groups of rows in the fits of all estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, KFold

from neuid3 import (
    NeuID3BoostingClassifier,
    NeuID3BoostingRegressor,
    NeuID3Classifier,
    NeuID3ForestClassifier,
    NeuID3ForestRegressor,
    NeuID3Regressor,
)
from neuid3.data.examples import Examples
from neuid3.errors import CheckpointError, DataError, ParameterError
from neuid3.learning.boosting import boost
from neuid3.learning.forest import ForestGrower
from neuid3.learning.validation import training_sample
from neuid3.tree.criteria import ClassCriterion
from neuid3.tree.target import Target

ESTIMATORS = (
    NeuID3Classifier(),
    NeuID3Regressor(),
    NeuID3ForestClassifier(n_estimators=3, oob_score=True),
    NeuID3ForestRegressor(n_estimators=3),
    NeuID3BoostingClassifier(max_trees=3),
    NeuID3BoostingRegressor(max_trees=3),
)


def table(rows: int = 120, groups: int = 9) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"patient": rng.integers(0, groups, rows).astype(float) + 0.5, "age": rng.normal(size=rows)})
    return frame, (frame["age"] + 0.2 * rng.normal(size=rows) > 0).to_numpy().astype(int)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_column_of_groups_is_no_candidate(estimator: Any) -> None:
    frame, y = table()
    estimator.fit(frame, y, groups="patient")
    assert estimator.feature_names_in_.tolist() == ["age"]
    assert len(estimator.predict(frame)) == len(frame)
    with pytest.raises(DataError, match="a single group"):
        estimator.fit(frame, y, groups=np.zeros(len(y)))


def test_the_validation_split_divides_no_group() -> None:
    frame, y = table()
    target = Target(y, np.ones(len(y)), ClassCriterion(2))
    groups = frame["patient"].astype(int).to_numpy()
    for seed in range(20):
        sample = training_sample(Examples(frame), target, validation=None, fraction=0.2, seed=seed, groups=groups)
        assert sample.unseen.any()
        assert not np.intersect1d(groups[sample.unseen], groups[~sample.unseen]).size


def test_validation_rows_of_the_caller_are_groups_of_their_own() -> None:
    frame, y = table()
    target, added = Target(y, np.ones(len(y)), ClassCriterion(2)), Examples(frame[:5])
    groups = frame["patient"].astype(int).to_numpy()
    validation = (added, y[:5], np.ones(5))
    sample = training_sample(Examples(frame), target, validation=validation, fraction=0.2, seed=0, groups=groups)
    assert sample.groups is not None
    assert len(sample.groups) == len(y) + 5
    assert not np.intersect1d(sample.groups[sample.unseen], sample.groups[~sample.unseen]).size


def test_a_group_is_in_or_out_of_bag_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, y = table()
    bags = []
    bag = ForestGrower.bag
    monkeypatch.setattr(ForestGrower, "bag", lambda self, number: bags.append(bag(self, number)) or bags[-1])
    NeuID3ForestClassifier(n_estimators=8, oob_score=True, random_state=0).fit(frame, y, groups="patient")
    assert len(bags) >= 16  # grown and scored
    for drawn in bags:
        assert all(len(np.unique(drawn[frame["patient"] == group])) == 1 for group in frame["patient"].unique())
    assert len({drawn.tobytes() for drawn in bags}) > 4


def test_folds_of_a_boosted_sum_divide_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, y = table()
    learned = []

    class Recorded(boost.Boosting):
        def __post_init__(self) -> None:
            super().__post_init__()
            learned.append(self.learned)

    monkeypatch.setattr(boost, "Boosting", Recorded)
    NeuID3BoostingClassifier(max_trees=2, cv=4).fit(frame, y, groups="patient")
    assert len(learned) == 4
    for mask in learned:
        assert not np.intersect1d(frame["patient"][mask], frame["patient"][~mask]).size
    NeuID3BoostingClassifier(max_trees=2, cv=4).fit(frame, y, groups=np.arange(len(y)) % 2)
    assert len(learned) == 4 + 2  # not more folds than groups


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_splits_of_the_caller_keep_groups_together() -> None:
    frame, y = table()
    NeuID3BoostingClassifier(max_trees=2, cv=GroupKFold(3)).fit(frame, y, groups="patient")
    with pytest.raises(ParameterError, match="cv divides a group in split 0"):
        NeuID3BoostingClassifier(max_trees=2, cv=KFold(3)).fit(frame, y, groups="patient")


def test_a_checkpoint_knows_the_groups(tmp_path: Any) -> None:
    frame, y = table()
    clf = NeuID3Classifier(random_state=0)
    clf.fit(frame[["age"]], y, checkpoint=tmp_path / "c", groups=frame["patient"])
    with pytest.raises(CheckpointError, match="groups"):
        clf.fit(frame[["age"]], y, checkpoint=tmp_path / "c", groups=frame["patient"] // 2)
