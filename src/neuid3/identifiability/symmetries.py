"""Value permutations of networks that leave a function of their values unchanged, found by partition refinement."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from neuid3.circuits.compile import Circuit, compile_formulas
from neuid3.circuits.diagram import FALSE, TRUE, Diagram
from neuid3.errors import SearchLimitError
from neuid3.logic.formula import Formula, NeuralVariable
from neuid3.logic.sandbox import DEFAULT_LIMITS, Limits

# A reading maps each value of a network to a value of the same network, by index.
Images = tuple[int, ...]  # the image of every value of a network
Reading = dict[str, Images]

Colours = dict[str, npt.NDArray[np.int64]]
Integers = npt.NDArray[np.int64]

# Weighted model counts are computed in the integers modulo this prime, so that equal counts are equal numbers.
PRIME = 2**31 - 1

# The deadline is compared with the time once for so many nodes of a diagram.
NODES_PER_CHECK = 256


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time that a search must not pass.

    Attributes
    ----------
    end : seconds of the monotonic clock; infinite for no limit.
    """

    end: float = math.inf

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The deadline in so many seconds.

        Parameters
        ----------
        seconds : the time from now.

        Returns
        -------
        The deadline.
        """
        return cls(time.monotonic() + seconds)

    @property
    def seconds_left(self) -> float:
        """The time until the deadline, in seconds; 0 after it."""
        return max(self.end - time.monotonic(), 0.0)

    def check(self) -> None:
        """Do nothing before the deadline.

        Raises
        ------
        SearchLimitError : after the deadline.
        """
        if time.monotonic() >= self.end:
            raise SearchLimitError("The search has exceeded its time limit; allow more seconds, as in time_limit=600.")

    def limited(self, limits: Limits) -> Limits:
        """Limits that also keep the deadline.

        Parameters
        ----------
        limits : the limits of one circuit.

        Returns
        -------
        The same limits, with no more seconds than are left.
        """
        return replace(limits, seconds=min(limits.seconds, self.seconds_left))


class PairOfFunctions:
    """Two functions of the same variables, each given by one formula for every result that it may have.

    Parameters
    ----------
    left, right : formulas; the two functions have the same result where formulas of the same position are true.
    limits : the size and time of their circuit.
    deadline : every search raises a `SearchLimitError` after it.

    Attributes
    ----------
    variables : the variables of each network that one of the functions depends on.
    sizes : the number of values of each of these networks.
    """

    def __init__(
        self,
        left: Sequence[Formula],
        right: Sequence[Formula],
        limits: Limits = DEFAULT_LIMITS,
        deadline: Deadline | None = None,
    ) -> None:
        self.deadline = deadline or Deadline()
        self.deadline.check()
        self.circuit: Circuit = compile_formulas([*left, *right], self.deadline.limited(limits))
        self.left = self.circuit.roots[: len(left)]
        self.right = self.circuit.roots[len(left) :]
        neural = [v for v in self.circuit.variables if isinstance(v, NeuralVariable)]
        self.variables = {
            name: [v for v in neural if v.network == name] for name in sorted({v.network for v in neural})
        }
        self.sizes = {name: variables[0].size for name, variables in self.variables.items()}
        random = np.random.default_rng(0)
        self._weights = random.integers(1, PRIME, size=4096)
        self._unchanged = {
            v: _normalised(random.integers(1, PRIME, size=v.size)) for v in self.circuit.variables if v not in neural
        }

    def agree(self, reading: Mapping[str, Sequence[int]]) -> bool:
        """Whether left(w) = right(ρ(w)) for every assignment w.

        Parameters
        ----------
        reading : the map ρ; networks that it does not name are unchanged.

        Returns
        -------
        True if the diagrams of both sides are the same.
        """
        self.deadline.check()
        circuit = self.circuit
        diagram = Diagram([variable.size for variable in circuit.variables])
        nodes, mapped = [FALSE, TRUE], [FALSE, TRUE]
        for level, children in zip(circuit.levels, circuit.children, strict=True):
            nodes.append(diagram.node(level, tuple(nodes[child] for child in children)))
            variable = circuit.variables[level]
            if isinstance(variable, NeuralVariable) and variable.network in reading:
                children = tuple(children[value] for value in reading[variable.network])
            mapped.append(diagram.node(level, tuple(mapped[child] for child in children)))
        return all(nodes[a] == mapped[b] for a, b in zip(self.left, self.right, strict=True))

    def refine(self, left: Colours, right: Colours) -> tuple[Colours, Colours] | None:
        """The coarsest refinement of two colourings of values that weighted counts of both functions allow.

        Values of one colour may be mapped to each other.

        Parameters
        ----------
        left, right : colours of the values of each network in the two functions, `(value,)`.

        Returns
        -------
        The finer colourings; None where no bijection keeps the colours.
        """
        is_same = left is right and self.left == self.right
        while True:
            self.deadline.check()
            of_left = self._signatures(self.left, left)
            of_right = of_left if is_same else self._signatures(self.right, right)
            new_left, new_right = {}, {}
            for name, size in self.sizes.items():
                rows = np.concatenate((of_left[name], of_right[name]))
                colours = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
                new_left[name], new_right[name] = colours[:size], colours[size:]
                if not np.array_equal(np.sort(new_left[name]), np.sort(new_right[name])):
                    return None
            if all(_count(new_left[name]) == _count(left[name]) for name in self.sizes):
                return new_left, new_right
            left, right = new_left, new_right

    def _signatures(self, roots: Sequence[int], colours: Colours) -> dict[str, Integers]:
        """For each value its colour and the weighted counts of the roots with each variable fixed to it.

        Where every value of a network has a colour of its own, counts would tell nothing more.
        """
        weights = {name: _normalised(self._weights[colours[name]]) for name in self.sizes}
        open_networks = [name for name, size in self.sizes.items() if _count(colours[name]) < size]
        fixed = [(v, value) for name in open_networks for v in self.variables[name] for value in range(v.size)]
        counts = self._counts(roots, weights, fixed)
        start, signatures = 0, {name: colours[name][:, None] for name in self.sizes}
        for name in open_networks:
            size, variables = self.sizes[name], self.variables[name]
            end = start + len(variables) * size
            by_value = counts[:, start:end].reshape(len(roots), len(variables), size)
            rows = by_value.transpose(2, 1, 0).reshape(size, -1)
            signatures[name], start = np.column_stack((colours[name], rows)), end
        return signatures

    def _counts(
        self, roots: Sequence[int], weights: Mapping[str, Integers], fixed: Sequence[tuple[NeuralVariable, int]]
    ) -> Integers:
        """Weighted counts modulo the prime, `(root, fixed)`, with one variable fixed to a value in each column."""
        tables: list[Integers] = []
        for variable in self.circuit.variables:
            plain = weights[variable.network] if isinstance(variable, NeuralVariable) else self._unchanged[variable]
            table = np.repeat(plain[:, None], len(fixed), axis=1)
            for column, (other, value) in enumerate(fixed):
                if other == variable:
                    table[:, column] = 0
                    table[value, column] = 1
            tables.append(table)
        counts = np.zeros((len(self.circuit) + 2, len(fixed)), dtype=np.int64)
        counts[TRUE] = 1
        for i, (level, children) in enumerate(zip(self.circuit.levels, self.circuit.children, strict=True)):
            if i % NODES_PER_CHECK == 0:
                self.deadline.check()
            counts[i + 2] = (tables[level] * counts[list(children)] % PRIME).sum(0) % PRIME
        return counts[list(roots)]

    def isomorphism(self, left: Colours | None = None, right: Colours | None = None) -> Reading | None:
        """A bijective reading ρ with left(w) = right(ρ(w)) that maps colours to colours; None where there is none.

        Parameters
        ----------
        left, right : colours of the values of each network in the two functions, by default one.

        Returns
        -------
        The reading, the identity where it is one; None where there is none.
        """
        if self._supports(self.left) != self._supports(self.right):
            return None
        return next(self._search(left or self.one_colour(), right or self.one_colour()), None)

    def _supports(self, roots: Sequence[int]) -> list[frozenset[int]]:
        """The levels of the variables on which each root depends; a reading leaves them as they are.

        Weighted counts need not show them: P(X = Y) is the same for every X where all values have the same weight.
        """
        supports: list[frozenset[int]] = [frozenset(), frozenset()]
        for level, children in zip(self.circuit.levels, self.circuit.children, strict=True):
            supports.append(frozenset({level}).union(*(supports[child] for child in set(children))))
        return [supports[root] for root in roots]

    def exchange(self, name: str, value: int, other: int) -> Reading | None:
        """The reading that exchanges two values of a network and nothing else; None where left(w) ≠ right(ρ(w)).

        Parameters
        ----------
        name : a network.
        value, other : the indices of two of its values.

        Returns
        -------
        The reading of all networks.
        """
        images = _transposition(self.sizes[name], value, other)
        if not self.agree({name: images}):
            return None
        return {network: tuple(range(size)) for network, size in self.sizes.items()} | {name: images}

    def fixed_colours(self, fixed: Mapping[str, Iterable[int]]) -> Colours:
        """The colouring in which every fixed value of a network is alone, and all others have the same colour.

        Parameters
        ----------
        fixed : values by network; networks that the functions do not depend on are left out.

        Returns
        -------
        Colours of the values of each network, `(value,)`.
        """
        colours = self.one_colour()
        for name in self.sizes:
            for i, value in enumerate(sorted(fixed.get(name, ()))):
                colours[name][value] = i + 1
        return colours

    def one_colour(self) -> Colours:
        """The colouring in which all values of a network have the same colour."""
        return {name: np.zeros(size, dtype=np.int64) for name, size in self.sizes.items()}

    def _search(self, left: Colours, right: Colours) -> Iterator[Reading]:
        refined = self.refine(left, right)
        if refined is None:
            return
        left, right = refined
        open_class = smallest_class(left)
        if open_class is None:
            reading = {
                name: tuple(int(np.flatnonzero(right[name] == colour)[0]) for colour in left[name])
                for name in self.sizes
            }
            if self.agree(reading):
                yield reading
            return
        name, value = open_class
        for image in np.flatnonzero(right[name] == left[name][value]):
            yield from self._search(individualised(left, name, value), individualised(right, name, int(image)))


@dataclass(frozen=True, slots=True)
class SymmetryGroup:
    """A group of bijective readings that leave a function unchanged.

    Attributes
    ----------
    sizes : the number of values of each network.
    generators : readings that generate the group.
    order : the number of its elements.
    """

    sizes: Mapping[str, int]
    generators: tuple[Reading, ...]
    order: int

    def orbit(self, network: str, value: int) -> frozenset[int]:
        """The values that a value of a network can be mapped to.

        Parameters
        ----------
        network : the name of a network.
        value : the index of one of its values.

        Returns
        -------
        Indices of values, the value itself among them.
        """
        return frozenset(_orbit(network, value, self.generators))


def symmetry_group(
    formulas: Sequence[Formula],
    limits: Limits = DEFAULT_LIMITS,
    deadline: Deadline | None = None,
    *,
    fixed: Mapping[str, Iterable[int]] | None = None,
) -> SymmetryGroup:
    """The group of value permutations that leave a function unchanged.

    Parameters
    ----------
    formulas : a formula for each result of the function.
    limits : the size and time of its circuit.
    deadline : the time by which the search must end.
    fixed : values of networks that every permutation leaves in their places.

    Returns
    -------
    The group.

    Raises
    ------
    SearchLimitError : after the deadline.
    CircuitLimitError, GroundingLimitError : where the circuit exceeds its limits.

    >>> from neuid3.logic.formula import And, Literal, NeuralVariable, Or
    >>> a, b = (NeuralVariable(0, "rank", (column,), (column,), 3) for column in "ab")
    >>> def less(x, y):
    ...     pairs = [(i, j) for i in range(3) for j in range(i + 1, 3)]
    ...     return Or(tuple(And((Literal(x, frozenset({i})), Literal(y, frozenset({j})))) for i, j in pairs))
    >>> symmetry_group([less(a, b)]).order, symmetry_group([Or((less(a, b), less(b, a)))]).order
    (1, 6)
    """
    pair = PairOfFunctions(formulas, formulas, limits, deadline)
    # The base is a sequence of values after whose individualisation every class has one value.
    prefixes: list[Colours] = []
    base: list[tuple[str, int]] = []
    colours = pair.fixed_colours(fixed or {})
    while True:
        refined = pair.refine(colours, colours)
        assert refined is not None
        colours = refined[0]
        open_class = smallest_class(colours)
        if open_class is None:
            break
        prefixes.append(colours)
        base.append(open_class)
        colours = individualised(colours, *open_class)
    generators: list[Reading] = []
    order = 1
    for prefix, (name, value) in zip(reversed(prefixes), reversed(base), strict=True):
        # The generators found so far fix all earlier values of the base, so their orbits are those of a stabilizer.
        orbit = _orbit(name, value, generators)
        for image in np.flatnonzero(prefix[name] == prefix[name][value]):
            if int(image) in orbit:
                continue
            generator = pair.exchange(name, value, int(image)) or pair.isomorphism(
                individualised(prefix, name, value), individualised(prefix, name, int(image))
            )
            if generator is not None:
                generators.append(generator)
                orbit = _orbit(name, value, generators)
        order *= len(orbit)
    return SymmetryGroup(pair.sizes, tuple(generators), order)


def interchangeable_values(pair: PairOfFunctions, group: SymmetryGroup) -> dict[str, tuple[frozenset[int], ...]]:
    """For each network its values in classes; exchanging any two of a class leaves the function unchanged.

    Parameters
    ----------
    pair : the function, twice.
    group : the permutations that leave it unchanged.

    Returns
    -------
    Sets of values by network, which together are all its values.

    Raises
    ------
    SearchLimitError : after the deadline of the pair.
    """
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


def smallest_class(colours: Colours) -> tuple[str, int] | None:
    """A value of a smallest class with more than one value, with its network; None where all classes have one."""
    best: tuple[int, str, int] | None = None
    for name, of_values in colours.items():
        present, counts = np.unique(of_values, return_counts=True)
        for colour, count in zip(present, counts, strict=True):
            if count > 1 and (best is None or count < best[0]):
                best = (int(count), name, int(np.flatnonzero(of_values == colour)[0]))
    return None if best is None else best[1:]


def individualised(colours: Colours, network: str, value: int) -> Colours:
    """The colouring in which one value of a network has a colour of its own."""
    changed = colours[network].copy()
    changed[value] = changed.max() + 1
    return {**colours, network: changed}


def _orbit(network: str, value: int, generators: Sequence[Reading]) -> set[int]:
    orbit, waiting = {value}, [value]
    while waiting:
        current = waiting.pop()
        for image in (generator[network][current] for generator in generators):
            if image not in orbit:
                orbit.add(image)
                waiting.append(image)
    return orbit


def _count(colours: Integers) -> int:
    return len(np.unique(colours))


def _normalised(weights: Integers) -> Integers:
    """Weights that sum to 1 modulo the prime, so that variables a circuit leaves out do not change its counts."""
    total = int(weights.sum() % PRIME)
    return weights * pow(total or 1, PRIME - 2, PRIME) % PRIME


def moves(images: Images) -> bool:
    """Whether a map of values changes any of them."""
    return images != tuple(range(len(images)))
