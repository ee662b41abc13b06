"""Rewritings of a tree: other candidates in the place of its tests, with its networks read otherwise."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from typing import Any

from neuid3.identifiability.forms import (
    Equivalence,
    equivalence,
    fingerprint,
    mentioned_networks,
    neural_variables,
    results,
    with_tests,
)
from neuid3.identifiability.symmetries import Deadline
from neuid3.logic.formula import NeuralVariable
from neuid3.logic.program import Program
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Node, paths

# At most so many rewritten trees are compared with a tree.
MAX_REWRITINGS = 256

# The deadline is compared with the time once for so many combinations of replacements.
COMBINATIONS_PER_CHECK = 4096

Order = tuple[int, ...]  # of arguments: argument i of the new atom is argument order[i] of the old one


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A tree of other candidates that says the same with its networks read otherwise.

    Attributes
    ----------
    tests : for each test that is replaced its replacement.
    equivalence : how networks and values are renamed.
    """

    tests: Mapping[NodeTest, NodeTest]
    equivalence: Equivalence


@dataclass(frozen=True, slots=True, eq=False)
class _Replacement:
    """Another predicate, or another order of arguments, for all tests of one form."""

    form: int
    predicate: str
    order: Order
    tests: Mapping[NodeTest, NodeTest]  # without those that stay as they are
    networks: frozenset[str]  # that the tests of the form mention afterwards

    @property
    def target(self) -> tuple[str, Order]:
        return self.predicate, self.order


Combination = tuple[_Replacement, ...]  # of different forms


def rewritings(
    root: Node,
    candidates: Iterable[NodeTest],
    program: Program,
    *,
    kinds: Mapping[str, Hashable] | None = None,
    fixed: Mapping[str, Iterable[int]] | None = None,
    apart: bool = False,
    deadline: Deadline | None = None,
) -> tuple[list[Rewriting], bool]:
    """The rewritings of a tree: arguments of its tests or whole networks exchanged, all tests being candidates.

    Of those with the same renaming the one that replaces the fewest tests is returned, and none that combines others.

    Parameters
    ----------
    root : the root of the tree.
    candidates : the tests that the tree could have been made of.
    program : the background knowledge.
    kinds : what must be the same of two networks that are exchanged; see `equivalence`.
    fixed : values of networks that keep their meaning; such networks keep their names too.
    apart : whether tests of one predicate that call different instances of a network are replaced apart.
    deadline : the time by which the search must end.

    Returns
    -------
    The rewritings, and whether all were tried.

    Raises
    ------
    SearchLimitError : after the deadline.
    CircuitLimitError, GroundingLimitError : where a circuit exceeds its limits.
    """
    deadline = deadline or Deadline()
    same_up_to_names = partial(equivalence, fixed=fixed, kinds=kinds, limits=program.limits, deadline=deadline)
    comparison = _Comparison(root, program, same_up_to_names, deadline)
    forms = _Forms(root, candidates, program, apart)
    choices: list[list[_Replacement]] = []
    for number, tests in enumerate(forms.tests):
        formulas = [test.formula(program) for test in tests]
        choices.append([])
        for replacement in forms.replacements(number):
            # The tests of a form must be the same up to names by themselves, before the whole tree is compared.
            replaced = [replacement.tests.get(test, test).formula(program) for test in tests]
            same = same_up_to_names(formulas, replaced)
            if same is not None and not same.is_identity:
                choices[-1].append(replacement)
    kept: dict[Hashable, Rewriting] = {}
    found: list[tuple[Combination, bool]] = []  # those that give the same function, and whether test by test
    undecided = forms.combinations(choices, found, len(comparison.networks), deadline)
    for compared, combination in enumerate(undecided):
        if compared == MAX_REWRITINGS:
            return list(kept.values()), False
        replaced_tests = {old: new for replacement in combination for old, new in replacement.tests.items()}
        same, test_by_test = comparison.renaming(replaced_tests)
        if same is not None and not same.is_identity:
            found.append((combination, test_by_test))
            key = (frozenset(same.networks.items()), frozenset(same.reading.items()))
            if key not in kept or len(replaced_tests) < len(kept[key].tests):
                kept[key] = Rewriting(replaced_tests, same)
    return list(kept.values()), True


