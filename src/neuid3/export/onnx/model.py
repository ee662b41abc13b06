"""What must a tree know to be written as ONNX?"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

import torch

from neuid3.data.columns import Schema
from neuid3.data.priors import Priors
from neuid3.export import subject
from neuid3.tree.evidence import Network, NetworkCall


class Model(subject.Model, Protocol):
    """A tree with its columns, networks and priors; `NeurosymbolicTree` is one."""

    schema: Schema
    networks: Mapping[str, Network]
    priors: Priors
    dtype: torch.dtype
    device: torch.device
    uses: frozenset[NetworkCall]

    @property
    def columns(self) -> list[str]: ...

    def evaluating(self) -> AbstractContextManager[None]: ...
