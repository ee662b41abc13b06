"""Claims about tables: what is inferred, what is missing, how rows are taken, what is refused."""

from __future__ import annotations

import copy
import enum
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score, train_test_split
from sklearn.utils import _safe_indexing, resample, shuffle

from neuid3.data.columns import Boolean, Category, Column, Distribution, Kind, Number, Probability, Tensor, read_column
from neuid3.data.examples import Examples
from neuid3.data.stores import StoredRows
from neuid3.errors import DataError, NeuID3Error

NAN = float("nan")


IMAGES = np.arange(24, dtype=np.uint8).reshape(6, 2, 2)


def table(n: int = 6) -> Examples:
    """One column of every kind, most with a missing entry."""
    images = np.random.default_rng(0).random((n, 2, 2)).astype(np.float32)
    images[0] = np.nan
    return Examples(
        {
            "alarm": [True, None, *[i % 2 == 0 for i in range(n - 2)]],
            "suit": ["hearts", None, *["clubs"] * (n - 2)],
            "age": [NAN, *np.linspace(20.5, 60, n - 1)],
            "p": np.linspace(0, 1, n),
            "rank": np.tile([0.25, 0.75], (n, 1)),
            "image": images,
        },
        kinds={"p": "probability", "rank": Distribution((1, 2))},
    )


def missing_rows(column: Column) -> list[int]:
    return [] if column.missing is None else np.flatnonzero(column.missing).tolist()


def same(left: Examples, right: Examples) -> bool:
    return left.schema == right.schema and all(
        np.array_equal(column.values, right.column(name).values, equal_nan=column.values.dtype.kind == "f")
        and missing_rows(column) == missing_rows(right.column(name))
        for name, column in left.items()
    )


# What is inferred
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, False], Boolean()),
        (np.array([0, 1, 1]), Boolean()),
        ([0.0, 1.0, NAN], Boolean()),
        (torch.tensor([1, 0], dtype=torch.uint8), Boolean()),
        (pd.Series([True, None], dtype="boolean"), Boolean()),
        (pd.Series([1, 0, None], dtype="Int64"), Boolean()),
        (pd.Series([True, None], dtype=object), Boolean()),
        ([0, 1, 2], Number()),
        (range(4), Number()),
        ([0.5, None], Number()),
        ([None, NAN, pd.NA], Number()),
        (np.array([1, 2], dtype=np.float16), Number()),
        (torch.tensor([1.5, 2.5], requires_grad=True), Number()),
        (torch.tensor([1.5, 2.5], dtype=torch.bfloat16), Number()),
        ([torch.tensor(1.5), torch.tensor(2.5)], Number()),
        (pd.Series([1, 3, None], dtype="Int64"), Number()),
        ([2**100, 1], Number()),
        (["b", "a", "b"], Category(("a", "b"))),
        (np.array(["b", "a"]), Category(("a", "b"))),
        (np.array([np.str_("b"), "a", None], dtype=object), Category(("a", "b"))),
        (pd.Series(["b", None], dtype="string"), Category(("b",))),
        (pd.Series(["b", None, "a"]), Category(("a", "b"))),
        (pd.Categorical(["b", None], categories=["b", "a"]), Category(("b", "a"))),
        (pd.Series([2, 1, None]).astype("category"), Category((1, 2))),
        (IMAGES, Tensor((2, 2))),
        (list(IMAGES), Tensor((2, 2))),
        (IMAGES.tolist(), Tensor((2, 2))),
        ([None, *IMAGES], Tensor((2, 2))),
        (pd.Series([*IMAGES, None], dtype=object), Tensor((2, 2))),
        (torch.zeros(3, 1, 4, 4), Tensor((1, 4, 4))),
        ([torch.zeros(1, 4, 4, requires_grad=True)] * 3, Tensor((1, 4, 4))),
    ],
)
def test_the_kind_of_a_column_is_inferred_from_its_entries(values: Any, kind: Kind) -> None:
    assert read_column("c", values).kind == kind


