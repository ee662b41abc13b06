"""Leaves that compute: goals with one open argument, whose value is the class or the number."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from neuid3.errors import TreeError
from neuid3.tree.leaves import LeafNode, Masses, leaf_from_json, register_leaf_kind
from neuid3.tree.node_tests import AtomTest, Instances, instances_from_json
from neuid3.utils.json_values import as_number, as_text

# A variable of Prolog outside quotes.
_VARIABLE = re.compile(r"'(?:\\.|[^'\\])*'|\b([A-Z_]\w*)")


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal with one open argument, `plus(first, second, Y)`, whose value a leaf predicts.

    Attributes
    ----------
    text : the goal, in Prolog's syntax.
    instances : pairs of a network of the program and the instance of it that the goal calls; a network without a pair is
        its own only instance.
    expression : what the goal computes, such as `digit(first) + digit(second)`; empty where that is no single expression.
    """

    text: str
    instances: Instances = ()
    expression: str = field(default="", compare=False)

    def bind(self, instances: Mapping[str, str]) -> Goal:
        """The same goal with these instances of its networks, and none besides them.

        Parameters
        ----------
        instances : the instance of each declared network, by the name of the network.

        Returns
        -------
        The goal with these instances.
        """
        return replace(self, instances=tuple(sorted(instances.items())))

    def test(self, atom: str) -> AtomTest:
        """The test that the goal has one of its values.

        Parameters
        ----------
        atom : the goal with that value, a ground atom.

        Returns
        -------
        The test, with the instances of the goal.
        """
        return AtomTest(atom, self.instances)

    @property
    def variable(self) -> str:
        """The name of the open argument."""
        names = [match.group(1) for match in _VARIABLE.finditer(self.text) if match.group(1)]
        return names[0] if names else "_"

    @property
    def label(self) -> str:
        """How texts and pictures show it: `Y = digit(second) + 9`, or `Y: nine_plus(second, Y)`.

        >>> Goal("nine_plus(second, Y)").label, Goal("nine_plus(second, Y)", expression="digit(second) + 9").label
        ('Y: nine_plus(second, Y)', 'Y = digit(second) + 9')
        """
        return f"{self.variable} = {self.expression}" if self.expression else f"{self.variable}: {self.text}"

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> dict[str, Any]:
        """Its fields as JSON."""
        return {"text": self.text, "instances": dict(self.instances), "expression": self.expression}

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Goal:
        """The inverse of `to_json`; a TypeError, ValueError or KeyError where a field is invalid.

        Parameters
        ----------
        json : the fields.

        Returns
        -------
        The goal.
        """
        return cls(as_text(json["text"]), instances_from_json(json["instances"]), as_text(json["expression"]))


