"""Tables of what networks read say what the files say, and hold it to the bars."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from experiments.__main__ import main
from experiments.commands import reproduce
from experiments.reports import report
from experiments.store import read, write
from experiments.units import EXPERIMENTS, Unit, units

HITTING = Unit("hitting-sets", "mnist", None, "tree", "default", 0)
SUMS = Unit("even-odd", "mnist", "10", "tree", "default", 0)
HIGHER = Unit("decks", "higher", "13", "tree", "default", 0)
LABELS = Unit("labels", "rank_order", None, "tree", "default", 0)
UNION = Unit("background", "rank_order", "union", "tree", "default", 0)


def reading(predicate: str, accuracy: float, matched: float = 0.0, sum_accuracy: float = 0.0) -> dict[str, Any]:
    measures = {"accuracy": accuracy, "matched": matched, "sum_accuracy": sum_accuracy}
    return {"network": f"{predicate}_net", "predicate": predicate, "images": 10, **measures}


def record(accuracy: float = 0.9, f1: float = 0.9, fit: float = 10.0, **more: Any) -> dict[str, Any]:
    """What a unit might have written."""
    return {
        "configuration": {"random_state": 0},
        "scores": {"accuracy": accuracy, "unseen_accuracy": 0.8, "f1": {"holds": f1, "violates": f1}},
        "processor_seconds": {"fit": fit, "predict": 1.0},
        "tests": [],
        "instances": 1,
        "declared": 1,
        "readings": [],
        **more,
    }


def drawn(folder: Path, name: str, title: str) -> dict[str, dict[str, Any]]:
    """The rows of a table by their first column."""
    tables = report(name, read(folder)).as_json()["tables"]
    rows = next(table["rows"] for table in tables if table["title"] == title)
    return {next(iter(row.values())): row for row in rows}


def test_the_commands_know_every_experiment(tmp_path: Path) -> None:
    assert set(EXPERIMENTS) <= set(reproduce.commands)
    done = CliRunner().invoke(main, ["reproduce", "table", *EXPERIMENTS, "--results", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert [line[3:] for line in done.output.splitlines() if line.startswith("## ")] == list(EXPERIMENTS)


# Networks of the trees -------------------------------------------------------------------------------------


def test_trees_with_one_instance_of_each_network_are_counted(tmp_path: Path) -> None:
    for seed, (instances, declared) in enumerate([(1, 1), (3, 3), (3, 1)]):
        write(tmp_path, replace(UNION, number=seed), record(instances=instances, declared=declared))
    union = drawn(tmp_path, "background", "Networks of the trees")["union"]
    share = union["share with one instance of each network"]
    assert (share["mean"], share["units"], share["of"]) == (pytest.approx(2 / 3), 3, 8 * 7)
    assert (share["bar"], share["short"]) == (0.95, True)
    assert union["network instances"]["mean"] == pytest.approx(7 / 3)
    assert union["declared networks in use"]["mean"] == pytest.approx(5 / 3)
    others = drawn(tmp_path, "background", "Networks of the trees")
    assert [others[pool]["share with one instance of each network"]["bar"] for pool in ("opt", "nf", "bad")] == [
        0.95,
        None,
        None,
    ]


def test_files_from_before_networks_were_counted_are_read_and_wait(tmp_path: Path) -> None:
    old = {name: value for name, value in record().items() if name not in ("instances", "declared", "readings")}
    write(tmp_path, UNION, old)
    share = drawn(tmp_path, "background", "Networks of the trees")["union"]["share with one instance of each network"]
    assert (share["mean"], share["units"], share["short"]) == (None, 0, False)
    assert report("background", read(tmp_path)).finished == 1


# Hitting sets --------------------------------------------------------------------------------------------


def test_hitting_sets_are_held_to_a_mean_to_every_seed_and_to_the_slowest_run(tmp_path: Path) -> None:
    for seed, (accuracy, seconds) in enumerate([(1.0, 100), (0.997, 120), (0.97, 310)]):
        found = [reading("shows", 0.1, 0.9), reading("shows", 0.2, 0.7)]
        write(tmp_path, replace(HITTING, number=seed), record(accuracy, fit=seconds, instances=2, readings=found))
    write(tmp_path, replace(HITTING, problem="fashion"), record(0.925))
    rows = drawn(tmp_path, "hitting-sets", "Hitting sets")
    mnist, fashion = rows["mnist"], rows["fashion"]
    accuracy, lowest, slowest = mnist["test accuracy"], mnist["lowest seed"], mnist["slowest seed"]
    assert (accuracy["mean"], accuracy["published"], accuracy["bar"]) == (pytest.approx(0.989), 0.9964, 0.996)
    assert (lowest["mean"], lowest["bar"], lowest["short"]) == (0.97, 0.98, True)
    assert (slowest["mean"], slowest["bar"], slowest["short"]) == (310, 300, True)
    assert mnist["images read right up to renaming"]["mean"] == pytest.approx(0.8)
    assert mnist["network instances"]["mean"] == 2
    assert (fashion["test accuracy"]["bar"], fashion["test accuracy"]["short"]) == (0.92, False)
    assert fashion["lowest seed"]["bar"] is None
    assert fashion["images read right up to renaming"]["mean"] == 0, "a tree without networks reads nothing"
    verdict = str(report("hitting-sets", read(tmp_path)).verdict)
    assert "mnist (test accuracy) 0.989, bar 0.9960" in verdict
    assert "mnist (lowest seed) 0.970, bar 0.9800" in verdict


# Sums of digits ----------------------------------------------------------------------------------------


def test_sums_are_held_to_the_published_means_and_to_a_spread(tmp_path: Path) -> None:
    for seed, (digits, sums) in enumerate([(0.98, 0.98), (0.96, 0.90)]):
        write(tmp_path, replace(SUMS, number=seed), record(readings=[reading("digit", digits, 1.0, sums)]))
    row = drawn(tmp_path, "even-odd", "MNIST-EvenOdd")["one labelled image for each digit"]
    digits, sums = row["digits read right"], row["sums read right"]
    assert (digits["mean"], digits["published"], digits["bar"], digits["short"]) == (
        pytest.approx(0.97),
        0.964,
        0.964,
        False,
    )
    assert (sums["mean"], sums["bar"], sums["short"]) == (pytest.approx(0.94), 0.93, False)
    assert (row["spread of digits"]["mean"], row["spread of digits"]["short"]) == (pytest.approx(0.01), False)
    assert (row["spread of sums"]["mean"], row["spread of sums"]["short"]) == (pytest.approx(0.04), True)


def test_a_tree_that_reads_no_digit_counts_as_all_wrong(tmp_path: Path) -> None:
    write(tmp_path, SUMS, record(readings=[reading("digit", 0.99)]))
    write(tmp_path, replace(SUMS, number=1), record(readings=[], instances=0, declared=0))
    row = drawn(tmp_path, "even-odd", "MNIST-EvenOdd")["one labelled image for each digit"]
    assert row["digits read right"]["mean"] == pytest.approx(0.99 / 2)


# Decks ---------------------------------------------------------------------------------------------------


def test_roots_of_decks_are_shown_and_the_labelled_ones_are_to_be_true(tmp_path: Path) -> None:
    roots = ["higher(last, played)", "higher(last, played)", "higher(played, last)"]
    for seed, root in enumerate(roots):
        tests = [{"test": root, "depth": 1}]
        found = [reading("rank", 0.9)] if seed else []
        write(tmp_path, replace(HIGHER, number=seed), record(tests=tests, readings=found))
        write(tmp_path, replace(HIGHER, setting="0", number=seed), record(tests=[]))
    rows = drawn(tmp_path, "decks", "Real decks")
    labelled, unlabelled = rows["higher, 13 labelled cards"], rows["higher, 0 labelled cards"]
    share = labelled["true root"]
    assert (share["mean"], share["bar"], share["short"]) == (pytest.approx(2 / 3), 1.0, True)
    assert labelled["roots"] == "2 × `higher(last, played)`, 1 × `higher(played, last)`"
    assert (unlabelled["true root"]["bar"], unlabelled["roots"]) == (None, "3 × `no test`")
    ranks = labelled["ranks read right, unseen decks"]
    assert (ranks["mean"], ranks["units"], ranks["of"]) == (
        pytest.approx(0.9),
        2,
        4,
    )  # one tree of five has no such network
    assert labelled["colours read right, unseen decks"]["mean"] is None
    assert labelled["accuracy, unseen decks"]["mean"] == pytest.approx(0.8)


# Eleusis with labels -----------------------------------------------------------------------------------


def test_labelled_trees_are_held_to_concept_accuracy_and_to_the_f1_without_labels(tmp_path: Path) -> None:
    for unit in units("labels"):
        found = [reading("rank", 0.98), reading("suit", 0.90)]
        write(tmp_path, unit, record(f1=0.95, instances=3, readings=found if unit.problem != "suit_order" else []))
        write(tmp_path, replace(unit, experiment="background", setting="union"), record(f1=0.96))
    rows = drawn(tmp_path, "labels", "Union with one labelled image for each value")
    mean = rows["mean"]
    assert (mean["concept accuracy"]["mean"], mean["concept accuracy"]["bar"]) == (pytest.approx(0.94), 0.95)
    assert mean["concept accuracy"]["short"]
    assert (mean["concept accuracy"]["units"], mean["concept accuracy"]["of"]) == (7 * 7, 7 * 7)
    assert (mean["F1 of holds"]["bar"], mean["F1 of holds"]["short"]) == (pytest.approx(0.96), True)
    counts = [rows[name]["network instances with labels"] for name in ("rank_order", "suit_order", "mean")]
    assert counts == ["14 of 21", "0 of 21", "98 of 168"]
    assert (rows["rank_order"]["F1 of holds"]["bar"], rows["suit_order"]["concept accuracy"]["of"]) == (None, 0)


def test_without_any_reading_the_report_of_labels_is_drawn(tmp_path: Path) -> None:
    write(tmp_path, LABELS, record(readings=[]))
    text = report("labels", read(tmp_path)).markdown()
    assert "1 of 56 units" in text
    assert "| rank_order | – |" in text
