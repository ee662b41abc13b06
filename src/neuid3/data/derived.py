"""Derived columns: the weekday of a date, a phrase in a text, the mean of a series; each is named by its expression.

A derived column is a fact, a category or a number like any other. It is computed from the columns that its name mentions,
once for each table, so that every kind of tree can test it and rules can mention it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from neuid3.data import series
from neuid3.data.dates import WEEKDAYS, hours, months, weekdays
from neuid3.data.kinds import Array, Boolean, Category, Column, Date, Kind, Number, Schema, Series, Text
from neuid3.data.series import channels_of, series_of
from neuid3.data.texts import contains_phrase, phrase_score, score_terms, score_text, texts_of, words
from neuid3.errors import did_you_mean
from neuid3.utils.quoting import atom_name, atom_text, quoted

# The most columns of dates between which all differences are candidates, and the most channels of a series.
MAX_DATES, MAX_CHANNELS = 8, 16

# The quantiles of all numbers of a series that are candidates for the level of `share_above`.
LEVELS = (0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Function:
    """A function that derives a column.

    Attributes
    ----------
    source : the kind of its columns.
    columns : the number of its columns.
    result : the kind of the derived column.
    compute : the entries, from columns and further arguments; NaN where a number is not known.
    argument : what follows the columns: "" for nothing, "phrase" or "level"; a channel may precede a level.
    """

    source: type[Kind]
    columns: int
    result: Kind
    compute: Callable[..., Array]
    argument: str = ""

    def example(self, name: str, columns: Sequence[str]) -> str:
        """A call of the function, as errors show it.

        >>> FUNCTIONS["contains"].example("contains", ["note"]), FUNCTIONS["weekday"].example("weekday", ["ordered"])
        ("contains(note, 'a phrase')", 'weekday(ordered, monday)')
        """
        arguments = [atom_text(columns[i % len(columns)]) for i in range(self.columns)]
        arguments += ["'a phrase'"] * (self.argument == "phrase") + ["90"] * (self.argument == "level")
        arguments += [str(self.result.values[0])] if isinstance(self.result, Category) else []
        return f"{name}({', '.join(arguments)})"


def _of_days(function: Callable[[Array], Array]) -> Callable[[Column], Array]:
    def compute(column: Column) -> Array:
        known = np.nan_to_num(np.asarray(column.values, dtype=np.float64))
        return function(known)

    return compute


def _of_series(function: Callable[..., Array]) -> Callable[..., Array]:
    def compute(column: Column, channel: int, *arguments: float) -> Array:
        return function(series_of(column)[:, channel - 1], *arguments)

    return compute


FUNCTIONS: Mapping[str, Function] = {
    "weekday": Function(Date, 1, Category(WEEKDAYS), _of_days(weekdays)),
    "month": Function(Date, 1, Number(), _of_days(months)),
    "hour": Function(Date, 1, Number(), _of_days(hours)),
    "days": Function(Date, 2, Number(), lambda start, end: np.asarray(end.values - start.values, dtype=np.float64)),
    "contains": Function(Text, 1, Boolean(), contains_phrase, "phrase"),
    "score": Function(Text, 1, Number(), phrase_score, "phrase"),
    "words": Function(Text, 1, Number(), lambda column: np.array([len(words(text)) for text in texts_of(column)])),
    "mean": Function(Series, 1, Number(), _of_series(series.mean)),
    "deviation": Function(Series, 1, Number(), _of_series(series.deviation)),
    "lowest": Function(Series, 1, Number(), _of_series(series.lowest)),
    "highest": Function(Series, 1, Number(), _of_series(series.highest)),
    "slope": Function(Series, 1, Number(), _of_series(series.slope)),
    "roughness": Function(Series, 1, Number(), _of_series(series.roughness)),
    "peaks": Function(Series, 1, Number(), _of_series(series.peaks)),
    "share_above": Function(Series, 1, Number(), _of_series(series.share_above), "level"),
}

_CALL = re.compile(rf"\b({'|'.join(FUNCTIONS)})\s*\(")
_COMMENT = re.compile(r"('(?:[^'\\\n]|\\.|'')*')|%[^\n]*")
_ARGUMENT = re.compile(r"\s*('(?:[^'\\]|\\.|'')*'|[^\s,()']+)\s*([,)])")


@dataclass(frozen=True, slots=True)
class Derived:
    """A column that is computed from others.

    Attributes
    ----------
    function : the name of the function.
    columns : the columns that it is computed from.
    phrase : the phrase that a text is searched for, or the weighted phrases of a score.
    channel : the channel of a series, from 1; 0 where the series has one only.
    level : the level that the numbers of a series are compared with.

    >>> Derived("contains", ("note",), phrase="chest pain").name, Derived("slope", ("ecg",), channel=2).name
    ("contains(note, 'chest pain')", 'slope(ecg, 2)')
    """

    function: str
    columns: tuple[str, ...]
    phrase: str | None = None
    channel: int = 0
    level: float | None = None

    @property
    def name(self) -> str:
        """The name of the derived column: its expression."""
        arguments = [*map(atom_text, self.columns)]
        arguments += [quoted(self.phrase)] if self.phrase is not None else []
        arguments += [str(self.channel)] if self.channel else []
        arguments += [repr(self.level).removesuffix(".0")] if self.level is not None else []
        return f"{self.function}({', '.join(arguments)})"

    @property
    def kind(self) -> Kind:
        """The kind of the derived column."""
        return FUNCTIONS[self.function].result

    def compute(self, columns: Mapping[str, Column]) -> Column:
        """The derived column; an entry is missing where one of the columns is.

        Parameters
        ----------
        columns : the columns by name, those that it is computed from among them.

        Returns
        -------
        The column.
        """
        sources = [columns[name] for name in self.columns]
        arguments: list[Any] = [] if self.phrase is None else [self.phrase]
        arguments += [max(self.channel, 1)] if isinstance(sources[0].kind, Series) else []
        arguments += [] if self.level is None else [self.level]
        values = FUNCTIONS[self.function].compute(*sources, *arguments)
        missing = np.zeros(len(values), dtype=bool)
        for source in sources:
            missing |= False if source.missing is None else source.missing
        if isinstance(self.kind, Number):
            values = np.where(missing, np.nan, values.astype(np.float64))
            missing = np.isnan(values)
        return Column(self.kind, values, missing)


def parse_derived(name: str, schema: Schema) -> Derived | None:
    """The derived column of this name, where the columns that it mentions are of the right kinds; otherwise None.

    >>> parse_derived("days(ordered, shipped)", {"ordered": Date(), "shipped": Date()})
    Derived(function='days', columns=('ordered', 'shipped'), phrase=None, channel=0, level=None)
    """
    match = _CALL.match(name)
    arguments = None if match is None else _arguments(name, match.end())
    if match is None or arguments is None or arguments[1] != len(name):
        return None
    return _derived(match[1], arguments[0], schema)


def derived_sources(name: str) -> tuple[str, ...] | None:
    """The columns that a derived column of this name is computed from; None where the name is that of no derived column.

    >>> derived_sources("days(ordered, 'Shipped at')"), derived_sources("age")
    (('ordered', 'Shipped at'), None)
    """
    match = _CALL.match(name)
    read = None if match is None else _arguments(name, match.end())
    if match is None or read is None or read[1] != len(name):
        return None
    return tuple(map(atom_name, read[0][: FUNCTIONS[match[1]].columns]))


def source_kind(name: str, kind: Kind) -> Kind:
    """The kind that a derived column of this name is computed from: this one, or a date or text that it may be read as.

    >>> source_kind("words(note)", Category(("a", "b"))), source_kind("mean(s)", Series((1, 9)))
    (Text(shape=(1024,)), Series(shape=(1, 9)))
    """
    source = FUNCTIONS[name.partition("(")[0].strip()].source
    return kind if isinstance(kind, source) or source not in (Date, Text) else Date() if source is Date else Text()


def column_text(name: str) -> str:
    """The name of a column as tests print it: a derived column as its expression, any other as an atom.

    >>> column_text("month(ordered)"), column_text("petal length (cm)")
    ('month(ordered)', "'petal length (cm)'")
    """
    match = _CALL.match(name)
    arguments = None if match is None else _arguments(name, match.end())
    return name if arguments is not None and arguments[1] == len(name) else atom_text(name)


_SCORE = re.compile(r"\bscore\(('(?:[^'\\]|\\.|'')*'|[^\s,()']+), '((?:[^'\\]|\\.|'')*)'\)")

# The most phrases of a score in the name of a test.
MAX_NAMED = 3


def abridged(text: str) -> str:
    """The name of a test with the first phrases of each score only.

    >>> abridged("score(note, '3*oil + crude - shares - the - of') > 1")
    "score(note, '3*oil + crude - shares …') > 1"
    """
    return _SCORE.sub(_abridged, text)


def _abridged(match: re.Match[str]) -> str:
    weights = score_terms(match[2])
    if len(weights) <= MAX_NAMED + 1:
        return match[0]
    return f"score({match[1]}, '{score_text(dict(list(weights.items())[:MAX_NAMED]))} …')"


def scores_in(texts: Iterable[str]) -> dict[str, str]:
    """The weighted phrases of the scores that are abridged in the names of tests, by their name there."""
    found = [match for text in texts for match in _SCORE.finditer(text)]
    return {_abridged(match): match[2] for match in found if _abridged(match) != match[0]}


def _arguments(text: str, start: int) -> tuple[list[str], int] | None:
    """The arguments of a call, and the position after its closing bracket; None where it is no call of names and numbers."""
    arguments: list[str] = []
    while True:
        match = _ARGUMENT.match(text, start)
        if match is None:
            return None
        arguments.append(match[1])
        start = match.end()
        if match[2] == ")":
            return arguments, start


def _derived(function: str, arguments: Sequence[str], schema: Schema) -> Derived | None:
    given = FUNCTIONS[function]
    names = tuple(map(atom_name, arguments[: given.columns]))
    kinds = [schema.get(name) for name in names]
    if len(names) < given.columns or not all(isinstance(kind, given.source) for kind in kinds):
        return None
    rest = list(arguments[given.columns :])
    channel, level = 0, None
    if given.argument == "phrase":
        return Derived(function, names, phrase=atom_name(rest[0])) if len(rest) == 1 else None
    try:
        if given.argument == "level":
            level = float(rest.pop())
        if rest and isinstance(kinds[0], Series):
            channel = int(rest.pop())
    except (ValueError, IndexError):
        return None
    is_valid = not rest and (not channel or (isinstance(kinds[0], Series) and channel in channels_of(kinds[0])))
    return Derived(function, names, channel=channel, level=level) if is_valid else None


def mentioned(text: str, schema: Schema) -> list[Derived]:
    """The derived columns that rules or tests mention; `weekday(ordered, monday)` mentions `weekday(ordered)`.

    >>> [d.name for d in mentioned("ill :- contains(note, 'chest pain'), mean(x) > 1.", {"note": Text()})]
    ["contains(note, 'chest pain')"]
    """
    found: dict[Derived, None] = {}
    for match in _CALL.finditer(text):
        read = _arguments(text, match.end())
        if read is not None:
            arguments = read[0]
            is_category = isinstance(FUNCTIONS[match[1]].result, Category)
            derived = _derived(match[1], arguments[: FUNCTIONS[match[1]].columns] if is_category else arguments, schema)
            found |= {} if derived is None else {derived: None}
    return [derived for derived in found if derived.name not in schema]


def implied_columns(text: str) -> dict[str, Kind]:
    """The columns that the derived columns in rules are computed from, by name, where there is no table.

    >>> implied_columns("ill :- contains(note, 'chest pain'), mean(pulse) > 1. % days(a, b)")
    {'note': Text(shape=(1024,)), 'pulse': Series(shape=(1, 1))}
    """
    kinds: dict[type[Kind], Kind] = {Date: Date(), Text: Text(), Series: Series((1, 1))}
    columns: dict[str, Kind] = {}
    for match in _CALL.finditer(_COMMENT.sub(lambda found: found[1] or "", text)):
        function, read = FUNCTIONS[match[1]], _arguments(match.string, match.end())
        names = [] if read is None else read[0][: function.columns]
        if len(names) == function.columns and not any(name[0].isupper() or name[0] == "_" for name in names):
            schema: dict[str, Kind] = {atom_name(name): kinds[function.source] for name in names}
            columns |= schema if mentioned(match.string[match.start() :], schema) else {}
    return columns


def with_mentioned(text: str, schema: Schema) -> dict[str, Kind]:
    """The schema with the derived columns that rules mention."""
    return {**schema, **{derived.name: derived.kind for derived in mentioned(text, schema)}}


def source_columns(names: Iterable[str], schema: Schema) -> list[str]:
    """The columns of a table that these columns are read or computed from.

    >>> source_columns(["month(ordered)", "price"], {"ordered": Date(), "price": Number(), "month(ordered)": Number()})
    ['ordered', 'price']
    """
    sources: dict[str, None] = {}
    for name in names:
        derived = parse_derived(name, schema)
        sources |= dict.fromkeys((name,) if derived is None else derived.columns)
    return list(sources)


def describes_series(name: str, schema: Schema) -> bool:
    """Whether a column is derived from a series.

    >>> describes_series("mean(pulse)", {"pulse": Series((1, 9))}), describes_series("age", {"age": Number()})
    (True, False)
    """
    derived = parse_derived(name, schema)
    return derived is not None and FUNCTIONS[derived.function].source is Series


def table_columns(schema: Schema) -> dict[str, Kind]:
    """The schema without derived columns."""
    return {name: kind for name, kind in schema.items() if parse_derived(name, schema) is None}


def without_unused(schema: Schema, used: Iterable[str]) -> dict[str, Kind]:
    """The schema without derived columns that are not used."""
    kept = set(used)
    return {name: kind for name, kind in schema.items() if name in kept or parse_derived(name, schema) is None}


def derivable(columns: Mapping[str, Column]) -> Iterator[Derived]:
    """The derived columns of dates and series that every table has; phrases are chosen by what they tell of the target.

    Parameters
    ----------
    columns : the columns of the training rows, by name.
    """
    dates = [name for name, column in columns.items() if isinstance(column.kind, Date)]
    for name in dates:
        days = np.asarray(columns[name].values, dtype=np.float64)
        has_times = bool((days[~np.isnan(days)] % 1.0 != 0.0).any())
        yield from (Derived(function, (name,)) for function in ("weekday", "month", *(("hour",) if has_times else ())))
    if len(dates) <= MAX_DATES:
        yield from (Derived("days", pair) for pair in combinations(dates, 2))
    for name, column in columns.items():
        if isinstance(column.kind, Text):
            yield Derived("words", (name,))
        elif isinstance(column.kind, Series):
            yield from _of_series_column(name, column)


def _of_series_column(name: str, column: Column) -> Iterator[Derived]:
    assert isinstance(column.kind, Series)
    numbers = series_of(column)
    plain = [f for f, function in FUNCTIONS.items() if function.source is Series and not function.argument]
    for channel in list(channels_of(column.kind))[:MAX_CHANNELS]:
        number = channel if column.kind.shape[0] > 1 else 0
        yield from (Derived(function, (name,), channel=number) for function in plain)
        levels = np.nanquantile(numbers[:, channel - 1], LEVELS)
        for level in dict.fromkeys(float(f"{level:.3g}") for level in levels.tolist()):
            yield Derived("share_above", (name,), channel=number, level=level)


def derived_hint(name: str, schema: Schema) -> str:
    """What an error says of a name that is no column: the missing column of a derived one, or a similar name."""
    match = _CALL.match(name)
    arguments = None if match is None else _arguments(name, match.end())
    if match is not None and arguments is not None:
        sources = map(atom_name, arguments[0][: FUNCTIONS[match[1]].columns])
        absent = [source for source in sources if source not in schema]
        if absent:
            return f" It is computed from {absent[0]!r}.{did_you_mean(absent[0], schema)}"
    return did_you_mean(name, schema)
