"""Baselines: plain networks, soft decision trees and scikit-learn's decision tree."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor, nn
from torch.nn import functional

from neuid3.data.examples import Examples
from neuid3.data.splits import stratified
from neuid3.tree.network_evidence import readable

Labels = npt.NDArray[Any]
Labelled = tuple[Examples, Labels]


@dataclass(frozen=True, slots=True)
class Training:
    """Training of a baseline network.

    Attributes
    ----------
    shift, warp : augmentation of images as in our own recipe, see `augmented`.
    validation_fraction : fraction of the training examples that is split off where `fit` is given no validation examples.
    tries : how many networks are trained at most, until one has a lower validation loss than the class frequencies.
    """

    epochs: int = 50
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    one_cycle: bool = False
    shift: int = 0
    warp: float = 0.0
    validation_fraction: float = 0.2
    tries: int = 1

    def to_json(self) -> dict[str, Any]:
        """All settings under the names that result files have."""
        return {"judged" if name == "validation_fraction" else name: value for name, value in asdict(self).items()}


class NetworkClassifier:
    """A network as a classifier, trained by Adam.

    `build` makes the network for a batch of inputs `(n, column, …)` and a number of classes; it returns logits.
    Unless `fit` is given validation examples, a fraction of the training examples is the validation split (see `train`).
    """

    def __init__(self, build: Callable[[Tensor, int], nn.Module], training: Training, random_state: int = 0) -> None:
        self.build, self.training, self.random_state = build, training, random_state

    def fit(self, X: Examples, y: Labels, *, validation: Labelled | None = None) -> Self:
        self.classes_, labels = np.unique(y, return_inverse=True)
        inputs, targets = stacked(X), torch.from_numpy(labels)
        if validation is None:
            held_out = torch.from_numpy(
                stratified(labels, self.training.validation_fraction, np.random.default_rng(self.random_state))
            )
            unseen = inputs[held_out], targets[held_out]
            inputs, targets = inputs[~held_out], targets[~held_out]
        else:
            known = np.searchsorted(self.classes_, validation[1])
            unseen = stacked(validation[0]), torch.from_numpy(known)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            self._train_networks(inputs, targets, unseen)
        return self

    def _train_networks(self, inputs: Tensor, targets: Tensor, unseen: tuple[Tensor, Tensor]) -> None:
        """Train networks until one has a lower validation loss than the class frequencies; keep the best one."""
        frequencies = torch.bincount(targets, minlength=len(self.classes_)) / len(targets)
        baseline_loss = float(functional.nll_loss(frequencies.log().expand(len(unseen[1]), -1), unseen[1]))
        best_loss, self.gradient_steps_ = float("inf"), 0
        for _ in range(self.training.tries):
            network = self.build(inputs, len(self.classes_))
            self.gradient_steps_ += train(network, inputs, targets, unseen, self.training)
            loss = validation_loss(network, unseen)
            loss = float("inf") if math.isnan(loss) else loss
            if loss <= best_loss:
                best_loss, self.network_ = loss, network
            if loss < baseline_loss:
                break

    def predict(self, X: Examples) -> Labels:
        predictions: Labels = self.classes_[logits_of(self.network_, stacked(X)).argmax(1).numpy()]
        return predictions

    @property
    def parameters(self) -> int:
        """Number of parameters of the network."""
        return sum(parameter.numel() for parameter in self.network_.parameters())


def stacked(X: Examples) -> Tensor:
    """All columns as one tensor: `(n, column)` for facts, `(n, column, …)` for images of one shape."""
    columns = [readable(column, torch.float32, torch.device("cpu")) for _, column in X.items()]
    tensor = torch.stack(columns, 1)
    return tensor.squeeze(-1) if tensor.ndim == 3 and tensor.shape[-1] == 1 else tensor


def train(
    network: nn.Module, inputs: Tensor, targets: Tensor, unseen: tuple[Tensor, Tensor], training: Training
) -> int:
    """Train a network, and return the number of gradient steps.

    The weights of the epoch with the lowest validation loss are kept; with `one_cycle` those of the last epoch, at whose
    end the learning rate is 0.
    """
    count = max(1, -(-len(inputs) // training.batch_size))
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=training.learning_rate, weight_decay=training.weight_decay, fused=True
    )
    schedule = None
    if training.one_cycle:
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, training.learning_rate, total_steps=training.epochs * count
        )
    best_loss, best_weights = float("inf"), None
    for _ in range(training.epochs):
        network.train()
        for rows in torch.randperm(len(inputs)).tensor_split(count):
            optimizer.zero_grad()
            loss_of(network, augmented(inputs[rows], training.shift, training.warp), targets[rows]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if schedule is not None:
                schedule.step()
        if schedule is None:
            loss = validation_loss(network, unseen)
            if loss < best_loss:
                best_loss, best_weights = loss, copy.deepcopy(network.state_dict())
    if best_weights is not None:
        network.load_state_dict(best_weights)
    return training.epochs * count


def loss_of(network: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """The training loss: a soft tree has its own, other networks have cross-entropy."""
    if isinstance(network, SoftTree):
        return network.loss(inputs, targets)
    return functional.cross_entropy(network(inputs), targets)


def validation_loss(network: nn.Module, unseen: tuple[Tensor, Tensor]) -> float:
    """Cross-entropy of a network on the inputs and targets of the validation split, in nats."""
    return float(functional.cross_entropy(logits_of(network, unseen[0]), unseen[1]))


def logits_of(network: nn.Module, inputs: Tensor, block: int = 1000) -> Tensor:
    network.eval()
    with torch.inference_mode():
        return torch.cat([network(part) for part in torch.split(inputs, block)])


def augmented(images: Tensor, shift: int, warp: float) -> Tensor:
    """Images under random affine maps, one per image: shifts of up to `shift` pixels, other coefficients of up to `warp`."""
    if not shift and not warp:
        return images
    height, width = images.shape[-2:]
    flat = images.reshape(-1, images[0, 0].numel() // (height * width), height, width)
    maps = torch.eye(2, 3).repeat(len(flat), 1, 1)
    maps[:, :, :2] += warp * (2.0 * torch.rand(len(flat), 2, 2) - 1.0)
    maps[:, :, 2] = torch.randint(-shift, shift + 1, (len(flat), 2)) * 2.0 / torch.tensor([width, height])
    grid = functional.affine_grid(maps, list(flat.shape), align_corners=False)
    return functional.grid_sample(flat, grid, align_corners=False).reshape(images.shape)


# UCI -------------------------------------------------------------------------------------------------


class ColumnNets(nn.Module):
    """One LeNet per column, as grouped convolutions: `(n, column, 28, 28)` to `(n, column · outputs)`."""

    def __init__(self, columns: int, outputs: int) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(columns, 6 * columns, 5, groups=columns),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Conv2d(6 * columns, 16 * columns, 5, groups=columns),
            nn.MaxPool2d(2),
            nn.ReLU(),
        ).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.layers = nn.Sequential(
            ColumnLinear(columns, 256, 120),
            nn.ReLU(),
            ColumnLinear(columns, 120, 84),
            nn.ReLU(),
            ColumnLinear(columns, 84, outputs),
        )

    def forward(self, images: Tensor) -> Tensor:
        features = self.convolutions(images.contiguous(memory_format=torch.channels_last))
        columns = images.shape[1]
        outputs = self.layers(features.reshape(len(images), columns, -1).transpose(0, 1))  # (column, n, outputs)
        # No softmax here: with one, the inputs of the layers above often differ so little that training does not leave the start.
        flat: Tensor = outputs.transpose(0, 1).flatten(1)
        return flat


class ColumnLinear(nn.Module):
    """One linear layer per column: `(column, n, inputs)` to `(column, n, outputs)`."""

    def __init__(self, columns: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(columns, inputs, outputs).uniform_(-1, 1) / inputs**0.5)
        self.bias = nn.Parameter(torch.empty(columns, 1, outputs).uniform_(-1, 1) / inputs**0.5)

    def forward(self, x: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, x, self.weight)


def mlp(layers: int, width: int) -> Callable[[Tensor, int], nn.Module]:
    """TabSurvey's network: hidden layers of equal width; where columns are images, each has a LeNet with 2 outputs."""

    def build(inputs: Tensor, classes: int) -> nn.Module:
        columns = inputs.shape[1]
        networks, features = ([ColumnNets(columns, 2)], 2 * columns) if inputs.ndim > 2 else ([], columns)
        return nn.Sequential(*networks, dense([features, *[width] * layers, classes]))

    return build


