"""What does learning cost? One test against a bare torch loop, a table of images against a network, two workers against one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from sklearn.datasets import load_digits, load_wine
from torch import nn

from benchmarks.networks import RANKS, LeNet, images, lenet
from benchmarks.timing import Row, faster, interleaved, no_slower, seconds_of
from neuid3 import Examples, NeuID3Classifier
from neuid3.circuit.factor import factorise
from neuid3.company import Company
from neuid3.logic.formula import NeuralVariable, sources
from neuid3.logic.program import Program
from neuid3.task import PAPER, Task, Trial, Use
from neuid3.train import one_thread

PAIRS = 1000
PROGRAM = (
    f"nn(rank_net, [X], Y, [{', '.join(map(str, range(RANKS)))}])::rank(X, Y).\n"
    "gt_rank(A, B) :- rank(A, X), rank(B, Y), X < Y.\n"
)


def one_test() -> Iterator[Row]:
    """One epoch of training gt_rank, batches of 32, against the loop that trains the same network with no logic."""
    columns = {name: image.numpy() for name, image in images("ab", PAIRS).items()}
    labels = torch.randint(0, 2, (PAIRS,), generator=torch.Generator().manual_seed(2))
    formula = Program(PROGRAM, Examples(columns).schema).formula("gt_rank(a, b)")
    variables = [source for source in sources(formula) if isinstance(source, NeuralVariable)]
    task = Task(
        factorise([formula], [[(0, True)], [(0, False)]]),
        {v: Use("rank_net", v.inputs, RANKS, False) for v in variables},
        {},
        columns,
        labels.numpy(),
        np.ones(PAIRS),
        np.zeros(PAIRS, dtype=bool),
        2,
        1,
        ({"rank_net": lenet()},),
        PAPER,
        0,
    )
    bare = _Bare(columns, labels)

    def ours() -> None:
        with torch.random.fork_rng(devices=[]):
            Company([Trial(task, 0)]).advance(1 / PAPER.epochs)

    with one_thread():
        seconds = interleaved({"ours": ours, "bare": bare.epoch}, rounds=5, warmup=1)
    yield no_slower("training_vs_torch", seconds["ours"], seconds["bare"], 1.2, pairs=PAIRS, batch=PAPER.batch_size)


class _Bare:
    """The same network, images and batches, trained to tell the label from either image: no logic at all."""

    def __init__(self, columns: dict[str, np.ndarray], labels: torch.Tensor) -> None:
        self.images = [torch.from_numpy(column) for column in columns.values()]
        self.labels = labels
        self.network: LeNet = lenet()
        self.optimizer = torch.optim.Adam(self.network.parameters(), 1e-3)

    def epoch(self) -> None:
        for rows in torch.randperm(len(self.labels)).split(PAPER.batch_size):
            self.optimizer.zero_grad()
            left, right = (self.network(image[rows]) for image in self.images)
            found = (left * right).gather(1, self.labels[rows].unsqueeze(1)).clamp_min(1e-12)
            (-found.log().mean()).backward()
            self.optimizer.step()


def wine_as_images(seed: int = 0, times: int = 1) -> tuple[Examples, np.ndarray]:
    """The wine table, above or below each column's median, every 1 and 0 an image of a handwritten 1 or 0.

    160 rows, met `times` times with other images.
    """
    wine, digits = load_wine(), load_digits()
    rng = np.random.default_rng(seed)
    rows = np.tile(rng.permutation(len(wine.target))[:160], times)
    table = (wine.data > np.median(wine.data, axis=0))[rows]
    pools = [np.flatnonzero(digits.target == digit) for digit in (0, 1)]
    large = np.zeros((len(digits.images), 1, 28, 28), dtype=np.float32)
    large[:, 0, 2:26, 2:26] = np.kron(digits.images / 16, np.ones((1, 3, 3)))
    columns = {
        f"x{i}": large[np.where(column, rng.choice(pools[1], len(rows)), rng.choice(pools[0], len(rows)))]
        for i, column in enumerate(table.T)
    }
    return Examples(columns), (wine.target[rows] == 1).astype(np.int64)


class _Perceptron(nn.Module):
    """The paper's baseline: an MNIST network with two outputs for each column, then four layers of 47."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.eyes = nn.ModuleList(LeNet(2) for _ in range(columns))
        layers: list[nn.Module] = [nn.Linear(2 * columns, 47), nn.ReLU()]
        for _ in range(3):
            layers += [nn.Linear(47, 47), nn.ReLU()]
        self.think = nn.Sequential(*layers, nn.Linear(47, 2))

    def forward(self, images: list[torch.Tensor]) -> torch.Tensor:
        return self.think(torch.cat([eye(image) for eye, image in zip(self.eyes, images, strict=True)], 1))


def _train_perceptron(X: Examples, y: np.ndarray, epochs: int = 50) -> None:
    pictures = [torch.from_numpy(column.values.copy()) for _, column in X.items()]
    labels = torch.from_numpy(y)
    network = _Perceptron(len(pictures))
    optimizer = torch.optim.Adam(network.parameters(), 8.4e-4)
    for _ in range(epochs):
        for rows in torch.randperm(len(labels)).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network([picture[rows] for picture in pictures]), labels[rows]).backward()
            optimizer.step()


def wine() -> Iterator[Row]:
    """A whole fit of wine as images against the paper's network, 50 epochs."""
    X, y = wine_as_images()
    ours = seconds_of(lambda: NeuID3Classifier(max_depth=4, n_jobs=2, random_state=0).fit(X, y))
    other = seconds_of(lambda: _train_perceptron(X, y))
    yield no_slower("fit_wine_vs_network", ours, other, 1.0, rows=len(y), columns=X.shape[1])


def workers() -> Iterator[Row]:
    """The candidates of one node by one worker and by two."""
    X, y = wine_as_images(times=6)

    def fit(jobs: int) -> None:
        NeuID3Classifier(max_depth=1, joint_epochs=0, n_jobs=jobs, random_state=0).fit(X, y)

    fit(2)  # the workers' own start is paid once a session
    seconds = interleaved({"two": lambda: fit(2), "one": lambda: fit(1)}, rounds=3, warmup=0)
    yield faster("two_workers_vs_one", seconds["two"], seconds["one"], 1.6, columns=13, rows=len(y))
