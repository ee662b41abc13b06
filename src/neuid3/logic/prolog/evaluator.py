"""Evaluation of exported programs by ProbLog itself."""

from __future__ import annotations

from typing import Any

from problog import get_evaluatable
from problog.errors import ProbLogError
from problog.program import PrologString

from neuid3.errors import ExportError
from neuid3.logic.prolog.engine import ClosedEngine


def evaluate(program: str) -> dict[str, float]:
    """The probabilities of a program's queries, computed by ProbLog with its own grounder and compiler."""
    try:
        probabilities = compiled(program).evaluate()
    except ProbLogError as error:
        raise ExportError(f"ProbLog cannot run the exported program: {error}") from None
    return {str(query): float(probability) for query, probability in probabilities.items()}


def compiled(program: str) -> Any:
    """The grounded program, compiled into ProbLog's preferred kind of circuit (an SDD)."""
    return get_evaluatable().create_from(ClosedEngine().ground_all(PrologString(program)))
