"""How does a figure become a file? The same figure as the same bytes, whole or not at all."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuid3.errors import DataError
from neuid3.utils.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Matplotlib writes the time into these, and names parts of an SVG by chance, unless it is told not to.
_UNDATED: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def drawn(figure: Figure, kind: str) -> bytes:
    """A figure as a file of this kind, such as "svg"."""
    from matplotlib import rc_context

    made = io.BytesIO()
    with rc_context({"svg.hashsalt": "neuid3"}):
        figure.savefig(made, format=kind, metadata=_UNDATED.get(kind))
    return made.getvalue()


def save(figure: Figure, path: Path) -> None:
    """Write a figure to a file whose name says of which kind it is."""
    try:
        made = drawn(figure, path.suffix.removeprefix(".").lower())
    except ValueError as error:
        raise DataError(f"{path} cannot be drawn ({error}); name a file that ends in .svg, .png or .pdf.") from None
    write_atomically(path, made)