@pytest.mark.parametrize(
    ("values", "declared", "kind"),
    [
        ([0.0, 0.3, None], "probability", Probability()),
        ([True, False], "probability", Probability()),
        ([0, 1], "number", Number()),
        ([3, 1, None], "category", Category((1, 3))),
        ([True, None], "category", Category((1,))),
        (["a"], Category(("a", "b")), Category(("a", "b"))),
        ([[0.5, 0.5]], Distribution(("x", "y")), Distribution(("x", "y"))),
        ([[0.5, 0.5]], (1, 2), Distribution((1, 2))),
        ([[0.5, 0.5], None], Distribution((1, 2)), Distribution((1, 2))),
        (np.zeros((3, 5)), "tensor", Tensor((5,))),
        (np.zeros((3, 5)), Tensor((5,)), Tensor((5,))),
        ([None, None], "probability", Probability()),
        ([None, None], Distribution((1, 2)), Distribution((1, 2))),
        ([None, None], Tensor((2, 2)), Tensor((2, 2))),
    ],
)
def test_a_declaration_decides_what_cannot_be_inferred(values: Any, declared: Any, kind: Kind) -> None:
    assert read_column("c", values, declared).kind == kind


cells = st.one_of(
    st.lists(st.none() | st.booleans(), min_size=1, max_size=6),
    st.lists(st.none() | st.floats(-1e6, 1e6), min_size=1, max_size=6),
    st.lists(st.none() | st.integers(-3, 3), min_size=1, max_size=6),
    st.lists(st.none() | st.sampled_from(["a", "b", "", "other", "é"]), min_size=1, max_size=6),
)


def written(column: Column) -> list[Any]:
    """The entries as one would write them in a list."""
    kind = column.kind
    values = [kind.domain[code] for code in column.values] if isinstance(kind, Category) else column.values.tolist()
    return [None if row in missing_rows(column) else entry for row, entry in enumerate(values)]


@given(cells)
def test_what_is_read_is_what_was_written(entries: list[Any]) -> None:
    assert written(read_column("c", entries)) == entries


@given(cells)
def test_lists_arrays_and_frames_are_read_alike(entries: list[Any]) -> None:
    boxed = np.array([*entries, None], dtype=object)[:-1]
    from_list = Examples({"c": entries})
    assert same(Examples({"c": boxed}), from_list)
    assert same(Examples(pd.DataFrame({"c": pd.Series(entries, dtype=object)})), from_list)
    assert same(Examples(boxed.reshape(-1, 1), names=["c"]), from_list)
    gone = [entry is None for entry in entries]
    filler = next((entry for entry in entries if entry is not None), 0.0)
    masked = np.ma.masked_array([filler if entry is None else entry for entry in entries], mask=gone)
    assert same(Examples({"c": masked}), from_list) or all(gone)


@pytest.mark.parametrize(
    ("entries", "dtype"), [([1, 5, None], "Int64"), ([True, None], "boolean"), (["a", None], "string")]
)
def test_nullable_dtypes_are_read_as_their_entries(entries: list[Any], dtype: str) -> None:
    assert same(Examples(pd.DataFrame({"c": pd.Series(entries, dtype=dtype)})), Examples({"c": entries}))


def test_a_table_of_rows_keeps_numbers_apart_from_strings() -> None:
    X = Examples([["a", 1.5, True], ["b", 2.5, None]])
    assert X.schema == {"x0": Category(("a", "b")), "x1": Number(), "x2": Boolean()}


def test_a_table_may_be_a_tensor_or_masked() -> None:
    assert Examples(torch.tensor([[1.5, 2.0]], requires_grad=True)).shape == (1, 2)
    masked = np.ma.masked_array([[1.5, np.inf], [2.0, 3.0]], mask=[[False, True], [False, False]])
    assert missing_rows(Examples(masked).column("x1")) == [0]


def test_columns_of_a_frame_are_known_by_their_printed_names() -> None:
    X = Examples(pd.DataFrame({0: [1, 2], "b": [3, 4]}), kinds={0: "category"})  # type: ignore[dict-item]
    assert X.schema == {"0": Category((1, 2)), "b": Number()}


# What is missing
@pytest.mark.parametrize(
    "gone",
    [None, NAN, np.float32("nan"), pd.NA, np.ma.masked, np.full((2, 2), NAN)],
    ids=lambda gone: type(gone).__name__,
)
def test_an_image_may_be_missing(gone: Any) -> None:
    column = read_column("c", [IMAGES[0], gone, IMAGES[2]])
    assert column.kind == Tensor((2, 2))
    assert column.values.dtype == np.uint8
    assert missing_rows(column) == [1]


