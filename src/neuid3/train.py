"""How are the networks of a test trained, at the node where it is asked?"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from neuid3.circuit.factor import Factored
from neuid3.errors import NetworkError
from neuid3.infer import FLOOR, Reach
from neuid3.infer.evidence import as_tensor, check_output, dtype_of, run_network
from neuid3.logic.formula import Variable
from neuid3.score import information_gain

Floats = npt.NDArray[Any]

# Networks take the easiest cue first and stay in the saddle it leads to. A restart that is to learn shapes sees no
# colour for this share of its steps (then more and more), and nothing is moved about before the saddle is left.
COLOUR_FROM, SHIFT_FROM = 0.4, 0.25


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a test is trained. The defaults were measured; `PAPER` is the paper's own.

    `loss`: "branches" wants one class on each side of the test (the paper's weighted cross-entropy), "leaves" is
    the likelihood of a tree of this one test, whose two leaf distributions are learned along.
    `restarts` differ in which class the test is to be true for, and in whether colour is seen from the start;
    the better ones go on (see `tournament`). `shift` moves images by up to that many pixels.
    """

    loss: Literal["leaves", "branches"] = "leaves"
    epochs: int = 30
    batch_size: int = 64
    learning_rate: float = 3e-3
    one_cycle: bool = True
    weight_decay: float = 0.01
    shift: int = 2
    restarts: int = 4
    joint_epochs: int = 15
    joint_learning_rate: float = 1e-3


PAPER = Recipe("branches", 20, 32, 1e-3, False, 0.0, 0, 1, 0)


@dataclass(frozen=True, slots=True)
class Use:
    """A network looks at columns, and what it returns is a variable of the circuit."""

    network: str
    inputs: tuple[str, ...]
    width: int
    is_fact: bool


@dataclass(frozen=True, slots=True)
class Manner:
    """In what a restart differs: whether the test is to be true for the other class, and whether colour comes late."""

    flipped: bool = False
    grey: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Paths to be trained: everything a worker needs, and nothing it shares.

    For a test τ at a node κ the two paths are κ∧τ and κ∧¬τ, as far as κ shares variables with τ; for a whole tree they
    are its leaves. `fixed` holds the weights of variables that do not change, `(value, example)`; every other
    variable is in `uses`. `leaves` are the class probabilities to start from, one row a path, where they are known.
    """

    factored: Factored
    uses: Mapping[Variable, Use]
    fixed: Mapping[Variable, Floats]
    columns: Mapping[str, npt.NDArray[Any]]
    labels: npt.NDArray[np.int64]
    weights: Floats
    unseen: npt.NDArray[np.bool_]
    classes: int
    positive: int
    starts: tuple[Mapping[str, nn.Module], ...]
    recipe: Recipe
    seed: int
    device: str = "cpu"
    leaves: Floats | None = None
    manners: tuple[Manner, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """What training gave: networks, leaves, the score on unseen examples, the steps, and why it failed if it did."""

    networks: Mapping[str, nn.Module]
    leaves: Floats
    score: float
    steps: int
    failed: str | None = None


@contextmanager
def one_thread() -> Iterator[None]:
    """One torch thread inside: results then do not depend on the machine's cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """How far one restart of a task has come; enough to go on elsewhere."""

    networks: Mapping[str, nn.Module]
    leaves: torch.Tensor
    optimizer: dict[str, Any]
    schedule: dict[str, Any] | None
    random: torch.Tensor
    torch_random: torch.Tensor
    steps: int
    score: float
    failed: str | None


def advance(task: Task, number: int, state: State | None, share: float) -> State:
    """Train one restart of a task up to this share of its epochs, and judge it on unseen examples."""
    with one_thread(), torch.random.fork_rng(devices=[]):
        run = _Run(task, number, state)
        run.advance(share)
        run.score = run.gain()
        return run.state()


def finish(task: Task, number: int, state: State, steps: int) -> Trained:
    """What a restart that has run all its epochs gave."""
    with one_thread(), torch.random.fork_rng(devices=[]):
        return _Run(task, number, state).result(steps)


