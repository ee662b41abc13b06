"""Labels that contradict the classes of their rows under a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from neuid3.data.examples import Examples
from neuid3.errors import CircuitLimitError, GroundingLimitError
from neuid3.identifiability.certificate import Contradictions
from neuid3.identifiability.certification import tree_variables
from neuid3.identifiability.diagrams import possible_results
from neuid3.identifiability.forms import results
from neuid3.identifiability.label_sets import smallest_contradiction
from neuid3.identifiability.observations import UNKNOWN, Observations, observed_values, value_texts
from neuid3.logic.formula import Formula, NeuralVariable, Or, Variable
from neuid3.logic.program import Program
from neuid3.tree.anchors import Anchors
from neuid3.tree.labels import call_text
from neuid3.tree.model import TreeModel

Codes = npt.NDArray[np.int64]

# So many examples are listed in a warning.
MAX_LISTED = 10

# A smallest contradicting set is looked for in so many different rows.
MAX_ROWS = 100


def find_contradictions(
    model: TreeModel, observations: Observations, classes: Codes, location: Callable[[int], str] = "row {}".format
) -> Contradictions | None:
    """Examples whose labels contradict their class: without labels the tree could predict it, and with them it cannot.

    Parameters
    ----------
    model : the tree with its program.
    observations : labels, and the values of columns.
    classes : the number of the class of each example, `(example,)`.
    location : what the text calls an example.

    Returns
    -------
    The examples, and a smallest set of labels of one of them that contradicts its class; None where there are none, or
    where circuits exceed their limits.
    """
    if not observations.labels:
        return None
    distributions, formulas = results(model.tree.root, model.program, model.classes)
    predicted = [int(np.argmax(probabilities)) for probabilities in distributions]
    of_classes = [
        Or(tuple(f for f, k in zip(formulas, predicted, strict=True) if k == c)) for c in range(len(model.classes))
    ]
    rows = np.flatnonzero(np.any([codes != UNKNOWN for codes in observations.labels.values()], axis=0))

    def possible(labelled: bool) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Whether each result and each class is possible, `(result, row)` and `(class, row)`."""
        domains = {v: _domain(v, observations, rows, labelled) for v in observations.codes}
        of_results = np.array(possible_results(formulas, domains, len(rows), model.program.limits))
        return of_results, np.array([of_results[np.array(predicted) == c].any(axis=0) for c in range(len(of_classes))])

    try:
        (of_results, with_labels), (_, without) = possible(True), possible(False)
        own = classes[rows], np.arange(len(rows))
        impossible = without[own] & ~with_labels[own]
        if not impossible.any():
            return None
        row, labels = _smallest(of_classes, observations, classes, rows[impossible], model.program)
    except (CircuitLimitError, GroundingLimitError):
        return None
    error = 1.0 - np.array([max(probabilities) for probabilities in distributions])
    constrained = (without & ~with_labels).any(axis=0)  # rows with a class that their labels exclude
    expected = float(np.where(of_results, error[:, None], 0.0).max(axis=0)[constrained].sum())
    texts = [_label_text(v, int(observations.labels[v][row]), model.program) for v in labels]
    sentence = f"{location(row)}: {' and '.join(texts)}, and the class {model.classes[classes[row]]}"
    return Contradictions(tuple(rows[impossible].tolist()), sentence, int(constrained.sum()), expected)


def label_contradictions(
    model: TreeModel, examples: Examples, labels: Anchors, classes: Codes, location: Callable[[int], str]
) -> Contradictions | None:
    """Examples whose labels contradict their class, see `find_contradictions`; networks run on labelled examples only.

    Parameters
    ----------
    model : the tree with its program and networks.
    examples : the examples, in the schema of the model.
    labels : labels by declared network, of all entries that have one.
    classes : the number of the class of each example, `(example,)`.
    location : what the text calls an example.

    Returns
    -------
    The examples, with their numbers among all; None where there are none.
    """
    labelled = np.zeros(len(examples), dtype=bool)
    for of_network in labels.values():
        labelled[of_network.rows] = True
    rows, position = np.flatnonzero(labelled), np.cumsum(labelled) - 1
    among = {network: replace(of_network, rows=position[of_network.rows]) for network, of_network in labels.items()}
    variables = tree_variables(model.tree.root, model.program)
    observations = observed_values(model, examples[rows], among, variables)
    found = find_contradictions(model, observations, classes[rows], lambda row: location(int(rows[row])))
    return None if found is None else replace(found, rows=tuple(rows[list(found.rows)].tolist()))


def contradiction_message(
    model: TreeModel, examples: Examples, labels: Anchors, classes: Codes, location: Callable[[int], str]
) -> str | None:
    """A warning about labels that contradict the classes of more examples than noise explains; None without any.

    Parameters
    ----------
    model, examples, labels, classes, location : as in `label_contradictions`.

    Returns
    -------
    Sentences that name the examples and a smallest set of labels.
    """
    found = label_contradictions(model, examples, labels, classes, location)
    if found is None or not found.is_more_than_noise:
        return None
    listed = ", ".join(map(location, found.rows[:MAX_LISTED])) + (", …" if len(found.rows) > MAX_LISTED else "")
    return f"{found} These are {listed}; correct labels or classes, or add a candidate under which they agree."


def _smallest(
    of_classes: Sequence[Formula], observations: Observations, classes: Codes, rows: Codes, program: Program
) -> tuple[int, tuple[NeuralVariable, ...]]:
    """One of these rows and the labels of a smallest set that contradicts its class, over all of them."""
    best: tuple[int, tuple[NeuralVariable, ...]] | None = None
    for row in _different(observations, classes, rows):
        labels = {v: int(codes[row]) for v, codes in observations.labels.items() if codes[row] != UNKNOWN}
        columns = {v: int(c[row]) for v, c in observations.codes.items() if not isinstance(v, NeuralVariable)}
        chosen = smallest_contradiction(
            of_classes[classes[row]], labels, columns if observations.complete[row] else {}, program.limits
        )
        if best is None or len(chosen) < len(best[1]):
            best = row, chosen
        if len(best[1]) <= 1:
            break
    assert best is not None
    return best


def _different(observations: Observations, classes: Codes, rows: Codes) -> Iterator[int]:
    """The first of all rows with the same labels, columns and class, but not too many."""
    columns = [c[rows] for v, c in observations.codes.items() if not isinstance(v, NeuralVariable)]
    table = np.column_stack([*(codes[rows] for codes in observations.labels.values()), *columns, classes[rows]])
    _, first = np.unique(table, axis=0, return_index=True)
    return (int(rows[i]) for i in np.sort(first)[:MAX_ROWS])


def _label_text(variable: NeuralVariable, value: int, program: Program) -> str:
    """A label as text: `rank(first) = 5`."""
    call = call_text(program.declarations[variable.declaration].predicate, variable.inputs)
    return f"{call} = {value_texts(variable, program)[value]}"


def _domain(variable: Variable, observations: Observations, rows: Codes, labelled: bool) -> npt.NDArray[np.bool_]:
    """The possible values of a variable, `(value, row)`: one where it is observed or labelled, otherwise all."""
    if isinstance(variable, NeuralVariable):
        none = np.full(len(observations.complete), UNKNOWN)
        codes = (observations.labels.get(variable, none) if labelled else none)[rows]
    else:
        codes = np.where(observations.complete[rows], observations.codes[variable][rows], UNKNOWN)
    domain: npt.NDArray[np.bool_] = (codes == UNKNOWN) | (np.arange(variable.size)[:, None] == codes)
    return domain