def test_a_masked_image_is_missing() -> None:
    mask = np.zeros(IMAGES.shape, dtype=bool)
    mask[3] = True
    assert missing_rows(read_column("c", np.ma.masked_array(IMAGES, mask=mask))) == [3]


def test_rows_without_missing_entries_have_no_mask() -> None:
    X = table()[2:]
    assert all(column.missing is None for _, column in X.items())


def test_entries_under_a_mask_are_not_read() -> None:
    masked = np.ma.masked_array([np.inf, 0.2, 7.0], mask=[True, False, True])
    column = read_column("c", masked, "probability")
    assert column.kind == Probability()
    assert missing_rows(column) == [0, 2]


# Rows
row_keys = st.integers(1, 8).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.one_of(
            st.slices(n),
            st.integers(-n, n - 1),
            st.lists(st.integers(-n, n - 1), max_size=10),
            st.lists(st.integers(-n, n - 1), max_size=10).map(lambda rows: np.array(rows, dtype=np.int32)),
            st.lists(st.booleans(), min_size=n, max_size=n),
            st.lists(st.booleans(), min_size=n, max_size=n).map(np.array),
        ),
        st.booleans(),
    )
)


@given(row_keys)
def test_rows_are_taken_as_numpy_takes_them(case: tuple[int, Any, bool]) -> None:
    n, key, dots = case
    numbers = np.arange(n) + 0.5
    X = Examples({"number": numbers, "image": np.arange(n * 4.0).reshape(n, 2, 2)})
    taken = X[key, ...] if dots else X[key]
    wanted = np.atleast_1d(numbers[key])
    assert taken.column("number").values.tolist() == wanted.tolist()
    assert taken.column("image").values[:, 0, 0].tolist() == (4 * (wanted - 0.5)).tolist()
    assert len(taken) == taken.shape[0] == len(wanted)
    assert taken.schema == X.schema


@given(st.lists(st.integers(0, 5), max_size=6), st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_taking_rows_twice_is_taking_them_once(second: list[int], first: list[int]) -> None:
    X = table()
    second = [row % len(first) for row in second]
    assert same(X[first][second], X[[first[row] for row in second]])


@pytest.mark.parametrize("key", [6, -7, [0, 6], [True], True, 1.0, [0.5], [[0]], None, np.array([[True] * 6])])
def test_rows_that_are_not_there_are_an_index_error_of_ours(key: Any) -> None:
    with pytest.raises(IndexError) as caught:
        table()[key]
    assert isinstance(caught.value, NeuID3Error)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("key", ["age", (0, 1), (slice(None), [0, 1]), (0, ..., 0), (0, np.array([0, 1]))])
def test_columns_are_not_taken_in_brackets(key: Any) -> None:
    with pytest.raises(DataError, match=r"row"):
        table()[key]


def test_examples_can_be_looped_over() -> None:
    assert [len(row) for row in table()] == [1] * 6


def test_scikit_learn_splits_shuffles_and_resamples() -> None:
    X, y = table(20), np.arange(20) % 2
    left, right, y_left, _ = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    assert (len(left), len(right), len(y_left)) == (15, 5, 15)
    for train, test in KFold(4).split(X):
        assert len(_safe_indexing(X, train)) + len(_safe_indexing(X, test)) == 20
    mixed, where = shuffle(X, np.arange(20), random_state=0)
    assert same(mixed, X[where])
    drawn, where = resample(X, np.arange(20), n_samples=7, random_state=0)
    assert same(drawn, X[where])


class Threshold(ClassifierMixin, BaseEstimator):
    """Says whether `p` is large."""

    def fit(self, X: Examples, y: Any) -> Threshold:
        self.classes_, self.cut_ = np.unique(y), float(X.column("p").values.mean())
        return self

    def predict(self, X: Examples) -> Any:
        return (X.column("p").values > self.cut_).astype(int)


def test_scikit_learn_cross_validates() -> None:
    X = table(20)
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    assert cross_val_score(Threshold(), X, (np.arange(20) >= 10).astype(int), cv=folds).min() > 0.8


def test_examples_survive_copying_and_pickling() -> None:
    X = table()
    assert same(copy.deepcopy(X), X)
    assert same(pickle.loads(pickle.dumps(X)), X)


# Nothing is written to
def test_inputs_are_not_changed_and_cannot_be_changed_through_examples() -> None:
    given_columns = {
        "fact": np.array([True, False]),
        "number": np.array([1.5, NAN]),
        "image": np.zeros((2, 3, 3)),
        "torch": torch.zeros(2, 3, 3),
        "rank": np.array([[0.5, 0.5], [NAN, NAN]]),
        "masked": np.ma.masked_array([1.5, 2.5], mask=[True, False]),
    }
    before = copy.deepcopy(given_columns)
    X = Examples(given_columns, kinds={"rank": Distribution((1, 2))})
    for taken in (X, X[:1], X[[0]], X.conform({**X.schema, "fact": Number()}), X.select(["fact"]), Examples(X)):
        for column in map(taken.column, taken.names):
            for array in [column.values] if column.missing is None else [column.values, column.missing]:
                with pytest.raises(ValueError, match="read-only"):
                    array[0] = 1
    for name, array in given_columns.items():
        np.testing.assert_array_equal(array, before[name])
        assert torch.is_tensor(array) or array.flags.writeable


def test_the_schema_is_not_a_door_into_the_table() -> None:
    X = table()
    X.schema.clear()
    assert len(X.schema) == 6


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_a_memory_mapped_column_stays_on_disk(tmp_path: Path, dtype: Any) -> None:
    # The file is sparse: 40 GB that nobody could load.
    path = tmp_path / "images.npy"
    size = (10_000_000, 32, 32)
    np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=size)
    images = np.load(path, mmap_mode="r")
    X = Examples({"image": images})[5:-5][::2].conform({"image": Tensor((32, 32))})
    values = X.column("image").values
    assert isinstance(values, StoredRows)
    assert values[:1].rows == range(5, 6)
    assert X[[0, -1]].column("image").values.shape == (2, 32, 32)
    assert X[[0, -1]].column("image").values.rows.tolist() == [5, size[0] - 7]