def dense(sizes: Sequence[int], dropout: float = 0.0) -> nn.Sequential:
    """Linear layers of these sizes with a ReLU between any two."""
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes[:-1]):
        layers += [nn.Linear(before, after), nn.ReLU(), *([nn.Dropout(dropout)] if dropout else [])]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


class SymbolTree:
    """scikit-learn's decision tree on facts; its depth and pruning are chosen by cross-validation."""

    def __init__(self, random_state: int = 0) -> None:
        grid = {"max_depth": [2, 3, 4, 6, 8, 12, None], "ccp_alpha": [0.0, 1e-3, 3e-3, 1e-2, 3e-2]}
        tree = DecisionTreeClassifier(criterion="entropy", random_state=random_state)
        # Tables are sorted, so folds are shuffled: otherwise each would lack some kinds of rows.
        self.search = GridSearchCV(tree, grid, cv=StratifiedKFold(5, shuffle=True, random_state=random_state))

    def fit(self, X: Examples, y: Labels, *, validation: Labelled | None = None) -> Self:  # noqa: ARG002 - needs none
        self.search.fit(stacked(X).numpy(), y)
        return self

    def predict(self, X: Examples) -> Labels:
        predictions: Labels = self.search.predict(stacked(X).numpy())
        return predictions


# Eleusis ---------------------------------------------------------------------------------------------


