"""Candidate generators: the tests that may be asked at a node."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from neuid3.data.columns import Number
from neuid3.errors import NodeTestError
from neuid3.learning.candidates import Candidates
from neuid3.learning.grow import OpenNode
from neuid3.logic.program import Program
from neuid3.tree.constraints import TestOrders
from neuid3.tree.node_tests import NodeTest


@dataclass(frozen=True, eq=False)
class NodeContext:
    """What a generator knows about a node.

    Attributes
    ----------
    node : the node, with its path, the examples that reach it and the tests that the path has used up.
    listed : the candidates that the generator's `tests` stand for, the same at every node.
    program : background knowledge, to make further tests.
    seed : the seed of the fit.
    """

    node: OpenNode
    listed: Candidates
    program: Program
    seed: int

    @cached_property
    def random(self) -> np.random.Generator:
        """A random generator of this node, whose draws depend on the seed of the fit and on the path alone.

        So a fit that is resumed, or that runs on other workers, draws the same.
        """
        text = "\n".join(f"{int(response)} {test}" for test, response in self.node.path)
        return np.random.default_rng([self.seed, int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")])


class CandidateGenerator(ABC):
    """The candidates of each node; the base class of what the parameter `tests` of an estimator may be.

    Laws: the candidates of a node depend on its context alone, since a fit that is resumed asks again; the generator is a
    value with a `repr`, as dataclasses are, by which a checkpoint recognises it. Tests that the path has used up are left
    out by the library. A test may be one that no node was offered before.

    Attributes
    ----------
    tests : what `listed` is made from: `"auto"`, or a list of tests; an empty one where the generator makes all of them.

    >>> @dataclass(frozen=True)
    ... class ShallowNumbers(CandidateGenerator):
    ...     "Number columns are cut at the root only."
    ...     def candidates(self, context):
    ...         return Candidates(context.listed.tests, () if context.node.path else context.listed.numbers)
    """

    tests: str | Sequence[Any] = "auto"

    @abstractmethod
    def candidates(self, context: NodeContext) -> Candidates:
        """The candidates of a node: tests, and number columns whose thresholds are found there.

        Parameters
        ----------
        context : the node, the listed candidates, the program and the seed.

        Returns
        -------
        The candidates.
        """


@dataclass(frozen=True)
class FixedCandidates(CandidateGenerator):
    """The same candidates at every node, the reference.

    Parameters
    ----------
    tests : `"auto"`, or a list of tests.
    """

    tests: str | Sequence[Any] = "auto"

    def candidates(self, context: NodeContext) -> Candidates:
        return context.listed


@dataclass(frozen=True)
class RandomCandidates(CandidateGenerator):
    """A random part of the candidates that the path has not used up, drawn anew at every node.

    Parameters
    ----------
    fraction : the fraction of the candidates that are offered, in (0, 1]; a number column or a family counts as one.
    count : their number; it takes the place of the fraction.
    tests : what is drawn from: `"auto"`, or a list of tests.

    Raises
    ------
    NodeTestError : where the fraction or the count is out of range.
    """

    fraction: float = 0.5
    count: int | None = None
    tests: str | Sequence[Any] = "auto"

    def __post_init__(self) -> None:
        if not 0.0 < self.fraction <= 1.0 or (self.count is not None and self.count < 1):
            raise NodeTestError(
                f"{self!r} offers no candidates; give a fraction above 0 and at most 1, or a count of 1 or more."
            )

    def candidates(self, context: NodeContext) -> Candidates:
        unused = [test for test in context.listed.tests if test not in context.node.used]
        n_tests, n_columns = len(unused), len(context.listed.numbers)
        total = n_tests + n_columns + len(context.listed.families)
        count = math.ceil(self.fraction * total) if self.count is None else min(self.count, total)
        chosen = np.zeros(total, dtype=bool)
        chosen[context.random.choice(total, count, replace=False)] = True
        of_tests, of_numbers = chosen[:n_tests], chosen[n_tests : n_tests + n_columns]
        of_families = chosen[n_tests + n_columns :]
        return Candidates(
            tuple(test for test, is_chosen in zip(unused, of_tests, strict=True) if is_chosen),
            tuple(name for name, is_chosen in zip(context.listed.numbers, of_numbers, strict=True) if is_chosen),
            families=tuple(
                family for family, is_chosen in zip(context.listed.families, of_families, strict=True) if is_chosen
            ),
        )


class NodeCandidates:
    """The candidates of every node of a fit: those of a generator, checked, with their atoms grounded together.

    Parameters
    ----------
    generator : offers candidates.
    listed : the candidates that its `tests` stand for.
    program : background knowledge.
    seed : the seed of the fit.
    orders : constraints, and the order in which they put the sides of each test; None where there are none.
    """

    def __init__(
        self,
        generator: CandidateGenerator,
        listed: Candidates,
        program: Program,
        seed: int,
        orders: TestOrders | None = None,
    ) -> None:
        self.generator, self.listed, self.program, self.seed = generator, listed, program, seed
        self.orders = orders
        self._allowed: dict[frozenset[str], tuple[Candidates, Candidates]] = {}

    def at(self, node: OpenNode, listed: Candidates | None = None) -> Candidates:
        """The candidates of a node; `listed` takes the place of those of the fit.

        Raises
        ------
        NodeTestError : where the generator offers something else than tests and number columns.
        """
        listed = self.keeping(node, self.listed if listed is None else listed)
        offered = self.generator.candidates(NodeContext(node, listed, self.program, self.seed))
        if offered is not listed:
            self._check(offered)
            self.program.formulas([atom for test in offered.tests for atom in test.atoms])
            offered = self.keeping(node, offered)
        return offered

    def is_allowed(self, node: OpenNode, test: NodeTest) -> bool:
        """Whether constraints allow a test below a path; splitters may come up with tests that no node was offered."""
        if self.orders is None:
            return True
        columns = self._columns_on(node) | self.orders.columns(test)
        return self.orders.constraints.may_interact(columns) and self.orders.of(test) is not None

    def _columns_on(self, node: OpenNode) -> frozenset[str]:
        """The columns that the tests of a path read."""
        assert self.orders is not None
        return frozenset[str]().union(*(self.orders.columns(test) for test, _ in node.path))

    def keeping(self, node: OpenNode, offered: Candidates) -> Candidates:
        """The candidates that constraints allow below a path; the same object where a path of the same columns was asked."""
        if self.orders is None:
            return offered
        orders, used = self.orders, self._columns_on(node)
        known = self._allowed.get(used)
        if known is None or known[0] is not offered:
            may_interact = orders.constraints.may_interact
            tests = tuple(
                test
                for test in offered.tests
                if may_interact(used | orders.columns(test)) and orders.of(test) is not None
            )
            numbers = tuple(name for name in offered.numbers if may_interact(used | {name}))
            constrained = {column for column, _ in orders.constraints.directions}
            families = tuple(
                family
                for family in offered.families
                if may_interact(used | family.columns) and not constrained & family.columns
            )
            known = self._allowed[used] = offered, replace(offered, tests=tests, numbers=numbers, families=families)
        return known[1]

    def _check(self, offered: Candidates) -> None:
        name = type(self.generator).__name__
        if not isinstance(offered, Candidates):
            raise NodeTestError(
                f"{name}.candidates returned a {type(offered).__name__}; return Candidates(tests, numbers)."
            )
        for test in offered.tests:
            if not isinstance(test, NodeTest):
                raise NodeTestError(f"{name} offers {test!r:.60}, which is no test; offer AtomTest({str(test)!r:.60}).")
        for column in offered.numbers:
            if not isinstance(self.program.schema.get(column), Number):
                raise NodeTestError(
                    f"{name} offers cuts of {column!r:.60}, which is no number column; offer tests of it instead."
                )