def test_a_wide_table_is_read_without_a_copy() -> None:
    facts = np.zeros((1_000_000, 50), dtype=bool)
    X = Examples(facts)
    assert all(np.shares_memory(column.values, facts) for _, column in X.items())
    numbers = np.full((100_000, 3), 0.5)
    assert all(np.shares_memory(column.values, numbers) for _, column in Examples(numbers).items())


def test_many_distinct_strings_are_read_in_linear_time() -> None:
    column = read_column("c", np.arange(200_000).astype(str))
    assert isinstance(column.kind, Category)
    assert len(column.kind.values) == 200_000


# Another table's schema
def test_conforming_picks_and_orders_columns() -> None:
    X = table()
    assert X.conform({"age": Number(), "alarm": Boolean()}).names == ("age", "alarm")
    assert same(X.conform(X.schema), X)


@given(st.lists(st.none() | st.booleans(), min_size=1, max_size=6))
def test_facts_and_numbers_become_each_other_where_nothing_is_lost(entries: list[bool | None]) -> None:
    facts = Examples({"c": entries}).conform({"c": Boolean()})
    back = facts.conform({"c": Number()}).conform({"c": Boolean()})
    assert same(back, facts)


def test_a_number_that_is_no_fact_is_refused() -> None:
    with pytest.raises(DataError, match=r"Column 'c' has 2 in row 1; 0 or 1 is needed"):
        Examples({"c": [1, 2]}).conform({"c": Boolean()})


def test_unseen_categories_become_other_with_one_warning() -> None:
    schema = Examples({"suit": ["clubs", "hearts"], "rank": ["a", "b"]}).schema
    X = Examples({"suit": ["moons", None, "clubs"], "rank": ["z", "b", "y"]})
    with pytest.warns(UserWarning, match="moons") as messages:
        read = X.conform(schema)
    assert len(messages) == 1
    assert written(read.column("suit")) == ["other", None, "clubs"]
    assert written(read.column("rank")) == ["other", "b", "other"]


def test_known_categories_are_read_silently() -> None:
    schema = Examples({"suit": ["a", "b", "c"], "code": pd.Categorical([1, 2])[[0, 1, 0]]}).schema
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = Examples({"code": [2, 1, None], "suit": ["other", "c", None]}).conform(schema)
    assert written(read.column("suit")) == ["other", "c", None]
    assert written(read.column("code")) == [2, 1, None]


