"""Compilation of formulas into a decision diagram, with a choice of variable order."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field

from neuid3.circuits.diagram import FALSE, TRUE, Clock, Diagram
from neuid3.errors import CircuitLimitError, GroundingLimitError
from neuid3.logic.formula import (
    And,
    Compare,
    CompareExpression,
    Formula,
    Literal,
    Not,
    OpenCompare,
    Or,
    Truth,
    Variable,
    bottom_up,
    draw_cells,
    parts_of,
)
from neuid3.logic.sandbox import DEFAULT_LIMITS, Limits

# Up to this many nodes, no further variable order is tried: it would take longer than it saves.
_SMALL = 64

# A literal is a node with a child for each value of its variable. Above this width, `v(1) or v(2) or …` becomes
# one literal from the start: with a node for each value, its size would be quadratic in the width.
_WIDE = 1000


@dataclass(frozen=True, slots=True)
class Circuit:
    """A reduced ordered decision diagram over finite domains, with several roots.

    Node 0 is false and node 1 is true; node i + 2 branches on `variables[levels[i]]` to `children[i]`.

    Attributes
    ----------
    variables : the variables from the top level down.
    levels : the level of each inner node, from the bottom up.
    children : for each inner node a child for each value of its variable.
    roots : the node of each formula.
    compiled : the number of nodes that there were when it was compiled, those included that no root needs; limits are about these.
    """

    variables: tuple[Variable, ...]
    levels: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]
    roots: tuple[int, ...]
    compiled: int = field(default=0, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.levels)


def compile_formulas(
    formulas: Sequence[Formula],
    limits: Limits = DEFAULT_LIMITS,
    complete: Container[str] = (),
    one_order: bool = False,
) -> Circuit:
    """One circuit with a root for each formula.

    Parameters
    ----------
    formulas : the formulas; variables that they share are shared in the circuit.
    limits : at most `circuit_nodes` nodes and `seconds` of time.
    complete : number columns that are missing in no example, as in `draw_cells`.
    one_order : whether only the variable order of the formulas is tried.

    Returns
    -------
    The circuit.

    Raises
    ------
    CircuitLimitError : where the circuit has too many nodes in every variable order that is tried.
    GroundingLimitError : where the time is over before one order is compiled.

    >>> from neuid3.logic.formula import ColumnVariable
    >>> a, b = (Literal(ColumnVariable(name, 2), frozenset({1})) for name in "ab")
    >>> circuit = compile_formulas([And((a, b)), Not(Or((a, b)))])
    >>> len(circuit), len(circuit.roots)
    (4, 2)
    """
    discretized = draw_cells(formulas, complete)
    clock = Clock(limits.seconds)
    best, failure = None, None
    try:
        for order in _orders(discretized, clock):
            ceiling = limits.circuit_nodes if best is None else min(limits.circuit_nodes, 4 * len(best) + _SMALL)
            try:
                circuit = _compile(discretized, order, ceiling, clock)
            except CircuitLimitError as error:
                failure = error
                if one_order:
                    break
                continue
            if best is None or len(circuit) < len(best):
                best = circuit
            if len(best) <= _SMALL or one_order:
                break
    except GroundingLimitError:
        if best is None:
            raise
    if best is None:
        assert failure is not None
        raise failure
    return best


def _orders(formulas: Sequence[Formula], clock: Clock) -> Iterator[list[Variable]]:
    """Variable orders to try: that of the formulas, its reverse, and the one of the FORCE heuristic."""
    variables: dict[Variable, None] = {}
    for node in bottom_up(formulas):
        if isinstance(node, Literal):
            variables.setdefault(node.variable)
    first = list(variables)
    yield first
    if len(first) > 2:
        yield first[::-1]
        yield force_order(formulas, first, clock)


def force_order(formulas: Sequence[Formula], order: list[Variable], clock: Clock, rounds: int = 30) -> list[Variable]:
    """The variable order of the FORCE heuristic, which places variables of the same subformulas close together.

    Each subformula is a hyperedge; in every round a variable moves to the mean of the centres of its hyperedges.
    """
    groups: dict[int, frozenset[Variable]] = {}
    for node in bottom_up(formulas):
        if isinstance(node, Literal):
            groups[id(node)] = frozenset({node.variable})
        else:
            groups[id(node)] = frozenset().union(*(groups[id(part)] for part in parts_of(node)))
            clock.step(sum(len(groups[id(part)]) for part in parts_of(node)))
    hyperedges = [group for group in set(groups.values()) if 1 < len(group) < len(order)]
    if not hyperedges:
        return order
    position = {variable: float(i) for i, variable in enumerate(order)}
    for _ in range(rounds):
        centres: dict[Variable, list[float]] = {variable: [] for variable in order}
        for hyperedge in hyperedges:
            clock.step(2 * len(hyperedge))
            centre = sum(position[variable] for variable in hyperedge) / len(hyperedge)
            for variable in hyperedge:
                centres[variable].append(centre)
        moved = {v: sum(c) / len(c) if c else position[v] for v, c in centres.items()}
        order = sorted(order, key=moved.__getitem__)
        position = {variable: float(i) for i, variable in enumerate(order)}
    return order


def _compile(formulas: Sequence[Formula], order: list[Variable], limit: int, clock: Clock) -> Circuit:
    diagram = Diagram([variable.size for variable in order], limit, clock)
    level = {variable: i for i, variable in enumerate(order)}
    node_of: dict[int, int] = {}
    # Literals of wide variables get nodes of their own only where they are not part of a disjunction.
    alone = {id(part) for node in bottom_up(formulas) if not isinstance(node, Or) for part in parts_of(node)}
    alone.update(map(id, formulas))
    for node in bottom_up(formulas):
        match node:
            case Truth(value):
                node_of[id(node)] = TRUE if value else FALSE
            case Literal(variable, values):
                if variable.size <= _WIDE or id(node) in alone:
                    node_of[id(node)] = diagram.literal(level[variable], values)
            case Not(part):
                node_of[id(node)] = diagram.negate(node_of[id(part)])
            case And(parts):
                node_of[id(node)] = diagram.conjoin(node_of[id(part)] for part in parts)
            case Or(parts):
                narrow, wide = _wide_literals(parts)
                wide_nodes = [diagram.literal(level[variable], values) for variable, values in wide.items()]
                node_of[id(node)] = diagram.disjoin([*(node_of[id(part)] for part in narrow), *wide_nodes])
            case Compare() | CompareExpression() | OpenCompare():
                raise AssertionError("comparisons are replaced by cells before compiling")
    return _reachable(diagram, order, [node_of[id(formula)] for formula in formulas])


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
    """The circuit of the nodes that are reachable from the roots, deepest level first."""
    needed: set[int] = set()
    stack = [root for root in roots if root > TRUE]
    while stack:
        node = stack.pop()
        if node not in needed:
            needed.add(node)
            stack.extend(child for child in diagram.children[node] if child > TRUE and child not in needed)
    ranked = sorted(needed, key=lambda node: (-diagram.levels[node], node))
    renumbered = {FALSE: FALSE, TRUE: TRUE} | {node: i + 2 for i, node in enumerate(ranked)}
    used = sorted({diagram.levels[node] for node in ranked})
    shift = {old: new for new, old in enumerate(used)}
    return Circuit(
        tuple(order[old] for old in used),
        tuple(shift[diagram.levels[node]] for node in ranked),
        tuple(tuple(renumbered[child] for child in diagram.children[node]) for node in ranked),
        tuple(renumbered[root] for root in roots),
        len(diagram),
    )
