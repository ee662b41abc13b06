"""Neurosymbolic decision trees, whose tests are facts, networks, or rules over the outputs of networks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from neuid3.utils.lazy import lazy_names

if TYPE_CHECKING:
    from neuid3.data.columns import (
        Boolean,
        Category,
        Date,
        Distribution,
        Number,
        Probability,
        Series,
        Tensor,
        Text,
    )
    from neuid3.data.examples import Examples
    from neuid3.data.priors import Priors
    from neuid3.data.reading.files import ImageFiles
    from neuid3.data.reading.interpretations import read_interpretations
    from neuid3.data.reading.table import read_frame, read_table
    from neuid3.diagnosis.findings import Diagnosis, Finding
    from neuid3.encoders.encoder import Encoder
    from neuid3.errors import NeuID3Error
    from neuid3.estimators.boosting import NeuID3BoostingClassifier, NeuID3BoostingRegressor
    from neuid3.estimators.classifier import NeuID3Classifier
    from neuid3.estimators.forest import NeuID3ForestClassifier, NeuID3ForestRegressor
    from neuid3.estimators.forest_model import NeurosymbolicForest
    from neuid3.estimators.loading import load
    from neuid3.estimators.model import NeurosymbolicTree
    from neuid3.estimators.regressor import NeuID3Regressor
    from neuid3.estimators.sum_model import NeurosymbolicSum
    from neuid3.explain.page import evidence_page, label_page, write_label_page, write_page
    from neuid3.export import export_graphviz, export_svg, export_text, plot_tree
    from neuid3.export.onnx import export_onnx
    from neuid3.identifiability.certificate import Certificate, NetworkCertificate
    from neuid3.identifiability.suggestions import LabelSuggestion, LabelSuggestions
    from neuid3.io.bank import Bank
    from neuid3.io.network_modules import register
    from neuid3.io.trained_tests import TrainedTest
    from neuid3.learning.candidates import Candidates
    from neuid3.learning.generators import CandidateGenerator, NodeContext, RandomCandidates
    from neuid3.logic.sandbox import Limits
    from neuid3.networks.defaults import LeNet
    from neuid3.networks.residual import ResidualNet
    from neuid3.training.config import TrainingConfig
    from neuid3.tree.constraints import Constraints
    from neuid3.tree.goals import Goal, GoalLeaf
    from neuid3.tree.leaves import Leaf, NumberLeaf
    from neuid3.tree.monotone import Violation, check_monotone
    from neuid3.tree.node_tests import AtomTest, NodeTest, register_test_kind
    from neuid3.tree.record import ConceptScore
    from neuid3.tree.sums import BoostedSum, ScoreLeaf
    from neuid3.tree.tree import Branch, Tree

    __version__: str

__all__ = [
    "AtomTest",
    "Bank",
    "Boolean",
    "BoostedSum",
    "Branch",
    "CandidateGenerator",
    "Candidates",
    "Category",
    "Certificate",
    "ConceptScore",
    "Constraints",
    "Date",
    "Diagnosis",
    "Distribution",
    "Encoder",
    "Examples",
    "Finding",
    "Goal",
    "GoalLeaf",
    "ImageFiles",
    "LabelSuggestion",
    "LabelSuggestions",
    "LeNet",
    "Leaf",
    "Limits",
    "NetworkCertificate",
    "NeuID3BoostingClassifier",
    "NeuID3BoostingRegressor",
    "NeuID3Classifier",
    "NeuID3Error",
    "NeuID3ForestClassifier",
    "NeuID3ForestRegressor",
    "NeuID3Regressor",
    "NeurosymbolicForest",
    "NeurosymbolicSum",
    "NeurosymbolicTree",
    "NodeContext",
    "NodeTest",
    "Number",
    "NumberLeaf",
    "Priors",
    "Probability",
    "RandomCandidates",
    "ResidualNet",
    "ScoreLeaf",
    "Series",
    "Tensor",
    "Text",
    "TrainedTest",
    "TrainingConfig",
    "Tree",
    "Violation",
    "check_monotone",
    "evidence_page",
    "export_graphviz",
    "export_onnx",
    "export_svg",
    "export_text",
    "label_page",
    "load",
    "plot_tree",
    "read_frame",
    "read_interpretations",
    "read_table",
    "register",
    "register_test_kind",
    "write_label_page",
    "write_page",
]

_get_name, _names = lazy_names(
    __name__,
    {
        "neuid3.data.columns": (
            "Boolean",
            "Category",
            "Date",
            "Distribution",
            "Number",
            "Probability",
            "Series",
            "Tensor",
            "Text",
        ),
        "neuid3.data.examples": ("Examples",),
        "neuid3.data.priors": ("Priors",),
        "neuid3.data.reading.files": ("ImageFiles",),
        "neuid3.data.reading.interpretations": ("read_interpretations",),
        "neuid3.data.reading.table": ("read_frame", "read_table"),
        "neuid3.encoders.encoder": ("Encoder",),
        "neuid3.errors": ("NeuID3Error",),
        "neuid3.estimators.boosting": ("NeuID3BoostingClassifier", "NeuID3BoostingRegressor"),
        "neuid3.estimators.classifier": ("NeuID3Classifier",),
        "neuid3.estimators.forest": ["NeuID3ForestClassifier", "NeuID3ForestRegressor"],
        "neuid3.estimators.forest_model": ["NeurosymbolicForest"],
        "neuid3.estimators.loading": ("load",),
        "neuid3.estimators.model": ("NeurosymbolicTree",),
        "neuid3.estimators.regressor": ("NeuID3Regressor",),
        "neuid3.estimators.sum_model": ("NeurosymbolicSum",),
        "neuid3.explain.page": ("evidence_page", "label_page", "write_label_page", "write_page"),
        "neuid3.export": ("export_graphviz", "export_svg", "export_text", "plot_tree"),
        "neuid3.export.onnx": ("export_onnx",),
        "neuid3.diagnosis.findings": ("Diagnosis", "Finding"),
        "neuid3.identifiability.certificate": ("Certificate", "NetworkCertificate"),
        "neuid3.identifiability.suggestions": ("LabelSuggestion", "LabelSuggestions"),
        "neuid3.io.bank": ("Bank",),
        "neuid3.io.network_modules": ("register",),
        "neuid3.io.trained_tests": ("TrainedTest",),
        "neuid3.learning.candidates": ("Candidates",),
        "neuid3.learning.generators": ("CandidateGenerator", "NodeContext", "RandomCandidates"),
        "neuid3.logic.sandbox": ("Limits",),
        "neuid3.networks.defaults": ("LeNet",),
        "neuid3.networks.residual": ("ResidualNet",),
        "neuid3.training.config": ("TrainingConfig",),
        "neuid3.tree.goals": ("Goal", "GoalLeaf"),
        "neuid3.tree.constraints": ("Constraints",),
        "neuid3.tree.monotone": ("Violation", "check_monotone"),
        "neuid3.tree.node_tests": ("AtomTest", "NodeTest", "register_test_kind"),
        "neuid3.tree.record": ("ConceptScore",),
        "neuid3.tree.leaves": ("Leaf", "NumberLeaf"),
        "neuid3.tree.sums": ("BoostedSum", "ScoreLeaf"),
        "neuid3.tree.tree": ("Branch", "Tree"),
    },
)


def __dir__() -> list[str]:
    return sorted([*_names(), "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        globals()[name] = import_module("neuid3.utils.versions").installed_version()
        return globals()[name]
    return _get_name(name)
