"""Tables in files become the examples that their text describes, and what is wrong with them is said in one sentence."""

from __future__ import annotations

import codecs
import csv
import io
import os
import struct
import sys
import zlib
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import neuid3
from neuid3 import (
    Boolean,
    Category,
    Distribution,
    Examples,
    NeuID3Classifier,
    Number,
    Probability,
    Tensor,
    read_frame,
    read_table,
)
from neuid3.data.reading import open_text_table, read_text_table, read_with_schema
from neuid3.data.reading.sheet import checked_names
from neuid3.errors import DamagedFileError, DataError, MissingFileError, MissingPackageError, UnreadableFileError

RNG = np.random.default_rng(0)


def table(folder: Path, text: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def picture(path: Path, pixels: Any, mode: str | None = None) -> Any:
    """Save an image file; returns its pixels."""
    path.parent.mkdir(exist_ok=True)
    image = Image.fromarray(np.asarray(pixels, dtype=np.uint8))
    (image if mode is None else image.convert(mode)).save(path)
    return pixels


# Kinds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        ("yes no Yes", Boolean(), [True, False, True]),
        ("TRUE false true", Boolean(), [True, False, True]),
        ("0 1 1.0", Boolean(), [False, True, True]),
        ("n y n", Boolean(), [False, True, False]),
        ("1 2 1", Number(), [1.0, 2.0, 1.0]),
        ("-1e3 .5 +7", Number(), [-1000.0, 0.5, 7.0]),
        ("clubs hearts clubs", Category(("clubs", "hearts")), [0, 1, 0]),
        ("yes no maybe", Category(("maybe", "no", "yes")), [2, 1, 0]),
        ("1_0 2_0 1_0", Category(("1_0", "2_0")), [0, 1, 0]),
        ("inf 1 2", Category(("1", "2", "inf")), [2, 0, 1]),
    ],
)
def test_kinds_are_inferred_from_text(tmp_path: Path, cells: str, kind: object, values: list[Any]) -> None:
    column = read_table(table(tmp_path, "x\n" + cells.replace(" ", "\n"))).examples.column("x")
    assert column.kind == kind
    assert column.values.tolist() == values
    assert column.missing is None


def test_any_cell_may_be_missing(tmp_path: Path) -> None:
    read = read_table(table(tmp_path, "a,b,c,d\nyes,NA,?,1\n,3.5,clubs,2\nno,nan,,null\n"))
    assert read.examples.schema == {
        "a": Boolean(),
        "b": Number(),
        "c": Category(("clubs",)),
        "d": Number(),
    }
    missing = {name: column.missing.tolist() for name, column in read.examples.items()}
    assert missing == {
        "a": [False, True, False],
        "b": [True, False, True],
        "c": [True, False, True],
        "d": [False, False, True],
    }
    assert read.columns[0].details == "no and yes; 1 missing"


def test_kinds_can_be_declared(tmp_path: Path) -> None:
    path = table(tmp_path, "rank,code,p,flag,name\n3,01,0.25,1,ann\n12,02,,0,bob\n3,01,1,1,ann\n")
    types = {"rank": "category", "code": "category", "p": "probability", "flag": "number", "name": "ignore"}
    read = read_table(path, types)
    assert read.examples.schema == {
        "rank": Category((3, 12)),
        "code": Category(("01", "02")),
        "p": Probability(),
        "flag": Number(),
    }
    assert read.columns[-1].kind == "left out"


def test_text_that_differs_from_row_to_row_is_left_out_and_reported(tmp_path: Path) -> None:
    lines = "".join(f"person {i},{i},{'x' if i == 40 else i}\n" for i in range(60))
    read = read_table(table(tmp_path, "name,age,weight\n" + lines))
    assert read.examples.names == ("age",)
    name, _, weight = read.columns
    assert name.details == "text that differs from row to row, such as 'person 0'"
    assert weight.details.endswith("; no numbers because of 'x'")
    assert read_table(tmp_path / "table.csv", {"name": "category"}).examples.names == ("name", "age")
    rows = [f'{date(2024, 1, 1) + timedelta(days=i)},"[1, 2, 3, 4, {i}]",{i}' for i in range(60)]
    rows[7] = '31/31/2024,"[1, 2",7'
    day, beats, _ = read_table(table(tmp_path, "day,beats,age\n" + "\n".join(rows))).columns
    assert day.details.endswith("; no dates because of '31/31/2024'")
    assert beats.details.endswith("; no series because of '[1, 2'")


