"""What is a tree? Leaves that know the classes, branches that ask tests, and the paths between."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, NoReturn, TypeVar

from neuid3.errors import TreeError
from neuid3.tree.node_tests import AtomTest, NodeTest

Label = Any
Masses = tuple[float, ...]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Leaf:
    """P(class | leaf), in the order of the tree's classes.

    With two classes one number will do: `Leaf(0.95)` gives the second class 0.95. `masses`, where the tree was learned,
    is how much of each class reached the leaf.

    >>> Leaf(0.75)
    Leaf(probabilities=(0.25, 0.75))
    """

    probabilities: tuple[float, ...]
    masses: Masses | None = field(default=None, repr=False, compare=False)

    def __init__(self, probabilities: float | tuple[float, ...] | list[float], masses: Masses | None = None) -> None:
        if isinstance(probabilities, (int, float)):
            probabilities = (1.0 - float(probabilities), float(probabilities))
        given = tuple(float(p) for p in probabilities)
        if not given or not all(0.0 <= p <= 1.0 for p in given) or abs(sum(given) - 1.0) > 1e-6:
            raise TreeError(f"Leaf probabilities {given} are no distribution; they must lie in [0, 1] and sum to 1.")
        object.__setattr__(self, "probabilities", given)
        object.__setattr__(self, "masses", _checked_masses(masses, "a leaf"))


# A test is close to chance where its networks are less decided than this, or where it tells less than this share of what it
# tells about the examples that its networks were trained on; unseen ones count where there are as many as this.
CHANCE, FEWEST_UNSEEN = 0.25, 8.0


@dataclass(frozen=True, slots=True)
class NetworkStatistics:
    """How a test with networks does at its branch, measured when the tree was finished.

    Attributes
    ----------
    decided : how far the favourite value of its least decided network is above chance, on average: 0 where all values are
        equally probable, 1 where one is certain; None where no example with an image got there. Unseen examples
        count where there are some.
    trained_gain : how many bits the answer tells about the examples that networks were trained on; None without any.
    unseen_gain : the same for validation examples; None without any.
    unseen_mass : the mass of validation examples that reach the branch.
    """

    decided: float | None
    trained_gain: float | None
    unseen_gain: float | None
    unseen_mass: float

    @property
    def near_chance(self) -> bool:
        """Are its networks hardly decided, or does it tell of unseen examples a fraction of what it tells of others?"""
        if self.decided is not None and self.decided < CHANCE:
            return True
        if self.trained_gain is None or self.unseen_gain is None or self.unseen_mass < FEWEST_UNSEEN:
            return False
        return self.unseen_gain < CHANCE * self.trained_gain


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Branch:
    """A question and the two subtrees its answers lead to; a string is read as an `AtomTest`.

    Where the tree was learned, `gain` is how many bits the answer tells, and `masses` how much of each class got here;
    `statistics`, where the test looks through networks, says how these do.
    Comparing, hashing, printing, pickling and copying work on an explicit stack, so that trees may be of any depth.
    """

    test: NodeTest
    yes: Node
    no: Node
    gain: float | None = None
    masses: Masses | None = field(default=None, repr=False, compare=False)
    statistics: NetworkStatistics | None = field(default=None, repr=False, compare=False)

    def __init__(
        self,
        test: NodeTest | str,
        yes: Node,
        no: Node,
        gain: float | None = None,
        masses: Masses | None = None,
        statistics: NetworkStatistics | None = None,
    ) -> None:
        for side, node in (("yes", yes), ("no", no)):
            if not isinstance(node, (Leaf, Branch)):
                raise TreeError(
                    f"The '{side}' side of {test!s} is a {type(node).__name__}; it must be a Leaf or a Branch."
                )
        object.__setattr__(self, "test", AtomTest(test) if isinstance(test, str) else test)
        object.__setattr__(self, "yes", yes)
        object.__setattr__(self, "no", no)
        object.__setattr__(self, "gain", _checked_gain(gain, test))
        object.__setattr__(self, "masses", _checked_masses(masses, test))
        object.__setattr__(self, "statistics", statistics)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Branch):
            return NotImplemented
        stack: list[tuple[Node, Node]] = [(self, other)]
        while stack:
            ours, theirs = stack.pop()
            if ours is theirs:
                continue
            if isinstance(ours, Leaf) or isinstance(theirs, Leaf):
                if ours != theirs:  # a leaf compares itself, and is no branch
                    return False
                continue
            if any(getattr(ours, name) != getattr(theirs, name) for name in _own_fields("compare")):
                return False
            stack += [(ours.yes, theirs.yes), (ours.no, theirs.no)]
        return True

    def __hash__(self) -> int:
        def hashed(visit: Visit, below: tuple[int, int] | None) -> int:
            node = visit.node
            if below is None:
                return hash(node)
            return hash((*(getattr(node, name) for name in _own_fields("compare")), *below))

        return fold(self, hashed)

    def __repr__(self) -> str:
        written: list[str] = []
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
                written.append(item if isinstance(item, str) else repr(item))
        return "".join(written)

    def __copy__(self) -> Branch:
        return self  # it never changes

    def __reduce__(self) -> tuple[Callable[[list[Any]], Node], tuple[list[Any]]]:
        """The subtree as a flat list, children before their parents: pickle and deepcopy go no deeper than a row of it."""
        return _from_rows, (_to_rows(self),)


@cache
def _own_fields(purpose: str) -> tuple[str, ...]:
    """The fields of a branch beside its children: all, or those that count for a purpose ("compare", "repr")."""
    own = [f for f in fields(Branch) if f.name not in ("yes", "no")]
    return tuple(f.name for f in own if purpose == "all" or getattr(f, purpose))


def _to_rows(root: Node) -> list[Any]:
    """A leaf is a row as it is; a branch is the rows of its children and its other fields by name."""
    rows: list[Any] = []
    place: dict[int, int] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        waiting = [n for n in (node.no, node.yes) if id(n) not in place] if isinstance(node, Branch) else []
        if waiting and id(node) not in place:
            stack += waiting
            continue
        stack.pop()
        if id(node) in place:
            continue
        place[id(node)] = len(rows)
        if isinstance(node, Branch):
            own = {name: getattr(node, name) for name in _own_fields("all")}
            rows.append((place[id(node.yes)], place[id(node.no)], own))
        else:
            rows.append(node)
    return rows


def _from_rows(rows: list[Any]) -> Node:
    made: list[Node] = []
    for row in rows:
        if isinstance(row, Leaf):
            made.append(row)
        else:
            yes, no, own = row
            made.append(Branch(yes=made[yes], no=made[no], **own))
    return made[-1]


def _checked_masses(masses: Any, where: object) -> Masses | None:
    """Masses as finite floats that are not negative and have a finite sum."""
    if masses is None:
        return None

    def refuse() -> NoReturn:
        raise TreeError(
            f"The masses {masses!r:.80} of {where!s:.80} are none; give one number a class, 0 or more and finite in sum."
        )

    if isinstance(masses, str):
        refuse()
    try:
        given = tuple(float(mass) for mass in masses)
    except (TypeError, ValueError, OverflowError):
        refuse()
    if not all(mass >= 0.0 for mass in given) or not math.isfinite(sum(given)):
        refuse()
    return given


def _checked_gain(gain: Any, test: Any) -> float | None:
    if gain is None:
        return None
    try:
        given = float(gain)
    except (TypeError, ValueError, OverflowError):
        given = math.nan
    if isinstance(gain, str) or not math.isfinite(given):
        raise TreeError(
            f"The gain {gain!r:.40} of the branch {test!s:.80} is no number of bits; leave it out, or count it."
        )
    return given


Node = Leaf | Branch
Path = tuple[tuple[NodeTest, bool], ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """A root and the names of the classes. A tree names its networks and does not own them.

    >>> tree = Tree(Branch("alarm", Leaf(0.9), Leaf(0.2)), classes=("no", "yes"))
    >>> tree.depth, [str(test) for test in tree.tests]
    (1, ['alarm'])
    """

    root: Node
    classes: tuple[Label, ...] = ("neg", "pos")

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(self.classes))
        if len(self.classes) < 2 or len(set(self.classes)) < len(self.classes):
            raise TreeError(f"A tree needs at least two different classes; found {self.classes}.")
        for visit in preorder(self.root):
            node, wanted = visit.node, len(self.classes)
            if isinstance(node, Leaf) and len(node.probabilities) != wanted:
                raise TreeError(
                    f"A leaf has {len(node.probabilities)} probabilities and the tree {wanted} classes "
                    f"{self.classes}; give one probability a class."
                )
            if node.masses is not None and len(node.masses) != wanted:
                raise TreeError(
                    f"A node at depth {visit.depth} has {len(node.masses)} masses and the tree {wanted} classes "
                    f"{self.classes}; give one mass a class."
                )

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves from left (all yes) to right (all no)."""
        return tuple(visit.node for visit in preorder(self.root) if isinstance(visit.node, Leaf))

    @property
    def tests(self) -> tuple[NodeTest, ...]:
        """The different tests, in the order of a walk from the root."""
        return tuple(dict.fromkeys(branch.test for branch in branches(self.root)))

    @property
    def depth(self) -> int:
        return max(visit.depth for visit in preorder(self.root))


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """A node in the order of a walk: its number, its depth, and of which visit it is the child, by which answer."""

    node: Node
    number: int
    depth: int
    parent: int | None
    answer: bool | None


