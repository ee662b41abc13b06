"""Anchors: labels that say which value a network should return for some images."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Boolean, Category, Column, Number, Tensor, is_missing
from neuid3.data.examples import Examples
from neuid3.data.reading.cells import BOOLEAN_SPELLINGS
from neuid3.data.tables import stratified
from neuid3.errors import DataError, did_you_mean
from neuid3.logic.program import Declaration
from neuid3.logic.quoting import atom_name

# From so many labels of a network on, a fraction of them is held out to measure concept accuracy.
MIN_HELD_OUT_LABELS, HELD_OUT_FRACTION = 50, 0.2

_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*\((.*)\)\s*", re.DOTALL)
_TRUTH = {word: word == yes for yes, no in BOOLEAN_SPELLINGS for word in (yes, no)}

Ints: TypeAlias = npt.NDArray[np.int64]
Anchors: TypeAlias = Mapping[str, "NetworkLabels"]


@dataclass(frozen=True, slots=True, eq=False)
class NetworkLabels:
    """The labels of one declared network, one for each labelled image or tuple of images, sorted by call and row.

    Attributes
    ----------
    network : the declared name of the network.
    concept : the predicate that the labels speak of.
    calls : the tuples of columns that hold labelled images.
    call_numbers : for each label the number of its tuple in `calls`, `(label,)`.
    rows : for each label the row of the examples, `(label,)`.
    values : the number of the value that the network should return; for a neural fact 1 for yes, `(label,)`.
    """

    network: str
    concept: str
    calls: tuple[tuple[str, ...], ...]
    call_numbers: Ints
    rows: Ints
    values: Ints

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, labels: npt.NDArray[Any]) -> NetworkLabels:
        """Some of the labels, given by a mask or by sorted indices."""
        return NetworkLabels(
            self.network,
            self.concept,
            self.calls,
            self.call_numbers[labels],
            self.rows[labels],
            self.values[labels],
        )

    def by_call(self) -> Iterator[tuple[tuple[str, ...], Ints, Ints]]:
        """For each tuple of columns with labels, the labelled rows and their values, in the order of the labels."""
        for number, inputs in enumerate(self.calls):
            mine = self.call_numbers == number
            if mine.any():
                yield inputs, self.rows[mine], self.values[mine]


def anchor_columns(names: Iterable[str], declarations: Mapping[int, Declaration]) -> tuple[str, ...]:
    """The columns of a table that hold labels: those named like a call of a declared neural predicate or network.

    `rank(first)` holds labels where `first` is another column and `rank` a neural predicate of one input. Any other
    name with parentheses is the name of an ordinary column.

    Parameters
    ----------
    names : the names of all columns.
    declarations : the neural declarations of the program.

    Returns
    -------
    The names of the columns with labels.

    >>> declarations = {0: Declaration(0, "rank_net", 1, 2, ("1", "2"), "rank")}
    >>> anchor_columns(["first", "rank(first)", "rank(third)", "length(cm)"], declarations)
    ('rank(first)',)
    """
    names = list(names)
    return tuple(name for name in names if _is_call(name, set(names) - {name}, declarations))


def looks_like_call(name: str) -> bool:
    """Whether a column has a name such as `rank(first)`."""
    return _CALL.fullmatch(name) is not None


def _is_call(name: str, columns: Collection[str], declarations: Mapping[int, Declaration]) -> bool:
    call = _CALL.fullmatch(name)
    if call is None:
        return False
    inputs = _arguments(call[2])
    return set(inputs) <= set(columns) and any(
        call[1] in (declaration.predicate, declaration.network) and declaration.inputs == len(inputs)
        for declaration in declarations.values()
    )


def take_anchor_columns(
    examples: Examples, declarations: Mapping[int, Declaration]
) -> tuple[Examples, dict[str, list[Any]]]:
    """The examples without their columns of labels, and these labels by column, with None where there is none.

    Parameters
    ----------
    examples : the examples.
    declarations : the neural declarations of the program.

    Returns
    -------
    The other columns, and one entry for each row of each column of labels.
    """
    names = anchor_columns(examples.names, declarations)
    if not names:
        return examples, {}
    rest = [name for name in examples.names if name not in names]
    return examples.select(rest), {name: _entries(name, examples.column(name)) for name in names}


def _entries(name: str, column: Column) -> list[Any]:
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


def read_anchors(
    concepts: Mapping[str, Any],
    examples: Examples,
    declarations: Mapping[int, Declaration],
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
    kept : mask of the rows of the caller's table that are the examples; labels of other rows are left out.
    location : what messages call a row of that table.

    Returns
    -------
    Labels by the declared name of the network. Equal images with equal labels count once.

    Raises
    ------
    DataError
        Where a predicate, column, row or value does not exist, an image is missing, the labels of a column have another
        length, or two labels for one image differ.

    >>> declarations = {0: Declaration(0, "rank_net", 1, 3, ("1", "2", "3"), "rank")}
    >>> X = Examples({"card": np.arange(8.0).reshape(2, 2, 2)})
    >>> read_anchors({"rank(card)": [3, None]}, X, declarations)["rank_net"].values.tolist()
    [2]
    """
    kept = np.ones(len(examples), dtype=bool) if kept is None else kept
    position = np.cumsum(kept) - 1  # the example of each kept row
    labels: dict[str, list[_Label]] = {}
    for name, inputs, given in _flattened(concepts):
        declaration = _declaration(name, inputs, declarations)
        _check_inputs(name, inputs, examples)
        where, complete = f"{name}({', '.join(inputs)})", examples.complete(inputs)
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


