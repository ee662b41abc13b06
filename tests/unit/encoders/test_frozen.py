"""A frozen encoder gives each picture the vector that its module gives it, computes it once, and names what it cannot read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from neuid3 import Encoder, Examples
from neuid3.data.slots import needed_slots, unfolded
from neuid3.encoders import FrozenEncoder, freeze, read_encoder
from neuid3.errors import EncoderError, NeuID3Error


class Counting(nn.Module):
    """A convolution that counts the pictures it has seen."""

    def __init__(self, channels: int = 3) -> None:
        super().__init__()
        self.layer = nn.Conv2d(channels, 4, 3)
        self.seen = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen += len(x)
        return self.layer(x).mean((2, 3))


def pictures(n: int = 12, shape: tuple[int, ...] = (3, 8, 9), seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, *shape)).astype(np.uint8)


def test_vectors_are_those_of_the_module():
    module = Counting()
    X = Examples({"a": pictures(), "age": np.arange(12) + 0.5})
    encoded = freeze(Encoder(module), X).encoded(X)
    with torch.no_grad():
        expected = module(torch.from_numpy(pictures()).float() / 255)
    column = encoded.column("a")
    assert np.allclose(column.vectors, expected.numpy(), atol=1e-6)
    assert column.inputs is column.vectors
    assert np.array_equal(column.values, pictures())
    assert encoded.schema["a"].input_shape == (4,)
    assert encoded.column("age").inputs is encoded.column("age").values


def test_each_distinct_picture_is_encoded_once():
    twice = np.concatenate((pictures(5), pictures(5)))
    X = Examples({"a": twice, "b": twice[::-1].copy()})
    encoder = FrozenEncoder("test", Counting())
    encoded = encoder.encoded(X)
    probes = 2 * 2  # two black pictures a column say how long its vectors are
    assert encoder.module.seen == 5 + probes
    assert np.array_equal(encoded.column("a").vectors, encoded.column("b").vectors[::-1])
    assert encoder.encoded(encoded) is encoded


def test_pictures_of_parts_are_encoded_and_stand_in_their_slots():
    faces = pictures(5)
    cards = {"hand": [0, 0, 1, 1, 1], "face": faces, "marked": [True, False, True, False, False]}
    X = Examples({"hand": [0, 1, 2]}, parts={"card": (cards, "hand")})
    module = Counting()
    encoded = freeze(Encoder(module), X).encoded(X)
    with torch.no_grad():
        expected = module(torch.from_numpy(faces).float() / 255).numpy()
    assert dict(encoded.schema["card"].columns)["face"].input_shape == (4,)
    slots = unfolded(encoded, needed_slots(encoded))
    assert slots.schema["card_3"].input_shape == (4,)
    for name, row, card in [("card_1", 0, 0), ("card_2", 0, 1), ("card_1", 1, 2), ("card_3", 1, 4)]:
        assert np.allclose(slots.column(name).vectors[row], expected[card], atol=1e-6)
    assert slots.column("card_3").missing.tolist() == [True, False, True]
    assert np.array_equal(slots[[1]].column("card_3").vectors[0], slots.column("card_3").vectors[1])


def test_a_folder_keeps_vectors_for_the_next_encoder_of_the_same_weights(tmp_path: Path):
    module, X = Counting(), Examples({"a": pictures()})
    first = FrozenEncoder("test", module, tmp_path).encoded(X)
    second = FrozenEncoder("test", module, tmp_path)
    assert np.array_equal(second.encoded(X).column("a").vectors, first.column("a").vectors)
    assert second.module.seen == 2  # the probe
    other = FrozenEncoder("test", Counting(), tmp_path)
    assert other.key != second.key
    assert not np.array_equal(other.encoded(X).column("a").vectors, first.column("a").vectors)


def test_rows_and_further_rows_take_their_vectors_along():
    X = Examples({"a": pictures()})
    encoded = FrozenEncoder("test", Counting()).encoded(X)
    joined = encoded[[3, 1]].concatenate(encoded[5:7])
    assert np.array_equal(joined.column("a").vectors, encoded.column("a").vectors[[3, 1, 5, 6]])
    assert np.array_equal(joined.column("a").values, pictures()[[3, 1, 5, 6]])


def test_a_missing_picture_has_no_vector_of_its_own():
    masked = np.ma.array(pictures(), mask=False)
    masked[2] = np.ma.masked
    encoded = FrozenEncoder("test", Counting()).encoded(Examples({"a": masked}))
    assert encoded.column("a").missing.tolist().index(True) == 2
    assert not encoded.column("a").vectors[2].any()


def test_grey_pictures_have_one_channel_for_the_encoder():
    X = Examples({"a": pictures(shape=(8, 9))})
    assert FrozenEncoder("test", Counting(1)).encoded(X).column("a").vectors.shape == (12, 4)


def test_the_module_of_the_caller_stays_as_it_is():
    module = Counting().train()
    FrozenEncoder("test", module).encoded(Examples({"a": pictures()}))
    assert module.seen == 0
    assert module.training
    assert module.layer.weight.requires_grad


def _nan(module: nn.Module) -> nn.Module:
    with torch.no_grad():
        module.layer.weight[0, 0, 0, 0] = torch.nan
    return module


class Flat(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean()


@pytest.mark.parametrize(
    ("source", "columns", "message"),
    [
        (Counting(3), {"photo": pictures(shape=(8, 8))}, "cannot read column 'photo', whose pictures have shape"),
        (Counting(3), {"photo": pictures(shape=(4, 8, 8))}, "another size or number of channels"),
        (Counting(3), {"age": [1.5, 2.5]}, "no column of pictures"),
        (_nan(Counting(3)), {"photo": pictures()}, "layer.weight with NaN"),
        (nn.LazyLinear(3), {"photo": pictures()}, "weight without a shape yet; call it on a picture"),
        (Flat(), {"photo": pictures()}, "must return a vector for each picture"),
    ],
)
def test_what_an_encoder_cannot_read_is_said(source: nn.Module, columns: dict, message: str):
    X = Examples(columns)
    with pytest.raises(EncoderError, match=message):
        freeze(Encoder(source), X).encoded(X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": 3}, "is no encoder"),
        ({"source": "self", "weights": "w.pth"}, "`weights` is for an architecture by name"),
        ({"source": Counting(), "size": 224}, "`size` is for an architecture by name"),
        ({"source": "resnet18", "size": 0}, "no number of pixels"),
        ({"source": "resnet18", "size": True}, "no number of pixels"),
    ],
)
def test_a_wrong_encoder_is_refused(arguments: dict, message: str):
    with pytest.raises(EncoderError, match=message) as caught:
        Encoder(**arguments)
    assert isinstance(caught.value, NeuID3Error)
    assert isinstance(caught.value, ValueError)


def test_an_encoder_may_be_given_by_its_source():
    assert read_encoder(None) is None
    assert read_encoder("self") == Encoder("self")
    assert read_encoder(Encoder("resnet18", size=64)).size == 64
