"""Training configurations: checks of their fields, and names for whole configurations."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from neuid3 import Limits, NeuID3Classifier, TrainingConfig
from neuid3.errors import BackendError, ParameterError
from neuid3.networks import TorchBackend
from neuid3.training.config import PAPER_TRAINING, TRAINING_RULES, read_training


def test_every_field_has_a_rule() -> None:
    assert {*TRAINING_RULES, "backend"} == {field.name for field in fields(TrainingConfig)}


def test_a_backend_is_a_name_or_has_what_a_backend_needs() -> None:
    assert TrainingConfig(backend="not registered yet").to_json()["backend"] == "not registered yet"
    assert TrainingConfig(backend=TorchBackend()).to_json()["backend"] == "torch"
    with pytest.raises(BackendError, match="5 is no backend: it has no name, supports"):
        TrainingConfig(backend=5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("epochs", 0, "an integer of at least 1"),
        ("epochs", 2.5, "an integer of at least 1"),
        ("epochs", True, "an integer of at least 1"),
        ("batch_size", "64", "an integer of at least 1"),
        ("batch_size", np.int64(-1), "an integer of at least 1"),
        ("restarts", None, "an integer of at least 1"),
        ("joint_epochs", -1, "an integer of at least 0"),
        ("learning_rate", 0.0, "a number above 0"),
        ("learning_rate", float("inf"), "a number above 0"),
        ("learning_rate", np.float64("nan"), "a number above 0"),
        ("weight_decay", -1e-9, "a number of at least 0"),
        ("validation_fraction", 1, "a number of at least 0 and below 1, or None"),
        ("min_reach", 1.0, "a number of at least 0 and below 1"),
        ("max_steps", 0, "an integer of at least 1, or None"),
        ("reuse", 1, "True or False"),
        ("shared", "yes", "True or False"),
        ("loss", "hinge", "'leaves' or 'branches'"),
        ("device", torch.device("cpu"), "text"),
    ],
)
def test_a_value_that_is_not_allowed_is_named_with_those_that_are(field: str, value: Any, allowed: str) -> None:
    with pytest.raises(ParameterError) as error:
        TrainingConfig(**{field: value})
    assert str(error.value).startswith(f"{field}=")
    assert str(error.value).endswith(f" is not allowed; give {allowed}.")
    with pytest.raises(ParameterError, match=f"^{field}="):
        NeuID3Classifier().set_params(**{f"training__{field}": value})


def test_scalars_of_other_libraries_become_pythons() -> None:
    config = TrainingConfig(
        epochs=np.int32(3),  # type: ignore[arg-type]
        learning_rate=np.float32(0.25),  # type: ignore[arg-type]
        reuse=np.bool_(False),  # type: ignore[arg-type]
        joint_epochs=torch.tensor(2),  # type: ignore[arg-type]
        loss=np.str_("branches"),  # type: ignore[arg-type]
        weight_decay=1,
    )
    assert config == TrainingConfig(
        epochs=3, learning_rate=0.25, reuse=False, joint_epochs=2, loss="branches", weight_decay=1.0
    )
    assert {type(value) for value in asdict(config).values()} <= {bool, int, float, str, type(None)}


@pytest.mark.parametrize(
    ("limit", "value"), [("seconds", -1), ("megabytes", 1.5), ("circuit_nodes", "many"), ("max_candidates", 0)]
)
def test_limits_are_checked_too(limit: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=f"^{limit}={value!r} is not allowed; give a"):
        Limits(**{limit: value})


def test_the_paper_has_a_name_and_may_be_changed() -> None:
    assert read_training("paper") == PAPER_TRAINING == TrainingConfig.paper()
    assert TrainingConfig.paper(epochs=3, augment=True).max_shift == TrainingConfig().max_shift > 0
    assert TrainingConfig.paper().max_shift == TrainingConfig.paper().max_warp == 0
    for wrong in ("papr", None, {"epochs": 3}):
        with pytest.raises(ParameterError, match=r"give 'default', 'paper', or TrainingConfig\(…\)\.$"):
            read_training(wrong)  # type: ignore[arg-type]


def test_fields_are_parameters_of_the_classifier() -> None:
    clf = NeuID3Classifier(training="paper").set_params(training__epochs=7, max_depth=2)
    assert clf.training == TrainingConfig.paper(epochs=7)
    assert clone(clf).training == clf.training
    deep = clf.get_params()
    assert {f"training__{field.name}" for field in fields(TrainingConfig)} <= set(deep)
    assert deep["training__epochs"] == 7
    assert NeuID3Classifier(training="paper").get_params()["training__restarts"] == 1
    assert not any("__" in name for name in clf.get_params(deep=False))
    assert clf.set_params(training="default", training__restarts=2).training == TrainingConfig(restarts=2)
    with pytest.raises(ParameterError, match=r"no field 'epoch'. Did you mean 'epochs'"):
        clf.set_params(training__epoch=3)


def test_a_classifier_has_few_parameters() -> None:
    """The 18 of version 0.2.0, and at most five for what came later; how networks are trained is one of them."""
    assert len(NeuID3Classifier().get_params(deep=False)) <= 18 + 5


@pytest.mark.parametrize("name", ["recipe", "epochs", "epsilon", "warm_starts", "read_together", "max_candidates"])
def test_a_parameter_that_is_gone_is_pythons_own_error(name: str) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        NeuID3Classifier(**{name: None})
