"""Why does a tree say what it says about an example, and what would make it say something else?"""

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
