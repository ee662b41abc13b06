"""Trees as immutable values: leaves, branches, and walks over them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, TypeVar

from neuid3.data.derived import abridged
from neuid3.errors import TreeError
from neuid3.tree.goals import Goal, GoalLeaf
from neuid3.tree.leaves import Leaf, LeafNode, Masses, NumberLeaf, checked_masses, class_leaf
from neuid3.tree.node_tests import AtomTest, NodeTest

__all__ = [
    "Branch",
    "Label",
    "Leaf",
    "LeafNode",
    "Masses",
    "NetworkStatistics",
    "Node",
    "NumberLeaf",
    "Path",
    "Tree",
    "Visit",
    "branches",
    "fold",
    "node_paths",
    "paths",
    "preorder",
]

Label = Any
Result = TypeVar("Result")


# A test is near chance where its networks are less decided than this, or where its gain on unseen examples is below this
# fraction of its gain on training examples.
NEAR_CHANCE = 0.25

# The least mass of unseen examples, in examples, whose gain counts.
MIN_UNSEEN_MASS = 8.0


@dataclass(frozen=True, slots=True)
class NetworkStatistics:
    """Statistics of a test with networks at its branch in the finished tree.

    Attributes
    ----------
    decided : how far the most probable value of its least decided network is above chance, on average: 0 where all
        values are equally probable, 1 where one is certain; None where no example with an image reaches the branch.
        Measured on unseen examples where there are any.
    trained_gain : the gain on the training examples of the networks, in the unit of the criterion; None without any.
    unseen_gain : the same on validation examples; None without any.
    unseen_mass : the mass of validation examples that reach the branch.
    """

    decided: float | None
    trained_gain: float | None
    unseen_gain: float | None
    unseen_mass: float

    @property
    def near_chance(self) -> bool:
        """Whether the networks are hardly decided, or the gain on unseen examples is a fraction of the training gain."""
        if self.decided is not None and self.decided < NEAR_CHANCE:
            return True
        if self.trained_gain is None or self.unseen_gain is None or self.unseen_mass < MIN_UNSEEN_MASS:
            return False
        return self.unseen_gain < NEAR_CHANCE * self.trained_gain


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Branch:
    """An inner node: a test and the subtrees of its two outcomes.

    Comparing, hashing, printing, pickling and copying use an explicit stack, so that trees may be of any depth.

    Parameters
    ----------
    test : the test; a string becomes an `AtomTest`.
    yes, no : the subtrees where the test is true and false.
    gain : the gain of the test in a learned tree, in the unit of its criterion: bits for entropy.
    statistics : those of the networks that the test uses, in a learned tree.
    summary : the leaf that a branch of a learned tree would be without its test. In its place `masses` may be given, the
        mass Σ P(κ|e) of each class.
    """

    test: NodeTest
    yes: Node
    no: Node
    gain: float | None = None
    statistics: NetworkStatistics | None = field(default=None, repr=False, compare=False)
    summary: LeafNode | None = field(default=None, repr=False, compare=False)

    def __init__(
        self,
        test: NodeTest | str,
        yes: Node,
        no: Node,
        gain: float | None = None,
        masses: Masses | None = None,
        statistics: NetworkStatistics | None = None,
        summary: LeafNode | None = None,
    ) -> None:
        for side, node in (("yes", yes), ("no", no)):
            if not isinstance(node, (LeafNode, Branch)):
                raise TreeError(
                    f"The '{side}' side of {test!s} is a {type(node).__name__}; it must be a Leaf or a Branch."
                )
        if not isinstance(test, (str, NodeTest)):
            raise TreeError(
                f"The test {test!s:.80} is a {type(test).__name__}; give an atom as a string, or a NodeTest."
            )
        object.__setattr__(self, "test", AtomTest(test) if isinstance(test, str) else test)
        object.__setattr__(self, "yes", yes)
        object.__setattr__(self, "no", no)
        object.__setattr__(self, "gain", _checked_gain(gain, test))
        object.__setattr__(self, "statistics", statistics)
        if summary is None and (checked := checked_masses(masses, test)):
            summary = class_leaf(checked)
        object.__setattr__(self, "summary", summary)

    @property
    def masses(self) -> Masses | None:
        """The mass Σ P(κ|e) of each class, or of all numbers, at the branch of a learned tree; None where it is not known."""
        return None if self.summary is None else self.summary.masses

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Branch):
            return NotImplemented
        stack: list[tuple[Node, Node]] = [(self, other)]
        while stack:
            left, right = stack.pop()
            if left is right:
                continue
            if isinstance(left, LeafNode) or isinstance(right, LeafNode):
                if left != right:  # a comparison of two leaves, or of a leaf with a branch
                    return False
                continue
            if any(getattr(left, name) != getattr(right, name) for name in _own_fields("compare")):
                return False
            stack += [(left.yes, right.yes), (left.no, right.no)]
        return True

    def __hash__(self) -> int:
        def hashed(visit: Visit, below: tuple[int, int] | None) -> int:
            node = visit.node
            if below is None:
                return hash(node)
            return hash((*(getattr(node, name) for name in _own_fields("compare")), *below))

        return fold(self, hashed)

    def __repr__(self) -> str:
        pieces: list[str] = []
        stack: list[Node | str] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, Branch):
                first, *rest = (f"{name}={getattr(item, name)!r}" for name in _own_fields("repr"))
                stack += [
                    "".join(f", {text}" for text in rest) + ")",
                    item.no,
                    ", no=",
                    item.yes,
                    f"Branch({first}, yes=",
                ]
            else:
                pieces.append(item if isinstance(item, str) else repr(item))
        return "".join(pieces)

    def __copy__(self) -> Branch:
        return self  # immutable

    def __reduce__(self) -> tuple[Callable[[list[Any]], Node], tuple[list[Any]]]:
        """The subtree as a flat list, children before parents, so that pickle and deepcopy do not recurse over its depth."""
        return _from_rows, (_to_rows(self),)


@cache
def _own_fields(purpose: str) -> tuple[str, ...]:
    """The fields of a branch without its children: all, or those with a dataclass flag ("compare", "repr")."""
    own = [f for f in fields(Branch) if f.name not in ("yes", "no")]
    return tuple(f.name for f in own if purpose == "all" or getattr(f, purpose))


def _to_rows(root: Node) -> list[Any]:
    """Rows of a subtree: a leaf itself; for a branch, the row numbers of its children and its other fields by name."""
    rows: list[Any] = []
    row_of: dict[int, int] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        waiting = [n for n in (node.no, node.yes) if id(n) not in row_of] if isinstance(node, Branch) else []
        if waiting and id(node) not in row_of:
            stack += waiting
            continue
        stack.pop()
        if id(node) in row_of:
            continue
        row_of[id(node)] = len(rows)
        if isinstance(node, Branch):
            own = {name: getattr(node, name) for name in _own_fields("all")}
            rows.append((row_of[id(node.yes)], row_of[id(node.no)], own))
        else:
            rows.append(node)
    return rows


def _from_rows(rows: list[Any]) -> Node:
    """The subtree of these rows; the opposite of `_to_rows`."""
    nodes: list[Node] = []
    for row in rows:
        if isinstance(row, LeafNode):
            nodes.append(row)
        else:
            yes, no, own = row
            nodes.append(Branch(yes=nodes[yes], no=nodes[no], **own))
    return nodes[-1]


def _checked_gain(gain: Any, test: Any) -> float | None:
    if gain is None:
        return None
    try:
        bits = float(gain)
    except (TypeError, ValueError, OverflowError):
        bits = math.nan
    if isinstance(gain, str) or not math.isfinite(bits):
        raise TreeError(
            f"The gain {gain!r:.40} of the branch {test!s:.80} is no number of bits; give a finite number, or leave it out."
        )
    return bits


Node = LeafNode | Branch
Path = tuple[tuple[NodeTest, bool], ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """A decision tree: a root node and the labels of the classes. Its tests name networks and do not hold them.

    Parameters
    ----------
    root : the root node.
    classes : the labels, in the order of the leaves' probabilities; none for a tree that predicts numbers. By default
        `("neg", "pos")`, or none where a leaf holds a number.

    Raises
    ------
    TreeError : where there is one class only, or two are equal, or a leaf is of another kind or number of classes.

    >>> tree = Tree(Branch("alarm", Leaf(0.9), Leaf(0.2)), classes=("no", "yes"))
    >>> tree.depth, [str(test) for test in tree.tests]
    (1, ['alarm'])
    >>> Tree(Branch("alarm", NumberLeaf(80.0, 5.0), NumberLeaf(20.0, 5.0))).predicts_numbers
    True
    """

    root: Node
    classes: tuple[Label, ...] = None  # type: ignore[assignment]  # by default those that fit the leaves

    def __post_init__(self) -> None:
        if self.classes is None:
            has_numbers = any(leaf.predicts_numbers for leaf in self.leaves)
            object.__setattr__(self, "classes", () if has_numbers else ("neg", "pos"))
        object.__setattr__(self, "classes", tuple(self.classes))
        if not (self.predicts_numbers and all(leaf.predicts_numbers for leaf in self.leaves)) and (
            len(self.classes) < 2 or len(set(self.classes)) < len(self.classes)
        ):
            raise TreeError(f"A tree needs at least two different classes; found {self.classes}.")
        for visit in preorder(self.root):
            leaf = visit.node.summary if isinstance(visit.node, Branch) else visit.node
            if leaf is not None:
                leaf.check(self.classes, visit.depth)

    @property
    def predicts_numbers(self) -> bool:
        """Whether it predicts numbers; otherwise it predicts classes."""
        return not self.classes

    @property
    def leaves(self) -> tuple[LeafNode, ...]:
        """The leaves from left (all yes) to right (all no)."""
        return tuple(visit.node for visit in preorder(self.root) if isinstance(visit.node, LeafNode))

    @property
    def tests(self) -> tuple[NodeTest, ...]:
        """The distinct tests, in preorder."""
        return tuple(dict.fromkeys(branch.test for branch in branches(self.root)))

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The distinct goals of leaves that compute, from left to right."""
        return tuple(dict.fromkeys(leaf.goal for leaf in self.leaves if isinstance(leaf, GoalLeaf)))

    @property
    def network_instances(self) -> dict[str, tuple[str, ...]]:
        """The instances of each declared network that tests and goals of a learned tree call, in preorder; mostly one each."""
        return _network_instances([*self.tests, *self.goals])

    @property
    def test_names(self) -> dict[NodeTest, str]:
        """The name of each test, with the instances that it calls of those networks that the tree has several of.

        >>> one, other = AtomTest("odd(a)", (("net", "net#1"),)), AtomTest("odd(b)", (("net", "net#2"),))
        >>> list(Tree(Branch(one, Branch(other, Leaf(1.0), Leaf(0.0)), Leaf(0.0))).test_names.values())
        ['odd(a) [net#1]', 'odd(b) [net#2]']
        """
        return test_names(self.root)

    @property
    def depth(self) -> int:
        """The most tests on a path from the root to a leaf."""
        return max(visit.depth for visit in preorder(self.root))


