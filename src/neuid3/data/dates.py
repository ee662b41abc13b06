"""Dates and times as numbers of days since 1970-01-01, and the text forms that they are read from."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SECONDS_A_DAY = 86_400
_MICROSECONDS_A_DAY = SECONDS_A_DAY * 1_000_000
_EPOCH = datetime(1970, 1, 1)

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")  # fmt: skip
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_TIME = (
    r"(?:(?:\s*,)?[T\s]\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"\s*(?P<half>[ap]m)?\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?)?"
)
_ISO = re.compile(r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})" + _TIME, re.IGNORECASE)
_NUMERIC = re.compile(
    r"(?P<first>\d{1,2})(?P<mark>[-/.])(?P<second_part>\d{1,2})(?P=mark)(?P<year>\d{4})" + _TIME, re.IGNORECASE
)
_NAMED_DAY = re.compile(
    r"(?P<day>\d{1,2})\.?[-\s](?P<name>[a-z]{3,9})\.?[-,\s]\s*(?P<year>\d{4})" + _TIME, re.IGNORECASE
)
_NAMED_MONTH = re.compile(r"(?P<name>[a-z]{3,9})\.?\s(?P<day>\d{1,2}),?\s(?P<year>\d{4})" + _TIME, re.IGNORECASE)


def parse_dates(texts: Collection[str], day_first: bool | None = None) -> Floats | None:
    """Texts of one column as days since 1970-01-01; None where one of them is no date, or the order of day and month is open.

    Read are `2024-03-01`, `2024/3/1`, `1.3.2024`, `1 March 2024`, `Mar 1, 2024`, and `01/03/2024` where another entry of
    the column has a number above 12 that tells day and month apart; with a time of day, `2024-03-01 14:30:00`,
    `2024-03-01T14:30Z`, and a zone. Times with a zone are converted to UTC.

    Parameters
    ----------
    texts : the texts.
    day_first : whether the day stands before the month in `01/03/2024`, where no text tells; None where it is not known.

    >>> parse_dates(["2024-03-01", "1970-01-02 12:00"]).tolist()
    [19783.0, 1.5]
    >>> parse_dates(["01/03/2024", "31/03/2024"]).tolist(), parse_dates(["01/03/2024"])
    ([19783.0, 19813.0], None)
    """
    if not texts:
        return None
    found = []
    for text in texts:
        match = _match(text.strip())
        if match is None:
            return None
        found.append(match)
    stated = _day_first(found)
    order = day_first if stated is None else stated
    if order is None:
        return None
    days = [_days(match, order) for match in found]
    return None if None in days else np.array(days, dtype=np.float64)


def day_stands_first(texts: Collection[str], otherwise: bool | None = None) -> bool | None:
    """Whether the day stands before the month in dates such as `01/03/2024`.

    Parameters
    ----------
    texts : the texts.
    otherwise : the answer where no text tells.

    >>> day_stands_first(["01/03/2024", "31/03/2024"]), day_stands_first(["03/31/2024"]), day_stands_first(["2024-03-01"])
    (True, False, None)
    """
    matches = [match for text in texts if (match := _match(text.strip())) is not None]
    open_order = [match for match in matches if "first" in match and match["mark"] != "."]
    stated = _day_first(open_order) if open_order else None
    return otherwise if stated is None else stated


def _match(text: str) -> Mapping[str, str | None] | None:
    for pattern in (_ISO, _NUMERIC, _NAMED_DAY, _NAMED_MONTH):
        match = pattern.fullmatch(text)
        if match is not None:
            return match.groupdict()
    return None


def _day_first(matches: Collection[Mapping[str, Any]]) -> bool | None:
    """Whether the day stands before the month in `01/03/2024`; None where nothing tells."""
    open_order = [match for match in matches if "first" in match]
    if not open_order or any(match["mark"] == "." for match in open_order):
        return True
    if any(int(match["first"]) > 12 for match in open_order):
        return True
    return False if any(int(match["second_part"]) > 12 for match in open_order) else None


def _days(match: Mapping[str, Any], day_first: bool) -> float | None:
    if "first" in match:
        one, other = int(match["first"]), int(match["second_part"])
        day, month = (one, other) if day_first else (other, one)
    elif "name" in match:
        prefix = match["name"].lower()
        named = [number for number, name in enumerate(MONTHS, 1) if name.startswith(prefix)]
        named = [9] if prefix == "sept" else named
        if len(named) != 1:
            return None
        day, month = int(match["day"]), named[0]
    else:
        day, month = int(match["day"]), int(match["month"])
    try:
        moment = datetime(int(match["year"]), month, day) + _time_of_day(match)
        return (moment - _zone(match["zone"]) - _EPOCH) / timedelta(days=1)
    except (ValueError, OverflowError):
        return None


def _time_of_day(match: Mapping[str, Any]) -> timedelta:
    if match["hour"] is None:
        return timedelta()
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    if match["half"]:
        if not 1 <= hour <= 12:
            raise ValueError("no hour of a clock with twelve hours")
        hour = hour % 12 + (12 if match["half"].lower() == "pm" else 0)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("no time of day")
    microseconds = round(float(f"0.{match['fraction'] or 0}") * 1e6)
    return timedelta(hours=hour, minutes=minute, seconds=second, microseconds=microseconds)


def _zone(text: str | None) -> timedelta:
    if text is None or text.upper() in ("Z", "UTC", "GMT"):
        return timedelta()
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    return -offset if text[0] == "-" else offset


def as_datetimes(entries: npt.NDArray[Any], absent: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Dates and times of Python, pandas or NumPy as times of NumPy; a time with a zone in UTC."""
    times = np.full(len(entries), np.datetime64("NaT"), dtype="datetime64[us]")
    for row in np.flatnonzero(~absent).tolist():
        moment = entries[row]
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        times[row] = np.datetime64(moment)
    return times


