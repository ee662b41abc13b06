"""How is a picture written as a PNG file?"""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]  # (height, width, 3)


def png(picture: Pixels) -> bytes:
    """A colour picture (h, w, 3) as the bytes of a PNG file."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    height, width, _ = picture.shape
    lines = np.concatenate((np.zeros((height, 1), np.uint8), picture.reshape(height, -1)), axis=1)  # 0: no filter
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
