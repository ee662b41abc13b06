"""Who learns a node? Asks all candidates, takes the best, and remembers the networks of those chosen."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

import numpy as np
from torch import nn

from neuid3.data.priors import Priors
from neuid3.errors import NodeTestError
from neuid3.learning.candidates import Candidates
from neuid3.learning.grow import OpenNode, Split
from neuid3.learning.inference import ExactInference
from neuid3.learning.initialize import NetworkInitializer
from neuid3.learning.joint import joint_task, with_leaves
from neuid3.learning.progress import SilentProgress
from neuid3.learning.ready_splitter import ReadySplitter
from neuid3.learning.regrow import Regrower, network_responses
from neuid3.learning.restarts import RestartVariants
from neuid3.learning.sample import Factory, Floats, Instance, Sample, best_candidate
from neuid3.learning.semantics import Semantics
from neuid3.learning.shared_networks import SharedNetworks
from neuid3.learning.symbolic_splitter import SymbolicSplitter
from neuid3.learning.tasks import TaskBuilder
from neuid3.learning.training_splitter import TrainingSplitter
from neuid3.logic.program import Program
from neuid3.training.config import TrainingConfig
from neuid3.training.parallel.pool import WorkerPool
from neuid3.training.parallel.shared import SharedColumns
from neuid3.training.train import train_jointly
from neuid3.tree.criteria import leaf_estimate
from neuid3.tree.node_tests import AtomTest, NodeTest
from neuid3.tree.tree import Node

# How many unseen examples the training examples of a leaf are worth, where networks have seen them.
DOUBT = 2.0


class NodeLearner:
    """Scores all candidates at a node, trains those that need it, and remembers the networks of those chosen."""

    def __init__(
        self,
        sample: Sample,
        program: Program,
        candidates: Candidates,
        given: Mapping[str, nn.Module | Factory],
        recipe: TrainingConfig,
        *,
        priors: Priors,
        price: float,
        least: float = 0.0,
        adaptive: bool,
        together: bool = False,
        seed: int,
        jobs: int | None = None,
        device: str = "cpu",
        reused: Mapping[str, Instance] | None = None,
        first: frozenset[NodeTest] = frozenset(),
        told: SilentProgress | None = None,
    ) -> None:
        self.sample, self.recipe, self.price, self.least = sample, recipe, price, least
        self.may_read_on = adaptive and not together
        self.told = told or SilentProgress()
        self.everything = frozenset(candidates.tests)
        self.steps = 0
        meaning = Semantics(program, sample.examples, candidates.tests)
        neural = [test for test in candidates.tests if meaning.is_neural(test)]
        self.exact = ExactInference(sample, meaning, {**_came_trained(given, device), **(reused or {})}, priors, device)
        self.starts = NetworkInitializer(given, program.schema, seed, sample)
        ready = ReadySplitter(self.exact, self.starts, adaptive, least)
        _check_trainable(neural, ready)
        stock = SharedColumns({name: sample.examples.column(name).values for name in _looked_at(neural, meaning)})
        self.crew = WorkerPool(jobs, stock)
        manners = RestartVariants(sample, meaning, recipe, len(neural), device)
        tasks = TaskBuilder(self.exact, self.starts, manners, stock, recipe)
        readers = SharedNetworks(self.exact, self.starts, stock, recipe, together)
        self.neural = TrainingSplitter(
            self.exact, neural, ready, tasks, readers, self.crew, price=price, first=first, told=self.told
        )
        plain = [test for test in candidates.tests if test not in self.neural.every]
        self.symbolic = SymbolicSplitter(self.exact, plain, candidates.numbers, least)
        self.readers = readers

    @property
    def root(self) -> OpenNode:
        """Where all examples start, and all candidates may be asked."""
        return OpenNode.root(len(self.sample.labels), self.everything)

    @property
    def instances(self) -> Mapping[str, Instance]:
        """The networks with weights, by the names that tests call them."""
        return self.exact.instances

    @property
    def priors(self) -> Priors:
        return self.exact.priors

    @property
    def device(self) -> str:
        return self.exact.device

    @property
    def count(self) -> int:
        """How far drawing and naming networks has come."""
        return self.starts.count

    # The node ------------------------------------------------------------------------------------

    def masses(self, place: OpenNode) -> Floats:
        """Σ P(κ|e) of each class, weighted; below networks that have seen these examples, as unseen ones tell it."""
        labels, masses = self.sample.here(place)
        whole = np.bincount(labels, masses, self.sample.classes)
        if not self.exact.has_seen(place.path):
            return whole
        # A network sends an example it was trained on where it belongs, and its leaf would seem surer than it is.
        unseen = np.bincount(labels, np.where(self.sample.unseen[place.rows], masses, 0.0), self.sample.classes)
        shares = (unseen + DOUBT * np.array(leaf_estimate(whole))) / (unseen.sum() + DOUBT)
        believed: Floats = shares * whole.sum()
        return believed

    def best(self, place: OpenNode) -> Split | None:
        """The candidate with the highest gain that is worth asking."""
        symbolic = list(self.symbolic.options(place))
        neural, steps = self.neural.options(place)
        self.steps += steps
        self.told.compared(place, [(str(option.test), option.gain) for option in neural])
        found = best_candidate([*symbolic, *neural], self.price)
        if found is None:
            return None
        chosen, among = found
        self.exact.keep(chosen.instances)
        return self.asked(place, chosen.test, chosen.gain, chosen.vouched, chosen.asked, among)

    def asked(
        self, place: OpenNode, test: NodeTest, gain: float, vouched: bool, asked: NodeTest | None, among: float
    ) -> Split:
        """A test that was chosen, with what it says of the examples that reach the place."""
        said = self.symbolic.said(place, test)
        answers = self.exact.conditional(place.path, test, place.rows) if said is None else said
        return Split(test, answers, gain, vouched, asked, among)

    # The whole tree ------------------------------------------------------------------------------

    def refine(self, root: Node) -> Node:
        """Train the finished tree as one: all networks that are not frozen, and all leaves, by the exact likelihood."""
        task = joint_task(root, self.exact, self.recipe, self.starts.seed)
        if task is None:
            return root
        trained, steps = train_jointly(task)
        self.steps += steps
        if trained is None:
            return root
        self.exact.move(trained.networks)
        return with_leaves(root, trained.leaves)

    def again(self, root: Node) -> Regrower | None:
        """Who learns the tree once more, from what the networks of the finished one read; None where they read nothing."""
        read = network_responses(root, self.readers, self.neural.tests) if self.may_read_on else {}
        symbolic = self.symbolic
        return Regrower(self.exact, symbolic.tests, tuple(symbolic.numbers), read, self.least) if read else None

    def networks_of(self, tests: Sequence[NodeTest]) -> dict[str, nn.Module]:
        """The networks of these tests; the average output of each is known from now on, for examples without its input."""
        self.exact.know(tests, always=True)
        used = {look.network for test in tests for look in self.exact.meaning.looks(test)}
        return {name: self.instances[name].module.eval() for name in sorted(used)}

    # Going on ------------------------------------------------------------------------------------

    def recall(self, instances: Mapping[str, Instance], count: int, steps: int) -> None:
        """Be as after a node that was learned before: with these networks, and as far in drawing and counting."""
        self.exact.keep(instances)
        self.starts.count, self.steps = count, steps

    def refined(self, networks: Mapping[str, nn.Module], steps: int) -> None:
        """Be as after training the tree as one, which moved these networks."""
        self.exact.move(networks)
        self.steps = steps

    def network(self, name: str) -> nn.Module:
        """A network of the right shape by its name, to be filled with weights."""
        plain = (AtomTest(getattr(test, "atom", str(test))) for test in self.neural.tests)
        looks = (look for test in plain for look in self.exact.meaning.looks(test))
        return self.starts.shaped(next(look for look in looks if look.network == name))


def _came_trained(given: Mapping[str, nn.Module | Factory], device: str) -> dict[str, Instance]:
    """Modules that the caller gave ready; what they learn here must not change them."""
    return {
        name: Instance(copy.deepcopy(net).to(device), name, frozenset(), True)
        for name, net in given.items()
        if isinstance(net, nn.Module)
    }


def _looked_at(tests: Sequence[NodeTest], meaning: Semantics) -> list[str]:
    """The columns that networks read."""
    return sorted({name for test in tests for look in meaning.looks(test) for name in look.inputs})


def _check_trainable(tests: Sequence[NodeTest], ready: ReadySplitter) -> None:
    for test in tests:
        fresh = ready.untrained(test)
        if fresh and not isinstance(test, AtomTest):
            raise NodeTestError(
                f"Test '{test}' looks through network {fresh[0]!r}, which is not trained, and only tests that are atoms "
                "can be trained; write it as a rule, or give the network ready."
            )
