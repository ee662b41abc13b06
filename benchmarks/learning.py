"""Times of training: tests against plain torch loops, whole fits against baseline networks."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from joblib import Parallel, delayed
from torch import nn

from benchmarks.gt_rank import PROGRAM
from benchmarks.small_networks import Foreign, images, lenet
from benchmarks.timing import Row, faster, interleaved, no_slower, seconds_of, skipped
from neuid3 import Examples, NeuID3Classifier
from neuid3.circuits.conjunctions import factorise
from neuid3.logic.formula import NeuralVariable, sources
from neuid3.logic.program import Program
from neuid3.networks.defaults import LeNet
from neuid3.training.config import PAPER_TRAINING, TrainingConfig
from neuid3.training.halving import restart_groups
from neuid3.training.parallel.pool import WorkerPool
from neuid3.training.task import NetworkOutput, Restart, Task
from neuid3.training.threads import one_thread
from neuid3.training.trainer import BatchedTrainer, advance
from neuid3.tree.criteria import ClassCriterion, Target

Labels = npt.NDArray[Any]

WORKERS = 2

# The baseline of 44 million parameters takes minutes in all; its first epoch is measured, and this many more, which are scaled.
MEASURED_EPOCHS = 5
BASELINE_EPOCHS = 50
CONCEPT = "hidden_order_simple"


# One test -------------------------------------------------------------------------------------------


def _task(
    atom: str,
    program: str,
    columns: dict[str, Any],
    labels: Labels,
    network: nn.Module,
    recipe: TrainingConfig,
    seed: int = 0,
) -> Task:
    """A test at the root of a tree, all of whose examples are trained on."""
    read = Program(program, Examples(columns).schema)
    formula = read.formula(atom)
    variables = [source for source in sources(formula) if isinstance(source, NeuralVariable)]
    declared = {variable: read.declarations[variable.declaration] for variable in variables}
    return Task(
        factorise([formula], [[(0, True)], [(0, False)]]),
        {
            v: NetworkOutput(v.network, v.inputs, declaration.width, declaration.values is None)
            for v, declaration in declared.items()
        },
        {},
        columns,
        Target(labels, np.ones(len(labels)), ClassCriterion(2)),
        np.zeros(len(labels), dtype=bool),
        ({variables[0].network: network},),
        recipe,
        seed,
    )


class _Pairs:
    """Pairs of images with labels, and an epoch of training on them by us, without logic, and in DeepProbLog."""

    def __init__(self, pairs: int, foreign: bool = False) -> None:
        self.images = images("ab", pairs)
        self.labels = torch.randint(0, 2, (pairs,), generator=torch.Generator().manual_seed(2))
        columns = {name: image.numpy() for name, image in self.images.items()}
        self.task = _task(
            "gt_rank(a, b)",
            PROGRAM,
            columns,
            self.labels.numpy(),
            Foreign(lenet()) if foreign else lenet(),
            PAPER_TRAINING,
        )
        self.network = lenet()
        self.optimizer = torch.optim.Adam(self.network.parameters(), PAPER_TRAINING.learning_rate)

    def ours(self) -> None:
        with torch.random.fork_rng(devices=[]):
            BatchedTrainer([Restart(self.task, 0)]).advance(1 / PAPER_TRAINING.epochs)

    def bare(self) -> None:
        for rows in torch.randperm(len(self.labels)).split(PAPER_TRAINING.batch_size):
            self.optimizer.zero_grad()
            left, right = (self.network(image[rows]) for image in self.images.values())
            probabilities = (left * right).gather(1, self.labels[rows].unsqueeze(1)).clamp_min(1e-12)
            (-probabilities.log().mean()).backward()
            self.optimizer.step()

    def deepproblog(self, pairs: int) -> Callable[[], None]:
        """An epoch on the first pairs; rules are compiled before, once for all batches."""
        from benchmarks.deepproblog_rows import deepproblog_step

        batches = torch.arange(pairs).split(PAPER_TRAINING.batch_size)
        steps = [
            deepproblog_step(
                PROGRAM,
                "gt_rank",
                "rank_net",
                self.network,
                {name: image[rows] for name, image in self.images.items()},
                self.labels[rows],
                cache=True,
            )
            for rows in batches
        ]

        def epoch() -> None:
            for step in steps:
                step()
                self.optimizer.step()

        return epoch


def one_test(quick: bool) -> Iterator[Row]:
    """One epoch of training gt_rank, batches of 32, against the loop that trains the same network with no logic."""
    for name, foreign in (("training_vs_torch", False), ("training_vs_torch/own_module", True)):
        pairs = _Pairs(64 if quick else 1000, foreign)
        with one_thread():
            seconds = interleaved({"ours": pairs.ours, "bare": pairs.bare}, rounds=1 if quick else 9, warmup=1)
        size = {"pairs": len(pairs.labels), "batch": PAPER_TRAINING.batch_size}
        yield no_slower(name, seconds["ours"], seconds["bare"], 1.1, **size)


def against_deepproblog(quick: bool) -> Iterator[Row]:
    """The same epoch in DeepProbLog 2.1, on a part of the pairs, scaled up."""
    pairs, few = _Pairs(64 if quick else 1000), 32 if quick else 96
    theirs = pairs.deepproblog(few)
    with one_thread():
        seconds = interleaved({"ours": pairs.ours, "theirs": theirs}, rounds=1 if quick else 3, warmup=1)
    scale = len(pairs.labels) / few
    note = f"other: measured on {few} pairs and multiplied by {scale:.3g}; batching and cache on"
    size = {"pairs": len(pairs.labels), "batch": PAPER_TRAINING.batch_size}
    yield faster("training_vs_deepproblog", seconds["ours"], seconds["theirs"] * scale, 70, **size, note=note)


# The candidates of a node ---------------------------------------------------------------------------


def candidates(quick: bool) -> Iterator[Row]:
    """The networks of one node, each on an image of its own, by two workers; against plain torch, one by one."""
    count, n, epochs = (4, 64, 1) if quick else (34, 322, 20)
    recipe = replace(PAPER_TRAINING, epochs=epochs)
    labels = np.random.default_rng(0).integers(0, 2, n)
    pictures = {f"x{i}": image.numpy() for i, image in enumerate(images([str(i) for i in range(count)], n).values())}
    tasks = []
    for i, (name, picture) in enumerate(pictures.items()):
        torch.manual_seed(i)
        tasks.append(_task(f"f({name})", "nn(net, [I]) :: f(I).", {name: picture}, labels, LeNet(1), recipe, i))
    groups = list(restart_groups([Restart(task, 0) for task in tasks]))

    def ours() -> None:
        parallel(delayed(advance)(group, 1.0) for group in groups)

    _start_workers()
    with Parallel(n_jobs=WORKERS) as parallel, one_thread():
        seconds = interleaved(
            {"ours": ours, "theirs": lambda: _one_by_one(list(pictures.values()), labels, epochs)},
            rounds=1 if quick else 3,
            warmup=0,
        )
    more = {"candidates": count, "images": n, "epochs": epochs, "batch": PAPER_TRAINING.batch_size, "workers": WORKERS}
    note = "other: plain torch modules and Adam, one thread"
    yield faster("candidates_vs_one_by_one", seconds["ours"], seconds["theirs"], 3.5, **more, note=note)


def _one_by_one(pictures: Sequence[npt.NDArray[np.float32]], labels: Labels, epochs: int) -> None:
    targets = torch.from_numpy(labels).float().unsqueeze(1)
    for picture in pictures:
        inputs, network = torch.from_numpy(picture), LeNet(1)
        optimizer = torch.optim.Adam(network.parameters(), PAPER_TRAINING.learning_rate)
        for _ in range(epochs):
            for rows in torch.randperm(len(inputs)).split(PAPER_TRAINING.batch_size):
                optimizer.zero_grad()
                nn.functional.binary_cross_entropy(network(inputs[rows]), targets[rows]).backward()
                optimizer.step()


# Whole fits -----------------------------------------------------------------------------------------


def wine_as_images(times: int = 1, seed: int = 0) -> tuple[Examples, Labels]:
    """The wine table, above or below each column's median, every 1 and 0 an image of a handwritten 1 or 0.

    `times`: number of copies of each row, with other images.
    """
    from sklearn.datasets import load_digits, load_wine

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
        self.column_networks = nn.ModuleList(LeNet(2) for _ in range(columns))
        layers: list[nn.Module] = [nn.Linear(2 * columns, 47), nn.ReLU()]
        for _ in range(3):
            layers += [nn.Linear(47, 47), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(47, 2))

    def forward(self, images: Sequence[torch.Tensor]) -> torch.Tensor:
        logits: torch.Tensor = self.layers(
            torch.cat([network(image) for network, image in zip(self.column_networks, images, strict=True)], 1)
        )
        return logits


def _train_perceptron(pictures: Sequence[torch.Tensor], labels: torch.Tensor, epochs: int) -> None:
    network = _Perceptron(len(pictures))
    optimizer = torch.optim.Adam(network.parameters(), 8.4e-4)
    for _ in range(epochs):
        for rows in torch.randperm(len(labels)).split(32):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(network([picture[rows] for picture in pictures]), labels[rows])
            loss.backward()
            optimizer.step()


def tables(quick: bool) -> Iterator[Row]:
    """Whole fits of tables as images against the paper's network, 50 epochs, in plain torch."""
    for name in ("wine", "dermatology"):
        if name == "wine" and not _has_data():
            yield _table("fit_wine_vs_network", *wine_as_images(), quick, data="scikit-learn's wine and digits")
        elif not _has_data():
            yield skipped(f"fit_{name}_vs_network", "NEUID3_DATA names no folder with UCI tables")
        else:
            from experiments.datasets import uci_fold

            X, y = uci_fold(name, "mnist", 0).train
            yield _table(f"fit_{name}_vs_network", X, y, quick, data=f"UCI {name} and MNIST, fold 0")