def days_of_datetimes(values: npt.NDArray[Any]) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Times of NumPy, or durations, as days, and where there are none (NaT)."""
    absent = np.isnat(values)
    unit = "datetime64[us]" if values.dtype.kind == "M" else "timedelta64[us]"
    ticks = np.where(absent, np.zeros(1, values.dtype), values).astype(unit).astype(np.int64)
    whole, rest = np.divmod(ticks, _MICROSECONDS_A_DAY)
    return np.where(absent, np.nan, whole + rest / _MICROSECONDS_A_DAY), absent


def date_text(days: float) -> str:
    """Days since 1970-01-01 as a date, with the time of day where it is not midnight; a number outside of the calendar as it is.

    >>> date_text(19783.0), date_text(19783.604166666668), date_text(-1e9)
    ('2024-03-01', '2024-03-01 14:30', '-1000000000.0')
    """
    try:
        moment = _EPOCH + timedelta(microseconds=round(days * _MICROSECONDS_A_DAY))
    except (OverflowError, ValueError):
        return repr(float(days))
    if moment.time() == _EPOCH.time():
        return moment.date().isoformat()
    precision = "microseconds" if moment.microsecond else "seconds" if moment.second else "minutes"
    return moment.isoformat(" ", precision)


def date_cut(low: float, high: float) -> float:
    """The time in `[low, high)` of the coarsest unit, a day, an hour, a minute or a second, that is nearest to the midpoint.

    >>> date_cut(19782.0, 19785.0), date_text(date_cut(19783.1, 19783.9)), date_cut(1.0, 2.0)
    (19783.0, '2024-03-01 12:00', 1.0)
    """
    middle = low + (high - low) / 2
    for parts in (1, 24, 1440, SECONDS_A_DAY):
        for near in (middle, low, high):
            for whole in (math.floor(near * parts), math.ceil(near * parts)):
                if low <= whole / parts < high:
                    return whole / parts
    return middle if low <= middle < high else low


def weekdays(days: Floats) -> npt.NDArray[np.int64]:
    """The weekday of each date, 0 for Monday."""
    weekday: npt.NDArray[np.int64] = (np.floor(days).astype(np.int64) + 3) % 7
    return weekday


def months(days: Floats) -> npt.NDArray[np.int64]:
    """The month of each date, 1 to 12."""
    month: npt.NDArray[np.int64] = (
        np.floor(days).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12 + 1
    )
    return month


def hours(days: Floats) -> npt.NDArray[np.int64]:
    """The hour of each time, 0 to 23; half a microsecond is rounded, since days are binary fractions."""
    microseconds = np.round((days - np.floor(days)) * _MICROSECONDS_A_DAY)
    hour: npt.NDArray[np.int64] = (microseconds // 3_600_000_000).astype(np.int64) % 24
    return hour
