"""Export of trees: text, SVG, matplotlib, Graphviz, ProbLog, DeepProbLog and ONNX."""

from typing import TYPE_CHECKING

from neuid3.utils.lazy import lazy_names

if TYPE_CHECKING:
    from neuid3.export.deepproblog import DeepProbLogProgram, to_deepproblog
    from neuid3.export.graphviz import export_graphviz
    from neuid3.export.onnx import export_onnx
    from neuid3.export.plot import plot_tree
    from neuid3.export.problog import to_problog, verify
    from neuid3.export.svg import export_svg
    from neuid3.export.text import export_text

__all__ = [
    "DeepProbLogProgram",
    "export_graphviz",
    "export_onnx",
    "export_svg",
    "export_text",
    "plot_tree",
    "to_deepproblog",
    "to_problog",
    "verify",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "neuid3.export.deepproblog": ["DeepProbLogProgram", "to_deepproblog"],
        "neuid3.export.graphviz": ["export_graphviz"],
        "neuid3.export.onnx": ["export_onnx"],
        "neuid3.export.plot": ["plot_tree"],
        "neuid3.export.problog": ["to_problog", "verify"],
        "neuid3.export.svg": ["export_svg"],
        "neuid3.export.text": ["export_text"],
    },
)
