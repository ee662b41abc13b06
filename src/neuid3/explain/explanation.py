"""What is an explanation? Leaves with their shares, proofs of the answers, and what would change the class."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

import numpy as np

from neuid3.data.columns import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Assignment:
    """A variable and the value it takes: `rank(card_1)`, `3`, which reads `rank(card_1) = 3`."""

    variable: str
    value: str
    text: str

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        return {"variable": self.variable, "value": self.value}


@dataclass(frozen=True, slots=True)
class Proof:
    """Values that settle a test, and how probable they are together: P(proof | κ, e).

    The proofs of an answer exclude each other, so their probabilities sum to that of the answer. A variable that is
    not mentioned does not matter.
    """

    assignments: tuple[Assignment, ...]
    probability: float

    def __str__(self) -> str:
        return ", ".join(map(str, self.assignments)) or "whatever is the case"

    def to_dict(self) -> dict[str, Any]:
        return {"assignments": [a.to_dict() for a in self.assignments], "probability": self.probability}


@dataclass(frozen=True, slots=True)
class Step:
    """One test on a path and the answer that leads on.

    `probability` is P(answer | κ, e), κ being the steps before it; None where κ itself cannot happen. `reach` is the
    probability of the path up to and with this step. `given` are those earlier answers that share variables with the
    test, without which its proofs would be others. `proofs` are the most probable ones, best first; None where the step
    carries too little to be looked into.
    """

    test: str
    answer: bool
    probability: float | None
    reach: float
    given: tuple[str, ...] = ()
    proofs: tuple[Proof, ...] | None = None

    @property
    def carried(self) -> float:
        """How much of the answer's probability the shown proofs carry together."""
        return sum(proof.probability for proof in self.proofs or ())

    def to_dict(self) -> dict[str, Any]:
        return {
            "test": self.test,
            "answer": self.answer,
            "probability": self.probability,
            "reach": self.reach,
            "given": list(self.given),
            "proofs": None if self.proofs is None else [proof.to_dict() for proof in self.proofs],
            "carried": None if self.proofs is None else self.carried,
        }


@dataclass(frozen=True, slots=True)
class LeafShare:
    """A leaf, the path to it, and what it adds to every class: P(path | e) · P(class | leaf)."""

    steps: tuple[Step, ...]
    probability: float
    leaf: tuple[float, ...]

    @property
    def contributions(self) -> tuple[float, ...]:
        return tuple(self.probability * share for share in self.leaf)

    def to_dict(self) -> dict[str, Any]:
        return {
            "probability": self.probability,
            "leaf": list(self.leaf),
            "contributions": list(self.contributions),
            "path": [step.to_dict() for step in self.steps],
        }


Kind = OneOf["boolean", "probability", "category", "distribution", "number", "network", "chance"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the tree sees of one variable: a column, what a network reads, or a probabilistic fact of the program.

    `values` are those with a probability above 0, most probable first. Where `columns` are `missing`, they are a prior.
    """

    name: str
    kind: Kind
    columns: tuple[str, ...]
    missing: bool
    values: tuple[tuple[str, float], ...]
    network: str | None = None
    number: float | None = None

    @property
    def certain(self) -> bool:
        return len(self.values) == 1

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "columns": list(self.columns),
            "missing": self.missing,
            "values": [{"value": value, "probability": probability} for value, probability in self.values],
            "network": self.network,
            "number": self.number,
        }


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that would be otherwise: what it is now, how probable that is, and what it would be.

    `probability` is how probable the new value is as things are, P(after | e).
    """

    name: str
    before: str
    after: str
    probability: float
    text: str

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "before": self.before, "after": self.after, "probability": self.probability}


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The fewest changes after which another class is the most probable one.

    `status` says how the search ended: "found"; "none", with up to `searched` changes; "impossible", whatever is changed;
    or "too many", when sets of more than `searched` changes were not all tried.
    """

    status: OneOf["found", "none", "impossible", "too many"]
    searched: int
    changes: tuple[Change, ...] = ()
    prediction: Any = None
    probabilities: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "searched": self.searched,
            "changes": [change.to_dict() for change in self.changes],
            "prediction": plain(self.prediction),
            "probabilities": list(self.probabilities),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Why a tree gives an example its class, made by `model.explain(X, row)`.

    `print(explanation)` tells a person, `to_dict` and `json` tell a program, `plot` draws it.
    """

    classes: tuple[Any, ...]
    probabilities: tuple[float, ...]
    prediction: Any
    leaves: tuple[LeafShare, ...]
    readings: tuple[Reading, ...]
    other_answers: Counterfactual
    other_facts: Counterfactual
    images: Mapping[str, Array] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return self.text()

    def text(self, decimals: int = 2) -> str:
        """The explanation for a terminal: the class, where the probability goes, why, and what would change it."""
        from neuid3.explain.text import tell

        return tell(self, decimals)

    def to_dict(self) -> dict[str, Any]:
        """The explanation in plain lists, dicts, strings and numbers; probabilities in the order of `classes`."""
        return {
            "classes": [plain(label) for label in self.classes],
            "probabilities": list(self.probabilities),
            "prediction": plain(self.prediction),
            "leaves": [leaf.to_dict() for leaf in self.leaves],
            "readings": [reading.to_dict() for reading in self.readings],
            "other_answers": self.other_answers.to_dict(),
            "other_facts": self.other_facts.to_dict(),
        }

    def json(self, indent: int | None = 2) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the flow of probability from the root to the classes; needs matplotlib (`pip install 'neuid3[plots]'`)."""
        from neuid3.explain.plot import draw

        return draw(self, ax)


def plain(label: Any) -> Any:
    """A class label as JSON knows it."""
    found = label.item() if isinstance(label, np.generic) else label
    return found if found is None or isinstance(found, (str, int, float, bool)) else str(found)
