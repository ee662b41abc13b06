"""The certificate of a tree: what the values of its networks are determined up to."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.errors import CircuitLimitError, GroundingLimitError
from neuid3.identifiability.forms import Rewriting, results, rewritings
from neuid3.identifiability.readings import ReadingCount, ReadingProblem, ValueOf, smallest_labels
from neuid3.identifiability.symmetries import Deadline, PairOfFunctions, Reading, SymmetryGroup, TimeLimit, symmetry_group
from neuid3.logic.formula import ColumnVariable, NeuralVariable, Variable, bottom_up
from neuid3.logic.formula import Literal as FormulaLiteral
from neuid3.logic.program import Program
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Node

# So many re-readings are shown.
EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class NetworkCertificate:
    """What is known about the values of one network.

    Attributes
    ----------
    name : the network instance.
    values : its values, as text.
    fixed_up_to : what may be changed without any effect: "nothing", "reversal", "a shift", "yes and no exchanged", …
    interchangeable : classes of values, any permutation of which has no effect.
    equivalent : networks that could stand in its place, with the tests that would be asked instead.
    unused : values that no example has.
    exact : whether the symmetries were found within the limits.
    """

    name: str
    values: tuple[str, ...]
    fixed_up_to: str
    interchangeable: tuple[tuple[str, ...], ...]
    equivalent: tuple[str, ...]
    unused: tuple[str, ...]
    exact: bool

    @property
    def is_fixed(self) -> bool:
        """Whether the tree alone leaves one meaning of each value."""
        return self.exact and self.fixed_up_to == "nothing" and not self.equivalent


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a tree's networks are determined up to, by its structure and by examples.

    Attributes
    ----------
    networks : a certificate for each network.
    symmetries : the number of value permutations that never change a prediction; None where it was not found in time.
    rewritings : sentences about trees of other candidates that say the same.
    readings : the number of maps of values that change no prediction of the examples; None without examples.
    examples : some of these maps, as text.
    source : where the values of the examples come from: "labels" or "predictions".
    labels : a smallest set of values to label, as pairs of a network and a value; labels of images with these values
        leave one reading.
    labels_are_smallest : whether no smaller set does.
    """

    networks: tuple[NetworkCertificate, ...]
    symmetries: int | None
    rewritings: tuple[str, ...]
    readings: ReadingCount | None
    examples: tuple[str, ...]
    source: str
    labels: tuple[tuple[str, str], ...]
    labels_are_smallest: bool

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The certificate as lines of text."""
        if not self.networks:
            return ["The tree asks no network, so there is nothing to certify."]
        lines = []
        for network in self.networks:
            lines.append(f"{network.name} ({len(network.values)} values): {short_form(network)}.")
            if network.unused:
                lines.append(f"  No example has the value{'s' * (len(network.unused) > 1)} {', '.join(network.unused)}.")
        lines.extend(self.rewritings)
        if self.readings is not None:
            from_where = "labels" if self.source == "labels" else "most probable values"
            count = f"Re-readings of the examples (by their {from_where}): {self.readings}"
            lines.append(f"{count}, the intended one among them.")
            lines.extend(f"  {example}" for example in self.examples)
        if self.labels:
            values = ", ".join(f"{name} = {value}" for name, value in self.labels)
            smallest = "A smallest set of labels that leaves one reading" if self.labels_are_smallest else "Labels to begin with"
            lines.append(f"{smallest}: {values}.")
        elif self.readings is not None and self.labels_are_smallest:
            lines.append("No label is needed.")
        return lines

    def to_json(self) -> dict[str, Any]:
        """The certificate as plain values."""
        return {
            "networks": [
                {
                    "name": n.name,
                    "values": list(n.values),
                    "fixed_up_to": n.fixed_up_to,
                    "interchangeable": [list(values) for values in n.interchangeable],
                    "equivalent": list(n.equivalent),
                    "unused": list(n.unused),
                    "exact": n.exact,
                }
                for n in self.networks
            ],
            "symmetries": self.symmetries,
            "rewritings": list(self.rewritings),
            "readings": None
            if self.readings is None
            else {"number": self.readings.number, "exact": self.readings.exact, "source": self.source},
            "examples": list(self.examples),
            "labels": [{"network": name, "value": value} for name, value in self.labels],
            "labels_are_smallest": self.labels_are_smallest,
        }


def short_form(network: NetworkCertificate) -> str:
    """A few words about a network, for text, pictures and pages."""
    if not network.exact:
        return "meaning not determined within the limits"
    words = "fixed" if network.fixed_up_to == "nothing" else f"fixed up to {network.fixed_up_to}"
    if network.equivalent:
        words += f"; {' or '.join(network.equivalent)} could stand in its place"
    return words


def certify(
    root: Node,
    program: Program,
    *,
    codes: Mapping[Variable, npt.NDArray[Any]] | None = None,
    source: str = "predictions",
    candidates: Iterable[NodeTest] = (),
    kinds: Mapping[str, Hashable] | None = None,
    settled: Iterable[ValueOf] = (),
    seconds: float = 60.0,
) -> Certificate:
    """The certificate of a tree.

    Parameters
    ----------
    root : the root of the tree.
    program : the background knowledge of its tests.
    codes : the value of each variable of `tree_variables` in the examples, `(example,)`; None leaves re-readings out.
    source : where the values of networks in `codes` come from, "labels" or "predictions".
    candidates : the tests that the tree could have been made of.
    kinds : what must be the same of two networks that are exchanged, such as their architecture.
    settled : values that labels have settled.
    seconds : the time limit; what takes longer is a bound and says so.
    """
    deadline = Deadline.after(seconds)
    _, formulas = results(root, program)
    neural = [v for v in tree_variables(root, program) if isinstance(v, NeuralVariable)]
    names = list(dict.fromkeys(v.network for v in neural))
    if not names:
        return Certificate((), 1, (), None, (), source, (), True)
    texts = {v.network: value_texts(v, program) for v in neural}
    group: SymmetryGroup | None
    found: list[Rewriting]
    try:
        group = symmetry_group(formulas, program.limits, deadline)
        classes = interchangeable_values(formulas, group, program)
        found = rewritings(root, candidates, program, kinds=kinds, deadline=deadline)
    except (TimeLimit, CircuitLimitError, GroundingLimitError):
        group, classes, found = None, {}, []
    readings, examples, labels, smallest, occurring = None, (), (), True, None
    if codes is not None:
        readings, examples, labels, smallest, occurring = _empirical(
            formulas, codes, classes, found, settled, texts, program, deadline
        )
    networks = tuple(
        NetworkCertificate(
            name,
            texts[name],
            _description(name, group, classes.get(name, ()), found, texts[name]),
            tuple(tuple(texts[name][v] for v in sorted(members)) for members in classes.get(name, ()) if len(members) > 1),
            tuple(dict.fromkeys(r.equivalence.networks[name] for r in found if r.equivalence.networks.get(name, name) != name)),
            () if occurring is None else tuple(t for v, t in enumerate(texts[name]) if v not in occurring.get(name, ())),
            group is not None,
        )
        for name in names
    )
    return Certificate(
        networks,
        None if group is None else group.order,
        tuple(_rewriting_text(rewriting, texts) for rewriting in found),
        readings,
        examples,
        source,
        labels,
        smallest,
    )


def _empirical(
    formulas: Sequence[Any],
    codes: Mapping[Variable, npt.NDArray[Any]],
    classes: Mapping[str, Sequence[frozenset[int]]],
    found: Sequence[Rewriting],
    settled: Iterable[ValueOf],
    texts: Mapping[str, tuple[str, ...]],
    program: Program,
    deadline: Deadline,
) -> tuple[ReadingCount, tuple[str, ...], tuple[tuple[str, str], ...], bool, Mapping[str, tuple[int, ...]] | None]:
    """Number, examples, labels, whether they are the fewest, and occurring values."""
    try:
        problem = ReadingProblem(formulas, codes, classes, program.limits)
    except (CircuitLimitError, GroundingLimitError):
        return ReadingCount(1, False), (), (), False, None
    known = [value for value in settled if value in problem.number]
    readings = problem.count(known, deadline)
    swaps = [r.equivalence.reading for r in found if all(a == b for a, b in r.equivalence.networks.items())]
    labels, smallest = smallest_labels(problem, swaps, known, deadline)
    try:
        examples = problem.examples(EXAMPLES, deadline)
    except TimeLimit:
        examples = []
    return (
        readings,
        tuple(reading_text(reading, texts) for reading in examples),
        tuple((name, texts[name][value]) for name, value in labels),
        smallest,
        problem.occurring,
    )


def tree_variables(root: Node, program: Program) -> list[Variable]:
    """The variables of a tree: network values, columns and cells of numbers."""
    _, formulas = results(root, program)
    literals = (node for node in bottom_up(formulas) if isinstance(node, FormulaLiteral))
    return list(dict.fromkeys(node.variable for node in literals))


def value_texts(variable: NeuralVariable, program: Program) -> tuple[str, ...]:
    """The values of a network's variable as text; those of a neural fact are `no` and `yes`."""
    values = program.declarations[variable.declaration].values
    return ("no", "yes") if values is None else tuple(values)


