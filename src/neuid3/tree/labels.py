"""Labels of what networks see, read from what a caller gives: by call, by predicate and column, or in columns of a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Boolean, Category, Column, Number, Schema, Tensor, is_missing
from neuid3.data.examples import Examples, has_names, named_columns
from neuid3.data.parts import has_parts
from neuid3.data.reading.cells import BOOLEAN_SPELLINGS
from neuid3.data.slots import is_picture_name
from neuid3.errors import DataError, did_you_mean
from neuid3.logic.program import Declaration
from neuid3.logic.quoting import atom_name, atom_text
from neuid3.tree.anchors import Anchors, NetworkLabels
from neuid3.tree.model import TreeModel

# A name, perhaps in quotes, and what stands in the parentheses behind it.
_CALL = re.compile(r"\s*('(?:[^'\\]|\\.)*'|[^\s('\"]+)\s*\((.*)\)\s*", re.DOTALL)
_ARGUMENTS = re.compile(r"(?:\s*(?:'(?:[^'\\]|\\.)*'|[^,']+)\s*(?:,|$))+")
_ARGUMENT = re.compile(r"\s*('(?:[^'\\]|\\.)*'|[^,']+?)\s*(?:,|$)")
_TRUTH = {word: word == yes for yes, no in BOOLEAN_SPELLINGS for word in (yes, no)}

Declarations: TypeAlias = Mapping[int, Declaration]

# Input columns that a declared network is called on.
Call: TypeAlias = tuple[str, tuple[str, ...]]


def call_text(predicate: str, inputs: Iterable[str]) -> str:
    """A network call as text, by its neural predicate: `rank(first)`.

    Parameters
    ----------
    predicate : the name of the predicate.
    inputs : the columns that its network reads.

    Returns
    -------
    The text; `read_labels` takes it as a key.

    >>> call_text("same", ["first", "my card"])
    "same(first, 'my card')"
    """
    return f"{atom_text(predicate)}({', '.join(map(atom_text, inputs))})"


def _parsed(text: str) -> tuple[str, tuple[str, ...]] | None:
    """The name and the columns of a call; None where the text is none."""
    call = _CALL.fullmatch(text)
    return None if call is None else (atom_name(call[1]), _arguments(call[2]))


def _arguments(text: str) -> tuple[str, ...]:
    if _ARGUMENTS.fullmatch(text) is None:  # a quote within a name
        return tuple(part.strip() for part in text.split(","))
    return tuple(atom_name(argument) for argument in _ARGUMENT.findall(text))


# Columns of a table ---------------------------------------------------------------------------------


def label_columns(names: Iterable[str], declarations: Declarations, schema: Schema | None = None) -> tuple[str, ...]:
    """The columns of a table that hold labels: those named like a call of a declared neural predicate or network.

    `rank(first)` holds labels where `first` is another column and `rank` a neural predicate of one input. Any other
    name with parentheses is the name of an ordinary column.

    Parameters
    ----------
    names : the names of all columns.
    declarations : the neural declarations of the program.
    schema : the kinds of the columns, where examples may own parts; `rank(card_2)` holds labels of the second card.

    Returns
    -------
    The names of the columns with labels.

    >>> declarations = {0: Declaration(0, "rank_net", 1, 2, ("1", "2"), "rank")}
    >>> label_columns(["first", "rank(first)", "rank(third)", "length(cm)"], declarations)
    ('rank(first)',)
    """
    names = list(names)
    return tuple(name for name in names if _is_call(name, set(names) - {name}, declarations, schema or {}))


def columns_like_calls(names: Iterable[str], with_parts: bool = False) -> frozenset[str]:
    """The columns of a table that are named like a call on other columns, and so may hold labels.

    Parameters
    ----------
    names : the names of all columns.
    with_parts : whether examples own parts, whose pictures are no columns: then any call may be on these.

    >>> sorted(columns_like_calls(["first", "rank(first)", "length (cm)"]))
    ['rank(first)']
    """
    names = set(map(str, names))
    calls = ((name, _parsed(name)) for name in names)
    return frozenset(
        name for name, call in calls if call is not None and (with_parts or set(call[1]) <= names - {name})
    )


def _is_call(name: str, columns: Collection[str], declarations: Declarations, schema: Schema) -> bool:
    call = _parsed(name)
    return (
        call is not None
        and all(argument in columns or is_picture_name(argument, schema) for argument in call[1])
        and any(
            _names(call[0], declaration) and declaration.inputs == len(call[1]) for declaration in declarations.values()
        )
    )


def _names(name: str, declaration: Declaration) -> bool:
    """Whether a name is that of a declaration's predicate, network, or of an instance of the network."""
    return name in (declaration.predicate, declaration.network) or name.split("#")[0] == declaration.network


