"""Which circuit computes a formula? One that is compiled once and evaluated for every example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuid3.circuit.diagram import FALSE, TRUE, Diagram
from neuid3.errors import CircuitLimitError
from neuid3.logic.formula import (
    And,
    Compare,
    Formula,
    Literal,
    Not,
    Or,
    Truth,
    Variable,
    bottom_up,
    draw_cells,
    parts_of,
)

# Below this size a second opinion about the order of variables is not worth its time.
_SMALL = 64


@dataclass(frozen=True, slots=True)
class Circuit:
    """A decision diagram: `variables` from the top level down, nodes from the bottom up.

    Node 0 is false and node 1 is true; node i + 2 asks `variables[levels[i]]` and goes to `children[i]`.
    """

    variables: tuple[Variable, ...]
    levels: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]
    roots: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.levels)


def compile_formulas(formulas: Sequence[Formula], limit: int = 200_000) -> Circuit:
    """One circuit with a root for each formula; at most `limit` nodes on the way.

    >>> from neuid3.logic.formula import ColumnVariable
    >>> a, b = (Literal(ColumnVariable(name, 2), frozenset({1})) for name in "ab")
    >>> circuit = compile_formulas([And((a, b)), Not(Or((a, b)))])
    >>> len(circuit), len(circuit.roots)
    (4, 2)
    """
    drawn = draw_cells(formulas)
    best, failure = None, None
    for order in _orders(drawn):
        ceiling = limit if best is None else min(limit, 4 * len(best) + _SMALL)
        try:
            tried = _compile(drawn, order, ceiling)
        except CircuitLimitError as error:
            failure = error
            continue
        if best is None or len(tried) < len(best):
            best = tried
        if len(best) <= _SMALL:
            break
    if best is None:
        assert failure is not None
        raise failure
    return best


def _orders(formulas: Sequence[Formula]) -> list[list[Variable]]:
    """Orders worth trying: as the rules mention them, that reversed, and neighbours put close."""
    mentioned: dict[Variable, None] = {}
    for node in bottom_up(formulas):
        if isinstance(node, Literal):
            mentioned.setdefault(node.variable)
    first = list(mentioned)
    orders = [first]
    if len(first) > 2:
        orders += [first[::-1], _force(formulas, first)]
    return orders


def _force(formulas: Sequence[Formula], order: list[Variable], rounds: int = 30) -> list[Variable]:
    """Variables that stand in the same small parts are pulled together (the FORCE heuristic).

    Each part is a spring: in every round a variable moves to the mean of the centres of its parts.
    """
    groups: dict[int, frozenset[Variable]] = {}
    for node in bottom_up(formulas):
        if isinstance(node, Literal):
            groups[id(node)] = frozenset({node.variable})
        else:
            groups[id(node)] = frozenset().union(*(groups[id(part)] for part in parts_of(node)))
    springs = [group for group in set(groups.values()) if 1 < len(group) < len(order)]
    if not springs:
        return order
    place = {variable: float(i) for i, variable in enumerate(order)}
    for _ in range(rounds):
        pulls: dict[Variable, list[float]] = {variable: [] for variable in order}
        for spring in springs:
            centre = sum(place[variable] for variable in spring) / len(spring)
            for variable in spring:
                pulls[variable].append(centre)
        moved = {v: sum(p) / len(p) if p else place[v] for v, p in pulls.items()}
        order = sorted(order, key=moved.__getitem__)
        place = {variable: float(i) for i, variable in enumerate(order)}
    return order


def _compile(formulas: Sequence[Formula], order: list[Variable], limit: int) -> Circuit:
    diagram = Diagram([variable.size for variable in order], limit)
    level = {variable: i for i, variable in enumerate(order)}
    made: dict[int, int] = {}
    for node in bottom_up(formulas):
        match node:
            case Truth(value):
                made[id(node)] = TRUE if value else FALSE
            case Literal(variable, values):
                made[id(node)] = diagram.literal(level[variable], values)
            case Not(part):
                made[id(node)] = diagram.negate(made[id(part)])
            case And(parts):
                made[id(node)] = diagram.conjoin(made[id(part)] for part in parts)
            case Or(parts):
                made[id(node)] = diagram.disjoin(made[id(part)] for part in parts)
            case Compare():
                raise AssertionError("comparisons are drawn as cells before compiling")
    return _reachable(diagram, order, [made[id(formula)] for formula in formulas])


def _reachable(diagram: Diagram, order: list[Variable], roots: list[int]) -> Circuit:
    """The part of the diagram that the roots need, deepest level first."""
    needed: set[int] = set()
    stack = [root for root in roots if root > TRUE]
    while stack:
        node = stack.pop()
        if node not in needed:
            needed.add(node)
            stack.extend(child for child in diagram.children[node] if child > TRUE and child not in needed)
    ranked = sorted(needed, key=lambda node: (-diagram.levels[node], node))
    place = {FALSE: FALSE, TRUE: TRUE} | {node: i + 2 for i, node in enumerate(ranked)}
    used = sorted({diagram.levels[node] for node in ranked})
    shift = {old: new for new, old in enumerate(used)}
    return Circuit(
        tuple(order[old] for old in used),
        tuple(shift[diagram.levels[node]] for node in ranked),
        tuple(tuple(place[child] for child in diagram.children[node]) for node in ranked),
        tuple(place[root] for root in roots),
    )
