"""The learner of nodes: scores all candidates, chooses the best split and keeps its networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from neuid3.data.parts import has_parts
from neuid3.data.priors import Priors, with_quantiles
from neuid3.learning.candidates import Candidates
from neuid3.learning.generators import CandidateGenerator, FixedCandidates, NodeCandidates
from neuid3.learning.goals import NO_GOALS, GoalCandidates, bound_goal, is_ready, settled, with_goals
from neuid3.learning.grow import OpenNode, Split, split_node
from neuid3.learning.inference import ExactInference
from neuid3.learning.node_bounds import NodeBounds
from neuid3.learning.progress import SilentProgress
from neuid3.learning.query_splitter import QuerySplitter
from neuid3.learning.sample import Factory, Floats, Instance, Sample
from neuid3.learning.splitter import Splitter, best_candidate
from neuid3.learning.symbolic_splitter import SymbolicSplitter
from neuid3.logic.formula import expressions_in
from neuid3.logic.program import Program
from neuid3.networks.backend import select_backend
from neuid3.queries.refine import Language
from neuid3.training.config import TrainingConfig
from neuid3.tree.components import goals_of
from neuid3.tree.constraints import FREE, Constraints, TestOrders
from neuid3.tree.criteria import Criterion
from neuid3.tree.inference import arrays_for
from neuid3.tree.monotone import monotone_tree
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.semantics import Semantics
from neuid3.tree.tree import Branch, Node, Tree

if TYPE_CHECKING:
    from torch import nn

    from neuid3.learning.network_learning import NetworkLearning
    from neuid3.learning.regrow import Regrower
    from neuid3.learning.training_splitter import TrainingSplitter


class NodeLearner:
    """Scores all candidates at a node, trains those that need it, and keeps the networks of the chosen ones.

    Parameters
    ----------
    sample : labelled examples, with the validation split.
    program : background knowledge.
    candidates : tests and number columns that are known before the tree is grown.
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
    generator : the candidates of each node; by default all of `candidates`.
    bank_tests : tests of a bank, which are tried before others are trained.
    progress : receives reports.
    goals : the goals that leaves may hold.
    constraints : what the tree must keep to.
    language : what queries over parts may be made of; None where none are tried.
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
        generator: CandidateGenerator | None = None,
        bank_tests: frozenset[NodeTest] = frozenset(),
        progress: SilentProgress | None = None,
        goals: GoalCandidates = NO_GOALS,
        constraints: Constraints = FREE,
        language: Language | None = None,
    ) -> None:
        self.sample, self.penalty = sample, penalty
        self.progress = progress or SilentProgress()
        complete = frozenset(name for name, column in sample.examples.items() if column.missing is None)
        semantics = Semantics(program, candidates.tests, complete)
        families = [family.formula for family in candidates.families]
        expressions = expressions_in([*map(semantics.formula, candidates.tests), *families])
        priors = with_quantiles(priors, {name for expression in expressions for name in expression.columns})
        self.orders = None if constraints.is_empty else TestOrders(constraints, program)
        if self.orders is not None:
            self.orders.check(candidates.tests)
        self.bounds = NodeBounds(self.orders) if self.orders is not None and constraints.directions else None
        self.candidates = NodeCandidates(generator or FixedCandidates(), candidates, program, seed, self.orders)
        at_root = self.candidates.at(self.root).tests
        neural = [test for test in dict.fromkeys((*candidates.tests, *at_root)) if semantics.is_neural(test)]
        may_add_neural = not isinstance(generator, FixedCandidates | None) and bool(program.networks)
        self.goals = goals
        computes = any(semantics.goal_calls(goal) for goal in goals.goals)
        has_networks = bool(neural or networks or reused or may_add_neural or computes)
        instances = dict(reused or {})
        if has_networks:
            # Imported here, since a table without networks is learned without torch.
            from neuid3.learning.network_learning import NetworkLearning, given_instances

            instances = {**given_instances(networks, device), **instances}
            # Found by its name in this process, since workers do not know the backends that are registered here.
            config = replace(config, backend=select_backend(config.backend))
        self.config = config
        arrays = arrays_for(neural=has_networks, device=device)
        self.inference = ExactInference(sample, semantics, instances, priors, device, arrays)
        if len(goals):
            self.inference = with_goals(self.inference, goals)
            self.sample = self.inference.sample
        self.network_learning: NetworkLearning | None = None
        if has_networks:
            self.network_learning = NetworkLearning(
                self.inference,
                neural,
                networks,
                config,
                root_tests=[test for test in neural if test in set(at_root)],
                reads_all_columns=may_add_neural,
                penalty=penalty,
                min_child_mass=min_child_mass,
                adaptive=adaptive,
                share_networks=share_networks,
                seed=seed,
                jobs=jobs,
                bank_tests=bank_tests,
                progress=self.progress,
                goals=goals,
            )
        self.symbolic = SymbolicSplitter(self.inference, candidates, min_child_mass)
        self.splitters: tuple[Splitter, ...] = (self.symbolic, *(() if self.neural is None else (self.neural,)))
        if language is not None:
            self.splitters = (*self.splitters, QuerySplitter(self.inference, language, min_child_mass))

    @property
    def root(self) -> OpenNode:
        """The root, with all examples."""
        return OpenNode.root(len(self.sample), self.bounds)

    @property
    def criterion(self) -> Criterion:
        """What is counted, how good a split is, what a leaf says."""
        return self.sample.growth_criterion

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
    def steps(self) -> int:
        """The number of gradient steps so far."""
        return 0 if self.neural is None else self.neural.steps

    @property
    def count(self) -> int:
        """The number of networks that have been created or named."""
        return 0 if self.network_learning is None else self.network_learning.initializer.count

    @property
    def neural(self) -> TrainingSplitter | None:
        """Scores and trains the candidates that call networks; None where there are no networks."""
        return None if self.network_learning is None else self.network_learning.splitter

    @property
    def pool(self) -> AbstractContextManager[Any]:
        """The worker processes that train networks."""
        return nullcontext() if self.network_learning is None else self.network_learning.pool

    @property
    def threads(self) -> AbstractContextManager[Any]:
        """A context with as many threads as calls of networks on the examples can use."""
        return nullcontext() if self.network_learning is None else self.network_learning.threads()

    @property
    def reads_single_images(self) -> bool:
        """Whether every test with a network is one Boolean call on one image."""
        return self.network_learning is not None and self.network_learning.reads_single_images and not len(self.goals)

    # The node ------------------------------------------------------------------------------------

    def leaf_statistics(self, node: OpenNode) -> Floats:
        """The statistics of the targets that a leaf at this node is estimated from, `(statistic,)`.

        Below networks that were trained on these examples, the validation examples determine the proportions.

        Parameters
        ----------
        node : the node, with the rows that reach it and their P(κ|e).

        Returns
        -------
        Statistics, `(statistic,)`.
        """
        target = self.sample.target_at(node)
        if not self.inference.was_trained_on(node.path):
            return target.sums()
        validation = target.weighted(np.where(self.sample.unseen[node.rows], target.weights, 0.0))
        return self.criterion.leaf_statistics(target.sums(), validation.sums())

    def offered(self, node: OpenNode) -> Candidates:
        """The candidates of a node, which are known from now on, also where its split is loaded from a checkpoint.

        Parameters
        ----------
        node : the node.

        Returns
        -------
        The candidates.
        """
        offered = self.candidates.at(node)
        if offered is not self.candidates.listed:
            self.symbolic.add(offered)
            if self.neural is not None:
                self.neural.add(offered)
        return offered

    def best_split(self, node: OpenNode) -> Split | None:
        """The candidate with the highest gain among those that save enough bits; None where there is none.

        Parameters
        ----------
        node : the node, with the rows that reach it and their P(κ|e).

        Returns
        -------
        The split, or None.
        """
        offered = self.offered(node)
        scored = [candidate for splitter in self.splitters for candidate in splitter.candidates(node, offered)]
        scored = [candidate for candidate in scored if self.candidates.is_allowed(node, candidate.test)]
        while (best := best_candidate(scored, self.penalty)) is not None:
            chosen, choices = best
            self.inference.add_instances(chosen.instances)
            if self._keeps_order(node, chosen.test):
                return self.make_split(node, chosen.test, chosen.gain, chosen.validated, chosen.candidate, choices)
            scored.remove(chosen)
        return None

    def _keeps_order(self, node: OpenNode, test: NodeTest) -> bool:
        """Whether the children of a split predict in the order of monotone constraints, as they will be estimated."""
        if node.bounds is None or node.bounds.orders.of(test) == 0:
            return True
        split = Split(test, self._responses(node, test), 0.0, False, None)
        yes, no = (self.leaf_statistics(child) for child in split_node(node, split, 0.0))
        return node.bounds.children(self.criterion, test, yes, no) is not None

    def _responses(self, node: OpenNode, test: NodeTest) -> Floats:
        """P(τ | κ, e) of the examples that reach a node, Boolean where all of them are certain."""
        certain = self.symbolic.certain_responses(node, test)
        return self.inference.conditional(node.path, test, node.rows) if certain is None else certain

    def make_split(
        self, node: OpenNode, test: NodeTest, gain: float, validated: bool, candidate: NodeTest | None, choices: float
    ) -> Split:
        """A chosen test with its responses for the examples that reach the node.

        Parameters
        ----------
        node : the node, with the rows that reach it and their P(κ|e).
        test : the chosen test, with the instances of its networks.
        gain : its gain, in the unit of the criterion.
        validated : whether the gain was measured on unseen examples.
        candidate : the candidate that is used up below the node; None where it may be chosen again.
        choices : the number of tests that it was chosen from, M / T.

        Returns
        -------
        The split.
        """
        if self.config.reuse:
            for network, instance in test.instances:
                self.inference.bindings.setdefault(network, instance)
        return Split(test, self._responses(node, test), gain, validated, candidate, choices)

    @property
    def teaches_goals(self) -> bool:
        """Whether a goal calls a network that is not trained yet, so that goals teach it before the tree is grown."""
        return not all(is_ready(self.inference, bound_goal(self.inference, goal)) for goal in self.goals.goals)

    @property
    def refines_queries(self) -> bool:
        """Whether tests with networks are queries over parts, which are refined as the tree grows."""
        return self.neural is not None and has_parts(self.sample.examples.schema)

    @property
    def pretrains_first(self) -> bool:
        """Whether all candidates together teach networks before the tree is grown: with labels, or over parts."""
        if self.neural is None or len(self.goals) or not self.may_pretrain:
            return False
        if not (self.sample.anchors or self.refines_queries):
            return False
        return bool(self.sample.unseen.any()) and self.neural.trains_at(self.root, self.offered(self.root))

    def settled(self, root: Node) -> Node:
        """A grown tree with the best kind of leaf at each of its leaves: a plain one, or one with a goal.

        Parameters
        ----------
        root : the root of the tree.

        Returns
        -------
        The root of a tree with the same tests.
        """
        return settled(root, self.inference, self.goals) if len(self.goals) else root

    # The finished tree ------------------------------------------------------------------------------

    def refine(self, root: Node, fraction: float = 1.0) -> Node:
        """The finished tree after joint training of all leaves and all networks that are not frozen, by exact likelihood.

        Parameters
        ----------
        root : the root of the tree.
        fraction : the fraction of the configured epochs.

        Returns
        -------
        The root of the trained tree; the given one where unseen examples become clearly less likely.
        """
        if self.network_learning is None:
            return root
        refined, steps = self.network_learning.refined(root, fraction)
        self.network_learning.splitter.steps += steps
        return refined

    def reread(self, root: Node, first_form: bool = False) -> Node:
        """The tree in the form under which labels of concepts are most likely, see `learning.rereading`.

        Parameters
        ----------
        root : the root of the tree.
        first_form : whether, of forms that labels do not tell apart, the one is chosen whose tests stand first.

        Returns
        -------
        The root of a tree that predicts the same.
        """
        first_form = first_form and self.config.reuse
        if self.network_learning is None or not (self.sample.anchors or first_form) or goals_of(root):
            return root  # goals say what the values of their networks mean
        return self.network_learning.reread(root, first_form)

    def constrained(self, root: Node) -> tuple[Node, list[Branch]]:
        """The finished tree with leaf values that keep to monotone constraints, and the branches that it lost.

        Parameters
        ----------
        root : the root of the tree.

        Returns
        -------
        The root of the new tree, the same one without constraints; and the branches that became leaves.
        """
        if self.orders is None:
            return root, []
        positive = getattr(self.criterion, "positive", 0)
        return monotone_tree(root, self.orders.program, self.orders.constraints, positive)

    def regrower(self) -> Regrower | None:
        """A learner that regrows the tree from the predictions of its networks; None where these cannot be used."""
        if self.network_learning is None:
            return None
        symbolic = Candidates(self.symbolic.tests, tuple(self.symbolic.numbers), families=tuple(self.symbolic.families))
        return self.network_learning.regrower(symbolic, self.candidates.at, self.bounds)

    def pretrain(self, starts: Mapping[str, nn.Module]) -> bool:
        """Train one instance of each network by all candidates of the root at once; False where they teach nothing together.

        Parameters
        ----------
        starts : networks that some restarts begin with, by declared network.

        Returns
        -------
        Whether there are pretrained networks now.
        """
        if self.network_learning is None or not self.may_pretrain:
            return False
        return self.network_learning.pretrain(self.offered(self.root), starts)

    def pretrain_by_columns(self) -> bool:
        """Train networks that many columns of images share, where `TrainingConfig.shared` is set; no tree is grown.

        Returns
        -------
        Whether there are pretrained networks now, which all tests of these columns may call.
        """
        if self.network_learning is None:
            return False
        with self.progress, self.pool, self.threads:
            return self.network_learning.pretrain_by_columns(self.offered(self.root))

    @property
    def may_pretrain(self) -> bool:
        """Whether all candidates may pretrain networks; not where columns have done so before the first split. Goals need it."""
        return len(self.goals) > 0 or (self.config.pretrain and self.config.reuse and not self.config.shared)

    def next_number(self) -> int:
        """The number of the next network."""
        assert self.network_learning is not None
        return self.network_learning.initializer.next_number()

    def networks_of_tree(self, tree: Tree) -> dict[str, nn.Module]:
        """The networks of the tests and goals of a tree, as `networks_of` gives them.

        Parameters
        ----------
        tree : the tree.

        Returns
        -------
        The networks, by instance.
        """
        computed = [test for goal in tree.goals for _, test in self.inference.semantics.value_tests(goal)]
        return self.networks_of([*tree.tests, *computed])

    def networks_of(self, tests: Sequence[NodeTest]) -> dict[str, nn.Module]:
        """The networks of these tests, by name; also stores the average output of each, for examples without its input.

        Parameters
        ----------
        tests : tests of the tree.

        Returns
        -------
        The networks, by instance.
        """
        self.inference.ensure_priors(tests, always=True)
        used = {call.network for test in tests for call in self.inference.semantics.calls(test)}
        return {name: self.instances[name].module.eval() for name in sorted(used)}

    # Resuming from a checkpoint ------------------------------------------------------------------

    def restore(self, instances: Mapping[str, Instance], count: int, steps: int) -> None:
        """Restore the state after a node: its networks, the number of networks created and of gradient steps.

        Parameters
        ----------
        instances : the networks of the node, by instance.
        count : the number of networks created so far.
        steps : the number of gradient steps so far.
        """
        self.inference.add_instances(instances)
        if self.network_learning is not None:
            self.network_learning.initializer.count, self.network_learning.splitter.steps = count, steps

    def restore_refined(self, networks: Mapping[str, nn.Module], steps: int) -> None:
        """Restore the state after joint training: the networks that it changed, and the number of gradient steps.

        Parameters
        ----------
        networks : the changed networks, by instance.
        steps : the number of gradient steps so far.
        """
        self.inference.replace_networks(networks)
        if self.neural is not None:
            self.neural.steps = steps

    def network(self, name: str) -> nn.Module:
        """A declared network by name, whose weights are to be loaded.

        Parameters
        ----------
        name : the name of a network in the program.

        Returns
        -------
        A new network.
        """
        if self.network_learning is None:
            raise LookupError(f"this fit has no network {name!r}")
        return self.network_learning.network(name)