def preorder(root: Node, max_depth: int | None = None) -> Iterator[Visit]:
    """Every node down to a depth, numbered from 0: a parent before its children, yes before no.

    >>> [(v.number, v.depth, v.parent, v.answer) for v in preorder(Branch("a", Leaf(0.9), Leaf(0.1)))]
    [(0, 0, None, None), (1, 1, 0, True), (2, 1, 0, False)]
    """
    number = 0
    stack: list[tuple[Node, int, int | None, bool | None]] = [(root, 0, None, None)]
    while stack:
        node, depth, parent, answer = stack.pop()
        yield Visit(node, number, depth, parent, answer)
        if isinstance(node, Branch) and (max_depth is None or depth < max_depth):
            stack.append((node.no, depth + 1, number, False))
            stack.append((node.yes, depth + 1, number, True))
        number += 1


def fold(
    root: Node, combine: Callable[[Visit, tuple[Result, Result] | None], Result], max_depth: int | None = None
) -> Result:
    """What `combine` makes of the root, given what it made of the children (yes, no); None where a node has none.

    Nodes are combined from right to left, children before their parent, down to `max_depth`.

    >>> fold(Branch("a", Leaf(0.9), Leaf(0.1)), lambda visit, below: 1 + sum(below or ()))
    3
    """
    made: list[Result] = []
    for visit in reversed(list(preorder(root, max_depth))):
        inner = isinstance(visit.node, Branch) and (max_depth is None or visit.depth < max_depth)
        made.append(combine(visit, (made.pop(), made.pop()) if inner else None))
    return made[0]


def node_paths(root: Node, max_depth: int | None = None) -> Iterator[tuple[Path, Node]]:
    """Every node down to a depth and the way there, in the order of `preorder`; a path is as long as its node is deep."""
    above: list[tuple[Path, Node]] = []  # the last node of every depth, with its path
    for visit in preorder(root, max_depth):
        path: Path = ()
        if visit.answer is not None:
            start, parent = above[visit.depth - 1]
            assert isinstance(parent, Branch)
            path = (*start, (parent.test, visit.answer))
        above[visit.depth :] = [(path, visit.node)]
        yield path, visit.node


def paths(root: Node) -> Iterator[tuple[Path, Leaf]]:
    """Every way from the root to a leaf: the tests on it with their answers, and the leaf."""
    return ((path, node) for path, node in node_paths(root) if isinstance(node, Leaf))


def branches(root: Node) -> Iterator[Branch]:
    """Every inner node, a parent before its children, yes before no."""
    return (visit.node for visit in preorder(root) if isinstance(visit.node, Branch))
