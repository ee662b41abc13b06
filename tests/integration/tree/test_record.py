"""A model remembers the rows it was learned from and its scores, and no number mixes those rows with others."""

from __future__ import annotations

import numpy as np
import pytest
from bright import table as images
from sklearn.metrics import log_loss

from neuid3 import NeuID3Classifier, TrainingConfig


# What is remembered ---------------------------------------------------------------------------------
def test_networks_leave_a_score_on_their_validation_rows() -> None:
    X = images(60)
    level = X.column("left").values.mean((1, 2))
    y = np.where(level > 0.5, "light", "dark")
    clf = NeuID3Classifier(
        tests="auto", max_depth=1, random_state=0, training=TrainingConfig(epochs=3, restarts=1)
    ).fit(X, y)
    record = clf.training_record_
    assert record.rows == 60
    assert [(score.kind, score.rows) for score in record.scores] == [("validation", 12)]
    assert record.learned(X, clf.schema_).all()
    given = NeuID3Classifier(tests="auto", max_depth=1, random_state=0, training=TrainingConfig(epochs=3, restarts=1))
    given.fit(X[:40], y[:40], validation=(X[40:], y[40:]))
    score = given.training_record_.score("validation")
    assert (score.rows, score.accuracy) == (20, given.score(X[40:], y[40:]))
    assert score.log_loss == pytest.approx(log_loss(y[40:], given.predict_proba(X[40:])))
    assert given.training_record_.rows == 60  # they chose tests and leaves
