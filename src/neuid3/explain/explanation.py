"""The values of an explanation: leaves with their probabilities, proofs of test responses, and counterfactuals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

import numpy as np

from neuid3.data.columns import Array
from neuid3.data.dates import date_text
from neuid3.logic.quoting import entry_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Assignment:
    """A variable and its value: `rank(card_1)` and `3`, with the text `rank(card_1) = 3`.

    Attributes
    ----------
    variable : the variable, `rank(card_1)`.
    value : its value, `3`.
    text : both, as the explanation prints them.
    """

    variable: str
    value: str
    text: str

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """The assignment as lists, dicts, strings and numbers, for JSON."""
        return {"variable": self.variable, "value": self.value}


@dataclass(frozen=True, slots=True)
class Proof:
    """Values of variables that determine the response of a test, and their joint probability P(proof | κ, e).

    The proofs of a response exclude each other, so their probabilities sum to that of the response. The response does not
    depend on variables that are not mentioned.

    Attributes
    ----------
    assignments : the variables and their values.
    probability : P(proof | κ, e), where κ is the path to the test.
    """

    assignments: tuple[Assignment, ...]
    probability: float

    def __str__(self) -> str:
        return ", ".join(map(str, self.assignments)) or "always"

    def to_dict(self) -> dict[str, Any]:
        """The proof as lists, dicts, strings and numbers, for JSON."""
        return {"assignments": [a.to_dict() for a in self.assignments], "probability": self.probability}


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion that a rule counts.

    Attributes
    ----------
    goal : the criterion as a goal, `wide` or `age > 65`.
    probability : P(criterion | e); None where it is no test by itself.
    thresholds : the comparisons that it depends on, each with the number of the example.
    """

    goal: str
    probability: float | None
    thresholds: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        if len(self.thresholds) == 1 and _is_comparison(self.goal):
            ((comparison, value),) = self.thresholds
            return f"{comparison} ({value})"
        values = [f"{comparison}: {value}" for comparison, value in self.thresholds]
        return f"{self.goal} ({', '.join(values)})" if values else self.goal

    def to_dict(self) -> dict[str, Any]:
        """The criterion as lists, dicts, strings and numbers, for JSON."""
        thresholds = [{"comparison": comparison, "value": value} for comparison, value in self.thresholds]
        return {"goal": self.goal, "probability": self.probability, "thresholds": thresholds}


def _is_comparison(goal: str) -> bool:
    return any(operator in goal for operator in ("<", ">", "=:=", "=\\="))


@dataclass(frozen=True, slots=True)
class CriterionCount:
    """A goal that counts criteria, such as `at_least(2, …)`.

    Attributes
    ----------
    goal : the goal, without its list.
    criteria : what is counted, with the probability of each in the example.
    """

    goal: str
    criteria: tuple[Criterion, ...]

    def to_dict(self) -> dict[str, Any]:
        """The count as lists, dicts, strings and numbers, for JSON."""
        return {"goal": self.goal, "criteria": [criterion.to_dict() for criterion in self.criteria]}


@dataclass(frozen=True, slots=True)
class Step:
    """One test on a path, with the response that the path takes.

    Attributes
    ----------
    test : the test.
    response : the response that the path takes, true or false.
    probability : P(response | κ, e), where κ are the steps before it; None if P(κ | e) = 0.
    reach : the probability of the path up to and including this step.
    given : the earlier responses that share variables with the test, and on which its proofs depend.
    proofs : the most probable proofs of the response, best first; None if the reach is too small.
    counts : what the rules behind the test count, with the criteria in this example.
    """

    test: str
    response: bool
    probability: float | None
    reach: float
    given: tuple[str, ...] = ()
    proofs: tuple[Proof, ...] | None = None
    counts: tuple[CriterionCount, ...] = ()

    @property
    def carried(self) -> float:
        """The total probability of the listed proofs."""
        return sum(proof.probability for proof in self.proofs or ())

    def to_dict(self) -> dict[str, Any]:
        """The step as lists, dicts, strings and numbers, for JSON."""
        return {
            "test": self.test,
            "answer": self.response,
            "probability": self.probability,
            "reach": self.reach,
            "given": list(self.given),
            "proofs": None if self.proofs is None else [proof.to_dict() for proof in self.proofs],
            "carried": None if self.proofs is None else self.carried,
            **({"counts": [count.to_dict() for count in self.counts]} if self.counts else {}),
        }


