"""Tables of parts and relations, joined to examples by keys."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from neuid3.data.columns import Column, is_missing, read_column
from neuid3.data.examples import Examples, has_names, named_columns
from neuid3.data.parts import (
    GroupedRows,
    Indices,
    Parts,
    RelatedRows,
    Relation,
    as_kind_columns,
    group_by_owner,
    structure_of,
)
from neuid3.errors import DataError, did_you_mean


def with_parts(
    data: Any, kinds: Mapping[str, Any], parts: Mapping[str, tuple[Any, str]], relations: Mapping[str, Any]
) -> Examples:
    """Examples with the parts that they own and the relations between these; see `Examples`.

    Parameters
    ----------
    data : the table of examples.
    kinds : the kinds of columns; `kinds={"car": {"wheels": "category"}}` declares those of a table of parts or tuples.
    parts : for each type a table and the column that holds the key of the owner.
    relations : for each relation a table, or a table and the type of part that each column with keys names.

    Returns
    -------
    The examples, with a column for each type of part and each relation.

    Raises
    ------
    DataError
        Where a key names no owner or two of them, ownership is circular, or a tuple joins parts of different examples.
    """
    return _Joined(data, kinds, parts, relations).examples()


class _Joined:
    """Tables that are joined by keys."""

    def __init__(
        self, data: Any, kinds: Mapping[str, Any], parts: Mapping[str, Any], relations: Mapping[str, Any]
    ) -> None:
        _check_mapping("parts", parts, "{'car': (cars, 'train')}")
        _check_mapping("relations", relations, "{'contact': contacts}")
        self.kinds, self.relations = kinds, relations
        if not has_names(data):
            raise DataError("Parts need a table of examples with named columns; give a mapping or a DataFrame.")
        self.columns = _columns(data, "the table of examples")
        self.tables: dict[str, dict[str, Any]] = {}
        self.references: dict[str, str] = {}
        for name, table in parts.items():
            if not (isinstance(table, (tuple, list)) and len(table) == 2 and isinstance(table[1], str)):
                raise DataError(
                    f"The parts {name!r} are no pair of a table and a column; write parts={{{name!r}: (table, 'owner')}}."
                )
            self.tables[name], self.references[name] = _columns(table[0], f"the parts {name!r}"), table[1]
            if table[1] not in self.tables[name]:
                raise DataError(
                    f"The parts {name!r} have no column {table[1]!r} that names their owners."
                    f"{did_you_mean(table[1], self.tables[name])}"
                )
        _check_names([*self.columns, *parts, *relations])
        self._check_cycles()
        self.keys: dict[str, dict[Any, int]] = {}  # numbers of parts by key

    def owner_type(self, name: str) -> str | None:
        """The type whose parts own those of this type; None for examples."""
        reference = self.references[name]
        return reference if reference in self.tables else None

    def _check_cycles(self) -> None:
        for name in self.tables:
            seen, current = [name], self.owner_type(name)
            while current is not None:
                seen.append(current)
                if current == name or len(seen) > len(self.tables) + 1:
                    raise DataError(
                        f"Ownership is circular: {' is owned by '.join(seen)}; let one of these name an example as its owner."
                    )
                current = self.owner_type(current)

    def _check_kinds(self, plain: Mapping[str, Any]) -> None:
        for name in self.kinds:
            if name not in (known := [*plain, *self.tables, *self.relations]):
                raise DataError(
                    f"`kinds` declares {name!r}, which is neither a column to learn from nor a type of part or a relation."
                    f"{did_you_mean(str(name), known)}"
                )

    def examples(self) -> Examples:
        owned = [name for name in self.tables if self.owner_type(name) is None]
        own_keys = {self.references[name] for name in owned} & set(self.columns)
        plain = {name: values for name, values in self.columns.items() if name not in own_keys}
        self._check_kinds(plain)
        declared = {name: kind for name, kind in self.kinds.items() if name not in (*self.tables, *self.relations)}
        length = len(next(iter(self.columns.values())))
        columns = dict(Examples(plain, declared).items()) if plain else {}
        for name in owned:
            reference = self.references[name]
            given = self.columns.get(reference)
            keys = None if given is None else _keys(given, reference, "the table of examples")
            columns[name] = self._parts(name, keys, "the table of examples", length)
        examples = Examples._of(columns, length)
        structure = structure_of(examples)
        for name, given in self.relations.items():
            columns[name] = self._relation(name, given, structure.parts, length)
        return Examples._of(columns, length)

    def _parts(self, name: str, keys: list[Any] | None, owner: str, owners: int) -> Column:
        """The column of a type of part; `keys` are those of its owners, in their order."""
        table, reference = self.tables[name], self.references[name]
        what = f"the parts {name!r}"
        numbers = _numbers(_keys(table[reference], reference, what), keys, what, reference, owner, owners)
        order, offsets = group_by_owner(numbers, owners)
        inner = [other for other in self.tables if self.owner_type(other) == name]
        own_key = name if name in table else None
        key_column = _keys(table[own_key], own_key, what) if own_key else list(range(len(numbers)))
        ordered = [key_column[row] for row in order.tolist()]
        rows_of_keys, places = _numbered(key_column, what, own_key or "row"), np.argsort(order)
        self.keys[name] = {key: int(places[row]) for key, row in rows_of_keys.items()}
        plain = {c: values for c, values in table.items() if c not in (reference, own_key)}
        own = dict(self._read(name, plain)[order].items()) if plain else {}
        for other in inner:
            own[other] = self._parts(other, ordered, f"the parts {name!r}", len(numbers))
        rows = Examples._of(own, len(numbers)) if own else None
        return Column(Parts(as_kind_columns(rows)), cast("Any", GroupedRows(offsets, rows)))

    def _read(self, name: str, columns: Mapping[str, Any]) -> Examples:
        """The columns of a table of parts or tuples, of which there may be none."""
        declared = self.kinds.get(name) or {}
        if not isinstance(declared, Mapping):
            raise DataError(
                f"kinds[{name!r}] is {declared!r}; declare the columns of {name!r}: {{{name!r}: {{'column': kind}}}}."
            )
        try:
            if any(len(values) for values in columns.values()):
                return Examples(columns, declared)
            kept = {column: values for column, values in columns.items() if declared.get(column) != "ignore"}
            return Examples._of({c: read_column(c, values, declared.get(c)) for c, values in kept.items()}, 0)
        except DataError as error:
            raise DataError(f"{name!r}: {error}") from None

    def _relation(self, name: str, given: Any, parts: Mapping[str, Any], size: int) -> Column:
        table = _columns(given[0] if isinstance(given, tuple) else given, f"the relation {name!r}")
        if not self.tables:
            raise DataError(f"The relation {name!r} joins parts, and none are given; give them as parts={{…}}.")
        types = _argument_types(given, self.tables)
        for column, kind in types.items():
            if column not in table:
                raise DataError(
                    f"The relation {name!r} has no column {column!r} with keys of parts.{did_you_mean(column, table)}"
                )
            if kind not in self.tables:
                raise DataError(
                    f"The relation {name!r} names parts {kind!r}, which are not given.{did_you_mean(kind, self.tables)}"
                )
        if not types:
            raise DataError(
                f"The relation {name!r} has the columns {', '.join(table)}, none of which is called as a type of part; name "
                f"them {', '.join(f'{kind}_1' for kind in list(self.tables)[:2])}, …, or give "
                f"({name}, {{'column': 'part type'}})."
            )
        found = {}
        for column, kind in types.items():
            keys = _keys(table[column], column, f"the relation {name!r}")
            by_row = (
                ""
                if kind in self.tables[kind]
                else f" Without a column {kind!r} there, keys are the numbers of rows, from 0."
            )
            what, owner = f"the relation {name!r}", f"the parts {kind!r}"
            found[column] = _looked_up(keys, self.keys[kind], what, column, owner, by_row)
        examples = np.stack([parts[kind].example[found[column]] for column, kind in types.items()], axis=1)
        apart = np.flatnonzero((examples != examples[:, :1]).any(axis=1))
        if apart.size:
            raise DataError(
                f"The relation {name!r} joins parts of different examples in row {apart[0]} "
                f"({', '.join(str(np.asarray(table[c], dtype=object)[apart[0]]) for c in types)}); tuples stay within an example."
            )
        order, offsets = group_by_owner(examples[:, 0], size)
        local = [found[c] - parts[kind].offsets[:-1][examples[:, 0]] for c, kind in types.items()]
        plain = {c: values for c, values in table.items() if c not in types}
        rows = self._read(name, plain)[order] if plain else None
        related = RelatedRows(offsets, rows, np.stack(local, axis=1)[order])
        return Column(Relation(tuple(types.values()), as_kind_columns(rows)), cast("Any", related))


def _check_mapping(parameter: str, given: Any, example: str) -> None:
    if not isinstance(given, Mapping):
        raise DataError(
            f"`{parameter}` is of type {type(given).__name__}; give a mapping such as {parameter}={example}."
        )


def _columns(table: Any, what: str) -> dict[str, Any]:
    """The columns of a table by name, of equal lengths."""
    if isinstance(table, Examples):
        return dict(table.items())
    if not has_names(table):
        raise DataError(f"The table of {what} has no column names; give a mapping of columns or a DataFrame.")
    try:
        columns = named_columns(table)
    except DataError as error:
        raise DataError(f"{what[0].upper()}{what[1:]}: {error}") from None
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"The columns of {what} have different lengths: {lengths}; give one entry for each row.")
    return columns


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{name!r} names two columns, types of parts or relations; rename one of them.")


def _argument_types(given: Any, tables: Mapping[str, Any]) -> dict[str, str]:
    """The type of part that each column with keys names; columns are called as a type, maybe with a number."""
    if isinstance(given, tuple):
        return {str(column): str(kind) for column, kind in dict(given[1]).items()}
    types = {}
    for column in _columns(given, "a relation"):
        kind = re.sub(r"_?\d+$", "", column)
        if column in tables or kind in tables:
            types[column] = column if column in tables else kind
    return types


def _keys(values: Any, name: str, what: str) -> list[Any]:
    """The keys in a column of a table, as strings and whole numbers."""
    if isinstance(values, Column):
        kind: Any = values.kind
        entries = [kind.domain[code] for code in values.values] if hasattr(kind, "domain") else values.values.tolist()
        missing = np.zeros(len(values), dtype=bool) if values.missing is None else values.missing
    else:
        entries = values.tolist() if hasattr(values, "tolist") else list(values)
        missing = np.array([is_missing(entry) for entry in entries], dtype=bool)
    if missing.any():
        raise DataError(f"Row {int(missing.argmax())} of {what} is empty in column {name!r}; give a key in every row.")
    if not all(issubclass(kind, Hashable) for kind in set(map(type, entries))):
        row, entry = next((row, entry) for row, entry in enumerate(entries) if not isinstance(entry, Hashable))
        raise DataError(
            f"Row {row} of {what} has the key {entry!r:.60} in column {name!r}, a {type(entry).__name__}; keys are strings, "
            "numbers or dates."
        )
    return [int(entry) if isinstance(entry, float) and entry.is_integer() else entry for entry in entries]


def _numbered(keys: Sequence[Any], what: str, column: str) -> dict[Any, int]:
    """The position of each key."""
    numbers: dict[Any, int] = {}
    for number, key in enumerate(keys):
        if key in numbers:
            raise DataError(
                f"{key!r} is the key of two rows in column {column!r} of {what}, {numbers[key]} and {number}; give each row a key "
                "of its own."
            )
        numbers[key] = number
    return numbers


def _numbers(
    references: Sequence[Any], keys: list[Any] | None, what: str, column: str, owner: str, owners: int
) -> Indices:
    """The number of the owner that each row names; without keys, owners are named by their row."""
    if keys is None:
        by_row = f" Without a column {column!r} there, keys are the numbers of rows, from 0."
        return _looked_up(references, {number: number for number in range(owners)}, what, column, owner, by_row)
    return _looked_up(references, _numbered(keys, f"the table that owns {what}", column), what, column, owner)


def _looked_up(
    keys: Sequence[Any], numbers: Mapping[Any, int], what: str, column: str, owner: str, hint: str = ""
) -> Indices:
    found = np.fromiter((numbers.get(key, -1) for key in keys), dtype=np.int64, count=len(keys))
    orphans = np.flatnonzero(found < 0)
    if orphans.size:
        key = keys[int(orphans[0])]
        known = list(numbers)[:1000]
        same = next((other for other in known if str(other) == str(key)), None)
        if same is not None:
            hint = f" Its keys are of type {type(same).__name__}, and this is of type {type(key).__name__}; give both the same type."
        elif not hint:
            hint = did_you_mean(str(key), map(str, known))
        raise DataError(
            f"Row {orphans[0]} of {what} names {key!r} in column {column!r}, which is the key of no row of {owner}.{hint}"
        )
    return found
