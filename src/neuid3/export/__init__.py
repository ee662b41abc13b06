"""How does a tree look elsewhere? As text, as a picture, as a DOT file, as a ProbLog or a DeepProbLog program."""

from neuid3.export.graphviz import export_graphviz
from neuid3.export.plot import plot_tree
from neuid3.export.svg import export_svg
from neuid3.export.text import export_text

__all__ = ["export_graphviz", "export_svg", "export_text", "plot_tree"]
