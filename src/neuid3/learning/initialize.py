"""How does a fresh network start? As its factory makes it, under a seed of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from neuid3.data.columns import Schema
from neuid3.errors import NetworkError
from neuid3.learning.candidates import shapes_of
from neuid3.learning.sample import Factory, Floats, Sample
from neuid3.networks.defaults import Dense, Standardise, default_network, standardise_inputs
from neuid3.tree.evidence import NetworkCall

# Centre and scale of a column of numbers are taken from so many rows and entries at most, evenly spaced.
ROWS, ENTRIES = 1 << 14, 1 << 22


class NetworkInitializer:
    """Makes fresh networks. `count` is how far it has come in counting them, and in their names."""

    def __init__(self, given: Mapping[str, nn.Module | Factory], schema: Schema, seed: int, sample: Sample) -> None:
        self.given, self.schema, self.seed, self.sample = dict(given), schema, seed, sample
        self.count = 0
        self._standards: dict[tuple[tuple[str, ...], ...], Standardise] = {}

    def number(self) -> int:
        self.count += 1
        return self.count

    def fresh(self, look: NetworkCall, calls: Sequence[NetworkCall] = ()) -> nn.Module:
        """A fresh network that can look so, and standardises numbers as all its `calls` together need it."""
        number = self.number()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed * 7919 + number)
            made = self._made(look)
        if look.network not in self.given and isinstance(made, Dense):
            self._standardise(made, tuple(call.inputs for call in calls or (look,)))
        return made

    def _standardise(self, network: Dense, calls: tuple[tuple[str, ...], ...]) -> None:
        """Set centre and scale of the numbers that a network reads to those of the training rows, measured once."""
        if not isinstance(network.standardise, Standardise):
            return
        if calls not in self._standards:
            numbers = [len(shape) < 2 for shape in shapes_of(calls[0], self.schema)]
            rows = np.flatnonzero(~self.sample.unseen & (self.sample.weights > 0))
            most = max(min(ROWS, ENTRIES // sum(network.settings["sizes"])), 256)
            rows = rows[:: -(-len(rows) // most) or 1]
            columns = [
                np.concatenate([self._entries(inputs[place], rows) for inputs in calls]) if number else None
                for place, number in enumerate(numbers)
            ]
            standardise_inputs(network, columns, np.tile(self.sample.weights[rows], len(calls)))
            self._standards[calls] = network.standardise
        network.standardise.load_state_dict(self._standards[calls].state_dict())

    def _entries(self, name: str, rows: npt.NDArray[np.int64]) -> Floats:
        """Rows of a column of numbers or vectors as networks read them, `(row, number)`; NaN where they are missing."""
        column = self.sample.examples.column(name)
        values = np.asarray(column.values[rows])
        entries = values.reshape(len(rows), -1) / (255.0 if values.dtype == np.uint8 else 1.0)
        return entries if column.missing is None else np.where(column.missing[rows, None], np.nan, entries)

    def shaped(self, look: NetworkCall) -> nn.Module:
        """A network of the right shape, to be filled with weights; it does not count."""
        before = self.count
        made = self.fresh(look)
        self.count = before
        return made

    def _made(self, look: NetworkCall) -> nn.Module:
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
