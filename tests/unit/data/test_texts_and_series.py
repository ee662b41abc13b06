"""Text and series columns: reading, missing entries, derived columns and what networks get."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from neuid3 import Category, Examples, Series, Tensor, Text
from neuid3.data import series
from neuid3.data.reading.table import read_frame, read_table
from neuid3.data.series import series_column, series_of
from neuid3.data.texts import (
    contains_phrase,
    phrase_score,
    quotation,
    score_terms,
    score_text,
    text_column,
    texts_of,
    words,
)
from neuid3.errors import DamagedFileError, DataError

WORDS = st.sampled_from(["chest", "pain", "Pain", "no", "fever", "chestpain"])
NOTES = st.lists(st.tuples(WORDS, st.sampled_from([" ", ", ", "-", ".\n"]))).map(
    lambda parts: "".join(map("".join, parts))
)


@given(st.lists(NOTES, min_size=1), st.sampled_from(["pain", "chest pain", "no chest pain"]))
def test_a_phrase_is_found_where_its_words_follow_each_other(notes: list[str], phrase: str) -> None:
    sought = phrase.split()
    expected = [any(words(note)[i : i + len(sought)] == sought for i in range(len(words(note)))) for note in notes]
    column = text_column(notes)
    assert contains_phrase(column, phrase).tolist() == expected
    assert [bool(quotation(note, phrase)) for note in notes] == expected
    halves = column.take(slice(0, len(notes) // 2)), column.take(slice(len(notes) // 2, None))
    assert [*contains_phrase(halves[0], phrase), *contains_phrase(halves[1], phrase)] == expected


PHRASES = st.sampled_from(["pain", "chest pain", "no", "fever", "no fever"])


@given(st.lists(NOTES, min_size=1), st.dictionaries(PHRASES, st.integers(-9, 9).filter(bool), min_size=1))
def test_a_score_sums_up_the_weights_of_the_phrases_in_a_text(notes: list[str], weights: dict[str, int]) -> None:
    text, column = score_text(weights), text_column(notes)
    assert score_terms(text) == weights
    expected = [sum(w for p, w in weights.items() if f" {p} " in f" {' '.join(words(note))} ") for note in notes]
    assert phrase_score(column, text).tolist() == expected
    assert (
        Examples({"note": notes}, kinds={"note": "text"}).column(f"score(note, '{text}')").values.tolist() == expected
    )


@pytest.mark.parametrize(
    "text", ["chest-pain + well", "Chest  pain + 1 * well", " + chest pain + 1*well", "well - -1 + chest pain"]
)
def test_scores_are_read_as_people_write_them(text: str) -> None:
    expected = {"chest pain": 1, "well": 1} | ({"1": -1} if "-1" in text else {})
    assert score_terms(text) == expected


def test_networks_get_equal_bags_of_length_1_for_equal_words() -> None:
    column = text_column(["Chest pain!", "chest  pain", "pain chest", "", None])
    bags = np.asarray(column.values)
    assert bags.shape == (5, 1024)
    assert np.array_equal(bags[0], bags[1])
    assert not np.array_equal(bags[0], bags[2])  # another pair of words
    assert np.linalg.norm(bags, axis=1).tolist() == pytest.approx([1, 1, 1, 0, 0])
    assert column.missing is not None
    assert column.missing.tolist() == [False, False, False, False, True]


def test_concatenated_texts_and_series_keep_their_entries() -> None:
    data = {"note": ["a b c", None], "pulse": [[1.0, 2.0, 3.0], [4.0]]}
    one = Examples(data, kinds={"note": "text", "pulse": "series"})
    two = Examples({"note": ["d e f"], "pulse": [[5.0, 6.0, 7.0]]}, kinds={"note": "text", "pulse": "series"})
    both = one.concatenate(two)
    assert texts_of(both.column("note")) == ["a b c", "", "d e f"]
    assert both.column("mean(pulse)").values.tolist() == [2.0, 4.0, 6.0]
    assert both[[2, 0]].column("contains(note, 'e')").values.tolist() == [True, False]


NUMBERS = arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 12)),
    elements=st.floats(-100, 100).map(lambda x: round(x, 2)),
)


@given(NUMBERS, st.data())
def test_descriptions_of_series_agree_with_plain_code(numbers: Any, data: Any) -> None:
    gaps = data.draw(arrays(bool, numbers.shape))
    table = np.where(gaps, np.nan, numbers)
    level = data.draw(st.floats(-100, 100))
    for row, whole in enumerate(table):
        known = whole[~np.isnan(whole)]
        steps = np.flatnonzero(~np.isnan(whole))
        for function, plain in (
            (series.mean, np.mean),
            (series.deviation, np.std),
            (series.lowest, np.min),
            (series.highest, np.max),
            (lambda s: series.share_above(s, level), lambda k: np.mean(k > level)),
            (series.slope, lambda k, s=steps: np.polyfit(s, k, 1)[0] if len(k) > 1 else 0.0),
        ):
            value = function(table)[row]
            assert np.isnan(value) if not len(known) else value == pytest.approx(plain(known), abs=1e-6)


def test_peaks_are_counted_once_each() -> None:
    waves = np.stack([np.sin(np.linspace(0, 2 * np.pi * count, 200)) for count in (1, 3, 7)])
    assert series.peaks(waves).tolist() == [1, 3, 7]
    noisy = waves + 0.1 * np.random.default_rng(0).normal(size=waves.shape)
    assert series.peaks(noisy).tolist() == [1, 3, 7]
    assert series.peaks(np.zeros((1, 5))).tolist() == [0]


def test_series_of_several_lengths_and_channels_are_read_and_padded_for_networks() -> None:
    column = series_column("ecg", [[[1, 2, 3], [4, np.nan, 6]], None, [[1, 1], [2, 2]]])
    assert column.kind == Series((2, 3))
    assert np.asarray(column.values)[0].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert np.asarray(column.values)[2].tolist() == [[1, 1, 1], [2, 2, 2]]
    assert np.isnan(series_of(column)[2, :, 2]).all()
    examples = Examples({"ecg": column})
    assert examples.column("mean(ecg, 2)").values.tolist() == pytest.approx([5, np.nan, 2], nan_ok=True)
    longer = Examples.read({"ecg": [[[0, 0, 0, 8], [0, 0, 0, 8]]]}, {"ecg": column.kind})
    assert np.asarray(longer.column("ecg").values).shape == (1, 2, 3)
    assert (
        Examples.read({"ecg": [[[0, 0, 0, 8], [0, 0, 0, 8]]]}, examples.schema, ["ecg"])
        .column("highest(ecg, 1)")
        .values
        == 8
    )
    with pytest.raises(DataError, match="series of 1 and 2 channels"):
        series_column("ecg", [[1, 2], [[1, 2], [3, 4]]])
    with pytest.raises(DataError, match=r"is a series|has tensors"):
        Examples.read({"ecg": [[1.0, 2.0]]}, {"ecg": Series((2, 3))})


def test_a_file_in_each_row_is_a_series(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    np.save(tmp_path / "s" / "a.npy", np.arange(6.0))
    (tmp_path / "s" / "b.csv").write_text("pulse\n70\n72\n\n74\n")
    (tmp_path / "t.csv").write_text(
        'trace,"inside",y\ns/a.npy,"[1, 2, 3, 4, null]",no\ns/b.csv,"[2, 2, 2, 2, 2]",yes\n,,no\n'
    )
    table = read_table(tmp_path / "t.csv", target="y")
    assert table.examples.schema == {"trace": Series((1, 6)), "inside": Series((1, 5))}
    assert table.examples.column("mean(trace)").values.tolist() == pytest.approx([2.5, 72, np.nan], nan_ok=True)
    assert table.examples.column("mean(inside)").values.tolist() == pytest.approx([2.5, 2, np.nan], nan_ok=True)
    (tmp_path / "s" / "b.csv").write_text("no numbers\nhere\n")
    with pytest.raises(DamagedFileError, match=r"b\.csv holds no series"):
        read_table(tmp_path / "t.csv", target="y")
    (tmp_path / "t.csv").write_text("trace,y\n../a.npy,no\n../b.npy,yes\n")
    with pytest.raises(DataError, match="leads out of the folder"):
        read_table(tmp_path / "t.csv", target="y")


def test_series_in_the_cells_of_a_frame_are_read_as_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lists = [[1.0, 2.0], [3.0, 4.0, 5.0, 6.0, 7.0], [], None, [2.0, None, 2.0]]
    for row, numbers in enumerate(lists):
        np.save(f"{row}.npy", np.array(numbers or [np.nan], dtype=float))
    texts = [None if numbers is None else json.dumps(numbers) for numbers in lists]
    names = [None if numbers is None else f"{row}.npy" for row, numbers in enumerate(lists)]
    pd.DataFrame({"lists": texts, "files": names}).to_csv("t.csv", index=False)
    of_file = read_table("t.csv").examples
    assert of_file.schema == {"lists": Series((1, 5)), "files": Series((1, 5))}
    for entries in (lists, [None if n is None else np.array(n, dtype=float) for n in lists], texts, names):
        column = Examples({"s": entries}).column("s")
        assert column.kind == Series((1, 5))
        assert np.array_equal(series_of(column), series_of(of_file.column("files")), equal_nan=True)
        assert np.array_equal(series_of(column), series_of(of_file.column("lists")), equal_nan=True)
        assert column.missing is not None
        assert column.missing.tolist() == [False, False, True, True, False]
    with pytest.raises(DataError, match=r"names files such as '0\.npy', but not all of them are in the current folder"):
        Examples({"s": ["0.npy", "none.npy"]})
    with pytest.raises(DataError, match=r"is ragged.*'series'"):
        Examples({"s": [[1.0], [1.0, 2.0]]})
    with pytest.raises(DataError, match=r"a number above 3\.4e38 in row 1"):
        Examples({"s": [[1.0] * 5, [1e300] * 5]})


@pytest.mark.parametrize("entry", [None, float("nan")])
def test_derived_columns_of_a_row_are_computed_whatever_its_table_tells_of_kinds(entry: Any) -> None:
    first = {
        "note": [f"chest pain on day {i}" for i in range(40)],
        "day": [f"{i % 28 + 1}/3/2024" for i in range(40)],
        "pulse": [[1.0, 2.0, 3.0, 4.0, float(i)] for i in range(40)],
    }
    examples = Examples(first, kinds={"note": "text"})
    names = ["contains(note, 'chest pain')", "month(day)", "weekday(day)", "days(day, day)", "mean(pulse)"]
    schema = {**examples.schema, **examples.select(names).schema}
    for rows in (1, 2):
        frame = {name: [entry] * rows for name in first}
        for later in (frame, Examples(frame)):
            read = Examples.read(later, schema, names)
            assert read.schema == {name: schema[name] for name in names}
            assert all(column.missing is not None and column.missing.all() for _, column in read.items())
    row = {"note": ["Chest pain, again and again"], "day": ["2/3/2024"], "pulse": [[1.0, 2.0, 3.0, 4.0, 5.0]]}
    for later in (row, Examples(row)):
        values = [column.values.tolist() for _, column in Examples.read(later, schema, names).items()]
        assert values == [[True], [3.0], [5], [0.0], [3.0]]
    with pytest.raises(DataError, match="It is computed from 'note'"):
        Examples.read({"day": ["2/3/2024"]}, schema, names[:1])


def test_a_later_table_may_lack_every_series(tmp_path: Path) -> None:
    schema = Examples({"s": [[1.0, 2.0, 3.0, 4.0, 5.0]]}).schema
    (tmp_path / "t.csv").write_text("s,x\n,1\n")
    for later in (Examples.read({"s": [None]}, schema), read_table(tmp_path / "t.csv", schema=schema).examples):
        assert later.schema == schema
        assert later.column("s").missing.tolist() == [True]  # type: ignore[union-attr]


def test_a_frame_is_read_as_the_command_line_reads_its_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "ordered": pd.date_range("2024-03-01", periods=30),
            "note": [f"patient {i} was seen today" for i in range(30)],
            "pulse": [rng.normal(size=8).round(2).tolist() for _ in range(30)],
            "suit": ["clubs", "hearts"] * 15,
        }
    )
    direct = read_frame(frame, folder=tmp_path).examples
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "t.parquet")
    of_file = read_table(tmp_path / "t.parquet").examples
    plain = Examples(frame, kinds={"note": "text"})
    assert direct.schema == of_file.schema == plain.schema
    for name in ("ordered", "suit", "mean(pulse)", "contains(note, 'patient 3')", "weekday(ordered)"):
        for other in (of_file, plain):
            assert np.array_equal(direct.column(name).values, other.column(name).values)


def test_short_strings_and_declared_categories_are_no_text() -> None:
    names = [f"row-{i}" for i in range(40)]
    assert isinstance(Examples({"name": names}).schema["name"], Category)
    notes = [f"this is note {i}" for i in range(40)]
    assert Examples({"note": notes}, kinds={"note": "text"}).schema["note"] == Text()
    with pytest.raises(DataError, match=re.escape("has two axes (40, 2); declare it in `kinds` as 'series'")):
        Examples({"pair": np.zeros((40, 2))})
    assert Examples({"pair": np.zeros((40, 2))}, kinds={"pair": "series"}).schema["pair"] == Series((1, 2))


def test_paths_of_images_in_a_frame_are_read_as_those_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for row in range(3):
        image.fromarray(rng.integers(0, 255, (6, 8), dtype=np.uint8)).save(tmp_path / f"{row}.png")
    frame = pd.DataFrame({"scan": ["0.png", "1.png", None, "2.png"], "y": ["a", "b", "a", "b"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match="not all of them are in the current folder"):
        Examples(frame[["scan"]])
    monkeypatch.chdir(tmp_path)
    of_file = read_table("t.csv", target="y").examples.column("scan")
    for column in (
        Examples(frame[["scan"]]).column("scan"),
        Examples.read(frame, {"scan": Tensor((6, 8))}).column("scan"),
    ):
        assert column.kind == of_file.kind == Tensor((6, 8))
        assert np.array_equal(np.asarray(column.values), of_file.values)
        assert np.array_equal(column.missing, of_file.missing)
    assert Examples.read(frame, {"scan": Tensor((1, 3, 4))}).column("scan").values[0].shape == (1, 3, 4)
