"""Parameters of a classifier in its file: written under the present names, read under those of early versions, too."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuid3 import Limits, NeuID3Classifier, TrainingConfig, load
from neuid3.errors import ModelFileError
from neuid3.io.container import SavedFile, read_container, write_container

GOLDEN = next(folder / "golden" for folder in Path(__file__).parents if (folder / "golden").is_dir())

# All flat parameters of early versions, with their defaults.
EARLY: dict[str, Any] = {
    "recipe": "default",
    "epsilon": 1e-3,
    "max_candidates": 1000,
    "validation_fraction": 0.2,
    "warm_starts": True,
    "read_together": False,
    "augment": True,
    "device": "cpu",
    **dict.fromkeys(("epochs", "batch_size", "learning_rate", "weight_decay", "restarts")),
    **dict.fromkeys(("joint_epochs", "sharpness", "loss", "one_cycle")),
}


def saved(folder: Path, **parameters: Any) -> Path:
    X = {"fact": np.arange(40) % 2 == 0}
    return (
        NeuID3Classifier(**{"random_state": 0, "max_depth": 3, **parameters})
        .fit(X, X["fact"])
        .save(folder / "m.neuid3")
    )


def rewritten(path: Path, parameters: dict[str, Any]) -> NeuID3Classifier:
    """The classifier of a file whose parameters are replaced by these."""
    content = read_container(path)
    fields = {**content.fields, "parameters": parameters}
    write_container(path, SavedFile(fields, content.background, content.tensors))
    clf = load(path)
    assert isinstance(clf, NeuID3Classifier)
    return clf


@pytest.mark.parametrize(
    "training", ["default", "paper", TrainingConfig(epochs=3, reuse=False), TrainingConfig.paper()]
)
def test_training_and_candidates_come_back(training: str | TrainingConfig, tmp_path: Path) -> None:
    path = saved(tmp_path, training=training, limits=Limits(max_candidates=7))
    clf = load(path)
    assert isinstance(clf, NeuID3Classifier)
    assert clf.training == training
    assert clf.limits == Limits(max_candidates=7)
    assert (clf.max_depth, clf.random_state) == (3, 0)
    written = read_container(path).fields["parameters"]
    assert not set(EARLY) - {"max_candidates"} & set(written)
    assert written == json.loads(json.dumps(written))


@pytest.mark.parametrize(
    ("early", "training"),
    [
        ({}, "default"),
        ({"recipe": "paper"}, "paper"),
        ({"epochs": 5, "epsilon": 0.05}, TrainingConfig(epochs=5, min_reach=0.05)),
        ({"warm_starts": False, "augment": False}, TrainingConfig(reuse=False, augment=False)),
        ({"read_together": True, "validation_fraction": 0.3}, TrainingConfig(shared=True, validation_fraction=0.3)),
        ({"recipe": "paper", "epochs": 15, "restarts": 2}, TrainingConfig.paper(epochs=15, restarts=2)),
        ({"loss": "branches", "one_cycle": False, "device": "meta"}, None),
    ],
)
def test_flat_parameters_of_early_versions_are_mapped(
    early: dict[str, Any], training: str | TrainingConfig | None, tmp_path: Path
) -> None:
    expected = training or replace(TrainingConfig(), loss="branches", one_cycle=False, device="meta")
    clf = rewritten(saved(tmp_path), EARLY | early | {"max_depth": 2, "tests": "auto"})
    assert clf.training == expected
    assert clf.limits is None
    assert clf.max_depth == 2


def test_the_candidates_of_early_versions_are_a_limit(tmp_path: Path) -> None:
    assert rewritten(saved(tmp_path), EARLY | {"max_candidates": 50}).limits == Limits(max_candidates=50)


def test_the_parameters_of_a_golden_file_are_mapped() -> None:
    path = GOLDEN / "v1" / "classifier.neuid3"
    assert "recipe" in read_container(path).fields["parameters"]
    clf = load(path)
    assert isinstance(clf, NeuID3Classifier)
    assert clf.training == "default"
    assert clf.tests == ["alarm", "suit(hearts)", "weight =< 0.0"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"training": {"epochs": 0}}, "epochs=0 is not allowed"),
        ({"training": {"epoch": 3}}, "no field 'epoch'"),
        ({"training": "papr"}, "training='papr'"),
        ({"training": 3}, "its parameter training is 3"),
        ({"recipe": "papr"}, "training='papr'"),
        ({"epochs": "many"}, "epochs='many' is not allowed"),
        ({"max_candidates": 0}, "max_candidates=0"),
        ({"max_depth": {"a": 1}}, "its parameter max_depth"),
    ],
)
def test_parameters_that_cannot_be_are_a_damaged_file(parameters: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=f"is damaged.*{message}"):
        rewritten(saved(tmp_path), parameters)
