"""The certificate of a tree: what the values of its networks are determined up to."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.errors import CircuitLimitError, GroundingLimitError, SearchLimitError
from neuid3.identifiability.forms import Rewriting, results, rewritings
from neuid3.identifiability.observations import value_texts
from neuid3.identifiability.readings import ReadingCount, ReadingProblem, ValueOf, moved, smallest_labels
from neuid3.identifiability.symmetries import (
    Deadline,
    PairOfFunctions,
    Reading,
    SymmetryGroup,
    interchangeable_values,
    symmetry_group,
)
from neuid3.logic.formula import Formula, Literal, NeuralVariable, Variable, bottom_up
from neuid3.logic.program import Program
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Node

# So many re-readings are shown.
EXAMPLES = 3

# The most elements of a group that are listed to describe it; dihedral groups of 20 values have 40.
MAX_ELEMENTS = 1000

# So many standard deviations above their expected number, contradicting examples are more than noise.
DEVIATIONS = 2.0

Images = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NetworkCertificate:
    """What is known about the values of one network.

    Attributes
    ----------
    name : the network instance.
    values : its values, as text; those of a neural fact are `no` and `yes`.
    fixed_up_to : what may be changed without any effect on a prediction: "nothing", "reversal", "a shift", "yes and no
        exchanged", "any permutation within {…}", several of these, or "unknown".
    interchangeable : classes of values, any permutation of which has no effect.
    equivalent : networks that could stand in its place, with other tests.
    unused : values that no example has.
    exact : whether symmetries and rewritings were all found within the limits.
    """

    name: str
    values: tuple[str, ...]
    fixed_up_to: str
    interchangeable: tuple[tuple[str, ...], ...] = ()
    equivalent: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    exact: bool = True

    @property
    def is_fixed(self) -> bool:
        """Whether the tree by itself leaves one meaning of each value."""
        return self.exact and self.fixed_up_to == "nothing" and not self.equivalent

    @property
    def short_form(self) -> str:
        """A few words for text, pictures and pages: "fixed up to reversal"."""
        if self.fixed_up_to == "unknown":
            return "not determined within the limits"
        words = "fixed" if self.fixed_up_to == "nothing" else f"fixed up to {self.fixed_up_to}"
        if self.equivalent:
            words += f"; {' or '.join(self.equivalent)} could stand in its place"
        return words if self.exact else f"{words}, as far as the limits allowed to see"


@dataclass(frozen=True, slots=True)
class Contradictions:
    """Examples whose labels, class and tree do not agree.

    Attributes
    ----------
    rows : the examples for which no value of the images without labels makes the tree predict their class.
    smallest : a smallest set of labels of one example that contradicts its class, as text.
    labelled : the number of examples whose labels exclude a class.
    expected : how many of these contradict their class by the noise of the leaves, where labels and tree are right.
    """

    rows: tuple[int, ...]
    smallest: str
    labelled: int = 0
    expected: float = 0.0

    @property
    def is_more_than_noise(self) -> bool:
        """Whether clearly more examples contradict their class than are expected."""
        return len(self.rows) > self.expected + DEVIATIONS * sqrt(max(self.expected, 1.0))

    def __str__(self) -> str:
        n, labelled = len(self.rows), f" of {self.labelled:,}" if self.labelled else ""
        verb = "row contradicts" if n == 1 and not labelled else "rows contradict"
        return f"{n:,}{labelled} {verb} the tree by labels and class, such as {self.smallest}."


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a tree's networks are determined up to, by its structure and by examples.

    `print` shows it as text, `to_json` returns it as plain values.

    Attributes
    ----------
    networks : a certificate for each network of the tree.
    symmetries : the number of value permutations that never change a prediction; None where it was not found in time.
    rewritings : sentences about trees of other candidates that say the same.
    candidates_known : whether all candidates of the fit are known, or only the tests of the tree.
    readings : the number of maps of values that change no prediction of the examples; None without examples.
    examples : some of these maps, as text.
    source : where the values of the examples come from: "labels", "predictions" or "labels and predictions".
    rows : the number of examples that were used.
    incomplete_rows : the number of examples that were left out because an entry is missing.
    labels : a smallest set of values to label, as pairs of a network and a value; labels of images with these values
        leave one reading.
    labels_are_smallest : whether the labels settle everything and no smaller set does.
    contradictions : examples whose labels contradict their class; None where there are none, or no classes are given.
    """

    networks: tuple[NetworkCertificate, ...]
    symmetries: int | None = 1
    rewritings: tuple[str, ...] = ()
    candidates_known: bool = True
    readings: ReadingCount | None = None
    examples: tuple[str, ...] = ()
    source: str = "predictions"
    rows: int = 0
    incomplete_rows: int = 0
    labels: tuple[tuple[str, str], ...] = ()
    labels_are_smallest: bool = True
    contradictions: Contradictions | None = None

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The certificate as text.

        Returns
        -------
        Lines of text.
        """
        if not self.networks:
            return ["The tree calls no network, so there is nothing to certify."]
        return [*self._structural_lines(), *self._empirical_lines()]

    def _structural_lines(self) -> list[str]:
        lines = []
        for network in self.networks:
            lines.append(f"{network.name} ({', '.join(network.values)}): {network.short_form}.")
            if network.unused:
                verb = "has" if self.source == "labels" else "is read as"  # a card may show what no network says
                lines.append(f"  No example {verb} {', '.join(network.unused)}.")
        lines.extend(self.rewritings)
        if not self.candidates_known:
            lines.append(
                "The candidates of the fit are not known; other tests than those of the tree could say the same."
            )
        return lines

    def _empirical_lines(self) -> list[str]:
        lines = []
        if self.incomplete_rows:
            rows = (
                "row has a missing entry and is" if self.incomplete_rows == 1 else "rows have missing entries and are"
            )
            lines.append(f"{self.incomplete_rows:,} {rows} left out.")
        if self.readings is not None:
            values = {"labels": "labels", "predictions": "most probable values"}.get(
                self.source, "labels and, without one, most probable values"
            )
            count = f"Re-readings of {self.rows:,} examples with these tests (by {values}): {self.readings}"
            if self.readings.number > 1 or not self.readings.exact:
                count += ", the intended one among them"
            lines.append(f"{count}.")
            lines.extend(f"  {example}" for example in self.examples)
            lines.append(self._label_line())
        if self.contradictions is not None:
            lines.append(str(self.contradictions))
        return lines

    def _label_line(self) -> str:
        values = ", ".join(f"{name} = {value}" for name, value in self.labels)
        if self.labels_are_smallest:
            return f"A smallest set of labels that leaves one reading: {values}." if values else "No label is needed."
        bound = "The time limit was reached before a smallest set of labels was found"
        return f"{bound}; to begin with: {values}." if values else f"{bound}."

    def to_json(self) -> dict[str, Any]:
        """The certificate as plain values.

        Returns
        -------
        A dictionary that `json.dumps` takes.
        """
        return {
            "networks": [
                {
                    "name": network.name,
                    "values": list(network.values),
                    "fixed_up_to": network.fixed_up_to,
                    "interchangeable": [list(values) for values in network.interchangeable],
                    "equivalent": list(network.equivalent),
                    "unused": list(network.unused),
                    "exact": network.exact,
                }
                for network in self.networks
            ],
            "symmetries": self.symmetries,
            "rewritings": list(self.rewritings),
            "candidates_known": self.candidates_known,
            "readings": None
            if self.readings is None
            else {
                "number": self.readings.number,
                "exact": self.readings.exact,
                "source": self.source,
                "rows": self.rows,
                "incomplete_rows": self.incomplete_rows,
            },
            "examples": list(self.examples),
            "labels": [{"network": name, "value": value} for name, value in self.labels],
            "labels_are_smallest": self.labels_are_smallest,
            "contradictions": None
            if self.contradictions is None
            else {
                "rows": list(self.contradictions.rows),
                "smallest": self.contradictions.smallest,
                "labelled": self.contradictions.labelled,
                "expected": self.contradictions.expected,
            },
        }


@dataclass(frozen=True, slots=True, eq=False)
class _Structure:
    """Symmetries and rewritings of a tree, as far as they were found within the limits."""

    group: SymmetryGroup | None = None
    classes: Mapping[str, tuple[frozenset[int], ...]] = field(default_factory=dict)
    rewritings: tuple[Rewriting, ...] = ()
    companions: Mapping[tuple[str, Images], tuple[str, ...]] = field(default_factory=dict)
    complete: bool = False


def certify(
    root: Node,
    program: Program,
    *,
    codes: Mapping[Variable, npt.NDArray[Any]] | None = None,
    source: str = "predictions",
    candidates: Iterable[NodeTest] | None = None,
    kinds: Mapping[str, Hashable] | None = None,
    settled: Iterable[ValueOf] = (),
    seconds: float = 60.0,
) -> Certificate:
    """The certificate of a tree.

    Parameters
    ----------
    root : the root of the tree.
    program : the background knowledge of its tests.
    codes : the index of the value of each variable of `tree_variables` but choices, `(example,)`; None leaves empirical
        re-readings out.
    source : where the values of networks in `codes` come from: "labels", "predictions" or "labels and predictions".
    candidates : the tests that the tree could have been made of; None where only those of the tree are known.
    kinds : what must be the same of two networks that are exchanged, such as their architecture; a network that it does
        not name may be exchanged with any other.
    settled : values that labels have settled.
    seconds : the time limit; what takes longer is a bound and says so.

    Returns
    -------
    The certificate.
    """
    deadline = Deadline.after(seconds)
    _, formulas = results(root, program)
    neural = [v for v in _variables(formulas) if isinstance(v, NeuralVariable)]
    if not neural:
        return Certificate(())
    texts = {v.network: value_texts(v, program) for v in neural}
    structure = _structure(root, formulas, candidates or (), program, kinds, deadline)
    empirical: dict[str, Any] = {}
    if codes is not None:
        empirical = _empirical(formulas, codes, structure, settled, texts, program, deadline)
        empirical |= {"source": source, "rows": len(codes[neural[0]])}
    networks = tuple(
        NetworkCertificate(
            name,
            texts[name],
            _description(name, structure, texts[name]),
            tuple(
                tuple(texts[name][v] for v in sorted(members))
                for members in structure.classes.get(name, ())
                if len(members) > 1
            ),
            _equivalent_networks(name, structure.rewritings),
            () if codes is None else _unused(name, neural, codes, texts[name]),
            structure.complete,
        )
        for name in texts
    )
    return Certificate(
        networks,
        None if structure.group is None else structure.group.order,
        tuple(_rewriting_text(rewriting, texts) for rewriting in structure.rewritings),
        candidates is not None,
        **empirical,
    )


def _structure(
    root: Node,
    formulas: Sequence[Formula],
    candidates: Iterable[NodeTest],
    program: Program,
    kinds: Mapping[str, Hashable] | None,
    deadline: Deadline,
) -> _Structure:
    try:
        group = symmetry_group(formulas, program.limits, deadline)
        pair = PairOfFunctions(formulas, formulas, program.limits, deadline)
        classes = interchangeable_values(pair, group)
        companions = {
            (name, images): tuple(other for other in generator if other != name and _moves(generator[other]))
            for generator in group.generators
            for name, images in generator.items()
            if _moves(images) and not pair.agree({name: images})
        }
    except (SearchLimitError, CircuitLimitError, GroundingLimitError):
        return _Structure()
    try:
        rewritten, complete = rewritings(root, candidates, program, kinds=kinds, deadline=deadline)
    except (SearchLimitError, CircuitLimitError, GroundingLimitError):
        rewritten, complete = [], False
    return _Structure(group, classes, tuple(rewritten), companions, complete)


def _empirical(
    formulas: Sequence[Formula],
    codes: Mapping[Variable, npt.NDArray[Any]],
    structure: _Structure,
    settled: Iterable[ValueOf],
    texts: Mapping[str, tuple[str, ...]],
    program: Program,
    deadline: Deadline,
) -> dict[str, Any]:
    """The fields of a certificate that follow from examples."""
    try:
        problem = ReadingProblem(formulas, codes, structure.classes, program.limits, deadline)
    except (SearchLimitError, CircuitLimitError, GroundingLimitError):
        return {"readings": ReadingCount(1, False), "labels_are_smallest": False}
    known = [value for value in settled if value in problem.values]
    # A network with a label keeps its name, so any of its values tells it from an equivalent one.
    to_settle = [
        [value for value in problem.values if value[0] in renamed]
        if (renamed := {old for old, new in rewriting.equivalence.networks.items() if old != new})
        else moved(rewriting.equivalence.reading)
        for rewriting in structure.rewritings
    ]
    readings = problem.count(known, deadline)
    is_unique = readings == ReadingCount(1, True)
    labels, smallest = smallest_labels(problem, to_settle, known, deadline, search=not is_unique)
    return {
        "readings": readings,
        "examples": ()
        if is_unique
        else tuple(reading_text(reading, texts) for reading in problem.examples(EXAMPLES, deadline)),
        "labels": tuple((name, texts[name][value]) for name, value in labels),
        "labels_are_smallest": smallest,
    }


def _unused(
    name: str, neural: Iterable[NeuralVariable], codes: Mapping[Variable, npt.NDArray[Any]], texts: Sequence[str]
) -> tuple[str, ...]:
    occurring = {int(value) for v in neural if v.network == name for value in np.unique(codes[v])}
    return tuple(text for value, text in enumerate(texts) if value not in occurring)


def _equivalent_networks(name: str, rewritten: Iterable[Rewriting]) -> tuple[str, ...]:
    others = (rewriting.equivalence.networks.get(name, name) for rewriting in rewritten)
    return tuple(dict.fromkeys(other for other in others if other != name))


def tree_variables(root: Node, program: Program) -> list[Variable]:
    """The variables of a tree: network values, columns, cells of numbers and choices.

    Parameters
    ----------
    root : the root of the tree.
    program : the background knowledge of its tests.

    Returns
    -------
    The variables in the order in which they occur.
    """
    return _variables(results(root, program)[1])


def _variables(formulas: Iterable[Formula]) -> list[Variable]:
    return list(dict.fromkeys(node.variable for node in bottom_up(formulas) if isinstance(node, Literal)))


# Descriptions ---------------------------------------------------------------------------------------


def _description(name: str, structure: _Structure, texts: Sequence[str]) -> str:
    """What the values of a network are fixed up to."""
    if structure.group is None:
        return "unknown"
    if name not in structure.group.sizes:
        return "any permutation"  # no result depends on the network
    size = len(texts)
    own = [generator[name] for generator in structure.group.generators]
    swaps = [r.equivalence.reading[name] for r in structure.rewritings if name in r.equivalence.reading]
    maps = [images for images in dict.fromkeys([*own, *swaps]) if _moves(images)]
    if not maps:
        return "nothing"
    together = [structure.companions.get((name, images), ()) for images in maps]
    others = sorted(set().union(*together)) if all(together) else []
    suffix = f", together with {' and '.join(others)}" if others else ""
    if size == 2:
        exchanged = "yes and no" if tuple(texts) == ("no", "yes") else f"{texts[0]} and {texts[1]}"
        return f"{exchanged} exchanged{suffix}"
    classes = structure.classes.get(name, ())
    kinds = [
        "any permutation" if len(members) == size else f"any permutation within {_set(members, texts)}"
        for members in classes
        if len(members) > 1
    ]
    class_of = {value: members for members in classes for value in members}
    rest = [m for m in maps if any(class_of[v] != class_of[m[v]] for v in range(size))]
    return " and ".join([*kinds, *_kinds_of_maps(rest, texts)]) + suffix


def _kinds_of_maps(maps: Sequence[Images], texts: Sequence[str]) -> list[str]:
    """Words for the permutations that these generate: reversal, shifts, and others in cycle notation."""
    size = len(texts)
    elements = _generated(maps, size)
    backwards = tuple(reversed(range(size)))
    shifts = [images for images in sorted(elements) if _shift(images) is not None]
    named = [*([backwards] if backwards in elements else []), *shifts]
    kinds = ["reversal"] * (backwards in elements)
    if shifts:
        step = min(_shift(images) or size for images in shifts)
        kinds.append("a shift" if step == 1 else f"a shift by {step}")
    explained = _generated(named, size)
    others = [images for images in maps if images not in explained]
    kinds.extend(f"the exchange {_cycles(images, texts)}" for images in others[:2])
    return [*kinds, "more exchanges"] if len(others) > 2 else kinds


def _generated(maps: Sequence[Images], size: int) -> set[Images]:
    """The elements of the group that maps generate, or at most about `MAX_ELEMENTS` of them."""
    elements = {tuple(range(size))}
    waiting = list(elements)
    while waiting and len(elements) < MAX_ELEMENTS:
        current = waiting.pop()
        for images in maps:
            product = tuple(images[value] for value in current)
            if product not in elements:
                elements.add(product)
                waiting.append(product)
    return elements | set(maps)


def _moves(images: Images) -> bool:
    return images != tuple(range(len(images)))


def _shift(images: Images) -> int | None:
    """The step of a cyclic shift; None for other maps."""
    n, step = len(images), images[0]
    return step if step and all(image == (v + step) % n for v, image in enumerate(images)) else None


def _set(values: Iterable[int], texts: Sequence[str]) -> str:
    return "{" + ", ".join(texts[v] for v in sorted(values)) + "}"


def _cycles(images: Images, texts: Sequence[str]) -> str:
    """A permutation in cycle notation."""
    visited: set[int] = set()
    cycles = []
    for start in range(len(images)):
        cycle = []
        value = start
        while value not in visited:
            visited.add(value)
            cycle.append(texts[value])
            value = images[value]
        if len(cycle) > 1:
            cycles.append("(" + " ".join(cycle) + ")")
    return "".join(cycles)


def reading_text(reading: Reading, texts: Mapping[str, Sequence[str]]) -> str:
    """A reading as text: the values that are read as others.

    Parameters
    ----------
    reading : the image of every value of each network.
    texts : the values of each network as text.

    Returns
    -------
    The text; empty for the identity.

    >>> reading_text({"digit": (1, 0, 2)}, {"digit": ("0", "1", "2")})
    'digit: 0 read as 1, 1 read as 0'
    """
    parts = []
    for name, images in reading.items():
        changed = [f"{texts[name][v]} read as {texts[name][image]}" for v, image in enumerate(images) if v != image]
        if changed:
            parts.append(f"{name}: {', '.join(changed)}")
    return "; ".join(parts)


def _rewriting_text(rewriting: Rewriting, texts: Mapping[str, Sequence[str]]) -> str:
    """A sentence about a tree of other candidates that says the same."""
    tests = ", ".join(f"{old} could be {new}" for old, new in rewriting.tests.items())
    renamed = [f"{new} in the place of {old}" for old, new in rewriting.equivalence.networks.items() if old != new]
    changed = []
    for name, images in rewriting.equivalence.reading.items():
        if _moves(images):
            is_reversal = len(images) > 2 and images == tuple(reversed(range(len(images))))
            what = "reversed" if is_reversal else "renamed as " + _cycles(images, texts[name])
            changed.append(f"the values of {name} {what}")
    return f"{tests}, with {' and '.join([*renamed, *changed])}."
