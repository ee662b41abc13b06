"""Export of a tree, or of many, with networks to one ONNX file: columns in, probabilities out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuid3.export.unwrap import any_model_of
from neuid3.utils.files import model_path, write_atomically

# The oldest operator set that torch exports networks to; most runtimes support it.
OPSET = 18


def export_onnx(model: Any, path: Path | str, *, opset: int = OPSET) -> Path:
    """Write a model or a fitted estimator to one ONNX file.

    The file takes one input for each column that the tree reads, by the column's name: numbers, probabilities and facts
    (0 or 1) as float64, a distribution as `(n, values)`, a category as the int64 index into its domain, which is in the
    file's metadata, and a tensor in the precision of the network that reads it, with bytes already divided by 255. A missing
    entry (NaN; −1 for a category) follows the model's priors. The outputs are `class_probabilities` `(n, classes)` and
    `leaf_probabilities` `(n, leaves)`, for any number of examples. A tree that predicts numbers has `predicted_mean` and
    `predicted_std`, `(n,)` each, in place of the first. A model of many trees has no `leaf_probabilities`, and a boosted sum of
    numbers no `predicted_std`.

    Parameters
    ----------
    model : a model or a fitted estimator.
    path : the file to be written.
    opset : the ONNX operator set.

    Returns
    -------
    The path of the file.

    Raises
    ------
    ExportError : if a package is missing, or a network cannot be written as ONNX.
    """
    from neuid3.export.onnx.write import as_onnx

    exported = any_model_of(model, "columns and networks")
    return write_atomically(model_path(path), as_onnx(exported, opset).SerializeToString())
