"""Circuits shared by formulas that differ in the names of their variables only."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Container, Hashable, Sequence
from dataclasses import replace
from typing import TypeAlias

from neuid3.circuits.compile import Circuit, compile_formulas
from neuid3.errors import CircuitLimitError
from neuid3.logic.formula import And, Formula, Literal, Not, Or, Truth, Variable, bottom_up, draw_cells
from neuid3.logic.sandbox import DEFAULT_LIMITS, Limits

# The most nodes that known circuits have together: some hundred megabytes.
MOST_NODES = 500_000


# A circuit with the numbers of its variables among those of the formulas, or the error that it would be too large and the limit.
_Known: TypeAlias = "tuple[Circuit, tuple[int, ...]] | tuple[CircuitLimitError, int]"


class CircuitCache:
    """Circuits by the structure of their formulas; those that were used last are kept.

    Restarts and candidates ask the same queries of different networks, and every network has variables of its own. Their
    formulas have the same structure, and so the same circuit but for the variables at its levels.

    Parameters
    ----------
    most_nodes : the most nodes that the circuits have together.
    """

    def __init__(self, most_nodes: int = MOST_NODES) -> None:
        self.most_nodes = most_nodes
        self._circuits: OrderedDict[Hashable, _Known] = OrderedDict()
        self._nodes, self._lock = 0, threading.Lock()

    def __len__(self) -> int:
        return len(self._circuits)

    def compile(
        self,
        formulas: Sequence[Formula],
        limits: Limits = DEFAULT_LIMITS,
        complete: Container[str] = (),
        one_order: bool = False,
    ) -> Circuit:
        """One circuit with a root for each formula.

        Parameters
        ----------
        formulas : the formulas.
        limits, complete, one_order : as for `compile_formulas`.

        Returns
        -------
        What `compile_formulas` gives.

        Raises
        ------
        CircuitLimitError : where the circuit has too many nodes.
        """
        discretized = draw_cells(formulas, complete)
        structure, variables = structure_of_formulas(discretized)
        # With one order the circuit is the same for any limit that it keeps to.
        key = (structure, None if one_order else limits.circuit_nodes)
        with self._lock:
            known = self._circuits.get(key)
            if known is not None:
                self._circuits.move_to_end(key)
        match known:
            case (CircuitLimitError() as error, limit) if limits.circuit_nodes <= limit:
                raise error
            case (Circuit() as circuit, numbers) if circuit.compiled <= limits.circuit_nodes:
                return replace(circuit, variables=tuple(variables[number] for number in numbers))
        try:
            circuit = compile_formulas(discretized, limits, complete, one_order)
        except CircuitLimitError as error:
            self._keep(key, (CircuitLimitError(str(error)), limits.circuit_nodes))
            raise
        number_of = {variable: number for number, variable in enumerate(variables)}
        self._keep(key, (circuit, tuple(number_of[variable] for variable in circuit.variables)))
        return circuit

    def _keep(self, key: Hashable, known: _Known) -> None:
        with self._lock:
            before = self._circuits.pop(key, None)
            self._circuits[key] = known
            self._nodes += _nodes(known) - (0 if before is None else _nodes(before))
            while self._nodes > self.most_nodes and len(self._circuits) > 1:
                _, oldest = self._circuits.popitem(last=False)
                self._nodes -= _nodes(oldest)


def _nodes(known: _Known) -> int:
    """How much of the cache an entry takes."""
    circuit, _ = known
    return 1 if isinstance(circuit, CircuitLimitError) else len(circuit) + 1


def structure_of_formulas(formulas: Sequence[Formula]) -> tuple[Hashable, list[Variable]]:
    """What formulas have in common with others that differ in their variables only, and the variables.

    Parameters
    ----------
    formulas : formulas without comparisons.

    Returns
    -------
    A hashable value, and the variables in the order in which they first occur.

    >>> from neuid3.logic.formula import ColumnVariable
    >>> a, b, c = (Literal(ColumnVariable(name, 2), frozenset({1})) for name in "abc")
    >>> structure_of_formulas([And((a, b))])[0] == structure_of_formulas([And((c, a))])[0]
    True
    >>> structure_of_formulas([And((a, b))])[0] == structure_of_formulas([And((a, a))])[0]
    False
    """
    variables: dict[Variable, int] = {}
    numbers: dict[Hashable, int] = {}  # of the different nodes
    number_of: dict[int, int] = {}
    for node in bottom_up(formulas):
        key: Hashable
        match node:
            case Literal(variable, values):
                number = variables.setdefault(variable, len(variables))
                key = ("literal", number, variable.size, values)
            case Truth(value):
                key = ("truth", value)
            case Not(part):
                key = ("not", number_of[id(part)])
            case And(parts):
                key = ("and", *(number_of[id(part)] for part in parts))
            case Or(parts):
                key = ("or", *(number_of[id(part)] for part in parts))
            case _:
                raise AssertionError("comparisons are replaced by cells before compiling")
        number_of[id(node)] = numbers.setdefault(key, len(numbers))
    return (tuple(numbers), tuple(number_of[id(formula)] for formula in formulas)), list(variables)


# The circuits of this process.
CIRCUITS = CircuitCache()
