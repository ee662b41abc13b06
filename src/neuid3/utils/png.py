"""How is a picture written as a PNG file?"""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]  # (height, width, channel), one or three channels


def png(pixels: Pixels) -> bytes:
    """An image `(h, w, c)` of one or three channels as a PNG file."""
    height, breadth, channels = pixels.shape
    if channels == 3 and bool((pixels == pixels[:, :, :1]).all()):
        pixels, channels = pixels[:, :, :1], 1
    lines = pixels.reshape(height, breadth * channels)
    above = lines - np.vstack((np.zeros_like(lines[:1]), lines[:-1]))  # wraps around, as the format wants it
    plain, less = (_deflated(rows, kind) for rows, kind in ((lines, 0), (above, 2)))
    header = struct.pack(">IIBBBBB", breadth, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    shorter = plain if len(plain) <= len(less) else less
    chunks = ((b"IHDR", header), (b"IDAT", shorter), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in chunks)


def _deflated(lines: Pixels, kind: int) -> bytes:
    """Every line after the number of its filter: 0 leaves it as it is, 2 takes the difference to the line above."""
    return zlib.compress(np.insert(lines, 0, kind, axis=1).tobytes(), 9)


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
