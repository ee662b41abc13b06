"""Evaluation of queries for all examples at once, by joins over their parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Boolean, Category, Column, Number, Probability
from neuid3.data.examples import Examples
from neuid3.data.parts import Indices, PartSet, RelationSet, Structure, offsets_of, ranges, structure_of
from neuid3.errors import BindingLimitError, NodeTestError, did_you_mean
from neuid3.queries.language import (
    Aggregate,
    AtLeast,
    Atom,
    Comparison,
    Different,
    Field,
    Literal,
    Negation,
    Query,
    Var,
)

Mask: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]

# The most bindings of a query over all examples; a row of 64-bit numbers each.
MAX_BINDINGS = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Bindings:
    """The bindings that make a query true, in the order of the examples.

    Attributes
    ----------
    example : the example of each binding, `(binding,)`.
    parts : the part that each variable stands for, `(binding,)` each.
    types : the type of each variable.
    """

    example: Indices
    parts: Mapping[Var, Indices]
    types: Mapping[Var, str]

    def __len__(self) -> int:
        return len(self.example)

    def take(self, rows: Any) -> Bindings:
        """Some of the bindings.

        Parameters
        ----------
        rows : indices or a mask.

        Returns
        -------
        These bindings.
        """
        return Bindings(self.example[rows], {v: numbers[rows] for v, numbers in self.parts.items()}, self.types)

    def with_part(self, variable: Var, kind: str, numbers: Indices) -> Bindings:
        """The bindings with a further variable."""
        return Bindings(self.example, {**self.parts, variable: numbers}, {**self.types, variable: kind})


class PartsIndex:
    """The parts and relations of examples, indexed for joins.

    Parameters
    ----------
    examples : the examples.
    """

    def __init__(self, examples: Examples) -> None:
        self.structure: Structure = structure_of(examples)

    @property
    def size(self) -> int:
        """The number of examples."""
        return self.structure.size

    def part(self, name: str) -> PartSet:
        """The parts of a type."""
        return self.structure.parts[name]

    def start(self, rows: Any = None) -> Bindings:
        """The empty binding of each example, or of these."""
        return Bindings(np.arange(self.size) if rows is None else np.asarray(rows, dtype=np.int64), {}, {})

    def extend(self, bindings: Bindings, literal: Literal) -> Bindings:
        """The bindings, with the variables that a literal binds, that make it true.

        Parameters
        ----------
        bindings : bindings of the variables so far.
        literal : a further conjunct.

        Returns
        -------
        Bindings, in the order of the examples.

        Raises
        ------
        NodeTestError : where the literal names something that the examples do not have.
        """
        match literal:
            case Atom(predicate, arguments):
                return self._extend_by_atom(bindings, literal, predicate, arguments)
            case Different(left, right):
                differs = self._bound(bindings, left) != self._bound(bindings, right)
                # Parts of two types may have the same number.
                return bindings.take(differs) if bindings.types[left] == bindings.types[right] else bindings
            case Comparison(left, operator, right):
                other = self.field(bindings, right) if isinstance(right, Field) else right
                return bindings.take(compare(self.field(bindings, left), operator, other))
            case Negation(query):
                return bindings.take(self.counts(bindings, query) == 0)
            case AtLeast(count, query):
                return bindings.take(self.counts(bindings, query) >= count)
            case Aggregate(function, field, query, operator, constant):
                numbers = self.aggregate(bindings, function, field, query)
                return bindings.take(compare(numbers, operator, constant))

    def bindings(self, query: Query, start: Bindings | None = None) -> Bindings:
        """The bindings that make a query true.

        Parameters
        ----------
        query : the query.
        start : bindings of variables that it shares; by default the empty binding of every example.

        Returns
        -------
        Bindings, in the order of the examples.
        """
        bindings = self.start() if start is None else start
        for literal in query.literals:
            bindings = self.extend(bindings, literal)
        return bindings

    def extensions(self, bindings: Bindings, query: Query) -> tuple[Indices, Bindings]:
        """The bindings of a further query for each of these bindings: the number of the one that each extends, and they.

        Parameters
        ----------
        bindings : bindings of the variables so far.
        query : a conjunction that may bind further variables.

        Returns
        -------
        For each extension the row of `bindings` that it belongs to, and the extensions.
        """
        row = Var("\x00row")
        marked = bindings.with_part(row, "", np.arange(len(bindings)))
        extended = self.bindings(query, marked)
        return extended.parts[row], extended

    def counts(self, bindings: Bindings, query: Query) -> Indices:
        """The number of distinct extensions of each binding by a further query, `(binding,)`."""
        rows, extended = self.extensions(bindings, query)
        new = [extended.parts[v] for v in query.variables if v not in bindings.parts]
        if new and len(rows):
            distinct = np.unique(np.stack((rows, *new)), axis=1)
            rows = distinct[0]
        return np.bincount(rows, minlength=len(bindings))

    def aggregate(self, bindings: Bindings, function: str, field: Field, query: Query) -> Floats:
        """A number over the distinct parts that extend each binding; NaN where there is none, `(binding,)`."""
        rows, extended = self.extensions(bindings, query)
        part = self._bound(extended, field.part)
        if len(rows):
            rows, part = np.unique(np.stack((rows, part)), axis=1)
        values = self._numbers(extended.types[field.part], field.column).values[part]
        return grouped(function, rows, values, len(bindings))

    def holds_at(self, query: Query, variables: tuple[Var, ...], numbers: tuple[int, ...]) -> Mask:
        """Whether a binding makes a query true in which variables stand for the parts with these numbers.

        Parameters
        ----------
        query : the query.
        variables : some of its variables.
        numbers : for each of these the number of its part within the example, from 1.

        Returns
        -------
        A mask, `(example,)`.
        """
        key = (query, variables)
        if key not in self._numbered:
            self._numbered[key] = self._numbered_bindings(query, variables)
        found = np.zeros(self.size, dtype=bool)
        found[self._numbered[key].get(numbers, [])] = True
        return found

    @cached_property
    def _numbered(self) -> dict[Any, dict[tuple[int, ...], Indices]]:
        return {}

    def _numbered_bindings(self, query: Query, variables: tuple[Var, ...]) -> dict[tuple[int, ...], Indices]:
        """The examples that have a binding with these numbers of parts, by the numbers."""
        bindings = self.bindings(query)
        if not len(bindings):
            return {}
        offsets = [self.part(bindings.types[v]).offsets[:-1] for v in variables]
        pairs = zip(variables, offsets, strict=True)
        numbers = [bindings.parts[v] - starts[bindings.example] + 1 for v, starts in pairs]
        distinct = np.unique(np.stack((*numbers, bindings.example)), axis=1)  # sorted by the numbers
        keys = distinct[:-1]
        starts = (
            np.flatnonzero(np.r_[True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)]) if len(keys) else np.zeros(1, int)
        )
        groups = np.split(distinct[-1], starts[1:])
        return {tuple(keys[:, start].tolist()): group for start, group in zip(starts, groups, strict=True)}

    def field(self, bindings: Bindings, field: Field) -> Floats:
        """A number column of the part that a variable stands for, `(binding,)`."""
        numbers = self._bound(bindings, field.part)
        column = self._numbers(bindings.types[field.part], field.column)
        values: Floats = column.values[numbers]
        return values

    def column(self, kind: str, name: str) -> Column:
        """A column of a type of part."""
        table = self.part(kind).table
        if table is None or name not in table.names:
            raise NodeTestError(
                f"The parts {kind!r} have no column {name!r}.{did_you_mean(name, table.names if table else ())}"
            )
        return table.column(name)

    def _numbers(self, kind: str, name: str) -> Column:
        column = self.column(kind, name)
        if not isinstance(column.kind, Number):
            raise NodeTestError(
                f"Column {name!r} of {kind!r} is compared and holds no numbers; compare a number column."
            )
        return column

    def _bound(self, bindings: Bindings, variable: Var) -> Indices:
        if variable not in bindings.parts:
            raise NodeTestError(
                f"The variable {variable} is used before a part or a relation binds it; put that literal first."
            )
        return bindings.parts[variable]

    def _extend_by_atom(self, bindings: Bindings, literal: Atom, name: str, arguments: tuple[Any, ...]) -> Bindings:
        if name in self.structure.parts and all(isinstance(argument, Var) for argument in arguments):
            return self._extend_by_part(bindings, name, arguments)
        if name in self.structure.relations:
            return self._extend_by_relation(bindings, self.structure.relations[name], arguments)
        if not arguments or not isinstance(arguments[0], Var) or len(arguments) > 2:
            raise NodeTestError(f"'{literal}' is neither a part, nor a property, nor a relation of the examples.")
        variable = arguments[0]
        numbers = self._bound(bindings, variable)
        column = self.column(bindings.types[variable], name)
        return bindings.take(self._has_property(literal, column, numbers, arguments[1:]))

    def _has_property(self, literal: Atom, column: Column, numbers: Indices, values: tuple[Any, ...]) -> Mask:
        match column.kind, values:
            case Boolean(), ():
                true = column.values[numbers]
            case Probability(), ():
                true = column.values[numbers] == 1.0  # in a world, each of them is 0 or 1
            case Category() as kind, (value,) if value in kind.domain:
                true = column.values[numbers] == kind.domain.index(value)
            case Category() as kind, (value,):
                raise NodeTestError(
                    f"'{literal}' names a value that the column does not have: {', '.join(map(str, kind.values))}."
                )
            case Number(), (value,) if not isinstance(value, (str, Var)):
                raise NodeTestError(
                    f"'{literal}' names a number; compare the column with it: {literal.predicate}({literal.arguments[0]}) =:= {value}."
                )
            case _:
                raise NodeTestError(
                    f"'{literal}' does not fit its column, a {type(column.kind).__name__.lower()} column."
                )
        missing = column.missing
        return np.asarray(true) if missing is None else np.asarray(true & ~missing[numbers])

    def _extend_by_part(self, bindings: Bindings, name: str, arguments: tuple[Var, ...]) -> Bindings:
        parts = self.part(name)
        variable = arguments[-1]
        if len(arguments) == 2:
            if parts.owner_type is None:
                raise NodeTestError(f"'{name}' belongs to examples; write {name}({variable}).")
            owner, offsets = self._bound(bindings, arguments[0]), parts.owner_offsets
            if variable in bindings.parts:
                return bindings.take(parts.owner[bindings.parts[variable]] == owner)
        elif len(arguments) == 1:
            owner, offsets = bindings.example, parts.offsets
            if variable in bindings.parts:
                return bindings
        else:
            raise NodeTestError(
                f"'{name}' names a type of part and has {len(arguments)} arguments; give its owner and itself."
            )
        counts = np.diff(offsets)[owner]
        _check_size(int(counts.sum()), name)
        rows = np.repeat(np.arange(len(bindings)), counts)
        return bindings.take(rows).with_part(variable, name, ranges(offsets[:-1][owner], counts))

    def _extend_by_relation(self, bindings: Bindings, relation: RelationSet, arguments: tuple[Any, ...]) -> Bindings:
        width = len(relation.types)
        variables = arguments[:width]
        if len(variables) < width or not all(isinstance(v, Var) for v in variables):
            raise NodeTestError(f"The relation {relation.name!r} joins {width} parts; give a variable for each.")
        tuples = self._tuples_with(relation, arguments[width:])
        bound = [i for i, v in enumerate(variables) if v in bindings.parts]
        if bound:
            by, keys = tuples.by_argument(bound[0]), bindings.parts[variables[bound[0]]]
        else:
            by, keys = tuples.by_example(self.size), bindings.example
        counts = np.diff(by.offsets)[keys]
        _check_size(int(counts.sum()), relation.name)
        rows = np.repeat(np.arange(len(bindings)), counts)
        found = by.order[ranges(by.offsets[:-1][keys], counts)]
        extended = bindings.take(rows)
        keep = np.ones(len(rows), dtype=bool)
        for i, variable in enumerate(variables):
            numbers = relation.arguments[found, i]
            if variable in extended.parts:
                keep &= extended.parts[variable] == numbers
            else:
                extended = extended.with_part(variable, relation.types[i], numbers)
        return extended if keep.all() else extended.take(keep)

    @cached_property
    def _indexed(self) -> dict[tuple[str, tuple[Any, ...]], _Tuples]:
        return {}

    def _tuples_with(self, relation: RelationSet, values: tuple[Any, ...]) -> _Tuples:
        """The tuples of a relation whose columns have these values; an underscore stands for any."""
        key = (relation.name, values)
        if key not in self._indexed:
            keep = np.ones(len(relation.example), dtype=bool)
            names = () if relation.table is None else relation.table.names
            if len(values) > len(names):
                raise NodeTestError(
                    f"The relation {relation.name!r} has {len(names)} columns besides its parts; found {len(values)}."
                )
            for name, value in zip(names, values, strict=False):
                if isinstance(value, Var):
                    continue
                column = relation.table.column(name)  # type: ignore[union-attr]
                literal = Atom(relation.name, values)
                if isinstance(column.kind, (Boolean, Probability)) and value in ("true", "false"):
                    true = self._has_property(literal, column, np.arange(len(keep)), ())
                    false = ~true if column.missing is None else ~true & ~column.missing
                    keep &= true if value == "true" else false
                else:
                    keep &= self._has_property(literal, column, np.arange(len(keep)), (value,))
            sizes = [len(self.part(kind)) for kind in relation.types]
            self._indexed[key] = _Tuples(relation, np.flatnonzero(keep), sizes)
        return self._indexed[key]


@dataclass(frozen=True, slots=True, eq=False)
class _Grouping:
    order: Indices
    offsets: Indices


class _Tuples:
    """Some tuples of a relation, grouped by an argument or by example."""

    def __init__(self, relation: RelationSet, rows: Indices, sizes: list[int]) -> None:
        self.relation, self.rows, self.sizes = relation, rows, sizes
        self._groupings: dict[int, _Grouping] = {}

    def _grouped(self, key: int, values: Indices, size: int) -> _Grouping:
        if key not in self._groupings:
            order = self.rows[np.argsort(values, kind="stable")]
            counts = np.bincount(values, minlength=size).astype(np.int64)
            self._groupings[key] = _Grouping(order, offsets_of(counts))
        return self._groupings[key]

    def by_argument(self, argument: int) -> _Grouping:
        return self._grouped(argument, self.relation.arguments[self.rows, argument], self.sizes[argument])

    def by_example(self, size: int) -> _Grouping:
        return self._grouped(-1, self.relation.example[self.rows], size)


def _check_size(count: int, name: str) -> None:
    if count > MAX_BINDINGS:
        raise BindingLimitError(
            f"The query has {count:,} bindings with '{name}', more than {MAX_BINDINGS:,}; bind its variables by a relation, or "
            "allow fewer variables (max_variables)."
        )


def compare(left: Any, operator: str, right: Any) -> Mask:
    """A comparison of numbers in Prolog's syntax; false where one of them is NaN."""
    with np.errstate(invalid="ignore"):
        match operator:
            case "=<":
                return np.asarray(left <= right)
            case ">=":
                return np.asarray(left >= right)
            case "<":
                return np.asarray(left < right)
            case ">":
                return np.asarray(left > right)
            case "=:=":
                return np.asarray(left == right)
            case _:
                return np.asarray((left != right) & ~(np.isnan(left) | np.isnan(right)))


