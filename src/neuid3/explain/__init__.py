"""Explanations of predictions: paths, proofs, counterfactuals, and the evidence page."""

from neuid3.explain.build import explain
from neuid3.explain.explanation import Assignment, Change, Counterfactual, Explanation, LeafShare, Proof, Reading, Step

__all__ = [
    "Assignment",
    "Change",
    "Counterfactual",
    "Explanation",
    "LeafShare",
    "Proof",
    "Reading",
    "Step",
    "explain",
]
