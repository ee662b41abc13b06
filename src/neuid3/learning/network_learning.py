"""The networks of a fit: splitters that call and train them, joint training and regrowing."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from torch import nn

from neuid3.data.columns import Number, Tensor
from neuid3.learning.candidates import Candidates
from neuid3.learning.canonical import CanonicalCandidates
from neuid3.learning.goals import NO_GOALS, GoalCandidates, with_estimated_noise, with_goals
from neuid3.learning.grow import OpenNode
from neuid3.learning.inference import ExactInference
from neuid3.learning.initialize import NetworkInitializer
from neuid3.learning.joint import joint_task, with_leaves
from neuid3.learning.node_bounds import NodeBounds
from neuid3.learning.pretraining import Pretrainer
from neuid3.learning.progress import SilentProgress
from neuid3.learning.ready_splitter import ReadySplitter
from neuid3.learning.regrow import Regrower, network_responses
from neuid3.learning.rereading import reread
from neuid3.learning.restarts import RestartVariants
from neuid3.learning.sample import Factory, Instance
from neuid3.learning.tasks import TaskBuilder
from neuid3.learning.training_splitter import TrainingSplitter
from neuid3.training.config import TrainingConfig
from neuid3.training.parallel.pool import WorkerPool
from neuid3.training.parallel.shared import SharedColumns
from neuid3.training.threads import one_thread
from neuid3.training.train import train_jointly
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.semantics import Semantics
from neuid3.tree.tree import Node

# Up to so many examples are read by one thread, apart from the workers: on two cores, a fit of 160 rows of images took 1.6 to 3
# times the processor time with two, depending on what else ran.
ONE_THREAD_ROWS = 4096


class NetworkLearning:
    """Everything that a fit with networks needs besides its symbolic tests.

    Parameters
    ----------
    inference : exact inference with the trained networks.
    tests : the candidates that call networks.
    networks : trained modules or factories that the caller gave, by name.
    config : how networks are trained.
    root_tests : those of the tests that the root is offered.
    reads_all_columns : whether further tests may come up, which read any column of the schema.
    penalty : the bits that a validated split must save.
    min_child_mass : the least mass Σ P(κ|e) of each child.
    adaptive : whether trained networks may serve other tests, or be trained further for them.
    share_networks : whether networks are first trained on many columns at once.
    seed : seed of all random draws.
    jobs : the number of worker processes.
    bank_tests : tests of a bank, which are tried before others are trained.
    progress : receives reports.
    goals : the goals that leaves may hold.

    Attributes
    ----------
    splitter : scores and trains the candidates at a node.
    initializer : creates networks.
    pool : the worker processes, a context manager.
    """

    def __init__(
        self,
        inference: ExactInference,
        tests: Sequence[NodeTest],
        networks: Mapping[str, nn.Module | Factory],
        config: TrainingConfig,
        *,
        root_tests: Sequence[NodeTest],
        reads_all_columns: bool,
        penalty: float,
        min_child_mass: float,
        adaptive: bool,
        share_networks: bool,
        seed: int,
        jobs: int | None,
        bank_tests: frozenset[NodeTest],
        progress: SilentProgress,
        goals: GoalCandidates = NO_GOALS,
    ) -> None:
        self.inference, self.config, self.min_child_mass = inference, config, min_child_mass
        self.goals = goals
        self.may_regrow = adaptive and not share_networks
        sample, semantics = inference.sample, inference.semantics
        self.initializer = NetworkInitializer(networks, semantics.program.schema, seed, sample)
        ready = ReadySplitter(inference, self.initializer, adaptive, min_child_mass)
        _check_trainable(tests, ready)
        labelled = {name for labels in sample.anchors.values() for call in labels.calls for name in call}
        self.goal_tests = [test for goal in goals.goals for _, test in semantics.value_tests(goal)]
        names = sorted(labelled.union(_input_columns([*tests, *self.goal_tests], semantics, reads_all_columns)))
        shared_columns = SharedColumns({name: sample.examples.column(name).inputs for name in names})
        self.shared_columns = shared_columns
        self.pool = WorkerPool(jobs, shared_columns)
        canonical = CanonicalCandidates(inference, self.initializer) if adaptive else None
        trained_at_root = root_tests if canonical is None else canonical.first_forms(root_tests)
        variants = RestartVariants(sample, semantics, config, len(trained_at_root), inference.device)
        tasks = TaskBuilder(inference, self.initializer, variants, shared_columns, config)
        self.pretrainer = Pretrainer(
            inference, self.initializer, shared_columns, config, self.pool, progress, by_columns=share_networks
        )
        self.splitter = TrainingSplitter(
            inference,
            tests,
            ready,
            tasks,
            self.pretrainer,
            self.pool,
            penalty=penalty,
            bank_tests=bank_tests,
            progress=progress,
            canonical=canonical,
        )

    def threads(self) -> AbstractContextManager[None]:
        """A context with one thread for few examples: there a second one waits longer than it works."""
        return one_thread() if len(self.inference.sample) <= ONE_THREAD_ROWS else nullcontext()

    @property
    def reads_single_images(self) -> bool:
        """Whether every test with a network that is known so far is one Boolean call on one image."""
        return all(self.pretrainer.columns.single_image_call(test) is not None for test in self.splitter.tests)

    def refined(self, root: Node, fraction: float = 1.0) -> tuple[Node, int]:
        """The tree after joint training of all leaves and all networks that are not frozen, and its gradient steps."""
        config = replace(self.config, joint_epochs=math.ceil(self.config.joint_epochs * fraction))
        task = joint_task(root, self.inference, config, self.initializer.seed, self.goals)
        if task is None:
            return root, 0
        trained, steps = train_jointly(task)
        if trained is None:
            return root, steps
        self.inference.replace_networks(trained.networks)
        refined = with_leaves(root, trained.leaves, self.inference.sample.criterion)
        return with_estimated_noise(refined, self.inference, self.goals) if len(self.goals) else refined, steps

    def reread(self, root: Node, first_form: bool) -> Node:
        """The tree in the form under which labels are most likely, with `first_form` the first of them."""
        return reread(root, self.inference, self.initializer, self.splitter.tests, first_form)

    def regrower(
        self,
        symbolic: Candidates,
        offered: Callable[[OpenNode, Candidates], Candidates],
        bounds: NodeBounds | None = None,
    ) -> Regrower | None:
        """A learner that regrows the tree from the predictions of its networks; None where these cannot be used.

        Parameters
        ----------
        symbolic : the candidates without networks.
        offered : of some candidates, those that a node is offered.
        bounds : what monotone constraints leave to the leaves.
        """
        unseen = self.inference.sample.unseen
        networks = sorted(set(self.inference.bindings.values()))
        if not len(self.goals) and (not self.may_regrow or not 0 < unseen.sum() < len(unseen)):
            return None
        if all(self.inference.instances[name].frozen for name in networks):
            return None  # the tree was grown with these networks as they are
        responses = network_responses(networks, self.pretrainer.columns, self.splitter.tests)
        if not responses and not len(self.goals):
            return None
        inference = with_goals(self.inference, self.goals)
        return Regrower(inference, symbolic, responses, self.min_child_mass, offered, bounds)

    def pretrain_by_columns(self, offered: Candidates) -> bool:
        """Train networks that many columns share; False where there are no such columns, or they teach nothing together.

        Parameters
        ----------
        offered : the candidates of the root.
        """
        tests = [test for test in offered.tests if self.inference.semantics.is_neural(test)]
        is_pretrained = self.pretrainer.pretrain_by_columns(OpenNode.root(len(self.inference.sample)), tests)
        self.splitter.steps += self.pretrainer.steps
        return is_pretrained

    def pretrain(self, offered: Candidates, starts: Mapping[str, nn.Module]) -> bool:
        """Train one instance of each network by all candidates at once; False where they teach nothing together.

        Parameters
        ----------
        offered : the candidates of the root.
        starts : networks that some restarts begin with, by declared network.
        """
        inference, root = self.inference, OpenNode.root(len(self.inference.sample))
        neural = [test for test in offered.tests if inference.semantics.is_neural(test)]
        tests = [test for test in neural if test.query is None or inference.is_small((), test)]
        is_pretrained = self.pretrainer.pretrain_by_candidates(root, tests, starts, self.goals)
        self.splitter.steps += self.pretrainer.steps
        return is_pretrained

    def network(self, name: str) -> nn.Module:
        """A declared network by name, whose weights are to be loaded."""
        tests = (*self.splitter.tests, *self.goal_tests)
        calls = (call for test in tests for call in self.inference.semantics.calls(test.bind({})))
        call = next((call for call in calls if call.network == name), None)
        if call is None:
            raise LookupError(f"no test calls the network {name!r}")
        return self.initializer.template(call)


def given_instances(networks: Mapping[str, nn.Module | Factory], device: str) -> dict[str, Instance]:
    """Instances of the trained modules that the caller gave: copies, which leave the originals unchanged."""
    return {
        name: Instance(copy.deepcopy(net).to(device), name, frozenset(), True)
        for name, net in networks.items()
        if isinstance(net, nn.Module)
    }


def _input_columns(tests: Sequence[NodeTest], semantics: Semantics, reads_all_columns: bool) -> list[str]:
    """The input columns of the networks of these tests, or of any tests that may come up."""
    names = {name for test in tests for call in semantics.calls(test) for name in call.inputs}
    if reads_all_columns:
        schema = semantics.program.schema
        names |= {name for name, kind in schema.items() if isinstance(kind, (Number, Tensor))}
    return sorted(names)


def _check_trainable(tests: Sequence[NodeTest], ready: ReadySplitter) -> None:
    """Raise an error for a test with untrained networks to which no trained ones can be bound."""
    for test in tests:
        test.bind({network: network for network in ready.untrained(test)})
