"""Pretrained architectures of torchvision and timm as encoders, with weights from a local file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from neuid3.errors import DamagedFileError, EncoderError, MissingFileError, MissingPackageError, did_you_mean
from neuid3.utils.cache import cache_folder
from neuid3.utils.files import check_readable

LIBRARIES = ("torchvision", "timm")
SUFFIXES = (".safetensors", ".pth", ".pt")

# What pictures of ImageNet are standardised with, red, green and blue.
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class PretrainedEncoder(nn.Module):
    """An architecture of torchvision or timm without its last layer, for pictures from 0 to 1 with one channel or three.

    Parameters
    ----------
    library : "torchvision" or "timm".
    name : the name of the architecture there.
    size : height and width in pixels that pictures are scaled to; None: they stay as they are.
    """

    def __init__(self, library: str, name: str, size: int | None = None) -> None:
        super().__init__()
        self.settings = {"library": library, "name": name, "size": size}
        self.size = size
        self.body, self.last_layer = _without_last_layer(_build(library, name))
        trained = getattr(self.body, "pretrained_cfg", None) or {}  # timm knows what its weights were trained with
        self.mean, self.deviation = trained.get("mean", _MEAN), trained.get("std", _DEVIATION)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """The vectors of pictures.

        Parameters
        ----------
        pictures : `(example, channel, y, x)`, from 0 to 1.

        Returns
        -------
        Vectors, `(example, number)`.
        """
        if pictures.shape[1] not in (1, 3):
            raise EncoderError(
                f"The encoder {self.settings['name']!r} reads pictures in grey or with three channels, and these have "
                f"{pictures.shape[1]}; leave channels out."
            )
        colour = pictures.expand(-1, 3, -1, -1)
        if self.size is not None:
            colour = functional.interpolate(colour, (self.size, self.size), mode="bilinear", antialias=True)
        mean, deviation = (colour.new_tensor(values).view(3, 1, 1) for values in (self.mean, self.deviation))
        vectors: torch.Tensor = self.body((colour - mean) / deviation)
        return vectors.flatten(1)


def load_pretrained(source: str, weights: Path | str | None, size: int | None) -> PretrainedEncoder:
    """A pretrained architecture by name, with its weights from a file; nothing is downloaded.

    Parameters
    ----------
    source : the name of the architecture, such as "resnet18"; "timm/resnet18" says which library has it.
    weights : the file of the weights; None: it is looked for, see `weight_files`.
    size : height and width in pixels that pictures are scaled to.

    Returns
    -------
    The encoder.

    Raises
    ------
    EncoderError : where no library has such an architecture, or the weights are those of another.
    MissingPackageError : where neither library is installed.
    MissingFileError : where there is no file of weights.
    """
    library, name = _find(source)
    encoder = PretrainedEncoder(library, name, size)
    path = Path(weights) if weights is not None else _found_weights(name)
    _load_weights(encoder, path)
    return encoder


def weight_files(name: str) -> Iterator[Path]:
    """Where the weights of an architecture are looked for: in neuid3's cache, then among the downloads of torch.

    Parameters
    ----------
    name : the name of the architecture.
    """
    yield from (cache_folder() / "encoders" / f"{name}{suffix}" for suffix in SUFFIXES)
    downloads = Path(torch.hub.get_dir()) / "checkpoints"
    yield from (downloads / f"{name}{suffix}" for suffix in SUFFIXES)
    yield from sorted(downloads.glob(f"{name}-*.pth"))


def _found_weights(name: str) -> Path:
    for path in weight_files(name):
        if path.is_file():
            return path
    folder, downloads = cache_folder() / "encoders", Path(torch.hub.get_dir()) / "checkpoints"
    raise MissingFileError(
        f"The weights of the encoder {name!r} are not on this machine, and nothing is downloaded; put them into "
        f"{folder / name}.safetensors or .pth, or {downloads}, or give Encoder({name!r}, weights=FILE)."
    )


# Architectures --------------------------------------------------------------------------------------


def _find(source: str) -> tuple[str, str]:
    """The library and the name of an architecture."""
    first, separator, rest = source.partition("/")
    if separator and first not in LIBRARIES:
        raise EncoderError(f"encoder={source!r} names the library {first!r}.{did_you_mean(first, LIBRARIES)}")
    libraries, name = ((first,), rest) if separator else (LIBRARIES, source)
    known: dict[str, Sequence[str]] = {}
    reasons = []
    for library in libraries:
        try:
            known[library] = _architectures(library)
        except MissingPackageError as error:
            reasons.append(str(error))
            continue
        if name in known[library]:
            return library, name
    if not known:
        raise MissingPackageError(
            f"encoder={source!r} needs torchvision or timm: pip install 'neuid3[encoders]'. {' '.join(reasons)}"
        )
    names = [model for models in known.values() for model in models]
    raise EncoderError(
        f"encoder={source!r} is neither 'self' nor an architecture of {' or '.join(known)}.{did_you_mean(name, names)}"
    )


def _import(library: str, module: str) -> Any:
    try:
        return import_module(module)
    except Exception as error:  # a build for another torch fails in many ways
        reason = str(error).strip().partition("\n")[0][:160]
        raise MissingPackageError(
            f"{library} cannot be imported ({reason}); install the build that belongs to torch {torch.__version__}."
        ) from error


def _architectures(library: str) -> Sequence[str]:
    """The names of the architectures of a library that classify pictures."""
    if library == "torchvision":
        models = _import(library, "torchvision.models")
        return list(models.list_models(module=models))
    return list(_import(library, "timm").list_models())


def _build(library: str, name: str) -> nn.Module:
    """An architecture with random weights."""
    if library not in LIBRARIES:
        raise EncoderError(f"There is no library {library!r} of encoders.{did_you_mean(library, LIBRARIES)}")
    if name not in _architectures(library):
        raise EncoderError(f"{library} has no architecture {name!r}.{did_you_mean(name, _architectures(library))}")
    make: Callable[..., nn.Module]
    if library == "torchvision":
        make = _import(library, "torchvision.models").get_model
        return make(name, weights=None)
    make = _import(library, "timm").create_model
    return make(name, pretrained=False)


def _without_last_layer(network: nn.Module) -> tuple[nn.Module, str]:
    """The network with the identity in place of its last linear layer, which classifies; and that layer's name."""
    linear = [name for name, layer in network.named_modules() if isinstance(layer, nn.Linear)]
    if not linear:
        raise EncoderError(
            f"{type(network).__name__} has no linear layer at its end; give a module that returns vectors as the encoder."
        )
    owner, _, last = linear[-1].rpartition(".")
    setattr(network.get_submodule(owner), last, nn.Identity())
    return network, linear[-1]


