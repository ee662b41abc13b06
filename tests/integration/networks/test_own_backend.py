"""A backend of a user's own: it counts its calls, and the tree is that of the backend which it wraps."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_data import pictures
from torch import nn

from neuid3 import Examples, NeurosymbolicTree, Tree
from neuid3.data.priors import Priors
from neuid3.errors import BackendError
from neuid3.learning.candidates import Candidates
from neuid3.learning.grow import GrowthLimits, grow_tree
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.sample import Sample
from neuid3.logic.program import Program
from neuid3.networks import Backend, GroupOptimizer, NetworkGroup, register_backend, select_backend
from neuid3.training import TrainingConfig
from neuid3.tree.node_tests import AtomTest

BACKGROUND = (
    "nn(left_net, [I]) :: left(I). nn(right_net, [I], V, [0, 1]) :: right(I, V). both(I, J) :- left(I), right(J, 1)."
)
CONFIG = {"epochs": 10, "batch_size": 16, "restarts": 2, "joint_epochs": 2}


class CountingBackend:
    """Another backend, with a line in a file for each call; worker processes add to the same file.

    Parameters
    ----------
    file : the file of the calls.
    inner : the backend that does the work.
    refuses : the class of networks that it does not support.
    """

    def __init__(self, file: Path, inner: str = "auto", refuses: type[nn.Module] | None = None) -> None:
        self.file, self.inner, self.refuses = file, select_backend(inner), refuses

    @property
    def name(self) -> str:
        return f"counting {self.inner.name}"

    def note(self, call: str) -> None:
        with self.file.open("a") as lines:
            lines.write(f"{call}\n")

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.file.read_text().split()) if self.file.exists() else Counter()

    def supports(self, module: nn.Module, device: torch.device) -> bool:
        return not (self.refuses and isinstance(module, self.refuses)) and self.inner.supports(module, device)

    def group(self, modules: Sequence[nn.Module], sample: Sequence[torch.Tensor]) -> NetworkGroup:
        self.note("group")
        return self._Group(self, self.inner.group(modules, sample))

    def optimizer(self, parameters: Sequence[torch.Tensor], decay: float = 0.0) -> GroupOptimizer:
        self.note("optimizer")
        return self._Optimizer(self, self.inner.optimizer(parameters, decay))

    def run(self, network: nn.Module, *inputs: torch.Tensor) -> torch.Tensor:
        self.note("run")
        return self.inner.run(network, *inputs)

    class _Counted:
        """A group or an optimizer; what is not counted goes straight to the inner one."""

        def __init__(self, counting: CountingBackend, inner: Any) -> None:
            self.counting, self.inner = counting, inner

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

    class _Group(_Counted):
        def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
            self.counting.note("forward")
            outputs: torch.Tensor = self.inner(*inputs)
            return outputs

    class _Optimizer(_Counted):
        def step(self, number: int, rates: Sequence[float], beta1: float = 0.9) -> None:
            self.counting.note("step")
            self.inner.step(number, rates, beta1)


def dense() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())


def data(n: int = 120) -> tuple[Examples, np.ndarray]:
    """Pairs of handwritten zeros and ones; the class is whether both are ones."""
    symbols = np.random.default_rng(0).random((n, 2)) < 0.6
    columns = pictures(symbols.astype(int), 0)
    return Examples({"a": columns["c0"], "b": columns["c1"]}), symbols.all(axis=1)


def fit(
    runs_on: str | Backend, n_jobs: int | None = None, networks: dict[str, Any] | None = None
) -> tuple[Tree, dict[str, nn.Module], int]:
    """A tree, its networks by name, and the number of gradient steps of all restarts."""
    X, y = data()
    sample = Sample(X, y.astype(np.int64), np.ones(len(y)), np.arange(len(y)) % 4 == 0, 2, 1)
    tests = tuple(map(AtomTest, ("left(a)", "both(a, b)")))
    learner = NodeLearner(
        sample,
        Program(BACKGROUND, X.schema),
        Candidates(tests, ()),
        networks or {},
        TrainingConfig(**CONFIG, backend=runs_on),
        priors=Priors(),
        penalty=2.0,
        adaptive=True,
        seed=0,
        jobs=n_jobs,
    )
    with learner.pool:
        root = learner.refine(grow_tree(learner, learner.root, GrowthLimits(max_depth=2)).node)
    tree = Tree(root, (False, True))
    return tree, learner.networks_of(tree.tests), learner.steps


def model_of(fitted: tuple[Tree, dict[str, nn.Module], int], runs_on: str | Backend = "auto") -> NeurosymbolicTree:
    tree, networks, _ = fitted
    return NeurosymbolicTree(tree, data()[0].schema, background=BACKGROUND, networks=networks, backend=runs_on)


def assert_equal_bits(
    one: tuple[Tree, dict[str, nn.Module], int], other: tuple[Tree, dict[str, nn.Module], int]
) -> None:
    assert one[0] == other[0]
    assert one[2] == other[2]
    assert list(one[1]) == list(other[1])
    for name, network in one[1].items():
        theirs = other[1][name].state_dict()
        assert all(torch.equal(values, theirs[key]) for key, values in network.state_dict().items())


@pytest.fixture(scope="module")
def fitted() -> tuple[Tree, dict[str, nn.Module], int]:
    result = fit("auto")
    assert result[0].tests, "the tree has a test with networks"
    return result


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_tree_learned_with_a_backend_of_ones_own_is_that_of_the_wrapped_one(
    n_jobs: int | None, fitted: tuple[Tree, dict[str, nn.Module], int], tmp_path: Path
) -> None:
    counting = CountingBackend(tmp_path / "calls")
    assert_equal_bits(fit(counting, n_jobs), fitted)
    counts = counting.counts
    assert 0 < counts["group"] < counts["optimizer"] < counts["forward"], "leaves have optimizers of their own"
    # A step moves a group of networks and the leaves of a task, for several restarts at once.
    assert counts["step"] % 2 == 0
    assert counts["forward"] > counts["step"] / 2 > fitted[2] / 8


def test_the_reference_learns_a_tree_of_the_same_tests(
    fitted: tuple[Tree, dict[str, nn.Module], int], tmp_path: Path
) -> None:
    counting = CountingBackend(tmp_path / "calls", "torch")
    reference, through = fit("torch"), fit(counting)
    assert_equal_bits(through, reference)
    assert counting.counts["step"] > 0
    assert reference[0].tests == fitted[0].tests
    X, _ = data()
    np.testing.assert_allclose(model_of(reference).predict_proba(X), model_of(fitted).predict_proba(X), atol=0.05)


def test_networks_that_a_backend_does_not_support_run_on_the_reference(tmp_path: Path) -> None:
    networks = {"left_net": dense}
    some = CountingBackend(tmp_path / "some", "torch", refuses=nn.Sequential)
    every = CountingBackend(tmp_path / "every", "torch")
    result = fit(some, networks=networks)
    assert any(isinstance(network, nn.Sequential) for network in result[1].values())
    assert_equal_bits(result, fit(every, networks=networks))
    assert 0 < some.counts["group"] < every.counts["group"]


def test_predictions_run_on_the_backend_of_the_model(
    fitted: tuple[Tree, dict[str, nn.Module], int], tmp_path: Path
) -> None:
    X, _ = data()
    counting = CountingBackend(tmp_path / "calls")
    model = model_of(fitted, counting)
    assert np.array_equal(model.predict_proba(X), model_of(fitted).predict_proba(X))
    runs = counting.counts["run"]
    assert runs >= 1
    with_gradients = model.class_probabilities(X)
    assert with_gradients.requires_grad
    assert counting.counts["run"] == runs, "with gradients the modules run themselves"
    received = pickle.loads(pickle.dumps(model))
    assert np.array_equal(received.predict_proba(X), model.predict_proba(X))
    np.testing.assert_allclose(model_of(fitted, "torch").predict_proba(X), model.predict_proba(X), rtol=1e-4, atol=1e-6)


def test_a_registered_backend_reaches_workers_by_its_name(
    fitted: tuple[Tree, dict[str, nn.Module], int], tmp_path: Path
) -> None:
    counting = CountingBackend(tmp_path / "calls")
    with pytest.raises(BackendError, match="No backend is called 'counting batched' here"):
        fit(counting.name)
    register_backend(counting)
    assert_equal_bits(fit(counting.name, n_jobs=2), fitted)
    assert counting.counts["step"] > 0
