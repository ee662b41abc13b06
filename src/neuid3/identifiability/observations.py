"""Values of a tree's variables in examples: labels where they are given, else the most probable values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.examples import Examples
from neuid3.errors import DataError, did_you_mean
from neuid3.logic.formula import CellVariable, ColumnVariable, NeuralVariable, Variable
from neuid3.logic.program import Program
from neuid3.logic.quoting import atom_name, atom_text
from neuid3.tree.model import TreeModel

# The value of an image that has no label.
UNKNOWN = -1

# Examples whose networks run at a time.
BATCH_ROWS = 4096

Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_CALL = re.compile(r"\s*('(?:[^'\\]|\\.)*'|[^\s('\"]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_ARGUMENT = re.compile(r"\s*('(?:[^'\\]|\\.)*'|[^,']+?)\s*(?:,|$)")


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """The values of a tree's variables in examples.

    Attributes
    ----------
    codes : the index of the value of each variable but choices, `(example,)`.
    labels : for each variable of a network with labels the index of its label, `(example,)`; -1 without one.
    complete : whether an example has all entries that the tree reads, or labels for them, `(example,)`.
    """

    codes: Mapping[Variable, Codes]
    labels: Mapping[NeuralVariable, Codes]
    complete: Mask

    @property
    def source(self) -> str:
        """Where the values of networks in complete examples come from: "labels", "predictions" or both."""
        neural = [variable for variable in self.codes if isinstance(variable, NeuralVariable)]
        none = np.full(len(self.complete), UNKNOWN)
        labelled = [(self.labels.get(v, none) != UNKNOWN)[self.complete] for v in neural]
        if all(of_variable.all() for of_variable in labelled):
            return "labels"
        return "labels and predictions" if any(of_variable.any() for of_variable in labelled) else "predictions"


def observe(
    model: TreeModel, X: Any, variables: Iterable[Variable], concepts: Mapping[str, Any] | None = None
) -> Observations:
    """The values of variables in examples.

    A network's value is its label, or else its most probable value; so is that of a probability or distribution column. An
    example with a missing entry, for which there is no label, is not complete.

    Parameters
    ----------
    model : the tree with its program and networks.
    X : the examples, as `Examples` or a table with the columns of the schema.
    variables : variables of the tree.
    concepts : labels, as in `read_labels`.

    Returns
    -------
    The values.

    Raises
    ------
    DataError : where labels do not fit, or columns are missing.
    """
    examples = model.read(X)
    observed = [v for v in variables if isinstance(v, (NeuralVariable, ColumnVariable, CellVariable))]
    neural = [variable for variable in observed if isinstance(variable, NeuralVariable)]
    labels = read_labels(concepts or {}, neural, model.program, len(examples))
    codes: dict[Variable, Codes] = {variable: np.zeros(len(examples), dtype=np.int64) for variable in observed}
    complete = np.ones(len(examples), dtype=bool)
    arrays = model.inference.arrays
    with model.evaluating(), arrays.without_gradients():
        for variable in observed:
            present = _present(examples, variable)
            unlabelled = np.ones(len(examples), dtype=bool)
            if isinstance(variable, NeuralVariable) and variable in labels:
                codes[variable] = labels[variable].copy()
                unlabelled = labels[variable] == UNKNOWN
            rows = np.flatnonzero(unlabelled & present)  # a missing entry has no value, only a prior
            for start in range(0, len(rows), BATCH_ROWS):
                batch = rows[start : start + BATCH_ROWS]
                evidence = model.evidence_of(examples[batch])
                codes[variable][batch] = arrays.to_numpy(evidence.weights(variable)).argmax(axis=0)
            complete &= present | ~unlabelled
    return Observations(codes, labels, complete)


def _present(examples: Examples, variable: NeuralVariable | ColumnVariable | CellVariable) -> Mask:
    columns = variable.inputs if isinstance(variable, NeuralVariable) else (variable.column,)
    present: Mask = np.asarray(examples.complete(columns))
    return present


def read_labels(
    concepts: Mapping[str, Any], variables: Sequence[NeuralVariable], program: Program, n: int
) -> dict[NeuralVariable, Codes]:
    """Labels of images as indices of values, -1 where there is none, `(example,)` for each variable that has some.

    Parameters
    ----------
    concepts : for a network or neural predicate with the columns that it reads, as in `rank(first)`, the value of each
        example, None or NaN where it is unknown. The columns may be left out where the tree calls it on one image.
    variables : the variables of the tree's networks.
    program : the background knowledge.
    n : the number of examples.

    Returns
    -------
    Indices of values by variable.

    Raises
    ------
    DataError : where a network or a value does not exist, or the number of labels is another.
    """
    labels: dict[NeuralVariable, Codes] = {}
    for key, given in concepts.items():
        codes_by_domain: dict[tuple[str, ...], Codes] = {}
        for variable in _variables_of(str(key), variables, program):
            texts = value_texts(variable, program)
            if texts not in codes_by_domain:
                codes_by_domain[texts] = _label_codes(str(key), given, texts, n)
            if variable in labels:
                raise DataError(f"{call_text(variable, program)} has labels twice; give them once.")
            labels[variable] = codes_by_domain[texts]
    return labels


def _variables_of(key: str, variables: Sequence[NeuralVariable], program: Program) -> list[NeuralVariable]:
    """The variables that a key of `concepts` names."""
    match = _CALL.fullmatch(key)
    name = atom_name(match.group(1)) if match else key
    of_name = [v for v in variables if name in _names(v, program)]
    calls = sorted({call_text(v, program) for v in variables})
    if not of_name:
        hint = did_you_mean(key, calls)
        raise DataError(
            f"There are labels of {key!r}, and the tree calls no network or neural predicate of that name.{hint}"
        )
    inside = match.group(2) if match else None
    if inside is None:
        inputs = {v.inputs for v in of_name}
        if len(inputs) > 1:
            texts = " and ".join(sorted({call_text(v, program) for v in of_name}))
            raise DataError(
                f"There are labels of {key!r}, which the tree calls as {texts}; name the call, with its columns."
            )
        return of_name
    columns = tuple(atom_name(argument) for argument in _ARGUMENT.findall(inside))
    chosen = [v for v in of_name if v.inputs == columns]
    if not chosen:
        raise DataError(f"There are labels of {key!r}, which the tree does not call.{did_you_mean(key, calls)}")
    return chosen


def names_a_call(key: str, variables: Sequence[NeuralVariable], program: Program) -> bool:
    """Whether a name, such as that of a table's column, is a network call of the tree with its columns: `rank(first)`.

    Parameters
    ----------
    key : the name.
    variables : the variables of the tree's networks.
    program : the background knowledge.

    Returns
    -------
    True if `read_labels` takes it as a key.
    """
    if "(" not in key:
        return False
    try:
        return bool(_variables_of(key, variables, program))
    except DataError:
        return False


def _names(variable: NeuralVariable, program: Program) -> set[str]:
    declaration = program.declarations[variable.declaration]
    return {variable.network, declaration.network, declaration.predicate}


def call_text(variable: NeuralVariable, program: Program) -> str:
    """A network call as text, by its neural predicate: `rank(first)`.

    Parameters
    ----------
    variable : the variable of the call.
    program : the background knowledge.

    Returns
    -------
    The text.
    """
    return f"{program.declarations[variable.declaration].predicate}({', '.join(map(atom_text, variable.inputs))})"


def value_texts(variable: NeuralVariable, program: Program) -> tuple[str, ...]:
    """The values of a network's variable as text; those of a neural fact are `no` and `yes`.

    Parameters
    ----------
    variable : a variable of a network.
    program : the background knowledge.

    Returns
    -------
    The values in their order.
    """
    values = program.declarations[variable.declaration].values
    return ("no", "yes") if values is None else tuple(values)


def _label_codes(key: str, given: Any, texts: Sequence[str], n: int) -> Codes:
    """The index of the value of each label; -1 where there is none."""
    entries = given.tolist() if hasattr(given, "tolist") else given
    if isinstance(entries, (str, bytes)) or not isinstance(entries, Iterable):
        raise DataError(f"The labels of {key!r} are a {type(given).__name__}; give a value, or None, for each example.")
    entries = list(entries)
    if len(entries) != n:
        raise DataError(f"There are {len(entries)} labels of {key!r} for {n} examples; give one, or None, for each.")
    index = {atom_name(text): i for i, text in enumerate(texts)}
    if tuple(texts) == ("no", "yes"):
        index |= {"false": 0, "true": 1, "0": 0, "1": 1}
    codes = np.full(n, UNKNOWN, dtype=np.int64)
    for row, entry in enumerate(entries):
        text = _entry_text(entry)
        if text is None:
            continue
        if text not in index:
            raise DataError(
                f"The labels of {key!r} have the value {entry!r:.40} in row {row}, which the network does not have."
                f"{did_you_mean(text, map(atom_name, texts))}"
            )
        codes[row] = index[text]
    return codes


def _entry_text(entry: Any) -> str | None:
    """A label as text; None where it is unknown."""
    if entry is None or entry is np.ma.masked or type(entry).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(entry, (bool, np.bool_)):
        return str(bool(entry)).lower()
    if isinstance(entry, (float, np.floating)):
        number = float(entry)
        return None if np.isnan(number) else str(int(number)) if number.is_integer() else str(number)
    return str(entry).strip() or None
