"""One epoch and every answer over a sparse file, run by itself so that its memory is its own: `python sparse.py IMAGES`.

Prints by how many bytes the process grew at most while it learned, and while it answered.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np

from neuid3 import Examples, NeuID3Classifier
from neuid3.networks.defaults import Dense


def grown() -> int:
    """The most bytes that were ever resident, files that are mapped among them."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def main(path: str) -> None:
    images = np.load(path, mmap_mode="r")
    y = np.arange(len(images)) < len(images) // 16
    network = partial(Dense, 1, [images[0].size], hidden=16)
    clf = NeuID3Classifier(
        networks={"image_net": network},
        epochs=1,
        restarts=1,
        joint_epochs=0,
        max_depth=1,
        batch_size=512,
        learning_rate=0.01,
        augment=False,
        random_state=0,
    )
    clf.fit(Examples({"image": images[:64]}), np.arange(64) < 32)  # whatever is loaded once is loaded now
    before = grown()
    clf.fit(Examples({"image": images}), y)
    fitted = grown()
    right = (clf.predict({"image": images}) == y).mean()
    print(fitted - before, grown() - before, right)


if __name__ == "__main__":
    main(sys.argv[1])
