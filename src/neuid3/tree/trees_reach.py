"""Exact leaf probabilities of many small trees, tree by tree, with the responses of their tests computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from neuid3.circuits.arrays import AnyArray
from neuid3.circuits.reach import Reach
from neuid3.data.columns import Distribution, Probability
from neuid3.logic.formula import ColumnVariable, Source, sources
from neuid3.tree.evidence import Evidence
from neuid3.tree.inference import Inference
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Branch, Node, branches, paths


@dataclass(frozen=True, eq=False)
class _TreeReach:
    """One tree: its paths, and the variables that several tests of a path depend on."""

    root: Node
    inference: Inference
    shared: frozenset[Source]

    @cached_property
    def compiled(self) -> Reach:
        """The conjunctions of all paths, which are exact whatever the tests share."""
        return self.inference.compiled([path for path, _ in paths(self.root)])


class TreesReach:
    """P(leaf | e) of the leaves of many trees, called with the evidence of a batch.

    Where the tests of each path depend on different variables, or on variables whose values are certain, P(leaf | e) is the
    product of the responses of its tests, and the response of a test is computed once for all trees. The paths of other
    trees are compiled; both are exact.

    Parameters
    ----------
    roots : the trees.
    inference : exact inference of their tests.
    """

    def __init__(self, roots: Sequence[Node], inference: Inference) -> None:
        self.inference = inference
        self.trees = [_TreeReach(root, inference, self._shared(root)) for root in roots]
        self.tests = tuple(dict.fromkeys(branch.test for root in roots for branch in branches(root)))

    @cached_property
    def _responses(self) -> dict[NodeTest, Reach]:
        """P(τ | e) of each test as a function of evidence."""
        return {test: self.inference.compiled([((test, True),)]) for test in self.tests}

    def __call__(self, evidence: Evidence) -> Iterator[AnyArray]:
        """P(leaf | e) of each tree in turn, from its left leaf to its right one, `(example, leaf)`."""
        responses: dict[NodeTest, AnyArray] = {}
        for tree in self.trees:
            if any(_is_uncertain(source, evidence) for source in tree.shared):
                yield tree.compiled(evidence)
                continue
            for branch in branches(tree.root):
                if branch.test not in responses:
                    responses[branch.test] = self._responses[branch.test](evidence)[:, 0]
            yield self._products(tree.root, responses, len(evidence))

    def _products(self, root: Node, responses: dict[NodeTest, AnyArray], n: int) -> AnyArray:
        """P(leaf | e) as products along the paths, `(example, leaf)`."""
        arrays = self.inference.arrays
        leaves: list[AnyArray] = []
        stack: list[tuple[Node, AnyArray]] = [(root, None)]
        while stack:
            node, reach = stack.pop()
            if not isinstance(node, Branch):
                leaves.append(arrays.full((n,), 1.0) if reach is None else reach)
                continue
            yes = responses[node.test]
            no = 1.0 - yes
            stack += [(node.no, no if reach is None else reach * no), (node.yes, yes if reach is None else reach * yes)]
        return arrays.stack(leaves).T

    def _shared(self, root: Node) -> frozenset[Source]:
        """The variables that two or more tests of one path depend on."""
        shared: set[Source] = set()
        semantics = self.inference.semantics
        for path, _ in paths(root):
            counts = Counter(source for test, _ in path for source in sources(semantics.formula(test)))
            shared.update(source for source, count in counts.items() if count > 1)
        return frozenset(shared)


def _is_uncertain(source: Source, evidence: Evidence) -> bool:
    """Whether a variable has no certain value for some example of a batch."""
    match source:
        case str(name) | ColumnVariable(name):
            kind = evidence.examples.column(name).kind
            return isinstance(kind, (Probability, Distribution)) or evidence.is_missing(name)
        case _:
            return True
