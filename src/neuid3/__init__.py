"""Neurosymbolic decision trees: tests may be facts, networks, or rules over what networks see."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from neuid3.columns import Boolean, Category, Distribution, Number, Probability, Tensor
from neuid3.data import Examples
from neuid3.errors import NeuID3Error
from neuid3.logic.sandbox import Limits
from neuid3.nodetest import AtomTest, NodeTest
from neuid3.priors import Priors
from neuid3.tree import Branch, Leaf, Tree

if TYPE_CHECKING:
    from neuid3.estimator import NeuID3Classifier
    from neuid3.model import NeurosymbolicTree
    from neuid3.networks import LeNet

__all__ = [
    "AtomTest",
    "Boolean",
    "Branch",
    "Category",
    "Distribution",
    "Examples",
    "LeNet",
    "Leaf",
    "Limits",
    "NeuID3Classifier",
    "NeuID3Error",
    "NeurosymbolicTree",
    "NodeTest",
    "Number",
    "Priors",
    "Probability",
    "Tensor",
    "Tree",
]

try:
    __version__ = version("neuid3")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0.0.0"

# What needs PyTorch is imported when it is first asked for.
_LAZY = {
    "LeNet": "neuid3.networks",
    "NeuID3Classifier": "neuid3.estimator",
    "NeurosymbolicTree": "neuid3.model",
}


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'neuid3' has no attribute {name!r}")
