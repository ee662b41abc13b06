"""Explanations of predictions: paths, proofs, counterfactuals, and the evidence page."""

from typing import TYPE_CHECKING

from neuid3.utils.lazy import lazy_names

if TYPE_CHECKING:
    from neuid3.explain.build import explain
    from neuid3.explain.explanation import (
        Assignment,
        Change,
        Counterfactual,
        Explanation,
        LeafShare,
        Proof,
        Reading,
        Step,
    )
    from neuid3.explain.page import evidence_page, write_page

__all__ = [
    "Assignment",
    "Change",
    "Counterfactual",
    "Explanation",
    "LeafShare",
    "Proof",
    "Reading",
    "Step",
    "evidence_page",
    "explain",
    "write_page",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "neuid3.explain.build": ["explain"],
        "neuid3.explain.explanation": [
            "Assignment",
            "Change",
            "Counterfactual",
            "Explanation",
            "LeafShare",
            "Proof",
            "Reading",
            "Step",
        ],
        "neuid3.explain.page": ["evidence_page", "write_page"],
    },
)
