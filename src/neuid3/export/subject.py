"""What is to be shown: a tree, a model, or a classifier that has learned one?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from neuid3.data.examples import Examples
from neuid3.errors import ExportError, TreeError
from neuid3.logic.program import Program
from neuid3.tree.tree import Path, Tree


class Model(Protocol):
    """A tree that knows its rules and can look at examples; `NeurosymbolicTree` is one."""

    tree: Tree
    program: Program

    def read(self, X: Any) -> Examples: ...

    def path_probabilities(self, X: Any, paths: Sequence[Path]) -> npt.NDArray[np.float64]: ...


def tree_of(given: Any) -> Tree:
    """The tree that was handed in, alone or inside a model or a classifier."""
    found = given if isinstance(given, Tree) else getattr(_fitted(given), "tree", None)
    if not isinstance(found, Tree):
        raise TreeError(
            f"A {type(given).__name__} has no tree to show; give a Tree, a NeurosymbolicTree or a fitted NeuID3Classifier."
        )
    return found


def model_of(given: Any, purpose: str) -> Model:
    """The model that was handed in, alone or inside a classifier; a tree alone will not do for this purpose."""
    if isinstance(given, Tree):
        raise ExportError(f"A Tree alone has no {purpose}; give its NeurosymbolicTree or the fitted classifier.")
    tree_of(given)
    model: Model = _fitted(given)
    return model


def _fitted(given: Any) -> Any:
    """The model of a classifier; whatever else was given, as it is."""
    if hasattr(given, "fit") and hasattr(given, "get_params"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(given)
    return getattr(given, "model_", given)
