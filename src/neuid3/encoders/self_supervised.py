"""An encoder learned from the pictures of a table, without their targets: views of one picture are told from all others."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from neuid3.data.columns import Tensor
from neuid3.data.examples import Examples
from neuid3.data.slots import pictures_of
from neuid3.encoders.cache import digest_of
from neuid3.errors import EncoderError
from neuid3.networks.augmentation import Augmentation, augmented
from neuid3.networks.residual import PictureFeatures, first_stride
from neuid3.utils.files import write_atomically

# Pictures that an encoder learns from at most, drawn at random.
MAX_PICTURES = 4096

# Gradient steps, the pictures of a step, and the highest learning rate of the one-cycle schedule.
STEPS, BATCH, RATE = 600, 128, 3e-3

# Larger pictures have fewer steps, so that learning takes about as long as on so many pixels; but not fewer than MIN_STEPS.
PIXELS, MIN_STEPS = 64 * 64, 100

# The temperature of the similarities, and the entries of the vectors that are compared.
TEMPERATURE, COMPARED = 0.2, 64

# How two views of a picture differ at most: shift, as a fraction of the size; warp; light; light of each channel.
SHIFT, WARP, LIGHT, TINT = 0.06, 0.2, 0.25, 0.2

# Part of the names of files with learned encoders: changed with everything above.
_VERSION = 2


def learn_encoder(examples: Examples, folder: Path | str | None = None) -> PictureFeatures:
    """An encoder that is learned from the pictures of examples; the same pictures give the same encoder.

    Parameters
    ----------
    examples : the examples; all their columns of pictures must have one shape.
    folder : where the learned encoder is kept, if anywhere; it is read from there the next time.

    Returns
    -------
    The encoder.

    Raises
    ------
    EncoderError : where columns have pictures of different shapes, or there are fewer than two pictures.
    """
    pictures, key = _pictures(examples)
    shape = pictures.shape[1:]
    encoder = PictureFeatures(shape[0], (shape[1], shape[2]))
    path = None if folder is None else Path(folder) / f"self-{_VERSION}-{key}.safetensors"
    if path is not None and _restored(encoder, path):
        return encoder
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(key[:8], 16))
        encoder = PictureFeatures(shape[0], (shape[1], shape[2]))
        _learn(encoder, torch.from_numpy(pictures))
    if path is not None:
        from safetensors.torch import save

        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, save({name: values.contiguous() for name, values in encoder.state_dict().items()}))
    return encoder.eval()


def _pictures(examples: Examples) -> tuple[npt.NDArray[np.float32], str]:
    """Distinct pictures of all columns, `(picture, channel, y, x)` from 0 to 1, and a digest of them."""
    columns = [column for _, column in pictures_of(examples)]
    shapes = {column.kind.shape for column in columns if isinstance(column.kind, Tensor)}
    if len(shapes) > 1:
        one, other = sorted(shapes)[:2]
        raise EncoderError(
            f"encoder='self' learns one encoder for all pictures, and these have the shapes {one} and {other}; resize them."
        )
    present = [
        (column, row)
        for column in columns
        for row in (range(len(column)) if column.missing is None else np.flatnonzero(~column.missing).tolist())
    ]
    order = np.random.default_rng(0).permutation(len(present))
    found: dict[bytes, npt.NDArray[np.float32]] = {}
    for column, row in (present[i] for i in order):
        picture = np.asarray(column.values[row : row + 1])[0]
        scaled = picture.astype(np.float32) / (255 if picture.dtype == np.uint8 else 1)
        found.setdefault(digest_of(picture), scaled)
        if len(found) == MAX_PICTURES:
            break
    if len(found) < 2:
        raise EncoderError(
            "encoder='self' learns from the pictures of the table, and there are fewer than two; leave it out."
        )
    pictures = np.stack(list(found.values()))
    key = hashlib.blake2b(b"".join(sorted(found)), digest_size=12).hexdigest()
    return (pictures[:, None] if pictures.ndim == 3 else pictures), key


def steps_for(count: int, size: tuple[int, int]) -> int:
    """Number of gradient steps.

    Parameters
    ----------
    count : number of distinct pictures.
    size : their height and width.

    >>> steps_for(1000, (64, 44)), steps_for(1000, (224, 224)), steps_for(50, (224, 224))
    (600, 195, 501)
    """
    pictures, (height, width) = min(count, BATCH), size
    strides = [first_stride(side) for side in (math.isqrt(PIXELS), max(size))]
    positions = [pixels / stride**2 for pixels, stride in zip((PIXELS, height * width), strides, strict=True)]
    return max(MIN_STEPS, min(STEPS, int(STEPS * BATCH * positions[0] / (pictures * positions[1]))))


def _learn(encoder: PictureFeatures, pictures: torch.Tensor) -> None:
    """Train an encoder to recognise each picture among others by another view of it (SimCLR; Chen et al., 2020)."""
    projection = nn.Sequential(
        nn.Linear(encoder.features, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, COMPARED)
    )
    parameters = [*encoder.parameters(), *projection.parameters()]
    steps = steps_for(len(pictures), (pictures.shape[-2], pictures.shape[-1]))
    optimizer = torch.optim.AdamW(parameters, RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    encoder.train()
    rows = torch.empty(0, dtype=torch.int64)
    batch = min(BATCH, len(pictures))
    for _ in range(steps):
        while len(rows) < batch:
            rows = torch.cat((rows, torch.randperm(len(pictures))))
        drawn, rows = pictures[rows[:batch]], rows[batch:]
        projected = projection(encoder(torch.cat((_view(drawn), _view(drawn)))))
        optimizer.zero_grad()
        _contrast(functional.normalize(projected, dim=1)).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    encoder.eval()


def _contrast(vectors: torch.Tensor) -> torch.Tensor:
    """The cross-entropy of finding the other view of each picture, by similarity; `(2 · picture, number)`, views in halves."""
    similarity = vectors @ vectors.T / TEMPERATURE
    similarity = similarity.masked_fill(torch.eye(len(vectors), dtype=torch.bool), float("-inf"))
    half = len(vectors) // 2
    return functional.cross_entropy(similarity, torch.cat((torch.arange(half, 2 * half), torch.arange(half))))


def _view(pictures: torch.Tensor) -> torch.Tensor:
    """Pictures shifted, warped and lit at random."""
    n, channels, height, width = pictures.shape
    down, right = (torch.randint(-limit, limit + 1, (n,)) for limit in (round(SHIFT * height), round(SHIFT * width)))
    warp = torch.eye(2) + WARP * (2.0 * torch.rand(n, 2, 2) - 1.0)
    moved = augmented(pictures, Augmentation(down, right, torch.zeros(n, dtype=torch.bool), warp))
    light = 1.0 + LIGHT * (2.0 * torch.rand(n, 1, 1, 1) - 1.0)
    tint = 1.0 + TINT * (2.0 * torch.rand(n, channels, 1, 1) - 1.0)
    return moved * light * tint


def _restored(encoder: PictureFeatures, path: Path) -> bool:
    """Load the weights of an encoder that was learned before; False where there are none, or they are damaged."""
    from safetensors.torch import load_file

    if not path.is_file():
        return False
    try:
        encoder.load_state_dict(load_file(path))
    except Exception:  # whatever is wrong with the file, the encoder can be learned again
        return False
    encoder.eval()
    return True
