"""Labels of concepts on the command line: from columns of the table and from a file."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

from neuid3 import read_table
from neuid3.cli.main import main

RULES = """
nn(rank_net, [X], R, [1, 2, 3]) :: rank(X, R).
higher(A, B) :- rank(A, X), rank(B, Y), X < Y, \\+ torn.
"""
ROWS = 120


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def cards(tmp_path: Path) -> list[dict[str, Any]]:
    """Rows of a table whose images, thirty files, are bars of three heights."""
    rng = np.random.default_rng(0)
    for rank in (1, 2, 3):
        for number in range(10):
            image = rng.integers(0, 40, (8, 8), dtype=np.uint8)
            image[2 * rank - 1] = 255
            Image.fromarray(image).save(tmp_path / f"{rank}-{number}.png")
    (tmp_path / "rules.pl").write_text(RULES)
    rows = []
    for _ in range(ROWS):
        first, second = rng.integers(1, 4, 2)
        names = [f"{rank}-{rng.integers(10)}.png" for rank in (first, second)]
        torn = "yes" if rng.random() < 0.1 else "no"
        result = "up" if first < second and torn == "no" else "not"
        rows.append({"first": names[0], "second": names[1], "torn": torn, "result": result})
    return rows


def fit(folder: Path, *options: str | Path) -> Result:
    """The command on the table of a folder, with little training."""
    command = ["fit", folder / "cards.csv", "--target", "result", "--background", folder / "rules.pl", "--out"]
    small = ["--tests", "higher(second, first)", "--epochs", "8", "--restarts", "2", "--jobs", "1"]
    return CliRunner().invoke(main, [str(part) for part in (*command, folder / "cards.neuid3", *small, *options)])


def labelled(rows: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """The rows with a column of labels, filled in for the first of them."""
    return [{**row, "rank(first)": row["first"][0] if i < count else ""} for i, row in enumerate(rows)]


def test_a_column_of_labels_is_summarized_and_trained_on(tmp_path: Path, cards: list[dict[str, Any]]) -> None:
    write(tmp_path / "cards.csv", labelled(cards, 20))
    done = fit(tmp_path)
    assert done.exit_code == 0, done.output
    assert "rank(first)  labels   20 of 120 rows; 3 values: 1, 2, 3" in done.output
    assert "Labels of rank (rank_net): " in done.output
    table = read_table(tmp_path / "cards.csv", target="result", concept_columns=["rank(first)"])
    assert list(table.examples.schema) == ["first", "second", "torn"]
    assert table.concepts["rank(first)"][:20] == [row["first"][0] for row in cards[:20]]


def test_a_file_of_labels_labels_every_cell_with_the_image(tmp_path: Path, cards: list[dict[str, Any]]) -> None:
    write(tmp_path / "cards.csv", cards)
    images = sorted({row[column] for row in cards for column in ("first", "second")})
    labels = [{"image": f"./{image}", "concept": "rank", "value": image[0]} for image in images]
    write(tmp_path / "labels.csv", labels)
    table = read_table(tmp_path / "cards.csv", target="result", concept_file=tmp_path / "labels.csv")
    assert table.concepts["rank(second)"] == [row["second"][0] for row in cards]
    done = fit(tmp_path, "--concepts", tmp_path / "labels.csv", "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout[done.stdout.index("{") :])
    (score,) = report["concepts"]
    assert (score["concept"], score["trained"], score["accuracy"]) == ("rank", len(images), None)
    shown = CliRunner().invoke(main, ["show", str(tmp_path / "cards.neuid3")])
    assert f"trained on {len(images)} labels, none held out" in shown.output


def test_audit_and_report_take_labels_from_columns_and_files(tmp_path: Path, cards: list[dict[str, Any]]) -> None:
    write(tmp_path / "cards.csv", cards)
    assert fit(tmp_path).exit_code == 0
    model, table = tmp_path / "cards.neuid3", write(tmp_path / "labelled.csv", labelled(cards, 20))
    images = sorted({row["second"] for row in cards})
    write(tmp_path / "labels.csv", [{"image": i, "concept": "rank", "value": i[0]} for i in images])
    file = ["--concepts", tmp_path / "labels.csv"]

    def run(*arguments: str | Path) -> Result:
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    assert "by most probable values" in run("audit", model, tmp_path / "cards.csv").output
    assert "by labels and, without one, most probable values" in run("audit", model, table).output
    done = run("audit", model, tmp_path / "cards.csv", *file, "--target", "result")
    assert done.exit_code == 0, done.output
    assert "by labels" in done.output
    page = ["--out", tmp_path / "page.html", "--target", "result"]
    done = run("report", model, table, *page)
    assert done.exit_code == 0, done.output
    labels = len({row["first"] for row in cards[:20]})
    assert re.search(
        rf"On labels of this table: rank \(rank_net\): concept accuracy 0\.\d+ on {labels} labels", done.output
    )
    done = run("report", model, tmp_path / "cards.csv", *file, *page)
    assert f"on {len(images)} labels" in done.output or f"on {len(images):,} labels" in done.output
    assert "concept accuracy" in (tmp_path / "page.html").read_text()
    rows = labelled(cards, 3)
    rows[1]["rank(first)"] = "king"
    wrong = write(tmp_path / "wrong.csv", rows)
    for command in ("audit", "report"):
        done = run(command, model, wrong)
        assert done.exit_code == 2
        assert "'rank(first)' has the label 'king' in line 3, which is no value of 'rank'" in done.output


def test_labels_that_contradict_classes_are_reported_with_their_lines(
    tmp_path: Path, cards: list[dict[str, Any]]
) -> None:
    rows = labelled(cards, 20)
    up = [i for i, row in enumerate(rows) if row["result"] == "up"][:8]
    for i in up:  # the second card cannot be higher than the highest
        rows[i] |= {"first": f"other-{i}.png", "rank(first)": "3"}
        Image.fromarray(np.full((8, 8), i, dtype=np.uint8)).save(tmp_path / f"other-{i}.png")
    write(tmp_path / "cards.csv", rows)
    done = fit(tmp_path, "--tests", "higher(first, second)")
    assert done.exit_code == 0, done.output
    assert re.search(
        rf"contradict the tree by labels and class.*These are line {up[0] + 2}, line {up[1] + 2}, ", done.output
    )
    assert done.output.count("contradict the tree") == 1


def test_many_labels_of_held_out_rows_measure_concept_accuracy(tmp_path: Path, cards: list[dict[str, Any]]) -> None:
    rng = np.random.default_rng(1)
    for i, row in enumerate(cards):  # an image of its own for each row, so that there are as many labels as rows
        image = rng.integers(0, 40, (8, 8), dtype=np.uint8)
        image[2 * int(row["first"][0]) - 1] = 255
        row["first"] = f"{row['first'][0]}-own-{i}.png"
        Image.fromarray(image).save(tmp_path / row["first"])
    write(tmp_path / "cards.csv", labelled(cards, ROWS))
    done = fit(tmp_path, "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout[done.stdout.index("{") :])
    (score,) = report["concepts"]
    assert score["labels"] == report["held_out"]["rows"]
    assert score["accuracy"] > 0.9


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (
            {"image": "9-9.png", "concept": "rank", "value": "1"},
            "line 3: the image '9-9.png' is in no row of cards.csv",
        ),
        ({"image": "FIRST", "concept": "rank", "value": "9"}, "has the rank '9', and in labels.csv, line 2 it has"),
        ({"image": "SECOND", "concept": "rank", "value": "9"}, "which is no value of 'rank'; its values are 1, 2, 3"),
        ({"image": "SECOND", "concept": "rnk", "value": "1"}, "Did you mean 'rank'?"),
        ({"image": "SECOND", "concept": "", "value": "1"}, "line 3: column 'concept' is empty"),
        (
            {"image": "SECOND", "concept": "rank(frist)", "value": "1"},
            "names the column 'frist', which cards.csv does not",
        ),
        ({"image": "SECOND", "concept": "rank(first, second)", "value": "1"}, "reads 2 columns, and "),
        (
            {"image": "SECOND | SECOND", "concept": "rank(first)", "value": "1"},
            "are 2 cells; write the cells of one row",
        ),
    ],
)
def test_a_label_that_cannot_be_is_refused_with_its_line(
    tmp_path: Path, cards: list[dict[str, Any]], label: dict[str, str], message: str
) -> None:
    write(tmp_path / "cards.csv", cards)
    first = cards[0]["first"]
    second = next(row["first"] for row in cards if row["first"] != first)
    label = {**label, "image": {"FIRST": first, "SECOND": second}.get(label["image"], label["image"])}
    write(tmp_path / "labels.csv", [{"image": first, "concept": "rank", "value": first[0]}, label])
    done = fit(tmp_path, "--concepts", tmp_path / "labels.csv")
    assert done.exit_code != 0
    assert message in done.output


def test_an_impossible_label_in_a_column_is_refused_with_its_line(tmp_path: Path, cards: list[dict[str, Any]]) -> None:
    rows = labelled(cards, 3)
    rows[1]["rank(first)"] = "king"
    write(tmp_path / "cards.csv", rows)
    done = fit(tmp_path)
    assert done.exit_code != 0
    assert "'rank(first)' has the label 'king' in line 3, which is no value of 'rank'" in done.output


def test_a_file_without_the_columns_of_labels_is_refused(tmp_path: Path, cards: list[dict[str, Any]]) -> None:
    write(tmp_path / "cards.csv", cards)
    write(tmp_path / "labels.csv", [{"image": cards[0]["first"], "predicate": "rank", "value": "1"}])
    done = fit(tmp_path, "--concepts", tmp_path / "labels.csv")
    assert done.exit_code != 0
    assert "has no column 'concept'; labels are in columns named image, concept and value" in done.output
