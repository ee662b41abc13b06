"""Parts of examples and relations between them, as columns whose entries are tables and sets of tuples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from neuid3.data.columns import Column, Kind
    from neuid3.data.examples import Examples

Indices: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one type that an example owns, in any number; an entry is a table of them.

    Attributes
    ----------
    columns : the names and kinds of their columns; a column may again be of parts.
    """

    columns: tuple[tuple[str, Kind], ...] = ()

    @property
    def schema(self) -> dict[str, Kind]:
        """The kinds of their columns by name."""
        return dict(self.columns)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between parts of an example; an entry is a set of tuples, each with further columns.

    Attributes
    ----------
    types : the type of part at each argument.
    columns : the names and kinds of the columns of a tuple, as the type of a bond.
    """

    types: tuple[str, ...]
    columns: tuple[tuple[str, Kind], ...] = ()

    @property
    def schema(self) -> dict[str, Kind]:
        """The kinds of the columns of a tuple by name."""
        return dict(self.columns)


def offsets_of(counts: Indices) -> Indices:
    """Where the rows of each group begin, and, last, where the last group ends.

    >>> offsets_of(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)))


def ranges(starts: Indices, counts: Indices) -> Indices:
    """The numbers `start, …, start + count − 1` of each pair, one after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    numbers: Indices = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - counts), counts)
    return numbers


@dataclass(frozen=True, slots=True, eq=False)
class GroupedRows:
    """A table whose rows belong to examples, in their order: the entries of a column of parts.

    Selecting examples selects their rows; an example that is selected twice has its rows twice.

    Attributes
    ----------
    offsets : where the rows of each example begin, and, last, the number of rows, `(example + 1,)`.
    table : the rows; None where they have no columns.
    """

    offsets: Indices
    table: Examples | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of examples, as the only axis."""
        return (len(self),)

    @property
    def counts(self) -> Indices:
        """The number of rows of each example, `(example,)`."""
        return np.diff(self.offsets)

    @property
    def total(self) -> int:
        """The number of rows of all examples."""
        return int(self.offsets[-1])

    def __getitem__(self, rows: Any) -> Any:
        indices = np.arange(len(self))[rows]
        if indices.ndim == 0:  # one example: its rows
            return self._selected(np.atleast_1d(indices))
        return self._selected(indices)

    def _selected(self, examples: Indices) -> GroupedRows:
        selected, counts = self._rows_of(examples)
        return GroupedRows(offsets_of(counts), None if self.table is None else self.table[selected])

    def _rows_of(self, examples: Indices) -> tuple[Indices, Indices]:
        counts = self.counts[examples]
        return ranges(self.offsets[:-1][examples], counts), counts

    def concatenated(self, more: GroupedRows) -> GroupedRows:
        """These entries followed by others of the same kind.

        Parameters
        ----------
        more : the other entries.

        Returns
        -------
        The entries of both.
        """
        table = None if self.table is None or more.table is None else self.table.concatenate(more.table)
        return GroupedRows(offsets_of(np.concatenate((self.counts, more.counts))), table)

    def digest_arrays(self) -> Iterator[Any]:
        """The arrays that the entries consist of, for digests of data."""
        yield self.offsets
        if self.table is not None:
            for name in self.table.names:
                yield from _column_arrays(self.table.column(name))


@dataclass(frozen=True, slots=True, eq=False)
class RelatedRows(GroupedRows):
    """The tuples of a relation, grouped by example: the entries of a column of a relation.

    Attributes
    ----------
    offsets : where the tuples of each example begin, and, last, their number, `(example + 1,)`.
    table : the columns of the tuples; None where they have none.
    arguments : for each tuple the numbers of its parts within the example, by type from 0, `(tuple, argument)`.
    """

    arguments: Indices = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))

    def _selected(self, examples: Indices) -> RelatedRows:
        selected, counts = self._rows_of(examples)
        table = None if self.table is None else self.table[selected]
        return RelatedRows(offsets_of(counts), table, self.arguments[selected])

    def concatenated(self, more: GroupedRows) -> RelatedRows:
        assert isinstance(more, RelatedRows)
        grouped = GroupedRows.concatenated(self, more)
        return RelatedRows(grouped.offsets, grouped.table, np.concatenate((self.arguments, more.arguments)))

    def digest_arrays(self) -> Iterator[Any]:
        yield from GroupedRows.digest_arrays(self)
        yield self.arguments


def _column_arrays(column: Column) -> Iterator[Any]:
    values: Any = column.values
    if isinstance(values, GroupedRows):
        yield from values.digest_arrays()
    else:
        yield values
    yield column.missing


