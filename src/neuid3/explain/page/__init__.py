"""How does a tree show what it looks at? One page of HTML with the examples that speak for each test."""

from neuid3.explain.page.render import evidence_page, write_page

__all__ = ["evidence_page", "write_page"]
