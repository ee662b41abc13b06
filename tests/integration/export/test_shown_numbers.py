"""Text, pictures, page and explanations show the same numbers, and say of a test with networks how far it can be trusted."""

from __future__ import annotations

import numpy as np
import pytest
from bright import table as pictures

from neuid3 import NeuID3Classifier, TrainingConfig
from neuid3.tree.criteria import ClassCriterion, Target
from neuid3.tree.tree import branches


# How decided a test is ------------------------------------------------------------------------------
def test_the_statistics_are_those_of_the_networks_in_the_end() -> None:
    """Training the tree as one moves the networks after the nodes were made."""
    X = pictures(80)
    y = np.where(X.column("left").values.mean((1, 2)) > 0.5, "light", "dark")
    clf = NeuID3Classifier(
        tests=["left_net(left)"],
        background="nn(left_net, [I]) :: left_net(I).",
        training=TrainingConfig(epochs=4, restarts=1),
    )
    clf.set_params(max_depth=1, random_state=0, pruning=0, training__joint_epochs=3).fit(
        X[:60], y[:60], validation=(X[60:], y[60:])
    )
    (branch,) = branches(clf.tree_.root)
    responses = clf.model_.path_probability(X[60:], ((branch.test, True),))
    assert branch.statistics.decided == pytest.approx(np.abs(2 * responses - 1).mean(), abs=1e-6)
    target = Target((y[60:] == "light") * 1, np.ones(20), ClassCriterion(2))
    assert branch.statistics.unseen_gain == pytest.approx(target.gain(responses))