def test_a_category_that_is_missing_does_not_warn() -> None:
    X = Examples({"c": pd.Categorical(["new", "a"], categories=["new", "a"])})[[1]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert written(X.conform({"c": Category(("a",))}).column("c")) == ["a"]


@pytest.mark.parametrize(
    "kind", [Boolean(), Probability(), Number(), Category(("a",)), Distribution((1, 2)), Tensor((2, 3))]
)
def test_a_column_that_is_missing_throughout_fits_every_kind(kind: Kind) -> None:
    read = Examples({"c": [None, None]}).conform({"c": kind}).column("c")
    assert read.kind == kind
    assert missing_rows(read) == [0, 1]


def test_a_distribution_may_name_its_values_in_another_order() -> None:
    X = Examples({"rank": [[0.2, 0.8]]}, kinds={"rank": Distribution((1, 2))})
    assert X.conform({"rank": Distribution((2, 1))}).column("rank").values.tolist() == [[0.8, 0.2]]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"alarn": Boolean()}, r"Column 'alarn' is needed and missing. Did you mean 'alarm'"),
        ({"image": Tensor((3, 3))}, r"Column 'image' has tensors of shape \(2, 2\); \(3, 3\) is needed"),
        ({"suit": Number()}, r"Column 'suit' is a category; a number is needed"),
        ({"rank": Distribution((1, 3))}, r"Column 'rank' is a distribution over \(1, 2\)"),
        ({"age": Category((1, 2))}, r"Column 'age' .* fractions"),
    ],
)
def test_what_does_not_conform_is_named(schema: dict[str, Kind], message: str) -> None:
    with pytest.raises(DataError, match=message):
        table().conform(schema)


