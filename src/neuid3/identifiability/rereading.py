"""Choice between equivalent forms of a tree by labels: networks and their values are renamed, and nothing is trained."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Tensor
from neuid3.errors import CircuitLimitError, GroundingLimitError, SearchLimitError
from neuid3.identifiability.audit import network_kinds
from neuid3.identifiability.forms import Rewriting, results, rewritings, with_tests
from neuid3.identifiability.symmetries import (
    Deadline,
    PairOfFunctions,
    Reading,
    SymmetryGroup,
    interchangeable_values,
    symmetry_group,
)
from neuid3.logic.formula import Formula, Literal, NeuralVariable, bottom_up
from neuid3.logic.program import Program
from neuid3.tree.anchors import distinct
from neuid3.tree.concept_accuracy import check_labels, label_likelihoods
from neuid3.tree.labels import model_labels
from neuid3.tree.model import TreeModel
from neuid3.tree.node_tests import AtomTest, NodeTest
from neuid3.tree.semantics import NetworkCall
from neuid3.tree.tree import Node, Tree, branches

_Model = TypeVar("_Model", bound=TreeModel)

Floats = npt.NDArray[np.float64]

# For an instance and a declared network, the log-likelihood of the network's labels of each value if that value is read off
# each output of the instance, `(output, value)`; relative to a network that guesses, in nats.
LabelLikelihoods = Mapping[tuple[str, str], Floats]

# Seconds that the search for a better reading may take.
SECONDS = 30.0

# A reading must make the labels more likely by so many nats, more than rounding.
MIN_GAIN = 1e-6

# At most so many rewritings are made one after the other.
MAX_STEPS = 16

# At most so many cosets of a group are gone through; larger groups are searched by steps.
MAX_COSETS = 2000

# The steps of that search, and the number of its starts besides the identity.
MAX_PERMUTATIONS, STARTS = 500, 8

# What decides between readings that labels do not tell apart: as many values as possible keep their names.
_TIE = 1e-9

# The cost of an assignment that is not allowed, far above any log-likelihood.
_FORBIDDEN = 1e12

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
    deadline : where it passes, the best reading so far is returned.

    Returns
    -------
    The tree with the sources of its networks; the given tree where no reading makes labels more likely, or where its
    circuits exceed their limits.
    """
    listed = tuple(candidates)
    places = {test.bind({}): place for place, test in reversed(list(enumerate(listed)))} if first_form else {}
    choice = _Choice(program, likelihoods, listed, kinds, frozenset(fixed), name or str, deadline or Deadline(), places)
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
        search = _GroupSearch(group, interchangeable_values(pair, group), self.deadline)
        rewritten, _ = rewritings(reading.root, self.candidates, self.program, kinds=self.kinds, deadline=self.deadline)
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
            best = max(_best_assignment(scores)[1] for scores in of_names if len(scores) == size)
            bound += best if is_fixed else max(best, 0.0)  # a name without labels is neither likely nor unlikely
        return bound > before + MIN_GAIN

    def _rewritten(
        self, reading: Rereading, rewriting: Rewriting | None, search: _GroupSearch
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


# Models ---------------------------------------------------------------------------------------------


def reread_model(
    model: _Model,
    X: Any,
    concepts: Mapping[str, Any] | None = None,
    *,
    networks: Mapping[str, Any] | None = None,
    time_limit: float = SECONDS,
) -> _Model:
    """The model in the form under which labels are most likely; it predicts the same, to rounding.

    Parameters
    ----------
    model : the tree with its program and networks; functions that are no torch modules keep their values.
    X : labelled examples, as `Examples` or a table with the columns of the schema; columns such as `rank(first)` hold
        labels.
    concepts : further labels, as in `neuid3.tree.labels.model_labels`.
    networks : factories and modules of networks that a fit was given, by name; those of modules keep their values.
    time_limit : seconds that the search may take.

    Returns
    -------
    A new model; the given one where no form makes the labels more likely.

    Raises
    ------
    DataError : where there are no labels, or labels are not as they should be.
    """
    examples, labels = model_labels(model, X, concepts)
    check_labels(labels)
    with model.evaluating():
        likelihoods = label_likelihoods(
            model.inference, model.networks, examples, distinct(labels), model.network_calls
        )
    calls = {call.network: call for call in sorted(model.network_calls)}
    reading = most_likely_rereading(
        model.tree.root,
        model.program,
        likelihoods,
        candidates=[AtomTest(atom) for atom in model.candidates or ()],
        kinds=network_kinds(model, networks),
        fixed=[name for name in calls if not hasattr(model.networks[name], "state_dict") or _is_given(name, networks)],
        name=lambda network: next(
            n for n in chain([network], (f"{network}#{i}" for i in count(2))) if n not in model.networks
        ),
        deadline=Deadline.after(time_limit),
    )
    if not reading.gain:
        return model
    return _applied(reading, model, calls)


def _is_given(instance: str, networks: Mapping[str, Any] | None) -> bool:
    """Whether an instance is a module that a fit was given: its values have a meaning, and stay as they are."""
    return hasattr((networks or {}).get(instance), "state_dict")


def _applied(reading: Rereading, model: _Model, calls: Mapping[str, NetworkCall]) -> _Model:
    """A model of another reading of a tree."""
    from neuid3.networks.reordering import reordered

    modules, priors = {}, {}
    for name, source in reading.networks.items():
        module = model.networks[source.instance]
        if source.is_reordered:
            kinds = [model.schema[column] for column in calls[source.instance].inputs]
            shapes = [kind.shape if isinstance(kind, Tensor) else (1,) for kind in kinds]
            module = reordered(module.eval(), source.order, shapes)  # type: ignore[attr-defined]
        modules[name] = module
        for key, prior in model.priors.networks.items():
            instance, parenthesis, inputs = key.partition("(")
            if instance == source.instance:
                priors[name + parenthesis + inputs] = _reordered_prior(prior, source.order)
    reread = type(model)(
        Tree(reading.root, model.tree.classes),
        model.schema,
        background=model.program.text,
        networks=modules,
        priors=replace(model.priors, networks=priors),
        limits=model.program.limits,
        dtype=model.precision,
        device=model.device,
        backend=model.backend,
    )
    reread.candidates = model.candidates
    if model.training_record is not None:  # concept scores were those of the former names
        reread.training_record = model.training_record.with_concepts(())
    return reread


def _reordered_prior(prior: Any, order: Order) -> tuple[float, ...]:
    values = np.atleast_1d(np.asarray(prior, dtype=np.float64))
    if len(values) == 1:
        return (float(1.0 - values[0] if order == (1, 0) else values[0]),)
    return tuple(values[list(order)].tolist())


# Permutations of values -----------------------------------------------------------------------------


class _GroupSearch:
    """The element of a group of value permutations with the highest score.

    Permutations within classes of interchangeable values form a subgroup, in which an assignment problem finds the best
    element; so one element of each of its cosets is gone through. Of a group with too many cosets, a search by steps
    finds a good element, which need not be the best.

    Parameters
    ----------
    group : the group.
    classes : for each network its values in classes, any permutation of which is in the group.
    deadline : the time by which the search must end.
    """

    def __init__(
        self, group: SymmetryGroup, classes: Mapping[str, tuple[frozenset[int], ...]], deadline: Deadline
    ) -> None:
        self.names, self.deadline = sorted(group.sizes), deadline
        self.classes = {name: [sorted(members) for members in classes[name]] for name in self.names}
        self.class_of = {
            name: {value: number for number, members in enumerate(self.classes[name]) for value in members}
            for name in self.names
        }
        self.identity: Reading = {name: tuple(range(size)) for name, size in group.sizes.items()}
        self.generators = [
            generator for generator in group.generators if self._coset(generator) != self._coset(self.identity)
        ]
        self.representatives, self.complete = self._closure(self.generators, [self.identity], _composed, MAX_COSETS)

    def _coset(self, permutation: Reading) -> Hashable:
        """Equal for permutations that differ by a permutation within classes."""
        return tuple(tuple(self.class_of[name][image] for image in permutation[name]) for name in self.names)

    def _closure(
        self,
        generators: Iterable[Reading],
        start: Iterable[Reading],
        step: Callable[[Reading, Reading], Reading],
        most: int,
    ) -> tuple[list[Reading], bool]:
        """All cosets that steps lead to from the start, by one element each; and whether there are no more."""
        steps = list(generators)
        known = {self._coset(permutation): permutation for permutation in start}
        waiting = list(known.values())
        while waiting:
            self.deadline.check()
            current = waiting.pop()
            for generator in steps:
                following = step(generator, current)
                key = self._coset(following)
                if key not in known:
                    if len(known) == most:
                        return list(known.values()), False
                    known[key] = following
                    waiting.append(following)
        return list(known.values()), True

    def best(self, scores: Mapping[str, Floats]) -> tuple[Reading, float]:
        """The permutation with the highest sum of scores, and this sum.

        Parameters
        ----------
        scores : for each network the score of reading each value as another, `(value, image)`; -inf where it may not be.
            Networks that the group does not know keep their values.

        Returns
        -------
        The image of each value of each network of the group, and the sum over all networks.
        """
        others = sum(float(of_network.trace()) for name, of_network in scores.items() if name not in self.identity)
        candidates = self.representatives if self.complete else self._climbed(scores)
        found = max((self._in_coset(permutation, scores) for permutation in candidates), key=lambda pair: pair[1])
        # The identity comes first among equals, since `max` returns the first and the closure starts with it.
        return found[0], found[1] + others

    def _in_coset(self, permutation: Reading, scores: Mapping[str, Floats]) -> tuple[Reading, float]:
        """The best permutation that differs from this one within classes, and its score."""
        total, chosen = 0.0, {}
        for name in self.names:
            images = np.array(permutation[name])
            for members in (members for members in self.classes[name] if len(members) > 1):
                rows = np.flatnonzero(np.isin(images, members))
                kept = images[rows][:, None] == np.array(members)
                assignment, _ = _best_assignment(scores[name][rows][:, members] + _TIE * kept)
                images[rows] = np.array(members)[assignment]
            total += float(scores[name][np.arange(len(images)), images].sum())
            chosen[name] = tuple(images.tolist())
        return chosen, total

    def _climbed(self, scores: Mapping[str, Floats]) -> list[Reading]:
        """Permutations that no step improves, from the identity and some random elements."""
        steps, _ = self._closure(self.generators, self.generators, _conjugate, MAX_PERMUTATIONS)
        random = np.random.default_rng(0)
        starts = [self.identity]
        for _ in range(STARTS):
            start = self.identity
            for number in random.integers(len(steps), size=2 * len(self.names) + 8):
                start = _composed(steps[number], start)
            starts.append(start)
        return [self._top(start, steps, scores) for start in starts]

    def _top(self, start: Reading, steps: Iterable[Reading], scores: Mapping[str, Floats]) -> Reading:
        current, height = self._in_coset(start, scores)
        while True:
            self.deadline.check()
            neighbours = (self._in_coset(_composed(step, current), scores) for step in steps)
            best, score = max(neighbours, key=lambda pair: pair[1])
            if not score > height + MIN_GAIN:
                return current
            current, height = best, score


def _composed(second: Reading, first: Reading) -> Reading:
    """First one permutation, then the other."""
    return {name: tuple(second[name][image] for image in images) for name, images in first.items()}


def _conjugate(by: Reading, permutation: Reading) -> Reading:
    """The permutation with its values renamed by another."""
    inverse = {name: tuple(np.argsort(images).tolist()) for name, images in by.items()}
    return _composed(by, _composed(permutation, inverse))


def _best_assignment(scores: Floats) -> tuple[npt.NDArray[np.int64], float]:
    """The permutation with the highest sum of scores, `(value,)`, and this sum."""
    from scipy.optimize import linear_sum_assignment  # it takes a second to import

    _, columns = linear_sum_assignment(np.where(np.isneginf(scores), -_FORBIDDEN, scores), maximize=True)
    return columns, float(scores[np.arange(len(scores)), columns].sum())