def test_missing_entries_are_counted_for_inferred_and_declared_kinds(tmp_path: Path) -> None:
    Image.new("L", (8, 8)).save(tmp_path / "a.png")
    given = table(tmp_path, "scan,age,name\na.png,3,x\n,,x\na.png,5,y\n")
    text = {column.name: column.details for column in read_table(given, {"age": "number"}).columns}
    assert text["scan"].endswith("; 1 missing")
    assert text["age"] == "as declared; 1 missing"
    assert "missing" not in text["name"]


def test_one_cell_that_names_no_image_is_reported(tmp_path: Path) -> None:
    lines = "".join(f"im/{i}.{'gif' if i == 40 else 'png'}\n" for i in range(60))
    with pytest.raises(DataError, match=r"'scan' is left out \(text .*; no images because of 'im/40.gif'\); declare"):
        read_table(table(tmp_path, "scan\n" + lines))
    with pytest.raises(DataError, match="no column besides the classes"):
        read_table(table(tmp_path, "class\na\nb\na\nb\n"), target="class")


def test_the_target_gives_classes_and_rows_without_one_are_left_out(tmp_path: Path) -> None:
    read = read_table(table(tmp_path, "a,y\n1,10\n2,\n3,9\n4,10\n5,9\n"), target="y")
    assert read.examples.names == ("a",)
    assert read.examples.column("a").values.tolist() == [1, 3, 4, 5]
    assert read.labels.tolist() == ["10", "9", "10", "9"]
    assert read.notes == ("1 rows have no class in 'y' and were left out.",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,y\n1,x\n2,x\n", "every row has the class 'x'"),
        ("a,y\n1,0.5\n2,1.5\n", "holds quantities such as 0.5"),
        ("a,y\n" + "".join(f"{i},n{i}\n" for i in range(9)), "has 9 different values in 9 rows"),
        ("a,y\n1,\n2,\n", "no row has a class"),
        ("a,yy\n1,x\n2,z\n", "has no column 'y' to predict. Did you mean 'yy'?"),
        ("n,y\n,u\n,v\n", "has no column to learn from"),
    ],
)
def test_a_target_that_cannot_be_learned_is_reported(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=r"table\.csv") as error:
        read_table(table(tmp_path, text), target="y")
    assert message in str(error.value)


# Dialects -------------------------------------------------------------------------------------------

names = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="."), min_size=1)
words = st.text(st.characters(codec="utf-8", exclude_categories=("C",)), min_size=1, max_size=8).map(lambda w: f"w{w}w")
numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)


