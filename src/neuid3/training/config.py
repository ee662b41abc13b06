"""Hyperparameters of network training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from neuid3.networks.backend import Backend


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """Hyperparameters of the training of tests and trees.

    The defaults were chosen by measurement; `PAPER_TRAINING` has the values of the paper.

    Attributes
    ----------
    loss : "branches" is the paper's weighted cross-entropy, with one class for each branch of the test; "leaves" is the
        likelihood of a tree of this one test, whose two leaf distributions are trained with it.
    epochs : maximum number of epochs; fewer where `max_steps` is reached earlier.
    batch_size : examples of a minibatch.
    learning_rate : the highest learning rate of the cycle.
    one_cycle : whether the learning rate follows the one-cycle policy; it is constant otherwise.
    weight_decay : decoupled weight decay of networks; leaves have none.
    shift : maximum random shift of images, in pixels.
    restarts : number of restarts of a test. They differ in their random weights, in the class that the test is to be
        true for and in the grayscale warm-up; the better ones survive (see `neuid3.training.halving`).
    joint_epochs : epochs of the joint training of a finished tree; 0 turns it off.
    joint_learning_rate : the highest learning rate of joint training.
    max_steps : number of steps after which no further epoch begins, but never before three epochs; None for no such limit.
    sharpness : factor of the last weights of a fresh multi-class network. Where its values are almost equally probable,
        rules have next to no gradient.
    warp : maximum random rotation, stretch and shear of images, as a fraction.
    backend : who runs and trains the networks: "auto" is the fastest on this machine, "torch" the reference, which runs
        one module after the other; or the name of a registered backend, or a `neuid3.networks.Backend`.
    """

    loss: Literal["leaves", "branches"] = "leaves"
    epochs: int = 30
    batch_size: int = 64
    learning_rate: float = 3e-3
    one_cycle: bool = True
    weight_decay: float = 0.01
    shift: int = 2
    restarts: int = 4
    joint_epochs: int = 60
    joint_learning_rate: float = 2e-3
    max_steps: int | None = 600
    sharpness: float = 8.0
    warp: float = 0.2
    backend: str | Backend = "auto"

    def steps(self, examples: int) -> int:
        """Number of gradient steps of a training on so many examples.

        >>> TrainingConfig(epochs=30, batch_size=10, max_steps=100).steps(100)
        100
        """
        batches = max(1, -(-examples // self.batch_size))
        epochs = self.epochs if self.max_steps is None else min(self.epochs, max(3, -(-self.max_steps // batches)))
        return epochs * batches


PAPER_TRAINING = TrainingConfig("branches", 20, 32, 1e-3, False, 0.0, 0, 1, 0, max_steps=None, sharpness=1.0, warp=0.0)