def train_jointly(task: Task) -> Trained:
    """Train all networks and leaves of a tree by its likelihood; the epoch that does best on unseen examples."""
    with one_thread(), torch.random.fork_rng(devices=[]):
        run = _Run(task, 0)
        run.score = run.likelihood()
        best = run.result(0)
        for epoch in range(1, task.recipe.epochs + 1):
            run.advance(epoch / task.recipe.epochs)
            run.score = run.likelihood()
            if run.failed is not None:
                break
            if run.score > best.score:
                best = run.result(run.steps)
        return best


class Look:
    """The paths' probabilities for rows of a task: networks run, variables weighed, circuits evaluated."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.reach = Reach(task.factored, torch.float32, task.device)
        self.fixed = {v: as_tensor(w).to(task.device, torch.float32) for v, w in task.fixed.items()}
        self.columns = {name: as_tensor(values).to(task.device) for name, values in task.columns.items()}

    def answer(self, networks: Mapping[str, nn.Module], rows: torch.Tensor, change: Any = None) -> torch.Tensor:
        """P(path | κ, e) as `(path, row)`."""
        glance = _Glance(self, networks, rows, change)
        sides = self.reach(glance).T
        return sides / sides.sum(0).clamp_min(1e-30)


class _Glance:
    """The weights of variables for some rows; each network runs once on each of its inputs."""

    def __init__(self, look: Look, networks: Mapping[str, nn.Module], rows: torch.Tensor, change: Any) -> None:
        self.look, self.networks, self.rows, self.change = look, networks, rows, change
        self.seen: dict[tuple[str, torch.dtype], torch.Tensor] = {}
        self.outputs: dict[tuple[str, tuple[str, ...]], torch.Tensor] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def weights(self, variable: Variable) -> torch.Tensor:
        use = self.look.task.uses.get(variable)
        if use is None:
            return self.look.fixed[variable][:, self.rows]
        out = self._output(use)
        return torch.stack((1.0 - out[:, 0], out[:, 0])) if use.is_fact else out.T

    def _output(self, use: Use) -> torch.Tensor:
        key = (use.network, use.inputs)
        if key not in self.outputs:
            dtype = dtype_of(self.networks[use.network])
            for name in use.inputs:
                if (name, dtype) not in self.seen:
                    self.seen[name, dtype] = _read(self.look.columns[name][self.rows], self.change).to(dtype)
            read = [self.seen[name, dtype] for name in use.inputs]
            output = run_network(self.networks[use.network], use.network, use.inputs, read)
            check_output(output, use.network, use.inputs, len(self.rows), use.width)
            self.outputs[key] = output.float()
        return self.outputs[key]


def _read(values: torch.Tensor, change: Any) -> torch.Tensor:
    scaled = values.float() / 255 if values.dtype == torch.uint8 else values.float()
    scaled = scaled.unsqueeze(1) if scaled.ndim == 1 else scaled
    return change(scaled) if change is not None and scaled.ndim >= 3 else scaled


class _Run:
    """One restart: its networks, its two leaves, its optimizer, and how far it has come."""

    def __init__(self, task: Task, number: int, state: State | None = None) -> None:
        self.task, self.recipe = task, task.recipe
        self.look = Look(task)
        start = task.starts[number] if state is None else state.networks
        self.networks = {name: copy.deepcopy(net).to(task.device) for name, net in start.items()}
        self.random = torch.Generator().manual_seed(task.seed * 1009 + number)
        if state is None:
            torch.manual_seed(task.seed * 1009 + number)
        else:
            torch.set_rng_state(state.torch_random)
        self.manner = task.manners[number] if task.manners else Manner()
        self.rate = self.recipe.learning_rate * (1.6 if self.manner.grey else 1.0)
        self.positive = 1 - task.positive if self.manner.flipped and task.classes == 2 else task.positive
        self.labels = torch.from_numpy(task.labels.copy()).to(task.device)
        self.weights = torch.from_numpy(task.weights.astype(np.float32)).to(task.device)
        seen = np.flatnonzero(~task.unseen & (task.weights > 0))
        self.rows = torch.from_numpy(seen)
        self.leaves = nn.Parameter(
            _first_leaves(task, self.positive, self.random).to(task.device)
        )  # (side, class) logits
        self.total = self.recipe.epochs * max(1, -(-len(seen) // self.recipe.batch_size))
        parameters = [p for net in self.networks.values() for p in net.parameters() if p.requires_grad]
        groups: list[dict[str, Any]] = [
            {"params": parameters},
            {"params": [self.leaves], "weight_decay": 0.0, "lr": 10 * self.rate},
        ]
        kind = torch.optim.AdamW if self.recipe.weight_decay else torch.optim.Adam
        self.optimizer = kind(groups, lr=self.rate, weight_decay=self.recipe.weight_decay)
        self.schedule = (
            torch.optim.lr_scheduler.OneCycleLR(
                self.optimizer, [g["lr"] for g in self.optimizer.param_groups], total_steps=self.total + 1
            )
            if self.recipe.one_cycle
            else None
        )
        self.branch_weights = _branch_weights(task)
        balance = self.branch_weights[(self.labels == task.positive).long()] if self.recipe.loss == "branches" else 1.0
        self.scale = float((self.weights * balance)[self.rows].mean()) if len(seen) else 1.0
        self.steps, self.score = 0, -np.inf
        self.failed: str | None = None
        if state is not None:
            self._resume(state)

    def _resume(self, state: State) -> None:
        with torch.no_grad():
            self.leaves.copy_(state.leaves)
        self.optimizer.load_state_dict(state.optimizer)
        if self.schedule is not None and state.schedule is not None:
            self.schedule.load_state_dict(state.schedule)
        self.random.set_state(state.random)
        self.steps, self.score, self.failed = state.steps, state.score, state.failed

    def state(self) -> State:
        """How far this run has come."""
        return State(
            self.networks,
            self.leaves.detach().clone(),
            self.optimizer.state_dict(),
            None if self.schedule is None else self.schedule.state_dict(),
            self.random.get_state(),
            torch.get_rng_state(),
            self.steps,
            self.score,
            self.failed,
        )

    def advance(self, share: float) -> None:
        """Train up to this share of all epochs."""
        goal = int(np.ceil(self.total * share))
        for net in self.networks.values():
            net.train()
        try:
            while self.steps < goal and len(self.rows):
                for rows in self._shuffled():
                    self._step(rows)
                    if self.steps >= goal:
                        break
        except NetworkError as error:
            self.failed = str(error)
            self.steps = self.total

    def _shuffled(self) -> tuple[torch.Tensor, ...]:
        order = torch.randperm(len(self.rows), generator=self.random)
        batches: tuple[torch.Tensor, ...] = torch.split(self.rows[order], self.recipe.batch_size)
        # A batch of one example has no variance, which batch normalisation cannot take.
        return batches[:-1] if len(batches) > 1 and len(batches[-1]) == 1 else batches

    def _step(self, rows: torch.Tensor) -> None:
        self.optimizer.zero_grad()
        sides = self.look.answer(self.networks, rows, self._change)
        loss = self._loss(sides, rows)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        if self.schedule is not None:
            self.schedule.step()
        self.steps += 1

    def _loss(self, sides: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        labels, weights = self.labels[rows], self.weights[rows]
        if self.recipe.loss == "branches":
            side = (labels != self.positive).long()  # the positive class belongs to τ
            chosen = sides.gather(0, side.unsqueeze(0))[0]
            weights = weights * self.branch_weights[(labels == self.task.positive).long()]
        else:
            leaves = torch.softmax(self.leaves, 1)  # (side, class)
            chosen = (sides * leaves[:, labels]).sum(0)
        # Divided by a constant, not by the weight of the batch: that would undo the balance of the classes.
        return -(weights * chosen.clamp_min(FLOOR).log()).sum() / (len(rows) * self.scale)

    def _change(self, images: torch.Tensor) -> torch.Tensor:
        """What training sees: no colour at first where the restart says so, and shifted images later on."""
        done = self.steps / self.total
        if self.manner.grey and images.ndim == 4 and images.shape[1] == 3:
            # The brightest channel: an average would leave red darker than white, and so still a cue.
            grey = torch.rand(len(images), 1, 1, 1, generator=self.random) < 1.0 - (done - COLOUR_FROM) / 0.2
            images = torch.where(grey, images.amax(1, keepdim=True).expand_as(images), images)
        late = self.task.leaves is not None or done > SHIFT_FROM
        return shifted(images, self.recipe.shift, self.random) if self.recipe.shift and late else images

    def answers(self, chosen: Floats | None = None) -> Floats:
        """P(path | κ, e) for these examples of the task, networks in `eval()` mode, `(path, example)`."""
        for net in self.networks.values():
            net.eval()
        rows = torch.arange(len(self.task.labels)) if chosen is None else torch.from_numpy(np.flatnonzero(chosen))
        with torch.no_grad():
            blocks = torch.split(rows, 2048)
            parts = [self.look.answer(self.networks, rows).cpu().numpy() for rows in blocks]
        return np.concatenate(parts, axis=1).astype(np.float64)

    def _judged(self) -> npt.NDArray[np.bool_]:
        unseen = self.task.unseen & (self.task.weights > 0)
        return unseen if bool(unseen.any()) else self.task.weights > 0

    def gain(self) -> float:
        """The information gain of the test on unseen examples."""
        if self.failed is not None:
            return -np.inf
        judged = self._judged()
        try:
            answers = self.answers(judged)[0]
        except NetworkError as error:
            self.failed = str(error)
            return -np.inf
        return gain_of(answers, self.task.weights[judged], self.task.labels[judged], self.task.classes)

    def likelihood(self) -> float:
        """The mean log-likelihood of unseen examples under these leaves."""
        if self.failed is not None:
            return -np.inf
        judged = self._judged()
        leaves = torch.softmax(self.leaves.detach(), 1).double().cpu().numpy()
        try:
            chosen = (self.answers(judged) * leaves[:, self.task.labels[judged]]).sum(0)
        except NetworkError as error:
            self.failed = str(error)
            return -np.inf
        logs = np.log(np.maximum(chosen, FLOOR))
        return float(np.average(logs, weights=self.task.weights[judged]))

    def result(self, steps: int) -> Trained:
        """What this run has come to, copied, so that it may go on."""
        leaves = torch.softmax(self.leaves.detach().double(), 1).cpu().numpy()
        networks = {name: copy.deepcopy(net).cpu() for name, net in self.networks.items()}
        return Trained(networks, leaves, self.score, steps, self.failed)


def _first_leaves(task: Task, positive: int, random: torch.Generator) -> torch.Tensor:
    """Leaf distributions to start from: the shares of the classes, tilted apart."""
    if task.leaves is not None:
        return torch.from_numpy(np.log(np.clip(task.leaves, 1e-4, None))).float()
    masses = np.bincount(task.labels, task.weights * ~task.unseen, task.classes) + 1e-3
    prior = torch.from_numpy(np.log(masses / masses.sum())).float()
    if task.classes == 2:
        tilt = torch.tensor([-1.0, -1.0])
        tilt[positive] = 1.0
    else:
        tilt = 2.0 * (torch.rand(task.classes, generator=random) < 0.5).float() - 1.0
    return torch.stack((prior + tilt, prior - tilt))


def _branch_weights(task: Task) -> torch.Tensor:
    """w_c = P(κ|e) / (2 · P(c|κ)): here the second factor, for the negative and the positive class."""
    seen = task.weights * ~task.unseen
    positive = float(seen[task.labels == task.positive].sum()) / max(float(seen.sum()), 1e-12)
    shares = np.clip(np.array([1.0 - positive, positive]), 1e-6, None)
    return torch.from_numpy(0.5 / shares).float()


def gain_of(answers: Floats, weights: Floats, labels: npt.NDArray[np.int64], classes: int) -> float:
    """The information gain of a test that is true with these probabilities."""
    yes = np.bincount(labels, weights * answers, classes)
    no = np.bincount(labels, weights * (1.0 - answers), classes)
    return float(information_gain(yes, no))


def shifted(images: torch.Tensor, most: int, random: torch.Generator) -> torch.Tensor:
    """Every image moved by up to `most` pixels in each direction; what moves in is empty."""
    n, (height, width) = len(images), images.shape[-2:]
    most = min(most, height // 8, width // 8)
    if most == 0:
        return images
    padded = nn.functional.pad(images, (most, most, most, most))
    down, right = torch.randint(0, 2 * most + 1, (2, n), generator=random)
    rows = down[:, None] + torch.arange(height)
    columns = right[:, None] + torch.arange(width)
    each = torch.arange(n)[:, None, None]
    if images.ndim == 3:
        return padded[each, rows[:, :, None], columns[:, None, :]]
    return padded.permute(0, 2, 3, 1)[each, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
