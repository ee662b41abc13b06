"""Pages of one HTML file: the evidence behind each test and network of a tree, and images to label."""

from neuid3.explain.page.labelling import label_page, write_label_page
from neuid3.explain.page.render import evidence_page, write_page

__all__ = ["evidence_page", "label_page", "write_label_page", "write_page"]