def take_labels(
    table: Any, concepts: Mapping[str, Any] | None, declarations: Callable[[Mapping[str, Any]], Declarations]
) -> tuple[Any, Mapping[str, Any]]:
    """A table without its columns of labels, and all labels: those of the columns and those that are given.

    Parameters
    ----------
    table : `Examples`, or anything that `Examples` takes.
    concepts : labels that are given besides.
    declarations : the neural declarations of the program, given the columns of the table that cannot hold labels; it is
        called only where another column is named like a call on these, such as `rank(first)`.

    Returns
    -------
    The table, itself where no column holds labels; and the labels.

    Raises
    ------
    DataError : where a column of labels is also given in `concepts`, or holds arrays or probabilities.
    """
    given = {} if concepts is None else concepts
    own_parts = isinstance(table, Examples) and has_parts(table.schema)
    like_calls = columns_like_calls(_column_names(table), own_parts) if has_names(table) else frozenset()
    if not like_calls:
        return table, given
    columns = dict(table.items()) if isinstance(table, Examples) else named_columns(table)
    known = declarations({n: column for n, column in columns.items() if n not in like_calls})
    names = label_columns(columns, known, table.schema if isinstance(table, Examples) else None)
    both = [name for name in names if isinstance(given, Mapping) and name in given]
    if both:
        raise DataError(f"{both[0]!r} is a column of the table and is given in `concepts`; leave one of them out.")
    if not names:
        return table, given
    rest = {name: column for name, column in columns.items() if name not in names}
    entries = {name: _entries(name, columns[name]) for name in names}
    return (table.select(list(rest)) if isinstance(table, Examples) else rest), {**entries, **given}


def _column_names(table: Any) -> Iterable[Any]:
    return table.names if isinstance(table, Examples) else table


def _entries(name: str, column: Any) -> list[Any]:
    """The entries of a column of labels, None where there is none."""
    if not isinstance(column, Column):
        return list(column)
    match column.kind:
        case Boolean() | Number():
            values = (column.values + 0).tolist()  # 0 and 1 may be values of a network, True and False may not
        case Category():
            values = [column.kind.domain[code] for code in column.values]
        case _:
            raise DataError(
                f"Column {name!r} should hold labels, and holds arrays or probabilities; give one value a row."
            )
    missing = np.zeros(len(column), dtype=bool) if column.missing is None else column.missing
    return [None if absent else value for value, absent in zip(values, missing, strict=True)]


# Reading --------------------------------------------------------------------------------------------


class _Label(NamedTuple):
    """A label as it was given."""

    declaration: Declaration
    inputs: tuple[str, ...]
    example: int
    place: str  # the row of the caller's table
    value: int
    given: Any


def read_labels(
    concepts: Mapping[str, Any],
    examples: Examples,
    declarations: Declarations,
    *,
    calls: Iterable[Call] | None = None,
    kept: npt.NDArray[np.bool_] | None = None,
    location: Callable[[int], str] = "row {}".format,
) -> Anchors:
    """The labels of each network, checked against the examples.

    Parameters
    ----------
    concepts : labels by network call, `{"rank(first)": [5, None, …]}`, or by predicate and column,
        `{"rank": {"first": [5, None, …]}, "same": {("first", "second"): {17: True}}}`. The labels of a call are one
        entry for each row, None or NaN where there is none, or a mapping of row numbers to values. A predicate may be
        named by its network.
    examples : the examples that are labelled.
    declarations : the neural declarations of the program.
    calls : declared networks and the columns that they are called on, of which a name without columns,
        `{"rank": [5, None, …]}`, must mean one; by default any network of one input on any column of images.
    kept : mask of the rows of the caller's table that are the examples; labels of other rows are left out.
    location : what messages call a row of that table.

    Returns
    -------
    Labels by the declared name of the network, one for each labelled entry; `distinct` has one for each image.

    Raises
    ------
    DataError
        Where a predicate, column, row or value does not exist, an image is missing, the labels of a column have another
        length, or two labels for one image differ.

    >>> declarations = {0: Declaration(0, "rank_net", 1, 3, ("1", "2", "3"), "rank")}
    >>> X = Examples({"card": np.arange(8.0).reshape(2, 2, 2)})
    >>> read_labels({"rank(card)": [3, None]}, X, declarations)["rank_net"].values.tolist()
    [2]
    """
    kept = np.ones(len(examples), dtype=bool) if kept is None else kept
    position = np.cumsum(kept) - 1  # the example of each kept row
    possible = _image_calls(examples.schema, declarations) if calls is None else list(calls)
    labels: dict[str, list[_Label]] = {}
    for name, columns, given in _flattened(concepts):
        declaration = _declaration(name, columns, declarations)
        inputs = _only_call(name, declaration, possible) if columns is None else columns
        where = call_text(declaration.predicate, inputs)
        _check_inputs(where, inputs, examples)
        complete = examples.complete(inputs)
        for row, value in _rows_and_values(where, given, len(kept)):
            number = _value_number(where, location(row), value, declaration)
            if not kept[row]:
                continue
            if not complete[position[row]]:
                raise DataError(
                    f"{where!r} has the label {value!r} in {location(row)}, where the image is missing; leave this label out."
                )
            labels.setdefault(declaration.network, []).append(
                _Label(declaration, inputs, int(position[row]), location(row), number, value)
            )
    return {network: _network_labels(network, of_network, examples) for network, of_network in labels.items()}


