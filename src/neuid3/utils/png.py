"""PNG encoding of images."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]  # (height, width, channel), one or three channels


def png(pixels: Pixels) -> bytes:
    """The bytes of a PNG file for an image `(height, width, channel)` of one or three channels."""
    height, width, channels = pixels.shape
    if channels == 3 and bool((pixels == pixels[:, :, :1]).all()):
        pixels, channels = pixels[:, :, :1], 1
    lines = pixels.reshape(height, width * channels)
    differences = lines - np.vstack((np.zeros_like(lines[:1]), lines[:-1]))  # modulo 256, as the format requires
    plain, filtered = (_compress(rows, kind) for rows, kind in ((lines, 0), (differences, 2)))
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    shorter = plain if len(plain) <= len(filtered) else filtered
    chunks = ((b"IHDR", header), (b"IDAT", shorter), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in chunks)


def _compress(lines: Pixels, filter_type: int) -> bytes:
    """The compressed lines, each after its filter type: 0 for unfiltered, 2 for the difference to the line above."""
    return zlib.compress(np.insert(lines, 0, filter_type, axis=1).tobytes(), 9)


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
