"""How does a fresh network start? As its factory makes it, under a seed of its own."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn

from neuid3.candidates import shapes_of
from neuid3.columns import Schema
from neuid3.errors import NetworkError
from neuid3.infer import Look
from neuid3.learn.sample import Factory
from neuid3.networks import default_network


class Starts:
    """Makes fresh networks. `count` is how far it has come in counting them, and in their names."""

    def __init__(self, given: Mapping[str, nn.Module | Factory], schema: Schema, seed: int) -> None:
        self.given, self.schema, self.seed = dict(given), schema, seed
        self.count = 0

    def number(self) -> int:
        self.count += 1
        return self.count

    def fresh(self, look: Look) -> nn.Module:
        """A fresh network that can look so."""
        number = self.number()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed * 7919 + number)
            return self._made(look)

    def shaped(self, look: Look) -> nn.Module:
        """A network of the right shape, to be filled with weights; it does not count."""
        before = self.count
        made = self.fresh(look)
        self.count = before
        return made

    def _made(self, look: Look) -> nn.Module:
        factory = self.given.get(look.network)
        if factory is None:
            return default_network(shapes_of(look.inputs, self.schema), look.width)
        try:
            made = factory()
        except TypeError as error:
            raise NetworkError(
                f"networks[{look.network!r}] cannot be called without arguments ({error}); give a function that makes a "
                "fresh module, or the module itself."
            ) from None
        if not isinstance(made, nn.Module):
            raise NetworkError(
                f"networks[{look.network!r}] returned a {type(made).__name__}; give a torch module or a function that "
                "makes one."
            )
        return made
