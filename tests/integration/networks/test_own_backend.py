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

from neuid3 import Examples, NeuID3Classifier, load
from neuid3.errors import BackendError, CheckpointError
from neuid3.networks import Backend, GroupOptimizer, NetworkGroup, register_backend, select_backend
from neuid3.training import TrainingConfig

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
    runs_on: str | Backend, n_jobs: int | None = None, networks: dict[str, Any] | None = None, **options: Any
) -> NeuID3Classifier:
    """A classifier whose networks were trained by a backend."""
    return NeuID3Classifier(
        background=BACKGROUND,
        tests=["left(a)", "both(a, b)"],
        networks=networks,
        max_depth=2,
        training=TrainingConfig(**CONFIG, backend=runs_on),
        n_jobs=n_jobs,
        random_state=0,
    ).fit(*data(), **options)


def assert_equal_bits(one: NeuID3Classifier, other: NeuID3Classifier) -> None:
    assert one.tree_ == other.tree_
    assert one.gradient_steps_ == other.gradient_steps_
    assert list(one.networks_) == list(other.networks_)
    for name, network in one.networks_.items():
        theirs = other.networks_[name].state_dict()
        assert all(torch.equal(values, theirs[key]) for key, values in network.state_dict().items())


@pytest.fixture(scope="module")
def fitted() -> NeuID3Classifier:
    classifier = fit("auto")
    assert classifier.networks_, "the tree has a test with networks"
    return classifier


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_tree_learned_with_a_backend_of_ones_own_is_that_of_the_wrapped_one(
    n_jobs: int | None, fitted: NeuID3Classifier, tmp_path: Path
) -> None:
    counting = CountingBackend(tmp_path / "calls")
    assert_equal_bits(fit(counting, n_jobs), fitted)
    counts = counting.counts
    assert 0 < counts["group"] < counts["optimizer"] < counts["forward"], "leaves have optimizers of their own"
    # A step moves a group of networks and the leaves of a task, for several restarts at once.
    assert counts["step"] % 2 == 0
    assert counts["forward"] > counts["step"] / 2 > fitted.gradient_steps_ / 8


def test_the_reference_learns_a_tree_of_the_same_tests(fitted: NeuID3Classifier, tmp_path: Path) -> None:
    counting = CountingBackend(tmp_path / "calls", "torch")
    reference, through = fit("torch"), fit(counting)
    assert_equal_bits(through, reference)
    assert counting.counts["step"] > 0
    assert reference.tree_.tests == fitted.tree_.tests
    X, _ = data()
    np.testing.assert_allclose(reference.predict_proba(X), fitted.predict_proba(X), atol=0.05)


def test_networks_that_a_backend_does_not_support_run_on_the_reference(tmp_path: Path) -> None:
    networks = {"left_net": dense}
    some = CountingBackend(tmp_path / "some", "torch", refuses=nn.Sequential)
    every = CountingBackend(tmp_path / "every", "torch")
    classifier = fit(some, networks=networks)
    assert any(isinstance(network, nn.Sequential) for network in classifier.networks_.values())
    assert_equal_bits(classifier, fit(every, networks=networks))
    assert 0 < some.counts["group"] < every.counts["group"]


def test_predictions_run_on_the_backend_of_the_fit(fitted: NeuID3Classifier, tmp_path: Path) -> None:
    X, _ = data()
    counting = CountingBackend(tmp_path / "calls")
    classifier = fit(counting)
    assert counting.counts["run"] == 0
    assert np.array_equal(classifier.predict_proba(X), fitted.predict_proba(X))
    runs = counting.counts["run"]
    assert runs >= 1
    assert classifier.model_.class_probabilities(X).requires_grad
    assert counting.counts["run"] == runs, "with gradients the modules run themselves"
    received = pickle.loads(pickle.dumps(classifier))
    assert np.array_equal(received.predict_proba(X), fitted.predict_proba(X))
    assert counting.counts["run"] > runs


def test_a_file_has_the_name_of_a_backend_and_the_model_predicts_without_it(
    fitted: NeuID3Classifier, tmp_path: Path
) -> None:
    X, y = data()
    counting = CountingBackend(tmp_path / "calls")
    loaded = load(fit(counting).save(tmp_path / "model"))
    assert loaded.training.backend == counting.name
    runs = counting.counts["run"]
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert counting.counts["run"] == runs
    with pytest.raises(BackendError, match=r"No backend is called 'counting batched' here.*register_backend"):
        loaded.fit(X, y)


def test_a_checkpoint_belongs_to_a_backend_by_its_name(fitted: NeuID3Classifier, tmp_path: Path) -> None:
    first, second = (CountingBackend(tmp_path / name) for name in ("first", "second"))
    assert_equal_bits(fit(first, checkpoint=tmp_path / "folder"), fitted)
    assert_equal_bits(fit(second, checkpoint=tmp_path / "folder"), fitted)
    assert second.counts["step"] == 0, "every node is in the checkpoint"
    with pytest.raises(CheckpointError, match="backend"):
        fit("torch", checkpoint=tmp_path / "folder")


def test_a_registered_backend_reaches_workers_by_its_name(fitted: NeuID3Classifier, tmp_path: Path) -> None:
    counting = CountingBackend(tmp_path / "calls")
    with pytest.raises(BackendError, match="No backend is called 'counting batched' here"):
        fit(counting.name)
    register_backend(counting)
    assert_equal_bits(fit(counting.name, n_jobs=2), fitted)
    assert counting.counts["step"] > 0
