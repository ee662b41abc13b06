"""Formulas become circuits: a decision diagram over finite domains, one root for each formula."""

from neuid3.circuits.compile import Circuit, compile_formulas
from neuid3.circuits.diagram import FALSE, TRUE

__all__ = ["FALSE", "TRUE", "Circuit", "compile_formulas"]