@st.composite
def columns(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Named columns of truth values, numbers or words, with gaps."""
    length = draw(st.integers(2, 8))
    kinds = st.sampled_from([st.booleans(), numbers, words])
    found = {}
    for name in draw(st.lists(names, min_size=1, max_size=4, unique=True)):
        entries = draw(st.lists(draw(kinds), min_size=length, max_size=length))
        gaps = draw(st.lists(st.booleans(), min_size=length, max_size=length))
        if all(gaps):
            gaps[0] = False
        found[name] = [None if gap else entry for entry, gap in zip(entries, gaps, strict=True)]
    return found


@given(
    columns(),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_every_dialect_says_what_the_columns_say(
    tmp_path_factory: pytest.TempPathFactory, made: dict[str, list[Any]], delimiter: str, end: str, encoding: str
) -> None:
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerow(made)
    writer.writerows(["" if c is None else c for c in row] for row in zip(*made.values(), strict=True))
    path = table(tmp_path_factory.getbasetemp(), written.getvalue().encode(encoding))
    found, wanted = read_table(path).examples, Examples({name: made[name] for name in made})
    assert found.schema == wanted.schema
    for name, column in wanted.items():
        assert found.column(name).missing is None or column.missing is not None
        present = np.ones(len(wanted), bool) if column.missing is None else ~column.missing
        np.testing.assert_array_equal(found.column(name).values[present], column.values[present])


def test_commas_are_decimal_where_they_do_not_separate(tmp_path: Path) -> None:
    read = read_table(table(tmp_path, 'größe; ort\r\n1,5; "Köln; Süd"\r\n\r\n2;Bonn\r\n', "umfrage.csv"))
    assert read.examples.column("größe").values.tolist() == [1.5, 2.0]
    assert read.examples.schema["ort"] == Category(("Bonn", "Köln; Süd"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "table.csv is empty; give a table"),
        (b" \n\n", "table.csv is empty; give a table"),
        (b"\xef\xbb\xbf", "table.csv is empty; give a table"),
        (b"\xff\xfe", "table.csv is empty; give a table"),
        (b"a,b\n", "names columns and has no rows"),
        (b"a,b,a\n1,2,3\n", "two columns are named 'a'"),
        (b",a\n0,1\n", "column 1 has no name in the first line"),
        (b"5.1,3.5\n1,2\n", "the first line contains '5.1'"),
        (b'a,b\n1,"x\ny"\n1,2,3\n', "table.csv, line 4: 3 cells, but the first line names 2 columns"),
        (b"a;b\n1\n", "line 2: 1 cells, but the first line names 2 columns; put cells that contain ';' in quotes"),
        (b'a,b\n1,"x\n', "line 2: the quotes are unbalanced"),
        (b"a,b\n1,caf\xe9\n", "is not UTF-8 text (byte 0xe9 in line 2)"),
        (b"\x89PNG\r\n\x1a\n\0\0", "is not a text table"),
        (b"PAR1 and no more", "is a damaged Parquet file"),
        (codecs.BOM_UTF16_LE + b"a", "is not UTF-8 text"),
    ],
)
def test_what_is_no_table_is_reported_in_a_sentence(tmp_path: Path, text: bytes, message: str) -> None:
    with pytest.raises(DamagedFileError) as error:
        open_text_table(table(tmp_path, text))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_reported_with_one_that_is(tmp_path: Path) -> None:
    table(tmp_path, "a\n1\n", "cards.csv")
    with pytest.raises(MissingFileError, match=r"card\.csv\. Did you mean 'cards\.csv'\?"):
        open_text_table(tmp_path / "card.csv")
    with pytest.raises(DamagedFileError, match="is a folder"):
        open_text_table(tmp_path)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"a": "bolean"}, "an unknown kind. Did you mean 'boolean'?"),
        ({"b": "boolean"}, "has no column 'b' to declare"),
        ({"a": "boolean"}, "table.csv, line 3: column 'a' has '7'; true or false"),
        ({"c": "number"}, "table.csv, line 2: column 'c' has 'x'; a number is needed"),
        ({"a": "probability"}, "table.csv, line 3: column 'a' has '7'; a probability from 0 to 1"),
        ({"c": "image"}, "the image 'x' of column 'c' does not exist"),
    ],
)
def test_a_declaration_that_does_not_fit_is_reported_with_its_line(tmp_path: Path, types: Any, message: str) -> None:
    with pytest.raises((DataError, MissingFileError)) as error:
        read_table(table(tmp_path, "a,c\n1,x\n7,y\n"), types)
    assert message in str(error.value)


def test_parquet_says_the_same_as_text(tmp_path: Path) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    columns = {
        "flag": [True, None, False],
        "n": [1.5, 2.25, None],
        "k": [1, 2, 3],
        "suit": ["clubs", None, "hearts"],
        "day": [None, None, None],
        "list": [[1], [2], [3]],
    }
    parquet.write_table(arrow.table(columns), tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet")
    wanted = Examples({name: columns[name] for name in ("flag", "n", "k", "suit")})
    assert read.examples.schema == wanted.schema
    for name, column in wanted.items():
        np.testing.assert_array_equal(read.examples.column(name).values, column.values)
        np.testing.assert_array_equal(read.examples.column(name).missing, column.missing)
    assert [(c.name, c.details) for c in read.columns if c.kind == "left out"] == [
        ("day", "every cell is empty"),
        ("list", "neither text nor numbers"),
    ]
    with pytest.raises(DataError, match=r"t\.parquet, row 1 \(counted from 0\): column 'k' has '2'"):
        read_table(tmp_path / "t.parquet", {"k": "boolean"})


@pytest.mark.parametrize(("package", "name"), [("pyarrow", "t.parquet"), ("PIL", "t.csv")])
def test_a_package_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, name: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    path = table(tmp_path, "PAR1" if package == "pyarrow" else "i\na.png\n", name)
    with pytest.raises(MissingPackageError, match=r'pip install "neuid3\[tables\]"'):
        read_table(path)


# Images ---------------------------------------------------------------------------------------------


def test_images_are_read_with_the_channels_they_have(tmp_path: Path) -> None:
    grey = [picture(tmp_path / "i" / f"grey{i}.png", RNG.integers(0, 256, (6, 9))) for i in range(2)]
    colour = [picture(tmp_path / "i" / f"colour{i}.png", RNG.integers(0, 256, (5, 7, 3))) for i in range(2)]
    text = "grey,colour\ni/grey0.png,i/colour0.png\n,i/colour1.png\ni\\grey1.png,i/colour0.png\n"
    read = read_table(table(tmp_path, text))
    assert read.examples.schema == {"grey": Tensor((6, 9)), "colour": Tensor((3, 5, 7))}
    one, other = read.examples.column("grey"), read.examples.column("colour")
    assert one.values.dtype == np.uint8
    assert one.missing.tolist() == [False, True, False]
    np.testing.assert_array_equal(one.values[[0, 2]], grey)
    np.testing.assert_array_equal(other.values, np.moveaxis([colour[0], colour[1], colour[0]], -1, 1))
    assert [c.details for c in read.columns] == ["9 × 6, grey; 1 missing", "7 × 5, colour"]
    assert read.notes == ()


def test_mixed_images_of_all_columns_get_one_size_and_that_is_reported(tmp_path: Path) -> None:
    for i, shape in enumerate([(8, 8), (8, 8), (10, 6), (8, 8)]):
        picture(tmp_path / f"{i}.png", np.full(shape, 60 * i))
    picture(tmp_path / "c.jpg", np.full((9, 9, 3), 200))
    read = read_table(table(tmp_path, "one,two\n0.png,1.png\n2.png,3.png\nc.jpg,1.png\n"))
    assert read.examples.schema == {"one": Tensor((3, 8, 8)), "two": Tensor((3, 8, 8))}
    assert np.unique(read.examples.column("one").values[1]).tolist() == [120]
    assert read.notes == ("The images of 'one' (6 × 10, 8 × 8, 9 × 9) were resized to 8 × 8.",)


def test_images_of_up_to_224_pixels_stay_as_they_are(tmp_path: Path) -> None:
    pixels = RNG.integers(0, 256, (224, 100, 3)).astype(np.uint8)
    picture(tmp_path / "photo.png", pixels)
    read = read_table(table(tmp_path, "photo\nphoto.png\n"))
    assert np.array_equal(read.examples.column("photo").values[0], np.moveaxis(pixels, -1, 0))
    assert not read.notes


def test_large_images_are_shrunk_and_keep_their_proportions(tmp_path: Path) -> None:
    picture(tmp_path / "photo.png", RNG.integers(0, 256, (300, 150, 3)))
    path = table(tmp_path, "photo\nphoto.png\n")
    assert read_table(path).examples.schema["photo"] == Tensor((3, 224, 112))
    assert read_table(path).notes == ("The images of 'photo' (150 × 300) were resized to 112 × 224.",)
    assert read_table(path, image_size=100).examples.schema["photo"] == Tensor((3, 100, 50))


@pytest.mark.parametrize(
    ("mode", "shape"), [("1", (4, 5)), ("LA", (4, 5)), ("P", (3, 4, 5)), ("RGBA", (3, 4, 5)), ("CMYK", (3, 4, 5))]
)
def test_every_mode_ends_as_grey_or_colour(tmp_path: Path, mode: str, shape: tuple[int, ...]) -> None:
    name = "x.jpg" if mode == "CMYK" else "x.png"
    Image.new("RGB", (5, 4), "white").convert(mode).save(tmp_path / name)
    column = read_table(table(tmp_path, f"x\n{name}\n")).examples.column("x")
    assert column.kind == Tensor(shape)
    assert column.values.min() >= 250


def test_what_is_transparent_lies_on_white(tmp_path: Path) -> None:
    Image.new("RGBA", (3, 3), (255, 0, 0, 0)).save(tmp_path / "x.png")
    assert (read_table(table(tmp_path, "x\nx.png\n")).examples.column("x").values == 255).all()


def test_sixteen_bits_become_eight(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, 257 * 7], [65535, 257 * 200]], dtype=np.uint16)).save(tmp_path / "x.png")
    assert read_table(table(tmp_path, "x\nx.png\n")).examples.column("x").values[0].tolist() == [[0, 7], [255, 200]]


def test_a_photograph_is_turned_as_the_camera_says(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(np.array([[0] * 8, [255] * 8], dtype=np.uint8)).save(tmp_path / "x.jpg", exif=exif, quality=100)
    column = read_table(table(tmp_path, "x\nx.jpg\n")).examples.column("x")
    assert column.kind == Tensor((8, 2))
    assert (column.values[0].mean(axis=0) > 128).tolist() == [True, False]  # what was above is on the right


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("gone.png", "the image 'gone.png' of column 'x' does not exist"),
        ("../secret.png", "is outside of the table's folder"),
        ("i/../../secret.png", "is outside of the table's folder"),
        ("/etc/secret.png", "is outside of the table's folder"),
        ("C:\\secret.png", "is outside of the table's folder"),
        ("..\\secret.png", "is outside of the table's folder"),
        ("text.png", "is not a PNG or JPEG file, or is damaged"),
        ("half.png", "is not a PNG or JPEG file, or is damaged"),
        ("gif.png", "is not a PNG or JPEG file, or is damaged"),
        ("huge.png", "has more than 89,478,485 pixels; make it smaller"),
    ],
)
def test_images_that_cannot_be_read_are_reported_with_their_line(tmp_path: Path, cell: str, message: str) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    picture(tmp_path / "secret.png", np.zeros((4, 4)))
    picture(folder / "ok.png", np.zeros((4, 4)))
    table(folder, "not an image", "text.png")
    picture(folder / "whole.png", RNG.integers(0, 256, (40, 40)))
    table(folder, (folder / "whole.png").read_bytes()[:900], "half.png")
    Image.new("L", (4, 4)).save(folder / "gif.gif")
    (folder / "gif.gif").rename(folder / "gif.png")
    head = b"IHDR" + struct.pack(">IIBBBBB", 100_000_000, 1, 8, 0, 0, 0, 0)
    chunk = struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))
    table(folder, b"\x89PNG\r\n\x1a\n" + chunk + struct.pack(">I", 0) + b"IDAT" + bytes(4), "huge.png")
    with pytest.raises((DataError, MissingFileError, DamagedFileError)) as error:
        read_table(table(folder, f"x\nok.png\n{cell}\n"))
    assert str(error.value).startswith("table.csv, line 3: the image ")
    assert message in str(error.value)


# By a model's schema --------------------------------------------------------------------------------


def test_a_table_is_read_as_the_model_knows_it(tmp_path: Path) -> None:
    picture(tmp_path / "a.png", np.full((12, 12, 3), 90))
    schema = {
        "rank": Category((1, 2, 10)),
        "old": Boolean(),
        "age": Number(),
        "suit": Category(("clubs", "hearts")),
        "p": Probability(),
        "image": Tensor((6, 6)),
        "deep": Tensor((1, 6, 6)),
    }
    text = "y,image,suit,rank,age,old,p,deep,gone\n1,a.png,hearts,10,1,1,0.5,a.png,no.png\n2,,spades,7,0,no,,,no.png\n"
    with pytest.warns(UserWarning, match=r"read as 'other' \(rank: 7; suit: spades\)"):
        found = read_with_schema(open_text_table(table(tmp_path, text)), schema, list(schema))
    assert found.schema == schema
    assert found.column("rank").values.tolist() == [2, 3]
    assert found.column("suit").values.tolist() == [1, 2]
    assert found.column("age").values.tolist() == [1.0, 0.0]
    assert found.column("old").values.tolist() == [True, False]
    assert found.column("p").missing.tolist() == [False, True]
    assert found.column("image").values.dtype == np.uint8
    assert (found.column("image").values[0] == 90).all()
    assert found.column("image").missing.tolist() == [False, True]


def test_columns_that_are_not_needed_are_not_read(tmp_path: Path) -> None:
    schema = {"a": Boolean(), "image": Tensor((6, 6)), "absent": Number()}
    sheet = open_text_table(table(tmp_path, "a,image\nyes,gone.png\nno,gone.png\n"))
    assert read_with_schema(sheet, schema, ["a"]).names == ("a",)
    with pytest.raises(MissingFileError, match=r"gone\.png"):
        read_with_schema(sheet, schema, ["a", "image"])
    with pytest.raises(DataError, match="has no column 'absent', which the model needs"):
        read_with_schema(sheet, schema, ["absent"])
    whole = read_with_schema(open_text_table(table(tmp_path, "a,image\nyes,\n")), schema, ["a"], others=True)
    assert whole.schema == schema
    assert whole.column("absent").missing.all()


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Distribution(("a", "b")), "as a distribution, which a cell of a table cannot hold"),
        (Tensor((7,)), "tensors of shape (7,), which image files cannot provide"),
    ],
)
def test_what_no_cell_can_hold_is_reported(tmp_path: Path, kind: Any, message: str) -> None:
    with pytest.raises(DataError) as error:
        read_with_schema(open_text_table(table(tmp_path, "x\na.png\n")), {"x": kind}, ["x"])
    assert message in str(error.value)


def test_rows_are_named_by_their_lines_after_some_were_left_out(tmp_path: Path) -> None:
    sheet = open_text_table(table(tmp_path, "a\n1\n\n2\nx\n")).take([0, 2])
    with pytest.raises(DataError, match=r"table\.csv, line 5: column 'a' has 'x'"):
        read_text_table(sheet, {"a": "number"})


# Tables in memory -----------------------------------------------------------------------------------


def test_a_frame_is_read_as_the_file_of_its_cells(tmp_path: Path) -> None:
    for i in range(30):
        picture(tmp_path / "img" / f"{i}.png", RNG.integers(0, 256, (6, 9)))
    frame = pd.DataFrame(
        {
            "plate": [f"img/{i}.png" for i in range(30)],
            "smoker": ["yes", "no"] * 15,
            "lit": [True, False, None] * 10,
            "age": np.linspace(20.0, 80.0, 30),
            "count": range(30),
            "suit": ["clubs", None, "hearts"] * 10,
            "note": [f"patient {i} was seen" for i in range(30)],
            "y": ["a", "b", "b"] * 10,
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    of_file, of_frame = read_table(tmp_path / "t.csv", target="y"), read_frame(frame, folder=tmp_path, target="y")
    assert of_frame.columns == of_file.columns
    assert {c.name: c.kind for c in of_frame.columns}["note"] == "text"
    assert of_frame.examples.schema == of_file.examples.schema
    assert of_frame.examples.schema["plate"] == Tensor((6, 9))
    for name, column in of_file.examples.items():
        np.testing.assert_array_equal(of_frame.examples.column(name).values, column.values)
        np.testing.assert_array_equal(of_frame.examples.column(name).missing, column.missing)
    np.testing.assert_array_equal(of_frame.labels, of_file.labels)


def test_a_frame_reads_no_file_outside_of_its_folder(tmp_path: Path) -> None:
    picture(tmp_path / "secret.png", RNG.integers(0, 256, (6, 9)))
    inside = tmp_path / "inside"
    inside.mkdir()
    for cell in ("../secret.png", str(tmp_path / "secret.png"), "..\\secret.png"):
        with pytest.raises(DataError, match=r"DataFrame, row 0 \(counted from 0\).*outside of the table's folder"):
            read_frame({"plate": [cell]}, folder=inside)
    with pytest.raises(MissingFileError, match="is not a folder"):
        read_frame({"plate": ["a.png"]}, folder=tmp_path / "nowhere")
    with pytest.raises(DataError, match="same length, at least 1"):
        read_frame({"a": [1, 2], "b": [1]}, folder=tmp_path)


def test_new_tables_are_read_by_the_schema_of_a_model(tmp_path: Path) -> None:
    picture(tmp_path / "large.png", RNG.integers(0, 256, (20, 30)))
    schema = {"plate": Tensor((6, 9)), "suit": Category(("clubs", "hearts"))}
    frame = pd.DataFrame({"plate": ["large.png"], "suit": ["hearts"], "other": [3]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for read in (read_frame(frame, folder=tmp_path, schema=schema), read_table(tmp_path / "t.csv", schema=schema)):
        assert read.examples.schema == schema
        assert read.examples.column("suit").values.tolist() == [1]
    with pytest.raises(DataError, match="leave `types` out"):
        read_frame(frame, {"suit": "category"}, folder=tmp_path, schema=schema)


# Wide tables ----------------------------------------------------------------------------------------


def test_names_of_columns_are_compared_a_number_of_times_that_grows_with_them() -> None:
    class Counted(str):
        compared = 0
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            Counted.compared += 1
            return str.__eq__(self, other)

    checked_names([Counted(f"c{i}") for i in range(2000)], Path("t.csv"))
    assert Counted.compared < 20_000


def test_twenty_thousand_columns_go_all_the_way(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(20_000)]
    rows = RNG.random((12, len(names))) < 0.5
    rows[:, 7] = np.arange(12) % 2 == 0
    lines = [",".join([*names, "y"]), *(",".join([*map(str, row.astype(int)), "ab"[int(row[7])]]) for row in rows)]
    read = read_table(table(tmp_path, "\n".join(lines)), target="y")
    clf = NeuID3Classifier(pruning=0.0, min_mass=0.0).fit(read.examples, read.labels)
    same = neuid3.load(clf.save(tmp_path / "wide.neuid3"))
    assert (same.predict(read.examples) == read.labels).all()


# Targets that are quantities ------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [[f"{i}.5" for i in range(60)], [str(i) for i in range(60)]])
def test_a_target_of_quantities_is_refused_and_regression_is_named(tmp_path: Path, cells: list[str]) -> None:
    text = "\n".join(["x,y", *(f"{i % 2},{cell}" for i, cell in enumerate(cells))])
    with pytest.raises(DataError, match=r"column 'y' .*--task regression.*cut the quantity"):
        read_table(table(tmp_path, text), target="y")


def test_a_target_of_many_numbers_is_noted_as_a_quantity(tmp_path: Path) -> None:
    few, many = (
        read_table(table(tmp_path, "\n".join(["x,y", *(f"{i % 2},{i % k}" for i in range(120))])), target="y")
        for k in (3, 50)
    )
    assert not few.notes
    assert [note for note in many.notes if "50 different numbers in 120 rows" in note and "--task regression" in note]


# Odd files ------------------------------------------------------------------------------------------


def test_a_cell_may_be_as_long_as_the_file(tmp_path: Path) -> None:
    long, limit = "x" * 300_000, csv.field_size_limit()
    for cell in (long, f'"{long}\n{long}"'):
        sheet = open_text_table(table(tmp_path, f"a,b\n{cell},1\ny,2\n"))
        assert sheet.columns["a"] == [cell.strip('"'), "y"]
    with pytest.raises(DamagedFileError, match="line 2: the quotes are unbalanced"):
        open_text_table(table(tmp_path, f'a,b\n"{long},1\ny,2\n'))
    assert csv.field_size_limit() == limit, "other readers keep their limit"


def test_parquet_strings_that_are_no_utf8_are_reported(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    wrong = arrow.array([b"caf\xe9", b"tea"], arrow.binary()).view(arrow.string())
    path = tmp_path / "t.parquet"
    parquet.write_table(arrow.table({"n": [1, 2], "drink": wrong}), path)
    with pytest.raises(DamagedFileError, match="column 'drink' holds strings that are not UTF-8 text; write them"):
        open_text_table(path)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("pipe.png", "line 2: the image 'pipe.png' of column 'photo' cannot be read: .* is a pipe"),
        ("folder.png", "line 2: the image 'folder.png' of column 'photo' cannot be read: .* is a folder"),
        ("loop.png", "line 2: the image 'loop.png' of column 'photo' cannot be read: .* levels of symbolic links"),
        (f"{'x' * 300}.png", "line 2: the image 'xxx.* of column 'photo' cannot be read: .*File name too long"),
        ("none.png", "line 2: the image 'none.png' of column 'photo' does not exist"),
    ],
)
def test_images_that_are_no_files_are_reported_with_their_row(tmp_path: Path, cell: str, message: str) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "loop.png").symlink_to("loop.png")
    with pytest.raises((UnreadableFileError, MissingFileError), match=message):
        read_table(table(tmp_path, f"photo,b\n{cell},1\n"))


def test_integers_that_no_float_equals_are_names_and_not_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,y\n" + "".join(f"{2**53 + k},{k % 2}\n" for k in (0, 1, 2, 0, 1, 2)))
    kind = read_table(path, target="y").examples.schema["id"]
    assert kind == Category((2**53, 2**53 + 1, 2**53 + 2))
    with pytest.raises(DataError, match="a number that a 64-bit float equals is needed"):
        read_table(path, {"id": "number"}, target="y")
