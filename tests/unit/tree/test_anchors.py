"""Labels of concepts are read against the examples, and what cannot be a label is refused with its row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from neuid3 import Examples, NeuID3Classifier
from neuid3.errors import DataError
from neuid3.logic.program import Declaration
from neuid3.tree.anchors import MIN_HELD_OUT_LABELS, anchored_rows, distinct, split_anchors
from neuid3.tree.labels import label_columns, read_labels, take_labels

RANK = Declaration(0, "rank_net", 1, 3, ("1", "2", "'the king'"), "rank")
RED = Declaration(1, "red_net", 1, 2, None, "red")
SAME = Declaration(2, "same_net", 2, 2, None, "same")
DECLARATIONS = {0: RANK, 1: RED, 2: SAME}


def table(rows: int = 4, **more: Any) -> Examples:
    images = np.arange(2 * rows * 9, dtype=np.uint8).reshape(2, rows, 3, 3)
    return Examples({"first": images[0], "second": images[1], "age": np.arange(rows) + 0.5, **more})


def values(concepts: Any, network: str = "rank_net", examples: Examples | None = None) -> list[tuple[Any, ...]]:
    labels = read_labels(concepts, table() if examples is None else examples, DECLARATIONS)[network]
    return [
        (call, *pair) for call, *arrays in labels.by_call() for pair in zip(*(a.tolist() for a in arrays), strict=True)
    ]


@pytest.mark.parametrize(
    "concepts",
    [
        {"rank(first)": [None, 2, None, "the king"]},
        {"rank_net(first)": [float("nan"), 2.0, "", "the king"]},
        {"rank": {"first": pd.Series([None, "2", None, "the king"])}},
        {"rank(first)": {1: np.int64(2), 3: "the king"}},
        {"rank": {("first",): {1: 2}}, "rank( first )": {3: "the king"}},
    ],
)
def test_labels_of_values_are_given_by_call_by_predicate_and_by_row(concepts: Any) -> None:
    assert values(concepts) == [(("first",), 1, 1), (("first",), 3, 2)]


def test_labels_of_facts_are_yes_and_no() -> None:
    assert values({"red(second)": [True, None, "no", 1]}, "red_net") == [
        (("second",), 0, 1),
        (("second",), 2, 0),
        (("second",), 3, 1),
    ]


def test_a_network_of_two_inputs_is_labelled_by_two_columns() -> None:
    expected = [(("first", "second"), 2, 1)]
    assert values({"same(first, second)": {2: True}}, "same_net") == expected
    assert values({"same": {("first", "second"): {2: "yes"}}}, "same_net") == expected


@pytest.mark.parametrize(
    ("concepts", "message"),
    [
        ({"rank(first)": [None, 7, None, None]}, r"label 7 in row 1, which is no value of 'rank'; .* 1, 2, the king\."),
        ({"rank(first)": [True, None, None, None]}, r"label True in row 0, which is no value"),
        ({"red(first)": {2: "maybe"}}, r"label 'maybe' in row 2.*True and False"),
        ({"rank(first)": [1, 2]}, r"2 labels for 4 rows; give one entry for each row"),
        ({"rank(first)": "1"}, r"are of type str; give one entry for each row"),
        ({"rank(first)": {4: 1}}, r"label for row 4; the table has 4 rows, counted from 0"),
        ({"rank(third)": {0: 1}}, r"column 'third', which does not exist"),
        ({"rnk(first)": {0: 1}}, r"'rnk', which is no neural predicate.*Did you mean 'rank'"),
        ({"rank(first, second)": {0: 1}}, r"name 2 columns, and 'rank' reads 1"),
        ({"rank": [1, 2, None, None]}, r"The labels of 'rank' name no column, and could be of rank\(first\) or rank"),
        ({"same": [True, None, None, None]}, r"The labels of 'same' name no column; write \{'same\(COLUMN\)': labels"),
        ({"rank(kind)": {0: 1}}, r"column 'kind', which no network can read"),
        ([1, 2], r"`concepts` is of type list; give a mapping"),
    ],
)
def test_what_cannot_be_a_label_is_refused(concepts: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_labels(concepts, table(kind=["a", "b", "a", "b"]), DECLARATIONS)


def test_a_label_for_a_missing_image_is_refused() -> None:
    images = np.ma.masked_array(np.ones((2, 3, 3)), mask=False)
    images[1] = np.ma.masked
    with pytest.raises(DataError, match=r"label 2 in row 1, where the image is missing"):
        read_labels({"rank(first)": [1, 2]}, Examples({"first": images}), DECLARATIONS)


def test_two_labels_for_one_image_are_refused_also_across_columns() -> None:
    images = np.random.default_rng(0).random((3, 3, 3))
    examples = Examples({"first": images, "second": images[::-1].copy()})
    with pytest.raises(
        DataError, match=r"'rank\(first\)' is 1 in row 0, and 'rank\(second\)' is 2 in row 2, with the same"
    ):
        read_labels({"rank(first)": {0: 1}, "rank(second)": {2: 2}}, examples, DECLARATIONS)


def test_equal_labels_of_equal_images_count_once() -> None:
    examples = Examples({"first": np.ones((3, 3, 3))})
    labels = read_labels({"rank(first)": [1, 1, 1]}, examples, DECLARATIONS)
    assert (len(labels["rank_net"]), len(distinct(labels)["rank_net"])) == (3, 1)


def test_a_name_without_columns_means_the_only_column_of_images() -> None:
    examples = Examples({"first": np.arange(18.0).reshape(2, 3, 3), "age": [30.0, 40.0]})
    assert values({"rank": [None, 2]}, examples=examples) == [(("first",), 1, 1)]
    assert values({"rank": {0: 1}}, examples=examples) == [(("first",), 0, 0)]


def test_columns_and_instances_are_named_as_exports_name_them() -> None:
    examples = Examples({"my, card": np.arange(18.0).reshape(2, 3, 3), "o'brien": np.ones((2, 3, 3))})
    assert values({"rank_net#3('my, card')": {0: 1}}, examples=examples) == [(("my, card",), 0, 0)]
    assert values({"rank(o'brien)": {0: 2}}, examples=examples) == [(("o'brien",), 0, 1)]


def test_a_table_keeps_its_other_columns_and_given_labels_are_added() -> None:
    frame = pd.DataFrame({"age": [1.5, 2.5], "second": [1, 2], "rank(age)": [None, "the king"], "size(mm)": [3, 4]})
    rest, taken = take_labels(frame, {"red(age)": {0: True}}, lambda columns: DECLARATIONS if "age" in columns else {})
    assert list(rest) == ["age", "second", "size(mm)"]
    assert read_labels(taken, Examples(rest), DECLARATIONS).keys() == {"rank_net", "red_net"}
    assert take_labels(rest, None, lambda _: DECLARATIONS) == (rest, {})


def test_a_program_that_is_read_for_labels_knows_the_other_columns() -> None:
    n = 40
    frame = pd.DataFrame({"size (mm)": np.arange(n, dtype=float), "age": np.arange(n) % 7, "red(age)": [None] * n})
    frame["note"] = [f"note {i} of a long day" for i in range(n)]
    rules = "big :- 'size (mm)' > 20, contains(note, 'long day')."
    clf = NeuID3Classifier(background=rules, tests=["big"]).fit(frame, frame["size (mm)"] > 20)
    assert clf.score(frame, frame["size (mm)"] > 20) == 1.0


def test_labels_of_rows_that_are_left_out_are_left_out() -> None:
    kept = np.array([True, False, True, True, False, True])
    labels = read_labels({"rank(first)": [1, 2, None, 1, 2, 2]}, table(4), DECLARATIONS, kept=kept)["rank_net"]
    assert (labels.rows.tolist(), labels.values.tolist()) == ([0, 2, 3], [0, 0, 1])


def test_a_column_named_like_a_call_of_a_neural_predicate_holds_labels() -> None:
    columns = {"rank(first)": [1.0, None, 2.0, None], "same(first, second)": [True, None, None, False]}
    examples = table(**columns, **{"length(cm)": [1.5, 2.5, 3.5, 4.5], "rank(third)": [1, 2, 1, 2]})
    assert label_columns(examples.names, DECLARATIONS) == tuple(columns)
    rest, taken = take_labels(examples, None, lambda _: DECLARATIONS)
    assert rest.names == ("first", "second", "age", "length(cm)", "rank(third)")
    assert taken == columns


def many(count: int) -> Any:
    rng = np.random.default_rng(0)
    examples = Examples({"first": rng.random((count, 3, 3))})
    return read_labels({"rank(first)": rng.integers(1, 3, count)}, examples, DECLARATIONS)


def test_a_fifth_of_fifty_labels_is_held_out_from_every_value() -> None:
    anchors = many(MIN_HELD_OUT_LABELS)
    unseen = np.zeros(MIN_HELD_OUT_LABELS, dtype=bool)
    training, held_out = split_anchors(anchors, unseen, seed=3)
    assert abs(len(held_out["rank_net"]) - 10) <= 1
    assert set(held_out["rank_net"].values.tolist()) == {0, 1}
    rows = [set(part["rank_net"].rows.tolist()) for part in (training, held_out)]
    assert rows[0] | rows[1] == set(range(50))
    assert not rows[0] & rows[1]
    repeated = split_anchors(anchors, unseen, seed=3)[1]["rank_net"].rows
    assert repeated.tolist() == held_out["rank_net"].rows.tolist()


def test_labels_of_validation_examples_are_held_out_first() -> None:
    unseen = np.arange(60) < 12
    training, held_out = split_anchors(many(60), unseen, seed=0)
    assert held_out["rank_net"].rows.tolist() == list(range(12))
    assert training["rank_net"].rows.tolist() == list(range(12, 60))


def test_of_fewer_than_fifty_labels_none_is_held_out() -> None:
    anchors = many(MIN_HELD_OUT_LABELS - 1)
    training, held_out = split_anchors(anchors, np.zeros(49, dtype=bool), seed=0)
    assert (len(training["rank_net"]), held_out) == (49, {})
    assert anchored_rows(anchors, 60).sum() == 49
    assert not anchored_rows(many(50), 60).any()