def interchangeable_values(
    formulas: Sequence[Any], group: SymmetryGroup, program: Program
) -> dict[str, tuple[frozenset[int], ...]]:
    """For each network its values in classes; exchanging any two of a class leaves the function unchanged."""
    pair = PairOfFunctions(formulas, formulas, program.limits)
    classes: dict[str, tuple[frozenset[int], ...]] = {}
    for name, size in group.sizes.items():
        members: list[list[int]] = []
        for value in range(size):
            for other in members:
                if value in group.orbit(name, other[0]) and pair.agree({name: _transposition(size, value, other[0])}):
                    other.append(value)
                    break
            else:
                members.append([value])
        classes[name] = tuple(map(frozenset, members))
    return classes


def _transposition(size: int, a: int, b: int) -> tuple[int, ...]:
    images = list(range(size))
    images[a], images[b] = b, a
    return tuple(images)


def _description(
    name: str,
    group: SymmetryGroup | None,
    classes: Sequence[frozenset[int]],
    found: Sequence[Rewriting],
    texts: Sequence[str],
) -> str:
    """What the values of a network are fixed up to."""
    if group is None:
        return "unknown"
    size = len(texts)
    swaps = [r.equivalence.reading[name] for r in found if name in r.equivalence.reading]
    own = [generator[name] for generator in group.generators if name in generator]
    maps = [images for images in dict.fromkeys([*own, *swaps]) if images != tuple(range(size))]
    if not maps:
        return "nothing"
    if size == 2:
        return "yes and no exchanged" if tuple(texts) == ("no", "yes") else f"{texts[0]} and {texts[1]} exchanged"
    kinds = []
    class_of = {value: members for members in classes for value in members}
    for members in classes:
        if len(members) > 1:
            within = "any permutation" if len(members) == size else f"any permutation within {_set(members, texts)}"
            kinds.append(within)
    rest = [m for m in maps if any(class_of.get(v, frozenset({v})) != class_of.get(m[v], frozenset({m[v]})) for v in range(size))]
    if any(m == tuple(reversed(range(size))) for m in rest):
        kinds.append("reversal")
    if any(_shift(m) is not None for m in rest):
        kinds.append("a shift")
    others = [m for m in rest if m != tuple(reversed(range(size))) and _shift(m) is None]
    kinds.extend(f"the exchange {_cycles(m, texts)}" for m in others[:2])
    if len(others) > 2:
        kinds.append("more exchanges")
    return " and ".join(kinds)


