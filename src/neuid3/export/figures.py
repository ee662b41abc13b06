"""Reproducible files of matplotlib figures, written atomically."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuid3.errors import DataError
from neuid3.utils.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# By default matplotlib writes the time into these formats, and random ids into an SVG.
_UNDATED: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def figure_bytes(figure: Figure, file_format: str) -> bytes:
    """The content of a file of a figure; equal figures give equal bytes.

    Parameters
    ----------
    figure : the figure to be rendered.
    file_format : a format that matplotlib writes, such as "svg".
    """
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "neuid3"}):
        figure.savefig(buffer, format=file_format, metadata=_UNDATED.get(file_format))
    return buffer.getvalue()


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure to a file, in the format that the suffix of the file name stands for.

    Raises
    ------
    DataError : if matplotlib does not write such files.
    """
    try:
        content = figure_bytes(figure, path.suffix.removeprefix(".").lower())
    except ValueError as error:
        raise DataError(f"{path} cannot be drawn ({error}); name a file that ends in .svg, .png or .pdf.") from None
    write_atomically(path, content)
