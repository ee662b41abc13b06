"""Re-readings of a tree: what the values of its networks are determined up to, by structure and by examples."""

from typing import TYPE_CHECKING

from neuid3.utils.lazy import lazy_names

if TYPE_CHECKING:
    from neuid3.identifiability.audit import audit_model, network_kinds, short_forms, structural_certificate
    from neuid3.identifiability.certificate import (
        Certificate,
        Contradictions,
        NetworkCertificate,
    )
    from neuid3.identifiability.certification import certify, tree_variables
    from neuid3.identifiability.contradictions import (
        contradiction_message,
        find_contradictions,
        label_contradictions,
    )
    from neuid3.identifiability.forms import Equivalence, equivalence, equivalence_classes, results
    from neuid3.identifiability.label_sets import smallest_labels
    from neuid3.identifiability.observations import Observations, observe
    from neuid3.identifiability.readings import ReadingCount, ReadingProblem
    from neuid3.identifiability.reread import reread_model
    from neuid3.identifiability.rereading import Rereading, most_likely_rereading
    from neuid3.identifiability.rewriting_search import Rewriting, rewritings
    from neuid3.identifiability.suggest import suggest_labels
    from neuid3.identifiability.suggestions import LabelSuggestion, LabelSuggestions
    from neuid3.identifiability.symmetries import Deadline, PairOfFunctions, SymmetryGroup, symmetry_group

__all__ = [
    "Certificate",
    "Contradictions",
    "Deadline",
    "Equivalence",
    "LabelSuggestion",
    "LabelSuggestions",
    "NetworkCertificate",
    "Observations",
    "PairOfFunctions",
    "ReadingCount",
    "ReadingProblem",
    "Rereading",
    "Rewriting",
    "SymmetryGroup",
    "audit_model",
    "certify",
    "contradiction_message",
    "equivalence",
    "equivalence_classes",
    "find_contradictions",
    "label_contradictions",
    "most_likely_rereading",
    "network_kinds",
    "observe",
    "reread_model",
    "results",
    "rewritings",
    "short_forms",
    "smallest_labels",
    "structural_certificate",
    "suggest_labels",
    "symmetry_group",
    "tree_variables",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "neuid3.identifiability.audit": ["audit_model", "network_kinds", "short_forms", "structural_certificate"],
        "neuid3.identifiability.certificate": [
            "Certificate",
            "Contradictions",
            "NetworkCertificate",
        ],
        "neuid3.identifiability.certification": ["certify", "tree_variables"],
        "neuid3.identifiability.contradictions": [
            "contradiction_message",
            "find_contradictions",
            "label_contradictions",
        ],
        "neuid3.identifiability.forms": ["Equivalence", "equivalence", "equivalence_classes", "results"],
        "neuid3.identifiability.label_sets": ["smallest_labels"],
        "neuid3.identifiability.observations": ["Observations", "observe"],
        "neuid3.identifiability.readings": ["ReadingCount", "ReadingProblem"],
        "neuid3.identifiability.reread": ["reread_model"],
        "neuid3.identifiability.rereading": ["Rereading", "most_likely_rereading"],
        "neuid3.identifiability.rewriting_search": ["Rewriting", "rewritings"],
        "neuid3.identifiability.suggest": ["suggest_labels"],
        "neuid3.identifiability.suggestions": ["LabelSuggestion", "LabelSuggestions"],
        "neuid3.identifiability.symmetries": ["Deadline", "PairOfFunctions", "SymmetryGroup", "symmetry_group"],
    },
)
