"""The commands about datasets tell where data are and draw them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from small_data import use, write_small_data, write_small_decks

from experiments.__main__ import main
from experiments.datasets import sheets
from experiments.datasets.sheets import GREEN, RED
from neuid3.utils.png import png


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use(monkeypatch, write_small_decks(write_small_data(tmp_path / "data")), tmp_path / "cache")
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def test_the_list_tells_what_is_found_and_where(small: Path) -> None:
    done = CliRunner().invoke(main, ["datasets", "list"])
    assert done.exit_code == 0, done.output
    lines = {line.split()[1]: line for line in done.output.splitlines() if line.startswith("│")}
    assert "with scikit-learn" in lines["iris"]
    assert "first use downloads it from archive.ics.uci.edu" in lines["zoo"]
    assert "made of mnist and letters" in lines["rank_order"]
    assert "made of mnist" in lines["even-odd"]
    assert "not here, and not downloaded; put it into the folder that NEUID3_DATA names" in lines["hitting"]
    assert str(small / "data" / "decks")[:20] in lines["decks"]
    assert str(small / "data" / "mnist")[:20] in lines["mnist"]


@pytest.mark.parametrize("name", ["mnist", "letters", "fashion", "digits", "cards", "decks", "rank_order", "iris"])
def test_a_sheet_is_drawn_and_the_same_seed_draws_the_same(small: Path, name: str) -> None:
    drawn = []
    for seed, out in ((4, "a.png"), (4, "b.png"), (5, "c.png")):
        done = CliRunner().invoke(main, ["datasets", "show", name, "--out", str(small / out), "--seed", str(seed)])
        assert done.exit_code == 0, done.output
        drawn.append((small / out).read_bytes())
        assert f"Written to {small / out}." in done.output
    assert drawn[0] == drawn[1] != drawn[2]
    assert Image.open(small / "a.png").size > (200, 100)


@pytest.mark.usefixtures("small")
def test_windows_are_marked_by_whether_they_hold() -> None:
    picture = sheets.sheet("suit_order").picture
    is_green, is_red = ((picture == colour).all(axis=2).any(axis=1) for colour in (GREEN, RED))
    assert np.flatnonzero(is_green).max() < np.flatnonzero(is_red).min()  # green above, red below


def test_pictures_are_read_back_as_they_were() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    assert (np.asarray(Image.open(io.BytesIO(png(picture)))) == picture).all()


def test_what_cannot_be_shown_is_reported_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, None, tmp_path / "cache")
    done = CliRunner().invoke(main, ["datasets", "show", "rank_oder"])
    assert done.exit_code == 2
    assert done.output == "Error: There is no dataset 'rank_oder' to show. Did you mean 'rank_order'?\n"
    for out, message in (
        ("there/digits.png", "There is no folder there; create it first"),
        ("digits.jpg", "digits.jpg is no name for a PNG image; end it in .png"),
    ):
        done = CliRunner().invoke(main, ["datasets", "show", "digits", "--out", out])
        assert done.exit_code == 2
        assert message in done.stderr
