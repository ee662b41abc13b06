"""How are many restarts trained side by side?"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from neuid3.circuits.reach import Reach
from neuid3.errors import NetworkError
from neuid3.logic.formula import Variable
from neuid3.networks.adam import Adam, one_cycle
from neuid3.networks.augmentation import Augmentation, InputColumns
from neuid3.networks.groups import NetworkGroup, architecture, network_group
from neuid3.training.task import NetworkOutput, Restart, RestartState, RestartVariant, Task
from neuid3.tree.criteria import gain_of, gain_of_tests
from neuid3.tree.evidence import as_tensor, check_output, dtype_of, input_dtype, run_network
from neuid3.tree.loss import FLOOR

Floats = npt.NDArray[Any]
Outputs: TypeAlias = dict[tuple[int, str, tuple[str, ...]], torch.Tensor]  # of (restart, network, inputs)

# Networks take the easiest cue first and stay in the saddle it leads to. A restart that is to learn shapes sees no
# colour for this share of its steps (then more and more), and nothing is moved about before the saddle is left.
COLOUR_FROM, SHIFT_FROM = 0.4, 0.25

# How many examples all networks of a company look at in one go when nobody learns from it.
_BLOCK = 256

# How much of a running average of a network's outputs is left after another minibatch.
DECAY = 0.9


class _Average:
    """The weighted average of a network's outputs, without gradients; all values are as probable where there is none.

    In a row that misses what the network reads, its variable follows this average, in training as in prediction. No
    gradient goes through it: such a row is evidence about the images that it has, not about those that others have.
    """

    def __init__(self, sums: torch.Tensor) -> None:
        self.sums = sums  # of each value, and the weight of all

    def add(self, outputs: torch.Tensor, weights: torch.Tensor, decay: float = 1.0) -> None:
        """Count outputs `(row, value)` of so much weight, after what was counted before has decayed."""
        weights = weights.to(outputs.dtype)
        more = torch.cat((weights @ outputs.detach(), weights.sum()[None]))
        self.sums = decay * self.sums + more

    def value(self) -> torch.Tensor:
        total, width = self.sums[-1], len(self.sums) - 1
        return self.sums[:-1] / total if float(total) > 0 else torch.full_like(self.sums[:-1], 1.0 / max(width, 2))


class _Missing:
    """Which rows of a task lack what networks read, and which rows networks are shown in their place.

    The output there is not used. But networks of a batch run together, some of them with batch normalisation, so what they are
    shown is an entry of the same column from another training row.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.calls = {
            use.inputs: torch.from_numpy(~task.computable(use.inputs)).to(task.device)
            for use in task.uses.values()
            if not task.computable(use.inputs).all()
        }
        self.weights = as_tensor(task.weights).to(task.device)
        self.shown = {name: self._stand_ins(gone) for name, gone in task.missing.items()}

    def _stand_ins(self, gone: npt.NDArray[np.bool_]) -> torch.Tensor | None:
        """For each row one that has an entry of this column: itself, or another; None where no row has one."""
        present = np.flatnonzero(~gone & ~self.task.unseen)
        present = present if len(present) else np.flatnonzero(~gone)
        if not len(present):
            return None
        rows = np.arange(len(gone))
        rows[gone] = np.resize(present, int(gone.sum()))
        return torch.from_numpy(rows)

    def look(
        self, album: InputColumns, name: str, rows: torch.Tensor, to: torch.Tensor, change: Augmentation | None = None
    ) -> None:
        """Write these rows of a column to a tensor, with others in place of those that are missing."""
        if name not in self.shown:
            album.look(name, rows, to, change)
        elif (shown := self.shown[name]) is not None:
            album.look(name, shown[rows], to, change)
        else:
            to.zero_()