class _Comparison:
    """The function of a tree, compared with that of the tree with some tests replaced."""

    def __init__(self, root: Node, program: Program, same_up_to_names: Any, deadline: Deadline) -> None:
        self.root, self.program, self.same_up_to_names = root, program, same_up_to_names
        self.formulas = results(root, program)[1]
        self.networks: dict[str, list[NeuralVariable]] = neural_variables(self.formulas, program.limits, deadline)
        self.networks_of = {test: mentioned_networks([test.formula(program)]) for test in _tests(root)}

    def renaming(self, replaced: Mapping[NodeTest, NodeTest]) -> tuple[Equivalence | None, bool]:
        """The renaming under which the tree with replaced tests is the same, and whether every test is the same under it.

        None where there is none.
        """
        before = [test.formula(self.program) for test in replaced]
        after = [test.formula(self.program) for test in replaced.values()]
        changed = mentioned_networks([*before, *after])
        others = (networks for test, networks in self.networks_of.items() if test not in replaced)
        if changed <= set(self.networks) and not any(changed & networks for networks in others):
            # Tests that share no network with others may be compared by themselves, in smaller circuits.
            same: Equivalence | None = self.same_up_to_names(before, after)
            if same is not None:
                return self._extended(same), True
        rewritten = results(with_tests(self.root, replaced), self.program)[1]
        return self.same_up_to_names(self.formulas, rewritten), False

    def _extended(self, renaming: Equivalence) -> Equivalence:
        """A renaming that leaves all other networks as they are."""
        names = {name: name for name in self.networks}
        unchanged = {name: tuple(range(variables[0].size)) for name, variables in self.networks.items()}
        return Equivalence({**names, **renaming.networks}, unchanged | renaming.reading)


