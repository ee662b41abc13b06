"""How do the runs in our docstrings look on the site? Fenced, as the Python that they are."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_RUN = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", flags=re.DOTALL | re.MULTILINE)


class Doctests(Extension):
    """Puts a fence around every run."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _RUN.sub(lambda run: f"```pycon\n{run.group(0)}\n```", obj.docstring.value)
