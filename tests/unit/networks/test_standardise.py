"""Default networks read numbers in units of their own: centred and scaled as in the training rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import nn

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
    for number, network in enumerate(networks):
        standardise_inputs(network, [rng.normal(1e9 * number, 10.0**number, (50, 2))])
    x = torch.from_numpy(rng.normal(1e9, 10.0, (3, 7, 2)))
    made = network_group(networks, [x])
    alone = torch.stack([network(part) for network, part in zip(networks, x, strict=True)])
    torch.testing.assert_close(made(x), alone)
    for row, network in enumerate(networks):
        torch.testing.assert_close(made.module(row)(x[row]), network(x[row]))
