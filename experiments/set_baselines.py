"""Networks over sets and sequences of pictures: deep sets, and a recurrent network, with the encoder of our networks."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from experiments.baselines import Labelled, Labels, Training, augmented
from neuid3.data.examples import Examples
from neuid3.data.slots import needed_slots, slot_name, unfolded
from neuid3.networks.defaults import default_network
from neuid3.networks.residual import ResidualNet

PART = "card"
LENET_FEATURES = 84
BLOCK = 250  # examples that are predicted at a time


class SetNetwork(nn.Module):
    """The features of all pictures, summed or read in their order, and a small network that tells the class."""

    def __init__(self, shape: tuple[int, ...], hidden: int, classes: int, recurrent: bool) -> None:
        super().__init__()
        self.encoder, features = _encoder(shape)
        self.recurrent = nn.GRU(features, hidden, batch_first=True) if recurrent else None
        self.embed = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.decide = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, pictures: Tensor, present: Tensor) -> Tensor:
        """Logits of the classes, `(example, class)`, from pictures `(example, slot, …)` and a mask of filled slots."""
        filled = present > 0
        # Empty slots are no pictures: batch normalisation would count them.
        encoded = self.encoder(pictures[filled])
        features = encoded.new_zeros(*present.shape, encoded.shape[1]).masked_scatter(filled.unsqueeze(2), encoded)
        if self.recurrent is None:
            pooled: Tensor = (self.embed(features) * present.unsqueeze(2)).sum(1)
        else:
            states, _ = self.recurrent(features)
            pooled = states[torch.arange(len(states)), present.sum(1).long() - 1]
        logits: Tensor = self.decide(pooled)
        return logits


def _encoder(shape: tuple[int, ...]) -> tuple[nn.Module, int]:
    """The layers of the default network below its outputs, and how many features they have."""
    network: Any = default_network([shape], 2)
    if isinstance(network, ResidualNet):
        return network.features, network.features.features
    return nn.Sequential(network.look, network.describe), LENET_FEATURES


class SetClassifier:
    """Deep sets, or a recurrent network, trained by AdamW with one cycle of the learning rate."""

    def __init__(self, hidden: int, recurrent: bool, training: Training, random_state: int = 0) -> None:
        self.hidden, self.recurrent = hidden, recurrent
        self.training, self.random_state = training, random_state

    def fit(self, X: Examples, y: Labels, *, validation: Labelled | None = None) -> Self:  # noqa: ARG002 - one cycle
        self.classes_, codes = np.unique(y, return_inverse=True)
        pictures, present = _slots(X)
        targets, training = torch.from_numpy(codes), self.training
        batches = max(1, -(-len(targets) // training.batch_size))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            self.network_ = SetNetwork(tuple(pictures.shape[2:]), self.hidden, len(self.classes_), self.recurrent)
            weights = self.network_.parameters()
            optimizer = torch.optim.AdamW(weights, lr=training.learning_rate, weight_decay=training.weight_decay)
            self.gradient_steps_ = training.epochs * batches
            rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, training.learning_rate, self.gradient_steps_)
            for _ in range(training.epochs):
                for rows in torch.randperm(len(targets)).tensor_split(batches):
                    optimizer.zero_grad()
                    shown = augmented(pictures[rows].flatten(0, 1).float() / 255, training.shift, training.warp)
                    logits = self.network_(shown.view(pictures[rows].shape), present[rows])
                    functional.cross_entropy(logits, targets[rows]).backward()  # type: ignore[no-untyped-call]
                    optimizer.step()
                    rates.step()
        return self

    def predict(self, X: Examples) -> Labels:
        pictures, present = _slots(X)
        self.network_.eval()
        with torch.no_grad():
            blocks = [
                self.network_(pictures[start : start + BLOCK].float() / 255, present[start : start + BLOCK]).argmax(1)
                for start in range(0, len(pictures), BLOCK)
            ]
        return np.asarray(self.classes_[torch.cat(blocks).numpy()])


def _slots(X: Examples) -> tuple[Tensor, Tensor]:
    """The pictures of all slots, `(example, slot, channel, height, width)`, and the mask of filled ones."""
    slots = needed_slots(X)
    columns = [unfolded(X, slots).column(slot_name(PART, number + 1)) for number in range(slots[PART])]
    pictures = np.stack([np.asarray(column.values) for column in columns], axis=1)
    empty = [np.zeros(len(X), dtype=bool) if column.absent is None else column.absent for column in columns]
    return torch.from_numpy(pictures), torch.from_numpy(~np.stack(empty, axis=1)).float()