@dataclass(frozen=True, slots=True)
class LeafShare:
    """A leaf, the path to it, and its contribution to every class or to the predicted number.

    Attributes
    ----------
    steps : the path from the root to the leaf.
    probability : P(path | e).
    leaf : P(class | leaf) for each class; or the mean and the standard deviation of a number.
    is_number : whether the leaf holds a number.
    """

    steps: tuple[Step, ...]
    probability: float
    leaf: tuple[float, ...]
    is_number: bool = False

    @property
    def contributions(self) -> tuple[float, ...]:
        """P(path | e) · P(class | leaf) for each class; or P(path | e) · mean, as the only one."""
        values = self.leaf[:1] if self.is_number else self.leaf
        return tuple(self.probability * share for share in values)

    def to_dict(self) -> dict[str, Any]:
        """The leaf as lists, dicts, strings and numbers, for JSON."""
        return {
            "probability": self.probability,
            "leaf": list(self.leaf),
            "contributions": list(self.contributions),
            "path": [step.to_dict() for step in self.steps],
        }


@dataclass(frozen=True, slots=True)
class Move:
    """How far a test moves the predicted number away from the mean of the training examples.

    The example reaches a branch with some probability, and its children with parts of it. What the test adds is the
    probability times the mean of the training examples at each child, less the same at the branch. The mean at the root
    and all moves add up to the prediction.

    Attributes
    ----------
    test : the test.
    amount : what it adds to the number, over all branches with this test.
    response : the more probable response.
    """

    test: str
    amount: float
    response: bool

    def to_dict(self) -> dict[str, Any]:
        """The move as a dict of strings and numbers, for JSON."""
        return {"test": self.test, "answer": self.response, "amount": self.amount}


Kind = OneOf["boolean", "probability", "category", "distribution", "number", "date", "network", "chance"]


