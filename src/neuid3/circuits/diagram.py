"""Reduced ordered decision diagrams over finite domains."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence

from neuid3.errors import CircuitLimitError, GroundingLimitError

FALSE, TRUE = 0, 1

Operator = Callable[[int, int], int | None]


def _and(left: int, right: int) -> int | None:
    """The conjunction of two nodes where it needs no recursion; None otherwise."""
    if left == FALSE or right == FALSE:
        return FALSE
    if left in (TRUE, right):
        return right
    return left if right == TRUE else None


def _or(left: int, right: int) -> int | None:
    """The disjunction of two nodes where it needs no recursion; None otherwise."""
    if left == TRUE or right == TRUE:
        return TRUE
    if left in (FALSE, right):
        return right
    return left if right == FALSE else None


class Clock:
    """A deadline for the construction of a circuit, which reads the time once in many steps.

    Parameters
    ----------
    seconds : the time from now to the deadline.

    Raises
    ------
    GroundingLimitError : after the deadline.
    """

    _INTERVAL = 20_000  # children visited between two readings of the time, some milliseconds

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self._left = self._INTERVAL

    def step(self, children: int) -> None:
        """Count a step that visits so many children."""
        self._left -= children
        if self._left < 0:
            self._left = self._INTERVAL
            if time.monotonic() > self._end:
                raise GroundingLimitError(
                    f"Building the circuit of a test or path took longer than {self.seconds:g} s and was stopped; simplify "
                    "the rules, or raise the limit with Limits(seconds=…)."
                )


class Diagram:
    """The unique table of a decision diagram. A node branches on a variable, with a child for each value.

    Variables are levels, from 0 at the top. A node whose children are all the same is replaced by that child, and
    no two nodes are equal, so that equivalent formulas have the same node.

    >>> diagram = Diagram([3, 3])
    >>> low, high = diagram.literal(0, {0}), diagram.literal(0, {1, 2})
    >>> diagram.disjoin([low, high]) == TRUE, diagram.conjoin([low, high]) == FALSE
    (True, True)
    """

    def __init__(self, sizes: Sequence[int], limit: int = 1_000_000, clock: Clock | None = None) -> None:
        self.sizes = tuple(sizes)
        self.limit = limit
        self.clock = clock or Clock(math.inf)
        self.levels: list[int] = [len(self.sizes), len(self.sizes)]
        self.children: list[tuple[int, ...]] = [(), ()]
        self._unique: dict[tuple[int, tuple[int, ...]], int] = {}
        self._memo: dict[tuple[Operator, int, int], int] = {}
        self._negated: dict[int, int] = {FALSE: TRUE, TRUE: FALSE}

    def __len__(self) -> int:
        return len(self.levels)

    def node(self, level: int, children: tuple[int, ...]) -> int:
        """The node of this level with these children; a `CircuitLimitError` where there are too many nodes."""
        if all(child == children[0] for child in children):
            return children[0]
        key = (level, children)
        node = self._unique.get(key)
        if node is None:
            if len(self.levels) >= self.limit:
                raise CircuitLimitError(
                    f"The circuit of a test or path grew beyond {self.limit} nodes; simplify the rules, "
                    "or raise the limit with Limits(circuit_nodes=…)."
                )
            node = self._unique[key] = len(self.levels)
            self.levels.append(level)
            self.children.append(children)
        return node

    def literal(self, level: int, values: Iterable[int]) -> int:
        """The node that is true where the variable of this level has one of these values."""
        true_values = set(values)
        self.clock.step(self.sizes[level])
        return self.node(level, tuple(TRUE if value in true_values else FALSE for value in range(self.sizes[level])))

    def conjoin(self, nodes: Iterable[int]) -> int:
        """The node of the conjunction of these nodes."""
        return self._fold(_and, list(nodes), TRUE)

    def disjoin(self, nodes: Iterable[int]) -> int:
        """The node of the disjunction of these nodes."""
        return self._fold(_or, list(nodes), FALSE)

    def _fold(self, operator: Operator, nodes: list[int], empty: int) -> int:
        # Combination in pairs keeps the intermediate diagrams smaller than combination one by one.
        while len(nodes) > 1:
            pairs = zip(nodes[::2], nodes[1::2], strict=False)
            nodes = [self._apply(operator, left, right) for left, right in pairs] + nodes[len(nodes) & ~1 :]
        return nodes[0] if nodes else empty

    def _apply(self, operator: Operator, left: int, right: int) -> int:
        """The combination of two diagrams, with an explicit stack, since rules may have thousands of variables."""
        memo, levels = self._memo, self.levels

        def known(a: int, b: int) -> int | None:
            immediate = operator(a, b)
            return immediate if immediate is not None else memo.get((operator, a, b) if a <= b else (operator, b, a))

        stack = [(left, right)]
        while stack:
            a, b = stack[-1]
            if known(a, b) is not None:
                stack.pop()
                continue
            level = min(levels[a], levels[b])
            self.clock.step(self.sizes[level])
            below = [
                (self.children[a][v] if levels[a] == level else a, self.children[b][v] if levels[b] == level else b)
                for v in range(self.sizes[level])
            ]
            results = [known(x, y) for x, y in below]
            missing = [pair for pair, result in zip(below, results, strict=True) if result is None]
            if missing:
                stack.extend(missing)
            else:
                combined = self.node(level, tuple(result for result in results if result is not None))
                memo[(operator, a, b) if a <= b else (operator, b, a)] = combined
                stack.pop()
        result = known(left, right)
        assert result is not None
        return result

    def negate(self, root: int) -> int:
        """The node of the negation: the same diagram with its two terminals exchanged."""
        stack = [root]
        while stack:
            node = stack[-1]
            self.clock.step(len(self.children[node]))
            if node in self._negated:
                stack.pop()
            elif waiting := [child for child in self.children[node] if child not in self._negated]:
                stack.extend(waiting)
            else:
                negated = self.node(self.levels[node], tuple(self._negated[child] for child in self.children[node]))
                self._negated[node], self._negated[negated] = negated, node
                stack.pop()
        return self._negated[root]
