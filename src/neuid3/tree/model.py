"""Exact inference of a tree: with its program, networks and priors, examples become probabilities."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch

from neuid3.circuits.reach import Reach
from neuid3.data.columns import Boolean, Category, Distribution, Number, Probability, Schema, Tensor
from neuid3.data.examples import Examples
from neuid3.data.priors import Priors, check_priors, column_priors, network_use
from neuid3.errors import DataError, NetworkError, TreeError, did_you_mean
from neuid3.logic.formula import ColumnVariable, NeuralVariable, Source, Truth, sources
from neuid3.logic.program import Program
from neuid3.logic.sandbox import Limits
from neuid3.networks.groups import KernelNetwork
from neuid3.tree.descent import Descent, conjunctions, network_calls
from neuid3.tree.evidence import Evidence, Network, NetworkCall
from neuid3.tree.node_tests import AtomTest, NodeTest
from neuid3.tree.record import TrainingRecord
from neuid3.tree.tree import Path, Tree, paths

# Modules that are in `eval()` mode for a while: how many threads need them so, and whether they were being trained before.
_MODES: dict[torch.nn.Module, tuple[int, bool]] = {}
_MODES_LOCK = threading.Lock()


class TreeModel:
    """A tree with its program, networks and priors: exact class probabilities for batches, with gradients.

    Learning, export, explanation and saving work on it and stand above it; `neuid3.NeurosymbolicTree` adds their methods.

    Parameters
    ----------
    tree : the tree.
    schema : the kinds of the columns, `X.schema`.
    background : rules, probabilistic facts and neural declarations in DeepProbLog's syntax.
    networks : the network of every name, or instance, that the tests use.
    priors : what a missing entry is assumed to be.
    limits : how much time, memory and space the background knowledge may take.
    dtype : the precision of inference.
    device : where networks and circuits run.

    Attributes
    ----------
    program : the background knowledge, read for the schema.
    uses : the calls of networks that the tests need.
    training_record : what the tree was learned from, and its scores on rows that were kept apart; None where nothing is
        remembered, as of a tree made by hand.
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
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> None:
        if not isinstance(tree, Tree):
            raise TreeError(
                f"The first argument is a {type(tree).__name__}; wrap your nodes in Tree(root, classes=(…))."
            )
        self.tree = tree
        self.program = Program(background, _as_schema(schema), limits)
        self.schema = self.program.schema
        self.networks = dict(networks or {})
        self.priors = priors or Priors()
        self.training_record: TrainingRecord | None = None
        self.dtype, self.device = dtype, torch.device(device)
        check_priors(self.priors, self.schema)
        # One trip to the grounder for all atoms; each test then finds its formula ready.
        self.program.formulas([test.atom for test in tree.tests if isinstance(test, AtomTest)])
        formulas = [test.formula(self.program) for test in tree.tests]
        for test, formula in zip(tree.tests, formulas, strict=True):
            if isinstance(formula, Truth):
                told = f"Test '{test}' is always {str(formula.value).lower()}: no fact and no network can change it."
                warnings.warn(told, UserWarning, stacklevel=2)
        self._reach = Reach(conjunctions([path for path, _ in paths(tree.root)], self.program), dtype, device)
        self._leaves = torch.tensor(
            [leaf.probabilities for leaf in tree.leaves], dtype=dtype, device=device
        )  # (leaf, class)
        self._sources = frozenset[Source]().union(*(sources(formula) for formula in formulas))
        self.uses = frozenset[NetworkCall]().union(*(network_calls(test, self.program) for test in tree.tests))
        self._check_networks()
        for network, inputs, width in self.uses:
            if not {network, network_use(network, inputs)}.isdisjoint(self.priors.networks):
                self.priors.network(network, inputs, width)  # complains where it does not fit

    def _check_networks(self) -> None:
        needed = {network for network, _, _ in self.uses}
        for name in sorted(needed - set(self.networks)):
            raise NetworkError(
                f"The tree asks network {name!r}, which is not given.{did_you_mean(name, self.networks)}"
            )
        for name in sorted(set(self.networks) - needed - set(self.program.networks)):
            raise NetworkError(
                f"Network {name!r} is given and neither the program nor the tree names it."
                f"{did_you_mean(name, needed | set(self.program.networks))}"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.tree.tests)} tests, {len(self.tree.leaves)} leaves, classes {self.classes})"

    @property
    def classes(self) -> tuple[Any, ...]:
        return self.tree.classes

    def read(self, X: Any) -> Examples:
        """The columns of a table that the tree needs, as its schema says they are."""
        return Examples.read(X, self.schema, self.columns)

    def evidence(self, X: Any) -> Evidence:
        """These examples seen through the tree's networks."""
        networks = self.networks if torch.is_grad_enabled() else {n: _quick(net) for n, net in self.networks.items()}
        return Evidence(self.read(X), networks, self.program.declarations, self.priors, self.dtype, self.device)

    @property
    def columns(self) -> list[str]:
        """The columns that the tree reads, in the order of the schema."""
        read = _columns_read(self._sources)
        # A tree that asks nothing about the columns still needs to know how many examples there are.
        return [name for name in self.schema if name in read] or list(self.schema)[:1]

    def leaf_probabilities(self, X: Any, *, threshold: float = 0.0) -> torch.Tensor:
        """P(leaf | e) for each leaf from left to right, `(example, leaf)`, differentiable; see `predict_proba`.

        With gradients and a threshold of 0 every network looks at every example: a branch that is not reached has
        a part in the gradient of the tests above it.
        """
        check_threshold(threshold)
        evidence = self.evidence(X)
        if threshold > 0.0 or not torch.is_grad_enabled():
            self._descent(evidence, threshold)
        return self._reach(evidence)

    @cached_property
    def _descent(self) -> Descent:
        return Descent(self.tree.root, self.program, self.dtype, self.device)

    def class_probabilities(self, X: Any, *, threshold: float = 0.0) -> torch.Tensor:
        """P(class | e) for each class of the tree, `(example, class)`, differentiable; see `predict_proba`."""
        return self.leaf_probabilities(X, threshold=threshold) @ self._leaves

    def predict_proba(self, X: Any, *, threshold: float = 0.0, batch_size: int = 4096) -> npt.NDArray[np.float64]:
        """P(class | e) as an array, computed in batches with the networks in `eval()` mode.

        A network looks at an example only if a branch that asks it is reached with a probability above `threshold`;
        0 is exact. What reaches a branch with less is shared out among the leaves below it as if the networks that were
        not asked knew nothing, so that the probabilities of an example still sum to 1, and none of them changes by more
        than the mass that was dropped: that of the topmost branches it reaches with `threshold` or less.

        `batch_size` examples are worked on at a time, and networks see them in blocks of 512, so that only the answer
        grows with the table.
        """
        return self._in_batches(X, batch_size, lambda batch: self.class_probabilities(batch, threshold=threshold))

    def predict(self, X: Any, *, threshold: float = 0.0, batch_size: int = 4096) -> npt.NDArray[Any]:
        """The most probable class of each example; `threshold` as in `predict_proba`."""
        labels: npt.NDArray[Any] = np.asarray(self.classes)
        found = self.predict_proba(X, threshold=threshold, batch_size=batch_size)
        best: npt.NDArray[Any] = labels[found.argmax(axis=1)]
        return best

    def apply(self, X: Any, *, threshold: float = 0.0, batch_size: int = 4096) -> npt.NDArray[np.float64]:
        """P(leaf | e) as an array, computed in batches with the networks in `eval()` mode; see `predict_proba`."""
        return self._in_batches(X, batch_size, lambda batch: self.leaf_probabilities(batch, threshold=threshold))

    def _in_batches(self, X: Any, batch_size: int, compute: Any) -> npt.NDArray[np.float64]:
        examples = self.read(X)
        found: npt.NDArray[np.float64] | None = None
        with self.evaluating(), torch.no_grad():
            for start in range(0, len(examples), batch_size):
                part = compute(examples[start : start + batch_size]).cpu().numpy()
                # Parts kept until the end would lie between what every batch needs anew, and memory would fill up with gaps.
                found = np.empty((len(examples), *part.shape[1:])) if found is None else found
                found[start : start + len(part)] = part
        assert found is not None
        return found

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Networks are in `eval()` mode inside, and as they were afterwards, also where threads share them."""
        modules = [module for module in self.networks.values() if isinstance(module, torch.nn.Module)]
        parts = list({part: None for module in modules for part in module.modules()})
        with _MODES_LOCK:
            for part in parts:
                users, training = _MODES.get(part, (0, part.training))
                _MODES[part] = users + 1, training
            for module in modules:
                module.eval()
        try:
            yield
        finally:
            with _MODES_LOCK:
                for part in parts:
                    users, training = _MODES.pop(part)
                    if users > 1:
                        _MODES[part] = users - 1, training
                    else:
                        part.training = training

    def columns_of(self, test: NodeTest) -> tuple[str, ...]:
        """The columns that a test depends on, in the order of the schema."""
        read = _columns_read(sources(test.formula(self.program)))
        return tuple(name for name in self.schema if name in read)

    def path_probability(self, X: Any, path: Path) -> npt.NDArray[np.float64]:
        """P(κ | e) for the conjunction of these tests and answers."""
        return self.path_probabilities(X, [path])[:, 0]

    def path_probabilities(self, X: Any, paths: Sequence[Path]) -> npt.NDArray[np.float64]:
        """P(κ | e) for each of these conjunctions of tests and answers, `(example, path)`."""
        reach = Reach(conjunctions(list(paths), self.program), self.dtype, self.device)
        return self._in_batches(X, 4096, lambda batch: reach(self.evidence(batch)))

    def learn_priors(self, X: Any, *, batch_size: int = 4096) -> Self:
        """This tree with the priors that training examples suggest: prevalences and average network outputs."""
        examples = Examples.read(X, self.schema)
        averages: dict[str, Any] = {}
        for network, inputs, width in sorted(self.uses):
            present = examples[examples.complete(inputs)]
            if len(present):
                outputs = self._in_batches(
                    present, batch_size, lambda batch, u=(network, inputs, width): self.evidence(batch).output(*u)
                )
                averages[network_use(network, inputs)] = tuple(outputs.mean(axis=0).tolist())
        priors = Priors({**self.priors.columns, **column_priors(examples)}, {**self.priors.networks, **averages})
        return self.with_priors(priors)

    def with_priors(self, priors: Priors) -> Self:
        """The same tree with other priors."""
        check_priors(priors, self.schema)
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.priors = priors
        return made


def check_threshold(threshold: float) -> None:
    if not 0.0 <= threshold < 1.0:
        raise DataError(f"threshold={threshold!r} is no mass to be dropped; give a number from 0 (exact) to below 1.")


def _as_schema(given: Any) -> Schema:
    """A schema, also where the examples themselves are given."""
    if isinstance(given, Examples):
        return given.schema
    kinds = (Boolean, Category, Distribution, Number, Probability, Tensor)
    if not isinstance(given, Mapping) or not all(isinstance(kind, kinds) for kind in given.values()):
        raise DataError("The schema must be that of some examples: pass X.schema, or the Examples themselves.")
    return given


def _columns_read(found: frozenset[Source]) -> set[str]:
    """The columns behind these variables."""
    read: set[str] = set()
    for source in found:
        match source:
            case NeuralVariable(inputs=inputs):
                read.update(inputs)
            case ColumnVariable(column) | str(column):
                read.add(column)
            case _:
                pass
    return read


def _quick(network: Network) -> Network:
    """The same network, faster where we know how."""
    return (
        KernelNetwork(network) if isinstance(network, torch.nn.Module) and KernelNetwork.supports(network) else network
    )
