"""Tables in predictions: each column is read into the schema of the model once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from neuid3 import NeuID3Classifier


class CountedColumn:
    """A column that counts how often its entries are read."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.reads = values, 0

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        self.reads += 1
        return iter(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        self.reads += 1
        return np.array(self.values, dtype=dtype)


RNG = np.random.default_rng(0)
COLUMNS = {"height": RNG.normal(size=300), "suit": RNG.choice(["clubs", "hearts", "spades"], 300)}


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply", "leaf_probabilities"])
def test_a_prediction_reads_each_column_once_and_is_that_of_the_model(method: str) -> None:
    y = np.where((COLUMNS["height"] > 0) & (COLUMNS["suit"] == "hearts"), "yes", "no")
    clf = NeuID3Classifier(random_state=0).fit(COLUMNS, y)
    results = []
    for predictor in (clf, clf.model_):
        counted = {name: CountedColumn(values) for name, values in COLUMNS.items()}
        results.append(getattr(predictor, method)(counted))
        assert {name: column.reads for name, column in counted.items()} == {"height": 1, "suit": 1}
    ours, of_model = results
    assert type(ours) is type(of_model) is np.ndarray
    assert (ours.dtype, ours.shape) == (of_model.dtype, of_model.shape)
    assert (ours == of_model).all()
