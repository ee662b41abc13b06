"""Evidence page: one HTML file with the examples behind each test and network of a tree."""

from neuid3.explain.page.render import evidence_page, write_page

__all__ = ["evidence_page", "write_page"]
