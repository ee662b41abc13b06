"""Files of image, concept and value, compared with the cells of a table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from neuid3 import read_frame
from neuid3.data.reading.concepts import concepts_of_file
from neuid3.data.reading.sheet import TextTable
from neuid3.errors import DataError

COLUMNS = {"first": ["a.png", "b.png", "a.png"], "my, card": ["b.png", "c/d.png", "b.png"], "age": ["30", "", "41.5"]}


def table(columns: dict[str, list[str]], name: str = "cards.csv") -> TextTable:
    n = len(next(iter(columns.values())))
    return TextTable(Path(name), columns, list(range(2, n + 2)), False)


def read(*lines: tuple[str, str, str]) -> dict[str, list[str | None]]:
    image, concept, value = (list(column) for column in zip(*lines, strict=True))
    labels = table(
        {"image": image, "concept": concept, "value": value, "why": ["the first"] * len(lines)}, "labels.csv"
    )
    return concepts_of_file(labels, table(COLUMNS), ["first", "my, card"])


def test_a_concept_labels_every_cell_with_the_image_and_a_call_those_of_its_columns() -> None:
    assert read(("./b.png", "rank", "5")) == {
        "rank(first)": [None, "5", None],
        "rank('my, card')": ["5", None, "5"],
    }
    assert read(("b.png", "rank('my, card')", "5")) == {"rank('my, card')": ["5", None, "5"]}


def test_several_columns_are_named_by_their_cells() -> None:
    assert read(("a.png | b.png", "same(first, 'my, card')", "yes")) == {
        "same(first, 'my, card')": ["yes", None, "yes"]
    }
    assert read(("41.5", "old(age)", "no")) == {"old(age)": [None, None, "no"]}


def test_a_line_without_a_value_is_no_label() -> None:
    assert read(("a.png", "rank", ""), ("", "", ""), ("c\\\\d.png", "rank", "2")) == {
        "rank('my, card')": [None, "2", None]
    }


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([("x.png", "rank", "5")], r"labels.csv, line 2: the image 'x.png' is in no row of cards.csv"),
        ([("a.png", "rank", "5"), ("./a.png", "rank", "6")], r"line 3: the image './a.png' has the rank '6', and in"),
        ([("b.png | a.png", "same(first, 'my, card')", "no")], r"line 2: the image 'b.png | a.png' is in no row"),
        ([("a.png", "same(first, second)", "no")], r"names the column 'second', which cards.csv does not have"),
        ([("a.png", "same(first, 'my, card')", "no")], r"reads 2 columns, and 'a.png' are 1 cells"),
        ([("", "rank", "5")], r"line 2: column 'image' is empty"),
    ],
)
def test_what_cannot_be_a_label_is_refused_with_its_line(lines: list[tuple[str, str, str]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(*lines)


def test_a_frame_takes_a_column_of_labels() -> None:
    frame = pd.DataFrame({"age": [30.5, 41.5], "old(age)": ["yes", None]})
    taken = read_frame(frame, folder=".", concept_columns=["old(age)"])
    assert (list(taken.examples.schema), dict(taken.concepts)) == (["age"], {"old(age)": ["yes", None]})
    with pytest.raises(DataError, match=r"has no column 'old\(agee\)' with labels. Did you mean 'old\(age\)'"):
        read_frame(frame, folder=".", concept_columns=["old(agee)"])
