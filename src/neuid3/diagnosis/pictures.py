"""Pictures that no network can tell apart: all alike, without structure, or alike in all classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from neuid3.diagnosis.case import Case, chance
from neuid3.diagnosis.findings import Finding

# The most pictures of a column that are looked at.
MOST = 1_000

# Pictures whose pixels vary by less than this, on a scale from 0 to 1, are alike: less than two gray levels of 256.
ALIKE = 2 / 255

# Neighbouring pixels of pictures of things vary together; below this correlation they are noise.
NOISE = 0.1

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Look:
    """What can be said of the pictures of a column without a network.

    Attributes
    ----------
    name : the column.
    different : how many different pictures there are.
    looked_at : of how many.
    variation : the mean standard deviation of a pixel, on a scale from 0 to 1.
    structure : the correlation of neighbouring pixels, without the mean picture.
    """

    name: str
    different: int
    looked_at: int
    variation: float
    structure: float

    @property
    def flaw(self) -> str | None:
        """What makes them indistinguishable; None where nothing does."""
        if self.different == 1 or self.variation < ALIKE:
            return f"its {self.looked_at:,} pictures are alike (pixels vary by {self.variation:.4f} on a scale from 0 to 1)"
        if abs(self.structure) < NOISE:
            return f"its pictures are noise (neighbouring pixels correlate by {self.structure:.2f})"
        return None


def looks(case: Case) -> list[Look]:
    """A look at each column of images that candidates read, vectors excluded."""
    return [_look(name, _pictures(case, name)) for name in case.pictures if _pictures(case, name).ndim >= 3]


def _pictures(case: Case, name: str) -> Floats:
    """Some pictures of a column on a scale from 0 to 1 where they are bytes, `(picture, …, height, width)`."""
    column = case.examples.column(name)
    rows = np.arange(len(case.examples)) if column.missing is None else np.flatnonzero(~column.missing)
    rows = rows[:: max(len(rows) // MOST, 1)][:MOST]
    pixels = np.asarray(column.values[rows])
    return pixels.astype(np.float64) / (255.0 if pixels.dtype == np.uint8 else 1.0)


def _look(name: str, pixels: Floats) -> Look:
    different = len({picture.tobytes() for picture in pixels})
    scale = max(float(np.ptp(pixels)) if pixels.size else 0.0, 1.0)  # numbers beyond 0 to 1 are scaled down
    deviations = (pixels - pixels.mean(axis=0)) / scale
    variation = float(deviations.std(axis=0).mean())
    left, right = deviations[..., :-1].ravel(), deviations[..., 1:].ravel()
    norm = float(np.sqrt((left**2).sum() * (right**2).sum()))
    return Look(name, different, len(pixels), variation, float(left @ right) / norm if norm > 0 else 1.0)


def pictures_alike(case: Case) -> Finding | None:
    """The finding that pictures are all alike or noise; None where some column has others."""
    seen = looks(case)
    if not seen or any(look.flaw is None for look in seen):
        return None
    return Finding(
        "pictures_alike",
        f"No network can tell the pictures apart: {'; '.join(f'{look.name}: {look.flaw}' for look in seen)}.",
        "Check the paths, the reading and the size of the pictures (--image-size, if they were scaled down too far).",
        {look.name: _evidence(look) for look in seen},
    )


def _evidence(look: Look) -> dict[str, float]:
    return {
        "pictures": look.looked_at,
        "different": look.different,
        "variation": look.variation,
        "neighbour_correlation": look.structure,
    }


def classes_look_alike(case: Case) -> Finding | None:
    """The finding that the pictures of all classes look alike; None where candidates are more than networks on one picture.

    Besides the networks of the fit, nearest neighbours and a linear model are tried in cross-validation.
    """
    single = all(len(test.columns(case.problem.program)) == 1 for test in case.neural_tests)
    if not single or case.symbolic_tests or case.problem.candidates.numbers or not case.pictures:
        return None
    probes = {name: _probe(case, name) for name in case.pictures}
    best, (accuracy, rows) = max(probes.items(), key=lambda entry: entry[1][0])
    if case.classes and chance(round(accuracy * rows), rows, case.baseline) < 0.01 / (2 * len(probes)):
        return None
    noun = "classes" if case.classes else "numbers"
    baseline = f", the most frequent class {case.baseline:.2f}" if case.classes else ""
    return Finding(
        "pictures_alike",
        f"No network can tell the {noun} apart by these pictures: nearest neighbours and a linear model over {best} reach "
        f"{accuracy:.2f} in cross-validation{baseline}.",
        "Check that each row names its own picture, or add pictures or columns that show the difference.",
        {"column": best, "probe": accuracy, "baseline": case.baseline, "rows": rows},
    )


def _probe(case: Case, name: str) -> tuple[float, int]:
    """The better cross-validated score of nearest neighbours and of a linear model over pixels, and the number of rows."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.model_selection import cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    column = case.examples.column(name)
    rows = np.arange(len(case.examples)) if column.missing is None else np.flatnonzero(~column.missing)
    rows = rows[:: max(len(rows) // MOST, 1)][:MOST]
    pixels = np.asarray(column.values[rows], dtype=np.float64).reshape(len(rows), -1)
    targets = np.asarray(case.target.values)[rows]
    if case.classes:
        models = [KNeighborsClassifier(5), make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=200))]
        folds = max(2, min(5, int(np.bincount(targets)[np.unique(targets)].min())))
        scores = [float((cross_val_predict(model, pixels, targets, cv=folds) == targets).mean()) for model in models]
    else:
        models = [KNeighborsRegressor(5), make_pipeline(StandardScaler(), Ridge(10.0))]
        total = float(((targets - targets.mean()) ** 2).sum())
        errors = [float(((cross_val_predict(m, pixels, targets, cv=5) - targets) ** 2).sum()) for m in models]
        scores = [1 - error / total for error in errors]
    return max(scores), len(rows)
