"""Suggested labels: the images whose labels settle most of what the values of a tree's networks mean."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from neuid3.circuits.arrays import AnyArray
from neuid3.data.columns import are_image_names
from neuid3.data.examples import Examples
from neuid3.data.reading.concepts import FILE_COLUMNS, SEPARATOR
from neuid3.errors import (
    CircuitLimitError,
    DataError,
    GroundingLimitError,
    MissingPackageError,
    MissingPriorError,
    ParameterError,
    SearchLimitError,
)
from neuid3.identifiability.audit import check_time_limit, observed_certificate
from neuid3.identifiability.certificate import Certificate, tree_variables
from neuid3.identifiability.forms import results
from neuid3.identifiability.observations import BATCH_ROWS, UNKNOWN, Observations, observe, value_texts
from neuid3.identifiability.readings import ReadingProblem, ValueOf
from neuid3.identifiability.symmetries import Deadline
from neuid3.logic.formula import NeuralVariable, Variable
from neuid3.logic.program import Declaration, Program
from neuid3.logic.quoting import atom_name
from neuid3.tree.evidence import Evidence
from neuid3.tree.labels import call_text, image_digest
from neuid3.tree.model import TreeModel
from neuid3.tree.tree import paths
from neuid3.utils.files import write_atomically

# The columns of the table to fill in; the first three are those that `neuid3 fit --concepts` reads.
TABLE_COLUMNS = (*FILE_COLUMNS, "row", "columns", "values", "predicted", "probability", "why")

# Of each value that a network reads in a column, so many images of the largest entropy are compared, or `n` if that is more.
POOL = 64

# The most seconds for the order of the labels of a certificate.
ORDER_SECONDS = 5.0

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LabelSuggestion:
    """An image, or several that a network reads together, to be labelled.

    Attributes
    ----------
    row : the row of the table, counted from 0.
    columns : the columns that the network reads.
    predicate : the neural predicate, or the network where several networks have one predicate.
    values : the values that a label may have; `no` and `yes` for a neural fact.
    predicted : the most probable value of the network.
    probability : its probability.
    reason : why a label is suggested.
    settles : whether the label is one of a smallest set that leaves one reading.
    cells : the cell of each column where the table is one of text, such as the path of an image; empty otherwise.
    """

    row: int
    columns: tuple[str, ...]
    predicate: str
    values: tuple[str, ...]
    predicted: str
    probability: float
    reason: str
    settles: bool
    cells: tuple[str, ...] = ()

    @property
    def concept(self) -> str:
        """The network call that the label is for, as in `rank(first)`: a key of `concepts`."""
        return call_text(self.predicate, self.columns)

    def to_record(self) -> dict[str, Any]:
        """The suggestion as a line of the table to fill in, with an empty value.

        A single image of a file is named by its path and the predicate; other inputs by their cells and the network call.

        Returns
        -------
        Plain values by column.
        """
        is_file = len(self.cells) == 1 and are_image_names(self.cells)
        return dict(
            zip(
                TABLE_COLUMNS,
                (
                    SEPARATOR.join(self.cells),
                    self.predicate if is_file else self.concept,
                    "",
                    self.row,
                    ", ".join(self.columns),
                    ", ".join(self.values),
                    self.predicted,
                    round(self.probability, 4),
                    self.reason,
                ),
                strict=True,
            )
        )


@dataclass(frozen=True, slots=True)
class LabelSuggestions(Sequence[LabelSuggestion]):
    """Images to label, those that settle most first; `print` shows them as text.

    Attributes
    ----------
    suggestions : the images.
    notes : sentences about what the labels settle, and about limits that were reached.
    rows : the number of examples.
    """

    suggestions: tuple[LabelSuggestion, ...]
    notes: tuple[str, ...]
    rows: int

    def __len__(self) -> int:
        return len(self.suggestions)

    def __iter__(self) -> Iterator[LabelSuggestion]:
        return iter(self.suggestions)

    @overload
    def __getitem__(self, index: int) -> LabelSuggestion: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[LabelSuggestion, ...]: ...

    def __getitem__(self, index: int | slice) -> LabelSuggestion | tuple[LabelSuggestion, ...]:
        return self.suggestions[index]

    def __str__(self) -> str:
        head = ("row", "concept", "network says", "why")
        lines = [
            (str(s.row), s.concept, f"{s.predicted} ({probability_text(s.probability)})", s.reason)
            for s in self.suggestions
        ]
        table = [head, *lines] if lines else []
        widths = [max(len(line[i]) for line in table) for i in range(3)] if table else []
        rows = [
            f"{line[0]:>{widths[0]}}  {line[1]:<{widths[1]}}  {line[2]:<{widths[2]}}  {line[3]}".rstrip()
            for line in table
        ]
        return "\n".join([*rows, *self.notes])

    def to_records(self) -> list[dict[str, Any]]:
        """The table to fill in: a dictionary for each suggestion, with an empty `value`.

        Returns
        -------
        Dictionaries with the columns of the file.
        """
        return [suggestion.to_record() for suggestion in self.suggestions]

    def to_frame(self) -> Any:
        """The table to fill in, as a DataFrame.

        Returns
        -------
        A `pandas.DataFrame` with a row for each suggestion and an empty column `value`.

        Raises
        ------
        MissingPackageError : where pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise MissingPackageError("A DataFrame needs pandas: pip install pandas; or use to_records().") from None
        return pandas.DataFrame(self.to_records(), columns=list(TABLE_COLUMNS))

    def to_csv(self, path: Path | str | None = None) -> str:
        """The table to fill in, as CSV; `neuid3 fit --concepts` reads the filled file.

        Parameters
        ----------
        path : a file to write it to, atomically.

        Returns
        -------
        The text.
        """
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, TABLE_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.to_records())
        if path is not None:
            write_atomically(Path(path), text.getvalue().encode("utf-8"))
        return text.getvalue()

    def to_concepts(self, values: Iterable[Any]) -> dict[str, list[Any]]:
        """Labels for these suggestions, in the form that `concepts` has in Python.

        Parameters
        ----------
        values : a label for each suggestion, None, NaN or "" where there is none, such as a filled column `value`.

        Returns
        -------
        By network call, as in `rank(first)`, an entry for each example; None where there is no label.

        Raises
        ------
        DataError : where the number of labels is another.
        """
        given = list(values)
        if len(given) != len(self):
            raise DataError(
                f"There are {len(given)} labels for {len(self)} suggestions; give one, or None, for each of them."
            )
        concepts: dict[str, list[Any]] = {}
        for suggestion, value in zip(self.suggestions, given, strict=True):
            concepts.setdefault(suggestion.concept, [None] * self.rows)[suggestion.row] = value
        return concepts

    def with_cells(self, table: Mapping[str, Sequence[str] | None]) -> LabelSuggestions:
        """The same suggestions with the cells of their inputs, such as paths of images, for the file to fill in.

        Parameters
        ----------
        table : the cells of each column.

        Returns
        -------
        The suggestions.
        """

        def cells(suggestion: LabelSuggestion) -> tuple[str, ...]:
            columns = [table.get(name) for name in suggestion.columns]
            return tuple(column[suggestion.row] for column in columns if column is not None)

        return replace(self, suggestions=tuple(replace(s, cells=cells(s)) for s in self.suggestions))


