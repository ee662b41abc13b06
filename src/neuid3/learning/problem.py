"""The learning problem of a fit: program, candidates, and trained networks of reused tests."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from neuid3.data.columns import Schema
from neuid3.data.examples import Examples
from neuid3.data.parts import has_parts
from neuid3.data.slots import Slots
from neuid3.data.tables import is_constant
from neuid3.errors import BankError, NetworkError, NodeTestError, did_you_mean
from neuid3.io.bank import Bank
from neuid3.io.trained_tests import TrainedTest
from neuid3.learning.candidates import Candidates, make_candidates, neural_facts
from neuid3.learning.families import Family, grid_tests
from neuid3.learning.first_order import FirstOrderCandidates, Head, program_heads, signatures_of
from neuid3.learning.generators import CandidateGenerator, FixedCandidates
from neuid3.learning.goal_values import is_goal_mode, read_goals
from neuid3.learning.sample import Instance, same_weights
from neuid3.logic.formula import NeuralVariable, sources
from neuid3.logic.program import Program
from neuid3.logic.relations import with_relations
from neuid3.logic.sandbox import Limits
from neuid3.queries.grounding import read_program
from neuid3.queries.modes import is_query_mode, read_query_mode, refiner_of
from neuid3.queries.refine import Language
from neuid3.tree.constraints import FREE, Constraints
from neuid3.tree.goals import Goal
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.semantics import Semantics

# A query without networks is evaluated by one join, where one with networks is trained: so many count as one candidate.
REFINEMENTS_PER_CANDIDATE = 100


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What a fit chooses from.

    Attributes
    ----------
    program : background knowledge, with neural facts and the clauses of the bank.
    candidates : the tests to choose from.
    reused : network instances that came with trained tests, by name.
    bank_tests : tests of the bank, which are tried before others are trained.
    generator : the candidates of each node.
    goals : the goals that leaves may hold.
    constraints : what the tree must keep to.
    language : what queries over parts may be made of; None where examples have none.
    """

    program: Program
    candidates: Candidates
    reused: Mapping[str, Instance]
    bank_tests: frozenset[NodeTest]
    generator: CandidateGenerator
    goals: tuple[Goal, ...] = ()
    constraints: Constraints = FREE
    language: Language | None = None

    @property
    def are_neural(self) -> bool:
        """Whether a candidate calls a network, or a generator may come up with one that does."""
        may_come_up = not isinstance(self.generator, FixedCandidates) and bool(self.program.networks)
        called = {network for goal in self.goals for network in goal_networks(goal, self.program)}
        return may_come_up or bool(called) or any(_networks_of(test, self.program) for test in self.candidates.tests)


