"""A sentence encoder gives each text the vector of its model, computes it once, and names what fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from neuid3 import Encoder, Examples
from neuid3.encoders import freeze
from neuid3.errors import EncoderError, MissingFileError, MissingPackageError, NeuID3Error


class Lengths(torch.nn.Module):
    """The numbers of letters and of spaces of each text, by the interface of sentence-transformers."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        self.seen: list[str] = []

    def encode(self, texts: list[str]) -> Any:
        self.seen += texts
        return (torch.tensor([[len(text), text.count(" ")] for text in texts]) * self.scale).detach().numpy()


def table() -> Examples:
    return Examples({"note": ["a b c", "dd ee ff gg", None, "a b c"], "age": [1, 2, 3, 4]}, kinds={"note": "text"})


@pytest.mark.parametrize(
    "wrap", [lambda model: model, lambda model: model.encode, lambda model: lambda t: model.encode(t)]
)
def test_each_text_is_encoded_once_by_a_model_or_a_function(wrap: Any) -> None:
    model = Lengths()
    encoder = freeze(Encoder(wrap(model)), table())
    column = encoder.encoded(table()).column("note")
    assert column.vectors.tolist() == [[5, 4], [11, 6], [0, 0], [5, 4]]
    assert column.kind.input_shape == (2,)
    encoder.encoded(table())
    assert model.seen == ["a b c", "dd ee ff gg"]


def test_a_folder_keeps_vectors_of_equal_weights(tmp_path: Path) -> None:
    for scale, expected in ((1.0, 2), (1.0, 0), (3.0, 2)):
        model = Lengths()
        model.scale.data[0] = scale
        vectors = freeze(Encoder(model, cache=tmp_path), table()).encoded(table()).column("note").vectors
        assert vectors[0, 0] == 5 * scale
        assert len(model.seen) == expected


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda _: [[1.0]], "a vector for each text"),
        (lambda texts: np.full((len(texts), 2), np.nan), "NaN or infinity"),
        (lambda _: 1 / 0, "division by zero"),
    ],
)
def test_what_fails_is_named(model: Any, message: str) -> None:
    with pytest.raises(EncoderError, match=message):
        freeze(Encoder(model), table()).encoded(table())


def test_an_encoder_of_texts_needs_texts_and_files() -> None:
    with pytest.raises(EncoderError, match="no column of texts"):
        freeze(Encoder(Lengths()), Examples({"age": [1, 2]}))
    with pytest.raises(
        (MissingFileError, MissingPackageError), match=r"neuid3\[text\]|nothing is downloaded"
    ) as caught:
        freeze(Encoder("sentence-transformers/no-such-model"), table())
    assert isinstance(caught.value, NeuID3Error)
