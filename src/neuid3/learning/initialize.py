"""Creation of fresh networks, each by its factory and under a seed of its own."""

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
from neuid3.networks.architectures import default_architecture
from neuid3.networks.defaults import Dense, Standardise, standardise_inputs
from neuid3.networks.residual import is_normalised
from neuid3.networks.series import SeriesNet
from neuid3.tree.semantics import NetworkCall

# Centre and scale of a number column are estimated from so many rows and entries at most, evenly spaced.
ROWS, ENTRIES = 1 << 14, 1 << 22


class NetworkInitializer:
    """Creates fresh networks.

    Parameters
    ----------
    networks : trained modules or factories by name of the network; other networks get the default architecture.
    schema : the kinds of the columns.
    seed : seed of all weights.
    sample : labelled examples, to standardise numbers.

    Attributes
    ----------
    count : the number of networks created or named so far; it enters the seed and the name of the next.
    """

    def __init__(self, networks: Mapping[str, nn.Module | Factory], schema: Schema, seed: int, sample: Sample) -> None:
        self.networks, self.schema, self.seed, self.sample = dict(networks), schema, seed, sample
        self.count = 0
        self._is_normalised: dict[NetworkCall, bool] = {}
        self._standards: dict[tuple[tuple[str, ...], ...], Standardise] = {}

    def next_number(self) -> int:
        """The number of the next network."""
        self.count += 1
        return self.count

    def create(self, call: NetworkCall, calls: Sequence[NetworkCall] = ()) -> nn.Module:
        """A fresh network for a call; it standardises numbers by the inputs of all its `calls`, by default of this one."""
        number = self.next_number()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed * 7919 + number)
            network = self._build(call)
        if call.network not in self.networks and isinstance(network, (Dense, SeriesNet)):
            self._standardise(network, tuple(each.inputs for each in calls or (call,)))
        return network

    def _standardise(self, network: Dense | SeriesNet, calls: tuple[tuple[str, ...], ...]) -> None:
        """Set centre and scale of the number inputs of a network to those of the training rows, estimated once."""
        if not isinstance(network.standardise, Standardise):
            return
        if calls not in self._standards:
            is_series = isinstance(network, SeriesNet)
            numbers = [is_series or len(shape) < 2 for shape in shapes_of(calls[0], self.schema)]
            rows = np.flatnonzero(~self.sample.unseen & (self.sample.weights > 0))
            most = max(min(ROWS, ENTRIES // len(network.standardise.centre)), 256)
            rows = rows[:: -(-len(rows) // most) or 1]
            columns = [
                np.concatenate([self._entries(inputs[position], rows) for inputs in calls]) if number else None
                for position, number in enumerate(numbers)
            ]
            weights = np.tile(self.sample.weights[rows], len(calls))
            if isinstance(network, SeriesNet):  # all of its inputs are read alike
                rows_of_all = np.concatenate([column for column in columns if column is not None])
                present = ~np.isnan(rows_of_all).any(axis=1)
                network.standardise.fit(rows_of_all[present], np.tile(weights, len(columns))[present])
                network.share_standards()
            else:
                standardise_inputs(network, columns, weights)
            self._standards[calls] = network.standardise
        network.standardise.load_state_dict(self._standards[calls].state_dict())

    def _entries(self, name: str, rows: npt.NDArray[np.int64]) -> Floats:
        """Rows of a column of numbers or vectors as network inputs, `(row, number)`; NaN where they are missing."""
        column = self.sample.examples.column(name)
        values = np.asarray(column.inputs[rows])
        entries = values.reshape(len(rows), -1) / (255.0 if values.dtype == np.uint8 else 1.0)
        return entries if column.missing is None else np.where(column.missing[rows, None], np.nan, entries)

    def template(self, call: NetworkCall) -> nn.Module:
        """A network of the right architecture whose weights do not matter; it is not counted."""
        before = self.count
        network = self.create(call)
        self.count = before
        return network

    def is_normalised(self, call: NetworkCall) -> bool:
        """Whether the network of a call has batch normalisation, so that few restarts suffice."""
        if call not in self._is_normalised:
            self._is_normalised[call] = is_normalised(self.template(call))
        return self._is_normalised[call]

    def _build(self, call: NetworkCall) -> nn.Module:
        """A network by its factory, or by the default architecture."""
        factory = self.networks.get(call.network)
        if factory is None:
            return default_architecture([self.schema[name] for name in call.inputs], call.width)
        try:
            network = factory()
        except TypeError as error:
            raise NetworkError(
                f"networks[{call.network!r}] cannot be called without arguments ({error}); give a function that makes a "
                "fresh module, or the module itself."
            ) from None
        if not isinstance(network, nn.Module):
            raise NetworkError(
                f"networks[{call.network!r}] returned a {type(network).__name__}; give a torch module or a function that "
                "makes one."
            )
        return network