def model_labels(
    model: TreeModel,
    X: Any,
    concepts: Mapping[str, Any] | None = None,
    location: Callable[[int], str] = "row {}".format,
) -> tuple[Examples, Anchors]:
    """The examples of a table with the labels that are given for them, for a model.

    Parameters
    ----------
    model : the tree with its program and networks.
    X : the examples, as `Examples` or a table with the columns of the schema; columns such as `rank(first)` hold labels.
    concepts : labels, as in `read_labels`; a name without columns means the only call of the network in the tree.
    location : what messages call a row of the table.

    Returns
    -------
    The columns that the tree reads or that are labelled, and labels by the declared name of the network.

    Raises
    ------
    DataError : where labels do not fit, as in `read_labels`, or columns are missing.
    """
    declarations = model.program.declarations
    table, given = take_labels(X, concepts, lambda _: declarations)
    labelled = {column for _, columns, _ in _flattened(given) for column in columns or ()}
    examples = model.read_with(table, labelled)
    networks = {instance: declarations[number].network for number, instance in model.declarations_and_instances}
    calls = [(networks[call.network], call.inputs) for call in sorted(model.network_calls)]
    return examples, read_labels(given, examples, declarations, calls=calls, location=location)


def _flattened(concepts: Any) -> Iterator[tuple[str, tuple[str, ...] | None, Any]]:
    """Name, input columns and labels of each call; None for columns that are not named."""
    if not isinstance(concepts, Mapping):
        raise DataError(
            f"`concepts` is of type {type(concepts).__name__}; give a mapping such as {{'rank(first)': [5, None, …]}}."
        )
    for key, given in concepts.items():
        call = _parsed(str(key))
        if call is not None:
            yield *call, given
        elif isinstance(given, Mapping) and not all(isinstance(row, (int, np.integer)) for row in given):
            for columns, labels in given.items():
                inputs = _arguments(columns) if isinstance(columns, str) else tuple(map(str, columns))
                yield atom_name(str(key)), inputs, labels
        else:
            yield atom_name(str(key)), None, given


def _image_calls(schema: Schema, declarations: Declarations) -> list[Call]:
    """All calls of networks of one input on columns of images."""
    images = [name for name, kind in schema.items() if isinstance(kind, Tensor)]
    return [(d.network, (name,)) for d in declarations.values() if d.inputs == 1 for name in images]


def _only_call(name: str, declaration: Declaration, possible: Iterable[Call]) -> tuple[str, ...]:
    """The columns of the only call that a name without columns can mean."""
    inputs = list(dict.fromkeys(inputs for network, inputs in possible if network == declaration.network))
    if len(inputs) == 1:
        return inputs[0]
    calls = " or ".join(call_text(declaration.predicate, columns) for columns in inputs[:3])
    could = f", and could be of {calls}" if calls else ""
    raise DataError(f"The labels of {name!r} name no column{could}; write {{'{name}(COLUMN)': labels}}.")


def _declaration(name: str, inputs: tuple[str, ...] | None, declarations: Declarations) -> Declaration:
    known = [d for d in declarations.values() if _names(name, d)]
    if not known:
        names = list(dict.fromkeys(n for d in declarations.values() for n in (d.predicate, d.network)))
        raise DataError(
            f"There are labels for {name!r}, which is no neural predicate of the background knowledge."
            f"{did_you_mean(name, names)}"
        )
    fitting = known if inputs is None else [d for d in known if d.inputs == len(inputs)]
    if not fitting:
        assert inputs is not None
        raise DataError(
            f"The labels of {call_text(name, inputs)!r} name {len(inputs)} columns, and {name!r} reads {known[0].inputs}; "
            "name so many columns."
        )
    if len({d.network for d in fitting}) > 1:
        networks = ", ".join(dict.fromkeys(d.network for d in fitting))
        raise DataError(
            f"{name!r} is read by several networks ({networks}); write the name of one of them in its place."
        )
    return fitting[0]


