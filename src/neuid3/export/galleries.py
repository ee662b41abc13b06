"""Which examples show best what a network sees? Those for which its test is most surely true, or most surely false."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Column, Kind, Tensor
from neuid3.data.examples import Examples
from neuid3.data.stores import extremes
from neuid3.errors import DataError
from neuid3.logic.formula import NeuralVariable, sources
from neuid3.logic.quoting import atom_text
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Branch, Path, node_paths
from neuid3.utils.png import Pixels

if TYPE_CHECKING:  # a tree without examples is drawn without PyTorch
    from neuid3.tree.model import TreeModel

# No picture is kept with more pixels a side; a node shows it smaller anyway.
MOST_PIXELS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """The images of one example that a test looks at, and how sure its answer is."""

    row: int
    images: tuple[Pixels, ...]
    sure: float


@dataclass(frozen=True, slots=True, eq=False)
class Gallery:
    """What a test looks at, by column, with the surest examples of either answer, the surest first."""

    columns: tuple[str, ...]
    yes: tuple[Example, ...]
    no: tuple[Example, ...]


def galleries(model: TreeModel, X: Any, most: int, max_depth: int | None = None) -> Mapping[Path, Gallery]:
    """By the path to its branch, the gallery of each test that looks at images.

    An example reaches a branch when it is more probably there than elsewhere; of those, at most `most` are shown a side.
    """
    if most < 0:
        raise DataError(f"images={most!r} is no number of examples to show; give 0 or more.")
    examples = model.read(X)
    looking = [
        (path, branch.test, columns)
        for path, branch in node_paths(model.tree.root, max_depth)
        if isinstance(branch, Branch) and (columns := images_read(branch.test, model))
    ]
    if not looking or not len(examples) or not most:
        return {}
    asked = [p for path, test, _ in looking for p in (path, (*path, (test, True)))]
    found = model.path_probabilities(examples, asked)  # (example, path)
    return {
        path: _gallery(examples, columns, found[:, 2 * i], found[:, 2 * i + 1], most)
        for i, (path, _, columns) in enumerate(looking)
    }


def images_read(test: NodeTest, model: TreeModel) -> tuple[str, ...]:
    """The images that a test looks at, in the order in which it names them, if it does."""
    found = sources(test.formula(model.program))
    read = {name for source in found if isinstance(source, NeuralVariable) for name in source.inputs}
    shown = [name for name, kind in model.program.schema.items() if name in read and is_image(kind)]

    def place(name: str) -> float:
        named = re.search(rf"(?<![\w']){re.escape(atom_text(name))}(?![\w'])", str(test))
        return float("inf") if named is None else named.start()

    return tuple(sorted(shown, key=place))


def is_image(kind: Kind) -> bool:
    """Can a column be drawn? Grey images (h, w) and grey or colour ones with channels first or last can."""
    match kind:
        case Tensor((height, width)):
            return min(height, width) > 1
        case Tensor((first, middle, last)):
            return (first in (1, 3) or last in (1, 3)) and middle > 1
        case _:
            return False


def _gallery(
    examples: Examples, columns: tuple[str, ...], reached: npt.NDArray[Any], yes: npt.NDArray[Any], most: int
) -> Gallery:
    here = np.flatnonzero((reached > 0.5) & examples.complete(columns))
    sure = np.clip(yes[here] / reached[here], 0.0, 1.0)

    def surest(answer: npt.NDArray[Any]) -> tuple[Example, ...]:
        order = [i for i in np.argsort(-answer, kind="stable")[:most] if answer[i] > 0.5]
        drawn = [_drawn(examples.column(name), here[order]) for name in columns]
        return tuple(
            Example(int(here[i]), tuple(images[k] for images in drawn), float(answer[i])) for k, i in enumerate(order)
        )

    return Gallery(columns, surest(sure), surest(1.0 - sure))


def _drawn(column: Column, rows: npt.NDArray[Any]) -> list[Pixels]:
    """The images in these rows as pixels; numbers outside of [0, 1] are stretched to it by the extremes of the column."""
    values = column.values
    if values.dtype == np.uint8:
        low, high = 0.0, 255.0
    else:
        low, high = extremes(values)
        low, high = (0.0, 1.0) if low >= 0.0 and high <= 1.0 else (low, high)
    return [_pixels((values[row] - low) / max(high - low, 1e-12)) for row in rows]


def _pixels(image: npt.NDArray[Any]) -> Pixels:
    """An image of numbers in [0, 1] as pixels, with every so many left out where there are too many."""
    if image.ndim == 2:
        image = image[None]
    last = np.moveaxis(image, 0, -1) if image.shape[0] in (1, 3) else image
    step = -(-max(last.shape[:2]) // MOST_PIXELS)
    fewer = last[::step, ::step]
    colour = np.broadcast_to(fewer, (*fewer.shape[:2], 3))
    pixels: Pixels = (np.clip(np.nan_to_num(colour), 0.0, 1.0) * 255).round().astype(np.uint8)
    return pixels
