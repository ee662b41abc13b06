"""What is a tree? Leaves that know the classes, branches that ask tests, and the paths between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from neuid3.errors import TreeError
from neuid3.nodetest import AtomTest, NodeTest

Label = Any
Masses = tuple[float, ...]


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
        object.__setattr__(self, "masses", masses)


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


@dataclass(frozen=True, slots=True)
class Branch:
    """A question and the two subtrees its answers lead to; a string is read as an `AtomTest`.

    Where the tree was learned, `gain` is how many bits the answer tells, and `masses` how much of each class got here;
    `statistics`, where the test looks through networks, says how these do.
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
        object.__setattr__(self, "gain", gain)
        object.__setattr__(self, "masses", masses)
        object.__setattr__(self, "statistics", statistics)


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
        for _, leaf in paths(self.root):
            if len(leaf.probabilities) != len(self.classes):
                raise TreeError(
                    f"A leaf has {len(leaf.probabilities)} probabilities and the tree {len(self.classes)} classes "
                    f"{self.classes}; give one probability a class."
                )

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves from left (all yes) to right (all no)."""
        return tuple(leaf for _, leaf in paths(self.root))

    @property
    def tests(self) -> tuple[NodeTest, ...]:
        """The different tests, in the order of a walk from the root."""
        return tuple(dict.fromkeys(branch.test for branch in branches(self.root)))

    @property
    def depth(self) -> int:
        return max(len(path) for path, _ in paths(self.root))

    # A tree knows nothing of pictures; notebooks ask for one, and it is fetched by name from the room that draws.

    def _repr_svg_(self) -> str:
        return str(import_module("neuid3.export.notebook").tree_svg(self))

    def _repr_html_(self) -> str:
        return str(import_module("neuid3.export.notebook").tree_html(self))


def paths(root: Node) -> Iterator[tuple[Path, Leaf]]:
    """Every way from the root to a leaf: the tests on it with their answers, and the leaf."""
    stack: list[tuple[Path, Node]] = [((), root)]
    while stack:
        path, node = stack.pop()
        match node:
            case Leaf():
                yield path, node
            case Branch(test, yes, no):
                stack.append(((*path, (test, False)), no))
                stack.append(((*path, (test, True)), yes))


def branches(root: Node) -> Iterator[Branch]:
    """Every inner node, a parent before its children, yes before no."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Branch):
            yield node
            stack.extend((node.no, node.yes))