def grouped(function: str, groups: Indices, values: Floats, size: int) -> Floats:
    """A number for each group of values; NaN for groups without any."""
    known = ~np.isnan(values)
    groups, values = groups[known], values[known]
    counts = np.bincount(groups, minlength=size)
    if function in ("sum", "mean"):
        totals = np.bincount(groups, values, minlength=size)
        numbers = totals if function == "sum" else np.divide(totals, counts, out=np.zeros(size), where=counts > 0)
    else:
        numbers = np.full(size, -np.inf if function == "max" else np.inf)
        (np.maximum if function == "max" else np.minimum).at(numbers, groups, values)
    return np.where(counts > 0, numbers, np.nan)


_indices: WeakKeyDictionary[Examples, PartsIndex] = WeakKeyDictionary()


def parts_index(examples: Examples) -> PartsIndex:
    """The index of examples, kept as long as they exist."""
    if examples not in _indices:
        _indices[examples] = PartsIndex(examples)
    return _indices[examples]


def holds(query: Query, examples: Examples) -> Mask:
    """Whether some binding makes a query true, for each example.

    Parameters
    ----------
    query : the query.
    examples : examples with parts.

    Returns
    -------
    A mask, `(example,)`.
    """
    found = np.zeros(len(examples), dtype=bool)
    found[parts_index(examples).bindings(query).example] = True
    return found
