"""Slots: the parts of examples as columns, so that networks and rules name the first, second, … part of a type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from neuid3.data.columns import Column, Kind, Schema, Tensor
from neuid3.data.examples import Examples
from neuid3.data.parts import Parts, PartSet, Relation, part_schemas, structure_of
from neuid3.data.stores import StoredRows
from neuid3.errors import DataError

if TYPE_CHECKING:
    import numpy.typing as npt

    from neuid3.data.parts import GroupedRows


@dataclass(frozen=True, slots=True)
class Slots:
    """The number of slots for each type of part.

    Slot `card_2` is the second card of an example, and empty where it has only one. A slot is a constant of the program. The
    pictures of parts are tensor columns: that of a type with one picture column is called as the slot, so that a rule may
    write `suit(C, hearts)` for a card C; with several, `front(C, P)` leads from a part to its picture P.

    Attributes
    ----------
    counts : types and their numbers of slots, owners before what they own.
    tuples : for each relation the numbers of the parts that some example relates, and for each type of part that parts own
        the numbers of owner and part; others are related in no example.
    """

    counts: tuple[tuple[str, int], ...]
    tuples: tuple[tuple[str, frozenset[tuple[int, ...]]], ...] = ()

    def related(self, name: str) -> frozenset[tuple[int, ...]]:
        """The numbers of parts that a relation relates in some example, or those of owners and parts.

        Parameters
        ----------
        name : a relation, or a type of part that parts own.

        Returns
        -------
        Tuples of numbers, from 1.
        """
        return dict(self.tuples).get(name, frozenset())

    def __getitem__(self, kind: str) -> int:
        return dict(self.counts)[kind]

    def __contains__(self, kind: str) -> bool:
        return kind in dict(self.counts)

    def covers(self, other: Slots) -> bool:
        """Whether these slots are enough for parts that need the others.

        Parameters
        ----------
        other : the slots that are needed.

        Returns
        -------
        True if no type has fewer slots here.
        """
        own = dict(self.counts)
        is_enough = all(own.get(kind, 0) >= count for kind, count in other.counts)
        return is_enough and all(tuples <= self.related(name) for name, tuples in other.tuples)

    def union(self, other: Slots) -> Slots:
        """The slots that cover both.

        Parameters
        ----------
        other : further slots, of the same types.

        Returns
        -------
        For each type the larger number.
        """
        theirs = dict(other.counts)
        names = dict.fromkeys(name for name, _ in (*self.tuples, *other.tuples))
        return Slots(
            tuple((kind, max(count, theirs.get(kind, 0))) for kind, count in self.counts),
            tuple((name, self.related(name) | other.related(name)) for name in names),
        )


def slot_name(kind: str, number: int) -> str:
    """The constant of a part: its type and its number within the example, from 1.

    >>> slot_name("card", 2)
    'card_2'
    """
    return f"{kind}_{number}"


def part_tables(examples: Examples) -> Iterator[tuple[str, Examples]]:
    """The tables of the parts that examples own themselves, by type; types without columns are left out.

    Parameters
    ----------
    examples : the examples.

    Yields
    ------
    The name of a type, and the table of all its parts.
    """
    for name, column in examples.items():
        if isinstance(column.kind, Parts):
            table = cast("GroupedRows", column.values).table
            if table is not None:
                yield name, table


def is_picture(column: Column) -> bool:
    """Whether the entries of a column are pictures."""
    return isinstance(column.kind, Tensor) and column.kind.is_picture


def pictures_of(examples: Examples) -> Iterator[tuple[str, Column]]:
    """The columns of pictures of examples, and of their parts and the parts of these.

    Parameters
    ----------
    examples : the examples.

    Yields
    ------
    The name of a column, and the column.
    """
    yield from ((name, column) for name, column in examples.items() if is_picture(column))
    for _, table in part_tables(examples):
        yield from pictures_of(table)


def picture_columns(schema: Schema) -> dict[str, dict[str, Tensor]]:
    """For each type of part its columns of pictures; types without any are left out.

    Parameters
    ----------
    schema : the kinds of the columns of examples.

    Returns
    -------
    Kinds by the name of the column, by type.
    """
    columns = {
        name: {column: entry for column, entry in kind.columns if isinstance(entry, Tensor)}
        for name, _, kind in part_schemas(schema)
    }
    return {name: of_type for name, of_type in columns.items() if of_type}


def picture_name(kind: str, column: str, number: int, schema: Schema) -> str:
    """The column of a picture of the part in a slot.

    Parameters
    ----------
    kind : the type of part.
    column : its picture column.
    number : the slot, from 1.
    schema : the kinds of the columns of examples.

    Returns
    -------
    The name.
    """
    only = len(picture_columns(schema)[kind]) == 1
    return slot_name(kind, number) if only else f"{slot_name(kind, number)}_{column}"


def is_picture_name(name: str, schema: Schema) -> bool:
    """Whether a name is that of a picture of a slot, whatever its number: `card_2`, and `card_2_front` where there are several.

    Parameters
    ----------
    name : the name.
    schema : the kinds of the columns of examples.

    Returns
    -------
    True if examples with enough parts have such a column.
    """
    for part, columns in picture_columns(schema).items():
        slot = re.match(rf"{re.escape(part)}_([1-9]\d*)", name)
        if slot is not None and name in (picture_name(part, column, int(slot[1]), schema) for column in columns):
            return True
    return False


def first_slots(schema: Schema) -> Slots:
    """The fewest slots by which tests can be grounded: two for each type of part, since a query may join two.

    Parameters
    ----------
    schema : the kinds of the columns of examples.

    Returns
    -------
    The slots.
    """
    relations = [(name, kind.types) for name, kind in schema.items() if isinstance(kind, Relation)]
    relations += [(name, (owner, name)) for name, owner, _ in part_schemas(schema) if owner is not None]
    return Slots(
        tuple((name, 2) for name, _, _ in part_schemas(schema)),
        tuple((name, frozenset(product((1, 2), repeat=len(types)))) for name, types in relations),
    )


def part_numbers(examples: Examples) -> Mapping[str, npt.NDArray[np.int64]]:
    """For each type the number of every part within its example, from 1.

    Parameters
    ----------
    examples : examples with parts.

    Returns
    -------
    Numbers, `(part,)`, by type.
    """
    return {
        name: np.arange(len(parts)) - parts.offsets[:-1][parts.example] + 1
        for name, parts in structure_of(examples).parts.items()
    }


def needed_slots(examples: Examples) -> Slots:
    """The slots that all parts of these examples fit into.

    Parameters
    ----------
    examples : examples with parts.

    Returns
    -------
    For each type the most parts of an example, and no fewer than in `first_slots`.
    """
    structure, numbers = structure_of(examples), part_numbers(examples)
    related = {
        name: [numbers[kind][relation.arguments[:, i]] for i, kind in enumerate(relation.types)]
        for name, relation in structure.relations.items()
    }
    for name, parts in structure.parts.items():
        if parts.owner_type is not None:
            related[name] = [numbers[parts.owner_type][parts.owner], numbers[name]]
    needed = Slots(
        tuple((name, int(np.diff(parts.offsets).max(initial=0))) for name, parts in structure.parts.items()),
        tuple(
            (name, frozenset(map(tuple, np.unique(np.stack(columns), axis=1).T.tolist())))
            for name, columns in related.items()
        ),
    )
    return needed.union(first_slots(examples.schema))


def unfolded_schema(schema: Schema, slots: Slots) -> dict[str, Kind]:
    """The schema with a column for each picture of a slot.

    Parameters
    ----------
    schema : the kinds of the columns of examples.
    slots : the slots.

    Returns
    -------
    The longer schema.

    Raises
    ------
    DataError : where a column is called as a slot.
    """
    unfolded = dict(schema)
    for name, _, _, _, kind in _pictures(schema, slots):
        if name in unfolded:
            raise DataError(f"Column {name!r} is called as the picture of a part would be; rename it.")
        unfolded[name] = kind
    return unfolded


def _pictures(schema: Schema, slots: Slots) -> Iterator[tuple[str, str, str, int, Tensor]]:
    """The columns of slots: name, type of part, picture column, number from 1, and kind."""
    for part, columns in picture_columns(schema).items():
        for column, kind in columns.items():
            for number in range(1, slots[part] + 1):
                yield picture_name(part, column, number, schema), part, column, number, kind


def unfolded(examples: Examples, slots: Slots | None) -> Examples:
    """Examples with a column for each picture of a slot, missing where the slot is empty or the part has no picture.

    Parameters
    ----------
    examples : examples with parts.
    slots : enough slots for their parts; None leaves the examples as they are.

    Returns
    -------
    The same rows with further columns.
    """
    if slots is None:
        return examples
    structure = structure_of(examples)
    unfolded_schema(examples.schema, slots)  # refuses ambiguous names
    columns = dict(examples.items())
    for name, part, column, number, kind in _pictures(examples.schema, slots):
        columns[name] = _slot_column(structure.parts[part], column, number, kind)
    return Examples._of(columns, len(examples))


def _slot_column(parts: PartSet, column: str, number: int, kind: Tensor) -> Column:
    """The pictures of the parts with this number, one for each example; one that stands for none where it is missing."""
    assert parts.table is not None
    pictures, counts = parts.table.column(column), np.diff(parts.offsets)
    absent = missing = counts < number
    rows: npt.NDArray[np.int64] = np.where(absent, 0, parts.offsets[:-1] + number - 1)
    if not len(pictures):
        vectors = None if kind.encoded is None else np.zeros((len(counts), kind.encoded), dtype=np.float32)
        nothing = np.zeros((len(counts), *kind.shape), dtype=np.float32)
        return Column(kind, nothing, missing, absent=absent, vectors=vectors)
    if pictures.missing is not None:
        missing = absent | pictures.missing[rows]
    values: Any = pictures.values
    selected = StoredRows(values.store, _store_rows(values, rows)) if isinstance(values, StoredRows) else values[rows]
    vectors = None if pictures.vectors is None else pictures.vectors[rows]
    return Column(kind, cast("Any", selected), missing, absent=absent, vectors=vectors)


def _store_rows(values: StoredRows, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    return values._store_rows(rows)
