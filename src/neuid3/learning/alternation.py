"""Alternation of growing, joint training and regrowing, compared on validation examples."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from neuid3.identifiability.forms import with_tests
from neuid3.learning.goals import instances_of, tree_log_likelihoods
from neuid3.learning.grow import GrownSubtree, GrowthLimits, grow_tree
from neuid3.learning.sample import Floats, Instance
from neuid3.networks.residual import is_normalised
from neuid3.training.train import standard_errors
from neuid3.tree.components import goals_of
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Node, Path, branches, paths

if TYPE_CHECKING:
    from torch import nn

    from neuid3.learning.checkpoint import CheckpointedLearner
    from neuid3.learning.node_learner import NodeLearner

# A tree that explains this fraction of the entropy of validation examples needs no other start.
SUFFICIENT_FRACTION = 0.9

# The same where all of its networks have batch normalisation: it is noise that they leave unexplained, and no saddle.
SUFFICIENT_FRACTION_CONVERGED = 0.5

# Networks that each read one image, or that have batch normalisation, learn little from further joint training: it takes this fraction of the epochs, and none where
# the regrown tree has the same tests (`docs/notes/speed.md` has the measurements).
FURTHER_FRACTION = 1 / 3

# A difference of so many standard errors is clear: for a second instance of a network, and against a smaller tree.
CLEAR_ERRORS, SMALLER_ERRORS = 2.0, 1.0

TestGains = tuple[tuple[NodeTest, float], ...]


@dataclass(frozen=True, slots=True, eq=False)
class TrainedTree:
    """A tree with its networks.

    Attributes
    ----------
    root : the root.
    test_gains : each test with its gain times the mass of its node, as the tree was grown.
    instances : all networks, by instance.
    bindings : the instance of each declared network.
    likelihoods : the log-likelihood of every validation example, `(example,)`, with leaves estimated from training examples.
    """

    root: Node
    test_gains: TestGains
    instances: Mapping[str, Instance]
    bindings: Mapping[str, str]
    likelihoods: Floats

    @property
    def modules(self) -> dict[str, nn.Module]:
        """The networks that the tree calls and that are trained in a fit, by declared network."""
        called = dict(_instances(self.root))
        return {net: self.instances[name].module for net, name in called.items() if not self.instances[name].frozen}

    @property
    def has_converged(self) -> bool:
        """Whether all of its networks that are trained have batch normalisation: joint training leaves little to a second one."""
        modules = self.modules.values()
        return bool(modules) and all(map(is_normalised, modules))

    @property
    def computes(self) -> bool:
        """Whether some leaf has a goal."""
        return bool(goals_of(self.root))

    @property
    def size(self) -> int:
        """The number of leaves."""
        return sum(1 for _ in paths(self.root))


def alternate(
    learner: NodeLearner | CheckpointedLearner,
    grown: GrownSubtree,
    limits: GrowthLimits,
    is_out_of_time: Callable[[], bool],
) -> tuple[Node, TestGains]:
    """A grown tree after joint training and regrowing, or another one where it does not explain enough.

    Growing with half-trained networks may choose wrong tests, and networks do not learn below a wrong test. So a tree is
    trained jointly and regrown from its networks, as long as validation examples become likelier. Where they stay
    unlikely, the alternation starts once more, from networks that all candidates have pretrained together.

    Parameters
    ----------
    learner : trains trees jointly, pretrains networks and offers candidates; its networks become those of the tree.
    grown : the tree as it was grown.
    limits : stopping and pruning criteria.
    is_out_of_time : whether nothing further may begin.

    Returns
    -------
    The root, and each test with its gain times the mass of its node.
    """
    alternation = Alternation(learner, limits, is_out_of_time)
    return alternation.finished(alternation.alternated(grown))


def alternate_from_candidates(
    learner: NodeLearner | CheckpointedLearner,
    grow: Callable[[], GrownSubtree],
    limits: GrowthLimits,
    is_out_of_time: Callable[[], bool],
) -> tuple[Node, TestGains] | None:
    """A tree whose networks are first trained by all candidates together, and by labels of concepts where there are any.

    With labels, a single test leaves many values of its networks free: if two of three sums of digits are tests of a tree,
    digits of the third may be read as anything that has neither sum. Networks learn the few labelled images of such digits
    by heart, and read others differently. All candidates together leave fewer values free, and labels then carry over.

    Of queries over parts there are many, most of which call the same networks: that all of them train one instance
    costs less than that each trains its own. These queries are refined as the tree grows, so it is grown, and regrown, by the
    learner itself, whose candidates are all ready then.

    Where the tree that is grown from these networks leaves much unexplained, that of the usual alternation competes with it,
    and must be clearly better: a test that is trained alone may predict as well with networks that read few images but the
    labelled ones as their labels say. To train queries one by one takes hours where pictures are large; they compete only where
    no network has learned anything together.

    Parameters
    ----------
    learner : trains trees jointly, pretrains networks and offers candidates; its networks become those of the tree.
    grow : grows a tree, from networks that are trained already where there are any.
    limits : stopping and pruning criteria.
    is_out_of_time : whether nothing further may begin.

    Returns
    -------
    The root, and each test with its gain times the mass of its node; None where the candidates teach nothing together.
    """
    alternation = Alternation(learner, limits, is_out_of_time, grow if learner.refines_queries else None)
    before = alternation.without_tree()
    alternation.progress.stage("pretraining")
    tree = alternation.regrown() if learner.pretrain({}) else None
    if tree is None:
        alternation.restore(before)
        return None
    tree = alternation.improved(tree)
    is_enough = alternation.is_sufficient(tree) or (learner.refines_queries and bool(tree.modules))
    if not (is_enough or is_out_of_time()):
        alternation.restore(before)
        grown = grow()
        if not is_out_of_time():
            usual = Alternation(learner, limits, is_out_of_time)
            tree = alternation.clearly_better(usual.alternated(grown), tree)
        alternation.restore(tree)
    return alternation.finished(tree)


def alternate_from_goals(
    learner: NodeLearner | CheckpointedLearner,
    grow: Callable[[], GrownSubtree],
    limits: GrowthLimits,
    is_out_of_time: Callable[[], bool],
) -> tuple[Node, TestGains]:
    """A tree whose networks are first trained by goals, since no test can be scored before goals can be computed.

    All goals teach their networks together, each weighed for each example by a network that reads the candidate tests and
    the columns. From these networks a tree is grown, trained jointly and regrown. Where it leaves much unexplained, a tree
    that is grown without goals competes with it.

    Parameters
    ----------
    learner : trains trees jointly, pretrains networks and offers candidates; its networks become those of the tree.
    grow : grows a tree without goals.
    limits : stopping and pruning criteria.
    is_out_of_time : whether nothing further may begin.

    Returns
    -------
    The root, and each test with its gain times the mass of its node.
    """
    alternation = Alternation(learner, limits, is_out_of_time)
    before = alternation.without_tree()
    alternation.progress.stage("pretraining")
    tree = alternation.regrown() if learner.pretrain({}) else None
    if tree is not None and len(alternation.weights):
        tree = alternation.improved(tree)
    if tree is not None and (alternation.is_sufficient(tree) or is_out_of_time()):
        return tree.root, tree.test_gains
    alternation.restore(before)
    other = alternation.trained(grow())
    if tree is not None:
        other = alternation.better(tree, other)
    alternation.restore(other)
    return other.root, other.test_gains


class Alternation:
    """Stages of the alternation; each leaves the networks of the learner as those of the tree that it returns.

    Parameters
    ----------
    learner : trains trees jointly, pretrains networks and offers candidates.
    limits : stopping and pruning criteria.
    is_out_of_time : whether nothing further may begin.
    grow : grows a tree from networks that are trained already, which serves as regrowing; None for a tree that is regrown from
        the predictions of its networks.
    """

    def __init__(
        self,
        learner: NodeLearner | CheckpointedLearner,
        limits: GrowthLimits,
        is_out_of_time: Callable[[], bool],
        grow: Callable[[], GrownSubtree] | None = None,
    ) -> None:
        self.learner, self.limits, self.is_out_of_time, self.grow = learner, limits, is_out_of_time, grow
        self.inference, self.sample = learner.inference, learner.inference.sample
        self.weights = self.sample.weights[self.sample.unseen]
        self.progress = learner.progress

    def without_tree(self) -> TrainedTree:
        """A single leaf, with those networks only that were trained before the fit."""
        given = {name: instance for name, instance in self.inference.instances.items() if not instance.trained_on}
        leaf = self.sample.criterion.leaf(self.sample.target.sums())
        return TrainedTree(leaf, (), given, {}, self.log_likelihoods(leaf))

    def state(self, root: Node, test_gains: TestGains) -> TrainedTree:
        """A tree with the networks as they are now."""
        inference = self.inference
        return TrainedTree(
            root, test_gains, dict(inference.instances), dict(inference.bindings), self.log_likelihoods(root)
        )

    def restore(self, tree: TrainedTree) -> None:
        """Go back to the networks of a tree."""
        self.inference.bindings = dict(tree.bindings)
        self.inference.set_instances(tree.instances)

    def alternated(self, grown: GrownSubtree) -> TrainedTree:
        """A grown tree after joint training and regrowing, or one from pretrained networks where that explains too little."""
        learner, before = self.learner, self.without_tree()
        was_trained = learner.steps > 0  # otherwise there is too little to train on, or a bank suffices
        tree = self.trained(grown)
        if len(self.weights):
            tree = self.improved(tree)
        if was_trained and not self.is_sufficient(tree) and not self.is_out_of_time():
            self.restore(before)
            self.progress.stage("pretraining")
            other = self.regrown() if learner.pretrain(tree.modules) else None
            if other is not None:
                tree = self.better(self.improved(other), tree)
            self.restore(tree)
        return tree

    def trained(self, grown: GrownSubtree) -> TrainedTree:
        """A grown tree after joint training."""
        self.progress.stage("joint training")
        root = self.learner.settled(self.reread(grown.node))
        tree = self.state(self.learner.refine(root), grown.test_gains)
        self._report("tree after joint training", tree)
        return tree

    def reread(self, root: Node, first_form: bool = False) -> Node:
        """The tree in the form under which labels of concepts are most likely, perhaps the first; it predicts the same."""
        reread = self.learner.reread(root, first_form)
        if reread is not root:
            left = {instance for _, instance in _instances(root)}
            kept = {network: name for network, name in self.inference.bindings.items() if name not in left}
            self.inference.bindings = kept | dict(_instances(reread))
        return reread

    def finished(self, tree: TrainedTree) -> tuple[Node, TestGains]:
        """A tree with further instances of its networks where these are better, in the form that labels ask for."""
        if not self.is_out_of_time():
            tree = self.untied(tree)
        return self.reread(tree.root, first_form=True), tree.test_gains

    def _report(self, text: str, tree: TrainedTree) -> None:
        if len(self.weights):
            self.progress.tree(text, tree.size, -self.mean(tree) / np.log(2.0))

    def regrown(self, known: TrainedTree | None = None) -> TrainedTree | None:
        """The tree that the networks of now give, trained jointly where validation examples become likelier by it.

        None where there is nothing to regrow a tree from. None also where the tests are those of a tree `known` that these
        networks have been trained in, if all of them read one image each or have batch normalisation.
        """
        self.progress.stage("regrowing and joint training")
        if self.grow is not None:
            grown = self.grow()
        else:
            regrower = self.learner.regrower()
            if regrower is None:
                return None
            grown = grow_tree(regrower, regrower.root, self.limits)
        is_further = known is not None and (self.learner.reads_single_images or known.has_converged)
        if is_further and known is not None and _test_paths(grown.node) == _test_paths(known.root):
            return None
        before = self.state(self.learner.settled(self.reread(grown.node)), grown.test_gains)
        fraction = FURTHER_FRACTION if is_further else 1.0
        after = self.state(self.learner.refine(before.root, fraction), grown.test_gains)
        is_better = not len(self.weights) or self.mean(after) > self.mean(before)
        best = after if is_better else before
        self.restore(best)
        self._report("regrown tree", best)
        return best

    def improved(self, tree: TrainedTree) -> TrainedTree:
        """A tree after rounds of regrowing and joint training, as long as it becomes better."""
        for _ in range(self.learner.config.rounds):
            if self.is_out_of_time():
                break
            regrown = self.regrown(tree)
            if regrown is None or not self._is_improved(regrown, tree):
                self.restore(tree)
                break
            tree = regrown
        return tree

    def _is_improved(self, tree: TrainedTree, before: TrainedTree) -> bool:
        """Whether validation examples are likelier, or the tree is smaller and they are not clearly less likely.

        A single leaf replaces no tree: the splits of that have paid their penalty.
        """
        errors = self._errors(before, tree)
        return (tree.size > 1 or tree.computes) and (
            errors > 1e-6 or (tree.size < before.size and errors >= -CLEAR_ERRORS)
        )

    def better(self, one: TrainedTree, other: TrainedTree) -> TrainedTree:
        """The smaller one of two trees, unless validation examples are likelier under the larger one by a standard error.

        A single leaf replaces no tree, see `_is_improved`.
        """
        if one.size == 1 and not one.computes:
            return other
        small, large = (one, other) if one.size <= other.size else (other, one)
        return large if self._errors(small, large) > SMALLER_ERRORS else small

    def clearly_better(self, one: TrainedTree, other: TrainedTree) -> TrainedTree:
        """The first of two trees where validation examples are clearly likelier under it; otherwise the second.

        A single leaf replaces no tree, and every tree replaces a single leaf.
        """
        if 1 in (one.size, other.size):
            return other if one.size == 1 else one
        return one if self._errors(other, one) > CLEAR_ERRORS else other

    def untied(self, tree: TrainedTree) -> TrainedTree:
        """The tree with an instance of its own for every test, where validation examples are clearly likelier then.

        Each further instance must also save the bits of a split: where all examples are a little likelier, the difference
        is clear and says nothing. A network that has labels keeps one instance. A tree that explains enough is not
        trained again.
        """
        if tree.computes or self.is_sufficient(tree):  # goals and tests call one instance of each network
            return tree
        tests = dict.fromkeys(branch.test for branch in branches(tree.root))
        uses = Counter(instance for test in tests for _, instance in test.instances)
        tied = {name for name, count in uses.items() if count > 1 and self._may_have_copies(name)}
        if not tied or not self.learner.config.reuse:
            return tree
        self.progress.stage("joint training with an instance of its own for every test")
        replaced = {test: self._with_copies(test, tied) for test in list(tests)[1:]}
        untied = self.state(self.learner.refine(with_tests(tree.root, replaced)), _renamed(tree.test_gains, replaced))
        self._report("tree with more instances of its networks", untied)
        copies = len(untied.instances) - len(tree.instances)
        if (
            self._errors(tree, untied) > CLEAR_ERRORS
            and self._saved_bits(tree, untied) >= copies * self.learner.penalty
        ):
            return untied
        self.restore(tree)
        return tree

    def _may_have_copies(self, name: str) -> bool:
        """Whether a network may mean something else in other tests: not if it is frozen, nor if labels say what it means."""
        instance = self.inference.instances[name]
        return not instance.frozen and instance.network not in self.inference.sample.anchors

    def _with_copies(self, test: NodeTest, tied: set[str]) -> NodeTest:
        """A test whose tied instances are replaced by copies, which become instances of the learner."""
        instances = dict(test.instances)
        for network, name in instances.items():
            if name in tied:
                own = self.inference.instances[name]
                number = self.learner.next_number()
                instances[network] = f"{own.network}#{number}"
                module = copy.deepcopy(own.module)
                copied = Instance(module, own.network, own.trained_on, own.frozen, own.is_shared)
                self.inference.add_instances({instances[network]: copied})
        return test.bind(instances)

    # What validation examples say ----------------------------------------------------------------

    def is_sufficient(self, tree: TrainedTree) -> bool:
        """Whether a tree explains so much of the validation examples that no other start is tried."""
        if not len(self.weights):
            return True
        entropy = -self.mean(self.without_tree())
        fraction = SUFFICIENT_FRACTION_CONVERGED if tree.has_converged else SUFFICIENT_FRACTION
        return entropy + self.mean(tree) >= fraction * entropy

    def mean(self, tree: TrainedTree) -> float:
        """The mean log-likelihood of validation examples, in nats."""
        return float(np.average(tree.likelihoods, weights=self.weights))

    def _errors(self, before: TrainedTree, after: TrainedTree) -> float:
        """By how many standard errors of the difference validation examples became likelier."""
        return standard_errors(before.likelihoods, after.likelihoods, self.weights)

    def _saved_bits(self, before: TrainedTree, after: TrainedTree) -> float:
        """The bits by which all validation examples together became likelier."""
        return float(self.weights @ (after.likelihoods - before.likelihoods)) / float(np.log(2.0))

    def log_likelihoods(self, root: Node) -> Floats:
        """The log-likelihood of every validation example, `(example,)`, with leaves estimated from training examples."""
        return tree_log_likelihoods(root, self.inference, self.learner.goals)


def _test_paths(root: Node) -> list[Path]:
    """The tests and responses on the path to each leaf."""
    return [path for path, _ in paths(root)]


def _instances(root: Node) -> list[tuple[str, str]]:
    """The instance of each declared network that the tests and goals of a tree call."""
    return [*(pair for branch in branches(root) for pair in branch.test.instances), *instances_of(root)]


def _renamed(test_gains: TestGains, tests: Mapping[NodeTest, NodeTest]) -> TestGains:
    return tuple((tests.get(test, test), gain) for test, gain in test_gains)