def read_problem(
    schema: Schema,
    *,
    background: str,
    tests: str | Sequence[Any] | CandidateGenerator,
    bank: Bank | Path | str | None,
    modes: Sequence[str] | None,
    limits: Limits | None,
    leaves: Sequence[Any] | None = None,
    relations: Mapping[str, Sequence[str]] | None = None,
    slots: Slots | None = None,
) -> Problem:
    """The learning problem of rules, tests, modes and a bank, for examples of this schema.

    Parameters
    ----------
    schema : the kinds of the columns.
    background : rules and neural predicates.
    tests : `"auto"`, explicit tests, trained tests, a list of them, or a generator of candidates.
    bank : a bank of trained tests, or its path.
    modes : modes to expand instead of all rules; None expands the rules.
    limits : limits of grounding and compilation, and of the candidates that rules or modes may be expanded to.
    leaves : the goals that leaves may hold, and modes of such goals; further ones may be among `modes`.
    relations : relations of neural predicates and categories, for which rules are written.
    slots : how many parts of each type the examples have; None where they have none.

    Returns
    -------
    The program, the candidates, and the tests to be reused.

    Raises
    ------
    BankError, NodeTestError : where the bank does not exist or there is no test.
    """
    generator = tests if isinstance(tests, CandidateGenerator) else FixedCandidates(tests)
    listed = [generator.tests] if isinstance(generator.tests, str) else list(generator.tests)
    background = with_relations(background, relations, schema, limits)
    if "auto" in listed and "auto" not in schema:
        extra = neural_facts(schema, read_program(background, schema, limits).predicates)
        background = f"{background}\n{extra}" if extra else background
    program = read_program(background, schema, limits, slots)
    if isinstance(bank, (str, Path)) and not Path(bank).exists():
        raise BankError(f"There is no bank {bank}; `Bank.add` or `neuid3 bank add` makes one.")
    opened = bank if isinstance(bank, Bank) or bank is None else Bank(bank)
    if opened is not None and (extra := opened.clauses(program)):
        program = read_program(f"{background}\n{extra}", schema, limits, slots)
    from_bank = [] if opened is None else [test.thawed() for _, test in opened.fitting(program)]
    named, reused = _named([*listed, *from_bank], program)
    goals = read_goals(_listed_goals(leaves, modes), program)
    of_columns, of_parts = _divided(modes, schema)
    if not named and modes is None and not goals and isinstance(generator, FixedCandidates):
        raise NodeTestError("`tests` is empty; name some tests, or use tests='auto'.")
    heads = program_heads(program, called=of_parts is not None)
    asks_queries = bool("auto" in listed or of_parts)  # explicit tests are the only ones
    language = _language(program, schema, of_parts, heads) if asks_queries else None
    tried = [*(goal.text for goal in goals), *(head.predicate for head in heads)]
    candidates = make_candidates(named, of_columns, program, program.limits.max_candidates, goals=tried)
    if language is not None and heads:
        generator = FirstOrderCandidates(generator, heads, language)
    return Problem(program, candidates, reused, frozenset(named[len(listed) :]), generator, goals, language=language)


def _divided(modes: Sequence[str] | None, schema: Schema) -> tuple[list[str] | None, list[str] | None]:
    """The modes of rules over columns, and those of queries over parts; None where none are given."""
    if modes is None:
        return None, None
    of_tests = [mode for mode in modes if not is_goal_mode(mode)]
    of_parts = [mode for mode in of_tests if is_query_mode(mode, schema)]
    return [mode for mode in of_tests if mode not in of_parts], of_parts or None


def _language(program: Program, schema: Schema, modes: Sequence[str] | None, heads: Sequence[Head]) -> Language | None:
    """What queries over parts may be made of; None where examples have no parts."""
    if not has_parts(schema):
        return None
    limits = program.limits
    language = Language(
        schema,
        max_variables=limits.max_variables,
        modes=None if modes is None else tuple(map(read_query_mode, modes)),
        signatures=signatures_of(heads),
        max_refinements=REFINEMENTS_PER_CANDIDATE * limits.max_candidates,
    )
    refiner_of(language)  # refuses modes that are wrong before anything is learned
    return language


def _named(tests: Iterable[Any], program: Program) -> tuple[list[Any], dict[str, Instance]]:
    """The tests with the names of their instances in this fit, and these instances."""
    reused: dict[str, Instance] = {}
    named: list[Any] = []
    for number, test in enumerate(tests):
        if isinstance(test, TrainedTest):
            names = _reuse(test, _networks_of(test.test.bind({}), program), number, reused)
            named.append(test.test.bind(names))
        elif isinstance(test, (str, NodeTest)):
            named.append(test)
        else:
            raise NodeTestError(f"tests[{number}] is a {type(test).__name__}; give an atom as a string, or a test.")
    return named, reused


