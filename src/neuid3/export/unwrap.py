"""What is to be shown: a tree, a model, or a classifier that has learned one?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuid3.errors import ExportError, TreeError
from neuid3.tree.tree import Tree

if TYPE_CHECKING:  # a tree is shown without PyTorch
    from neuid3.tree.model import TreeModel


def tree_of(given: Any) -> Tree:
    """The tree that was handed in, alone or inside a model or a classifier."""
    found = given if isinstance(given, Tree) else getattr(_fitted(given), "tree", None)
    if not isinstance(found, Tree):
        raise TreeError(
            f"A {type(given).__name__} has no tree to show; give a Tree, a NeurosymbolicTree or a fitted NeuID3Classifier."
        )
    return found


def model_of(given: Any, purpose: str) -> TreeModel:
    """The model that was handed in, alone or inside a classifier; a tree alone will not do for this purpose."""
    if isinstance(given, Tree):
        raise ExportError(f"A Tree alone has no {purpose}; give its NeurosymbolicTree or the fitted classifier.")
    tree_of(given)
    model: TreeModel = _fitted(given)
    return model


def _fitted(given: Any) -> Any:
    """The model of a classifier; whatever else was given, as it is."""
    if hasattr(given, "fit") and hasattr(given, "get_params"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(given)
    return getattr(given, "model_", given)
