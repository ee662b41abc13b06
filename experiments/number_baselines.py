"""Baselines that predict numbers: plain networks over images and facts."""

from __future__ import annotations

from typing import Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from experiments.baselines import Labelled, Labels, Training, augmented, dense, lenet_convolutions
from neuid3.data.examples import Examples
from neuid3.tree.network_evidence import readable


class NetworkRegressor:
    """A network that predicts a number, trained by Adam and squared error on standardised targets.

    Both images of a row pass through one encoder, a LeNet of the size that our networks have; a small decoder reads the
    features of both and the facts of the row.
    """

    def __init__(self, features: int, hidden: int, training: Training, random_state: int = 0) -> None:
        self.features, self.hidden, self.training, self.random_state = features, hidden, training, random_state

    def fit(self, X: Examples, y: Labels, *, validation: Labelled | None = None) -> Self:  # noqa: ARG002 - one cycle
        self.center_, self.scale_ = float(np.mean(y)), float(np.std(y))
        images, facts = _images_and_facts(X)
        targets = torch.from_numpy((y - self.center_) / self.scale_).float()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            encoder = nn.Sequential(
                lenet_convolutions(1, (6, 16), normalised=False), dense([256, 120, 84, self.features])
            )
            inputs = images.shape[1] * self.features + facts.shape[1]
            self.encoder_, self.decoder_ = encoder, dense([inputs, self.hidden, self.hidden, 1])
            self._train(images, facts, targets)
        return self

    def _train(self, images: Tensor, facts: Tensor, targets: Tensor) -> None:
        training = self.training
        batches = max(1, -(-len(targets) // training.batch_size))
        weights = [*self.encoder_.parameters(), *self.decoder_.parameters()]
        optimizer = torch.optim.AdamW(
            weights, lr=training.learning_rate, weight_decay=training.weight_decay, fused=True
        )
        self.gradient_steps_ = training.epochs * batches
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, training.learning_rate, total_steps=self.gradient_steps_
        )
        for _ in range(training.epochs):
            for rows in torch.randperm(len(targets)).tensor_split(batches):
                optimizer.zero_grad()
                shown = augmented(images[rows], training.shift, training.warp)
                functional.mse_loss(self._outputs(shown, facts[rows]), targets[rows]).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                schedule.step()

    def _outputs(self, images: Tensor, facts: Tensor) -> Tensor:
        features = self.encoder_(images.flatten(0, 1)).view(len(images), -1)
        outputs: Tensor = self.decoder_(torch.cat((features.relu(), facts), 1)).squeeze(1)
        return outputs

    def predict(self, X: Examples) -> Labels:
        images, facts = _images_and_facts(X)
        with torch.inference_mode():
            outputs = torch.cat(
                [self._outputs(*part) for part in zip(torch.split(images, 1000), torch.split(facts, 1000), strict=True)]
            )
        predictions: Labels = self.center_ + self.scale_ * outputs.double().numpy()
        return predictions

    @property
    def parameters(self) -> int:
        """Number of parameters of encoder and decoder."""
        return sum(p.numel() for p in (*self.encoder_.parameters(), *self.decoder_.parameters()))


def _images_and_facts(X: Examples) -> tuple[Tensor, Tensor]:
    """The images of all rows, `(n, column, 1, y, x)`, and their facts, `(n, column)`."""
    columns = [readable(column, torch.float32, torch.device("cpu")) for _, column in X.items()]
    images = torch.stack([c.view(len(c), 1, *c.shape[-2:]) for c in columns if c.ndim > 2], 1)
    return images, torch.cat([c.view(len(c), -1) for c in columns if c.ndim <= 2], 1)