class _Actor:
    """One restart: in what it differs, and the order in which it sees the examples."""

    def __init__(self, trial: Restart) -> None:
        task, number = trial.task, trial.number
        self.trial, self.task = trial, task
        self.manner = task.manners[number] if task.manners else RestartVariant()
        self.positive = 1 - task.positive if self.manner.flipped and task.classes == 2 else task.positive
        self.random = torch.Generator().manual_seed(task.seed * 1009 + number)
        self.seen = torch.from_numpy(task.training_rows)
        self.judged = torch.from_numpy(task.validation_rows)
        self.leaves = _first_leaves(task, self.positive, self.random)
        self.networks = {n: copy.deepcopy(net).to(task.device) for n, net in trial.networks.items()}
        self.failed: str | None = None
        if trial.state is not None:
            self.random.set_state(trial.state.random)
            self.leaves, self.failed = trial.state.leaves, trial.state.failed
        before = {} if trial.state is None else trial.state.averages
        self.averages = {call: _Average(values.to(task.device)) for call, values in before.items()}

    def average(self, network: str, inputs: tuple[str, ...], like: torch.Tensor) -> _Average:
        """The running average of what a network returns on these columns."""
        call = (network, inputs)
        if call not in self.averages:
            self.averages[call] = _Average(like.new_zeros(like.shape[1] + 1))
        return self.averages[call]

    def uses(self, network: str) -> list[NetworkOutput]:
        """On what a network looks, each once."""
        found = {use.inputs: use for use in self.task.uses.values() if use.network == network}
        return list(found.values())

    def shuffled(self) -> torch.Tensor:
        return self.seen[torch.randperm(len(self.seen), generator=self.random)]

    def changes(self, album: InputColumns, batch: int, done: float) -> dict[str, Augmentation]:
        """How this restart sees each column of images now: no colour at first where it says so, and moved later on."""
        found = {}
        recipe = self.task.recipe
        late = self.task.leaves is not None or done > SHIFT_FROM
        for name in sorted(self.task.columns):
            grey = torch.zeros(batch, dtype=torch.bool)
            if self.manner.grey and album.has_colour(name):
                grey = torch.rand(batch, generator=self.random) < 1.0 - (done - COLOUR_FROM) / 0.2
            most = album.room(name, recipe.shift) if late else 0
            down, right = torch.randint(-most, most + 1, (2, batch), generator=self.random)
            found[name] = Augmentation(down, right, grey, self._warp(batch) if most and recipe.warp else None)
        return found

    def _warp(self, batch: int) -> torch.Tensor:
        """Slightly turned, stretched and slanted, each image in its own way."""
        most = self.task.recipe.warp
        return torch.eye(2) + most * (2.0 * torch.rand(batch, 2, 2, generator=self.random) - 1.0)

    def sight(self, batch: int, done: float) -> dict[str, Augmentation]:
        """How this restart sees each column when it is judged: as it has learned to."""
        change = Augmentation.none(batch)
        if self.manner.grey and done <= COLOUR_FROM:
            change = Augmentation(change.down, change.right, torch.ones(batch, dtype=torch.bool))
        return dict.fromkeys(self.task.columns, change)


