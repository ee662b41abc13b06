"""How does ProbLog answer the same questions? One program an example."""

from __future__ import annotations

from typing import Any

from neuid3.logic.prolog.evaluator import compiled


def problog_circuit(program: str) -> Any:
    """A program grounded and compiled, into the kind of circuit that ProbLog finds best (an SDD)."""
    return compiled(program)


def problog_answers(circuit: Any) -> dict[str, float]:
    """What ProbLog answers to the queries of a program."""
    return {str(query): float(probability) for query, probability in circuit.evaluate().items()}
