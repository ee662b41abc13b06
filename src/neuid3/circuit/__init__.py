"""Formulas become circuits: a decision diagram over finite domains, one root for each formula."""

from neuid3.circuit.compile import Circuit, compile_formulas
from neuid3.circuit.diagram import FALSE, TRUE

__all__ = ["FALSE", "TRUE", "Circuit", "compile_formulas"]
