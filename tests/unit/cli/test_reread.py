"""The command `reread`: a model takes the form that labels ask for."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from corner import cards, save_folder

from neuid3 import load
from neuid3.cli.main import main


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with labels that say of three cards that low ranks are high."""
    folder = save_folder(tmp_path_factory.mktemp("cards"))
    ranks = np.asarray(cards(200).column("last").values)[:3, 0, 0] // 40 + 1
    lines = [f"last {row}.png,rank,{6 - rank}" for row, rank in enumerate(ranks.tolist())]
    (folder / "labels.csv").write_text("\n".join(["image,concept,value", *lines]) + "\n")
    return folder


def test_a_model_takes_the_form_of_its_labels_and_predicts_the_same(folder: Path, tmp_path: Path) -> None:
    model, table, out = folder / "cards.neuid3", folder / "cards.csv", tmp_path / "read.neuid3"
    done = run("reread", model, table, "--concepts", folder / "labels.csv", "--out", out)
    assert done.exit_code == 0, done.output
    assert "higher(played, last)?" in done.stdout
    assert "higher(last, played)" not in done.stdout
    assert "rank_net: fixed, given labels of" in done.stdout
    assert "Labels of rank that the network reads as they are: 3 of 3 (before: " in done.stdout
    assert f"Saved to {out}; it predicts the same as {model}." in done.stdout
    X = cards(200)
    np.testing.assert_allclose(load(out).predict_proba(X), load(model).predict_proba(X), atol=1e-6)
    again = run("reread", out, table, "--concepts", folder / "labels.csv", "--out", tmp_path / "again.neuid3")
    assert again.stdout.startswith("No other form makes the labels likelier.\n")
    assert "3 of 3." in again.stdout
    audit = run("audit", out, table)
    assert "rank_net (1, 2, 3, 4, 5): fixed, given labels of" in audit.stdout
    assert "The given labels leave " in audit.stdout
    assert "higher(played, last)?" in run("show", out).stdout


def test_columns_of_the_table_hold_labels_too(folder: Path, tmp_path: Path) -> None:
    header, *lines = (folder / "cards.csv").read_text().splitlines()
    ranks = np.asarray(cards(200).column("last").values)[:40, 0, 0] // 40 + 1
    labelled = [f"{line},{rank}" for line, rank in zip(lines, ranks.tolist(), strict=True)]
    (folder / "known.csv").write_text("\n".join([f"{header},rank(last)", *labelled]) + "\n")
    done = run("reread", folder / "cards.neuid3", folder / "known.csv", "--out", tmp_path / "known.neuid3")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("No other form makes the labels likelier.\n")
    assert "rank_net: fixed, given labels of 5 values" in run("show", tmp_path / "known.neuid3").stdout


def test_mistakes_of_the_command_are_sentences(folder: Path, tmp_path: Path) -> None:
    model, table, labels = folder / "cards.neuid3", folder / "cards.csv", folder / "labels.csv"
    out = tmp_path / "out.neuid3"
    shutil.copy(labels, folder / "odd.csv")
    (folder / "odd.csv").write_text("image,concept,value\nlast 0.png,rank,9\n")
    (folder / "twice.csv").write_text("image,concept,value\nlast 0.png,rank,1\nlast 0.png,rank,2\n")
    (folder / "absent.csv").write_text("image,concept,value\nlast 77.png,rank,1\n")
    for arguments, words in {
        (model, table, "--out", out): "has no labels for what networks read",
        (model, table, "--concepts", labels): "Missing option '--out'",
        (model, table, "--concepts", labels, "--out", model): "cards.neuid3",
        (model, table, "--concepts", folder / "odd.csv", "--out", out): "9",
        (model, table, "--concepts", folder / "twice.csv", "--out", out): "last 0.png",
        (model, table, "--concepts", folder / "absent.csv", "--out", out): "last 77.png",
        (table, model, "--concepts", labels, "--out", out): "is a table, not a model",
    }.items():
        done = run("reread", *arguments)
        assert done.exit_code == 2, done.output
        assert words in done.output
        assert "Traceback" not in done.output
        assert not out.exists()