# What is refused
@pytest.mark.parametrize(
    ("data", "kinds", "message"),
    [
        ({"p": [0.5, 1.5]}, {"p": "probability"}, r"Column 'p' has 1.5 in row 1; a probability in \[0, 1\]"),
        ({"p": [-0.1]}, {"p": "probability"}, r"Column 'p' has -0.1"),
        ({"a": [1, 2], "b": [1]}, {}, r"Column 'b' has 1 rows and 'a' has 2"),
        ({"a": [np.zeros((2, 2)), np.zeros((3, 3))]}, {}, r"Column 'a' is ragged.*\(2, 2\), \(3, 3\)"),
        ({"a": [[1, 2], [3]]}, {}, r"Column 'a' is ragged"),
        ({"a": [[[1, 2], [3]]]}, {}, r"Column 'a' is ragged"),
        ({"a": [0.5, np.zeros((2, 2))]}, {}, r"Column 'a' mixes float, ndarray"),
        ({"a": [IMAGES[0], IMAGES[0] / 255]}, {}, r"Column 'a' mixes entries of float64, uint8"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, r"Two columns are named 'a'"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), {}, r"Two columns are named '1'"),
        ({"": [1]}, {}, r"empty name"),
        ({}, {}, r"0 feature\(s\) \(shape=\(0, 0\)\)"),
        (pd.DataFrame(index=[1, 2]), {}, r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        (np.zeros((3, 0)), {}, r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        (np.zeros((0, 3)), {}, r"empty: column 'x0' has 0 rows"),
        ({"a": []}, {}, r"empty: column 'a' has 0 rows"),
        ({"a": np.ma.masked_array([])}, {}, r"empty: column 'a'"),
        (pd.DataFrame({"a": pd.Series([], dtype=object)}), {}, r"empty: column 'a'"),
        ({"a": ["x", 1]}, {}, r"Column 'a' mixes int, str"),
        ({"a": pd.Series(["x", 1.5, None], dtype=object)}, {}, r"Column 'a' mixes float, str"),
        ({"a": [{"x": 1}]}, {}, r"Column 'a' holds dict"),
        ({"a": [b"x"]}, {}, r"Column 'a' holds bytes"),
        ({"r": [[0.5, 0.6]]}, {"r": Distribution((1, 2))}, r"Column 'r' .* row 0: it sums to 1.1"),
        ({"r": [[1.5, -0.5]]}, {"r": Distribution((1, 2))}, r"Column 'r' .* row 0: it has a negative number"),
        ({"r": [[0.5, NAN]]}, {"r": Distribution((1, 2))}, r"Column 'r' has some NaN in row 0"),
        ({"r": [[np.inf, 0.0]]}, {"r": Distribution((1, 2))}, r"Column 'r' .* sums to inf"),
        ({"r": [[0.5, 0.5]]}, {"r": Distribution((1, 2, 3))}, r"Column 'r' has shape \(1, 2\); 3 named values"),
        ({"r": [[0.5, 0.5]]}, {"r": "distribution"}, r"Column 'r' needs names for its values"),
        ({"r": [["a", "b"]]}, {"r": Distribution((1, 2))}, r"Column 'r' has dtype <U1 instead of probabilities"),
        ({"r": [[0.5, 0.5]]}, {"r": "boolean"}, r"Column 'r' of shape \(1, 2\) cannot be read as 'boolean'"),
        ({"r": [[0.5, 0.5]]}, {}, r"Column 'r' has two axes \(1, 2\); declare it"),
        ({"a": [1.0, np.inf]}, {}, r"Column 'a' contains infinity in row 1"),
        ({"a": [-np.inf, None]}, {}, r"Column 'a' contains infinity"),
        ({"a": [10**400, None]}, {}, r"Column 'a' contains a number too large"),
        ({"a": np.full((2, 2, 2), np.inf)}, {}, r"Column 'a' contains infinity in row 0"),
        ({"a": np.array([[[1.0, NAN]]])}, {}, r"Column 'a' has some NaN in row 0"),
        ({"a": np.zeros((2, 0, 3))}, {}, r"Column 'a' has tensors of shape \(0, 3\)"),
        ({"a": np.array([[["x"]]])}, {}, r"Column 'a' is a tensor of <U1"),
        ({"a": [1j]}, {}, r"Column 'a' holds complex"),
        ({"a": np.array([1j])}, {}, r"Column 'a' .*Complex data not supported"),
        ({"a": 3}, {}, r"Column 'a' is a int, not a column"),
        ({"a": "text"}, {}, r"Column 'a' is a str, not a column"),
        ({"a": None}, {}, r"Column 'a' is a NoneType, not a column"),
        ({"a": {1, 2}}, {}, r"Column 'a' is a set, not a column"),
        ({"a": np.array(3)}, {}, r"Column 'a' is a single value"),
        ({"a": [1.5]}, {"b": "number"}, r"`kinds` declares 'b'"),
        ({"alarm": [1.5]}, {"alarn": "number"}, r"`kinds` declares 'alarn'.* Did you mean 'alarm'"),
        ({"a": [1.5]}, {"a": "nubmer"}, r"Column 'a' is declared 'nubmer'.* Did you mean 'number'"),
        ({"a": [[1.5]]}, {"a": "tenser"}, r"Column 'a' is declared 'tenser'.* Did you mean 'tensor'"),
        ({"a": [1.5]}, {"a": 7}, r"Column 'a' is declared 7"),
        ({"a": [1.5]}, {"a": "category"}, r"Column 'a' .* fractions"),
        ({"a": ["x"]}, {"a": "number"}, r"Column 'a' is a category; a number is needed"),
        ({"a": [1.5]}, {"a": "tensor"}, r"Column 'a' is declared 'tensor' and holds a number"),
        ({"a": ["x"]}, {"a": Category(("y",))}, r"Column 'a' has the value 'x'"),
        ({"a": pd.Categorical([1.5])}, {}, r"Column 'a' has the category 1.5"),
        ({"a": np.ma.masked_array(np.zeros((1, 2, 2)), mask=[[[0, 1], [1, 1]]])}, {}, r"Column 'a' is partly masked"),
        (np.zeros(3), {}, r"this has 1 axes. Reshape your data"),
        ([[1, 2], [3]], {}, r"rows of the table have different lengths"),
    ],
)
def test_bad_input_is_refused_in_a_sentence_that_names_it(data: Any, kinds: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        Examples(data, kinds)
    assert "\n" not in str(caught.value)


def test_names_belong_to_arrays_one_for_each_column() -> None:
    assert Examples(np.zeros((2, 2)), names=["a", "b"]).names == ("a", "b")
    with pytest.raises(DataError, match="1 names for 2 columns"):
        Examples(np.zeros((2, 2)), names=["a"])
    with pytest.raises(DataError, match="leave `names` out"):
        Examples({"a": [1]}, names=["b"])


def test_values_are_named_once() -> None:
    for kind in (Category, Distribution):
        with pytest.raises(DataError, match="'a' is given twice"):
            kind(("a", "b", "a"))


def test_an_unknown_column_is_met_with_a_hint() -> None:
    with pytest.raises(DataError, match=r"no column 'alarn'. Did you mean 'alarm'"):
        table().column("alarn")
    with pytest.raises(DataError, match="no column 3"):
        table().column(3)  # type: ignore[arg-type]


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=2) | st.binary(max_size=1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=1), inner, max_size=2),
    max_leaves=8,
)


