"""The default backend: networks of one architecture run at once, by the compiled kernel where it can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from neuid3.networks.adam import Adam
from neuid3.networks.groups import network_group, run_by_kernel, runs_by_kernel
from neuid3.networks.torch_backend import StackedGroup


@dataclass(frozen=True, slots=True)
class BatchedBackend:
    """The fastest way to run networks of each architecture: layer by layer, through `torch.func`, or one by one.

    The compiled kernel (`neuid3.networks.kernel`) computes convolutions and Adam steps where it is available.
    """

    name: ClassVar[str] = "batched"

    def supports(self, module: nn.Module, device: torch.device) -> bool:  # noqa: ARG002 - the signature of all backends
        """True: what cannot run in a batch runs one by one.

        Parameters
        ----------
        module : a network.
        device : the device that it is to run on.

        Returns
        -------
        Whether `group` and `run` accept such networks.
        """
        return True

    def group(self, modules: Sequence[nn.Module], sample: Sequence[torch.Tensor]) -> StackedGroup:
        """The fastest kind of group that supports these networks.

        Parameters
        ----------
        modules : networks of one architecture, which belong to the group from now on.
        sample : a few inputs for each network, `(network, example, …)`.

        Returns
        -------
        The group.
        """
        return network_group(modules, sample)

    def optimizer(self, parameters: Sequence[torch.Tensor], decay: float = 0.0) -> Adam:
        """Adam for all networks at once.

        Parameters
        ----------
        parameters : parameters of all networks, `(network, …)`, each with a gradient.
        decay : weight decay.

        Returns
        -------
        The optimizer.
        """
        return Adam(parameters, decay)

    def run(self, network: nn.Module, *inputs: torch.Tensor) -> torch.Tensor:
        """The outputs of the kernel for networks that it runs as a whole, and of the module for others.

        Parameters
        ----------
        network : a network, in evaluation mode.
        *inputs : a batch of each input, `(example, …)`.

        Returns
        -------
        Probabilities, `(example, value)`.
        """
        if runs_by_kernel(network):
            return run_by_kernel(network, *inputs)
        outputs: torch.Tensor = network(*inputs)
        return outputs
