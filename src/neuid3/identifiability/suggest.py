"""Choice of the images whose labels settle most of what the values of a tree's networks mean."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from neuid3.errors import CircuitLimitError, GroundingLimitError, ParameterError, SearchLimitError
from neuid3.identifiability.audit import check_time_limit, disagreements, observed_certificate, settled_values
from neuid3.identifiability.certificate import Certificate, disagreement_text
from neuid3.identifiability.certification import tree_variables
from neuid3.identifiability.forms import results
from neuid3.identifiability.informative import UnlabelledImages, informative_images, surest_images
from neuid3.identifiability.observations import Observations, observe, value_texts
from neuid3.identifiability.readings import ReadingProblem, ValueOf
from neuid3.identifiability.suggestions import LabelSuggestion, LabelSuggestions
from neuid3.identifiability.symmetries import Deadline
from neuid3.logic.formula import NeuralVariable, Variable
from neuid3.tree.model import TreeModel

# The most seconds for the order of the labels of a certificate.
ORDER_SECONDS = 5.0


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
    images = UnlabelledImages(model, examples, observations)
    settled = settled_values(model, observations)
    certificate = observed_certificate(
        model, observations, settled=settled, seconds=deadline.seconds_left, networks=networks
    )
    settling, complete = _settling(model, observations, certificate, images, settled, int(n), deadline)
    chosen = [*settling, *informative_images(model, images, int(n) - len(settling))]
    notes = (
        disagreement_text(*disagreements(model, examples, observations)),
        _settling_note(certificate, len(settling), complete),
        _number_note(len(chosen), int(n)),
    )
    return LabelSuggestions(tuple(chosen), tuple(filter(None, notes)), len(examples))


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


def _settling(
    model: TreeModel,
    observations: Observations,
    certificate: Certificate,
    images: UnlabelledImages,
    settled: Collection[ValueOf],
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
    done = 0
    for (network, value), reason in _ordered(model, observations, certificate, labels, settled, deadline):
        calls = [call for call in images.calls if call.network == network]
        # Another instance of the network may read a suggested image in the same way; the label then settles both.
        if any(
            call.inputs == inputs and observations.codes[call][row] == value for call in calls for inputs, row in places
        ):
            done += 1
            continue
        if len(suggestions) == n:
            break
        for call, row in surest_images(images, calls, value):
            if images.take(call, row):
                suggestions.append(images.suggestion(call, row, reason, settles=True))
                places.append((call.inputs, row))
                done += 1
                break
    return suggestions, done == len(labels)


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
