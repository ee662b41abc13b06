"""Findings of a diagnosis, and their text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Cause = Literal[
    "no_candidate",
    "few_rows",
    "pictures_alike",
    "contradicting_labels",
    "constant_rule",
    "more_restarts",
    "more_epochs",
    "penalty",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that keeps a tree from learning.

    Attributes
    ----------
    cause : what it is: `no_candidate`, `few_rows`, `pictures_alike`, `contradicting_labels`, `constant_rule`,
        `more_restarts`, `more_epochs` or `penalty`.
    text : what was found, in one or two sentences with the numbers.
    advice : the smallest change that would help.
    evidence : numbers, names and rows by name, all of them JSON values; rows are counted from 0.
    """

    cause: Cause
    text: str
    advice: str
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.text} {self.advice}"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a fit learned nothing, or that nothing is wrong.

    Attributes
    ----------
    learned : whether the tree has learned something that unseen or shuffled rows confirm.
    summary : one sentence about what was learned.
    causes : what keeps it from learning, the most likely cause first; empty where nothing is wrong.
    notes : findings that have not kept it from learning.
    """

    learned: bool
    summary: str
    causes: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()

    @property
    def cause(self) -> Cause | None:
        """The most likely cause; None where nothing is wrong."""
        return self.causes[0].cause if self.causes else None

    def __str__(self) -> str:
        lines = [self.summary]
        lines += [f"{i}. {finding}" for i, finding in enumerate(self.causes, 1)] or ["Nothing is wrong."]
        return "\n".join([*lines, *(f"Note: {finding}" for finding in self.notes)])

    def to_json(self) -> dict[str, Any]:
        """The diagnosis as JSON values."""
        return {
            "learned": self.learned,
            "summary": self.summary,
            "causes": [_finding_to_json(finding) for finding in self.causes],
            "notes": [_finding_to_json(finding) for finding in self.notes],
        }


def _finding_to_json(finding: Finding) -> dict[str, Any]:
    return {
        "cause": finding.cause,
        "text": finding.text,
        "advice": finding.advice,
        "evidence": dict(finding.evidence),
    }
