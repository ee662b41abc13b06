"""Exact inference of a boosted sum with its program, networks and priors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from neuid3.circuits.arrays import AnyArray
from neuid3.data.examples import Examples
from neuid3.tree.evidence import Evidence
from neuid3.tree.sums import BoostedSum, score_leaves
from neuid3.tree.tree import Path, paths
from neuid3.tree.trees_model import TreesModel
from neuid3.tree.trees_reach import TreesReach

if TYPE_CHECKING:
    import torch

Floats = npt.NDArray[np.float64]


class SumModel(TreesModel):
    """A boosted sum with its program, networks and priors: exact scores of batches, with gradients.

    Parameters are those of `TreesModel`. `neuid3.NeurosymbolicSum` adds methods that explain, export and save the model.

    Parameters
    ----------
    ensemble : the sum.
    schema, background, networks, priors, limits, dtype, device, backend : as in `TreesModel`.

    Attributes
    ----------
    program : the background knowledge, parsed for the schema.
    inference : exact inference under the program; in numpy where no test calls a network, otherwise in torch.
    network_calls : the network calls that the tests need.
    """

    noun: ClassVar[str] = "sum of trees"
    has_deviations: ClassVar[bool] = False
    ensemble_kind: ClassVar[type] = BoostedSum
    adds_scores: ClassVar[bool] = True

    @property
    def boosted_sum(self) -> BoostedSum:
        """The sum."""
        return cast("BoostedSum", self._ensemble)

    def _size(self) -> str:
        return f"{len(self.boosted_sum.trees)} trees, {self.boosted_sum.splits} splits"

    def weighted_trees(self) -> tuple[Floats, Iterator[tuple[list[Path], Floats]]]:
        """F₀, and the paths of each tree with the scores of its leaves.

        Returns
        -------
        The start, `(score,)`, and pairs of the paths of a tree and scores, `(path, score)`.
        """
        roots = self.boosted_sum.trees
        trees = (
            ([path for path, _ in paths(root)], np.array([leaf.value for _, leaf in paths(root)])) for root in roots
        )
        return np.array(self.boosted_sum.initial), trees

    @cached_property
    def _trees(self) -> TreesReach:
        """P(leaf | e) of each tree, as a function of evidence."""
        return TreesReach(self.boosted_sum.trees, self.inference)

    @cached_property
    def _leaf_scores(self) -> list[AnyArray]:
        """What the leaves of each tree add, `(leaf, score)` each."""
        floats = self.inference.arrays.floats
        return [floats(np.array([leaf.value for leaf in score_leaves(root)])) for root in self.boosted_sum.trees]

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
        arrays = self.inference.arrays
        scores = arrays.repeated(arrays.floats(np.array(self.boosted_sum.initial)), len(examples)).T
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
        return self._as_tensor(self.over_worlds(self.read(X), self._batch_scores))

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
        return self._in_batches(self.read(X), batch_size, lambda batch: self.over_worlds(batch, self._batch_scores))

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
        flat = self._in_batches(
            self.read(X), batch_size, lambda batch: self.over_worlds(batch, self._batch_contributions)
        )
        return flat.reshape(len(flat), len(self.boosted_sum.trees), len(self.boosted_sum.initial))

    def _class_probabilities(self, X: Any, batch_size: int) -> Floats:
        """The logistic function of the score of two classes, the softmax of more."""
        return class_probabilities(self.scores(X, batch_size=batch_size))

    def _numbers(self, X: Any, batch_size: int) -> Floats:
        return self.scores(X, batch_size=batch_size)[:, 0]


def class_probabilities(scores: Floats) -> Floats:
    """P(class | e) from scores: one log-odds a row, or one score a class, `(example, class)`.

    >>> class_probabilities(np.array([[0.0]])).tolist()
    [[0.5, 0.5]]
    """
    both = np.concatenate((np.zeros_like(scores), scores), axis=1) if scores.shape[1] == 1 else scores
    powers = np.exp(both - both.max(axis=1, keepdims=True))
    probabilities: Floats = powers / powers.sum(axis=1, keepdims=True)
    return probabilities
