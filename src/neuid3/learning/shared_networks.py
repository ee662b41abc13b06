"""Who can read images that all columns share? One network for many columns, which learns from what all of them tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from neuid3.circuits.conjunctions import factorise
from neuid3.learning.candidates import shapes_of
from neuid3.learning.inference import ExactInference
from neuid3.learning.initialize import NetworkInitializer
from neuid3.learning.sample import Instance, same_architecture
from neuid3.logic.formula import ColumnVariable, Literal, NeuralVariable
from neuid3.training.config import TrainingConfig
from neuid3.training.parallel.shared import SharedColumns, StackedRows
from neuid3.training.task import NetworkOutput, Task, TrainingResult
from neuid3.tree.evidence import NetworkCall
from neuid3.tree.node_tests import AtomTest, NodeTest

# Fewer columns than this have nothing to share: either half of them teaches, and the other half judges.
FEWEST = 4

# So many steps for each epoch of a recipe, with batches of an eighth of the images, within limits: what a column tells may
# be little, and small batches drown it.
STEPS, BATCHES = 10, (128, 512)

# How many images teach a reader at most, and how many judge it.
LESSONS, JUDGES = 1 << 16, 1 << 14

# A reader is kept if chance would tell as much as it does so rarely.
CHANCE = 1e-3

_WHICH, _IMAGE = "which column", "image"


@dataclass(frozen=True, slots=True, eq=False)
class SharedNetworkTask:
    """A task whose network is to read these columns, and was declared by this name."""

    name: str
    network: str
    columns: frozenset[str]
    task: Task

    def reader(self, trained: TrainingResult | None) -> dict[str, Instance]:
        """The reader that came of it, by its name; none where its answers tell no more than chance would."""
        if trained is None or trained.failed is not None or self._by_chance(trained.score) > CHANCE:
            return {}
        return {self.name: Instance(trained.networks[self.name], self.network, self.columns, False, True)}

    def _by_chance(self, gain: float) -> float:
        """How probable is it that answers which have nothing to do with the classes tell at least as much?

        Twice the nats that such answers tell are distributed as χ², with a degree of freedom for each column and class but one.
        """
        judging = len(self.task.paths.factors) // 2 - len(self.columns)
        nats = gain * float(self.task.unseen.sum()) * np.log(2.0)
        halves = torch.tensor([judging * (self.task.classes - 1) / 2, nats], dtype=torch.float64)
        return float(torch.special.gammaincc(halves[0], halves[1]))


class SharedNetworks:
    """Finds tests whose networks look at one image each and could be one network, and makes it learn from all of them."""

    def __init__(
        self,
        exact: ExactInference,
        starts: NetworkInitializer,
        stock: SharedColumns,
        recipe: TrainingConfig,
        wanted: bool,
    ) -> None:
        self.exact, self.sample, self.meaning = exact, exact.sample, exact.meaning
        self.starts, self.stock, self.recipe = starts, stock, recipe
        self.wanted = wanted

    def readings(self, tests: Sequence[NodeTest]) -> Iterator[SharedNetworkTask]:
        """For every group of tests that could share a network two tasks: each half of the columns teaches one."""
        for looks in self._groups(tests) if self.wanted else ():
            if len(looks) >= FEWEST:
                order = np.random.default_rng(self.starts.seed).permutation(len(looks))
                halves = [[looks[i] for i in sorted(order[half::2])] for half in (0, 1)]
                yield self._reading(halves[0], halves[1])
                yield self._reading(halves[1], halves[0])

    def _groups(self, tests: Sequence[NodeTest]) -> list[list[NetworkCall]]:
        """Looks at images of one shape through networks of one architecture, one look for each column."""
        groups: list[tuple[nn.Module, list[NetworkCall]]] = []
        looks = [look for test in tests if (look := self.lone(test)) and look.network not in self.exact.instances]
        for look in {look.inputs: look for look in looks}.values():
            fresh = self.starts.shaped(look)
            for module, members in groups:
                if self._shape(look) == self._shape(members[0]) and same_architecture(module, fresh):
                    members.append(look)
                    break
            else:
                groups.append((fresh, [look]))
        return [members for _, members in groups]

    def _shape(self, look: NetworkCall) -> tuple[int, ...]:
        return shapes_of(look.inputs, self.meaning.program.schema)[0]

    def lone(self, test: NodeTest) -> NetworkCall | None:
        """How the network of a test looks, if it looks at one image, and nothing else is asked."""
        formula = self.meaning.formula(test)
        if not isinstance(test, AtomTest) or not isinstance(formula, Literal):
            return None
        variable = formula.variable
        if not isinstance(variable, NeuralVariable):
            return None
        look = self.meaning.look(variable)
        return look if look.width == 1 and len(look.inputs) == 1 and len(self._shape(look)) > 1 else None

    def _reading(self, taught: Sequence[NetworkCall], judging: Sequence[NetworkCall]) -> SharedNetworkTask:
        number = self.starts.number()
        network = taught[0].network
        name = f"{network}#{number}"
        random = np.random.default_rng((self.starts.seed, number))
        may_teach = np.flatnonzero(~self.sample.unseen)
        lessons = self._rows(taught, may_teach, LESSONS, random)
        judges = self._rows(judging, np.arange(len(self.sample.labels)), JUDGES, random)
        names = [look.inputs[0] for look in (*taught, *judging)]
        parts = [*lessons, *judges]
        rows = np.concatenate(parts)
        which = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        seen = sum(len(part) for part in lessons)
        variable = NeuralVariable(0, name, (_IMAGE,), (), 2)
        column = ColumnVariable(_WHICH, len(parts))
        task = Task(
            factorise(
                [Literal(variable, frozenset({1})), *(Literal(column, frozenset({i})) for i in range(len(parts)))],
                [[(1 + i, True), (0, answer)] for i in range(len(parts)) for answer in (True, False)],
            ),
            {variable: NetworkOutput(name, (_IMAGE,), 1, True)},
            {column: (which == np.arange(len(parts))[:, None]).astype(np.float32)},
            StackedRows(self.stock, _IMAGE, tuple(zip(names, parts, strict=True))),
            self.sample.labels[rows],
            self.sample.weights[rows],
            np.arange(len(rows)) >= seen,
            self.sample.classes,
            self.sample.positive,
            tuple({name: self.starts.fresh(taught[0])} for _ in range(self.recipe.restarts)),
            self._recipe(seen),
            self.starts.seed * 104_729 + self.starts.count,
            self.exact.device,
        )
        return SharedNetworkTask(name, network, frozenset(names[: len(taught)]), task)

    def _rows(
        self, looks: Sequence[NetworkCall], among: npt.NDArray[np.int64], most: int, random: np.random.Generator
    ) -> list[npt.NDArray[np.int64]]:
        """For each look the rows that have its image; the same ones for all, and at most so many together."""
        if len(among) * len(looks) > most:
            among = np.sort(random.choice(among, max(most // len(looks), 1), replace=False))
        return [among[self.sample.examples.complete(look.inputs)[among]] for look in looks]

    def _recipe(self, images: int) -> TrainingConfig:
        steps = STEPS * self.recipe.epochs
        batch = int(np.clip(images // 8, *BATCHES))
        return replace(self.recipe, loss="leaves", epochs=steps, enough=steps, batch_size=batch)