class Windows(nn.Module):
    """Encoders and a decoder for windows of cards, `(n, column, c, 28, 28)`; `shared` names the encoder of each column."""

    def __init__(self, encoders: Sequence[nn.Module], shared: Sequence[int], decoder: nn.Module) -> None:
        super().__init__()
        self.encoders, self.shared, self.decoder = nn.ModuleList(encoders), tuple(shared), decoder
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, windows: Tensor) -> Tensor:
        columns = [column.contiguous(memory_format=torch.channels_last) for column in windows.unbind(1)]
        encoded = [self.encoders[index](column) for index, column in zip(self.shared, columns, strict=True)]
        logits: Tensor = self.decoder(torch.cat(encoded, 1))
        return logits


def large(encoder: Sequence[int], decoder: Sequence[int]) -> Callable[[Tensor, int], nn.Module]:
    """The paper's network: for each image an encoder of its own, three layers on the latent space of a LeNet."""

    def build(inputs: Tensor, classes: int) -> nn.Module:
        columns, channels = inputs.shape[1], inputs.shape[2]
        encoders = [
            nn.Sequential(lenet_convolutions(channels), dense([256, *encoder]), nn.ReLU()) for _ in range(columns)
        ]
        return Windows(encoders, range(columns), dense([columns * encoder[-1], *decoder, classes]))

    return build


def lenet_convolutions(channels: int, filters: tuple[int, int] = (6, 16), normalised: bool = False) -> nn.Sequential:
    """The convolutions of a LeNet, or of a wider one: `(n, c, 28, 28)` to a latent space of 16 numbers a filter."""
    layers: list[nn.Module] = []
    for before, after in pairwise((channels, *filters)):
        norm = [nn.BatchNorm2d(after)] if normalised else []
        layers += [nn.Conv2d(before, after, 5), *norm, nn.MaxPool2d(2), nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten())


def lean(width: int, dropout: float) -> Callable[[Tensor, int], nn.Module]:
    """A small network with shared encoders: one encoder for suits and one for ranks, and a small decoder.

    Columns come in the order suit, rank, suit, rank, so that every second one has the same encoder.
    """

    def build(inputs: Tensor, classes: int) -> nn.Module:
        columns, channels = inputs.shape[1], inputs.shape[2]
        encoders = [
            nn.Sequential(lenet_convolutions(channels, (16, 32), normalised=True), dense([512, 128, width]), nn.ReLU())
            for _ in range(2)
        ]
        return Windows(encoders, [i % 2 for i in range(columns)], dense([columns * width, 128, 64, classes], dropout))

    return build


# Soft trees ------------------------------------------------------------------------------------------


class SoftTree(nn.Module):
    """A soft decision tree on pixels (Frosst and Hinton, 2017), a full binary tree of this depth.

    Inner nodes go right with probability sigmoid(β (w·x + b)); leaves hold a distribution over the classes.
    """

    def __init__(self, pixels: int, classes: int, depth: int, balance: float) -> None:
        super().__init__()
        self.depth, self.balance = depth, balance
        self.gate = nn.Linear(pixels, 2**depth - 1)
        self.beta = nn.Parameter(torch.ones(2**depth - 1))
        self.leaves = nn.Parameter(torch.zeros(2**depth, classes).normal_(0, 0.1))

    def reach(self, inputs: Tensor) -> tuple[list[Tensor], Tensor]:
        """P(node | x), one tensor `(n, node)` a level with the leaves last, and P(right | node, x) of all inner nodes."""
        right = torch.sigmoid(self.beta * self.gate(inputs.flatten(1)))
        levels = [inputs.new_ones(len(inputs), 1)]
        for depth in range(self.depth):
            here = right[:, 2**depth - 1 : 2 ** (depth + 1) - 1]
            levels.append(torch.stack((levels[-1] * (1 - here), levels[-1] * here), 2).flatten(1))
        return levels, right

    def forward(self, inputs: Tensor) -> Tensor:
        """log P(class | x), over all leaves."""
        levels, _ = self.reach(inputs)
        return torch.log(levels[-1] @ torch.softmax(self.leaves, 1) + 1e-12)

    def loss(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Every leaf's cross-entropy weighted by the probability of its path, and a penalty for unbalanced gates."""
        levels, right = self.reach(inputs)
        cross_entropy = -torch.log_softmax(self.leaves, 1).T[targets]  # (n, leaf)
        loss = (levels[-1] * cross_entropy).sum(1).mean()
        for depth, reached in enumerate(levels[:-1]):
            here = right[:, 2**depth - 1 : 2 ** (depth + 1) - 1]
            mean_right = ((reached * here).sum(0) / reached.sum(0).clamp_min(1e-9)).clamp(1e-6, 1 - 1e-6)
            penalty = self.balance * 2.0**-depth
            loss = loss - penalty * 0.5 * (torch.log(mean_right) + torch.log(1 - mean_right)).sum()
        return loss


def soft(depth: int, balance: float) -> Callable[[Tensor, int], nn.Module]:
    return lambda inputs, classes: SoftTree(inputs[0].numel(), classes, depth, balance)
