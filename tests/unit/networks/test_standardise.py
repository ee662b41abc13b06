"""Default networks read numbers in units of their own: centred and scaled as in the training rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import nn

import neuid3
from neuid3 import Examples, NeuID3Classifier
from neuid3.networks.defaults import Dense, Standardise, centre_and_scale, default_network, standardise_inputs
from neuid3.networks.groups import network_group

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(arrays(np.float64, st.integers(1, 30), elements=finite), arrays(np.float64, 5, elements=finite))
def test_whatever_the_numbers_are_what_networks_read_is_finite_and_in_order(seen: np.ndarray, read: np.ndarray) -> None:
    centre, scale = centre_and_scale(seen)
    assert np.isfinite(centre)
    assert 0.0 < scale < np.inf
    layer = Standardise(1)
    layer.fit(seen[:, None])
    out = layer(torch.from_numpy(np.sort(read))[:, None])[:, 0]
    assert out.dtype == torch.float32
    assert bool(torch.isfinite(out).all())
    assert bool((out.abs() < 100).all())
    assert bool((out.diff() >= 0).all())


@given(arrays(np.float64, 12, elements=st.floats(-1e6, 1e6)), arrays(np.int64, 12, elements=st.integers(1, 4)))
def test_repeating_a_row_is_the_same_as_multiplying_its_weight(values: np.ndarray, counts: np.ndarray) -> None:
    repeated = centre_and_scale(np.repeat(values, counts))
    assert centre_and_scale(values, counts.astype(np.float64)) == pytest.approx(repeated, rel=1e-9)


def test_normal_numbers_are_standardised_and_few_huge_ones_do_not_matter() -> None:
    numbers = np.random.default_rng(0).normal(70.0, 12.0, 10_000)
    for units in (1.0, 1e-300, 1e290):
        assert centre_and_scale(numbers * units) == pytest.approx((70.0 * units, 12.0 * units), rel=0.05)
    outlying = np.append(numbers, [1e300] * 10)
    assert centre_and_scale(outlying) == pytest.approx((70.0, 12.0), rel=0.05)


def test_a_constant_column_is_read_as_zeros_and_rare_numbers_by_their_distance() -> None:
    assert centre_and_scale(np.full(10, 0.1 + 0.2)) == (0.1 + 0.2, 1.0)
    rare = np.array([0.0] * 90 + [4.0, 5.0, 6.0])
    for units in (1.0, 1e-300, 1e300):
        assert centre_and_scale(rare * units) == pytest.approx((0.0, 5.0 * units))
    assert centre_and_scale(np.append(rare, 1e300)) == pytest.approx((0.0, 5.0))
    assert centre_and_scale(np.array([])) == (0.0, 1.0)


def test_only_numbers_and_vectors_are_standardised() -> None:
    assert isinstance(default_network([(1,), (5,)], 2), Dense)
    assert isinstance(default_network([(4, 4)], 1).standardise, nn.Identity)
    mixed = default_network([(4, 4), (1,)], 1)
    assert isinstance(mixed, Dense)
    standardise_inputs(mixed, [None, np.array([[10.0], [20.0], [30.0], [np.nan]])])
    image = torch.rand(2, 16) * 255
    read = mixed.standardise(torch.cat((image, torch.full((2, 1), 20.0)), 1))
    assert torch.equal(read[:, :16], image)
    assert read[:, 16].tolist() == [0.0, 0.0]


def test_networks_in_a_stack_keep_their_own_centres_and_scales() -> None:
    torch.manual_seed(0)
    networks = [Dense(3, [2], standardised=True) for _ in range(3)]
    rng = np.random.default_rng(0)
    for place, network in enumerate(networks):
        standardise_inputs(network, [rng.normal(1e9 * place, 10.0**place, (50, 2))])
    x = torch.from_numpy(rng.normal(1e9, 10.0, (3, 7, 2)))
    made = network_group(networks, [x])
    alone = torch.stack([network(part) for network, part in zip(networks, x, strict=True)])
    torch.testing.assert_close(made(x), alone)
    for row, network in enumerate(networks):
        torch.testing.assert_close(made.module(row)(x[row]), network(x[row]))


# Whole fits --------------------------------------------------------------------------------------

BMI = "nn(bmi_net, [W, H]) :: obese(W, H)."
SETTINGS = {"background": BMI, "tests": ["obese(weight, height)"], "max_depth": 1, "random_state": 0}
QUICK = SETTINGS | {"epochs": 10, "joint_epochs": 2, "pruning": 0.0}


def people(n: int, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Weight in grams, height in millimetres above the centre of the earth, and who has a body mass index above 30."""
    rng = np.random.default_rng(seed)
    height, weight = rng.normal(1.7, 0.1, n), rng.uniform(45.0, 120.0, n)
    return {"weight": 1e3 * weight, "height": 1e3 * height + 6.371e9}, weight / height**2 > 30.0