def _check_inputs(where: str, inputs: tuple[str, ...], examples: Examples) -> None:
    for column in inputs:
        if column not in examples.schema:
            raise DataError(
                f"The labels of {where!r} name the column {column!r}, which does not exist."
                f"{did_you_mean(column, examples.names)}"
            )
        kind = examples.schema[column]
        if not isinstance(kind, (Tensor, Number)):
            raise DataError(
                f"The labels of {where!r} name the column {column!r}, which no network can read; "
                "name a column of images or numbers."
            )


def _rows_and_values(where: str, given: Any, length: int) -> Iterator[tuple[int, Any]]:
    """Rows with a label, and the labels."""
    if isinstance(given, Mapping):
        for row, value in given.items():
            if isinstance(row, bool) or not isinstance(row, (int, np.integer)) or not 0 <= row < length:
                raise DataError(f"{where!r} has a label for row {row!r}; the table has {length} rows, counted from 0.")
            if not _is_empty(value):
                yield int(row), value
        return
    if isinstance(given, (str, bytes)) or not hasattr(given, "__len__"):
        raise DataError(
            f"The labels of {where!r} are of type {type(given).__name__}; give one entry for each row, or a mapping of rows to "
            "values."
        )
    entries = list(given)
    if len(entries) != length:
        raise DataError(
            f"{where!r} has {len(entries)} labels for {length} rows; give one entry for each row, None where there is no "
            "label, or a mapping of rows to values."
        )
    for row, value in enumerate(entries):
        if not _is_empty(value):
            yield row, value


def _is_empty(value: Any) -> bool:
    return value is None or value is np.ma.masked or (isinstance(value, str) and not value.strip()) or is_missing(value)


def _value_number(where: str, place: str, value: Any, declaration: Declaration) -> int:
    """The number of a value of a declaration, compared as the values of a table are: 5, 5.0 and "5" are one value."""
    plain = value.item() if isinstance(value, np.generic) else value
    if declaration.values is None:
        allowed = "True and False"
        truth = _truth(plain)
        if truth is not None:
            return int(truth)
    else:
        names = [atom_name(name) for name in declaration.values]
        allowed = ", ".join(names)
        if not isinstance(plain, bool) and isinstance(plain, (str, int, float)):
            text = str(plain).strip()
            if text in names:
                return names.index(text)
            number = _number(text)
            if number is not None and number in (numbers := [_number(name) for name in names]):
                return numbers.index(number)
    raise DataError(
        f"{where!r} has the label {value!r} in {place}, which is no value of {declaration.predicate!r}; its values are "
        f"{allowed}. Correct the label, or leave it out."
    )


def _truth(value: Any) -> bool | None:
    if isinstance(value, str):
        return _TRUTH.get(value.strip().lower())
    return bool(value) if isinstance(value, (bool, int, float)) and value in (0, 1) else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _network_labels(network: str, labels: Sequence[_Label], examples: Examples) -> NetworkLabels:
    """The labels of one network, each entry once; labels that contradict each other are refused."""
    by_image: dict[bytes, _Label] = {}
    by_entry: dict[tuple[tuple[str, ...], int], tuple[_Label, bool]] = {}
    for label in labels:
        first = by_image.setdefault(image_digest(label.inputs, label.example, examples), label)
        if first.value != label.value:
            raise DataError(
                f"Two labels for one image: {_text(first)} is {first.given!r} in {first.place}, and {_text(label)} is "
                f"{label.given!r} in {label.place}, with the same input; correct one of them, or leave both out."
            )
        by_entry.setdefault((label.inputs, label.example), (label, first is not label))
    calls = tuple(dict.fromkeys(inputs for inputs, _ in by_entry))
    ordered = sorted(by_entry.values(), key=lambda pair: (calls.index(pair[0].inputs), pair[0].example))
    return NetworkLabels(
        network,
        labels[0].declaration.predicate,
        calls,
        np.array([calls.index(label.inputs) for label, _ in ordered], dtype=np.int64),
        np.array([label.example for label, _ in ordered], dtype=np.int64),
        np.array([label.value for label, _ in ordered], dtype=np.int64),
        np.array([repeated for _, repeated in ordered], dtype=bool),
    )


def _text(label: _Label) -> str:
    return repr(call_text(label.declaration.predicate, label.inputs))


def image_digest(inputs: Iterable[str], row: int, examples: Examples) -> bytes:
    """Equal for equal inputs of a network, whichever columns and rows hold them.

    Parameters
    ----------
    inputs : the columns that the network reads.
    row : the example.
    examples : the examples.

    Returns
    -------
    16 bytes.
    """
    digest = blake2b(digest_size=16)
    for name in inputs:
        entry = np.ascontiguousarray(np.asarray(examples.column(name).values[row : row + 1])[0])
        digest.update(f"{entry.dtype.str}{entry.shape}".encode())
        digest.update(entry.tobytes())
    return digest.digest()
