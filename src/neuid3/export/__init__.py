"""How does a tree look elsewhere? As text, as a ProbLog program, as a DeepProbLog program."""

from neuid3.export.text import export_text

__all__ = ["export_text"]
