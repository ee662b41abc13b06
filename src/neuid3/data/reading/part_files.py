"""Files of parts and relations that belong to a table of examples, joined to it by keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from neuid3.data.columns import Column, Kind
from neuid3.data.examples import Examples
from neuid3.data.parts import Parts, Relation
from neuid3.data.reading.sheet import AttachedTables, TextTable, open_text_table
from neuid3.errors import DataError, did_you_mean

# The columns of a table of parts or tuples, given with its name; without the columns that hold keys.
ColumnReader = Callable[[str, TextTable], Mapping[str, Column]]

# The kinds of the columns of such a table.
KindReader = Callable[[str, TextTable], Mapping[str, Kind]]


def with_part_files(table: TextTable, parts: Sequence[str], relations: Sequence[str] = ()) -> TextTable:
    """A table with the files of the parts that its rows own, and of relations between these; keys are checked.

    Parameters
    ----------
    table : the table of examples.
    parts : entries `NAME=FILE:COLUMN`: a type of part, its file, and the column of it that names the owner.
    relations : entries `NAME=FILE`; columns called as a type of part, maybe with a number, hold keys of parts.

    Returns
    -------
    The table with these files.

    Raises
    ------
    DataError : where an entry is incomplete, ownership is circular, or a key is missing, given twice, or names no owner.
    """
    if not parts and not relations:
        return table
    attached = AttachedTables(
        {name: (open_text_table(path, may_be_empty=True), column) for name, path, column in map(_part_entry, parts)},
        {name: open_text_table(path, may_be_empty=True) for name, path in map(_relation_entry, relations)},
    )
    for name, (of_parts, column) in attached.parts.items():
        if of_parts.columns.get(column) is None:
            raise DataError(
                f"{of_parts.path} has no column {column!r} that names the owners of the parts {name!r}."
                f"{did_you_mean(column, of_parts.columns)}"
            )
    owned = [column for name, (_, column) in attached.parts.items() if _owner(name, attached) is None]
    keyed = _with_row_keys(table, owned)
    numbered = {name: (_with_row_keys(of, [name]), column) for name, (of, column) in attached.parts.items()}
    attached = AttachedTables(numbered, attached.relations)
    _check_keys(keyed, attached)
    return replace(keyed, attached=attached)


def _with_row_keys(table: TextTable, names: Iterable[str]) -> TextTable:
    """A table in which the number of a row, from 0, is its key in columns of these names that it does not have."""
    rows = [str(row) for row in range(len(table))]
    return replace(table, columns={**{name: rows for name in names if name not in table.columns}, **table.columns})


def _part_entry(entry: str) -> tuple[str, Path, str]:
    name, equals, rest = entry.partition("=")
    path, colon, column = rest.rpartition(":")
    if not (name.strip() and equals and colon and path and column):
        raise DataError(f"--parts {entry!r} is incomplete; write --parts NAME=FILE:COLUMN, as in car=cars.csv:train.")
    return name.strip(), Path(path), column.strip()


def _relation_entry(entry: str) -> tuple[str, Path]:
    name, equals, path = entry.partition("=")
    if not (name.strip() and equals and path):
        raise DataError(f"--relation {entry!r} is incomplete; write --relation NAME=FILE, as in contact=contact.csv.")
    return name.strip(), Path(path)


def key_columns(table: TextTable) -> tuple[str, ...]:
    """The columns of a table of examples that hold the keys by which parts name their owners.

    Parameters
    ----------
    table : the table, with its files of parts.

    Returns
    -------
    Their names.
    """
    if table.attached is None:
        return ()
    names = (column for name, (_, column) in table.attached.parts.items() if _owner(name, table.attached) is None)
    return tuple(dict.fromkeys(name for name in names if name in table.columns))


def _owner(name: str, attached: AttachedTables) -> str | None:
    """The type of the parts that own those of a type; None for examples."""
    column = attached.parts[name][1]
    return column if column in attached.parts else None


def _check_keys(table: TextTable, attached: AttachedTables) -> None:
    """Raise an error for the first key that is given twice or names no owner, and for circular ownership."""
    for name in attached.parts:
        chain, owner = [name], _owner(name, attached)
        while owner is not None:
            chain.append(owner)
            if owner == name or len(chain) > len(attached.parts) + 1:
                raise DataError(
                    f"Ownership is circular: {' is owned by '.join(chain)}; let one of these name a row of {table.path.name}."
                )
            owner = _owner(owner, attached)
    for name, (parts, column) in attached.parts.items():
        owner = _owner(name, attached)
        owners = table if owner is None else attached.parts[owner][0]
        known = _keys(owners, column, f"the owners of {name!r}")
        for row, key in enumerate(parts.columns[column] or ()):
            if key not in known:
                raise DataError(
                    f"{parts.location(row)}: {key!r} in column {column!r} is the key of no row of {owners.path.name}."
                    f"{did_you_mean(key, list(known)[:1000])}"
                )
    for name, tuples in attached.relations.items():
        _check_tuples(name, tuples, attached)


def _check_tuples(name: str, tuples: TextTable, attached: AttachedTables) -> None:
    """Raise an error for the first key in a relation that names no part."""
    keys = _key_types(tuples, attached.parts)
    if not keys:
        raise DataError(
            f"{tuples.path} has the columns {', '.join(tuples.columns)}, none of which is called as a type of part; name them "
            f"{', '.join(f'{kind}_1' for kind in list(attached.parts)[:2])}, … in the relation {name!r}."
        )
    for column, kind in keys.items():
        known = _keys(attached.parts[kind][0], kind, f"the parts {kind!r}")
        for row, key in enumerate(tuples.columns[column] or ()):
            if key not in known:
                raise DataError(
                    f"{tuples.location(row)}: {key!r} in column {column!r} is the key of no part {kind!r}."
                    f"{did_you_mean(key, list(known)[:1000])}"
                )


def _key_types(tuples: TextTable, kinds: Container[str]) -> dict[str, str]:
    """The columns of a relation that hold keys, each with the type of part that it names."""
    named = {column: column if column in kinds else re.sub(r"_?\d+$", "", column) for column in tuples.columns}
    return {column: kind for column, kind in named.items() if kind in kinds}


def _keys(table: TextTable, column: str, what: str) -> dict[str, int]:
    """The row of each key of a table."""
    known: dict[str, int] = {}
    for row, key in enumerate(table.columns[column] or ()):
        if not key:
            raise DataError(f"{table.location(row)}: column {column!r} is empty, and it holds the keys of {what}.")
        if key in known:
            raise DataError(
                f"{table.location(row)}: {key!r} in column {column!r} is the key of line "
                f"{known[key] if table.lines is None else table.lines[known[key]]} already; give each row a key of its own."
            )
        known[key] = row
    return known


def joined_examples(columns: Mapping[str, Column], table: TextTable, read: ColumnReader) -> Examples:
    """The examples of a table with their parts and relations; what belongs to rows that were left out is left out.

    Parameters
    ----------
    columns : the columns of the examples, without keys.
    table : the table, with its files of parts.
    read : reads the columns of a file that hold no keys.

    Returns
    -------
    The examples.
    """
    attached = table.attached
    if attached is None:
        return Examples(dict(columns))
    main: dict[str, object] = dict(columns)
    for name in key_columns(table):
        main[name] = list(table.columns[name] or ())
    kept: dict[str, set[str]] = {}
    parts: dict[str, tuple[dict[str, object], str]] = {}
    for name in _owners_first(attached):
        of_parts, column = attached.parts[name]
        owner = _owner(name, attached)
        known = set(_keys(table, column, "examples")) if owner is None else kept[owner]
        cells = of_parts.columns[column] or ()
        selected = of_parts.take([row for row, key in enumerate(cells) if key in known])
        keys = [column, name]
        kept[name] = set(selected.columns[name] or ())
        plain = _without(selected, keys)
        of_type: dict[str, object] = dict(read(name, plain)) if plain.columns else {}
        parts[name] = ({**of_type, **{key: list(selected.columns[key] or ()) for key in keys}}, column)
    relations = {name: _tuples(name, tuples, kept, read) for name, tuples in attached.relations.items()}
    return Examples(main, parts=parts, relations=relations)


def attached_kinds(table: TextTable, read: KindReader) -> dict[str, Kind]:
    """The kinds of the parts that the rows of a table own, and of relations, with those of their columns.

    Parameters
    ----------
    table : the table, with its files of parts.
    read : reads the kinds of the columns of a file.

    Returns
    -------
    Kinds by type of part and relation; parts that parts own are columns of these.
    """
    attached = table.attached
    if attached is None:
        return {}

    def of_owner(owner: str | None) -> dict[str, Kind]:
        kinds: dict[str, Kind] = {}
        for name, (of_parts, column) in attached.parts.items():
            if _owner(name, attached) == owner:
                own = read(name, _without(of_parts, [column, name]))
                kinds[name] = Parts((*own.items(), *of_owner(name).items()))
        return kinds

    kinds = of_owner(None)
    for name, tuples in attached.relations.items():
        keys = _key_types(tuples, attached.parts)
        kinds[name] = Relation(tuple(keys.values()), tuple(read(name, _without(tuples, keys)).items()))
    return kinds


def _owners_first(attached: AttachedTables) -> list[str]:
    ordered: list[str] = []
    while len(ordered) < len(attached.parts):
        ordered += [
            name
            for name in attached.parts
            if name not in ordered and ((owner := _owner(name, attached)) is None or owner in ordered)
        ]
    return ordered


def _tuples(name: str, tuples: TextTable, kept: Mapping[str, set[str]], read: ColumnReader) -> dict[str, object]:
    """The tuples of a relation between parts that are kept."""
    keys = _key_types(tuples, kept)
    rows = list(range(len(tuples)))
    for column, kind in keys.items():
        cells = tuples.columns[column] or ()
        rows = [row for row in rows if cells[row] in kept[kind]]
    selected = tuples.take(rows)
    plain = _without(selected, keys)
    columns: dict[str, object] = dict(read(name, plain)) if plain.columns else {}
    return {**{key: list(selected.columns[key] or ()) for key in keys}, **columns}


def _without(table: TextTable, names: Iterable[str]) -> TextTable:
    left_out = set(names)
    columns = {name: cells for name, cells in table.columns.items() if name not in left_out}
    return replace(table, columns=columns, attached=None)