@dataclass(frozen=True, slots=True)
class Reading:
    """The values of one variable in an example: of a column, of a neural predicate, or of a probabilistic fact.

    Attributes
    ----------
    name : the name of the variable.
    kind : the kind of the column, or "network", or "chance" for a probabilistic fact of the program.
    columns : the columns that the variable depends on.
    missing : whether one of these is missing; then the probabilities are priors.
    values : the values with a probability above 0 and their probabilities, most probable first.
    network : the network of a neural predicate.
    number : the entry of a number column, or the value of an expression.
    undefined : whether the expression has no value for its operands, as a quotient by 0; then the probabilities are priors.
    quotation : the part of a text that contains the phrase of `contains(note, 'chest pain')`; empty for other variables.
    """

    name: str
    kind: Kind
    columns: tuple[str, ...]
    missing: bool
    values: tuple[tuple[str, float], ...]
    network: str | None = None
    number: float | None = None
    undefined: bool = False
    quotation: str = ""

    @property
    def certain(self) -> bool:
        """Whether one value has the whole probability."""
        return len(self.values) == 1

    def to_dict(self) -> dict[str, Any]:
        """The reading as lists, dicts, strings and numbers, for JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "columns": list(self.columns),
            "missing": self.missing,
            "values": [{"value": value, "probability": probability} for value, probability in self.values],
            "network": self.network,
            "number": self.number,
            **({"undefined": True} if self.undefined else {}),
            **({"quotation": self.quotation} if self.quotation else {}),
        }


def number_of(reading: Reading) -> str:
    """The number of a reading as text: an entry in full, a calculated one with six digits."""
    assert reading.number is not None
    if reading.kind == "date":
        return date_text(reading.number)
    return entry_text(reading.number) if reading.columns == (reading.name,) else f"{reading.number:.6g}"


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a counterfactual.

    Attributes
    ----------
    name : the test or the variable that changes.
    before : its present value, with its probability if that is uncertain.
    after : its new value.
    probability : P(after | e), the present probability of the new value.
    text : the change as a condition, such as `alarm were false (it is true)`.
    """

    name: str
    before: str
    after: str
    probability: float
    text: str

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """The change as lists, dicts, strings and numbers, for JSON."""
        return {"name": self.name, "before": self.before, "after": self.after, "probability": self.probability}


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The fewest changes after which another class is the most probable one, or a number is beyond a threshold.

    Attributes
    ----------
    status : the outcome of the search: "found"; "none" with up to `searched` changes; "impossible" with any number of
        changes; or "too many" if there are too many sets of more than `searched` changes to try them all.
    searched : the size of the largest sets that were tried.
    changes : the changes.
    prediction : the class, or the number, that is then predicted.
    probabilities : the probability of each class after the changes; empty where a number is predicted.
    """

    status: OneOf["found", "none", "impossible", "too many"]
    searched: int
    changes: tuple[Change, ...] = ()
    prediction: Any = None
    probabilities: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The counterfactual as lists, dicts, strings and numbers, for JSON."""
        return {
            "status": self.status,
            "searched": self.searched,
            "changes": [change.to_dict() for change in self.changes],
            "prediction": plain(self.prediction),
            "probabilities": list(self.probabilities),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The explanation of one prediction, the result of `model.explain(X, row)`.

    `print(explanation)` and `text` give readable text, `to_dict` and `json` plain data, and `plot` a drawing.

    Attributes
    ----------
    classes : the classes of the tree; empty where it predicts numbers.
    probabilities : the probability of each class; empty where it predicts numbers.
    prediction : the most probable class, or the expected number.
    leaves : all leaves, with their paths and proofs.
    readings : the variables that the tests depend on, with their values in the example.
    other_responses : the smallest change of test responses that changes the class.
    other_facts : the smallest change of columns and network outputs that changes the class.
    images : the images that networks read, by column.
    deviation : the predictive standard deviation of a number; None where a class is predicted.
    threshold : the number that the changes move the prediction across; None where a class is predicted.
    base : the mean of the training examples, from which `moves` start; None where it is not known.
    moves : how far each test moves the predicted number, the largest first; empty where a class is predicted.
    filled_in : entries of parts that are missing or only probable, with their most probable values, which are what is
        explained; predictions sum over all values.
    summed : the probability of each class, or the expected number and its standard deviation, summed over all these values, as
        it is predicted; empty where nothing was filled in.
    """

    classes: tuple[Any, ...]
    probabilities: tuple[float, ...]
    prediction: Any
    leaves: tuple[LeafShare, ...]
    readings: tuple[Reading, ...]
    other_responses: Counterfactual
    other_facts: Counterfactual
    images: Mapping[str, Array] = field(default_factory=dict, repr=False)
    deviation: float | None = None
    threshold: float | None = None
    base: float | None = None
    moves: tuple[Move, ...] = ()
    filled_in: tuple[str, ...] = ()
    summed: tuple[float, ...] = ()

    def __str__(self) -> str:
        return self.text()

    def text(self, decimals: int = 2) -> str:
        """The explanation as text: the class, the leading paths, their proofs, the readings and the counterfactuals.

        Parameters
        ----------
        decimals : the number of decimals of probabilities.

        Returns
        -------
        Several lines of text.
        """
        from neuid3.explain.text import explanation_text

        return explanation_text(self, decimals)

    def to_dict(self) -> dict[str, Any]:
        """The explanation as lists, dicts, strings and numbers; probabilities are in the order of `classes`."""
        numbers = {} if self.deviation is None else self._numbers_to_dict()
        return {
            "classes": [plain(label) for label in self.classes],
            "probabilities": list(self.probabilities),
            "prediction": plain(self.prediction),
            "leaves": [leaf.to_dict() for leaf in self.leaves],
            "readings": [reading.to_dict() for reading in self.readings],
            "other_answers": self.other_responses.to_dict(),
            "other_facts": self.other_facts.to_dict(),
            **numbers,
            **({"filled_in": list(self.filled_in), "summed": list(self.summed)} if self.filled_in else {}),
        }

    def _numbers_to_dict(self) -> dict[str, Any]:
        return {
            "deviation": self.deviation,
            "threshold": self.threshold,
            "base": self.base,
            "moves": [move.to_dict() for move in self.moves],
        }

    def json(self, indent: int | None = 2) -> str:
        """The explanation as JSON text, with the content of `to_dict`.

        Parameters
        ----------
        indent : the number of spaces of an indentation; None for one line.

        Returns
        -------
        JSON text.
        """
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the flow of probability from the root to the classes or numbers; needs matplotlib (`pip install 'neuid3[plots]'`).

        Parameters
        ----------
        ax : the axes to draw on; by default a new figure.

        Returns
        -------
        The axes.
        """
        from neuid3.explain.plot import draw_explanation

        return draw_explanation(self, ax)


def plain(label: Any) -> Any:
    """A class label as a JSON value."""
    value = label.item() if isinstance(label, np.generic) else label
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)