def _table(row: str, X: Examples, y: Labels, quick: bool, data: str) -> Row:
    from neuid3.tree.network_evidence import readable

    X = X.select(X.names[:2]) if quick else X
    how: dict[str, Any] = (
        {"max_depth": 1, "training": TrainingConfig(epochs=1, restarts=1)} if quick else {"max_depth": 8}
    )
    _start_workers()
    ours = seconds_of(lambda: _fit(NeuID3Classifier(**how, n_jobs=WORKERS, random_state=0), X, y))
    pictures = [readable(column, torch.float32, torch.device("cpu")) for _, column in X.items()]
    labels = torch.from_numpy(np.unique(y, return_inverse=True)[1])
    epochs = 1 if quick else BASELINE_EPOCHS
    other = _faster_of_one_and_all_threads(lambda: seconds_of(lambda: _train_perceptron(pictures, labels, epochs)))
    more = {"rows": len(y), "columns": X.shape[1], "epochs": epochs, "data": data, "workers": WORKERS}
    return no_slower(row, ours, other, 0.5, **more, note="other: the faster of one thread and all of them")


def eleusis(quick: bool) -> Iterator[Row]:
    """A hidden concept of cards from the union pool, against the network of 44 million parameters."""
    name = "fit_eleusis_vs_44m"
    if not _has_data():
        yield skipped(name, "NEUID3_DATA names no folder with MNIST and EMNIST letters")
        return
    from experiments import baselines, settings
    from experiments.configuration import classifier
    from experiments.datasets import POOL_BACKGROUND, pool
    from experiments.datasets import eleusis as windows_of

    windows, tests = windows_of(CONCEPT, 0), list(pool(CONCEPT, "union"))
    (X, y), validation = windows.train, windows.validation
    how: dict[str, Any] = dict(settings.ELEUSIS_TREE["default"])
    measured = MEASURED_EPOCHS
    if quick:
        X, y, tests, measured = X[:100], y[:100], tests[:2], 1
        how |= {"max_depth": 1, "epochs": 1, "restarts": 1}
    tree = classifier(how, background=POOL_BACKGROUND, tests=tests, n_jobs=WORKERS, random_state=0)
    _start_workers()
    ours = seconds_of(lambda: _fit(tree, X, y, validation=validation))
    shape = {"encoder": (16, 8), "decoder": (8,)} if quick else settings.LARGE

    def network(epochs: int) -> float:
        training = baselines.Training(**{**settings.LARGE_TRAINING, "epochs": epochs})
        learner = baselines.NetworkClassifier(baselines.large(**shape), training)
        return seconds_of(lambda: learner.fit(X, y, validation=validation))

    def scaled() -> float:
        """Time of all epochs: the first one with its preparation, and the mean of the measured others for the rest."""
        first = network(1)
        return first + (network(1 + measured) - first) / measured * (BASELINE_EPOCHS - 1)

    other = _faster_of_one_and_all_threads(scaled)
    more = {"concept": CONCEPT, "tests": len(tests), "examples": len(y), "workers": WORKERS}
    note = (
        f"other: its first epoch and {measured} more measured, scaled to {BASELINE_EPOCHS}, each evaluated on the validation "
        "windows; the faster of one thread and all of them"
    )
    yield no_slower(name, ours, other, 0.5, **more, note=note)


