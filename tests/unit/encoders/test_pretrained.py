"""Architectures by name: found in torchvision or timm, filled with weights from a file, without their last layer.

A stand-in takes the place of torchvision, with the functions that are called of it: its CPU build is not installed here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from neuid3 import Encoder, Examples
from neuid3.encoders import freeze
from neuid3.encoders.pretrained import PretrainedEncoder, load_pretrained, weight_files
from neuid3.errors import DamagedFileError, EncoderError, MissingFileError, MissingPackageError


def tiny(classes: int = 10) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, classes)
    )


@pytest.fixture
def torchvision(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    package, models = ModuleType("torchvision"), ModuleType("torchvision.models")
    models.list_models = lambda **_: ["tiny", "tiny_wide"]  # type: ignore[attr-defined]
    models.get_model = lambda _, **__: tiny()  # type: ignore[attr-defined]
    package.models = models  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torchvision", package)
    monkeypatch.setitem(sys.modules, "torchvision.models", models)
    monkeypatch.setitem(sys.modules, "timm", None)
    monkeypatch.setenv("NEUID3_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path / "hub"))
    return models


def weights(path: Path, classes: int = 10) -> nn.Sequential:
    network = tiny(classes).eval()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".safetensors":
        save_file(network.state_dict(), path)
    else:
        torch.save(network.state_dict(), path)
    return network


def expected(network: nn.Sequential, pictures: np.ndarray) -> np.ndarray:
    x = torch.from_numpy(pictures).float() / 255
    mean, deviation = (torch.tensor(v).view(3, 1, 1) for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    with torch.no_grad():
        return network[:-1]((x - mean) / deviation).numpy()


pytestmark = pytest.mark.usefixtures("torchvision")

PICTURES = np.random.default_rng(0).integers(0, 256, (4, 3, 12, 10)).astype(np.uint8)


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
@pytest.mark.parametrize("classes", [10, 3])
def test_vectors_are_the_features_before_the_last_layer(tmp_path: Path, suffix: str, classes: int):
    path = tmp_path / f"w{suffix}"
    network = weights(path, classes)
    X = Examples({"photo": PICTURES})
    vectors = freeze(Encoder("tiny", weights=path), X).encoded(X).column("photo").vectors
    assert np.allclose(vectors, expected(network, PICTURES), atol=1e-6)


@pytest.mark.parametrize("place", ["cache/encoders/tiny.safetensors", "hub/checkpoints/tiny-f37072fd.pth"])
def test_weights_are_found_where_they_are_kept(tmp_path: Path, place: str):
    weights(tmp_path / place)
    assert (tmp_path / place) in list(weight_files("tiny"))
    assert isinstance(load_pretrained("torchvision/tiny", None, None), PretrainedEncoder)


def test_weights_in_a_wrapper_are_unwrapped(tmp_path: Path):
    network = tiny().eval()
    torch.save({"state_dict": {f"module.{k}": v for k, v in network.state_dict().items()}}, tmp_path / "w.pth")
    loaded = load_pretrained("tiny", tmp_path / "w.pth", None)
    assert torch.equal(loaded.body[0].weight, network[0].weight)


def test_pictures_are_scaled_and_grey_ones_become_three_channels(tmp_path: Path):
    weights(tmp_path / "w.pth")
    seen = []
    encoder = load_pretrained("tiny", tmp_path / "w.pth", 16).eval()
    encoder.body[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].shape))
    encoder(torch.rand(2, 1, 9, 11))
    assert seen == [(2, 3, 16, 16)]


def test_missing_weights_say_where_to_put_them(tmp_path: Path):
    with pytest.raises(MissingFileError, match="nothing is downloaded; put them into") as caught:
        load_pretrained("tiny", None, None)
    assert str(tmp_path / "cache" / "encoders" / "tiny") in str(caught.value)
    with pytest.raises(MissingFileError, match="nowhere"):
        load_pretrained("tiny", tmp_path / "nowhere.pth", None)


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(EncoderError, match="Did you mean 'tiny'"):
        load_pretrained("tinu", None, None)
    with pytest.raises(EncoderError, match=r"names the library 'torchvison'.*torchvision"):
        load_pretrained("torchvison/tiny", None, None)


def test_weights_of_another_architecture_are_refused(tmp_path: Path):
    torch.save(nn.Linear(2, 2).state_dict(), tmp_path / "w.pth")
    with pytest.raises(EncoderError, match=r"does not hold the weights of 'tiny': 0\.bias is missing there and 5 in"):
        load_pretrained("tiny", tmp_path / "w.pth", None)


@pytest.mark.parametrize("name", ["w.pth", "w.safetensors"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str):
    (tmp_path / name).write_bytes(b"no weights")
    with pytest.raises(DamagedFileError, match="holds no weights, or is damaged"):
        load_pretrained("tiny", tmp_path / name, None)


def test_a_file_with_code_is_not_run(tmp_path: Path):
    torch.save(tiny(), tmp_path / "w.pth")  # a whole module, which pickle would call functions for
    with pytest.raises(DamagedFileError, match="state_dict"):
        load_pretrained("tiny", tmp_path / "w.pth", None)


def test_channels_that_it_cannot_read_are_named(tmp_path: Path):
    weights(tmp_path / "w.pth")
    X = Examples({"photo": np.zeros((3, 4, 12, 10), dtype=np.uint8)})
    with pytest.raises(EncoderError, match="three channels, and these have 4"):
        freeze(Encoder("tiny", weights=tmp_path / "w.pth"), X).encoded(X)


def test_without_a_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    for name in ("torchvision", "torchvision.models", "timm"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackageError, match=r"neuid3\[encoders\].*torchvision cannot be imported"):
        load_pretrained("resnet18", None, None)
