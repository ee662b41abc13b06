"""Examples and their columns, files of them, columns larger than memory, and priors for missing entries."""

from neuid3.data.columns import Boolean, Category, Column, Distribution, Kind, Number, Probability, Schema, Tensor
from neuid3.data.examples import Examples
from neuid3.data.priors import Priors

__all__ = [
    "Boolean",
    "Category",
    "Column",
    "Distribution",
    "Examples",
    "Kind",
    "Number",
    "Priors",
    "Probability",
    "Schema",
    "Tensor",
]
