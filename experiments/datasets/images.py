"""Images of digits, letters and clothes: MNIST, EMNIST letters A to D, Fashion-MNIST, and scikit-learn's small digits."""

from __future__ import annotations

import gzip
import hashlib
import math
import zipfile
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from experiments.datasets.files import Official, damage_in, local, locate
from neuid3.errors import DamagedFileError, DataError, did_you_mean

Images: TypeAlias = npt.NDArray[np.uint8]
Labels: TypeAlias = npt.NDArray[np.int64]

MNIST_URL = "https://ossci-datasets.s3.amazonaws.com/mnist"
EMNIST_URL = "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip"
EMNIST_MD5 = "58c8d27c78d21e728a6bc7b3cc06412e"

# MD5 of the unpacked files: archives may be compressed differently.
MNIST_MD5 = {
    "train-images-idx3-ubyte.gz": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte.gz": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte.gz": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte.gz": "27ae3e4e09519cfbb04c329615203637",
}
MNIST_FILES = {
    "train": ("mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"),
    "test": ("mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"),
}
LETTER_FILES = {
    part: tuple(f"emnist/emnist-letters-AD-{part}-{what}-ubyte.gz" for what in ("images-idx3", "labels-idx1"))
    for part in ("train", "test")
}
FASHION_URL = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"
FASHION_FILES = {
    part: tuple(name.replace("mnist/", "fashion-mnist/") for name in names) for part, names in MNIST_FILES.items()
}
LETTERS = "ABCD"


def mnist(part: str, base: str = MNIST_URL) -> tuple[Images, Labels]:
    """MNIST's "train" or "test" digits: images (n, 28, 28) and labels 0 to 9; if not here, from `base`."""
    return _read(part, {p: [(name, _mnist_official(name, base)) for name in names] for p, names in MNIST_FILES.items()})


def fashion_mnist(part: str) -> tuple[Images, Labels]:
    """Fashion-MNIST's "train" or "test" pictures of clothes: images (n, 28, 28) and labels 0 to 9; not downloaded."""
    if part not in FASHION_FILES:
        raise DataError(f"There is no part {part!r} of these images.{did_you_mean(part, FASHION_FILES)}")
    images_path, labels_path = (local(name, f"the files are at {FASHION_URL}") for name in FASHION_FILES[part])
    return _images_and_labels(images_path, labels_path)


def emnist_letters(part: str, url: str = EMNIST_URL) -> tuple[Images, Labels]:
    """EMNIST's letters A to D in both cases, upright: "train" or "test" images (n, 28, 28) and labels 1 to 4.

    The official file is transposed and holds all letters; it is turned and cut down when it is fetched from `url`.
    """
    official = Official(url, _unpack_letters)
    return _read(part, {p: [(name, official) for name in names] for p, names in LETTER_FILES.items()})


def digits() -> tuple[Images, Labels]:
    """The 1,797 digits that come with scikit-learn: images (n, 8, 8) from 0 to 255 and labels 0 to 9."""
    from sklearn.datasets import load_digits

    loaded = load_digits()
    return np.round(loaded.images * (255 / 16)).astype(np.uint8), loaded.target.astype(np.int64)


def _read(part: str, files: Mapping[str, list[tuple[str, Official]]]) -> tuple[Images, Labels]:
    if part not in files:
        raise DataError(f"There is no part {part!r} of these images.{did_you_mean(part, files)}")
    images_path, labels_path = (locate(name, official) for name, official in files[part])
    return _images_and_labels(images_path, labels_path)


def _images_and_labels(images_path: Path, labels_path: Path) -> tuple[Images, Labels]:
    images, labels = read_idx(images_path), read_idx(labels_path).astype(np.int64)
    with damage_in(labels_path):
        if images.ndim != 3 or labels.shape != images.shape[:1]:
            raise DamagedFileError(f"its shape {labels.shape} does not fit {images.shape} of {images_path.name}")
    return images, labels


@cache
def read_idx(path: Path) -> Images:
    """The array of bytes in a packed IDX file."""
    with damage_in(path):
        return parse_idx(gunzip(path.read_bytes()))


def gunzip(packed: bytes) -> bytes:
    try:
        return gzip.decompress(packed)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DamagedFileError(f"it does not unpack ({error})") from None


def parse_idx(content: bytes) -> Images:
    """The array that the bytes of an IDX file describe."""
    if len(content) < 4 or content[:3] != b"\x00\x00\x08":
        raise DamagedFileError("it does not begin like an IDX file of bytes")
    axes = content[3]
    shape = tuple(int.from_bytes(content[4 + 4 * i : 8 + 4 * i], "big") for i in range(axes))
    body = content[4 + 4 * axes :]
    if len(body) != math.prod(shape):
        raise DamagedFileError(f"it promises an array of shape {shape} and holds {len(body):,} bytes")
    return np.frombuffer(body, np.uint8).reshape(shape)


def write_idx(array: Images) -> bytes:
    """The packed IDX file of an array; the same array gives the same bytes."""
    head = bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape)
    return gzip.compress(head + array.tobytes(), mtime=0)


def _mnist_official(name: str, base: str) -> Official:
    def unpack(path: Path) -> Mapping[str, bytes]:
        packed = path.read_bytes()
        if hashlib.md5(gunzip(packed), usedforsecurity=False).hexdigest() != MNIST_MD5[path.name]:
            raise DamagedFileError("its checksum is not MNIST's")
        return {name: packed}

    return Official(f"{base}/{Path(name).name}", unpack)


def _unpack_letters(path: Path) -> Mapping[str, bytes]:
    with path.open("rb") as file:
        if hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest() != EMNIST_MD5:
            raise DamagedFileError("its checksum is not that of EMNIST's gzip.zip")
    return letters_from(path)


def letters_from(path: Path) -> dict[str, bytes]:
    """Letters A to D out of NIST's archive, turned upright."""
    files = {}
    with zipfile.ZipFile(path) as archive:
        for part, (images_name, labels_name) in LETTER_FILES.items():
            images, labels = (
                parse_idx(gunzip(archive.read(f"gzip/emnist-letters-{part}-{what}-ubyte.gz")))
                for what in ("images-idx3", "labels-idx1")
            )
            chosen = np.isin(labels, range(1, len(LETTERS) + 1))
            files[images_name] = write_idx(images[chosen].transpose(0, 2, 1))
            files[labels_name] = write_idx(labels[chosen])
    return files
