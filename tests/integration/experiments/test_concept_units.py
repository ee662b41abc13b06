"""Units about what networks read run from files to their record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_data import use, write_small_data, write_small_decks, write_small_rows

from experiments import settings
from experiments.datasets.decks import ROWS
from experiments.datasets.even_odd import ROWS_PER_PAIR
from experiments.learners import run
from experiments.units import Unit

QUICK = {"recipe": "default", "max_depth": 1, "epochs": 12, "restarts": 2, "joint_epochs": 0}


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_small_decks(write_small_rows(write_small_data(tmp_path / "data")))
    use(monkeypatch, folder, tmp_path / "cache")
    for part in ROWS:
        monkeypatch.setitem(ROWS, part, 300)
    monkeypatch.setattr(settings, "RULES_TREE", {"default": QUICK})


def made_by(unit: Unit) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(json.dumps(run(unit)))
    return record


def test_a_record_of_hitting_sets_has_a_tree_that_may_read_nothing() -> None:
    made = made_by(Unit("hitting-sets", "fashion", None, "tree", "default", 0))
    assert made["examples"] == {"train": 60, "validation": 60, "test": 60, "columns": 5}
    assert made["scores"]["accuracy"] == 1.0  # the template says the class
    assert made["tests"] == [{"test": "template(t5)", "depth": 1}]
    assert (made["instances"], made["declared"], made["readings"]) == (0, 0, [])
    assert len(made["configuration"]["tests"]) == 8 + 6 + 20


def test_a_record_of_decks_has_known_and_unseen_accuracy_and_what_is_read_in_unseen_decks() -> None:
    made = made_by(Unit("decks", "colour_alternates", "0", "tree", "default", 0))
    assert made["examples"] == {"train": 300, "test": 300, "columns": 2}
    assert made["scores"]["accuracy"] > 0.9
    assert made["scores"]["unseen_accuracy"] > 0.9
    assert made["instances"] >= made["declared"] >= 1
    assert len(made["readings"]) == made["instances"]
    assert {found["images"] for found in made["readings"]} == {2 * 300}
    assert made["tests"][0]["test"] in made["configuration"]["tests"]


def test_labels_of_cards_are_taken_and_what_is_read_in_unseen_decks_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for part in ROWS:
        monkeypatch.setitem(ROWS, part, 120)
    monkeypatch.setattr(settings, "RULES_TREE", {"default": QUICK | {"epochs": 6, "restarts": 1}})
    made = made_by(Unit("decks", "higher", "13", "tree", "default", 0))
    assert made["scores"]["accuracy"] > made["scores"]["default_accuracy"] + 0.2
    assert "given labels" in made["tree"][-1]
    assert len(made["readings"]) == made["instances"] >= made["declared"] >= 1
    assert {found["images"] for found in made["readings"]} == {2 * 120}


def test_a_record_of_sums_says_what_is_read_in_pairs_of_all_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    for part, rows in (("train", 10), ("validation", 4), ("test", 3)):
        monkeypatch.setitem(ROWS_PER_PAIR, part, rows)
    made = made_by(Unit("even-odd", "mnist", "10", "tree", "default", 0))
    assert made["examples"] == {"train": 160, "validation": 64, "test": 48, "columns": 2}
    assert set(made["scores"]["f1"]) == {"6", "10", "12"}
    assert {found["images"] for found in made["readings"]} <= {20_000}
    assert len(made["readings"]) == made["instances"]