def probability_text(probability: float) -> str:
    """A probability in percent, rounded down, so that only certainty is 100%.

    >>> probability_text(1.0), probability_text(0.9996), probability_text(0.514)
    ('100%', '99%', '51%')
    """
    return f"{int(100 * probability + 1e-9)}%"


def suggest_labels(
    model: TreeModel,
    X: Any,
    n: int = 5,
    *,
    concepts: Mapping[str, Any] | None = None,
    time_limit: float = 60.0,
    networks: Mapping[str, Any] | None = None,
) -> LabelSuggestions:
    """The images of a table whose labels settle most.

    First a smallest set of labels that leaves one reading of the examples: for each of its values the image that the
    network is most sure of, in the order in which they leave fewest readings. Then in the same way the other values, and
    at last images of which networks are unsure and on which the predicted class depends.

    Parameters
    ----------
    model : the tree with its program and networks.
    X : the examples, as `Examples` or a table with the columns of the schema.
    n : the most suggestions.
    concepts : labels that are known already, as in `audit`.
    time_limit : seconds for the search of a smallest set; the notes say where it did not suffice.
    networks : factories and modules of networks that a fit was given, by name.

    Returns
    -------
    The suggestions.

    Raises
    ------
    DataError : where columns are missing, or labels do not fit.
    ParameterError : where `n` is no positive integer, or `time_limit` is no number or negative.
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise ParameterError(f"n={n!r} is no number of images to label; give 1 or more.")
    check_time_limit(time_limit)
    examples = model.read(X)
    variables = tree_variables(model.tree.root, model.program)
    if not any(isinstance(variable, NeuralVariable) for variable in variables):
        return LabelSuggestions((), ("The tree calls no network, so there is nothing to label.",), len(examples))
    deadline = Deadline.after(float(time_limit))
    observations = observe(model, X, variables, concepts)
    images = _Images(model, examples, observations)
    certificate = observed_certificate(
        model, observations, settled=images.settled, seconds=deadline.seconds_left, networks=networks
    )
    settling, complete = _settling(model, observations, certificate, images, int(n), deadline)
    chosen = [*settling, *_informative(model, images, int(n) - len(settling))]
    notes = (
        _disagreement_note(model, examples, observations),
        _settling_note(certificate, len(settling), complete),
        _number_note(len(chosen), int(n)),
    )
    return LabelSuggestions(tuple(chosen), tuple(filter(None, notes)), len(examples))


def _disagreement_note(model: TreeModel, examples: Examples, observations: Observations) -> str:
    """A sentence about labels that are not what the networks say; such a network must learn them first."""
    arrays = model.inference.arrays
    wrong = total = 0
    with model.evaluating(), arrays.without_gradients():
        for call, codes in observations.labels.items():
            labelled = np.flatnonzero((codes != UNKNOWN) & examples.complete(call.inputs))
            for start in range(0, len(labelled), BATCH_ROWS):
                rows = labelled[start : start + BATCH_ROWS]
                weights = arrays.to_numpy(model.evidence_of(examples[rows]).weights(call))  # (value, example)
                wrong += int((weights.argmax(axis=0) != codes[rows]).sum())
                total += len(rows)
    return (
        f"Labels that are not what the networks say: {wrong:,} of {total:,}; reread the tree or fit again with them."
        if wrong
        else ""
    )


def _settling_note(certificate: Certificate, settling: int, complete: bool) -> str:
    """A sentence about what the first labels settle."""
    needed = len(certificate.labels)
    if certificate.readings is None:
        return "No row has all entries that the tree reads, so no label is known to settle more than another."
    if not certificate.labels_are_smallest:
        return "The time limit, or that of circuits, was reached before a smallest set of labels was found; allow more."
    if not needed:
        return "No label is needed for one reading of the examples."
    if complete:
        return (
            f"The first {'label leaves' if settling == 1 else f'{settling} labels leave'} one reading of the examples."
        )
    which = "this is the one that settles most" if settling == 1 else f"these are the {settling} that settle most"
    return (
        f"{needed} label{'s leave' if needed > 1 else ' leaves'} one reading of the examples; "
        + (which if settling else "every image with such a value has a label already")
        + "."
    )


def _number_note(number: int, n: int) -> str:
    """A sentence about a table with fewer images than asked for."""
    if not number:
        return "Every image that the networks read is missing or has a label; nothing is left to label."
    if number < n:
        return f"No more than {'this image is' if number == 1 else f'these {number} images are'} left to label."
    return ""


# Images ---------------------------------------------------------------------------------------------


class _Images:
    """The images that networks of a tree read, and those of them that have labels or are suggested.

    Parameters
    ----------
    model, examples, observations : the tree, and the values of its variables in the examples.

    Attributes
    ----------
    calls : the variables of the tree's networks, in its order.
    settled : values of networks that labels have settled.
    labelled : the number of labels of each value, by the declared network.
    """

    def __init__(self, model: TreeModel, examples: Examples, observations: Observations) -> None:
        self.program, self.examples, self.observations = model.program, examples, observations
        self.calls = [v for v in observations.codes if isinstance(v, NeuralVariable)]
        self.settled: set[ValueOf] = set()
        self.labelled: Counter[ValueOf] = Counter()
        self._used: set[tuple[str, bytes]] = set()
        for call, codes in observations.labels.items():
            for row in np.flatnonzero(codes != UNKNOWN).tolist():
                self.settled.add((call.network, int(codes[row])))
                if self._use(call, row):
                    self.labelled[self.declared(call), int(codes[row])] += 1

    def declared(self, call: NeuralVariable) -> str:
        """The declared network of a call, whose instances share labels."""
        return self.program.declarations[call.declaration].network

    def free_rows(self, call: NeuralVariable, value: int) -> Ints:
        """The rows without a label in which a network reads this value."""
        unlabelled = ~np.isnan(self.observations.confidence[call])
        return np.flatnonzero(unlabelled & (self.observations.codes[call] == value))

    def _use(self, call: NeuralVariable, row: int) -> bool:
        """Mark an image as labelled; False where it was so already, perhaps in another cell of the table."""
        key = self.declared(call), image_digest(call.inputs, row, self.examples)
        if key in self._used:
            return False
        self._used.add(key)
        return True

    def take(self, call: NeuralVariable, row: int) -> bool:
        """Mark an image as suggested; False where it has a label, or is suggested already."""
        if not self._use(call, row):
            return False
        self.labelled[self.declared(call), int(self.observations.codes[call][row])] += 1
        return True

    def suggestion(self, call: NeuralVariable, row: int, reason: str, *, settles: bool) -> LabelSuggestion:
        """The suggestion to label the image that a network reads in a row."""
        values = tuple(atom_name(text) for text in value_texts(call, self.program))
        return LabelSuggestion(
            int(row),
            call.inputs,
            _label_name(self.program.declarations[call.declaration], self.program),
            values,
            values[int(self.observations.codes[call][row])],
            float(self.observations.confidence[call][row]),
            reason,
            settles,
        )


def _label_name(declaration: Declaration, program: Program) -> str:
    """What labels are given for: the predicate, or the network where several networks have one predicate."""
    networks = {
        other.network
        for other in program.declarations.values()
        if (other.predicate, other.inputs) == (declaration.predicate, declaration.inputs)
    }
    return declaration.predicate if len(networks) == 1 else declaration.network


# Labels that leave one reading ----------------------------------------------------------------------


def _settling(
    model: TreeModel,
    observations: Observations,
    certificate: Certificate,
    images: _Images,
    n: int,
    deadline: Deadline,
) -> tuple[list[LabelSuggestion], bool]:
    """For each value of a smallest set of labels the image that a network is most sure of, and whether these are all."""
    number = {
        (call.network, text): value
        for call in images.calls
        for value, text in enumerate(value_texts(call, model.program))
    }
    labels = [(network, number[network, text]) for network, text in certificate.labels]
    suggestions: list[LabelSuggestion] = []
    places: list[tuple[tuple[str, ...], int]] = []  # columns and row of each suggestion
    settled = 0
    for (network, value), reason in _ordered(model, observations, certificate, labels, images.settled, deadline):
        calls = [call for call in images.calls if call.network == network]
        # Another instance of the network may read a suggested image in the same way; the label then settles both.
        if any(
            call.inputs == inputs and observations.codes[call][row] == value for call in calls for inputs, row in places
        ):
            settled += 1
            continue
        if len(suggestions) == n:
            break
        for call, row in _surest(images, calls, value):
            if images.take(call, row):
                suggestions.append(images.suggestion(call, row, reason, settles=True))
                places.append((call.inputs, row))
                settled += 1
                break
    return suggestions, settled == len(labels)


def _surest(images: _Images, calls: Sequence[NeuralVariable], value: int) -> Iterator[tuple[NeuralVariable, int]]:
    """The free images that a network reads as a value, those that it is most sure of first."""
    rows = [images.free_rows(call, value) for call in calls]
    numbers = np.repeat(np.arange(len(calls)), [len(of_call) for of_call in rows])
    all_rows = np.concatenate(rows)
    confidence = np.concatenate(
        [images.observations.confidence[call][of_call] for call, of_call in zip(calls, rows, strict=True)]
    )
    for i in np.lexsort((numbers, all_rows, -np.round(confidence, 9))):
        yield calls[numbers[i]], int(all_rows[i])


def _ordered(
    model: TreeModel,
    observations: Observations,
    certificate: Certificate,
    labels: Sequence[ValueOf],
    settled: Iterable[ValueOf],
    deadline: Deadline,
) -> Iterator[tuple[ValueOf, str]]:
    """Labels with the reason for each, the one that leaves the fewest readings next; in the given order after the time."""
    waiting = list(labels)
    deadline = Deadline(min(deadline.end, Deadline.after(ORDER_SECONDS).end))
    with suppress(SearchLimitError, CircuitLimitError, GroundingLimitError):
        problem = _reading_problem(model, observations, certificate, deadline)
        known = [value for value in settled if value in problem.values]
        before = certificate.readings or problem.count(known, deadline)
        while waiting and before.exact:
            counts = {label: problem.count([*known, label], deadline) for label in waiting}
            if not all(count.exact for count in counts.values()):
                break
            best = min(waiting, key=lambda label: counts[label].number)
            after = counts[best]
            # A label that leaves as many readings is needed for another reason: it rules out trees of other tests.
            yield (
                best,
                f"leaves {_number_text(after.number)} of {_number_text(before.number)} readings"
                if after.number < before.number
                else "rules out a tree of other tests that predicts the same",
            )
            waiting.remove(best)
            known, before = [*known, best], after
    yield from ((label, "one of the labels that leave one reading") for label in waiting)


def _reading_problem(
    model: TreeModel, observations: Observations, certificate: Certificate, deadline: Deadline
) -> ReadingProblem:
    """The empirical re-readings of observed examples."""
    interchangeable = {
        network.name: [frozenset(map(network.values.index, members)) for members in network.interchangeable]
        for network in certificate.networks
    }
    rows = observations.complete
    codes: dict[Variable, Any] = {v: codes[rows] for v, codes in observations.codes.items()}
    _, formulas = results(model.tree.root, model.program)
    return ReadingProblem(formulas, codes, interchangeable, model.program.limits, deadline)


def _number_text(number: int) -> str:
    return f"{number:,}" if number < 10**6 else f"about 10^{len(str(number)) - 1}"


# Images that networks are unsure of -----------------------------------------------------------------


def _informative(model: TreeModel, images: _Images, n: int) -> list[LabelSuggestion]:
    """Of each value without a label the surest image, then those of which labels tell most.

    An image of which the network is unsure often shows another value, so it is no good first label: with three labels in a
    comparison of two digits, unsure images led to a concept accuracy of .56 to .95, and sure ones to .98 to 1.
    """
    suggestions: list[LabelSuggestion] = []
    waiting = _scored_images(model, images, max(n, POOL)) if n > 0 else {}
    while len(suggestions) < n and any(waiting.values()):
        key = min(
            (key for key in waiting if waiting[key]), key=lambda key: (images.labelled[key], _negated(waiting[key][-1]))
        )
        if images.labelled[key]:
            best = waiting[key].pop()
            call, row = images.calls[-best.number], -best.row
            if images.take(call, row):
                suggestions.append(images.suggestion(call, row, _reason(call, best.score), settles=False))
            continue
        calls = [call for call in images.calls if images.declared(call) == key[0]]
        first = next(((call, row) for call, row in _surest(images, calls, key[1]) if images.take(call, row)), None)
        if first is None:
            waiting[key].clear()
        else:
            suggestions.append(images.suggestion(*first, "the first of its value", settles=False))
    return suggestions


def _scored_images(model: TreeModel, images: _Images, number: int) -> dict[ValueOf, list[_Scored]]:
    """By declared network and value the least sure images, those of which labels tell most last.

    What a label tells is the entropy of the network's output times the dependence of the class on its value.
    """
    scored: dict[ValueOf, list[_Scored]] = {}
    for i, call in enumerate(images.calls):
        rows = np.concatenate([_least_sure(images, call, value, number) for value in range(call.size)])
        scores = images.observations.entropy[call][rows] * _dependence(model, images.examples[rows], call)
        for row, score in zip(rows.tolist(), scores.tolist(), strict=True):
            key = images.declared(call), int(images.observations.codes[call][row])
            # Rounded, for the same order on machines that round otherwise.
            scored.setdefault(key, []).append(_Scored(round(score, 9), -row, -i))
    return {key: sorted(of_value) for key, of_value in scored.items()}


class _Scored(NamedTuple):
    """How much a label of an image tells; the largest is the next to suggest, that of the first row among equals."""

    score: float
    row: int  # negated
    number: int  # of the call, negated


def _negated(image: _Scored) -> tuple[float, ...]:
    return tuple(-part for part in image)


def _reason(call: NeuralVariable, score: float) -> str:
    return f"{call.network} is unsure, and the class depends on it" if score > 0.1 else "a further image"


def _least_sure(images: _Images, call: NeuralVariable, value: int, number: int) -> Ints:
    """The free rows of a value in which the output of its network has the largest entropy."""
    rows = images.free_rows(call, value)
    order = np.argsort(-np.round(images.observations.entropy[call][rows], 9), kind="stable")
    return rows[order[:number]]


@dataclass(frozen=True, slots=True, eq=False)
class _ValueGiven:
    """Evidence in which one variable has a value for certain."""

    evidence: Evidence
    variable: Variable
    value: int

    def __len__(self) -> int:
        return len(self.evidence)

    def weights(self, variable: Variable) -> AnyArray:
        if variable != self.variable:
            return self.evidence.weights(variable)
        return self.evidence.arrays.one_hot(np.full(len(self.evidence), self.value), variable.size)


def _dependence(model: TreeModel, examples: Examples, call: NeuralVariable) -> Floats:
    """How much the class depends on the value of a network, `(example,)`.

    This is the largest difference, from 0 to 1, that two values make to the probability of a class. It is 0 where another
    entry is missing and has no prior.
    """
    dependence = np.zeros(len(examples))
    complete = examples.complete(model.columns)
    for rows in (np.flatnonzero(complete), np.flatnonzero(~complete)):
        with suppress(MissingPriorError):
            dependence[rows] = _largest_differences(model, examples[rows], call)
    return dependence


def _largest_differences(model: TreeModel, examples: Examples, call: NeuralVariable) -> Floats:
    leaves = list(paths(model.tree.root))
    reach = model.inference.compiled([path for path, _ in leaves])
    classes = np.array([leaf.value for _, leaf in leaves])  # (leaf, class)
    arrays = model.inference.arrays
    differences = np.zeros(len(examples))
    with model.evaluating(), arrays.without_gradients():
        for start in range(0, len(examples), BATCH_ROWS):
            batch = slice(start, start + BATCH_ROWS)
            evidence = model.evidence_of(examples[batch])
            of_values = (arrays.to_numpy(reach(_ValueGiven(evidence, call, value))) for value in range(call.size))
            probabilities = np.stack([reached @ classes for reached in of_values])  # (value, example, class)
            differences[batch] = np.ptp(probabilities, axis=0).max(axis=1)
    return differences
