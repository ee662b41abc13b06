"""Example images for the tests in a tree drawing: those with the most certain responses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Column, Tensor
from neuid3.data.examples import Examples
from neuid3.errors import DataError
from neuid3.export.pixels import displayed_range, is_image, to_pixels
from neuid3.logic.formula import NeuralVariable, sources
from neuid3.logic.quoting import atom_text
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Branch, Path, node_paths
from neuid3.utils.png import Pixels

if TYPE_CHECKING:  # a tree without examples is drawn without PyTorch
    from neuid3.tree.model import TreeModel

# Images are reduced to at most this many pixels a side; a node shows them smaller anyway.
MAX_SIDE = 64


@dataclass(frozen=True, slots=True, eq=False)
class GalleryExample:
    """The images of one example that a test reads, and the probability of the response that it illustrates."""

    row: int
    images: tuple[Pixels, ...]
    probability: float


@dataclass(frozen=True, slots=True, eq=False)
class Gallery:
    """The image columns that a test reads, and examples of both responses, most certain first."""

    columns: tuple[str, ...]
    yes: tuple[GalleryExample, ...]
    no: tuple[GalleryExample, ...]


def galleries(model: TreeModel, X: Any, images: int, max_depth: int | None = None) -> Mapping[Path, Gallery]:
    """The gallery of each test that reads images, by the path to its branch.

    Only examples with P(path | e) > 0.5 count as reaching a branch.

    Parameters
    ----------
    model : the tree with its networks.
    X : a table of examples.
    images : the most examples for each response.
    max_depth : the depth of the deepest tests; None for all.
    """
    if images < 0:
        raise DataError(f"images={images!r} is no number of examples to show; give 0 or more.")
    examples = model.read(X)
    tests = [
        (path, branch.test, columns)
        for path, branch in node_paths(model.tree.root, max_depth)
        if isinstance(branch, Branch) and (columns := images_read(branch.test, model))
    ]
    if not tests or not len(examples) or not images:
        return {}
    paths = [p for path, test, _ in tests for p in (path, (*path, (test, True)))]
    path_probabilities = model.path_probabilities(examples, paths)  # (example, path)
    return {
        path: _gallery(examples, columns, path_probabilities[:, 2 * i], path_probabilities[:, 2 * i + 1], images)
        for i, (path, _, columns) in enumerate(tests)
    }


def images_read(test: NodeTest, model: TreeModel) -> tuple[str, ...]:
    """The image columns that a test reads, in the order in which it names them; those that only its rules name come last."""
    variables = sources(test.formula(model.program))
    read = {name for variable in variables if isinstance(variable, NeuralVariable) for name in variable.inputs}
    images = {name for name, kind in model.program.schema.items() if type(kind) is Tensor and is_image(kind.shape)}
    columns = [name for name in model.program.schema if name in read & images]

    def position(name: str) -> float:
        match = re.search(rf"(?<![\w']){re.escape(atom_text(name))}(?![\w'])", str(test))
        return float("inf") if match is None else match.start()

    return tuple(sorted(columns, key=position))


def _gallery(
    examples: Examples,
    columns: tuple[str, ...],
    reach: npt.NDArray[Any],
    yes_reach: npt.NDArray[Any],
    max_examples: int,
) -> Gallery:
    rows = np.flatnonzero((reach > 0.5) & examples.complete(columns))
    yes_probabilities = np.clip(yes_reach[rows] / reach[rows], 0.0, 1.0)

    def most_certain(probabilities: npt.NDArray[Any]) -> tuple[GalleryExample, ...]:
        order = [i for i in np.argsort(-probabilities, kind="stable")[:max_examples] if probabilities[i] > 0.5]
        pixels = [_column_pixels(examples.column(name), rows[order]) for name in columns]
        return tuple(
            GalleryExample(int(rows[i]), tuple(images[k] for images in pixels), float(probabilities[i]))
            for k, i in enumerate(order)
        )

    return Gallery(columns, most_certain(yes_probabilities), most_certain(1.0 - yes_probabilities))


def _column_pixels(column: Column, rows: npt.NDArray[Any]) -> list[Pixels]:
    """The images in these rows as RGB pixels, all with the same range from black to white."""
    low, high = displayed_range(column.values)
    pixels = [to_pixels(np.asarray(column.values[row]), low, high, MAX_SIDE) for row in rows]
    return [np.broadcast_to(image, (*image.shape[:2], 3)) for image in pixels]
