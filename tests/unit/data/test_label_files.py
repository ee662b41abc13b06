"""Files of labels for the images of a table: single images, several together, and lines that nobody filled in."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuid3.data.reading.concepts import concepts_of_file
from neuid3.data.reading.sheet import TextTable, open_text_table
from neuid3.errors import DataError

TABLE = TextTable(
    Path("cards.csv"),
    {"first": ["a.png", "b.png", "a.png"], "my card": ["b.png", "a.png", "b.png"], "age": ["1.5", "2", "1.5"]},
    None,
    commas=False,
)


def read(tmp_path: Path, *lines: str) -> dict[str, list[str | None]]:
    (tmp_path / "labels.csv").write_text("\n".join(["image,concept,value,row", *lines]) + "\n")
    return concepts_of_file(open_text_table(tmp_path / "labels.csv"), TABLE, ["first", "my card"])


def test_a_single_image_is_labelled_wherever_it_is(tmp_path: Path) -> None:
    assert read(tmp_path, "./a.png,rank,5,0") == {"rank(first)": ["5", None, "5"], "rank(my card)": [None, "5", None]}


def test_several_images_are_labelled_where_they_stand_together(tmp_path: Path) -> None:
    assert read(tmp_path, "a.png | b.png,\"same(first, 'my card')\",yes,0") == {
        "same(first, 'my card')": ["yes", None, "yes"]
    }
    assert read(tmp_path, '1.5 | a.png,"old(age, first)",no,0') == {"old(age, first)": ["no", None, "no"]}


def test_lines_without_a_value_are_no_labels(tmp_path: Path) -> None:
    assert read(tmp_path, "a.png,rank,,0", "b.png,rank,3,1") == {
        "rank(first)": [None, "3", None],
        "rank(my card)": ["3", None, "3"],
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a.png,rank,,0", "the column 'value' is empty; fill in"),
        ("c.png,rank,5,0", "'c.png' is in no row of cards.csv"),
        ('a.png | a.png,"same(first, my card)",yes,0', "is in no row of cards.csv"),
        ('a.png,"same(first, my card)",yes,0', "names 1 images, and the concept 2 columns"),
        ("a.png,rank(frst),5,0", "has no column 'frst'. Did you mean 'first'?"),
        (",rank,5,0", "column 'image' is empty"),
    ],
)
def test_lines_that_do_not_fit_are_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=message.replace("(", "\\(").replace("?", "\\?")):
        read(tmp_path, line)