class _Forms:
    """The tests of a tree by form: those of one predicate are replaced together."""

    def __init__(self, root: Node, candidates: Iterable[NodeTest], program: Program, apart: bool) -> None:
        self.program = program
        used = _tests(root)
        self.atoms = {
            test: atom for test in used if (atom := _atom(test)) is not None and fingerprint(test.formula(program))
        }
        self.known = {atom: test for test in candidates if (atom := _atom(test)) is not None}
        self.instances = {network: instance for test in used for network, instance in test.instances}
        by_form: dict[Hashable, list[NodeTest]] = {}
        for test, (predicate, arguments) in self.atoms.items():
            by_form.setdefault((predicate, len(arguments), test.instances if apart else ()), []).append(test)
        self.tests = list(by_form.values())
        self.networks = [self._networks(tests) for tests in self.tests]
        self.others = self._networks([test for test in used if test not in self.atoms])
        predicates = [(self.atoms[tests[0]][0], len(self.atoms[tests[0]][1])) for tests in self.tests]
        # A predicate that several forms have, with different instances, leads to none of them for certain.
        self.form_of = {atom: form for form, atom in enumerate(predicates) if predicates.count(atom) == 1}
        self.tried: set[tuple[int, tuple[str, Order]]] = set()

    def _networks(self, tests: Iterable[NodeTest]) -> frozenset[str]:
        return frozenset(mentioned_networks([test.formula(self.program) for test in tests]))

    def replacements(self, form: int) -> Iterator[_Replacement]:
        """For the tests of a form, candidates of every predicate and order of arguments in their place.

        Networks that the tree calls stay the same instances.
        """
        tests = self.tests[form]
        predicate, arguments = self.atoms[tests[0]]
        alike = [atom for atom in self.known if sorted(atom[1]) == sorted(arguments)]
        for name, others in sorted(alike, key=lambda atom: atom[0] != predicate):
            # Candidates are gone through, not orders: a rule of ten arguments has millions of these.
            positions = list(range(len(arguments)))
            order = tuple(
                positions.pop(next(k for k, i in enumerate(positions) if arguments[i] == other)) for other in others
            )
            replaced: dict[NodeTest, NodeTest] = {}
            for test in tests:
                atom = (name, tuple(self.atoms[test][1][i] for i in order))
                if atom == self.atoms[test]:
                    continue
                if atom not in self.known:
                    break
                replaced[test] = self._bound(self.known[atom], {**self.instances, **dict(test.instances)})
            else:
                if replaced:
                    self.tried.add((form, (name, order)))
                    networks = self._networks([replaced.get(test, test) for test in tests])
                    yield _Replacement(form, name, order, replaced, networks)

    def _bound(self, test: NodeTest, instances: Mapping[str, str]) -> NodeTest:
        """A candidate with these instances of the networks that it calls."""
        unbound = test.bind({})
        called = mentioned_networks([unbound.formula(self.program)])
        return unbound.bind({name: instance for name, instance in instances.items() if name in called})

    def combinations(
        self,
        choices: Sequence[Sequence[_Replacement]],
        found: Sequence[tuple[Combination, bool]],
        networks: int,
        deadline: Deadline,
    ) -> Iterator[Combination]:
        """Replacements of the tests of one form, then of two, and so on, without those that other ones decide.

        Parameters
        ----------
        choices : for each form its replacements.
        found : the rewritings so far, and whether every test is the same under its renaming; it may grow between two steps.
        networks : the number of networks that the function of the tree depends on; two of them cannot become one.
        deadline : the time by which the search must end.
        """
        number = 0
        for n in range(1, len(choices) + 1):
            # A replacement that is a rewriting by itself occurs in products only.
            alone = {id(combination[0]) for combination, _ in found if len(combination) == 1}
            forms = [rest for of_form in choices if (rest := [c for c in of_form if id(c) not in alone])]
            for chosen_forms in combinations(forms, n):
                kept = self.others.union(
                    *(of for form, of in enumerate(self.networks) if form not in {c[0].form for c in chosen_forms})
                )
                for combination in product(*chosen_forms):
                    number += 1
                    if number % COMBINATIONS_PER_CHECK == 0:
                        deadline.check()
                    if len(kept.union(*(c.networks for c in combination))) < networks:
                        continue
                    if not any(self._is_decided(combination, *rewriting) for rewriting in found):
                        yield combination

    def _is_decided(self, combination: Combination, rewriting: Combination, test_by_test: bool) -> bool:
        """Whether a combination contains a rewriting, or is one if and only if a smaller combination is, tried before.

        The smaller one is the combination with the rewriting undone after it. Where every test is the same under the
        renaming of a rewriting, undoing it leaves the function the same up to names.
        """
        ours = {replacement.form: replacement.target for replacement in combination}
        theirs = {replacement.form: replacement.target for replacement in rewriting}
        if not any(theirs.get(form) == target for form, target in ours.items()):
            return False
        if theirs.items() <= ours.items():
            return True
        images = {self.form_of.get((name, len(order))): (form, order) for form, (name, order) in theirs.items()}
        if not test_by_test or set(images) != set(theirs):
            return False  # one that leads to predicates outside the tree cannot be undone after others
        moved = 0
        for form in ours.keys() | theirs.keys():
            identity = tuple(range(len(self.atoms[self.tests[form][0]][1])))
            own = (self.atoms[self.tests[form][0]][0], identity)
            name, order = ours.get(form, own)
            image = self.form_of.get((name, len(order)))
            if image in images:
                source, undone = images[image]
                name = self.atoms[self.tests[source][0]][0]
                order = tuple(order[undone.index(i)] for i in range(len(order)))
            if (name, order) != own:
                moved += 1
                if (form, (name, order)) not in self.tried:
                    return False
        return moved < len(ours)


def _tests(root: Node) -> list[NodeTest]:
    return list(dict.fromkeys(test for path, _ in paths(root) for test, _ in path))


_ARGUMENT = re.compile(r"\s*('(?:[^'\\]|\\.)*'|[^,()']+)\s*(?:,|$)")
_ATOM = re.compile(r"\s*('(?:[^'\\]|\\.)*'|[a-z]\w*)\s*(?:\((.*)\))?\s*", re.DOTALL)


def _atom(test: NodeTest) -> tuple[str, tuple[str, ...]] | None:
    """The predicate and the arguments of a test that is one atom with simple arguments; None otherwise."""
    match = _ATOM.fullmatch(test.goal) if test.atoms == (test.goal,) else None
    if match is None:
        return None
    inside = match.group(2) or ""
    arguments = [argument.strip() for argument in _ARGUMENT.findall(inside)]
    return (
        (match.group(1), tuple(arguments)) if ",".join(arguments) == re.sub(r"\s*,\s*", ",", inside.strip()) else None
    )
