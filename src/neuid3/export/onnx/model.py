"""What must a tree know to be written as ONNX?"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

import torch

from neuid3.columns import Schema
from neuid3.export import subject
from neuid3.infer.evidence import Look, Network
from neuid3.priors import Priors


class Model(subject.Model, Protocol):
    """A tree with its columns, networks and priors; `NeurosymbolicTree` is one."""

    schema: Schema
    networks: Mapping[str, Network]
    priors: Priors
    dtype: torch.dtype
    device: torch.device
    uses: frozenset[Look]

    @property
    def columns(self) -> list[str]: ...

    def evaluating(self) -> AbstractContextManager[None]: ...
