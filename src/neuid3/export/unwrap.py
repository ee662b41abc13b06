"""Access to the tree or the model inside an argument: a tree, a model or a fitted classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuid3.errors import ExportError, TreeError
from neuid3.tree.tree import Tree

if TYPE_CHECKING:  # a tree is exported without PyTorch
    from neuid3.tree.model import TreeModel
    from neuid3.tree.trees_model import TreesModel


def tree_of(source: Any) -> Tree:
    """The tree of a model or a classifier; a tree is returned as it is.

    Raises
    ------
    TreeError : if there is no tree.
    """
    tree = source if isinstance(source, Tree) else getattr(_fitted(source), "tree", None)
    if not isinstance(tree, Tree):
        way = "give a Tree, a NeurosymbolicTree or a fitted NeuID3Classifier"
        way = "it has many, which its own methods show" if hasattr(source, "export_svg") else way
        raise TreeError(f"A {type(source).__name__} has no tree to show; {way}.")
    return tree


def model_of(source: Any, requirement: str) -> TreeModel:
    """The model of a classifier; a model is returned as it is.

    Parameters
    ----------
    source : a model or a fitted classifier.
    requirement : what a tree alone does not have, for the error message.

    Raises
    ------
    ExportError : if `source` is a tree.
    TreeError : if there is no tree.
    """
    if isinstance(source, Tree):
        raise ExportError(f"A Tree alone has no {requirement}; give its NeurosymbolicTree or the fitted classifier.")
    tree_of(source)
    model: TreeModel = _fitted(source)
    return model


def any_model_of(source: Any, requirement: str) -> TreeModel | TreesModel:
    """The model of an estimator, of one tree or of many; a model is returned as it is.

    Parameters
    ----------
    source : a model or a fitted estimator.
    requirement : what a tree alone does not have, for the error message.

    Raises
    ------
    ExportError : if `source` is a tree.
    TreeError : if there is no tree.
    """
    if is_sum(source) or is_forest(source):
        many: TreesModel = _fitted(source)
        return many
    return model_of(source, requirement)


def is_sum(source: Any) -> bool:
    """Whether this is the model of a boosted sum, or an estimator that has one."""
    from neuid3.tree.sums import BoostedSum

    return isinstance(getattr(getattr(source, "model_", source), "boosted_sum", None), BoostedSum)


def is_forest(source: Any) -> bool:
    """Whether this is the model of a forest, or an estimator that has one."""
    from neuid3.binned.averaged import Forest

    return isinstance(getattr(getattr(source, "model_", source), "forest", None), Forest)


def _fitted(source: Any) -> Any:
    """The model of a fitted classifier; anything else is returned as it is."""
    if hasattr(source, "fit") and hasattr(source, "get_params"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(source)
    return getattr(source, "model_", source)
