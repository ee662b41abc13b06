"""NeuID3: candidates, splits, growth, joint training, regrowing and checkpoints."""

from typing import TYPE_CHECKING

from neuid3.utils.lazy import lazy_names

if TYPE_CHECKING:
    from neuid3.learning.candidates import Candidates
    from neuid3.learning.checkpoint import Checkpoint
    from neuid3.learning.generators import CandidateGenerator, FixedCandidates, NodeContext, RandomCandidates
    from neuid3.learning.grow import GrowthLimits, Learner, OpenNode, Split, grow_tree
    from neuid3.learning.node_learner import NodeLearner
    from neuid3.learning.problem import Problem, read_problem
    from neuid3.learning.sample import Sample
    from neuid3.learning.splitter import ReferenceSplitter, ScoredCandidate, Splitter

__all__ = [
    "CandidateGenerator",
    "Candidates",
    "Checkpoint",
    "FixedCandidates",
    "GrowthLimits",
    "Learner",
    "NodeContext",
    "NodeLearner",
    "OpenNode",
    "Problem",
    "RandomCandidates",
    "ReferenceSplitter",
    "Sample",
    "ScoredCandidate",
    "Split",
    "Splitter",
    "grow_tree",
    "read_problem",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "neuid3.learning.candidates": ["Candidates"],
        "neuid3.learning.checkpoint": ["Checkpoint"],
        "neuid3.learning.generators": ["CandidateGenerator", "FixedCandidates", "NodeContext", "RandomCandidates"],
        "neuid3.learning.grow": ["GrowthLimits", "Learner", "OpenNode", "Split", "grow_tree"],
        "neuid3.learning.node_learner": ["NodeLearner"],
        "neuid3.learning.problem": ["Problem", "read_problem"],
        "neuid3.learning.sample": ["Sample"],
        "neuid3.learning.splitter": ["ReferenceSplitter", "ScoredCandidate", "Splitter"],
    },
)
