"""Formulas compiled to decision diagrams over finite domains, and their batched evaluation."""

from typing import TYPE_CHECKING

from neuid3.utils.lazy import lazy_names

if TYPE_CHECKING:
    from neuid3.circuits.arrays import NUMPY, Arrays
    from neuid3.circuits.compile import Circuit, compile_formulas
    from neuid3.circuits.conjunctions import Conjunctions, factorise
    from neuid3.circuits.diagram import FALSE, TRUE
    from neuid3.circuits.evaluate import LayeredCircuit
    from neuid3.circuits.reach import Reach

__all__ = [
    "FALSE",
    "NUMPY",
    "TRUE",
    "Arrays",
    "Circuit",
    "Conjunctions",
    "LayeredCircuit",
    "Reach",
    "compile_formulas",
    "factorise",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "neuid3.circuits.arrays": ["NUMPY", "Arrays"],
        "neuid3.circuits.compile": ["Circuit", "compile_formulas"],
        "neuid3.circuits.conjunctions": ["Conjunctions", "factorise"],
        "neuid3.circuits.diagram": ["FALSE", "TRUE"],
        "neuid3.circuits.evaluate": ["LayeredCircuit"],
        "neuid3.circuits.reach": ["Reach"],
    },
)