def _reuse(test: TrainedTest, declared: Sequence[str], number: int, reused: dict[str, Instance]) -> dict[str, str]:
    """The instance of each network of a reused test; tests that shared a network in their tree share it here."""
    held, names = dict(test.test.instances), {}
    for network in declared:
        instance = held.get(network, network)
        if instance not in test.networks:
            raise NodeTestError(
                f"Test '{test}' was trained with {', '.join(sorted(held)) or 'no network'}, and the background knowledge "
                f"uses {network!r} in it; give the rules it was trained with, or train it anew."
            )
        module = test.networks[instance]
        known = (n for n, i in reused.items() if i.frozen == test.frozen and same_weights(i.module, module))
        names[network] = next(known, f"{network}@{number}")
        if names[network] not in reused:
            own = module if test.frozen else copy.deepcopy(module)
            reused[names[network]] = Instance(own, network, frozenset(), test.frozen)
    return names


def _networks_of(test: NodeTest, program: Program) -> list[str]:
    """The names of the networks that a test calls, sorted."""
    return sorted({source.network for source in sources(test.formula(program)) if isinstance(source, NeuralVariable)})


def _listed_goals(leaves: Sequence[Any] | None, modes: Sequence[str] | None) -> Any:
    """The goals and modes of goals among the parameters `leaves` and `modes`."""
    if isinstance(leaves, str):
        return leaves  # refused with the other texts that are no list of goals
    return [*(leaves or ()), *(mode for mode in modes or () if is_goal_mode(mode))]


def goal_networks(goal: Goal, program: Program) -> list[str]:
    """The names of the networks that a goal calls, sorted."""
    return sorted({call.network for call in Semantics(program).goal_calls(goal)})


def varying_candidates(problem: Problem, examples: Examples) -> Problem:
    """The problem without tests that read constant columns only; warns where the caller named such a column.

    Tests that are made of atoms of the program stay candidates. Families whose best constant cannot be found in one pass
    become tests with a grid of constants.
    """
    constant = {name for name, column in examples.items() if is_constant(column)}
    candidates, tests = problem.candidates, problem.generator.tests
    named = set() if isinstance(tests, str) else {test for test in tests if isinstance(test, str)}
    for name in sorted(constant & named):
        warnings.warn(f"Column {name!r} is constant and was skipped.", UserWarning, stacklevel=5)
    varying = tuple(
        test for test in candidates.tests if test.atoms or not constant or not test.columns(problem.program) <= constant
    )
    numbers = tuple(name for name in candidates.numbers if name not in constant)
    one_pass = [family for family in candidates.families if family.direction is not None and not family.is_neural]
    varying_only = replace(problem, candidates=replace(candidates, tests=varying, numbers=numbers))
    return with_grids(varying_only, examples, one_pass)


def with_grids(problem: Problem, examples: Examples, kept: Collection[Family] = ()) -> Problem:
    """The problem with tests for a grid of constants in place of families, as for trees that do not find constants at a node.

    Parameters
    ----------
    problem : the problem.
    examples : the training examples, whose quantiles are the constants.
    kept : the families that stay.

    Returns
    -------
    The problem, whose other families are tests.
    """
    candidates = problem.candidates
    others = [family for family in candidates.families if family not in kept]
    grids = [test for family in others for test in grid_tests(family, examples, problem.program)]
    tests = tuple(dict.fromkeys((*candidates.tests, *grids)))
    return replace(problem, candidates=replace(candidates, tests=tests, families=tuple(kept)))


def check_device(name: str) -> None:
    """Check that networks can run on a device, before anything is trained.

    Raises
    ------
    NetworkError : where they cannot.
    """
    if name == "cpu":
        return
    import torch

    try:
        torch.zeros(1, device=name).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().split("\n")[0]
        raise NetworkError(f"Networks cannot run on device={name!r} here ({reason}); use device='cpu'.") from None


def check_networks(given: Mapping[str, Any], program: Program) -> None:
    """Check that the program declares every given network, and that each is a module or a factory.

    Raises
    ------
    NetworkError : where this is not so.
    """
    for name, network in given.items():
        if name not in program.networks:
            raise NetworkError(
                f"Network {name!r} is given and the background knowledge never uses it.{did_you_mean(name, program.networks)}"
            )
        if not callable(network):
            raise NetworkError(
                f"networks[{name!r}] is a {type(network).__name__}; give a module or a function that makes one."
            )