@settings(max_examples=300)
@given(
    junk, st.sampled_from([None, "probability", "category", "tensor", "distribution", Distribution((1, 2)), "boolean"])
)
def test_whatever_comes_is_read_or_refused_by_name(values: Any, declared: Any) -> None:
    try:
        column = read_column("culprit", values, declared)
    except DataError as error:
        assert "'culprit'" in str(error)  # noqa: PT017
    else:
        assert len(column) == len(values)


def test_words_of_an_enumeration_are_categories() -> None:
    class Suit(str, enum.Enum):  # noqa: UP042 - StrEnum says its word, this one its name
        HEARTS = "hearts"
        CLUBS = "clubs"

    assert Examples({"suit": [Suit.HEARTS, Suit.CLUBS, None]}).schema == {"suit": Category(("clubs", "hearts"))}


# Text, file names and sparse tables
@pytest.mark.parametrize("make", [dict, pd.DataFrame])
def test_a_column_of_image_files_is_no_category_unless_it_is_declared(make: Any) -> None:
    table = make({"plate": ["img/p1.png", "img/p2.JPG"] * 15, "lit": [True, False] * 15})
    with pytest.raises(DataError, match=r"'plate' names image files such as 'img/p1\.png'.*read_frame\(X, folder=…\)"):
        Examples(table)
    for kind in ("image", "tensor", Tensor((8, 8))):
        with pytest.raises(DataError, match="names image files"):
            Examples(table, kinds={"plate": kind})
    kept = Examples(table, kinds={"plate": "category"})
    assert kept.schema["plate"] == Category(("img/p1.png", "img/p2.JPG"))
    assert Examples(table, kinds={"plate": "ignore"}).names == ("lit",)
    assert Examples.read(table, kept.schema).schema == kept.schema
    with pytest.raises(DataError, match="names image files"):
        Examples.read(table, {"plate": Tensor((8, 8))})
    with pytest.raises(DataError, match="Every column is declared 'ignore'"):
        Examples(table, kinds={"plate": "ignore", "lit": "ignore"})


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dok", "lil", "bsr"])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float64])
def test_a_sparse_matrix_is_read_as_its_dense_array(form: str, dtype: Any) -> None:
    dense = (np.random.default_rng(0).integers(0, 5, (40, 7)) // 3).astype(dtype)
    for matrix in (sparse.csr_matrix(dense).asformat(form), sparse.csr_array(dense).asformat(form)):
        X, wanted = Examples(matrix), Examples(dense)
        assert X.schema == wanted.schema
        for name, column in wanted.items():
            np.testing.assert_array_equal(X.column(name).values, column.values)
            assert X.column(name).values.dtype == column.values.dtype
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(dense), columns=wanted.names)
    assert Examples(frame).schema == wanted.schema
    assert Examples(matrix, names=list("abcdefg")).names == tuple("abcdefg")


def test_entries_of_a_sparse_matrix_that_are_given_in_parts_are_added_up() -> None:
    parts = sparse.csc_matrix((np.array([1.0, 2.0, np.nan]), np.array([0, 0, 1]), np.array([0, 3])), shape=(3, 1))
    column = Examples(parts).column("x0")
    assert column.values[[0, 2]].tolist() == [3.0, 0.0]
    assert column.missing is not None
    assert column.missing.tolist() == [False, True, False]


@pytest.mark.parametrize(
    "values",
    [
        np.array([1, 2**53 + 1]),
        np.array([1, 2**64 - 1], dtype=np.uint64),
        [1, -(2**53) - 1, None],
        pd.Series([1, 2**53 + 1], dtype="Int64"),
    ],
)
def test_integers_that_no_float_equals_are_refused(values: Any) -> None:
    for declared in (None, "number", "category"):
        with pytest.raises(
            DataError, match=r"Column 'c' holds the integer -?\d+ in row 1, which no 64-bit float equals"
        ):
            read_column("c", values, declared)
    assert read_column("c", [2**53, 2**60]).kind == Number()
