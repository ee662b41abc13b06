"""Default networks read numbers in units of their own: centred and scaled as in the training rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

import neuid3
from neuid3 import Examples, NeuID3Classifier, TrainingConfig

# Whole fits --------------------------------------------------------------------------------------
BMI = "nn(bmi_net, [W, H]) :: obese(W, H)."


SETTINGS = {"background": BMI, "tests": ["obese(weight, height)"], "max_depth": 1, "random_state": 0}


QUICK = SETTINGS | {"pruning": 0.0, "training": TrainingConfig(epochs=10, joint_epochs=2)}


def people(n: int, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Weight in grams, height in millimetres above the centre of the earth, and who has a body mass index above 30."""
    rng = np.random.default_rng(seed)
    height, weight = rng.normal(1.7, 0.1, n), rng.uniform(45.0, 120.0, n)
    return {"weight": 1e3 * weight, "height": 1e3 * height + 6.371e9}, weight / height**2 > 30.0


def test_a_network_over_raw_numbers_learns_as_over_standardised_ones() -> None:
    columns, y = people(800, 0)
    clf = NeuID3Classifier(**SETTINGS).fit(Examples(columns), y)
    unseen, labels = people(2000, 1)
    assert clf.score(Examples(unseen), labels) >= 0.99


@pytest.fixture(scope="module")
def fitted() -> tuple[NeuID3Classifier, Examples, np.ndarray]:
    """A quick fit in which some weights are missing."""
    columns, y = people(300, 0)
    columns["weight"][::7] = np.nan
    X = Examples(columns)
    return NeuID3Classifier(**QUICK).fit(X, y), X, y


def test_missing_numbers_follow_the_average_output_of_the_network(
    fitted: tuple[NeuID3Classifier, Examples, np.ndarray],
) -> None:
    clf, X, y = fitted
    assert clf.networks_
    values = clf.predict_proba(X)
    np.testing.assert_allclose(values[::7], values[:1].repeat(len(values[::7]), 0))
    present = np.arange(len(y)) % 7 > 0
    assert (clf.predict(X) == y)[present].mean() > 0.9
    np.testing.assert_allclose(values[0], values[present].mean(0), atol=0.1)


def test_centre_and_scale_go_along_to_files_onnx_and_deepproblog(
    fitted: tuple[NeuID3Classifier, Examples, np.ndarray], tmp_path: Path
) -> None:
    clf, X, _ = fitted
    values = clf.predict_proba(X)
    same = neuid3.load(clf.save(tmp_path / "bmi.neuid3"))
    np.testing.assert_array_equal(same.predict_proba(X), values)
    session = onnxruntime.InferenceSession(str(clf.model_.export_onnx(tmp_path / "bmi.onnx")))
    fed = {name: column.values.astype(np.float64) for name, column in X.items()}
    outputs = [found.name for found in session.get_outputs()]
    theirs = dict(zip(outputs, session.run(None, fed), strict=True))["class_probabilities"]
    np.testing.assert_allclose(theirs, values, atol=1e-5)
    for row in (1, 2, 3):
        program = clf.model_.to_deepproblog(X, row=row)
        np.testing.assert_allclose(program.class_probabilities(), values[row], atol=1e-5)


def test_a_reused_test_and_a_fit_that_goes_on_read_in_the_same_units(
    fitted: tuple[NeuID3Classifier, Examples, np.ndarray], tmp_path: Path
) -> None:
    clf, X, y = fitted
    reused = NeuID3Classifier(
        **QUICK | {"tests": clf.tests_, "training": TrainingConfig(epochs=10, joint_epochs=0)}
    ).fit(X, y)
    assert reused.gradient_steps_ == 0
    np.testing.assert_allclose(reused.model_.leaf_probabilities(X), clf.model_.leaf_probabilities(X))
    NeuID3Classifier(**QUICK).fit(X, y, checkpoint=tmp_path)
    (tmp_path / "tree-00.neuid3").unlink()
    on = NeuID3Classifier(**QUICK).fit(X, y, checkpoint=tmp_path)
    np.testing.assert_array_equal(on.predict_proba(X), clf.predict_proba(X))


def test_a_network_of_the_caller_reads_what_the_columns_hold() -> None:
    shown: list[torch.Tensor] = []

    class Watching(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Linear(2, 1)
            self.register_buffer("state", torch.zeros(1))  # so that it is run by itself

        def forward(self, weight: torch.Tensor, height: torch.Tensor) -> torch.Tensor:
            shown.append(weight.detach())
            return torch.sigmoid(self.last(torch.cat((weight, height), -1) / 1e9))

    columns, y = people(60, 0)
    NeuID3Classifier(
        **QUICK | {"training": TrainingConfig(epochs=1, joint_epochs=2)}, networks={"bmi_net": Watching}
    ).fit(Examples(columns), y)
    seen = torch.cat([batch.flatten() for batch in shown])
    assert {float(value) for value in seen} == set(columns["weight"].astype(np.float32).tolist())


def test_vectors_are_standardised_and_columns_that_share_a_network_share_its_scale() -> None:
    rng = np.random.default_rng(0)
    vectors = {name: rng.normal((1e4, -3e-5), (1e3, 1e-6), (400, 2)) for name in ("left", "right")}
    tens = {name: values[:, 0] / 1e3 + (values[:, 1] + 3e-5) / 1e-6 for name, values in vectors.items()}
    X = Examples(vectors, kinds=dict.fromkeys(vectors, "tensor"))
    clf = NeuID3Classifier(
        background="nn(net, [V], R, [1, 2, 3]) :: level(V, R). above(A, B) :- level(A, X), level(B, Y), X > Y.",
        tests=["above(left, right)"],
        max_depth=1,
        random_state=0,
        training=TrainingConfig(epochs=15, joint_epochs=5),
    ).fit(X, tens["left"] > tens["right"])
    assert clf.score(X, tens["left"] > tens["right"]) > 0.8
    (network,) = clf.networks_.values()
    centre, scale = network.standardise.centre, network.standardise.scale
    np.testing.assert_allclose(centre, (1e4, -3e-5), rtol=0.05)
    np.testing.assert_allclose(scale, (1e3, 1e-6), rtol=0.15)
