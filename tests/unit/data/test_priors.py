"""Claims about priors: they are the shares that plain counting finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuid3.data.columns import Boolean, Category, Distribution, Number, Probability, Tensor
from neuid3.data.examples import Examples
from neuid3.data.priors import Priors, check_priors, column_priors, network_call_name
from neuid3.errors import DataError, MissingPriorError, NeuID3Error
from neuid3.logic.formula import Boundary, CellVariable

SCHEMA = {
    "alarm": Boolean(),
    "p": Probability(),
    "suit": Category(("a", "b")),
    "rank": Distribution((1, 2)),
    "age": Number(),
    "image": Tensor((2, 2)),
}


small = st.integers(-3, 3).map(float)


@given(st.lists(small, min_size=1, max_size=12), st.sets(st.tuples(small, st.booleans()), max_size=5))
def test_cells_hold_the_share_of_the_sample_that_lies_in_them(
    sample: list[float], cuts: set[tuple[float, bool]]
) -> None:
    boundaries = tuple(Boundary(at, above) for at, above in sorted(cuts))
    variable = CellVariable("age", boundaries)
    counts = [0] * variable.size
    for number in sample:
        counts[sum(number > cut.at if cut.above else number >= cut.at for cut in boundaries)] += 1
    found = Priors(columns={"age": sample}).cells(variable.column, variable.boundaries)
    np.testing.assert_allclose(found, np.array(counts) / len(sample))


@given(st.lists(st.none() | st.booleans(), min_size=1, max_size=8))
def test_a_fact_holds_as_often_as_it_was_seen_to_hold(entries: list[bool | None]) -> None:
    seen = [entry for entry in entries if entry is not None]
    priors = Priors(columns=column_priors(Examples({"alarm": entries})))
    if seen:
        np.testing.assert_allclose(priors.column("alarm", Boolean())[1], sum(seen) / len(seen))
    else:
        assert "alarm" not in priors.columns


@given(st.lists(st.none() | st.sampled_from("abc"), min_size=1, max_size=8).filter(any))
def test_a_category_has_the_shares_that_were_counted(entries: list[str | None]) -> None:
    X = Examples({"suit": entries})
    seen = [entry for entry in entries if entry is not None]
    kind = X.schema["suit"]
    assert isinstance(kind, Category)
    found = Priors(columns=column_priors(X)).column("suit", kind)
    np.testing.assert_allclose(found, [seen.count(str(value)) / len(seen) for value in kind.domain])


def test_learned_priors_pass_their_own_check() -> None:
    X = Examples(
        {
            "alarm": [True, None],
            "p": [0.25, 0.75],
            "suit": ["a", None],
            "rank": [[0.2, 0.8], [np.nan, np.nan]],
            "age": [3.5, np.nan],
            "image": np.zeros((2, 2, 2)),
        },
        kinds={"p": "probability", "rank": Distribution((1, 2))},
    )
    learned = column_priors(X)
    assert learned == {
        "alarm": 1.0,
        "p": 0.5,
        "suit": {"a": 1.0, "other": 0.0},
        "rank": {1: 0.2, 2: 0.8},
        "age": {3.5: 1.0},
    }
    check_priors(Priors(columns=learned), X.schema)


@pytest.mark.parametrize(
    ("name", "prior"),
    [
        ("alarm", 1.5),
        ("alarm", float("nan")),
        ("alarm", "often"),
        ("p", [0.5]),
        ("suit", 0.5),
        ("suit", {"a": 0.5}),
        ("suit", {"a": 1.5, "b": -0.5}),
        ("suit", {"a": "all"}),
        ("suit", {"z": 1.0}),
        ("rank", [0.5, 0.5]),
        ("age", 3.0),
        ("age", []),
        ("age", "young"),
        ("age", None),
        ("age", [1.0, float("nan")]),
        ("age", [[1.0]]),
        ("image", 0.5),
    ],
)
def test_a_prior_that_does_not_fit_its_column_is_named(name: str, prior: Any) -> None:
    with pytest.raises(DataError, match=f"The prior of column '{name}' must be"):
        check_priors(Priors(columns={name: prior}), SCHEMA)


def test_numpy_numbers_are_probabilities_too() -> None:
    check_priors(Priors(columns={"alarm": np.float32(0.5), "age": np.array([1.0, 2.0])}), SCHEMA)  # type: ignore[dict-item]


def test_a_long_sample_does_not_flood_the_message() -> None:
    with pytest.raises(DataError) as caught:
        check_priors(Priors(columns={"alarm": [0.5] * 10_000}), SCHEMA)
    assert len(str(caught.value)) < 300


def test_a_prior_for_no_column_is_met_with_a_hint() -> None:
    with pytest.raises(DataError, match=r"'alarn', which is not a column. Did you mean 'alarm'"):
        check_priors(Priors(columns={"alarn": 0.5}), SCHEMA)


def test_a_missing_prior_is_an_error_of_ours_that_says_what_to_pass() -> None:
    with pytest.raises(MissingPriorError, match=r"Column 'alarm'.*pass priors=") as caught:
        Priors().column("alarm", Boolean())
    assert isinstance(caught.value, NeuID3Error)
    with pytest.raises(MissingPriorError, match=r"net\(image\).*pass priors="):
        Priors().network("net", ("image",), 2)


def test_the_prior_of_one_use_comes_before_that_of_its_network() -> None:
    priors = Priors(networks={"net": [0.5, 0.5], network_call_name("net", ("a",)): [0.1, 0.9]})
    assert priors.network("net", ("a",), 2).tolist() == [0.1, 0.9]
    assert priors.network("net", ("b",), 2).tolist() == [0.5, 0.5]
    with pytest.raises(DataError, match="'net' has 2 numbers; its output has 3"):
        priors.network("net", ("b",), 3)