class _Cast:
    """The restarts of one task: they share its circuits, its labels and its weights."""

    def __init__(self, task: Task, members: Sequence[int], actors: Sequence[_Actor]) -> None:
        self.task, self.members = task, members
        nets = [net for i in members for net in actors[i].networks.values()]
        self.dtype = torch.float64 if any(dtype_of(net) == torch.float64 for net in nets) else torch.float32
        self.reach = Reach(task.factored, self.dtype, task.device)
        self.fixed = {v: as_tensor(w).to(task.device, self.dtype) for v, w in task.fixed.items()}
        self.labels = torch.from_numpy(task.labels.copy()).to(task.device)
        self.weights = as_tensor(task.weights).to(task.device, self.dtype)
        self.leaves = torch.stack([actors[i].leaves for i in members]).to(task.device, self.dtype).requires_grad_()
        self.leaves.grad = torch.zeros_like(self.leaves)
        self.adam = Adam([self.leaves])
        for row, i in enumerate(members):
            before = actors[i].trial.state
            if before is not None:
                self.adam.resume(row, before.leaf_moments)
        self.positive = torch.tensor([actors[i].positive for i in members], device=task.device).unsqueeze(1)
        self.branch_weights = _branch_weights(task).to(task.device, self.dtype)
        balance = self._balance(self.labels) if task.recipe.loss == "branches" else torch.ones(1)
        seen = actors[members[0]].seen
        self.scale = float((self.weights * balance)[seen].mean()) if len(seen) else 1.0

    def _balance(self, labels: torch.Tensor) -> torch.Tensor:
        return self.branch_weights[(labels == self.task.positive).long()]

    def sides(self, outputs: Outputs, rows: torch.Tensor) -> torch.Tensor:
        """P(path | κ, e) as `(path, restart, row)`, all restarts through the circuits at once."""
        paths = self.reach(_Glance(self, outputs, rows)).T
        paths = paths / paths.sum(0).clamp_min(1e-30)
        return paths.view(len(paths), *rows.shape)

    def losses(self, sides: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """The loss of each restart on its rows, `(restart, row)`."""
        labels, weights = self.labels[rows], self.weights[rows]
        if self.task.recipe.loss == "branches":
            chosen = torch.where(labels == self.positive, sides[0], sides[1])  # the positive class belongs to τ
            weights = weights * self._balance(labels)
        else:
            leaves = torch.softmax(self.leaves, 2)  # (restart, side, class)
            each = torch.arange(len(rows), device=rows.device).unsqueeze(1)
            chosen = (sides * leaves[each, :, labels].permute(2, 0, 1)).sum(0)
        # Divided by a constant, not by the weight of the batch: that would undo the balance of the classes.
        return -(weights * chosen.clamp_min(FLOOR).log()).sum(1) / (rows.shape[1] * self.scale)


class _Glance:
    """The weights of variables for the rows of all restarts of a task, one restart after the other."""

    def __init__(self, cast: _Cast, outputs: Outputs, rows: torch.Tensor) -> None:
        self.cast, self.outputs, self.rows = cast, outputs, rows

    def __len__(self) -> int:
        return self.rows.numel()

    def weights(self, variable: Variable) -> torch.Tensor:
        use = self.cast.task.uses.get(variable)
        if use is None:
            return self.cast.fixed[variable][:, self.rows.flatten()]
        out = torch.cat([self.outputs[i, use.network, use.inputs] for i in self.cast.members]).to(self.cast.dtype)
        return torch.stack((1.0 - out[:, 0], out[:, 0])) if use.is_fact else out.T


@dataclass(frozen=True, slots=True, eq=False)
class _Ensemble:
    """Networks of one architecture with as many uses each: whose they are, and the stack that runs them."""

    members: list[tuple[int, str]]
    uses: list[list[NetworkOutput]]
    network_group: NetworkGroup
    adam: Adam


class BatchedTrainer:
    """Restarts trained side by side. Their networks are run in stacks; each has its own order, leaves and rate.

    All tasks must have as many examples to train on and as many to judge, and the same recipe.
    """

    def __init__(self, trials: Sequence[Restart]) -> None:
        self.actors = [_Actor(trial) for trial in trials]
        self.recipe = trials[0].task.recipe
        albums = {id(trial.task): InputColumns(trial.task.columns, trial.task.device) for trial in trials}
        self.albums = [albums[id(trial.task)] for trial in trials]
        missing = {id(trial.task): _Missing(trial.task) for trial in trials}
        self.missing = [missing[id(trial.task)] for trial in trials]
        for actor, album, gone in zip(self.actors, self.albums, self.missing, strict=True):
            _audition(actor, album, gone)
        playing = [i for i, actor in enumerate(self.actors) if actor.failed is None]
        tasks = {id(self.actors[i].task): self.actors[i].task for i in playing}
        self.casts = [
            _Cast(task, [i for i in playing if self.actors[i].task is task], self.actors) for task in tasks.values()
        ]
        self.total = self.recipe.steps(len(self.actors[0].seen))
        self.steps = max((trial.state.steps for trial in trials if trial.state is not None), default=0)
        torch.manual_seed(trials[0].task.seed * 1009 + trials[0].number + self.steps)
        self.ensembles = self._ensembles(playing)

    def _ensembles(self, playing: Sequence[int]) -> list[_Ensemble]:
        alike: dict[Any, list[tuple[int, str]]] = {}
        for i in playing:
            actor = self.actors[i]
            for name, net in actor.networks.items():
                uses = actor.uses(name)
                shapes = tuple(tuple(self.albums[i].columns[c].shape[1:]) for c in uses[0].inputs)
                alike.setdefault((architecture(net), len(uses), shapes), []).append((i, name))
        return [self._ensemble(members) for members in alike.values()]

    def _ensemble(self, members: list[tuple[int, str]]) -> _Ensemble:
        nets = [self.actors[i].networks[name] for i, name in members]
        uses = [self.actors[i].uses(name) for i, name in members]
        rows = torch.stack([self.actors[i].judged[:2] for i, _ in members])
        made = network_group(nets, self._inputs(members, uses, rows, input_dtype(nets[0]), None))
        adam = Adam(list(made.weights.values()), self.recipe.weight_decay)
        for row, (i, name) in enumerate(members):
            before = self.actors[i].trial.state
            if before is not None:
                adam.resume(row, before.moments[name])
        return _Ensemble(members, uses, made, adam)

    # Looking -------------------------------------------------------------------------------------

    def _inputs(
        self,
        members: Sequence[tuple[int, str]],
        uses: Sequence[Sequence[NetworkOutput]],
        rows: torch.Tensor,
        dtype: torch.dtype,
        changes: Sequence[Mapping[str, Augmentation]] | None,
    ) -> list[torch.Tensor]:
        """What the networks of an ensemble read, `(network, use and row, …)`, one tensor for each argument."""
        read = []
        for place in range(len(uses[0][0].inputs)):
            names = [[use.inputs[place] for use in seen] for seen in uses]
            shape = self.albums[members[0][0]].shape(names[0][0])
            found = torch.empty(len(members), len(uses[0]), rows.shape[1], *shape, dtype=dtype, device=rows.device)
            for (i, _), mine, wanted, to in zip(members, rows, names, found, strict=True):
                for name, part in zip(wanted, to, strict=True):
                    change = changes[i][name] if changes is not None else None
                    self.missing[i].look(self.albums[i], name, mine, part, change)
            read.append(found.flatten(1, 2))
        return read

    def _outputs(self, rows: torch.Tensor, changes: Sequence[Mapping[str, Augmentation]] | None = None) -> Outputs:
        """What every network returns on every of its uses, `(row, value)`."""
        outputs: Outputs = {}
        for ensemble in self.ensembles:
            mine = rows[[i for i, _ in ensemble.members]]
            read = self._inputs(
                ensemble.members, ensemble.uses, mine, input_dtype(ensemble.network_group.modules[0]), changes
            )
            found = ensemble.network_group(*read).view(len(mine), len(ensemble.uses[0]), rows.shape[1], -1)
            for (i, name), uses, values in zip(ensemble.members, ensemble.uses, found.unbind(), strict=True):
                outputs |= {(i, name, use.inputs): value for use, value in zip(uses, values.unbind(), strict=True)}
        return outputs

    def _count(self, outputs: Outputs, rows: torch.Tensor, decay: float) -> None:
        """Let the outputs on these rows go into the averages of network calls that are missing somewhere."""
        for (i, network, inputs), values in outputs.items():
            gone = self.missing[i].calls.get(inputs)
            if gone is not None:
                weights = self.missing[i].weights[rows[i]] * ~gone[rows[i]]
                self.actors[i].average(network, inputs, values).add(values, weights, decay)

    def _marginalised(self, outputs: Outputs, rows: torch.Tensor) -> Outputs:
        """The outputs on these rows, with the average output of the network where what it reads is missing."""
        return {call: self._filled(*call, values, rows) for call, values in outputs.items()}

    def _filled(
        self, i: int, network: str, inputs: tuple[str, ...], values: torch.Tensor, rows: torch.Tensor
    ) -> torch.Tensor:
        gone = self.missing[i].calls.get(inputs)
        if gone is None:
            return values
        average = self.actors[i].average(network, inputs, values).value()
        return torch.where(gone[rows[i]].unsqueeze(1), average, values)

    # Training ------------------------------------------------------------------------------------

    def advance(self, share: float) -> None:
        """Train up to this share of all epochs; where it ends within one, nobody goes on with the rest of that epoch."""
        goal = int(np.ceil(self.total * share))
        for ensemble in self.ensembles:
            ensemble.network_group.train()
        while self.steps < goal and len(self.actors[0].seen) and self._someone_plays():
            order = torch.stack([actor.shuffled() for actor in self.actors])
            for rows in torch.split(order, self.recipe.batch_size, dim=1):
                # A last batch of one example has no variance, which batch normalisation cannot take.
                if rows.shape[1] > 1 or min(order.shape[1], self.recipe.batch_size) == 1:
                    self._step(rows)
                if self.steps >= goal:
                    break

    def _someone_plays(self) -> bool:
        return any(actor.failed is None for actor in self.actors)

    def _step(self, rows: torch.Tensor) -> None:
        share, beta1 = one_cycle(self.steps, self.total) if self.recipe.one_cycle else (1.0, 0.9)
        done = self.steps / self.total
        changes = [
            actor.changes(album, rows.shape[1], done) for actor, album in zip(self.actors, self.albums, strict=True)
        ]
        for learner in self._learners():
            learner.forget()
        outputs = self._outputs(rows, changes)
        self._count(outputs, rows, DECAY)
        outputs = self._marginalised(outputs, rows)
        losses = []
        for cast in self.casts:
            mine = rows[cast.members]
            found = cast.losses(cast.sides(outputs, mine), mine)
            self._note(cast, found, outputs)
            losses.append(found)
        torch.cat(losses).sum().backward()  # type: ignore[no-untyped-call]
        self.steps += 1
        for ensemble in self.ensembles:
            ensemble.adam.step(self.steps, [share * self.recipe.learning_rate] * len(ensemble.members), beta1)
        for cast in self.casts:
            cast.adam.step(self.steps, [10 * share * self.recipe.learning_rate] * len(cast.members), beta1)

    def _learners(self) -> Iterator[Adam]:
        yield from (ensemble.adam for ensemble in self.ensembles)
        yield from (cast.adam for cast in self.casts)

    def _note(self, cast: _Cast, losses: torch.Tensor, outputs: Outputs) -> None:
        """A loss that is no number: that restart has failed. The others have rows of their own and go on."""
        healthy = torch.isfinite(losses.detach()).tolist()
        for i, well in zip(cast.members, healthy, strict=True):
            if not well and self.actors[i].failed is None:
                self.actors[i].failed = _diagnosis(cast.task, i, outputs)

    # Judging -------------------------------------------------------------------------------------

    def _answers(self) -> dict[int, Floats]:
        """P(path | κ, e) of every restart for the examples that judge it, `(path, example)`, in `eval()` mode."""
        for ensemble in self.ensembles:
            ensemble.network_group.train(False)
        answers: dict[int, Floats] = {}
        running = self._measure_averages()
        judged = torch.stack([actor.judged for actor in self.actors])
        with torch.no_grad():
            for start, rows in zip(range(0, judged.shape[1], _BLOCK), torch.split(judged, _BLOCK, dim=1), strict=True):
                done = self.steps / self.total
                outputs = self._outputs(rows, [actor.sight(rows.shape[1], done) for actor in self.actors])
                outputs = self._marginalised(outputs, rows)
                for cast in self.casts:
                    sides = cast.sides(outputs, rows[cast.members]).double().cpu().numpy()
                    self._note(cast, torch.from_numpy(sides.sum((0, 2))), outputs)
                    for place, i in enumerate(cast.members):
                        # Made once: parts kept between what every block needs anew would leave gaps in memory.
                        if i not in answers:
                            answers[i] = np.empty((len(sides), judged.shape[1]))
                        answers[i][:, start : start + rows.shape[1]] = sides[:, place]
        for actor, averages in zip(self.actors, running, strict=True):
            actor.averages = averages
        return answers

    def _measure_averages(self) -> list[dict[tuple[str, tuple[str, ...]], _Average]]:
        """Take the averages over all training rows, as prediction does; returns the running ones, to go on with."""
        running = [actor.averages for actor in self.actors]
        for actor in self.actors:
            actor.averages = {}
        if any(missing.calls for missing in self.missing):
            done = self.steps / self.total
            with torch.no_grad():
                for rows in torch.split(torch.stack([actor.seen for actor in self.actors]), _BLOCK, dim=1):
                    sight = [actor.sight(rows.shape[1], done) for actor in self.actors]
                    self._count(self._outputs(rows, sight), rows, 1.0)
        return running

    def gains(self) -> list[float]:
        """The information gain of each restart's test on unseen examples."""
        answers = self._answers()
        return [self._gain(i, answers) for i in range(len(self.actors))]

    def _gain(self, i: int, answers: Mapping[int, Floats]) -> float:
        actor = self.actors[i]
        if actor.failed is not None:
            return -np.inf
        judged, task = actor.judged.numpy(), actor.task
        weights, labels = task.weights[judged], task.labels[judged]
        if len(answers[i]) > 2:
            return gain_of_tests(answers[i], weights, labels, task.classes)
        return gain_of(answers[i][0], weights, labels, task.classes)

    def likelihoods(self) -> tuple[Floats, Floats]:
        """The log-likelihood of every unseen example under the first restart's leaves, and the weights of the examples."""
        answers, actor = self._answers(), self.actors[0]
        judged, task = actor.judged.numpy(), actor.task
        if actor.failed is not None:
            return np.full(len(judged), -np.inf), task.weights[judged]
        leaves = torch.softmax(self.casts[0].leaves.detach()[0], 1).double().cpu().numpy()
        chosen = (answers[0] * leaves[:, task.labels[judged]]).sum(0)
        return np.log(np.maximum(chosen, FLOOR)), task.weights[judged]

    def state(self, i: int, score: float) -> RestartState:
        """How far a restart has come, in copies, so that it may go on."""
        actor = self.actors[i]
        networks, moments = dict(actor.networks), {}
        leaves, leaf_moments = actor.leaves, [(torch.zeros_like(actor.leaves), torch.zeros_like(actor.leaves))]
        for ensemble in self.ensembles:
            for row, (member, name) in enumerate(ensemble.members):
                if member == i:
                    networks[name] = ensemble.network_group.module(row)
                    moments[name] = ensemble.adam.moments(row)
        for cast in self.casts:
            if i in cast.members:
                row = cast.members.index(i)
                leaves = cast.leaves.detach()[row].cpu().clone()
                leaf_moments = cast.adam.moments(row)
        averages = {call: average.sums.cpu() for call, average in actor.averages.items()}
        random = actor.random.get_state()
        return RestartState(networks, moments, leaves, leaf_moments, random, self.steps, score, actor.failed, averages)


def _audition(actor: _Actor, album: InputColumns, missing: _Missing) -> None:
    """Does every network of a restart give probabilities at all? A look at two examples tells."""
    rows = actor.judged[:2]
    try:
        for name, net in actor.networks.items() if actor.failed is None else ():
            net.eval()
            for use in actor.uses(name):
                read = [torch.empty(len(rows), *album.shape(c), dtype=input_dtype(net)) for c in use.inputs]
                for column, to in zip(use.inputs, read, strict=True):
                    missing.look(album, column, rows, to)
                with torch.no_grad():
                    output = run_network(net, name, use.inputs, [part.to(album.device) for part in read])
                check_output(output, name, use.inputs, len(rows), use.width)
    except NetworkError as error:
        actor.failed = str(error)


def _diagnosis(task: Task, i: int, outputs: Outputs) -> str:
    """Which network of a restart returned what is no probability?"""
    try:
        for (member, network, inputs), output in outputs.items():
            if member == i:
                check_output(output, network, inputs, len(output), output.shape[1])
    except NetworkError as error:
        return str(error)
    return f"its loss was no finite number; try a learning rate below {task.recipe.learning_rate:g}."


def _first_leaves(task: Task, positive: int, random: torch.Generator) -> torch.Tensor:
    """Leaf distributions to start from: the shares of the classes, tilted apart."""
    if task.leaves is not None:
        return torch.from_numpy(np.log(np.clip(task.leaves, 1e-4, None)))
    masses = np.bincount(task.labels, task.weights * ~task.unseen, task.classes) + 1e-3
    prior = torch.from_numpy(np.log(masses / masses.sum()))
    paths = len(task.factored.factors)
    if paths > 2:  # which of them will tell what, nobody knows
        return prior.repeat(paths, 1)
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
    return torch.from_numpy(0.5 / shares)
