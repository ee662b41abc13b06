"""The learner of nodes: scores all candidates, chooses the best split and keeps its networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from neuid3.data.priors import Priors
from neuid3.learning.candidates import Candidates
from neuid3.learning.grow import OpenNode, Split
from neuid3.learning.inference import ExactInference
from neuid3.learning.progress import SilentProgress
from neuid3.learning.sample import Factory, Floats, Instance, Sample, ScoredCandidate, best_candidate
from neuid3.learning.symbolic_splitter import SymbolicSplitter
from neuid3.logic.program import Program
from neuid3.training.config import TrainingConfig
from neuid3.tree.criteria import leaf_estimate
from neuid3.tree.inference import arrays_for
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.semantics import Semantics
from neuid3.tree.tree import Node

if TYPE_CHECKING:
    from torch import nn

    from neuid3.learning.network_learning import NetworkLearning
    from neuid3.learning.regrow import Regrower
    from neuid3.learning.training_splitter import TrainingSplitter

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
        self.sample, self.penalty = sample, penalty
        self.progress = progress or SilentProgress()
        self.all_tests = frozenset(candidates.tests)
        self.steps = 0
        semantics = Semantics(program)
        neural = [test for test in candidates.tests if semantics.is_neural(test)]
        has_networks = bool(neural or networks or reused)
        instances = dict(reused or {})
        if has_networks:
            # Imported here, since a table without networks is learned without torch.
            from neuid3.learning.network_learning import NetworkLearning, given_instances

            instances = {**given_instances(networks, device), **instances}
        arrays = arrays_for(neural=has_networks, device=device)
        self.inference = ExactInference(sample, semantics, instances, priors, device, arrays)
        self.networks: NetworkLearning | None = None
        if has_networks:
            self.networks = NetworkLearning(
                self.inference,
                neural,
                networks,
                config,
                penalty=penalty,
                min_child_mass=min_child_mass,
                adaptive=adaptive,
                share_networks=share_networks,
                seed=seed,
                jobs=jobs,
                bank_tests=bank_tests,
                progress=self.progress,
            )
        symbolic_tests = [test for test in candidates.tests if not semantics.is_neural(test)]
        self.symbolic = SymbolicSplitter(self.inference, symbolic_tests, candidates.numbers, min_child_mass)

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
        return 0 if self.networks is None else self.networks.initializer.count

    @property
    def neural(self) -> TrainingSplitter | None:
        """Scores and trains the candidates that call networks; None where there are no networks."""
        return None if self.networks is None else self.networks.splitter

    @property
    def pool(self) -> AbstractContextManager[Any]:
        """The worker processes that train networks."""
        return nullcontext() if self.networks is None else self.networks.pool

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
        neural: list[ScoredCandidate] = []
        if self.neural is not None:
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
        if self.networks is None:
            return root
        refined, steps = self.networks.refined(root)
        self.steps += steps
        return refined

    def regrower(self, root: Node) -> Regrower | None:
        """A learner that regrows the tree from the predictions of its networks; None where these cannot be used."""
        return None if self.networks is None else self.networks.regrower(root, self.symbolic)

    def networks_of(self, tests: Sequence[NodeTest]) -> dict[str, nn.Module]:
        """The networks of these tests, by name; also stores the average output of each, for examples without its input."""
        self.inference.ensure_priors(tests, always=True)
        used = {call.network for test in tests for call in self.inference.semantics.calls(test)}
        return {name: self.instances[name].module.eval() for name in sorted(used)}

    # Resuming from a checkpoint ------------------------------------------------------------------

    def restore(self, instances: Mapping[str, Instance], count: int, steps: int) -> None:
        """Restore the state after a node: its networks, the number of networks created and of gradient steps."""
        self.inference.add_instances(instances)
        self.steps = steps
        if self.networks is not None:
            self.networks.initializer.count = count

    def restore_refined(self, networks: Mapping[str, nn.Module], steps: int) -> None:
        """Restore the state after joint training: the networks that it changed, and the number of gradient steps."""
        self.inference.replace_networks(networks)
        self.steps = steps

    def network(self, name: str) -> nn.Module:
        """A declared network by name, whose weights are to be loaded."""
        if self.networks is None:
            raise LookupError(f"this fit has no network {name!r}")
        return self.networks.network(name)
