"""Lazy evaluation of a tree's networks, and the conjunctions that its paths stand for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from neuid3.circuits.conjunctions import Conjunctions, factorise
from neuid3.circuits.reach import Reach
from neuid3.logic.formula import Formula, NeuralVariable, sources
from neuid3.logic.program import Program
from neuid3.tree.evidence import Evidence, NetworkCall
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Branch, Node, Path


@dataclass(frozen=True, slots=True)
class _Level:
    """The branches of one depth whose tests need network calls that no branch above them needs."""

    reach: Reach  # of the branches
    calls: tuple[frozenset[NetworkCall], ...]  # of each branch, those that are new at it


class LazyEvaluator:
    """Runs a tree's networks, from the root down, on the examples that reach one of their branches.

    An example that reaches a branch with more than the threshold reaches all branches above it with more, so its
    probability there is exact. Below a branch that it reaches with less, networks that no other branch needs are not run
    and have uniform outputs: the mass of the branch is distributed over its leaves, and no other leaf changes.

    Parameters
    ----------
    root : the root of the tree.
    program : the background knowledge of its tests.
    dtype, device : the precision of the path probabilities, and where they are computed.
    """

    def __init__(
        self, root: Node, program: Program, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu"
    ) -> None:
        by_depth: dict[int, list[tuple[Path, frozenset[NetworkCall]]]] = {}
        stack: list[tuple[Path, Node, frozenset[NetworkCall]]] = [((), root, frozenset())]
        while stack:
            path, node, above = stack.pop()
            if isinstance(node, Branch):
                new = network_calls(node.test, program) - above
                if new:
                    by_depth.setdefault(len(path), []).append((path, new))
                stack.append(((*path, (node.test, True)), node.yes, above | new))
                stack.append(((*path, (node.test, False)), node.no, above | new))
        self._levels = [
            _Level(
                Reach(conjunctions([path for path, _ in branches], program), dtype, device),
                tuple(calls for _, calls in branches),
            )
            for _, branches in sorted(by_depth.items())
        ]

    def __call__(self, evidence: Evidence, threshold: float) -> None:
        """Add to the evidence the network outputs that all paths of the tree need.

        Parameters
        ----------
        evidence : the batch; network outputs that it holds are not computed again.
        threshold : the probability up to which a branch is not evaluated.
        """
        for level in self._levels:
            open_calls = sorted({call for calls in level.calls for call in calls if not evidence.is_complete(call)})
            if not open_calls:
                continue
            with torch.no_grad():
                reached = (level.reach(evidence) > threshold).cpu().numpy()  # (example, branch)
            for call in open_calls:
                callers = [i for i, calls in enumerate(level.calls) if call in calls]
                evidence.evaluate(call, np.any(reached[:, callers], axis=1))


def network_calls(test: NodeTest, program: Program) -> frozenset[NetworkCall]:
    """The network calls that a test depends on."""
    return calls_in(test.formula(program), program)


def calls_in(formula: Formula, program: Program) -> frozenset[NetworkCall]:
    """The network calls that a formula depends on."""
    return frozenset(
        NetworkCall(variable.network, variable.inputs, program.declarations[variable.declaration].width)
        for variable in sources(formula)
        if isinstance(variable, NeuralVariable)
    )


def conjunctions(paths: list[Path], program: Program) -> Conjunctions:
    """The conjunction of each path's tests with their outcomes, compiled."""
    tests = list(dict.fromkeys(test for path in paths for test, _ in path))
    number = {test: i for i, test in enumerate(tests)}
    signed_tests = [[(number[test], outcome) for test, outcome in path] for path in paths]
    return factorise([test.formula(program) for test in tests], signed_tests, program.limits)
