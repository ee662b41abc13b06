"""Export of trees: text, SVG, matplotlib, Graphviz, ProbLog, DeepProbLog and ONNX."""

from neuid3.export.graphviz import export_graphviz
from neuid3.export.plot import plot_tree
from neuid3.export.svg import export_svg
from neuid3.export.text import export_text

__all__ = ["export_graphviz", "export_svg", "export_text", "plot_tree"]
