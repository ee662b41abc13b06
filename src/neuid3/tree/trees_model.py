"""The base class of models of many trees, which share a program, networks and priors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Schema
from neuid3.data.examples import Examples
from neuid3.data.priors import Priors
from neuid3.errors import TreeError
from neuid3.logic.sandbox import Limits
from neuid3.networks.backend import Backend
from neuid3.tree.base_model import BaseModel
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Path

if TYPE_CHECKING:
    import torch

    from neuid3.tree.network_evidence import Network

Floats = npt.NDArray[np.float64]

# Rows that are predicted at a time.
BATCH = 8192


class Trees(Protocol):
    """What a model of many trees is made of: a boosted sum or a forest."""

    @property
    def tests(self) -> tuple[NodeTest, ...]:
        """The distinct tests that inference must know."""
        ...

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels of the classes; none where numbers are predicted."""
        ...


class TreesModel(BaseModel):
    """Many trees with their program, networks and priors. All trees share one instance of each network.

    Parameters
    ----------
    ensemble : the trees.
    schema : the kinds of the columns, `X.schema`.
    background : rules, probabilistic facts and neural declarations in DeepProbLog's syntax.
    networks : the network of every name, or instance, that the tests use.
    priors : the distributions that stand for missing entries.
    limits : the time, memory and circuit size that the background knowledge may take.
    dtype : the precision of inference: "float64", "float32", or torch's dtype of that name.
    device : where networks and circuits run, as torch names it.
    backend : who runs the networks in predictions, by name or itself; see `neuid3.networks.Backend`.

    Attributes
    ----------
    ensemble_kind : the class that `ensemble` must have.
    adds_scores : whether the trees add up to scores; otherwise to probabilities, or moments of a number about `center`.
    center : the number that moments are about.

    Raises
    ------
    NetworkError : where a network is missing, or is given and not used.
    NodeTestError : where a test cannot be grounded.
    TreeError : where `ensemble` is of another class.
    """

    has_leaves: ClassVar[bool] = False
    ensemble_kind: ClassVar[type]
    adds_scores: ClassVar[bool]
    center: float = 0.0

    def __init__(
        self,
        ensemble: Any,
        schema: Schema,
        *,
        background: str = "",
        networks: Mapping[str, Network] | None = None,
        priors: Priors | None = None,
        limits: Limits | None = None,
        dtype: torch.dtype | str = "float64",
        device: torch.device | str = "cpu",
        backend: str | Backend = "auto",
    ) -> None:
        self._ensemble: Any = ensemble
        if not isinstance(ensemble, self.ensemble_kind):
            raise TreeError(
                f"The first argument is a {type(ensemble).__name__}; give the {self.ensemble_kind.__name__} that the "
                "model is to compute."
            )
        super().__init__(
            self._ensemble.tests,
            schema,
            background=background,
            networks=networks,
            priors=priors,
            limits=limits,
            dtype=dtype,
            device=device,
            backend=backend,
        )

    def __repr__(self) -> str:
        kind = f"classes {self.classes}" if self.classes else "numbers"
        return f"{type(self).__name__}({self._size()}, {kind})"

    @abstractmethod
    def _size(self) -> str:
        """How many trees there are, and how large they are, in words."""

    @abstractmethod
    def _class_probabilities(self, X: Any, batch_size: int) -> Floats:
        """P(class | e) of each example, `(example, class)`."""

    @abstractmethod
    def _numbers(self, X: Any, batch_size: int) -> Floats:
        """The predicted number of each example, `(example,)`."""

    @abstractmethod
    def weighted_trees(self) -> tuple[Floats, Iterator[tuple[list[Path], Floats]]]:
        """What is added up: a start, and for each tree its paths and what the leaf at the end of each adds.

        Returns
        -------
        The start, `(value,)`, and pairs of the paths of a tree and values, `(path, value)`.
        """

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels of the classes; empty where numbers are predicted."""
        classes: tuple[Any, ...] = self._ensemble.classes
        return classes

    @property
    def predicts_numbers(self) -> bool:
        """Whether numbers are predicted; otherwise classes are."""
        return not self.classes

    def predict_proba(self, X: Any, *, batch_size: int = BATCH) -> Floats:
        """P(class | e), `(example, class)`: the average of a forest, or the softmax of the scores of a sum.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        batch_size : examples in memory at a time.

        Returns
        -------
        Probabilities, `(example, class)`.

        Raises
        ------
        TreeError : where numbers are predicted.
        """
        if self.predicts_numbers:
            raise TreeError(f"The {self.noun} predicts numbers and has no class probabilities; call `predict`.")
        return self._class_probabilities(X, batch_size)

    def predict(self, X: Any, *, batch_size: int = BATCH) -> npt.NDArray[Any]:
        """The most probable class of each example, or the number that is predicted.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        batch_size : examples in memory at a time.

        Returns
        -------
        Classes or numbers, `(example,)`.
        """
        if self.predicts_numbers:
            return self._numbers(X, batch_size)
        labels: npt.NDArray[Any] = np.asarray(self.classes)
        predicted: npt.NDArray[Any] = labels[self.predict_proba(X, batch_size=batch_size).argmax(axis=1)]
        return predicted

    def plausibilities(self, examples: Examples) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Class probabilities by which conformal sets are made, and one leaf group for all examples.

        Parameters
        ----------
        examples : the examples, in the schema of the model.

        Returns
        -------
        Probabilities, `(example, class)`, and the number of each example's group, `(example,)`.
        """
        return self.predict_proba(examples), self.leaf_groups(examples)

    def leaf_groups(self, examples: Examples) -> npt.NDArray[np.int64]:
        """One group for all examples: with many trees an example has no leaf of its own.

        Parameters
        ----------
        examples : the examples, in the schema of the model.

        Returns
        -------
        Zeros, `(example,)`.
        """
        return np.zeros(len(examples), dtype=np.int64)
