"""Which networks must look at which examples? Those of a branch, at the examples that get there."""

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
    """Branches of one depth that ask networks which no branch above them asks."""

    reach: Reach
    looks: tuple[frozenset[NetworkCall], ...]  # of each branch


class Descent:
    """Shows a tree's networks, from the root down, the examples that reach one of their branches with enough mass.

    Above a branch that an example reaches with more than the threshold, all branches are reached with more, so the
    mass there is exact. Below a branch where it is dropped, networks that nobody else asks say nothing, and the mass
    of the branch is shared out among its leaves as if by chance: no leaf anywhere else is touched.
    """

    def __init__(
        self, root: Node, program: Program, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu"
    ) -> None:
        by_depth: dict[int, list[tuple[Path, frozenset[NetworkCall]]]] = {}
        stack: list[tuple[Path, Node, frozenset[NetworkCall]]] = [((), root, frozenset())]
        while stack:
            path, node, asked = stack.pop()
            if isinstance(node, Branch):
                new = network_calls(node.test, program) - asked
                if new:
                    by_depth.setdefault(len(path), []).append((path, new))
                stack.append(((*path, (node.test, True)), node.yes, asked | new))
                stack.append(((*path, (node.test, False)), node.no, asked | new))
        self._levels = [
            _Level(
                Reach(conjunctions([path for path, _ in found], program), dtype, device),
                tuple(looks for _, looks in found),
            )
            for _, found in sorted(by_depth.items())
        ]

    def __call__(self, evidence: Evidence, threshold: float) -> None:
        """See to it that all networks have looked at what they must; `evidence` is then ready for the whole tree."""
        for level in self._levels:
            open_looks = sorted({look for looks in level.looks for look in looks if evidence.unseen(look)})
            if not open_looks:
                continue
            with torch.no_grad():
                reached = (level.reach(evidence) > threshold).cpu().numpy()  # (example, branch)
            for look in open_looks:
                asking = [i for i, looks in enumerate(level.looks) if look in looks]
                evidence.look(look, np.any(reached[:, asking], axis=1))


def network_calls(test: NodeTest, program: Program) -> frozenset[NetworkCall]:
    """The networks that a test asks, with the columns that they read."""
    return calls_in(test.formula(program), program)


def calls_in(formula: Formula, program: Program) -> frozenset[NetworkCall]:
    return frozenset(
        NetworkCall(variable.network, variable.inputs, program.declarations[variable.declaration].width)
        for variable in sources(formula)
        if isinstance(variable, NeuralVariable)
    )


def conjunctions(paths: list[Path], program: Program) -> Conjunctions:
    """The tests and answers of each path, compiled."""
    tests = list(dict.fromkeys(test for path in paths for test, _ in path))
    number = {test: i for i, test in enumerate(tests)}
    answers = [[(number[test], answer) for test, answer in path] for path in paths]
    return factorise([test.formula(program) for test in tests], answers, program.limits)