@dataclass(frozen=True, slots=True, eq=False)
class PartSet:
    """All parts of one type in a table of examples, numbered from 0 in the order of the examples.

    Attributes
    ----------
    name : the type.
    owner_type : the type of the parts that own them; None where examples own them.
    owner : the number of each part's owner, `(part,)`.
    owner_offsets : where the parts of each owner begin, and, last, their number, `(owner + 1,)`.
    example : the number of each part's example, `(part,)`.
    offsets : where the parts of each example begin, and, last, their number, `(example + 1,)`.
    table : their columns; None where they have none.
    """

    name: str
    owner_type: str | None
    owner: Indices
    owner_offsets: Indices
    example: Indices
    offsets: Indices
    table: Examples | None

    def __len__(self) -> int:
        return len(self.owner)


@dataclass(frozen=True, slots=True, eq=False)
class RelationSet:
    """All tuples of one relation in a table of examples.

    Attributes
    ----------
    name : the relation.
    types : the type of part at each argument.
    arguments : the numbers of the parts of each tuple, as in `PartSet`, `(tuple, argument)`.
    example : the number of each tuple's example, `(tuple,)`.
    table : the columns of the tuples; None where they have none.
    """

    name: str
    types: tuple[str, ...]
    arguments: Indices
    example: Indices
    table: Examples | None


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """The parts and relations of a table of examples, numbered throughout.

    Attributes
    ----------
    size : the number of examples.
    parts : the parts, by type, owners before what they own.
    relations : the relations, by name.
    """

    size: int
    parts: Mapping[str, PartSet]
    relations: Mapping[str, RelationSet]

    @property
    def tables(self) -> Iterator[tuple[PartSet | RelationSet, Examples]]:
        """The parts and relations that have columns, with these."""
        sets: list[PartSet | RelationSet] = [*self.parts.values(), *self.relations.values()]
        return ((each, each.table) for each in sets if each.table is not None)


def structure_of(examples: Examples) -> Structure:
    """The parts and relations of examples, numbered throughout.

    Parameters
    ----------
    examples : the examples.

    Returns
    -------
    The structure; empty where the examples have no parts.
    """
    parts: dict[str, PartSet] = {}
    _collect_parts(examples, None, np.arange(len(examples)), len(examples), parts)
    relations = {}
    for name, column in examples.items():
        if isinstance(column.kind, Relation):
            rows: RelatedRows = column.values  # type: ignore[assignment]
            example = np.repeat(np.arange(len(examples)), rows.counts)
            starts = [parts[kind].offsets[:-1][example] for kind in column.kind.types]
            arguments = rows.arguments + np.stack(starts, axis=1) if len(example) else rows.arguments
            relations[name] = RelationSet(name, column.kind.types, arguments, example, rows.table)
    return Structure(len(examples), parts, relations)


def _collect_parts(
    owners: Examples, owner_type: str | None, example_of_owner: Indices, size: int, parts: dict[str, PartSet]
) -> None:
    """Add the parts that the rows of a table own, and the parts of these, to `parts`."""
    for name, column in owners.items():
        if not isinstance(column.kind, Parts):
            continue
        rows: GroupedRows = column.values  # type: ignore[assignment]
        owner = np.repeat(np.arange(len(owners)), rows.counts)
        example = example_of_owner[owner]
        offsets = offsets_of(np.bincount(example, minlength=size).astype(np.int64))
        parts[name] = PartSet(name, owner_type, owner, rows.offsets, example, offsets, rows.table)
        if rows.table is not None:
            _collect_parts(rows.table, name, example, size, parts)


def part_schemas(schema: Mapping[str, Kind], owner: str | None = None) -> Iterator[tuple[str, str | None, Parts]]:
    """The types of parts in a schema, each with the type of its owners, None for examples; owners come first.

    Parameters
    ----------
    schema : the kinds of columns by name.
    owner : the type whose columns these are; None for those of examples.

    Yields
    ------
    The type, the type of its owners, and its kind.
    """
    for name, kind in schema.items():
        if isinstance(kind, Parts):
            yield name, owner, kind
            yield from part_schemas(kind.schema, name)


def has_parts(schema: Mapping[str, Kind]) -> bool:
    """Whether a column of a schema is of parts.

    Parameters
    ----------
    schema : the kinds of columns by name.

    Returns
    -------
    True if examples own parts.
    """
    return any(isinstance(kind, Parts) for kind in schema.values())


def as_kind_columns(examples: Examples | None) -> tuple[tuple[str, Any], ...]:
    """The names and kinds of the columns of a table of parts, as `Parts` and `Relation` hold them.

    Parameters
    ----------
    examples : the table; None where there are no columns.

    Returns
    -------
    Pairs of names and kinds.
    """
    return () if examples is None else tuple(examples.schema.items())


def group_by_owner(owner: Indices, owners: int) -> tuple[Indices, Indices]:
    """The order that puts rows with the same owner together, and where the rows of each owner begin.

    Parameters
    ----------
    owner : the number of the owner of each row.
    owners : how many owners there are.

    Returns
    -------
    Row numbers, in the order of the owners, and offsets, `(owner + 1,)`.
    """
    order = np.argsort(owner, kind="stable")
    return order, offsets_of(np.bincount(owner, minlength=owners).astype(np.int64))
