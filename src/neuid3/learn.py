"""What is the best test at a node? Symbolic tests are counted, neural ones trained, all of them scored in bits."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from neuid3.answers import Answer, Answers, OneOf, Share, Truth, by_class
from neuid3.candidates import Candidates, shapes_of
from neuid3.circuit.factor import factorise
from neuid3.columns import Boolean, Category, Distribution, Probability
from neuid3.crew import Crew, Part, Stock
from neuid3.cuts import SortedColumn
from neuid3.data import Examples
from neuid3.errors import NetworkError, NodeTestError
from neuid3.induce import Place, Split
from neuid3.infer import Evidence, Reach
from neuid3.logic.formula import ColumnVariable, Formula, Literal, NeuralVariable, Source, Variable, sources
from neuid3.logic.program import Program
from neuid3.networks import default_network, sharpened
from neuid3.nodetest import AtomTest, CutTest, NodeTest
from neuid3.priors import Priors, network_use
from neuid3.progress import Silent
from neuid3.score import entropy, gain_of, information_gain, leaf_estimate
from neuid3.task import Manner, Recipe, Task, Trained, Use
from neuid3.tournament import tournament
from neuid3.train import train_jointly
from neuid3.tree import Branch, Leaf, Node, Path, paths

Floats = npt.NDArray[Any]
Factory = Callable[[], nn.Module]

# How many unseen examples the training examples of a leaf are worth, where networks have seen them.
DOUBT = 2.0

# A test of the bank that tells this share of what is open at a node spares the training of others.
ENOUGH = 0.1

# Below a test of the bank, networks are trained where so many bits an example are open: an error in 13 is 0.4 of them.
SETTLED = 0.4

# Gains this close are the same, but for rounding.
TIE = 1e-12

# The cuts of a number count with this power when a test is chosen among them.
CUTS = 4 / 3

# Through so many trained networks, or choices of them, a test is tried at most.
MOST_BOUND = 6

# At the root, so many restarts compete at least, however few tests there are.
TRIALS = 8

# So many examples go through a circuit at once.
PART = 1 << 18

# Networks are trained where examples of a second class reach a node with this mass at least.
LESSONS = 8.0

# Of the tests that can be asked through a network trained before, so many are trained further: those whose answers tell
# most as they are. On two folds of five UCI tables as images more training changed no accuracy.
FURTHER = 2


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A network with weights: the module, the name it was declared by, and what it was trained on.

    `read` are the columns whose training examples it has seen; an instance that came trained has seen none of ours.
    """

    module: nn.Module
    network: str
    read: frozenset[str]
    frozen: bool


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Labelled examples. Networks never train on `unseen` ones; those judge what the networks learned."""

    examples: Examples
    labels: npt.NDArray[np.int64]
    weights: Floats
    unseen: npt.NDArray[np.bool_]
    classes: int
    positive: int


@dataclass(slots=True)
class Option:
    """A candidate at a node with its score; `bits` is how much its answer tells about the examples that judged it.

    `among` is for how many candidates it stands: it is the best of them, and `tied` of them tell as much.
    """

    test: NodeTest
    gain: float
    bits: float
    asked: NodeTest | None
    vouched: bool
    among: float = 1
    tied: int = 1
    instances: dict[str, Instance] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """Examples at a node that networks learn from and are judged by."""

    place: Place
    rows: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    weights: Floats
    unseen: npt.NDArray[np.bool_]


class NodeLearner:
    """Scores all candidates at a node, trains those that need it, and remembers the networks of those chosen."""

    def __init__(
        self,
        sample: Sample,
        program: Program,
        candidates: Candidates,
        given: Mapping[str, nn.Module | Factory],
        recipe: Recipe,
        *,
        priors: Priors,
        price: float,
        least: float = 0.0,
        adaptive: bool,
        seed: int,
        jobs: int | None = None,
        device: str = "cpu",
        reused: Mapping[str, Instance] | None = None,
        first: frozenset[NodeTest] = frozenset(),
        told: Silent | None = None,
    ) -> None:
        self.sample, self.program, self.recipe = sample, program, recipe
        self.priors, self.price, self.least, self.adaptive = priors, price, least, adaptive
        self.seed, self.device = seed, device
        self.first = first
        self.given = dict(given)
        self.instances: dict[str, Instance] = {
            name: Instance(copy.deepcopy(net).to(device), name, frozenset(), True)
            for name, net in self.given.items()
            if isinstance(net, nn.Module)
        } | dict(reused or {})
        self.told = told or Silent()
        self.count = 0
        self.steps = 0
        self.lesson: Lesson | None = None
        self.formulas: dict[NodeTest, Formula] = {test: test.formula(program) for test in candidates.tests}
        neural = {t: f for t, f in self.formulas.items() if any(isinstance(s, NeuralVariable) for s in sources(f))}
        self.neural = tuple(neural)
        self._check_trainable()
        self.stock = Stock({name: sample.examples.column(name).values for name in self._looked_at()})
        self.crew = Crew(jobs, self.stock)
        self.plain = tuple(test for test in candidates.tests if test not in neural)
        self.everything = frozenset(candidates.tests)
        self.doubts: dict[NodeTest, frozenset[Source]] = {}
        self.evidence = Evidence(sample.examples, self._modules(), program.declarations, priors, torch.float64, device)
        self.places = {test: i for i, test in enumerate(self.plain)}
        self.answers = Answers([self._answer(test) for test in self.plain])
        self.numbers = {
            name: SortedColumn(sample.examples.column(name), name, sample.weights) for name in candidates.numbers
        }

    def _modules(self) -> dict[str, nn.Module]:
        return {name: instance.module.eval() for name, instance in self.instances.items()}

    def _looked_at(self) -> list[str]:
        """The columns that networks read."""
        return sorted({name for test in self.neural for _, inputs, _ in self._uses(test) for name in inputs})

    def _check_trainable(self) -> None:
        for test in self.neural:
            fresh = [name for name, _, _ in self._uses(test) if name not in self.instances]
            if fresh and not isinstance(test, AtomTest):
                raise NodeTestError(
                    f"Test '{test}' looks through network {fresh[0]!r}, which is not trained, and only tests that are atoms "
                    "can be trained; write it as a rule, or give the network ready."
                )

    # Masses and symbolic tests -------------------------------------------------------------------

    def masses(self, place: Place) -> Floats:
        """Σ P(κ|e) of each class, weighted; below networks that have seen these examples, as unseen ones tell it."""
        labels, masses = self._here(place)
        whole = np.bincount(labels, masses, self.sample.classes)
        if not self._has_seen(place.path):
            return whole
        # A network sends an example it was trained on where it belongs, and its leaf would seem surer than it is.
        unseen = np.bincount(labels, np.where(self.sample.unseen[place.rows], masses, 0.0), self.sample.classes)
        shares = (unseen + DOUBT * np.array(leaf_estimate(whole))) / (unseen.sum() + DOUBT)
        believed: Floats = shares * whole.sum()
        return believed

    def _masses(self, reach: Floats) -> Floats:
        return np.bincount(self.sample.labels, reach * self.sample.weights, self.sample.classes)

    def _has_seen(self, path: Path) -> bool:
        """Does a test of this path look through a network at examples that it was trained on?"""
        uses = [use for test, _ in path for use in self._uses(test)]
        return any(bool(self.instances[name].read & frozenset(inputs)) for name, inputs, _ in uses)

    def _here(self, place: Place) -> tuple[npt.NDArray[np.int64], Floats]:
        """The labels of the examples that reach a place, and their weighted reach."""
        return self.sample.labels[place.rows], place.shares * self.sample.weights[place.rows]

    def _answer(self, test: NodeTest) -> Answer:
        """P(τ | e) of a test without networks, for every example: truth values where they are certain."""
        if self._uncertain(test):
            return Share(self.conditional((), test).astype(np.float32))
        formula = self._formula(test)
        if isinstance(formula, Literal) and isinstance(formula.variable, ColumnVariable) and len(formula.values) == 1:
            column, (value,) = self.sample.examples.column(formula.variable.column), formula.values
            match column.kind:
                case Boolean() if value == 1:
                    return Truth(column.values)
                case Category():
                    return OneOf(formula.variable.column, column.values, formula.variable.size, value)
        return Truth(self.conditional((), test) > 0.5)

    def _symbolic(self, place: Place) -> Iterator[Option]:
        """The best test without networks, all of them counted at once, and the best cut of each number."""
        labels, masses = self._here(place)
        classes = self.sample.classes
        total = np.bincount(labels, masses, classes)
        used = [self.places[test] for test in self.everything - place.tests if test in self.places]
        if len(used) < len(self.plain):
            yes = self.answers.yes_masses(place.rows, labels, masses, classes)
            large = self._large(yes, total)
            gains = np.where(large, information_gain(yes, total - yes), 0.0)
            for i in set(self._shared(place.path)) - set(used):
                gains[i] = gain_of(self.conditional(place.path, self.plain[i])[place.rows], masses, labels, classes)
                large[i] = True
            gains[used], large[used] = -1.0, False
            best = int(np.argmax(gains))
            test, gain = self.plain[best], float(gains[best])
            among, tied = max(int(large.sum()), 1), int((gains >= gain - TIE).sum())
            yield Option(test, gain, gain * float(total.sum()), test, False, among, tied)
        if self.numbers:
            spread = by_class(labels, masses, classes)
            for name, ordered in self.numbers.items():
                found = ordered.best_cut(place.rows, spread, place.path, self.least)
                if found is not None:
                    threshold, gain, cuts = found
                    # Noise offers many cuts, and at the usual price of a choice the best of them would do.
                    yield Option(CutTest(name, threshold), gain, gain * float(total.sum()), None, False, cuts**CUTS)

    def _large(self, yes: Floats, total: Floats) -> Any:
        """Do both sides get the mass that a child needs?"""
        mass = yes.sum(-1)
        return np.minimum(mass, total.sum() - mass) >= self.least

    def _shared(self, path: Path) -> list[int]:
        """Tests that share an uncertain variable with the path: their answers depend on what was answered before."""
        before = frozenset[Source]().union(*(self._uncertain(test) for test, _ in path))
        return [i for i, test in enumerate(self.plain) if before & self._uncertain(test)] if before else []

    def _uncertain(self, test: NodeTest) -> frozenset[Source]:
        """The variables of a test that are not known for every example."""
        if test not in self.doubts:
            self.doubts[test] = frozenset(
                source for source in sources(self._formula(test)) if not self._is_certain(source)
            )
        return self.doubts[test]

    def _is_certain(self, source: Source) -> bool:
        match source:
            case str(name) | ColumnVariable(name):
                column = self.sample.examples.column(name)
                return column.missing is None and not isinstance(column.kind, (Probability, Distribution))
            case _:
                return False

    def _formula(self, test: NodeTest) -> Formula:
        if test not in self.formulas:
            self.formulas[test] = test.formula(self.program)
        return self.formulas[test]

    # Exact answers -------------------------------------------------------------------------------

    def _sides(self, path: Path, test: NodeTest) -> Any:
        """κ∧τ and κ∧¬τ as far as κ shares variables with τ: what is independent of τ cancels out."""
        tests = [*(asked for asked, _ in path), test]
        formulas = [self._formula(asked) for asked in tests]
        near = _connected([sources(formula) for formula in formulas])
        answers = [(i, path[i][1]) for i in sorted(near - {len(path)})]
        last = len(path)
        return factorise(
            formulas, [[*answers, (last, True)], [*answers, (last, False)]], self.program.limits.circuit_nodes
        )

    def conditional(self, path: Path, test: NodeTest) -> Floats:
        """P(τ | κ, e) for every example, exactly; one half where κ is impossible."""
        tests = [test, *(asked for asked, _ in path)]
        self.know(tests)
        reach = Reach(self._sides(path, test), torch.float64, self.device)
        answers = np.full(len(self.evidence), 0.5)
        with torch.no_grad():
            for rows, evidence in self._in_parts(tests):
                sides = reach(evidence).cpu().numpy()
                total = sides.sum(axis=1)
                np.divide(sides[:, 0], total, out=answers[rows], where=total > 0)
        return answers

    def _in_parts(self, tests: Sequence[NodeTest]) -> Iterator[tuple[slice, Evidence]]:
        """The evidence, in parts where it is large: a circuit holds many numbers for every example."""
        n = len(self.evidence)
        if n <= PART:
            yield slice(None), self.evidence
            return
        for look in {look for test in tests for look in self._uses(test)}:
            self.evidence.output(*look)
        for start in range(0, n, PART):
            yield slice(start, start + PART), self.evidence.part(slice(start, start + PART))

    # The node ------------------------------------------------------------------------------------

    def best(self, place: Place) -> Split | None:
        """The candidate with the highest gain that is worth asking."""
        options = [*self._symbolic(place), *self._neural(place)]
        worth = [option for option in options if not option.vouched or option.bits >= self.price]
        if not worth:
            return None
        chosen = max(worth, key=lambda option: option.gain)
        tied = sum(option.tied for option in options if option.gain >= chosen.gain - TIE)
        among = sum(option.among for option in options) / tied
        self._keep(chosen.instances)
        return self.asked(place, chosen.test, chosen.gain, chosen.vouched, chosen.asked, among)

    def _keep(self, instances: Mapping[str, Instance]) -> None:
        if instances:
            self.instances.update(instances)
            self.evidence = self.evidence.seen_through(self._modules(), self.priors)

    def asked(
        self, place: Place, test: NodeTest, gain: float, vouched: bool, asked: NodeTest | None, among: float
    ) -> Split:
        """A test that was chosen, with what it says of the examples that reach the place."""
        return Split(test, self._said(place, test), gain, vouched, asked, among)

    def recall(self, instances: Mapping[str, Instance], count: int, steps: int) -> None:
        """Be as after a node that was learned before: with these networks, and as far in drawing and counting."""
        self._keep(instances)
        self.count, self.steps = count, steps

    def network(self, name: str) -> nn.Module:
        """A network of the right shape by its name, to be filled with weights."""
        uses = (use for test in self.neural for use in self._uses(AtomTest(getattr(test, "atom", str(test)))))
        network, inputs, width = next(use for use in uses if use[0] == name)
        before = self.count
        made = self._fresh(network, inputs, [(network, inputs, width)])
        self.count = before
        return made

    def _said(self, place: Place, test: NodeTest) -> Floats:
        """P(τ | κ, e) for the examples that reach a place, as truth values where they are certain."""
        if isinstance(test, CutTest) and not self._uncertain(test):
            below: Floats = self.sample.examples.column(test.column).values[place.rows] <= test.threshold
            return below
        said = self.answers.certain(self.places[test], place.rows) if test in self.places else None
        return self.conditional(place.path, test)[place.rows] if said is None else said

    def know(self, tests: Sequence[NodeTest], always: bool = False) -> None:
        """See to the average output of every network whose input is missing somewhere, or `always`."""
        for test in tests:
            for network, inputs, width in self._uses(test):
                key = network_use(network, inputs)
                whole = self.sample.examples.complete(inputs)
                if key not in self.priors.networks and network in self.instances and (always or not whole.all()):
                    average = self._average(self.instances[network], inputs, width, whole)
                    self.priors = Priors(self.priors.columns, {**self.priors.networks, key: average})
                    self.evidence.priors = self.priors

    def _average(self, instance: Instance, inputs: tuple[str, ...], width: int, whole: Any) -> tuple[float, ...]:
        rows = np.flatnonzero(~self.sample.unseen & whole)
        if not len(rows):
            return tuple([1.0 / max(width, 2)] * width)
        look = Evidence(self.sample.examples[rows], {"net": instance.module}, {}, None, torch.float64, self.device)
        with torch.no_grad():
            outputs = look.output("net", inputs, width).cpu().numpy()
        return tuple(np.average(outputs, axis=0, weights=self.sample.weights[rows]).tolist())

    def _uses(self, test: NodeTest) -> list[tuple[str, tuple[str, ...], int]]:
        found = {
            (s.network, s.inputs, self.program.declarations[s.declaration].width)
            for s in sources(self._formula(test))
            if isinstance(s, NeuralVariable)
        }
        return sorted(found)

    # Neural tests --------------------------------------------------------------------------------

    def _neural(self, place: Place) -> Iterator[Option]:
        tests = [test for test in self.neural if test in place.tests]
        ready = {test: list(self._ready(place, test)) for test in tests}
        for options in ready.values():
            yield from options
        tasks: list[tuple[NodeTest, AtomTest, Task]] = []
        spared = self._is_served(place, ready) or self._is_settled(place) or not self._promising(place)
        for test in () if spared else _worth_training(ready):
            untrained = [n for n in dict.fromkeys(u[0] for u in self._uses(test)) if n not in self.instances]
            if untrained and isinstance(test, AtomTest):
                made = self._task(place, test, untrained, ready[test])
                if made is not None:
                    tasks.append((test, *made))
        names = [str(test) for test, _, _ in tasks]
        finished, steps = tournament(
            [task for _, _, task in tasks],
            self.crew,
            lambda i, done, total: self.told.training(place, names[i], done, total),
        )
        self.steps += steps
        for (test, named, task), trained in zip(tasks, finished, strict=True):
            option = self._trained(place, test, named, task, trained) if trained is not None else None
            if option is not None:
                yield option

    def _is_served(self, place: Place, ready: Mapping[NodeTest, Sequence[Option]]) -> bool:
        """Is there a test of the bank that is worth asking here as it is?"""
        masses = self._masses(place.reach)
        return any(
            option.bits >= self._price(place) and option.gain >= ENOUGH * float(entropy(masses))
            for test, options in ready.items()
            if test in self.first
            for option in options
        )

    def _is_settled(self, place: Place) -> bool:
        """Have tests of the bank left so little open here that networks would be trained for their errors only?"""
        by_bank = any(test in self.first for test, _ in place.path)
        return by_bank and float(entropy(self._masses(place.reach))) < SETTLED

    def _promising(self, place: Place) -> bool:
        """Is there something to learn from, and could a perfect test save the bits that a split must save?

        The examples that would judge it are those that count, and there must be some of a second class to train on.
        """
        if not self.sample.unseen.any():
            return True
        taught = self._masses(np.where(self.sample.unseen, 0.0, place.reach))
        if taught.sum() - taught.max() < LESSONS:
            return False
        open_masses = self._masses(np.where(self.sample.unseen, place.reach, 0.0))
        return float(open_masses.sum() * entropy(open_masses)) >= self._price(place)

    def _price(self, place: Place) -> float:
        """The bits that a trained test must save: those of a split, and those that say which of the tests it is."""
        tests = sum(test in place.tests for test in self.neural)
        return self.price + np.log2(max(tests, 1)) if self.price else 0.0

    def _ready(self, place: Place, test: NodeTest) -> Iterator[Option]:
        """Ways to ask a test without training: as it came, or looking through a network that was trained before."""
        uses = self._uses(test)
        names = list(dict.fromkeys(network for network, _, _ in uses))
        untrained = [name for name in names if name not in self.instances]
        if not untrained:
            yield from self._judge(place, test, test, [self.instances[name] for name in names], uses)
        elif self.adaptive and len(untrained) > 1 and isinstance(test, AtomTest):
            path = {used for asked, _ in place.path for used, _, _ in self._uses(asked)}
            known = [[n for n, i in self.instances.items() if n in path and i.network == name] for name in untrained]
            for chosen in islice(product(*known), MOST_BOUND):
                bound = AtomTest(test.atom, tuple(sorted(zip(untrained, chosen, strict=True))))
                through = [self.instances[n] for n in (*chosen, *(n for n in names if n in self.instances))]
                yield from self._judge(place, test, bound, through, uses)
        elif self.adaptive and len(untrained) == 1 and isinstance(test, AtomTest):
            columns = [u[1] for u in uses if u[0] == untrained[0]]
            fresh = self._fresh(untrained[0], columns[0], uses)
            for name, instance in self._others(place, untrained[0], fresh):
                others = [self.instances[n] for n in names if n in self.instances]
                bound = AtomTest(test.atom, ((untrained[0], name),))
                yield from self._judge(place, test, bound, [*others, instance], uses)

    def _others(self, place: Place, network: str, fresh: nn.Module) -> list[tuple[str, Instance]]:
        """Instances that could stand in for a network: those of its name on this path first, then others like it."""
        path = {used for test, _ in place.path for used, _, _ in self._uses(test)}
        bound = [(n, i) for n, i in self.instances.items() if n in path and i.network == network]
        alike = [(n, i) for n, i in self.instances.items() if not i.frozen and _alike(i.module, fresh)]
        return list(dict(bound + alike[::-1]).items())[:MOST_BOUND]

    def _judge(
        self, place: Place, asked: NodeTest, test: NodeTest, through: Sequence[Instance], uses: Sequence[Any]
    ) -> Iterator[Option]:
        columns = {name for _, inputs, _ in uses for name in inputs}
        # A network that never saw these columns in training cannot have memorised them.
        fair = all(not (instance.read & columns) for instance in through)
        judged = np.ones(len(place.reach), dtype=bool) if fair else self.sample.unseen
        weights = (place.reach * self.sample.weights)[judged]
        if weights.sum() <= 0:
            return
        answers = self.conditional(place.path, test)[judged]
        gain = gain_of(answers, weights, self.sample.labels[judged], self.sample.classes)
        yield Option(test, gain, gain * float(weights.sum()), asked, True)

    def _fresh(self, network: str, inputs: tuple[str, ...], uses: Sequence[Any]) -> nn.Module:
        """A fresh network by its name, made under a seed of its own."""
        width = next(w for n, _, w in uses if n == network)
        self.count += 1
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed * 7919 + self.count)
            factory = self.given.get(network)
            if factory is None:
                return default_network(shapes_of(inputs, self.program.schema), width)
            try:
                made = factory()
            except TypeError as error:
                raise NetworkError(
                    f"networks[{network!r}] cannot be called without arguments ({error}); give a function that makes a "
                    "fresh module, or the module itself."
                ) from None
        if not isinstance(made, nn.Module):
            raise NetworkError(
                f"networks[{network!r}] returned a {type(made).__name__}; give a torch module or a function that makes one."
            )
        return made

    def _start(self, network: str, use: tuple[str, tuple[str, ...], int], uses: Sequence[Any]) -> nn.Module:
        return sharpened(self._fresh(network, use[1], uses), use[2], self.recipe.sharpness)

    def _task(
        self, place: Place, test: AtomTest, untrained: Sequence[str], ready: Sequence[Option]
    ) -> tuple[AtomTest, Task] | None:
        uses = self._uses(test)
        renamed = {network: f"{network}#{self._number()}" for network in untrained}
        named = AtomTest(test.atom, tuple(sorted(renamed.items())))
        inputs = {name for network, columns, _ in uses if network in renamed for name in columns}
        rows = np.flatnonzero((place.reach > 0) & self.sample.examples.complete(tuple(inputs)))
        lesson = self._lesson(place, rows)
        rows, unseen = lesson.rows, lesson.unseen
        witnesses = bool(unseen.any()) or not self.sample.unseen.any()
        if len(np.unique(lesson.labels[~unseen])) < 2 or not witnesses:
            return None  # nothing to learn, or nobody to judge it
        factored = self._sides(place.path, named)
        variables = list(dict.fromkeys(v for circuit in factored.circuits for v in circuit.variables))
        if not any(isinstance(v, NeuralVariable) and v.network in renamed.values() for v in variables):
            return None
        manners = self._manners(place, test, sorted(inputs))
        if ready and len(untrained) == 1:
            manners = manners[:1]  # a network that reads such images is there to start from
        starts = [
            {renamed[n]: self._start(n, next(u for u in uses if u[0] == n), uses) for n in untrained} for _ in manners
        ]
        if ready and len(untrained) == 1:
            manners = [Manner(), *manners]
            best = max(ready, key=lambda option: option.gain).test
            assert isinstance(best, AtomTest)
            warm = self.instances[dict(best.instances)[untrained[0]]].module
            starts.insert(0, {renamed[untrained[0]]: copy.deepcopy(warm)})
        with torch.no_grad():
            fixed = {
                v: self.evidence.weights(v)[:, rows].float().cpu().numpy()
                for v in variables
                if not self._is_new(v, renamed)
            }
        task = Task(
            factored,
            {v: self._use(v) for v in variables if self._is_new(v, renamed)},
            fixed,
            Part(self.stock, tuple(sorted(inputs)), rows),
            lesson.labels,
            lesson.weights,
            unseen,
            self.sample.classes,
            self.sample.positive,
            tuple(starts),
            self.recipe,
            self.seed * 104_729 + self.count,
            self.device,
            manners=tuple(manners),
            least=self._least(place, unseen, rows),
        )
        return named, task

    def _least(self, place: Place, unseen: npt.NDArray[np.bool_], rows: npt.NDArray[np.int64]) -> float:
        """The gain that a restart must show when it is first judged: below the root, half of what it needs in the end."""
        mass = float((place.reach * self.sample.weights)[rows[unseen]].sum())
        return self._price(place) / mass / 2 if place.path and mass > 0 else -np.inf

    def _lesson(self, place: Place, rows: npt.NDArray[np.int64]) -> Lesson:
        """The candidates of a node share its examples, which are then sent once for all that are trained together."""
        last = self.lesson
        if last is None or last.place is not place or not np.array_equal(last.rows, rows):
            weights = (place.reach * self.sample.weights)[rows]
            last = self.lesson = Lesson(place, rows, self.sample.labels[rows], weights, self.sample.unseen[rows])
        return last

    def _manners(self, place: Place, test: AtomTest, inputs: Sequence[str]) -> list[Manner]:
        """How the restarts of a test differ: only in ways that can make a difference to it, likely ones first."""
        formula = self._formula(test)
        # A network that says yes or no can say the opposite by itself; a rule cannot.
        alone = isinstance(formula, Literal) and isinstance(formula.variable, NeuralVariable)
        shapes = [shape for shape in shapes_of(inputs, self.program.schema) if len(shape) == 3]
        sights = (False, True) if any(shape[0] == 3 for shape in shapes) else (False,)
        turns = (False,) if alone else (False, True) if self._is_upright(place, test) else (True, False)
        ways = [Manner(flipped, grey) for flipped in turns for grey in sights]
        if self.recipe.restarts == 1:
            return ways[:1]
        if place.path:  # there are networks to start from, and fewer examples to tell restarts apart
            return ways[: -(-self.recipe.restarts // 2)]
        few = -(-TRIALS // max(len(self.neural), 1))  # a single test must not hang on a few draws
        wanted = max(min(self.recipe.restarts, max(2, len(ways))), min(few, 2 * self.recipe.restarts))
        return [ways[i % len(ways)] for i in range(wanted)]

    def _is_upright(self, place: Place, test: AtomTest) -> bool:
        """Is a rule about as often true, for networks that know nothing, as the positive class is met here?"""
        if self.recipe.loss == "branches" or self.sample.classes != 2:
            return True
        reach = Reach(self._sides((), test), torch.float64, self.device)
        chance = float(reach(_Clueless())[0, 0])
        masses = self._masses(np.where(self.sample.unseen, 0.0, place.reach))
        share = float(masses[self.sample.positive] / max(masses.sum(), 1e-300))
        return abs(chance - share) <= abs(chance - (1.0 - share))

    def _number(self) -> int:
        self.count += 1
        return self.count

    @staticmethod
    def _is_new(variable: Variable, renamed: Mapping[str, str]) -> bool:
        return isinstance(variable, NeuralVariable) and variable.network in renamed.values()

    def _use(self, variable: Variable) -> Use:
        assert isinstance(variable, NeuralVariable)
        declaration = self.program.declarations[variable.declaration]
        return Use(variable.network, variable.inputs, declaration.width, declaration.values is None)

    def _trained(self, place: Place, asked: NodeTest, named: AtomTest, task: Task, trained: Trained) -> Option | None:
        if trained.failed is not None:
            warnings.warn(f"Test '{asked}' was dropped at one node: {trained.failed}", UserWarning, stacklevel=2)
            return None
        judged = (
            task.unseen if bool((task.unseen & (task.weights > 0)).any()) else np.ones(len(task.labels), dtype=bool)
        )
        mass = float(task.weights[judged].sum())
        # Examples whose image is missing learn nothing from the answer, and count all the same.
        among = self.sample.unseen if bool(self.sample.unseen.any()) else np.ones(len(place.reach), dtype=bool)
        share = mass / max(float((place.reach * self.sample.weights)[among].sum()), 1e-300)
        read = frozenset(name for use in task.uses.values() for name in use.inputs)
        read |= frozenset(name for instance in self.instances.values() if not instance.frozen for name in instance.read)
        declared = {instance: network for network, instance in named.instances}
        instances = {name: Instance(net, declared[name], read, False) for name, net in trained.networks.items()}
        # The best of many that were trained looks better than it is.
        bits = trained.score * mass - (self._price(place) - self.price)
        return Option(named, trained.score * share, bits, asked, bool(task.unseen.any()), instances=instances)

    # The whole tree ------------------------------------------------------------------------------

    def refine(self, root: Node) -> Node:
        """Train the finished tree as one: all networks that are not frozen, and all leaves, by the exact likelihood."""
        leaves = list(paths(root))
        tests = list(dict.fromkeys(test for path, _ in leaves for test, _ in path))
        formulas = [self._formula(test) for test in tests]
        number = {test: i for i, test in enumerate(tests)}
        answers = [[(number[test], answer) for test, answer in path] for path, _ in leaves]
        factored = factorise(formulas, answers, self.program.limits.circuit_nodes)
        variables = list(dict.fromkeys(v for circuit in factored.circuits for v in circuit.variables))
        moving = {v for v in variables if isinstance(v, NeuralVariable) and not self.instances[v.network].frozen}
        if not moving or self.recipe.joint_epochs == 0:
            return root
        inputs = sorted({name for v in moving for name in v.inputs})
        rows = np.flatnonzero(self.sample.examples.complete(tuple(inputs)))
        if not len(rows):
            return root
        with torch.no_grad():
            fixed = {v: self.evidence.weights(v)[:, rows].float().cpu().numpy() for v in variables if v not in moving}
        recipe = replace(
            self.recipe,
            epochs=self.recipe.joint_epochs,
            learning_rate=self.recipe.joint_learning_rate,
            loss="leaves",
            restarts=1,
            enough=None,
        )
        names = sorted({v.network for v in moving})
        task = Task(
            factored,
            {v: self._use(v) for v in variables if v in moving},
            fixed,
            {name: self.sample.examples.column(name).values[rows] for name in inputs},
            self.sample.labels[rows],
            self.sample.weights[rows],
            self.sample.unseen[rows],
            self.sample.classes,
            self.sample.positive,
            ({name: self.instances[name].module for name in names},),
            recipe,
            self.seed * 31 + 17,
            self.device,
            np.array([leaf.probabilities for _, leaf in leaves]),
        )
        trained = train_jointly(task)
        self.steps += trained.steps
        if trained.failed is not None or trained.steps == 0:
            return root
        self.refined(trained.networks, self.steps)
        return _with_leaves(root, iter([tuple((row / row.sum()).tolist()) for row in trained.leaves]))

    def refined(self, networks: Mapping[str, nn.Module], steps: int) -> None:
        """Be as after training the tree as one, which moved these networks."""
        for name, net in networks.items():
            self.instances[name] = replace(self.instances[name], module=net)
        kept = {use: p for use, p in self.priors.networks.items() if use.split("(")[0] not in networks}
        self.priors, self.steps = Priors(self.priors.columns, kept), steps
        self.evidence = self.evidence.seen_through(self._modules(), self.priors)


class _Clueless:
    """One example of which nothing is known: every value of every variable is as probable as any other."""

    def __len__(self) -> int:
        return 1

    def weights(self, variable: Variable) -> torch.Tensor:
        return torch.full((variable.size, 1), 1.0 / variable.size, dtype=torch.float64)


def _worth_training(ready: Mapping[NodeTest, Sequence[Option]]) -> list[NodeTest]:
    """Tests that nobody can ask yet, and the best of those that can be asked through a network trained before."""
    gains = {test: max(option.gain for option in options) for test, options in ready.items() if options}
    best = set(sorted(gains, key=lambda test: -gains[test])[:FURTHER])
    return [test for test in ready if test not in gains or test in best]


def _with_leaves(node: Node, leaves: Iterator[tuple[float, ...]]) -> Node:
    if isinstance(node, Leaf):
        return Leaf(next(leaves), node.masses)
    yes = _with_leaves(node.yes, leaves)  # leaves are numbered from yes to no
    return Branch(node.test, yes, _with_leaves(node.no, leaves), node.gain, node.masses)


def _connected(needs: Sequence[frozenset[Source]]) -> set[int]:
    """The members that are tied to the last one by shared variables, directly or through others."""
    reached = set(needs[-1])
    near = {len(needs) - 1}
    grew = True
    while grew:
        grew = False
        for i, need in enumerate(needs):
            if i not in near and need & reached:
                near.add(i)
                reached |= need
                grew = True
    return near


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    """Are two modules the same network, bit by bit?"""
    if not _alike(one, other):
        return False
    theirs = other.state_dict()
    return all(torch.equal(tensor, theirs[name]) for name, tensor in one.state_dict().items())


def _alike(one: nn.Module, other: nn.Module) -> bool:
    """Do two modules have the same layers, so that one can stand in for the other?"""
    ours = [(name, tuple(tensor.shape)) for name, tensor in one.state_dict().items()]
    theirs = [(name, tuple(tensor.shape)) for name, tensor in other.state_dict().items()]
    return type(one) is type(other) and ours == theirs
