"""Audits of fitted classifiers: from Python, from files and from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

import neuid3
from neuid3 import Examples, NeuID3Classifier, TrainingConfig
from neuid3.cli.main import main
from neuid3.io.container import SavedFile, read_container, write_container

RULES = """
nn(level_net, [X], L, [low, middle, high]) :: level(X, L).
above(A, B) :- level(A, high), level(B, middle).
above(A, B) :- level(A, high), level(B, low).
above(A, B) :- level(A, middle), level(B, low).
"""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def shades(n: int, seed: int) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    """Two grey images a row, of three levels each, and the levels."""
    draw = np.random.default_rng(seed)
    levels = draw.integers(0, 3, (2, n))
    images = (levels[..., None, None, None] * 100 + draw.integers(0, 40, (2, n, 1, 8, 8))).astype(np.uint8)
    return images[0], images[1], levels[0], levels[1]


@pytest.fixture(scope="module")
def fitted() -> tuple[NeuID3Classifier, Examples, np.ndarray, np.ndarray, list[str]]:
    left, right, first, second = shades(240, 0)
    X, y = Examples({"left": left, "right": right}), np.where(first > second, "win", "lose").tolist()
    clf = NeuID3Classifier(
        background=RULES,
        tests=["above(left, right)", "above(right, left)"],
        training=TrainingConfig(epochs=8, restarts=2),
        max_depth=1,
        random_state=0,
    )
    return clf.fit(X, y), X, first, second, y


def test_a_learned_order_is_fixed_up_to_reversal(fitted: Any) -> None:
    clf, X, first, second, y = fitted
    certificate = clf.audit(X, y)
    (network,) = certificate.networks
    assert network.fixed_up_to == "reversal"
    assert certificate.source == "predictions"
    assert certificate.candidates_known
    assert f"{network.display_name}: fixed up to reversal" in clf.export_text()
    names = np.array(["low", "middle", "high"])
    labelled = clf.audit(X, concepts={"level(left)": names[first], "level(right)": names[second]})
    assert labelled.source == "labels"
    assert labelled.readings is not None
    assert (labelled.readings.number, labelled.readings.exact) == (1, True)
    assert len(labelled.labels) == 1


def test_a_loaded_classifier_audits_alike_and_an_older_file_says_what_it_lacks(fitted: Any, tmp_path: Path) -> None:
    clf, X, *_ = fitted
    path = clf.save(tmp_path / "shades.neuid3")
    loaded = neuid3.load(path)
    assert isinstance(loaded, NeuID3Classifier)
    assert loaded.rule_tests_ == clf.rule_tests_
    assert loaded.audit(X).to_json() == clf.audit(X).to_json()
    saved = read_container(path)
    early = {name: value for name, value in saved.fields.items() if name not in ("candidates", "rule_tests")}
    write_container(tmp_path / "early.neuid3", SavedFile(early, saved.background, saved.tensors))
    certificate = neuid3.load(tmp_path / "early.neuid3").audit(X)
    assert not certificate.candidates_known
    assert certificate.networks[0].is_fixed
    for spoilt in ({"candidates": [3]}, {"rule_tests": "above"}, {"rule_tests": 5}):
        write_container(tmp_path / "bad.neuid3", SavedFile({**saved.fields, **spoilt}, saved.background, saved.tensors))
        with pytest.raises(neuid3.errors.ModelFileError):
            neuid3.load(tmp_path / "bad.neuid3")


def test_an_audit_draws_no_random_numbers_and_changes_no_prediction(fitted: Any) -> None:
    import torch

    clf, X, *_ = fitted
    before = clf.predict_proba(X)
    state = torch.random.get_rng_state()
    clf.audit(X)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert np.array_equal(clf.predict_proba(X), before)


@pytest.fixture(scope="module")
def folder(fitted: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    clf, X, first, _, y = fitted
    folder = tmp_path_factory.mktemp("shades")
    clf.save(folder / "shades.neuid3")
    names = ["low", "middle", "high"]
    rows = ["left,right,result,level(left)"]
    for row in range(30):
        for name in ("left", "right"):
            Image.fromarray(X.column(name).values[row, 0]).save(folder / f"{name}{row}.png")
        rows.append(f"left{row}.png,right{row}.png,{y[row]},{names[first[row]] if row < 5 else ''}")
    (folder / "shades.csv").write_text("\n".join(rows) + "\n")
    return folder


def test_the_command_prints_text_and_json(folder: Path) -> None:
    done = run("audit", folder / "shades.neuid3", folder / "shades.csv")
    assert done.exit_code == 0, done.output
    assert "fixed, given labels of low, middle and high" in done.stdout
    assert "labels and, without one, most probable values" in done.stdout
    done = run("audit", folder / "shades.neuid3", folder / "shades.csv", "--json", "--target", "result")
    assert json.loads(done.stdout)["readings"]["source"] == "labels and predictions"
    out = folder / "audit.txt"
    assert run("audit", folder / "shades.neuid3", folder / "shades.csv", "--out", out).exit_code == 0
    assert "fixed, given labels" in out.read_text()
    done = run("show", folder / "shades.neuid3")
    assert "fixed up to reversal" in done.stdout


def test_the_command_with_no_time_gives_bounds(folder: Path) -> None:
    done = run("audit", folder / "shades.neuid3", folder / "shades.csv", "--time-limit", "0")
    assert done.exit_code == 0, done.output
    assert "at least 1" in done.stdout
    assert "not determined within the limits" in done.stdout


def test_mistakes_of_the_command_are_sentences(folder: Path) -> None:
    table = (folder / "shades.csv").read_text()
    (folder / "half.csv").write_text("left\nleft0.png\n")
    (folder / "wrong.csv").write_text(table.replace(",low\n", ",lowest\n").replace(",middle\n", ",lowest\n"))
    model = folder / "shades.neuid3"
    for arguments, message in (
        ((model, folder / "half.csv"), "right"),
        ((model, folder / "wrong.csv"), "'lowest'"),
        ((model, folder / "shades.csv", "--target", "reslt"), "'result'"),
        ((model, folder / "shades.csv", "--time-limit", "-1"), "-1"),
        ((folder / "shades.csv", folder / "shades.csv"), "table, not a model"),
    ):
        done = run("audit", *arguments)
        assert done.exit_code == 2, done.output
        assert message in done.stderr
        assert "Traceback" not in done.output


def test_a_tree_without_networks_says_so(tmp_path: Path) -> None:
    X, y = Examples({"age": [20.0, 30.0, 60.0, 70.0] * 5}), ["low", "low", "high", "high"] * 5
    clf = NeuID3Classifier(random_state=0).fit(X, y)
    clf.save(tmp_path / "ages.neuid3")
    (tmp_path / "ages.csv").write_text("age\n20\n70\n")
    done = run("audit", tmp_path / "ages.neuid3", tmp_path / "ages.csv")
    assert done.exit_code == 0
    assert done.stdout == "The tree calls no network, so there is nothing to certify.\n"
    assert json.loads(run("audit", tmp_path / "ages.neuid3", tmp_path / "ages.csv", "--json").stdout)["networks"] == []
