"""Kinds of leaves: class probabilities, and a number with its deviation."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, Self, TypeVar

import numpy as np
import numpy.typing as npt

from neuid3.errors import ModelFileError, TreeError
from neuid3.utils.json_values import as_number

Masses = tuple[float, ...]


class LeafNode(ABC):
    """The base class of all leaves.

    A kind of leaf is a frozen dataclass that derives from this class, and says what it predicts and how it is saved. Trees,
    walks over them, files and exports take any kind. The decorator `register_leaf_kind` lets files hold it.

    Laws: leaves are hashable values that compare without their masses; `from_json(to_json(leaf)) == leaf`.

    Attributes
    ----------
    predicts_numbers : whether it says a number; otherwise it says a class.
    masses : the mass Σ P(κ|e) of the training examples that reach it, one for each class or one in all; None where it is
        not known.
    """

    __slots__ = ()

    predicts_numbers: ClassVar[bool] = False
    masses: Masses | None

    @property
    @abstractmethod
    def value(self) -> tuple[float, ...]:
        """What it says: its class probabilities, or a mean and a deviation."""

    @property
    def mass(self) -> float | None:
        """The mass of all training examples that reach it; None where it is not known."""
        return None if self.masses is None else sum(self.masses)

    @abstractmethod
    def check(self, classes: tuple[Any, ...], depth: int) -> None:
        """Raise a `TreeError` where it does not fit into a tree.

        Parameters
        ----------
        classes : the classes of the tree; empty for one that predicts numbers.
        depth : its depth in the tree, for the message.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The fields of a file, without its masses.

        Returns
        -------
        Values that JSON can represent; one of the names is that of the kind.
        """

    @classmethod
    @abstractmethod
    def from_json(cls, json: Mapping[str, Any], masses: Masses | None) -> Self:
        """The inverse of `to_json`.

        Parameters
        ----------
        json : the fields; they may be hostile.
        masses : its masses.

        Returns
        -------
        The leaf.
        """


_Kind = TypeVar("_Kind", bound=type[LeafNode])
_kinds: dict[str, type[LeafNode]] = {}


def register_leaf_kind(name: str) -> Callable[[_Kind], _Kind]:
    """A class decorator that lets files hold a kind of leaf.

    Parameters
    ----------
    name : the field that `to_json` always writes, by which a leaf of this kind is recognised in a file.

    Returns
    -------
    The decorator.

    Raises
    ------
    TreeError : where another class has the name, or a branch has a field of the name.
    """

    def register(kind: _Kind) -> _Kind:
        known = _kinds.setdefault(name, kind)
        if name in ("test", "masses") or known.__qualname__ != kind.__qualname__:
            raise TreeError(
                f"The kind of leaf {name!r} belongs to {known.__qualname__}; give {kind.__qualname__} another."
            )
        _kinds[name] = kind
        return kind

    return register


def leaf_to_json(leaf: LeafNode) -> dict[str, Any]:
    """The fields of a leaf in a file."""
    fields: dict[str, Any] = {} if leaf.masses is None else {"masses": list(leaf.masses)}
    return fields | leaf.to_json()


def leaf_from_json(json: Mapping[str, Any]) -> LeafNode | None:
    """The inverse of `leaf_to_json`; None where these are the fields of a branch.

    Raises
    ------
    ModelFileError : where the kind of leaf is not registered.
    """
    name = next((name for name in _kinds if name in json), None)
    if name is not None:
        return _kinds[name].from_json(json, masses_from_json(json))
    if "test" in json:
        return None
    raise ModelFileError(
        f"A node has the fields {', '.join(json)!s:.60}, which are those of no registered kind of leaf; import the module "
        "that registers it with @register_leaf_kind before you load the file."
    )


def masses_from_json(json: Mapping[str, Any]) -> Masses | None:
    """The masses of a node; None where it has none."""
    return tuple(map(as_number, json["masses"])) if "masses" in json else None


@register_leaf_kind("leaf")
@dataclass(frozen=True, slots=True)
class Leaf(LeafNode):
    """A leaf with its class probabilities.

    Parameters
    ----------
    probabilities : P(class | leaf) in the order of the tree's classes; with two classes, one number is the probability
        of the second.
    masses : the mass Σ P(κ|e) of each class at the leaf of a learned tree.

    >>> Leaf(0.75)
    Leaf(probabilities=(0.25, 0.75))
    """

    probabilities: tuple[float, ...]
    masses: Masses | None = field(default=None, repr=False, compare=False)

    def __init__(self, probabilities: float | tuple[float, ...] | list[float], masses: Masses | None = None) -> None:
        if isinstance(probabilities, (int, float)):
            probabilities = (1.0 - float(probabilities), float(probabilities))
        values = tuple(float(p) for p in probabilities)
        if not values or not all(0.0 <= p <= 1.0 for p in values) or abs(sum(values) - 1.0) > 1e-6:
            raise TreeError(f"Leaf probabilities {values} are no distribution; they must lie in [0, 1] and sum to 1.")
        object.__setattr__(self, "probabilities", values)
        object.__setattr__(self, "masses", checked_masses(masses, "a leaf"))

    @property
    def value(self) -> tuple[float, ...]:
        """The class probabilities."""
        return self.probabilities

    def check(self, classes: tuple[Any, ...], depth: int) -> None:
        """Raise a `TreeError` unless there is one probability, and one mass, for each class.

        Parameters
        ----------
        classes : the classes of the tree.
        depth : its depth in the tree.

        Raises
        ------
        TreeError : where there are more or fewer.
        """
        if len(self.probabilities) != len(classes):
            raise TreeError(
                f"A leaf has {len(self.probabilities)} probabilities and the tree {len(classes)} classes "
                f"{classes}; give one probability a class."
            )
        check_masses(self.masses, classes, depth)

    def to_json(self) -> dict[str, Any]:
        """The probabilities, as the field `leaf`."""
        return {"leaf": list(self.probabilities)}

    @classmethod
    def from_json(cls, json: Mapping[str, Any], masses: Masses | None) -> Leaf:
        """The inverse of `to_json`."""
        return cls(tuple(map(as_number, json["leaf"])), masses)


@register_leaf_kind("number")
@dataclass(frozen=True, slots=True)
class NumberLeaf(LeafNode):
    """A leaf that predicts a number, with a normal distribution.

    Parameters
    ----------
    mean : the number.
    deviation : the standard deviation of the numbers at the leaf.
    masses : the mass Σ P(κ|e) at the leaf of a learned tree, as one number or a tuple with one.

    >>> NumberLeaf(152.5, 10)
    NumberLeaf(mean=152.5, deviation=10.0)
    """

    predicts_numbers: ClassVar[bool] = True

    mean: float
    deviation: float
    masses: Masses | None = field(default=None, repr=False, compare=False)

    def __init__(self, mean: float, deviation: float = 0.0, masses: Masses | float | None = None) -> None:
        for name, number in (("mean", mean), ("deviation", deviation)):
            try:
                is_number = not isinstance(number, (bool, str)) and math.isfinite(number)
            except (TypeError, OverflowError):
                is_number = False
            if not is_number or (name == "deviation" and number < 0):
                rule = "0 or more" if name == "deviation" else "finite"
                raise TreeError(f"The {name} {number!r:.40} of a leaf is invalid; give a number that is {rule}.")
        object.__setattr__(self, "mean", float(mean))
        object.__setattr__(self, "deviation", float(deviation))
        given = (masses,) if isinstance(masses, (int, float)) else masses
        object.__setattr__(self, "masses", checked_masses(given, "a leaf"))

    @property
    def value(self) -> tuple[float, ...]:
        """The mean and the deviation."""
        return self.mean, self.deviation

    def check(self, classes: tuple[Any, ...], depth: int) -> None:
        """Raise a `TreeError` where the tree has classes, or this leaf more than one mass.

        Parameters
        ----------
        classes : the classes of the tree, of which there must be none.
        depth : its depth in the tree.

        Raises
        ------
        TreeError : where there are any.
        """
        if classes:
            raise TreeError(
                f"A leaf at depth {depth} says the number {self.mean:g} and the tree has the classes {classes}; give each "
                "leaf class probabilities, or no classes."
            )
        if self.masses is not None and len(self.masses) != 1:
            raise TreeError(
                f"A leaf at depth {depth} says a number and has {len(self.masses)} masses; give it one mass."
            )

    def to_json(self) -> dict[str, Any]:
        """The mean and the deviation, as the field `number`."""
        return {"number": [self.mean, self.deviation]}

    @classmethod
    def from_json(cls, json: Mapping[str, Any], masses: Masses | None) -> NumberLeaf:
        """The inverse of `to_json`."""
        mean, deviation = map(as_number, json["number"])
        return cls(mean, deviation, masses)


def leaf_moments(leaves: Sequence[LeafNode], center: float) -> npt.NDArray[np.float64]:
    """The first two moments about `center` of the number at each leaf, `(leaf, 2)`.

    Mixtures of leaves have the same mixture of moments. Moments about a number near the means keep their precision.

    >>> leaf_moments([NumberLeaf(3.0, 1.0), NumberLeaf(5.0)], 4.0).tolist()
    [[-1.0, 2.0], [1.0, 1.0]]
    """
    means, deviations = np.array([leaf.value for leaf in leaves]).T
    return np.stack((means - center, deviations**2 + (means - center) ** 2), axis=1)


def check_masses(masses: Masses | None, classes: tuple[Any, ...], depth: int) -> None:
    """Raise a `TreeError` unless there is one mass for each class, or none at all."""
    if masses is not None and len(masses) != len(classes):
        raise TreeError(
            f"A node at depth {depth} has {len(masses)} masses and the tree {len(classes)} classes {classes}; give one "
            "mass a class."
        )


def checked_masses(masses: Any, where: object) -> Masses | None:
    """Masses as finite floats that are not negative and have a finite sum; a `TreeError` for anything else."""
    if masses is None:
        return None

    def refuse() -> NoReturn:
        raise TreeError(
            f"The masses {masses!r:.80} of {where!s:.80} are invalid; give one number a class, 0 or more and finite in sum."
        )

    if isinstance(masses, str):
        refuse()
    try:
        values = tuple(float(mass) for mass in masses)
    except (TypeError, ValueError, OverflowError):
        refuse()
    if not all(mass >= 0.0 for mass in values) or not math.isfinite(sum(values)):
        refuse()
    return values


def class_leaf(masses: Masses) -> Leaf:
    """A leaf with the relative mass of each class; uniform where there is no mass.

    >>> class_leaf((1.0, 3.0))
    Leaf(probabilities=(0.25, 0.75))
    """
    total = sum(masses)
    count = len(masses)
    return Leaf(tuple(mass / total for mass in masses) if total > 0 else (1.0 / count,) * count, masses)