def _flattened(concepts: Any) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """Name, input columns and labels of each call."""
    if not isinstance(concepts, Mapping):
        raise DataError(
            f"`concepts` is a {type(concepts).__name__}; give a mapping such as {{'rank(first)': [5, None, …]}}."
        )
    for key, given in concepts.items():
        call = _CALL.fullmatch(str(key))
        if call is not None:
            yield call[1], _arguments(call[2]), given
        elif isinstance(given, Mapping) and not all(isinstance(row, (int, np.integer)) for row in given):
            for columns, labels in given.items():
                yield str(key), _arguments(columns) if isinstance(columns, str) else tuple(map(str, columns)), labels
        else:
            raise DataError(
                f"The labels of {key!r} name no column; write {{'{key}(COLUMN)': labels}} or {{{key!r}: {{'COLUMN': labels}}}}."
            )


def _arguments(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


def _declaration(name: str, inputs: tuple[str, ...], declarations: Mapping[int, Declaration]) -> Declaration:
    known = [d for d in declarations.values() if name in (d.predicate, d.network)]
    if not known:
        names = list(dict.fromkeys(n for d in declarations.values() for n in (d.predicate, d.network)))
        raise DataError(
            f"There are labels for {name!r}, which is no neural predicate of the background knowledge."
            f"{did_you_mean(name, names)}"
        )
    fitting = [d for d in known if d.inputs == len(inputs)]
    if not fitting:
        raise DataError(
            f"The labels of '{name}({', '.join(inputs)})' name {len(inputs)} columns, and {name!r} reads {known[0].inputs}; "
            "name so many columns."
        )
    if len({d.network for d in fitting}) > 1:
        networks = ", ".join(dict.fromkeys(d.network for d in fitting))
        raise DataError(
            f"{name!r} is read by several networks ({networks}); write the name of one of them in its place."
        )
    return fitting[0]


def _check_inputs(name: str, inputs: tuple[str, ...], examples: Examples) -> None:
    for column in inputs:
        if column not in examples.schema:
            raise DataError(
                f"The labels of '{name}({', '.join(inputs)})' name the column {column!r}, which does not exist."
                f"{did_you_mean(column, examples.names)}"
            )
        kind = examples.schema[column]
        if not isinstance(kind, (Tensor, Number)):
            raise DataError(
                f"The labels of '{name}({', '.join(inputs)})' name the column {column!r}, which no network can read; "
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
            f"The labels of {where!r} are a {type(given).__name__}; give one entry for each row, or a mapping of rows to "
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
    """The labels of one network, each image once; labels that contradict each other are refused."""
    first: dict[bytes, _Label] = {}
    for label in labels:
        known = first.setdefault(_image_digest(label, examples), label)
        if known.value != label.value:
            raise DataError(
                f"Two labels for one image: '{_call_text(known)}' is {known.given!r} in {known.place}, and "
                f"'{_call_text(label)}' is {label.given!r} in {label.place}, with the same input; correct one of them, or "
                "leave both out."
            )
    calls = tuple(dict.fromkeys(label.inputs for label in first.values()))
    kept = sorted(first.values(), key=lambda label: (calls.index(label.inputs), label.example))
    return NetworkLabels(
        network,
        labels[0].declaration.predicate,
        calls,
        np.array([calls.index(label.inputs) for label in kept], dtype=np.int64),
        np.array([label.example for label in kept], dtype=np.int64),
        np.array([label.value for label in kept], dtype=np.int64),
    )


def _call_text(label: _Label) -> str:
    return f"{label.declaration.predicate}({', '.join(label.inputs)})"


def _image_digest(label: _Label, examples: Examples) -> bytes:
    """Equal for equal inputs of a network, whichever columns hold them."""
    digest = blake2b(digest_size=16)
    for name in label.inputs:
        entry = np.ascontiguousarray(np.asarray(examples.column(name).values[label.example : label.example + 1])[0])
        digest.update(f"{entry.dtype.str}{entry.shape}".encode())
        digest.update(entry.tobytes())
    return digest.digest()


# Held-out labels ------------------------------------------------------------------------------------


def anchored_rows(anchors: Anchors, length: int) -> npt.NDArray[np.bool_]:
    """The mask of rows whose labels must all be trained on: those of networks with too few labels to hold some out.

    Parameters
    ----------
    anchors : labels by network.
    length : the number of rows.

    Returns
    -------
    A Boolean mask, `(row,)`.
    """
    mask = np.zeros(length, dtype=bool)
    for labels in anchors.values():
        if len(labels) < MIN_HELD_OUT_LABELS:
            mask[labels.rows] = True
    return mask


def split_anchors(anchors: Anchors, unseen: npt.NDArray[np.bool_], seed: int) -> tuple[Anchors, Anchors]:
    """The labels that networks are trained on, and those that are held out to measure concept accuracy.

    Labels of validation examples are never trained on. Of a network with `MIN_HELD_OUT_LABELS` labels or more, these are
    held out, and others with them until a fifth is, drawn from every value alike.

    Parameters
    ----------
    anchors : labels by network.
    unseen : the mask of the validation examples, `(example,)`.
    seed : seed of the draw.

    Returns
    -------
    Labels to train on and held-out labels, by network.
    """
    training, held_out = {}, {}
    for network, labels in anchors.items():
        validation = unseen[labels.rows]
        if len(labels) >= MIN_HELD_OUT_LABELS:
            missing = HELD_OUT_FRACTION - float(validation.mean())
            drawn = np.zeros(len(labels), dtype=bool)
            if missing > 0:
                rest = np.flatnonzero(~validation)
                fraction = missing * len(labels) / len(rest)
                drawn[rest[stratified(labels.values[rest], fraction, np.random.default_rng(seed))]] = True
            held_out[network] = labels[validation | drawn]
            validation = validation | drawn
        if not validation.all():
            training[network] = labels[~validation]
    return training, held_out


def selected_concepts(
    anchors: Anchors, declarations: Mapping[int, Declaration], rows: npt.NDArray[np.bool_]
) -> dict[str, dict[tuple[str, ...], dict[int, Any]]]:
    """The labels of some rows, in the form that `read_anchors` takes for the table of these rows.

    An image that also occurs in other rows is labelled once, so that rows and the other rows share no labelled image.

    Parameters
    ----------
    anchors : labels by network.
    declarations : the neural declarations of the program.
    rows : the mask of the rows, `(row,)`.

    Returns
    -------
    Values by network, by call and by row.
    """
    position = np.cumsum(rows) - 1
    values = {d.network: None if d.values is None else [atom_name(v) for v in d.values] for d in declarations.values()}
    selected: dict[str, dict[tuple[str, ...], dict[int, Any]]] = {}
    for network, labels in anchors.items():
        names = values[network]
        for inputs, label_rows, numbers in labels.by_call():
            of_call = {
                int(position[row]): bool(number) if names is None else names[number]
                for row, number in zip(label_rows, numbers, strict=True)
                if rows[row]
            }
            if of_call:
                selected.setdefault(network, {})[inputs] = of_call
    return selected
