"""Exact inference of a tree with its program, networks and priors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from neuid3.circuits.arrays import AnyArray
from neuid3.circuits.reach import Reach
from neuid3.data.columns import Number, Schema
from neuid3.data.examples import Examples
from neuid3.data.priors import Priors
from neuid3.errors import TreeError
from neuid3.logic.sandbox import Limits
from neuid3.networks.backend import Backend
from neuid3.tree.base_model import BaseModel, check_threshold
from neuid3.tree.components import components, with_expressions
from neuid3.tree.conformal import smoothed_leaves
from neuid3.tree.descent import LazyEvaluator
from neuid3.tree.inference import Inference
from neuid3.tree.leaves import Leaf
from neuid3.tree.tree import Tree

if TYPE_CHECKING:
    import torch

    from neuid3.tree.network_evidence import Network


class TreeModel(BaseModel):
    """A tree with its program, networks and priors: exact class probabilities of batches, with gradients.

    `neuid3.NeurosymbolicTree` adds methods that explain, export and save the model.

    Parameters
    ----------
    tree : the tree.
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
    expressions : the arithmetic expressions that the tests compare.
    inference : exact inference under the program; in numpy where no test calls a network, otherwise in torch.
    network_calls : the network calls that the tests and the goals of leaves need.
    components : the leaves, those with a goal divided by its values.
    training_record : digests of the training rows and scores on held-out rows; None where there is no record, as for a
        tree written by hand.
    candidates : the atoms that the tree could have been made of; None where they are not known, as for a tree written by
        hand.
    certificate : what the values of the networks are fixed up to, as last found by an audit or an export; None before.

    Raises
    ------
    NetworkError : where a network is missing, or is given and not used.
    NodeTestError : where a test cannot be grounded.
    TreeError
        Where `tree` is not a `Tree`, or a test of it is constant.
    """

    def __init__(
        self,
        tree: Tree,
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
        if not isinstance(tree, Tree):
            raise TreeError(
                f"The first argument is a {type(tree).__name__}; wrap your nodes in Tree(root, classes=(…))."
            )
        self.tree = tree
        super().__init__(
            tree.tests,
            schema,
            background=background,
            networks=networks,
            priors=priors,
            limits=limits,
            dtype=dtype,
            device=device,
            backend=backend,
            goals=tree.goals,
        )
        if any(not goal.expression for goal in tree.goals):
            self.tree = Tree(with_expressions(tree.root, self.inference.semantics), tree.classes)
        self._compile()

    def _compile(self) -> None:
        """Compile the leaves' paths, at first and whenever the tests are grounded anew."""
        tree = self.tree
        self.components = components(tree.root, self.inference.semantics)
        self._reach = self._compiled(complete=bool(self.expressions))
        floats = self.inference.arrays.floats
        self._center = float(np.mean([leaf.value[0] for leaf in tree.leaves])) if tree.predicts_numbers else 0.0
        self._component_values = floats(
            self.components.moments(self._center)  # (component, moment)
            if tree.predicts_numbers
            else self.components.class_probabilities(tree.classes)  # (component, class)
        )
        self._leaf_sums = floats(self.components.leaf_sums) if self.components.compute else None  # (component, leaf)

    def __repr__(self) -> str:
        predicted = "numbers" if self.predicts_numbers else f"classes {self.classes}"
        return f"{type(self).__name__}({len(self.tree.tests)} tests, {len(self.tree.leaves)} leaves, {predicted})"

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels of the classes; none where the tree predicts numbers."""
        return self.tree.classes

    @property
    def predicts_numbers(self) -> bool:
        """Whether the tree predicts numbers; otherwise it predicts classes."""
        return self.tree.predicts_numbers

    def _require_classes(self, method: str) -> None:
        if self.predicts_numbers:
            raise TreeError(f"The tree predicts numbers, so `{method}` has no classes; use `predict`.")

    def leaf_reach(self, X: Any, *, threshold: float = 0.0) -> torch.Tensor:
        """P(leaf | e) for each leaf from left to right as a tensor, `(example, leaf)`, differentiable; see `predict_proba`.

        With gradients and a threshold of 0 every network runs on every example, since branches that are not reached
        contribute to the gradient of the tests above them.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        threshold : as in `predict_proba`.

        Returns
        -------
        Probabilities that sum to 1 for each example, `(example, leaf)`, with gradients.
        """
        return self._as_tensor(self._leaf_reach(self.read(X), threshold))

    def _leaf_reach(self, examples: Examples, threshold: float) -> AnyArray:
        """P(leaf | e), `(example, leaf)`."""
        reach = self._component_reach(examples, threshold)
        return reach if self._leaf_sums is None else reach @ self._leaf_sums

    def _component_reach(self, examples: Examples, threshold: float) -> AnyArray:
        """P(component | e), `(example, component)`."""
        check_threshold(threshold)
        return self.over_worlds(examples, lambda worlds: self._reach_of_worlds(worlds, threshold))

    def _reach_of_worlds(self, examples: Examples, threshold: float) -> AnyArray:
        """P(component | e) of examples whose parts have all entries, `(example, component)`."""
        evidence = self.evidence_of(examples)
        if threshold > 0.0 or not self.inference.arrays.records_gradients:
            self._lazy_evaluator(evidence, threshold)
        calculated = {name for expression in self.expressions for name in expression.columns}
        reach = self._joint_reach if any(map(evidence.is_missing, calculated)) else self._reach
        return reach(evidence)

    def _compiled(self, complete: bool) -> Reach:
        """P(component | e) of all components, for examples in which no number is missing where they are `complete`."""
        inference = self.inference
        if complete:
            numbers = frozenset(name for name, kind in self.schema.items() if isinstance(kind, Number))
            inference = Inference(inference.semantics.with_complete(numbers), inference.arrays)
        return inference.compiled(self.components.paths)

    @cached_property
    def _joint_reach(self) -> Reach:
        """P(component | e) of all components, also where expressions share a missing column."""
        return self._compiled(complete=False)

    def _leaf_mixture(self, examples: Examples, threshold: float) -> AnyArray:
        """What the leaves say, weighted by P(leaf | e): class probabilities, or moments of a number, `(example, value)`."""
        return self._component_reach(examples, threshold) @ self._component_values

    @cached_property
    def _lazy_evaluator(self) -> LazyEvaluator:
        return LazyEvaluator(self.tree.root, self.inference)

    def class_probabilities(self, X: Any, *, threshold: float = 0.0) -> torch.Tensor:
        """P(class | e) for each class of the tree, `(example, class)`, differentiable; see `predict_proba`.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        threshold : as in `predict_proba`.

        Returns
        -------
        Probabilities, `(example, class)`, with gradients.
        """
        self._require_classes("class_probabilities")
        return self._as_tensor(self._leaf_mixture(self.read(X), threshold))

    def predict_proba(self, X: Any, *, threshold: float = 0.0, batch_size: int = 4096) -> npt.NDArray[np.float64]:
        """P(class | e) as an array, `(example, class)`, computed in batches with the networks in `eval()` mode.

        A network runs on an example only if a branch that needs it is reached with a probability above `threshold`.
        Below a branch that is reached with less, networks that did not run count as uniform. The probabilities of an
        example still sum to 1, and none of them changes by more than the dropped mass: that of the topmost branches
        which the example reaches with `threshold` or less.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        threshold : the probability up to which branches are dropped, in [0, 1); 0 is exact.
        batch_size : examples in memory at a time; networks run on blocks of 512 of them.

        Returns
        -------
        Probabilities, `(example, class)`.

        Raises
        ------
        DataError : where a column is missing or of another kind, or `threshold` is not in [0, 1).
        """
        self._require_classes("predict_proba")
        return self._in_batches(self.read(X), batch_size, lambda batch: self._leaf_mixture(batch, threshold))

    def predict_number(
        self, X: Any, *, threshold: float = 0.0, batch_size: int = 4096
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The expected number Σ P(leaf | e) · mean of each example, and the standard deviation of the mixture of leaves.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        threshold : as in `predict_proba`.
        batch_size : as in `predict_proba`.

        Returns
        -------
        Means and standard deviations, `(example,)` each.

        Raises
        ------
        TreeError : where the tree predicts classes.
        """
        if not self.predicts_numbers:
            raise TreeError("The tree predicts classes and no numbers; use `predict` or `predict_proba`.")
        moments = self._in_batches(self.read(X), batch_size, lambda batch: self._leaf_mixture(batch, threshold))
        variances = np.maximum(moments[:, 1] - moments[:, 0] ** 2, 0.0)
        return self._center + moments[:, 0], np.sqrt(variances)

    def predict(self, X: Any, *, threshold: float = 0.0, batch_size: int = 4096) -> npt.NDArray[Any]:
        """The most probable class of each example, or its expected number; `threshold` as in `predict_proba`.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        threshold : as in `predict_proba`.
        batch_size : as in `predict_proba`.

        Returns
        -------
        Classes or numbers, `(example,)`.
        """
        if self.predicts_numbers:
            return self.predict_number(X, threshold=threshold, batch_size=batch_size)[0]
        labels: npt.NDArray[Any] = np.asarray(self.classes)
        probabilities = self.predict_proba(X, threshold=threshold, batch_size=batch_size)
        most_probable: npt.NDArray[Any] = labels[probabilities.argmax(axis=1)]
        return most_probable

    def leaf_probabilities(self, X: Any, *, threshold: float = 0.0, batch_size: int = 4096) -> npt.NDArray[np.float64]:
        """P(leaf | e) from left (all yes) to right (all no), `(example, leaf)`; parameters as in `predict_proba`.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        threshold : as in `predict_proba`.
        batch_size : as in `predict_proba`.

        Returns
        -------
        Probabilities that sum to 1 for each example, `(example, leaf)`, leaves from left (all yes) to right (all no).
        """
        return self._in_batches(self.read(X), batch_size, lambda batch: self._leaf_reach(batch, threshold))

    def apply(self, X: Any, *, threshold: float = 0.0, batch_size: int = 4096) -> npt.NDArray[np.int64]:
        """The index of each example's most probable leaf, counted from the left, `(example,)`; see `predict_proba`.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        threshold : as in `predict_proba`.
        batch_size : as in `predict_proba`.

        Returns
        -------
        Leaf numbers, counted from the left, `(example,)`.
        """
        probabilities = self.leaf_probabilities(X, threshold=threshold, batch_size=batch_size)
        leaves: npt.NDArray[np.int64] = probabilities.argmax(axis=1)
        return leaves

    def plausibilities(self, examples: Examples) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Class probabilities by which conformal sets are made, and the most probable leaf of each example.

        They are those of smoothed leaves, unless leaves compute them.

        Parameters
        ----------
        examples : the examples, in the schema of the model.

        Returns
        -------
        Probabilities, `(example, class)`, and leaf numbers, `(example,)`.
        """
        reach = self.leaf_probabilities(examples)
        is_plain = all(isinstance(leaf, Leaf) for leaf in self.tree.leaves)
        return reach @ smoothed_leaves(self.tree.root) if is_plain else self.predict_proba(examples), reach.argmax(1)

    def leaf_groups(self, examples: Examples) -> npt.NDArray[np.int64]:
        """The most probable leaf of each example, as `apply` gives it.

        Parameters
        ----------
        examples : the examples, in the schema of the model.

        Returns
        -------
        Leaf numbers, `(example,)`.
        """
        return self.apply(examples)
