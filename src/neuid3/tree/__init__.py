"""Node tests, trees, criteria, and the exact inference of a tree."""

from typing import TYPE_CHECKING

from neuid3.utils.lazy import lazy_names

if TYPE_CHECKING:
    from neuid3.tree.criteria import ClassCriterion, GiniCriterion, register_criterion
    from neuid3.tree.criterion import Criterion
    from neuid3.tree.evidence import Evidence
    from neuid3.tree.inference import Inference
    from neuid3.tree.leaves import Leaf, LeafNode, NumberLeaf, register_leaf_kind
    from neuid3.tree.model import TreeModel
    from neuid3.tree.node_tests import (
        AtomTest,
        CutTest,
        FactTest,
        NodeTest,
        ValueTest,
        bind_networks,
        instances_from_json,
        register_test_kind,
    )
    from neuid3.tree.number_criterion import NumberCriterion
    from neuid3.tree.record import NumberScore, Score, TrainingRecord
    from neuid3.tree.semantics import NetworkCall, Semantics
    from neuid3.tree.sum_model import SumModel
    from neuid3.tree.sums import BoostedSum, ScoreLeaf
    from neuid3.tree.target import Target
    from neuid3.tree.tree import Branch, NetworkStatistics, Node, Path, Tree

__all__ = [
    "AtomTest",
    "BoostedSum",
    "Branch",
    "ClassCriterion",
    "Criterion",
    "CutTest",
    "Evidence",
    "FactTest",
    "GiniCriterion",
    "Inference",
    "Leaf",
    "LeafNode",
    "NetworkCall",
    "NetworkStatistics",
    "Node",
    "NodeTest",
    "NumberCriterion",
    "NumberLeaf",
    "NumberScore",
    "Path",
    "Score",
    "ScoreLeaf",
    "Semantics",
    "SumModel",
    "Target",
    "TrainingRecord",
    "Tree",
    "TreeModel",
    "ValueTest",
    "bind_networks",
    "instances_from_json",
    "register_criterion",
    "register_leaf_kind",
    "register_test_kind",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "neuid3.tree.criteria": ["ClassCriterion", "GiniCriterion", "register_criterion"],
        "neuid3.tree.criterion": ["Criterion"],
        "neuid3.tree.evidence": ["Evidence"],
        "neuid3.tree.inference": ["Inference"],
        "neuid3.tree.leaves": ["Leaf", "LeafNode", "NumberLeaf", "register_leaf_kind"],
        "neuid3.tree.model": ["TreeModel"],
        "neuid3.tree.node_tests": [
            "AtomTest",
            "CutTest",
            "FactTest",
            "NodeTest",
            "ValueTest",
            "bind_networks",
            "instances_from_json",
            "register_test_kind",
        ],
        "neuid3.tree.number_criterion": ["NumberCriterion"],
        "neuid3.tree.record": ["NumberScore", "Score", "TrainingRecord"],
        "neuid3.tree.semantics": ["NetworkCall", "Semantics"],
        "neuid3.tree.sum_model": ["SumModel"],
        "neuid3.tree.sums": ["BoostedSum", "ScoreLeaf"],
        "neuid3.tree.target": ["Target"],
        "neuid3.tree.tree": ["Branch", "NetworkStatistics", "Node", "Path", "Tree"],
    },
)