@register_leaf_kind("goal")
@dataclass(frozen=True, slots=True)
class GoalLeaf(LeafNode):
    """A leaf that predicts the value of a goal, except for a small fraction of its examples.

    P(Y = y, leaf | e) is the probability of the path together with the goal for y. With the probability `noise` the leaf
    predicts like a plain leaf instead, so that one example which the goal does not fit is not impossible. Where the tree
    predicts numbers, the number is normally distributed around the value of the goal.

    Parameters
    ----------
    goal : the goal; a string becomes a `Goal`.
    otherwise : the plain leaf, that of the node's class distribution or numbers in a learned tree.
    noise : the probability of the plain leaf.
    deviation : the standard deviation of numbers around the value of the goal.

    >>> from neuid3.tree.leaves import Leaf
    >>> GoalLeaf("digit(second, Y)", Leaf((0.5, 0.5)), noise=0.1)
    GoalLeaf(goal=Goal(text='digit(second, Y)', ...), otherwise=Leaf(probabilities=(0.5, 0.5)), noise=0.1, deviation=0.0)
    """

    goal: Goal
    otherwise: LeafNode
    noise: float
    deviation: float

    def __init__(self, goal: Goal | str, otherwise: LeafNode, noise: float = 0.0, deviation: float = 0.0) -> None:
        if not isinstance(goal, (Goal, str)) or not isinstance(otherwise, LeafNode) or isinstance(otherwise, GoalLeaf):
            raise TreeError(
                f"A leaf has the goal {goal!r:.60} and otherwise {otherwise!r:.60}; give a goal such as 'digit(second, Y)' "
                "and a plain leaf."
            )
        for name, number, most in (("noise", noise, 1.0), ("deviation", deviation, math.inf)):
            is_number = isinstance(number, (int, float)) and not isinstance(number, bool) and math.isfinite(number)
            if not is_number or not 0.0 <= number <= most:
                rule = "a probability" if most == 1.0 else "a finite number, 0 or more"
                raise TreeError(f"The {name} {number!r:.40} of leaf '{goal}' is invalid; give {rule}.")
        object.__setattr__(self, "goal", Goal(goal) if isinstance(goal, str) else goal)
        object.__setattr__(self, "otherwise", otherwise)
        object.__setattr__(self, "noise", float(noise))
        object.__setattr__(self, "deviation", float(deviation))

    @property
    def predicts_numbers(self) -> bool:  # type: ignore[override]  # a constant of all other kinds
        """Whether it predicts a number, as its plain leaf does."""
        return self.otherwise.predicts_numbers

    @property
    def masses(self) -> Masses | None:  # type: ignore[override]  # a field of all other kinds
        """Those of the plain leaf."""
        return self.otherwise.masses

    @property
    def value(self) -> tuple[float, ...]:
        """What the plain leaf says."""
        return self.otherwise.value

    @property
    def probabilities(self) -> tuple[float, ...]:
        """The class probabilities of the plain leaf."""
        return self.otherwise.value

    def check(self, classes: tuple[Any, ...], depth: int) -> None:
        """Raise a `TreeError` where the plain leaf does not fit into a tree.

        Parameters
        ----------
        classes : the classes of the tree; empty for one that predicts numbers.
        depth : its depth in the tree, for the message.
        """
        self.otherwise.check(classes, depth)

    def to_json(self) -> dict[str, Any]:
        """The goal, the plain leaf and the noise, as the fields `goal`, `otherwise`, `noise` and `deviation`."""
        otherwise = self.otherwise.to_json()
        return {
            "goal": self.goal.to_json(),
            "otherwise": otherwise,
            "noise": self.noise,
            "deviation": self.deviation,
        }

    @classmethod
    def from_json(cls, json: Mapping[str, Any], masses: Masses | None) -> GoalLeaf:
        """The inverse of `to_json`."""
        fields = json["otherwise"] if masses is None else {**json["otherwise"], "masses": list(masses)}
        otherwise = leaf_from_json(fields)
        if otherwise is None or isinstance(otherwise, GoalLeaf):
            raise ValueError("the plain leaf of a goal is no plain leaf")
        return cls(Goal.from_json(json["goal"]), otherwise, as_number(json["noise"]), as_number(json["deviation"]))


def class_of_value(value: float | str, classes: Sequence[Any]) -> int | None:
    """The number of the class that a value of a goal stands for; None where there is none.

    A value equals a class of the same kind, a number a number. Otherwise both are compared as text, so that 7 is the class
    "7" and the name '7' the class 7; the names `true` and `false` are the classes True and False.

    >>> class_of_value(7, (5, 7)), class_of_value(7, ("5", "7")), class_of_value("odd", ("even", "odd"))
    (1, 1, 1)
    >>> class_of_value("true", (False, True)), class_of_value(1, (False, True)), class_of_value(7.0, (5, 7))
    (1, None, 1)
    """
    texts = []
    for number, label in enumerate(classes):
        is_number = isinstance(label, (int, float)) and not isinstance(label, bool)
        if isinstance(value, str) and isinstance(label, str) and value == label:
            return number
        if not isinstance(value, str) and is_number and value == label:
            return number
        texts.append(str(label).lower() if isinstance(label, bool) else _text(label) if is_number else str(label))
    return texts.index(_text(value)) if _text(value) in texts else None


def _text(value: Any) -> str:
    """A value as text; a whole number without decimals."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
