"""What reads pictures: default networks and encoders, on decks of cards and on pairs of Fashion-MNIST, without test rows.

NEUID3_DATA=… python -m benchmarks.pictures results/pictures.jsonl [PROBLEM …] [--choices CHOICE …]; finished fits are not
repeated. Known rows are further ones of the decks, or classes, that were learned from; unseen rows are of three of the twelve
training decks that are left out. python -m benchmarks.pictures --table results/pictures.jsonl PAGE draws the table.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from benchmarks.rows import append_row, insert_table, read_rows
from experiments.datasets.decks import BACKGROUND, KNOWN, TESTS, deck_rows
from experiments.datasets.images import fashion_mnist
from neuid3 import Examples, LeNet, NeuID3Classifier
from neuid3.data.columns import Tensor
from neuid3.encoders import self_supervised
from neuid3.networks.residual import PictureFeatures

SEEDS = (901, 902, 903)
ROWS = 1000
LEFT_OUT = 3  # decks
SAME = """
nn(kind_net, [Picture], K, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) :: kind(Picture, K).
same(A, B) :- kind(A, K), kind(B, K).
"""

Labelled = tuple[Examples, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class PictureProblem:
    """Rows to learn from, further rows, rows of unseen decks if there are any, and the rules over their pictures."""

    train: Labelled
    known: Labelled
    unseen: Labelled | None
    background: str
    tests: tuple[str, ...]
    widths: Mapping[str, int]  # of the networks, by name


def deck_problem(concept: str, seed: int) -> PictureProblem:
    """Two cards of one deck; nine decks to learn from, three others left out."""
    rng = np.random.default_rng([seed, 77])
    order = rng.permutation(len(KNOWN))
    names = [[KNOWN[i] for i in part] for part in (order[LEFT_OUT:], order[:LEFT_OUT])]
    parts = [deck_rows(concept, names[i], ROWS, rng)[0] for i in (0, 0, 1)]
    widths = {"red_net": 1, "face_net": 1, "rank_net": 13}
    return PictureProblem(parts[0], parts[1], parts[2], BACKGROUND, TESTS, widths)


def fashion_problem(seed: int, size: int = 28) -> PictureProblem:
    """Two pictures of clothes of so many pixels, of one class or of two; all are training pictures of Fashion-MNIST."""
    images, labels = fashion_mnist("train")
    rng = np.random.default_rng([seed, 10])
    parts = []
    for rows in np.split(rng.permutation(len(labels))[: 4 * ROWS], 2):
        left, right = np.split(rows, 2)
        paired = np.where(rng.random(ROWS) < 0.5, _of_same_class(labels, left, right, rng), right)
        classes = np.where(labels[left] == labels[paired], "same", "other")
        parts.append(
            (Examples({"left": _resized(images[left], size), "right": _resized(images[paired], size)}), classes)
        )
    return PictureProblem(parts[0], parts[1], None, SAME, ("same(left, right)",), {"kind_net": 10})


def _resized(images: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.uint8]:
    """Grey pictures scaled to so many pixels."""
    if images.shape[-1] == size:
        return images
    planes = torch.from_numpy(np.asarray(images)).float().unsqueeze(1)
    scaled = functional.interpolate(planes, (size, size), mode="bilinear", antialias=True).squeeze(1)
    pixels: npt.NDArray[np.uint8] = scaled.round().clamp(0, 255).to(torch.uint8).numpy()
    return pixels


def _of_same_class(labels: Any, left: Any, right: Any, rng: np.random.Generator) -> Any:
    """For each picture one of `right` of its class."""
    by_class = {label: right[labels[right] == label] for label in np.unique(labels)}
    return np.array([rng.choice(by_class[labels[row]]) for row in left])


PROBLEMS: Mapping[str, Callable[[int], PictureProblem]] = {
    "higher": lambda seed: deck_problem("higher", seed),
    "colour alternates": lambda seed: deck_problem("colour_alternates", seed),
    "Fashion pairs": fashion_problem,
    "Fashion pairs, 32 pixels": lambda seed: fashion_problem(seed, 32),
}


def autoencoder(examples: Examples) -> PictureFeatures:
    """An encoder that learned to reconstruct pictures, for as many steps as "self"."""
    pictures, _ = self_supervised._pictures(examples)
    _, channels, height, width = pictures.shape
    torch.manual_seed(0)
    encoder = PictureFeatures(channels, (height, width))
    small = (height // 2, width // 2)
    decoder = nn.Sequential(nn.Linear(encoder.features, 256), nn.ReLU(), nn.Linear(256, channels * small[0] * small[1]))
    rate, steps = self_supervised.RATE, self_supervised.steps_for(len(pictures), (height, width))
    optimizer = torch.optim.AdamW([*encoder.parameters(), *decoder.parameters()], rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    rng = np.random.default_rng(0)
    for _ in range(steps):
        drawn = torch.from_numpy(pictures[rng.integers(0, len(pictures), self_supervised.BATCH)])
        view = self_supervised._view(drawn)
        target = functional.interpolate(view, small, mode="area").flatten(1)
        optimizer.zero_grad()
        functional.mse_loss(decoder(encoder(view)), target).backward()
        optimizer.step()
        schedule.step()
    return encoder.eval()


def untrained(examples: Examples) -> PictureFeatures:
    """An encoder with random weights."""
    kind = next(kind for kind in examples.schema.values() if isinstance(kind, Tensor))
    torch.manual_seed(0)
    channels = kind.shape[0] if len(kind.shape) == 3 else 1
    return PictureFeatures(channels, (kind.shape[-2], kind.shape[-1])).eval()


def lenets(problem: PictureProblem) -> dict[str, Any]:
    """A LeNet for each network, as was the default for all sizes."""
    shape = problem.train[0].column(problem.train[0].names[0]).values.shape[1:]
    settings: dict[str, Any] = {"channels": shape[0] if len(shape) == 3 else 1, "size": tuple(shape[-2:])}
    return {name: lambda width=width: LeNet(width, **settings) for name, width in problem.widths.items()}


CHOICES: Mapping[str, Callable[[PictureProblem], dict[str, Any]]] = {
    "LeNet": lambda problem: {"networks": lenets(problem)},
    "default network": lambda _: {},
    "encoder 'self'": lambda problem: {"encoder": self_supervised.learn_encoder(problem.train[0])},
    "an autoencoder": lambda problem: {"encoder": autoencoder(problem.train[0])},
    "an untrained encoder": lambda problem: {"encoder": untrained(problem.train[0])},
}


def measure(name: str, choice: str, seed: int) -> dict[str, Any]:
    """A fit, its processor seconds and its accuracies; `encoder` has the seconds in which an encoder was learned before."""
    problem = PROBLEMS[name](seed)
    started = time.process_time()
    parameters = CHOICES[choice](problem)
    before = time.process_time() - started
    clf = NeuID3Classifier(
        background=problem.background,
        tests=list(problem.tests),
        random_state=seed,
        n_jobs=1,
        **parameters,
    )
    clf.fit(*problem.train)
    seconds = time.process_time() - started - before
    row: dict[str, Any] = {"problem": name, "choice": choice, "seed": seed, "seconds": round(seconds, 1)}
    if "encoder" in parameters:
        row["encoder"] = round(before, 1)
    row |= {
        "known": clf.score(*problem.known),
        "steps": clf.gradient_steps_,
        "tests": [str(t) for t in clf.tree_.tests],
    }
    return row if problem.unseen is None else row | {"unseen": clf.score(*problem.unseen)}


def draw(path: str, page: str) -> None:
    """Insert the table into a page."""
    rows = read_rows(path)
    lines = [
        "| problem | what reads pictures | fits | known | unseen decks | processor seconds of a fit | learning the encoder |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in PROBLEMS:
        for choice in CHOICES:
            own = [row for row in rows if (row["problem"], row["choice"]) == (name, choice)]
            if own:
                mean = {
                    key: np.mean([row[key] for row in own if key in row] or [np.nan])
                    for key in ("known", "unseen", "seconds", "encoder")
                }
                encoder = "–" if np.isnan(mean["encoder"]) else f"{mean['encoder']:.0f}"
                unseen = "–" if np.isnan(mean["unseen"]) else f"{mean['unseen']:.3f}"
                cells = (name, choice, str(len(own)), f"{mean['known']:.3f}", unseen, f"{mean['seconds']:.0f}", encoder)
                lines.append(f"| {' | '.join(cells)} |")
    insert_table(page, "pictures", lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("problems", nargs="*", help=f"of {', '.join(PROBLEMS)}; all by default; with --table, the page")
    parser.add_argument("--choices", nargs="+", default=list(CHOICES), choices=list(CHOICES))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.table:
        draw(given.path, *given.problems)
        return
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    known = {(row["problem"], row["choice"], row["seed"]) for row in read_rows(given.path)}
    for seed in given.seeds:
        for name in given.problems or PROBLEMS:
            for choice in given.choices:
                if (name, choice, seed) not in known:
                    append_row(given.path, measure(name, choice, seed))


if __name__ == "__main__":
    main()
