"""Exact inference of a boosted sum with its program, networks and priors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from neuid3.circuits.arrays import AnyArray
from neuid3.data.columns import Schema
from neuid3.data.examples import Examples
from neuid3.data.priors import Priors
from neuid3.errors import TreeError
from neuid3.logic.sandbox import Limits
from neuid3.networks.backend import Backend
from neuid3.tree.base_model import BaseModel
from neuid3.tree.evidence import Evidence
from neuid3.tree.sums import BoostedSum, score_leaves
from neuid3.tree.trees_reach import TreesReach

if TYPE_CHECKING:
    import torch

    from neuid3.tree.network_evidence import Network

Floats = npt.NDArray[np.float64]


class SumModel(BaseModel):
    """A boosted sum with its program, networks and priors: exact scores of batches, with gradients.

    All trees share the program and one instance of each network that they name alike. `neuid3.NeurosymbolicSum` adds methods
    that explain, export and save the model.

    Parameters
    ----------
    boosted_sum : the sum.
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
    program : the background knowledge, parsed for the schema.
    inference : exact inference under the program; in numpy where no test calls a network, otherwise in torch.
    network_calls : the network calls that the tests need.

    Raises
    ------
    NetworkError : where a network is missing, or is given and not used.
    NodeTestError : where a test cannot be grounded.
    TreeError : where `boosted_sum` is not a `BoostedSum`.
    """

    def __init__(
        self,
        boosted_sum: BoostedSum,
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
        if not isinstance(boosted_sum, BoostedSum):
            raise TreeError(
                f"The first argument is a {type(boosted_sum).__name__}; give a BoostedSum, as in "
                "BoostedSum(trees=(…), initial=(0.0,), classes=(…))."
            )
        self.boosted_sum = boosted_sum
        super().__init__(
            boosted_sum.tests,
            schema,
            background=background,
            networks=networks,
            priors=priors,
            limits=limits,
            dtype=dtype,
            device=device,
            backend=backend,
        )
        self._trees = TreesReach(boosted_sum.trees, self.inference)
        floats = self.inference.arrays.floats
        self._initial = floats(np.array(boosted_sum.initial))
        self._leaf_scores = [
            floats(np.array([leaf.value for leaf in score_leaves(root)])) for root in boosted_sum.trees
        ]  # (leaf, score) each

    def __repr__(self) -> str:
        kind = f"classes {self.classes}" if self.classes else "numbers"
        return f"{type(self).__name__}({len(self.boosted_sum.trees)} trees, {self.boosted_sum.splits} splits, {kind})"

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels of the classes; empty where numbers are predicted."""
        return self.boosted_sum.classes

    @property
    def predicts_numbers(self) -> bool:
        """Whether the sum predicts numbers; otherwise it predicts classes."""
        return not self.boosted_sum.classes

    def leaf_reach(self, evidence: Evidence) -> Iterator[AnyArray]:
        """P(leaf | e) of each tree in turn, `(example, leaf)`; differentiable where gradients are recorded.

        Parameters
        ----------
        evidence : the evidence of a batch, of `evidence` or `evidence_of`.

        Yields
        ------
        Probabilities, `(example, leaf)`, one array for each tree.
        """
        return self._trees(evidence)

    def _batch_scores(self, examples: Examples) -> AnyArray:
        """F of a batch, `(example, score)`."""
        scores = self.inference.arrays.repeated(self._initial, len(examples)).T
        for reach, values in zip(self._trees(self.evidence_of(examples)), self._leaf_scores, strict=True):
            scores = scores + reach @ values
        return scores

    def _batch_contributions(self, examples: Examples) -> AnyArray:
        """What each tree adds, `(example, tree · score)`."""
        arrays = self.inference.arrays
        added = [
            (reach @ values).T
            for reach, values in zip(self._trees(self.evidence_of(examples)), self._leaf_scores, strict=True)
        ]
        return arrays.concatenate(added).T if added else arrays.full((len(examples), 0), 0.0)

    def score_tensor(self, X: Any) -> torch.Tensor:
        """F(e) as a tensor, `(example, score)`, differentiable in the networks.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.

        Returns
        -------
        Scores, with gradients.
        """
        return self._as_tensor(self._batch_scores(self.read(X)))

    def scores(self, X: Any, *, batch_size: int = 4096) -> Floats:
        """F(e), `(example, score)`: one score for two classes or a number, otherwise one a class.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        batch_size : examples in memory at a time.

        Returns
        -------
        Scores, `(example, score)`.
        """
        return self._in_batches(self.read(X), batch_size, self._batch_scores)

    def contributions(self, X: Any, *, batch_size: int = 4096) -> Floats:
        """What each tree adds to each score, `(example, tree, score)`; with F₀ they add up to `scores`.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        batch_size : examples in memory at a time.

        Returns
        -------
        Contributions, `(example, tree, score)`.
        """
        flat = self._in_batches(self.read(X), batch_size, self._batch_contributions)
        return flat.reshape(len(flat), len(self.boosted_sum.trees), len(self.boosted_sum.initial))

    def predict_proba(self, X: Any, *, batch_size: int = 4096) -> Floats:
        """P(class | e), `(example, class)`: the logistic function of the score of two classes, the softmax of more.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        batch_size : examples in memory at a time.

        Returns
        -------
        Probabilities, `(example, class)`.

        Raises
        ------
        TreeError : where the sum predicts numbers.
        """
        if not self.classes:
            raise TreeError("The sum predicts numbers and has no class probabilities; call `predict`.")
        return class_probabilities(self.scores(X, batch_size=batch_size))

    def predict(self, X: Any, *, batch_size: int = 4096) -> npt.NDArray[Any]:
        """The most probable class of each example, or the number that is predicted.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        batch_size : examples in memory at a time.

        Returns
        -------
        Classes or numbers, `(example,)`.
        """
        if not self.classes:
            return self.scores(X, batch_size=batch_size)[:, 0]
        labels: npt.NDArray[Any] = np.asarray(self.classes)
        predicted: npt.NDArray[Any] = labels[self.predict_proba(X, batch_size=batch_size).argmax(axis=1)]
        return predicted


def class_probabilities(scores: Floats) -> Floats:
    """P(class | e) from scores: one log-odds a row, or one score a class, `(example, class)`.

    >>> class_probabilities(np.array([[0.0]])).tolist()
    [[0.5, 0.5]]
    """
    both = np.concatenate((np.zeros_like(scores), scores), axis=1) if scores.shape[1] == 1 else scores
    powers = np.exp(both - both.max(axis=1, keepdims=True))
    probabilities: Floats = powers / powers.sum(axis=1, keepdims=True)
    return probabilities
