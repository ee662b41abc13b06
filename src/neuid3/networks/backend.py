"""Backends: the interface through which many small networks are run and trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from neuid3.errors import BackendError, did_you_mean

if TYPE_CHECKING:
    import torch
    from torch import nn

    from neuid3.networks.adam import Moments


class NetworkGroup(Protocol):
    """Networks of one architecture that a backend runs as one; see `Backend` for its laws."""

    @property
    def weights(self) -> Mapping[str, torch.Tensor]:
        """The trainable parameters of all networks by name, each a leaf tensor `(network, …)` with a gradient."""
        ...

    def __call__(self, *inputs: torch.Tensor) -> torch.Tensor:
        """The outputs of all networks, `(network, example, value)`, for inputs `(network, example, …)`."""
        ...

    def train(self, mode: bool = True) -> None:
        """Set all networks to training or evaluation mode.

        Parameters
        ----------
        mode : whether the networks are trained; otherwise they are evaluated.
        """
        ...

    def module(self, row: int) -> nn.Module:
        """A copy of one network with its current parameters and buffers.

        Parameters
        ----------
        row : the number of the network in the group.

        Returns
        -------
        The copy.
        """
        ...


class GroupOptimizer(Protocol):
    """Optimizer of the parameters of many networks; see `Backend` for its laws."""

    def zero_grad(self) -> None:
        """Set all gradients to zero, in place."""
        ...

    def step(self, number: int, rates: Sequence[float], beta1: float = 0.9) -> None:
        """Take a step.

        Parameters
        ----------
        number : number of the step, counted from 1.
        rates : learning rate of each network.
        beta1 : decay of the first moment.
        """
        ...

    def moments(self, row: int) -> Moments:
        """A copy of the first and second moments of one network, one pair for each parameter.

        Parameters
        ----------
        row : the number of the network in the group.

        Returns
        -------
        The moments.
        """
        ...

    def resume(self, row: int, moments: Moments) -> None:
        """Set the moments of one network to those of an earlier training.

        Parameters
        ----------
        row : the number of the network in the group.
        moments : as `moments` returns them.
        """
        ...


@runtime_checkable
class Backend(Protocol):
    """Runs and trains many small networks of one architecture.

    Training asks it for a group of networks and for optimizers, prediction for the outputs of one network. `TorchBackend`
    is the reference, which runs one module after the other; every other backend must agree with it, up to rounding.

    **Laws**

    1. *Outputs.* `group(*inputs)[i]` are the outputs of `modules[i]` on `(x[i] for x in inputs)`, in training and in
       evaluation mode. Random layers draw from torch's generator, in an order that the backend chooses.
    2. *Gradients.* `backward()` adds to `weights[name].grad[i]`, in place, the gradient of network `i`. No network
       influences another: NaN in the weights of one leaves the others as they are.
    3. *Step.* An optimizer is Adam with decoupled weight decay (`torch.optim.AdamW`). It changes the parameters in place.
       A training that continues from copies of networks and moments, in another group, process or backend, takes the
       steps that it would have taken without a pause.
    4. *Copies.* `module(row)` and `moments(row)` share no memory with the group.
    5. *Prediction.* `run(network, *inputs)` uses the weights that the network has now, and does not change its mode.
    6. *Device.* Modules and inputs are on one device, and so are all weights, outputs and moments.
    7. *Reproducibility.* The same calls in the same order give the same bits on the same machine.
    8. *Identity.* A backend is hashable and can be pickled: it is sent to worker processes. Its name stands for it in
       checkpoints and saved parameters, so two backends of one name must give the same bits.
    """

    @property
    def name(self) -> str:
        """The name by which the backend is selected and saved."""
        ...

    def supports(self, module: nn.Module, device: torch.device) -> bool:
        """Whether networks of this architecture run on this device; where they do not, `TorchBackend` takes its place.

        Parameters
        ----------
        module : a network.
        device : the device that it is to run on.

        Returns
        -------
        Whether `group` and `run` accept such networks.
        """
        ...

    def group(self, modules: Sequence[nn.Module], sample: Sequence[torch.Tensor]) -> NetworkGroup:
        """A group of networks.

        Parameters
        ----------
        modules : networks of one architecture, which belong to the group from now on.
        sample : a few inputs for each network, `(network, example, …)`.

        Returns
        -------
        The group.
        """
        ...

    def optimizer(self, parameters: Sequence[torch.Tensor], decay: float = 0.0) -> GroupOptimizer:
        """An optimizer with moments of zero.

        Parameters
        ----------
        parameters : parameters of all networks, `(network, …)`, each with a gradient: the weights of a group in their
            order, or leaves of trees.
        decay : weight decay.

        Returns
        -------
        The optimizer.
        """
        ...

    def run(self, network: nn.Module, *inputs: torch.Tensor) -> torch.Tensor:
        """The outputs of one network, `(example, value)`, for inputs `(example, …)`; called without gradients.

        Parameters
        ----------
        network : a network, in evaluation mode.
        *inputs : a batch of each input, `(example, …)`.

        Returns
        -------
        Probabilities, `(example, value)`.
        """
        ...


AUTO = "auto"

_OWN = ("batched", "torch")
_REGISTERED: dict[str, Backend] = {}


def backend_names() -> tuple[str, ...]:
    """The names that `select_backend` knows: our own, then registered ones.

    >>> backend_names()[:3]
    ('auto', 'batched', 'torch')
    """
    return (AUTO, *_OWN, *_REGISTERED)


def register_backend(backend: Backend) -> Backend:
    """Register a backend, so that `select_backend` finds it by its name; returns it.

    Parameters
    ----------
    backend : the backend.

    Returns
    -------
    The same backend.

    Raises
    ------
    BackendError : where it lacks a method, or its name is one of our own.
    """
    _check(backend)
    if backend.name in (AUTO, *_OWN):
        raise BackendError(f"The name {backend.name!r} belongs to a backend of neuid3; give yours another name.")
    _REGISTERED[backend.name] = backend
    return backend


def select_backend(backend: str | Backend = AUTO) -> Backend:
    """The backend of a name, or the given one.

    Parameters
    ----------
    backend : "auto" for the fastest on this machine, "torch" for the reference, another registered name, or a backend.

    Returns
    -------
    The backend.

    Raises
    ------
    BackendError : where the name is unknown, or an object is no backend.

    >>> select_backend("auto").name, select_backend("torch").name
    ('batched', 'torch')
    """
    if not isinstance(backend, str):
        _check(backend)
        return backend
    if backend in _REGISTERED:
        return _REGISTERED[backend]
    if backend == "torch":
        from neuid3.networks.torch_backend import TorchBackend

        return TorchBackend()
    if backend in (AUTO, "batched"):
        from neuid3.networks.batched_backend import BatchedBackend

        return BatchedBackend()
    raise BackendError(
        f"No backend is called {backend!r} here.{did_you_mean(backend, backend_names())} "
        "Pass the backend itself, or register it with neuid3.networks.register_backend."
    )


def backend_name(backend: str | Backend) -> str:
    """The name of a backend as files record it; a name stands for itself, whether it is known here or not.

    Parameters
    ----------
    backend : a backend, or the name of one.

    Returns
    -------
    The name.
    """
    return backend if isinstance(backend, str) else backend.name


def _check(backend: Any) -> None:
    if isinstance(backend, type) or not isinstance(backend, Backend):
        members = ("name", "supports", "group", "optimizer", "run")
        missing = [member for member in members if not hasattr(backend, member)]
        problem = f"has no {', '.join(missing)}" if missing else "is a class; pass an instance of it"
        raise BackendError(f"{backend!r:.80} is no backend: it {problem}. See neuid3.networks.Backend.")
    try:
        hash(backend)
    except TypeError:
        raise BackendError(
            f"Backend {backend.name!r} is not hashable; if it is a dataclass, make it frozen or give it eq=False."
        ) from None
