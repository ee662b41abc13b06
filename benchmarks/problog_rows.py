"""ProbLog on the same problems, one program per example."""

from __future__ import annotations

from typing import Any

from neuid3.logic.prolog.evaluator import compiled


def problog_circuit(program: str) -> Any:
    """A program grounded and compiled, into the kind of circuit that ProbLog prefers (an SDD)."""
    return compiled(program)


def problog_probabilities(circuit: Any) -> dict[str, float]:
    """ProbLog's probabilities of the queries of a program."""
    return {str(query): float(probability) for query, probability in circuit.evaluate().items()}
