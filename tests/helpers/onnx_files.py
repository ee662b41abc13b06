"""ONNX files run in onnxruntime, against the models that they were written from."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime

from neuid3 import (
    Examples,
    NeurosymbolicTree,
)
from neuid3.export.onnx.write import as_onnx


def session_of(written: Any) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(written.SerializeToString(), options)


def inputs_of(session: onnxruntime.InferenceSession, examples: Examples) -> dict[str, np.ndarray]:
    """Columns as the documentation says that a file takes them."""
    types = {"tensor(double)": np.float64, "tensor(float)": np.float32, "tensor(int64)": np.int64}
    made = {}
    for described in session.get_inputs():
        column = examples.column(described.name)
        values = column.values.astype(types[described.type])
        values = values / 255 if column.values.dtype == np.uint8 else values
        if column.missing is not None:
            values[column.missing] = -1 if described.type == "tensor(int64)" else np.nan
        made[described.name] = values.astype(types[described.type])
    return made


def check(model: NeurosymbolicTree, examples: Examples, tolerance: float) -> Any:
    """The file, which says what the model says, of all examples together and of one alone."""
    written = as_onnx(model)
    session = session_of(written)
    for batch in (examples, examples[:1]):
        classes, leaves = session.run(["class_probabilities", "leaf_probabilities"], inputs_of(session, batch))
        assert leaves.shape == (len(batch), len(model.tree.leaves))
        np.testing.assert_allclose(leaves, model.leaf_probabilities(batch), atol=tolerance)
        np.testing.assert_allclose(classes, model.predict_proba(batch), atol=tolerance)
    return written
