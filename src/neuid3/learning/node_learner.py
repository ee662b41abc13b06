"""The learner of nodes: scores all candidates, chooses the best split and keeps its networks."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace

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
from neuid3.networks.backend import select_backend
from neuid3.training.config import TrainingConfig
from neuid3.training.parallel.pool import WorkerPool
from neuid3.training.parallel.shared import SharedColumns
from neuid3.training.train import train_jointly
from neuid3.tree.criteria import leaf_estimate
from neuid3.tree.node_tests import AtomTest, NodeTest
from neuid3.tree.tree import Node

# Weight of the training examples at a node, in validation examples, where networks above it were trained on them.
PRIOR_MASS = 2.0


class NodeLearner:
    """Scores all candidates at a node, trains those that need it, and keeps the networks of the chosen ones.

    Parameters
    ----------
    sample : labelled examples, with the validation split.
    program : background knowledge.
    candidates : tests and number columns to choose from.
    networks : trained modules or factories that the caller gave, by name.
    config : how networks are trained.
    priors : distributions of missing values.
    penalty : the bits that a validated split must save.
    min_child_mass : the least mass Σ P(κ|e) of each child.
    adaptive : whether trained networks may serve other tests, or be trained further for them.
    share_networks : whether networks are first trained on many columns at once.
    seed : seed of all random draws.
    jobs : the number of worker processes.
    device : the torch device of the networks.
    reused : instances that came with trained tests, by name.
    bank_tests : tests of a bank, which are tried before others are trained.
    progress : receives reports.
    """

    def __init__(
        self,
        sample: Sample,
        program: Program,
        candidates: Candidates,
        networks: Mapping[str, nn.Module | Factory],
        config: TrainingConfig,
        *,
        priors: Priors,
        penalty: float,
        min_child_mass: float = 0.0,
        adaptive: bool,
        share_networks: bool = False,
        seed: int,
        jobs: int | None = None,
        device: str = "cpu",
        reused: Mapping[str, Instance] | None = None,
        bank_tests: frozenset[NodeTest] = frozenset(),
        progress: SilentProgress | None = None,
    ) -> None:
        # Found by its name in this process, since workers do not know the backends that are registered here.
        config = replace(config, backend=select_backend(config.backend))
        self.sample, self.config, self.penalty, self.min_child_mass = sample, config, penalty, min_child_mass
        self.may_regrow = adaptive and not share_networks
        self.progress = progress or SilentProgress()
        self.all_tests = frozenset(candidates.tests)
        self.steps = 0
        semantics = Semantics(program, sample.examples, candidates.tests)
        neural = [test for test in candidates.tests if semantics.is_neural(test)]
        instances = {**_given_instances(networks, device), **(reused or {})}
        self.inference = ExactInference(sample, semantics, instances, priors, device)
        self.initializer = NetworkInitializer(networks, program.schema, seed, sample)
        ready = ReadySplitter(self.inference, self.initializer, adaptive, min_child_mass)
        _check_trainable(neural, ready)
        shared_columns = SharedColumns(
            {name: sample.examples.column(name).values for name in _input_columns(neural, semantics)}
        )
        self.pool = WorkerPool(jobs, shared_columns)
        variants = RestartVariants(sample, semantics, config, len(neural), device)
        tasks = TaskBuilder(self.inference, self.initializer, variants, shared_columns, config)
        shared_networks = SharedNetworks(self.inference, self.initializer, shared_columns, config, share_networks)
        self.neural = TrainingSplitter(
            self.inference,
            neural,
            ready,
            tasks,
            shared_networks,
            self.pool,
            penalty=penalty,
            bank_tests=bank_tests,
            progress=self.progress,
        )
        symbolic_tests = [test for test in candidates.tests if test not in self.neural.test_set]
        self.symbolic = SymbolicSplitter(self.inference, symbolic_tests, candidates.numbers, min_child_mass)
        self.shared_networks = shared_networks

    @property
    def root(self) -> OpenNode:
        """The root, with all examples and all candidates."""
        return OpenNode.root(len(self.sample.labels), self.all_tests)

    @property
    def instances(self) -> Mapping[str, Instance]:
        """Network instances, by the names that tests call them."""
        return self.inference.instances

    @property
    def priors(self) -> Priors:
        """Distributions of missing values and missing network outputs."""
        return self.inference.priors

    @property
    def device(self) -> str:
        """The torch device of the networks."""
        return self.inference.device

    @property
    def count(self) -> int:
        """The number of networks that have been created or named."""
        return self.initializer.count

    # The node ------------------------------------------------------------------------------------

    def class_masses(self, node: OpenNode) -> Floats:
        """Weighted mass Σ P(κ|e) of each class, `(class,)`.

        Below networks that were trained on these examples, the validation examples determine the proportions of the classes.
        """
        labels, masses = self.sample.labels_and_masses(node)
        all_masses = np.bincount(labels, masses, self.sample.classes)
        if not self.inference.was_trained_on(node.path):
            return all_masses
        # Networks route their training examples too well: counted on these, the leaf would be overconfident.
        validation_masses = np.bincount(
            labels, np.where(self.sample.unseen[node.rows], masses, 0.0), self.sample.classes
        )
        proportions = (validation_masses + PRIOR_MASS * np.array(leaf_estimate(all_masses))) / (
            validation_masses.sum() + PRIOR_MASS
        )
        estimated: Floats = proportions * all_masses.sum()
        return estimated

    def best_split(self, node: OpenNode) -> Split | None:
        """The candidate with the highest gain among those that save enough bits; None where there is none."""
        symbolic = list(self.symbolic.candidates(node))
        neural, steps = self.neural.candidates(node)
        self.steps += steps
        self.progress.compared(node, [(str(candidate.test), candidate.gain) for candidate in neural])
        best = best_candidate([*symbolic, *neural], self.penalty)
        if best is None:
            return None
        chosen, choices = best
        self.inference.add_instances(chosen.instances)
        return self.make_split(node, chosen.test, chosen.gain, chosen.validated, chosen.candidate, choices)

    def make_split(
        self, node: OpenNode, test: NodeTest, gain: float, validated: bool, candidate: NodeTest | None, choices: float
    ) -> Split:
        """A chosen test with its responses for the examples that reach the node."""
        certain = self.symbolic.certain_responses(node, test)
        responses = self.inference.conditional(node.path, test, node.rows) if certain is None else certain
        return Split(test, responses, gain, validated, candidate, choices)

    # The finished tree ------------------------------------------------------------------------------

    def refine(self, root: Node) -> Node:
        """The finished tree after joint training of all leaves and all networks that are not frozen, by exact likelihood."""
        task = joint_task(root, self.inference, self.config, self.initializer.seed)
        if task is None:
            return root
        trained, steps = train_jointly(task)
        self.steps += steps
        if trained is None:
            return root
        self.inference.replace_networks(trained.networks)
        return with_leaves(root, trained.leaves)

    def regrower(self, root: Node) -> Regrower | None:
        """A learner that regrows the tree from the predictions of its networks; None where these cannot be used."""
        responses = network_responses(root, self.shared_networks, self.neural.tests) if self.may_regrow else {}
        if not responses:
            return None
        symbolic = self.symbolic
        return Regrower(self.inference, symbolic.tests, tuple(symbolic.numbers), responses, self.min_child_mass)

    def networks_of(self, tests: Sequence[NodeTest]) -> dict[str, nn.Module]:
        """The networks of these tests, by name; also stores the average output of each, for examples without its input."""
        self.inference.ensure_priors(tests, always=True)
        used = {call.network for test in tests for call in self.inference.semantics.calls(test)}
        return {name: self.instances[name].module.eval() for name in sorted(used)}

    # Resuming from a checkpoint ------------------------------------------------------------------

    def restore(self, instances: Mapping[str, Instance], count: int, steps: int) -> None:
        """Restore the state after a node: its networks, the number of networks created and of gradient steps."""
        self.inference.add_instances(instances)
        self.initializer.count, self.steps = count, steps

    def restore_refined(self, networks: Mapping[str, nn.Module], steps: int) -> None:
        """Restore the state after joint training: the networks that it changed, and the number of gradient steps."""
        self.inference.replace_networks(networks)
        self.steps = steps

    def network(self, name: str) -> nn.Module:
        """A declared network by name, whose weights are to be loaded."""
        atoms = (AtomTest(getattr(test, "atom", str(test))) for test in self.neural.tests)
        calls = (call for test in atoms for call in self.inference.semantics.calls(test))
        return self.initializer.template(next(call for call in calls if call.network == name))


def _given_instances(networks: Mapping[str, nn.Module | Factory], device: str) -> dict[str, Instance]:
    """Instances of the trained modules that the caller gave: copies, which leave the originals unchanged."""
    return {
        name: Instance(copy.deepcopy(net).to(device), name, frozenset(), True)
        for name, net in networks.items()
        if isinstance(net, nn.Module)
    }


def _input_columns(tests: Sequence[NodeTest], semantics: Semantics) -> list[str]:
    """The input columns of the networks of these tests."""
    return sorted({name for test in tests for call in semantics.calls(test) for name in call.inputs})


def _check_trainable(tests: Sequence[NodeTest], ready: ReadySplitter) -> None:
    """Raise an error for a test with untrained networks that is no atom."""
    for test in tests:
        untrained = ready.untrained(test)
        if untrained and not isinstance(test, AtomTest):
            raise NodeTestError(
                f"Test '{test}' calls network {untrained[0]!r}, which is not trained, and only tests that are atoms "
                "can be trained; write it as a rule, or give a trained network."
            )