def _shift(images: Sequence[int]) -> int | None:
    """The step of a cyclic shift; None for other maps."""
    n = len(images)
    step = images[0] % n
    return step if step and all(image == (v + step) % n for v, image in enumerate(images)) else None


def _set(values: Iterable[int], texts: Sequence[str]) -> str:
    return "{" + ", ".join(texts[v] for v in sorted(values)) + "}"


def _cycles(images: Sequence[int], texts: Sequence[str]) -> str:
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
    tests = ", ".join(f"{old} could read {new}" for old, new in rewriting.tests.items())
    renamed = [f"{new} in the place of {old}" for old, new in rewriting.equivalence.networks.items() if old != new]
    changed = []
    for name, images in rewriting.equivalence.reading.items():
        if images != tuple(range(len(images))):
            reversed_ = images == tuple(reversed(range(len(images))))
            what = "reversed" if reversed_ else "renamed as " + _cycles(images, texts[name])
            changed.append(f"the values of {name} {what}")
    return f"{tests}, with {' and '.join([*renamed, *changed])}."


def column_codes(variable: Variable, column: Any) -> npt.NDArray[np.int64]:
    """The index of the value of a column variable in each example, `(example,)`."""
    values = np.asarray(column)
    if isinstance(variable, ColumnVariable):
        return values.astype(np.int64)
    beyond = [values > b.at if b.above else values >= b.at for b in variable.boundaries]  # type: ignore[union-attr]
    return np.sum(beyond, axis=0).astype(np.int64)
