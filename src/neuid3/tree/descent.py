"""Lazy evaluation of a tree's networks, from the root down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuid3.circuits.reach import Reach
from neuid3.tree.evidence import Evidence
from neuid3.tree.goals import GoalLeaf
from neuid3.tree.inference import Inference
from neuid3.tree.semantics import NetworkCall
from neuid3.tree.tree import Branch, Node, Path


@dataclass(frozen=True, slots=True)
class _Level:
    """The nodes of one depth whose tests or goals need network calls that no branch above them needs."""

    reach: Reach  # of the nodes
    calls: tuple[frozenset[NetworkCall], ...]  # of each node, those that are new at it


class LazyEvaluator:
    """Runs a tree's networks, from the root down, on the examples that reach one of their branches.

    An example that reaches a branch with more than the threshold reaches all branches above it with more, so its
    probability there is exact. Below a branch that it reaches with less, networks that no other branch needs are not run
    and have uniform outputs: the mass of the branch is distributed over its leaves, and no other leaf changes.

    Parameters
    ----------
    root : the root of the tree.
    inference : exact inference of its tests.
    """

    def __init__(self, root: Node, inference: Inference) -> None:
        self._arrays = inference.arrays
        by_depth: dict[int, list[tuple[Path, frozenset[NetworkCall]]]] = {}
        stack: list[tuple[Path, Node, frozenset[NetworkCall]]] = [((), root, frozenset())]
        while stack:
            path, node, above = stack.pop()
            if isinstance(node, GoalLeaf):
                new = frozenset(inference.semantics.goal_calls(node.goal)) - above
                if new:
                    by_depth.setdefault(len(path), []).append((path, new))
            elif isinstance(node, Branch):
                new = frozenset(inference.semantics.calls(node.test)) - above
                if new:
                    by_depth.setdefault(len(path), []).append((path, new))
                stack.append(((*path, (node.test, True)), node.yes, above | new))
                stack.append(((*path, (node.test, False)), node.no, above | new))
        self._levels = [
            _Level(inference.compiled([path for path, _ in branches]), tuple(calls for _, calls in branches))
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
            with self._arrays.without_gradients():
                reached = self._arrays.to_numpy(level.reach(evidence) > threshold)  # (example, branch)
            for call in open_calls:
                callers = [i for i, calls in enumerate(level.calls) if call in calls]
                evidence.evaluate(call, np.any(reached[:, callers], axis=1))
