"""Choice between equivalent forms of a tree by labels: networks and their values are renamed, and nothing is trained."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from neuid3.errors import CircuitLimitError, GroundingLimitError, SearchLimitError
from neuid3.identifiability.forms import results, with_tests
from neuid3.identifiability.group_search import MIN_GAIN, Floats, GroupSearch, best_assignment
from neuid3.identifiability.rewriting_search import Rewriting, rewritings
from neuid3.identifiability.symmetries import Deadline, PairOfFunctions, interchangeable_values, symmetry_group
from neuid3.logic.formula import Formula, Literal, NeuralVariable, bottom_up
from neuid3.logic.program import Program
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Node, branches

# For an instance and a declared network, the log-likelihood of the network's labels of each value if that value is read off
# each output of the instance, `(output, value)`; relative to a network that guesses, in nats.
LabelLikelihoods = Mapping[tuple[str, str], Floats]

# Seconds that the search for a better reading may take.
SECONDS = 30.0

# At most so many rewritings are made one after the other.
MAX_STEPS = 16

Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """Where the outputs of a network come from.

    Attributes
    ----------
    instance : the network instance of the tree before.
    order : for each output the number of that instance's value whose probability it is.
    """

    instance: str
    order: Order

    @property
    def is_reordered(self) -> bool:
        """Whether outputs change their places."""
        return self.order != tuple(range(len(self.order)))


@dataclass(frozen=True, slots=True)
class Rereading:
    """A tree that predicts the same, with other tests or other names for the values of its networks.

    Attributes
    ----------
    root : the root of the tree.
    networks : the source of each network instance of the tree.
    declared : the declared network of each instance.
    gain : by how many nats labels become more likely; 0 where the tree is as it was.
    """

    root: Node
    networks: Mapping[str, Source]
    declared: Mapping[str, str]
    gain: float = 0.0

    @property
    def changed(self) -> dict[str, Source]:
        """The instances that are new or whose outputs are reordered."""
        return {
            name: source for name, source in self.networks.items() if source.instance != name or source.is_reordered
        }


def most_likely_rereading(
    root: Node,
    program: Program,
    likelihoods: LabelLikelihoods,
    *,
    candidates: Iterable[NodeTest] = (),
    kinds: Mapping[str, Hashable] | None = None,
    fixed: Collection[str] = (),
    name: Callable[[str], str] | None = None,
    first_form: bool = False,
    apart: bool = False,
    deadline: Deadline | None = None,
) -> Rereading:
    """Among the structural re-readings of a tree, the one under which labels are most likely.

    Parameters
    ----------
    root : the root of the tree.
    program : the background knowledge of its tests.
    likelihoods : log-likelihoods of labels for pairs of an instance and a declared network; none for pairs without labels.
    candidates : the tests that the tree could have been made of.
    kinds : what must be the same of two networks that are exchanged, such as their architecture; see `equivalence`.
    fixed : instances whose values and names stay as they are, such as networks that came trained.
    name : a name for a new instance of a declared network; by default the name of the network.
    first_form : whether, of readings under which labels are equally likely, the one is chosen whose tests stand first
        among the candidates.
    apart : whether tests of one predicate that call different instances of a network are replaced apart.
    deadline : where it passes, the best reading so far is returned.

    Returns
    -------
    The tree with the sources of its networks; the given tree where no reading makes labels more likely, or where its
    circuits exceed their limits.
    """
    listed = tuple(candidates)
    places = {test.bind({}): place for place, test in reversed(list(enumerate(listed)))} if first_form else {}
    choice = _Choice(
        program, likelihoods, listed, kinds, frozenset(fixed), name or str, deadline or Deadline(), places, apart
    )
    current = choice.unchanged(root)
    try:
        for _ in range(MAX_STEPS):
            better = choice.better(current)
            if better is None:
                break
            current = better
    except (SearchLimitError, CircuitLimitError, GroundingLimitError):
        pass
    return current


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """The search for the most likely reading."""

    program: Program
    likelihoods: LabelLikelihoods
    candidates: tuple[NodeTest, ...]
    kinds: Mapping[str, Hashable] | None
    fixed: frozenset[str]
    name: Callable[[str], str]
    deadline: Deadline
    places: Mapping[NodeTest, int]  # of candidates, where earlier forms are preferred
    apart: bool

    def unchanged(self, root: Node) -> Rereading:
        """The tree as it is."""
        variables = self._variables(root)
        sources = {name: Source(name, tuple(range(v.size))) for name, v in variables.items()}
        return Rereading(root, sources, {name: self._declared(v) for name, v in variables.items()})

    def _variables(self, root: Node) -> dict[str, NeuralVariable]:
        """A variable of each network instance."""
        formulas = results(root, self.program)[1]
        return {v.network: v for v in sorted(_neural_variables(formulas), key=lambda v: (v.network, v.inputs))}

    def _declared(self, variable: NeuralVariable) -> str:
        return self.program.declarations[variable.declaration].network

    def _scores(self, reading: Rereading, instance: str, network: str) -> Floats:
        """The log-likelihood of a network's labels of each value, by the outputs of an instance, `(output, value)`."""
        source = reading.networks[instance]
        size = len(source.order)
        scores = self.likelihoods.get((source.instance, network))
        ordered = np.zeros((size, size)) if scores is None else scores[list(source.order)]
        if instance in self.fixed:
            ordered = np.where(np.eye(size, dtype=bool), ordered, -np.inf)
        return ordered

    def better(self, reading: Rereading) -> Rereading | None:
        """The best reading that one rewriting and a permutation of values lead to; None where none is better."""
        of_tree = {name: self._scores(reading, name, declared) for name, declared in reading.declared.items()}
        before = sum(float(scores.trace()) for scores in of_tree.values())
        form = self._form(reading.root)
        if not self._can_improve(reading, before) and not any(form):
            return None
        formulas = results(reading.root, self.program)[1]
        group = symmetry_group(formulas, self.program.limits, self.deadline)
        pair = PairOfFunctions(formulas, formulas, self.program.limits, self.deadline)
        search = GroupSearch(group, interchangeable_values(pair, group), self.deadline)
        rewritten, _ = rewritings(
            reading.root, self.candidates, self.program, kinds=self.kinds, apart=self.apart, deadline=self.deadline
        )
        best, best_form, chosen = before, form, None
        for rewriting in (None, *rewritten):
            found = self._rewritten(reading, rewriting, search)
            if found is None:
                continue
            likelihood, form = found[0], self._form(found[1].root)
            if likelihood > best + MIN_GAIN or (likelihood >= best - MIN_GAIN and form < best_form):
                best, best_form, chosen = likelihood, form, found[1]
        if chosen is None:
            return None
        return Rereading(chosen.root, chosen.networks, chosen.declared, reading.gain + best - before)

    def _form(self, root: Node) -> tuple[int, ...]:
        """The places of a tree's tests among the candidates, in preorder; empty where no form is preferred."""
        return tuple(self.places.get(branch.test.bind({}), 0) for branch in branches(root)) if self.places else ()

    def _can_improve(self, reading: Rereading, before: float) -> bool:
        """Whether labels could be more likely if every instance took any name and any permutation of its values."""
        networks = {network for _, network in self.likelihoods}
        bound = 0.0
        for instance, declared in reading.declared.items():
            is_fixed = instance in self.fixed
            size = len(reading.networks[instance].order)
            of_names = (
                self._scores(reading, instance, name) for name in ({declared} if is_fixed else {declared, *networks})
            )
            best = max(best_assignment(scores)[1] for scores in of_names if len(scores) == size)
            bound += best if is_fixed else max(best, 0.0)  # a name without labels is neither likely nor unlikely
        return bound > before + MIN_GAIN

    def _rewritten(
        self, reading: Rereading, rewriting: Rewriting | None, search: GroupSearch
    ) -> tuple[float, Rereading] | None:
        """The log-likelihood of labels after a rewriting with the best permutation of values, and the reading."""
        names = {name: name for name in reading.declared}
        maps = {name: tuple(range(len(source.order))) for name, source in reading.networks.items()}
        root, declared = reading.root, dict(reading.declared)
        if rewriting is not None:
            names |= rewriting.equivalence.networks
            maps |= rewriting.equivalence.reading
            if any(names[name] != name for name in self.fixed & names.keys()):
                return None
            root = with_tests(root, rewriting.tests)
            declared = {name: self._declared(v) for name, v in self._variables(root).items()}
            if set(names.values()) != declared.keys():
                return None  # a network that no result depends on has been lost
        scores = {a: self._scores(reading, a, declared[names[a]])[:, maps[a]] for a in names}
        permutation, likelihood = search.best(scores)
        if not np.isfinite(likelihood):
            return None
        if rewriting is not None:
            root, names, declared = self._named(root, names, declared, reading.declared)
        sources = {}
        for a, order in ((a, reading.networks[a].order) for a in reading.networks):
            images = [maps[a][value] for value in permutation.get(a, range(len(order)))]
            sources[names[a]] = Source(reading.networks[a].instance, tuple(order[i] for i in np.argsort(images)))
        return likelihood, Rereading(root, sources, declared)

    def _named(
        self, root: Node, names: Mapping[str, str], declared: Mapping[str, str], before: Collection[str]
    ) -> tuple[Node, dict[str, str], dict[str, str]]:
        """A rewritten tree whose networks that were not in it before have names of new instances."""
        new = {name: self.name(declared[name]) for name in names.values() if name not in before}
        of_networks = {declared[name]: instance for name, instance in new.items() if instance != name}
        tests = {}
        for test in {branch.test for branch in branches(root)}:
            called = {self._declared(v) for v in _neural_variables([test.formula(self.program)]) if v.network in new}
            bound = {network: of_networks[network] for network in called if network in of_networks}
            if bound:
                tests[test] = test.bind({**dict(test.instances), **bound})
        return (
            with_tests(root, tests),
            {old: new.get(right, right) for old, right in names.items()},
            {new.get(right, right): network for right, network in declared.items()},
        )


def _neural_variables(formulas: Iterable[Formula]) -> Iterator[NeuralVariable]:
    for node in bottom_up(formulas):
        if isinstance(node, Literal) and isinstance(node.variable, NeuralVariable):
            yield node.variable
