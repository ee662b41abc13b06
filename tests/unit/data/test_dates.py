"""Dates: text forms, dtypes, days since 1970-01-01, and columns derived from them."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuid3 import Date, Examples, Number
from neuid3.data.dates import date_cut, date_text, hours, months, parse_dates, weekdays
from neuid3.data.derived import column_text, mentioned, parse_derived, source_columns
from neuid3.data.reading.table import read_frame, read_table
from neuid3.errors import DataError
from neuid3.io.serialize import schema_from_json, schema_to_json

EPOCH = datetime(1970, 1, 1)
MOMENTS = st.datetimes(datetime(1600, 1, 1), datetime(2400, 1, 1)).map(lambda t: t.replace(microsecond=0))


def days(moment: datetime) -> float:
    return (moment - EPOCH) / timedelta(days=1)


@given(MOMENTS)
def test_usual_forms_of_a_moment_are_the_same_number_of_days(moment: datetime) -> None:
    form = "%Y-%m-%d %H:%M:%S"
    texts = [
        moment.strftime(form),
        moment.isoformat(),
        moment.isoformat() + "Z",
        (moment + timedelta(hours=5, minutes=30)).isoformat() + "+05:30",
        (moment - timedelta(hours=8)).isoformat() + "-0800",
        f"{moment.day}.{moment.month}.{moment.year:04} {moment:%H:%M:%S}",
        f"{moment.day} {moment:%b} {moment.year:04} {moment:%H:%M:%S}",
        f"{moment:%B} {moment.day}, {moment.year:04} {moment:%I:%M:%S} {'pm' if moment.hour >= 12 else 'am'}",
    ]
    read = parse_dates(texts)
    assert read is not None
    assert read.tolist() == pytest.approx([days(moment)] * len(texts), abs=1e-9)


@given(MOMENTS)
def test_a_date_is_printed_so_that_it_reads_back(moment: datetime) -> None:
    read = parse_dates([date_text(days(moment))])
    assert read is not None
    assert float(read[0]) == pytest.approx(days(moment), abs=1e-9)


@given(st.lists(MOMENTS, min_size=1))
def test_weekday_month_and_hour_are_those_of_the_calendar(moments: list[datetime]) -> None:
    numbers = np.array([days(moment) for moment in moments])
    assert weekdays(numbers).tolist() == [moment.weekday() for moment in moments]
    assert months(numbers).tolist() == [moment.month for moment in moments]
    assert hours(numbers).tolist() == [moment.hour for moment in moments]


@given(MOMENTS, st.integers(1, 10**7))
def test_a_cut_lies_between_two_times_and_is_a_whole_day_where_one_does(moment: datetime, seconds: int) -> None:
    low, high = days(moment), days(moment + timedelta(seconds=seconds))
    cut = date_cut(low, high)
    assert low <= cut < high
    assert cut == round(cut) or np.ceil(low) >= high


def test_day_and_month_need_an_entry_that_tells_them_apart() -> None:
    assert parse_dates(["03/04/2024", "05/06/2024"]) is None
    assert parse_dates(["03/04/2024", "25/06/2024"]) == pytest.approx(parse_dates(["2024-04-03", "2024-06-25"]))
    assert parse_dates(["03/04/2024", "06/25/2024"]) == pytest.approx(parse_dates(["2024-03-04", "2024-06-25"]))
    assert parse_dates(["13/13/2024"]) is None


@pytest.mark.parametrize(
    "text", ["", "2024", "20240301", "2024-13-01", "2024-02-30", "12:30", "yesterday", "2024-03-01 25:00"]
)
def test_other_text_is_no_date(text: str) -> None:
    assert parse_dates([text]) is None


@pytest.mark.parametrize(
    "values",
    [
        ["2024-03-01", None],
        [date(2024, 3, 1), None],
        [datetime(2024, 3, 1, 2, tzinfo=timezone(timedelta(hours=2))), float("nan")],
        pd.Series(pd.to_datetime(["2024-03-01", None])),
        pd.Series(pd.to_datetime(["2024-03-01 00:00+00:00", None])),
        np.array(["2024-03-01", "NaT"], dtype="datetime64[D]"),
        pd.Series(["2024-03-01", None], dtype="string"),
    ],
)
def test_every_type_of_date_is_a_date_column_with_its_missing_entry(values: Any) -> None:
    column = Examples({"ordered": values}).column("ordered")
    assert column.kind == Date()
    assert column.values[0] == 19783.0
    assert column.missing is not None
    assert column.missing.tolist() == [False, True]


def test_durations_are_numbers_of_days() -> None:
    column = Examples({"stay": pd.Series(pd.to_timedelta(["36h", None]))}).column("stay")
    assert column.kind == Number()
    assert column.values[0] == 1.5


def test_strings_that_are_declared_a_category_stay_one_also_in_later_tables() -> None:
    examples = Examples({"ordered": ["2024-03-01", "2024-03-02"]}, kinds={"ordered": "category"})
    later = Examples.read({"ordered": ["2024-03-02"]}, examples.schema)
    assert later.column("ordered").values.tolist() == [1]


def test_a_declared_date_that_is_none_is_named() -> None:
    with pytest.raises(DataError, match=r"Column 'ordered' has 'soon', which is no date"):
        Examples({"ordered": ["2024-03-01", "soon"]}, kinds={"ordered": "date"})
    with pytest.raises(DataError, match=r"Column 'ordered' is a number; a date is needed"):
        Examples.read({"ordered": [3.5]}, {"ordered": Date()})


def test_later_tables_are_read_in_the_order_of_day_and_month_of_the_first_one(tmp_path: Any) -> None:
    for second, first_of_march in (("25/03/2024", 19783.0), ("03/25/2024", 19725.0)):
        (tmp_path / "orders.csv").write_text(f"ordered\n01/03/2024\n{second}\n")
        schema = schema_from_json(schema_to_json(read_table(tmp_path / "orders.csv").examples.schema))
        frame = pd.DataFrame({"ordered": ["01/03/2024"]})
        (tmp_path / "later.csv").write_text("ordered\n01/03/2024\n")
        later = [
            read_table(tmp_path / "later.csv", schema=schema).examples,
            Examples.read(frame, schema),
            Examples.read(Examples(frame), schema),
        ]
        assert [examples.column("ordered").values.tolist() for examples in later] == [[first_of_march]] * 3
        told = Examples.read({"ordered": ["01/03/2024", "31/03/2024"]}, schema)  # a table that tells is read as it says
        assert told.column("ordered").values.tolist() == [19783.0, 19813.0]
        with pytest.raises(DataError, match="has 'soon', which is no date"):
            Examples.read(Examples({"ordered": ["01/03/2024", "soon"]}), schema)


def test_a_derived_column_is_computed_from_a_table_that_lacks_it() -> None:
    schema = {"ordered": Date(), "shipped": Date(), "days(ordered, shipped)": Number()}
    table = {"ordered": ["2024-03-01", None], "shipped": ["2024-03-15", "2024-03-15"]}
    read = Examples.read(table, schema, ["days(ordered, shipped)"])
    assert read.names == ("days(ordered, shipped)",)
    assert read.column("days(ordered, shipped)").values[0] == 14.0
    assert read.column("days(ordered, shipped)").missing.tolist() == [False, True]  # type: ignore[union-attr]
    with pytest.raises(DataError, match="It is computed from 'shipped'"):
        Examples.read({"ordered": ["2024-03-01"]}, schema, ["days(ordered, shipped)"])


def test_names_of_derived_columns_are_read_with_quotes_and_only_for_the_right_kinds() -> None:
    schema = {"Order date": Date(), "price": Number()}
    derived = parse_derived("month('Order date')", schema)
    assert derived is not None
    assert derived.columns == ("Order date",)
    assert derived.name == "month('Order date')"
    assert parse_derived("month(price)", schema) is None
    assert parse_derived("month('Order date', 3)", schema) is None
    assert source_columns(["month('Order date')", "price"], schema) == ["Order date", "price"]
    assert [d.name for d in mentioned("late :- weekday('Order date', sunday).", schema)] == ["weekday('Order date')"]
    assert column_text("height (cm)") == "'height (cm)'"


def test_a_table_file_is_read_with_its_dates(tmp_path: Any) -> None:
    path = tmp_path / "orders.csv"
    path.write_text("ordered,shipped,late\n01/03/2024,2024-03-02T10:00,no\n25/03/2024,,yes\n")
    table = read_table(path, target="late")
    assert table.examples.schema == {"ordered": Date(), "shipped": Date()}
    assert table.examples.column("ordered").values.tolist() == [19783.0, 19807.0]
    assert "from 2024-03-01 to 2024-03-25" in str(table)
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"ordered": pd.to_datetime(["2024-03-01", None]), "late": ["no", "yes"]})
    frame["day"] = pd.Series([date(2024, 3, 1), date(2024, 3, 2)])
    frame["stay"] = pd.to_timedelta(["36h", "6h"])
    frame.to_parquet(tmp_path / "orders.parquet")
    arrays = {name: frame[name].to_numpy() for name in frame}  # times of nanoseconds
    for stored in (
        read_table(tmp_path / "orders.parquet", target="late").examples,
        read_frame(frame, folder=tmp_path, target="late").examples,
        read_frame(arrays, folder=tmp_path, target="late").examples,
    ):
        assert stored.schema == {"ordered": Date(), "day": Date(), "stay": Number()}
        assert stored.column("ordered").values[0] == 19783.0
        assert stored.column("stay").values.tolist() == [1.5, 0.25]