def test_a_network_over_raw_numbers_learns_as_over_standardised_ones() -> None:
    columns, y = people(800, 0)
    clf = NeuID3Classifier(**SETTINGS).fit(Examples(columns), y)
    unseen, truth = people(2000, 1)
    assert clf.score(Examples(unseen), truth) >= 0.99


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
    told = clf.predict_proba(X)
    np.testing.assert_allclose(told[::7], told[:1].repeat(len(told[::7]), 0))
    present = np.arange(len(y)) % 7 > 0
    assert (clf.predict(X) == y)[present].mean() > 0.9
    np.testing.assert_allclose(told[0], told[present].mean(0), atol=0.1)


def test_centre_and_scale_go_along_to_files_onnx_and_deepproblog(
    fitted: tuple[NeuID3Classifier, Examples, np.ndarray], tmp_path: Path
) -> None:
    clf, X, _ = fitted
    told = clf.predict_proba(X)
    same = neuid3.load(clf.save(tmp_path / "bmi.neuid3"))
    np.testing.assert_array_equal(same.predict_proba(X), told)
    session = onnxruntime.InferenceSession(str(clf.model_.export_onnx(tmp_path / "bmi.onnx")))
    fed = {name: column.values.astype(np.float64) for name, column in X.items()}
    outputs = [found.name for found in session.get_outputs()]
    theirs = dict(zip(outputs, session.run(None, fed), strict=True))["class_probabilities"]
    np.testing.assert_allclose(theirs, told, atol=1e-5)
    for row in (1, 2, 3):
        program = clf.model_.to_deepproblog(X, row=row)
        np.testing.assert_allclose(program.class_probabilities(), told[row], atol=1e-5)


def test_a_reused_test_and_a_fit_that_goes_on_read_in_the_same_units(
    fitted: tuple[NeuID3Classifier, Examples, np.ndarray], tmp_path: Path
) -> None:
    clf, X, y = fitted
    again = NeuID3Classifier(**QUICK | {"tests": clf.tests_, "joint_epochs": 0}).fit(X, y)
    assert again.gradient_steps_ == 0
    np.testing.assert_allclose(again.model_.apply(X), clf.model_.apply(X))
    NeuID3Classifier(**QUICK).fit(X, y, checkpoint=tmp_path)
    (tmp_path / "tree.neuid3").unlink()
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
    NeuID3Classifier(**QUICK | {"epochs": 1}, networks={"bmi_net": Watching}).fit(Examples(columns), y)
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
        epochs=15,
        joint_epochs=5,
        random_state=0,
    ).fit(X, tens["left"] > tens["right"])
    assert clf.score(X, tens["left"] > tens["right"]) > 0.8
    (network,) = clf.networks_.values()
    centre, scale = network.standardise.centre, network.standardise.scale
    np.testing.assert_allclose(centre, (1e4, -3e-5), rtol=0.05)
    np.testing.assert_allclose(scale, (1e3, 1e-6), rtol=0.15)
