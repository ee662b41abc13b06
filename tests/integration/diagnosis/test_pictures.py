"""Diagnoses of fits with networks: pictures that are alike, and a saddle that more restarts leave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.diagnosis_problems import QUICK, pair, sound_picture
from neuid3 import NeuID3Classifier

pytestmark = pytest.mark.filterwarnings("ignore:No candidate test was good enough")


def diagnosed(columns: Any, targets: Any, parameters: Any) -> Any:
    return NeuID3Classifier(random_state=0, n_jobs=1, **parameters).fit(columns, targets).diagnose(columns, targets)


def test_pictures_without_content_are_named() -> None:
    problem = sound_picture(np.random.default_rng(0))
    images = problem.columns["picture"]
    rng = np.random.default_rng(1)
    for spoiled, word in ((np.zeros_like(images), "alike"), (rng.random(images.shape).astype(np.float32), "noise")):
        found = diagnosed({"picture": spoiled}, problem.targets, problem.parameters)
        assert found.cause == "pictures_alike"
        assert word in found.causes[0].text
    found = diagnosed({"picture": rng.permutation(images)}, problem.targets, problem.parameters)
    assert found.cause == "pictures_alike"
    assert found.causes[0].evidence["probe"] < 0.65


def test_pictures_that_are_learned_are_sound() -> None:
    problem = sound_picture(np.random.default_rng(0))
    found = diagnosed(problem.columns, problem.targets, {"training": QUICK})
    assert found.learned
    assert found.cause is None


def test_a_saddle_is_left_with_more_restarts() -> None:
    for seed in range(9):  # now and then one restart is lucky
        problem = pair(np.random.default_rng(seed), "one_large", sharpness=1.0, restarts=1)
        clf = NeuID3Classifier(random_state=0, n_jobs=1, **problem.parameters).fit(problem.columns, problem.targets)
        if not clf.tree_.tests:
            break
    finding = clf.diagnose(problem.columns, problem.targets).causes[0]
    assert finding.cause == "more_restarts"
    assert finding.evidence["after"] > finding.evidence["before"] + 0.1