def test_names(root: Node) -> dict[NodeTest, str]:
    """The name of each test below a root, as in `Tree.test_names`.

    Parameters
    ----------
    root : the root.

    Returns
    -------
    The names, in preorder.
    """
    return test_names_of(tuple(dict.fromkeys(branch.test for branch in branches(root))))


def test_names_of(tests: Sequence[NodeTest]) -> dict[NodeTest, str]:
    """The name of each of some tests, with the instances that it calls of those networks of which there are several.

    Parameters
    ----------
    tests : distinct tests.

    Returns
    -------
    The names, in the order of the tests.
    """
    several = {network for network, names in _network_instances(tests).items() if len(names) > 1}
    names = {}
    for test in tests:
        called = [instance for network, instance in test.instances if network in several]
        name = abridged(str(test))
        names[test] = f"{name} [{', '.join(called)}]" if called else name
    return names


def _network_instances(callers: Iterable[NodeTest | Goal]) -> dict[str, tuple[str, ...]]:
    """The instances of each declared network that tests and goals call."""
    instances: dict[str, dict[str, None]] = {}
    for caller in callers:
        for network, instance in caller.instances:
            instances.setdefault(network, {})[instance] = None
    return {network: tuple(names) for network, names in instances.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """A node of a preorder walk.

    Attributes
    ----------
    node : the node.
    number : its number in the walk, from 0.
    depth : its depth; that of the root is 0.
    parent : the number of its parent; None for the root.
    response : the response of the parent's test that leads to it; None for the root.
    """

    node: Node
    number: int
    depth: int
    parent: int | None
    response: bool | None


def preorder(root: Node, max_depth: int | None = None) -> Iterator[Visit]:
    """The nodes down to a depth, numbered from 0: a parent before its children, yes before no.

    >>> [(v.number, v.depth, v.parent, v.response) for v in preorder(Branch("a", Leaf(0.9), Leaf(0.1)))]
    [(0, 0, None, None), (1, 1, 0, True), (2, 1, 0, False)]
    """
    number = 0
    stack: list[tuple[Node, int, int | None, bool | None]] = [(root, 0, None, None)]
    while stack:
        node, depth, parent, response = stack.pop()
        yield Visit(node, number, depth, parent, response)
        if isinstance(node, Branch) and (max_depth is None or depth < max_depth):
            stack.append((node.no, depth + 1, number, False))
            stack.append((node.yes, depth + 1, number, True))
        number += 1


def fold(
    root: Node, combine: Callable[[Visit, tuple[Result, Result] | None], Result], max_depth: int | None = None
) -> Result:
    """The result of `combine` for the root, computed from the leaves up.

    Parameters
    ----------
    root : the root of the subtree.
    combine : a function of a node and the results of its children (yes, no); None where a node has no children. It is
        called from right to left, children before their parent.
    max_depth : the depth below which nodes are left out.

    >>> fold(Branch("a", Leaf(0.9), Leaf(0.1)), lambda visit, below: 1 + sum(below or ()))
    3
    """
    results: list[Result] = []
    for visit in reversed(list(preorder(root, max_depth))):
        inner = isinstance(visit.node, Branch) and (max_depth is None or visit.depth < max_depth)
        results.append(combine(visit, (results.pop(), results.pop()) if inner else None))
    return results[0]


def node_paths(root: Node, max_depth: int | None = None) -> Iterator[tuple[Path, Node]]:
    """The nodes down to a depth with their paths, in preorder; the length of a path is the depth of its node."""
    above: list[tuple[Path, Node]] = []  # the last node of every depth, with its path
    for visit in preorder(root, max_depth):
        path: Path = ()
        if visit.response is not None:
            start, parent = above[visit.depth - 1]
            assert isinstance(parent, Branch)
            path = (*start, (parent.test, visit.response))
        above[visit.depth :] = [(path, visit.node)]
        yield path, visit.node


def paths(root: Node) -> Iterator[tuple[Path, LeafNode]]:
    """The leaves from left to right with their paths: tests with their outcomes, from the root down."""
    return ((path, node) for path, node in node_paths(root) if isinstance(node, LeafNode))


def branches(root: Node) -> Iterator[Branch]:
    """The inner nodes, in preorder."""
    return (visit.node for visit in preorder(root) if isinstance(visit.node, Branch))
