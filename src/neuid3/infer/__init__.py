"""Where circuits meet tensors: variables become probabilities, and a tree's leaves are reached."""

from neuid3.infer.descent import Descent, conjunctions, looks_in, looks_of
from neuid3.infer.evidence import Evidence, Look, Network
from neuid3.infer.layers import LayeredCircuit
from neuid3.infer.loss import FLOOR, negative_log_likelihood
from neuid3.infer.reach import Reach

__all__ = [
    "FLOOR",
    "Descent",
    "Evidence",
    "LayeredCircuit",
    "Look",
    "Network",
    "Reach",
    "conjunctions",
    "looks_in",
    "looks_of",
    "negative_log_likelihood",
]