# Weights --------------------------------------------------------------------------------------------


def _load_weights(encoder: PretrainedEncoder, path: Path) -> None:
    """Load weights from a file; those of the last layer are left out."""
    name = encoder.settings["name"]
    state = _read_weights(path)
    last = f"{encoder.last_layer}."
    given = {key: values for key, values in state.items() if not key.startswith(last)}
    expected = encoder.body.state_dict()
    shapes = {key: tuple(values.shape) for key, values in given.items()}
    wrong = sorted(
        k for k in {*given, *expected} if shapes.get(k) != (tuple(expected[k].shape) if k in expected else None)
    )
    if wrong:
        raise EncoderError(
            f"{path} does not hold the weights of {name!r}: {wrong[0]} is {_shape(shapes.get(wrong[0]))} there and "
            f"{_shape(tuple(expected[wrong[0]].shape) if wrong[0] in expected else None)} in the network; give its own weights."
        )
    encoder.body.load_state_dict(given)


def _read_weights(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a file of safetensors, or of torch without code."""
    check_readable(path, "file of weights")
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        state: Any = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # damage shows in many kinds of errors
        reason = str(error).strip().partition("\n")[0][:120]
        raise DamagedFileError(
            f"{path} holds no weights, or is damaged ({reason}); give a state_dict, saved by torch.save or as safetensors."
        ) from None
    for outer in ("state_dict", "model"):
        state = state[outer] if isinstance(state, Mapping) and isinstance(state.get(outer), Mapping) else state
    if not isinstance(state, Mapping) or not all(isinstance(values, torch.Tensor) for values in state.values()):
        raise DamagedFileError(
            f"{path} holds a {type(state).__name__} and no weights; save the state_dict of the network."
        )
    return {str(key).removeprefix("module."): values for key, values in state.items()}


def _shape(shape: Sequence[int] | None) -> str:
    return "missing" if shape is None else "×".join(map(str, shape)) or "a number"