def workers(quick: bool) -> Iterator[Row]:
    """The candidates of one node by one worker and by two."""
    X, y = wine_as_images(times=1 if quick else 6)
    X = X.select(X.names[:2]) if quick else X
    training = TrainingConfig(joint_epochs=0, epochs=1, restarts=1) if quick else TrainingConfig(joint_epochs=0)

    def fit(jobs: int) -> None:
        _fit(NeuID3Classifier(training=training, max_depth=1, n_jobs=jobs, random_state=0), X, y)

    _start_workers()
    seconds = interleaved({"two": lambda: fit(2), "one": lambda: fit(1)}, rounds=1 if quick else 3, warmup=0)
    yield faster("two_workers_vs_one", seconds["two"], seconds["one"], 1.6, columns=X.shape[1], rows=len(y))


def _start_workers() -> None:
    """Let the workers load torch, as this process has done for the baselines, so that no row includes the time."""
    groups = restart_groups([Restart(_Pairs(4).task, 0)] * WORKERS)
    with WorkerPool(WORKERS) as workers:  # joblib keeps them for the next pool of the same kind
        list(workers(delayed(advance)(group, 0.01) for group in groups))


def _faster_of_one_and_all_threads(seconds: Callable[[], float]) -> float:
    """The seconds of a plain torch loop, on one thread or on all, whichever is faster."""
    with one_thread():
        alone = seconds()
    return min(alone, seconds()) if torch.get_num_threads() > 1 else alone


def _has_data() -> bool:
    return bool(os.environ.get("NEUID3_DATA"))


def _fit(classifier: NeuID3Classifier, X: Examples, y: Labels, **more: Any) -> None:
    """Fit with warnings switched off."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier.fit(X, y, **more)
