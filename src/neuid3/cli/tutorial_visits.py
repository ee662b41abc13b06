"""The second table of the tutorial: visits to a practice, with numbers, dates, notes and pictures of a handwritten number."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

from neuid3.cli.tutorial_files import draw_images, image_name, new_folder, write_csv

RULES = """\
% The body mass index is a number, which the learner cuts itself.
bmi(B) :- B is weight / height ** 2.
"""

COLUMNS = ("weight", "height", "last_visit", "visit", "note", "form", "urgency")

PLAINTS = ("a cough", "a sore throat", "a headache", "back pain", "a rash", "dizziness", "an earache", "tired legs")
CHEST = ("chest pain", "sudden chest pain", "chest pain on stairs")
BEGINNINGS = ("came with", "complains of", "reports", "called about", "worried about", "woke up with")
SINCE = ("for two days", "since the weekend", "since this morning", "for a week", "after work", "at night")
MORE = ("slept badly", "no fever", "eats well", "takes no medicine", "drinks tea", "works outside", "walks a lot")


def write_visits(folder: Path, rows: int = 600, new: int = 100, seed: int = 0) -> str:
    """Create a folder with `visits.csv`, `new.csv`, `rules.pl` and `images/`; returns a summary.

    A visit is urgent where the note mentions chest pain, where the pain on the form is 4 or 5, or where a patient with a body
    mass index above 30 was not seen for more than a year. The pictures of `new.csv` are disjoint from those of `visits.csv`.

    Parameters
    ----------
    folder : the new folder.
    rows : the number of visits in `visits.csv`.
    new : the number of visits in `new.csv`, whose urgency is not known.
    seed : the random seed.
    """
    new_folder(folder)
    generator = np.random.default_rng(seed)
    digits = load_digits()
    forms = generator.permutation(np.flatnonzero((digits.target >= 1) & (digits.target <= 5)))
    old, unseen = np.split(forms, [len(forms) * 3 // 4])
    draw_images(folder, digits.images, forms)
    visits = _visits(digits.target, generator.choice(old, rows), generator)
    write_csv(folder / "visits.csv", COLUMNS, visits)
    others = _visits(digits.target, generator.choice(unseen, new), generator)
    write_csv(folder / "new.csv", COLUMNS[:-1], [visit[:-1] for visit in others])
    (folder / "rules.pl").write_text(RULES, encoding="utf-8")
    return (
        f"{folder} has visits.csv ({rows:,} visits), new.csv ({new:,} visits of unknown urgency), rules.pl and images.\n"
        f"Next: neuid3 fit {folder}/visits.csv --target urgency --background {folder}/rules.pl"
    )


def _visits(
    digit: npt.NDArray[np.int64], forms: npt.NDArray[np.int64], generator: np.random.Generator
) -> list[tuple[str, ...]]:
    """Visits with these forms, and their urgency."""
    visits: list[tuple[str, ...]] = []
    for form in forms.tolist():
        weight, height = round(generator.uniform(50, 120), 1), round(generator.uniform(1.5, 1.95), 2)
        visit = date(2025, 1, 1) + timedelta(days=int(generator.integers(0, 365)))
        days = int(generator.integers(20, 700))
        has_chest_pain = generator.random() < 0.15
        plaint = str(generator.choice(CHEST if has_chest_pain else PLAINTS))
        parts = [generator.choice(words) for words in (BEGINNINGS, [plaint], SINCE)]
        note = f"{' '.join(map(str, parts))}, {', '.join(map(str, generator.choice(MORE, 2, replace=False)))}"
        is_urgent = has_chest_pain or digit[form] >= 4 or (weight / height**2 > 30 and days > 365)
        visits.append(
            (
                str(weight),
                str(height),
                (visit - timedelta(days=days)).isoformat(),
                visit.isoformat(),
                note,
                image_name(form),
                "urgent" if is_urgent else "routine",
            )
        )
    return visits
