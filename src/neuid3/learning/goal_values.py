"""Goals for leaves as a caller gives them, and the classes that their values stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Schema
from neuid3.errors import DataError, NodeTestError
from neuid3.learning.candidates import read_mode
from neuid3.learning.goals import GoalCandidates
from neuid3.logic.program import Program
from neuid3.tree.goals import Goal, class_of_value
from neuid3.tree.semantics import Semantics

# The argument of a mode that is the class, and names of the variable that takes its place.
CLASS_ARGUMENT, VARIABLES = "-class", ("Y", "Class", "Value", "Result")


def is_goal_mode(mode: object) -> bool:
    """Whether a mode is that of goals for leaves.

    >>> is_goal_mode("plus(+first, +second, -class)"), is_goal_mode("gt_rank(+first, +second)")
    (True, False)
    """
    return isinstance(mode, str) and CLASS_ARGUMENT in mode


def read_goals(leaves: Sequence[str], program: Program) -> tuple[Goal, ...]:
    """The goals of texts such as `digit(second, Y)` and of modes such as `digit(+tensor, -class)`.

    Parameters
    ----------
    leaves : goals and modes.
    program : the background knowledge.

    Returns
    -------
    The goals, each once, with what they compute.

    Raises
    ------
    NodeTestError : where one cannot be read or grounded, or has no value or two values in some world.
    """
    if isinstance(leaves, str):
        raise NodeTestError(f"leaves={leaves!r} is a text; give a list of goals, as in leaves=[{leaves!r}].")
    texts: list[str] = []
    for number, leaf in enumerate(leaves):
        if isinstance(leaf, Goal):
            texts.append(leaf.text)
        elif not isinstance(leaf, str):
            raise NodeTestError(
                f"leaves[{number}] is a {type(leaf).__name__}; give a goal as a string, as in 'digit(second, Y)'."
            )
        elif is_goal_mode(leaf):
            texts.extend(_expanded(leaf, program.schema))
        else:
            texts.append(leaf)
    semantics = Semantics(program)
    distinct = [Goal(text) for text in dict.fromkeys(texts)]
    return tuple(Goal(goal.text, expression=semantics.open_goal(goal).expression) for goal in distinct)


def _expanded(mode: str, schema: Schema) -> list[str]:
    """The goals of a mode, one for each choice of distinct columns."""
    if mode.count(CLASS_ARGUMENT) != 1:
        raise NodeTestError(f"Mode {mode!r} has several {CLASS_ARGUMENT}; a leaf predicts the value of one argument.")
    variable = next(name for name in VARIABLES if name not in schema)
    goals = list(read_mode(mode.replace(CLASS_ARGUMENT, variable), schema).atoms())
    if not goals:
        raise NodeTestError(f"Mode {mode!r} gives no goal: there are fewer columns than it has arguments.")
    return goals


def goal_classes(goals: Sequence[Goal], program: Program, classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The classes with those values of goals that no training row has, sorted.

    Parameters
    ----------
    goals : the goals.
    program : the background knowledge.
    classes : the classes of the training rows.

    Returns
    -------
    All classes, of the same type.

    Raises
    ------
    NodeTestError : where no value of a goal is a class.
    DataError : where a value cannot be a label beside those of the training rows.
    """
    labels = classes.tolist()
    added: list[Any] = []
    for goal, opened in zip(goals, program.open_goals([goal.text for goal in goals]), strict=True):
        values = [value.value for value in opened.values]
        if all(class_of_value(value, labels) is None for value in values):
            raise NodeTestError(
                f"Leaf '{goal}' has the values {_listed(values)}, and none of them is a class of y, which has "
                f"{_listed(labels)}; give a goal whose values are classes."
            )
        for value in values:
            if class_of_value(value, [*labels, *added]) is None:
                added.append(_as_label(value, classes, goal))
    if not added:
        return classes
    dtype = object if classes.dtype == object else None
    extended = np.array([*labels, *added], dtype=dtype)
    return np.sort(extended.astype(np.result_type(classes, extended)) if dtype is None else extended)


def _as_label(value: float | str, classes: npt.NDArray[Any], goal: Goal) -> Any:
    """A value as a label of the type of the classes."""
    if classes.dtype.kind in "OSU":
        return str(value)
    is_whole = not isinstance(value, str) and float(value).is_integer()
    if classes.dtype.kind == "f" and not isinstance(value, str):
        return float(value)
    if classes.dtype.kind in "iu" and is_whole:
        return int(value)
    raise DataError(
        f"Leaf '{goal}' has the value {value!r}, which cannot be a class beside {classes.tolist()[0]!r}: y has labels of "
        f"type {classes.dtype.name}; write a rule that gives such a value, or give labels as strings."
    )


def _listed(values: Sequence[Any], most: int = 8) -> str:
    texts = [str(value) for value in values[:most]]
    return ", ".join(texts) + (", …" if len(values) > most else "")


def class_candidates(goals: Sequence[Goal], program: Program, classes: Sequence[Any]) -> GoalCandidates:
    """The goals with the class number of each of their values."""
    opened = program.open_goals([goal.text for goal in goals])
    numbers = tuple(
        np.array([class_of_value(value.value, classes) for value in goal.values], dtype=np.int64) for goal in opened
    )
    return GoalCandidates(tuple(goals), numbers)


def number_values(goals: Sequence[Goal], program: Program) -> list[npt.NDArray[np.float64]]:
    """The values of goals as numbers, `(value,)` for each goal.

    Raises
    ------
    NodeTestError : where a value is no number.
    """
    values = []
    for goal, opened in zip(goals, program.open_goals([goal.text for goal in goals]), strict=True):
        names = [value.value for value in opened.values if isinstance(value.value, str)]
        if names:
            raise NodeTestError(
                f"Leaf '{goal}' has the value {names[0]!r}, and a regressor predicts numbers; give a goal whose values "
                "are numbers."
            )
        values.append(np.array([float(value.value) for value in opened.values]))
    return values
