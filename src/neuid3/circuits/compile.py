"""Which circuit computes a formula? One that is compiled once and evaluated for every example."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from neuid3.circuits.diagram import FALSE, TRUE, Clock, Diagram
from neuid3.errors import CircuitLimitError, GroundingLimitError
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
from neuid3.logic.sandbox import DEFAULT_LIMITS, Limits

# Below this size a second opinion about the order of variables is not worth its time.
_SMALL = 64

# A literal is a node with a child for each value of its variable. Above this width, `v(1) or v(2) or …` is drawn as
# one literal from the start: as a node for each value it would take the square of the width.
_WIDE = 1000


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


def compile_formulas(formulas: Sequence[Formula], limits: Limits = DEFAULT_LIMITS) -> Circuit:
    """One circuit with a root for each formula, with at most `circuit_nodes` nodes and in at most `seconds` of time.

    >>> from neuid3.logic.formula import ColumnVariable
    >>> a, b = (Literal(ColumnVariable(name, 2), frozenset({1})) for name in "ab")
    >>> circuit = compile_formulas([And((a, b)), Not(Or((a, b)))])
    >>> len(circuit), len(circuit.roots)
    (4, 2)
    """
    drawn = draw_cells(formulas)
    clock = Clock(limits.seconds)
    best, failure = None, None
    try:
        for order in _orders(drawn, clock):
            ceiling = limits.circuit_nodes if best is None else min(limits.circuit_nodes, 4 * len(best) + _SMALL)
            try:
                tried = _compile(drawn, order, ceiling, clock)
            except CircuitLimitError as error:
                failure = error
                continue
            if best is None or len(tried) < len(best):
                best = tried
            if len(best) <= _SMALL:
                break
    except GroundingLimitError:
        if best is None:
            raise
    if best is None:
        assert failure is not None
        raise failure
    return best


def _orders(formulas: Sequence[Formula], clock: Clock) -> Iterator[list[Variable]]:
    """Orders worth trying: as the rules mention them, that reversed, and neighbours put close."""
    mentioned: dict[Variable, None] = {}
    for node in bottom_up(formulas):
        if isinstance(node, Literal):
            mentioned.setdefault(node.variable)
    first = list(mentioned)
    yield first
    if len(first) > 2:
        yield first[::-1]
        yield _force(formulas, first, clock)


def _force(formulas: Sequence[Formula], order: list[Variable], clock: Clock, rounds: int = 30) -> list[Variable]:
    """Variables that stand in the same small parts are pulled together (the FORCE heuristic).

    Each part is a spring: in every round a variable moves to the mean of the centres of its parts.
    """
    groups: dict[int, frozenset[Variable]] = {}
    for node in bottom_up(formulas):
        if isinstance(node, Literal):
            groups[id(node)] = frozenset({node.variable})
        else:
            groups[id(node)] = frozenset().union(*(groups[id(part)] for part in parts_of(node)))
            clock.step(sum(len(groups[id(part)]) for part in parts_of(node)))
    springs = [group for group in set(groups.values()) if 1 < len(group) < len(order)]
    if not springs:
        return order
    place = {variable: float(i) for i, variable in enumerate(order)}
    for _ in range(rounds):
        pulls: dict[Variable, list[float]] = {variable: [] for variable in order}
        for spring in springs:
            clock.step(2 * len(spring))
            centre = sum(place[variable] for variable in spring) / len(spring)
            for variable in spring:
                pulls[variable].append(centre)
        moved = {v: sum(p) / len(p) if p else place[v] for v, p in pulls.items()}
        order = sorted(order, key=moved.__getitem__)
        place = {variable: float(i) for i, variable in enumerate(order)}
    return order


def _compile(formulas: Sequence[Formula], order: list[Variable], limit: int, clock: Clock) -> Circuit:
    diagram = Diagram([variable.size for variable in order], limit, clock)
    level = {variable: i for i, variable in enumerate(order)}
    made: dict[int, int] = {}
    # Literals of wide variables are drawn by themselves only where they are no part of a disjunction.
    alone = {id(part) for node in bottom_up(formulas) if not isinstance(node, Or) for part in parts_of(node)}
    alone.update(map(id, formulas))
    for node in bottom_up(formulas):
        match node:
            case Truth(value):
                made[id(node)] = TRUE if value else FALSE
            case Literal(variable, values):
                if variable.size <= _WIDE or id(node) in alone:
                    made[id(node)] = diagram.literal(level[variable], values)
            case Not(part):
                made[id(node)] = diagram.negate(made[id(part)])
            case And(parts):
                made[id(node)] = diagram.conjoin(made[id(part)] for part in parts)
            case Or(parts):
                narrow, wide = _wide_literals(parts)
                wide_nodes = [diagram.literal(level[variable], values) for variable, values in wide.items()]
                made[id(node)] = diagram.disjoin([*(made[id(part)] for part in narrow), *wide_nodes])
            case Compare():
                raise AssertionError("comparisons are drawn as cells before compiling")
    return _reachable(diagram, order, [made[id(formula)] for formula in formulas])


def _wide_literals(parts: Sequence[Formula]) -> tuple[list[Formula], dict[Variable, set[int]]]:
    """The literals of wide variables in a disjunction, one for each variable, apart from its other parts."""
    narrow: list[Formula] = []
    wide: dict[Variable, set[int]] = {}
    for part in parts:
        if isinstance(part, Literal) and part.variable.size > _WIDE:
            wide.setdefault(part.variable, set()).update(part.values)
        else:
            narrow.append(part)
    return narrow, wide


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
