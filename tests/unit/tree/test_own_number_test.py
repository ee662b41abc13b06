"""A kind of test over a number column that this file defines, and the library does not know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuid3 import NeuID3Classifier, NodeTest, load, register_test_kind
from neuid3.errors import NodeTestError
from neuid3.logic import And, Compare, Formula, Program
from neuid3.tree import CutTest


@register_test_kind("between")
@dataclass(frozen=True)
class Between(NodeTest):
    """A number column lies between two numbers."""

    column: str
    low: float
    high: float

    def formula(self, program: Program) -> Formula:  # noqa: ARG002 - it needs no rules
        return And((Compare(self.column, ">=", self.low), Compare(self.column, "=<", self.high)))

    @property
    def goal(self) -> str:
        return f"{self.column} >= {self.low}, {self.column} =< {self.high}"

    def __str__(self) -> str:
        return f"{self.low:g} ≤ {self.column} ≤ {self.high:g}"

    def to_json(self) -> dict[str, Any]:
        return {"column": self.column, "low": self.low, "high": self.high}

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Between:
        return cls(str(json["column"]), float(json["low"]), float(json["high"]))


AGES = {"age": np.linspace(1.0, 79.0, 60)}
ADULTS = (AGES["age"] >= 20) & (AGES["age"] <= 40)


def test_a_test_between_two_numbers_is_learned_saved_and_explained(tmp_path: Path) -> None:
    clf = NeuID3Classifier(tests=["auto", Between("age", 20, 40)], random_state=0).fit(AGES, ADULTS)
    assert clf.tree_.tests == (Between("age", 20, 40),)
    assert load(clf.save(tmp_path / "ages")).tree_ == clf.tree_
    assert "20 ≤ age ≤ 40" in clf.export_text()
    assert "20 ≤ age ≤ 40: no 1.00" in str(clf.explain(AGES))


@pytest.mark.parametrize("test", [Between("age", 20, 40), Between("age", 20.0, 40.5), CutTest("age", 40)])
def test_problog_agrees_whether_a_threshold_is_an_integer_or_a_float(test: NodeTest) -> None:
    high = test.threshold if isinstance(test, CutTest) else 40
    low = -np.inf if isinstance(test, CutTest) else 20
    labels = (AGES["age"] >= low) & (AGES["age"] <= high)
    clf = NeuID3Classifier(tests=[test], random_state=0).fit(AGES, labels)
    rows = np.concatenate((np.flatnonzero(labels)[:2], np.flatnonzero(~labels)[:2]))
    assert clf.tree_.tests == (test,)
    assert clf.model_.verify({"age": AGES["age"][rows]}) == 0.0


@dataclass(frozen=True)
class Several(Between):
    """A mistake: several formulas instead of one."""

    def formula(self, program: Program) -> Any:
        return program.formulas([f"{self.column} >= {self.low}", f"{self.column} =< {self.high}"])


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (Between(["age"], 20, 40), "class Between cannot be hashed .*'list'.*tuples instead of lists"),  # type: ignore[arg-type]
        (Several("age", 20, 40), r"formula of Several returns a list .* such as And\(parts\)"),
        (Between("adult", 20, 40), "compares column 'adult', a boolean column; only number columns"),
    ],
)
def test_a_test_that_breaks_a_law_is_refused_with_what_to_do(test: NodeTest, message: str) -> None:
    with pytest.raises(NodeTestError, match=message):
        NeuID3Classifier(tests=["auto", test]).fit({**AGES, "adult": ADULTS}, ADULTS)
