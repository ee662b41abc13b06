"""A model remembers the rows it was learned from and its scores, and no number mixes those rows with others."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bright import model as by_hand
from bright import table as images
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss

import neuid3
from neuid3 import Examples, NeuID3Classifier
from neuid3.cli.main import main
from neuid3.errors import DataError, ModelFileError
from neuid3.explain.page import evidence_page
from neuid3.explain.page.content import page_content
from neuid3.io.container import SavedFile, read_container, write_container
from neuid3.tree import record as records
from neuid3.tree.record import TrainingRecord, row_digests

GOLDEN = sorted((Path(__file__).parents[2] / "golden" / "v1").glob("*.neuid3"))


def people(n: int, seed: int = 0) -> tuple[Examples, np.ndarray]:
    """Noisy rows that a tree without pruning learns by heart."""
    rng = np.random.default_rng(seed)
    age, dose = rng.normal(50, 15, n), rng.random(n)
    ill = ((age > 50) ^ (dose > 0.6)) ^ (rng.random(n) < 0.15)
    town = rng.choice(["north", "south"], n)
    return Examples({"age": age, "dose": dose, "town": town, "land": ["here"] * n}), np.where(ill, "ill", "well")


@pytest.fixture(scope="module")
def learned() -> tuple[NeuID3Classifier, Examples, np.ndarray]:
    X, y = people(500)
    clf = NeuID3Classifier(pruning=0, random_state=0).fit(X[:400], y[:400])
    clf.record_score(X[400:], y[400:])
    return clf, X, y


def headline(clf: Any, X: Any, y: Any = None) -> str:
    found = re.search(r'"scores":(\[.*?\]),"nodes"', evidence_page(clf, X, y))
    assert found is not None
    return " ".join(json.loads(found.group(1)))


# What is shown -------------------------------------------------------------------------------------
def test_rows_that_were_learned_from_are_counted_apart(learned: Any) -> None:
    clf, X, y = learned
    seen, unseen = clf.score(X[:400], y[:400]), clf.score(X[400:], y[400:])
    assert seen > unseen + 0.1
    text = headline(clf, X, y)
    assert (
        f"Of these 500 rows 400 were learned from: accuracy {seen:.3f}; the other 100: accuracy {unseen:.3f}." in text
    )
    assert f"{clf.score(X, y):.3f}" not in text


def test_a_table_of_training_rows_says_so_and_shows_the_remembered_score(learned: Any) -> None:
    clf, X, y = learned
    text = headline(clf, X[:400], y[:400])
    score = f"accuracy {clf.score(X[400:], y[400:]):.3f}"
    assert text.startswith(
        "All of these 400 rows are rows that it was learned from: accuracy 1.000, which says little about others. "
        f"On 100 rows kept apart: {score}."
    )
    assert f"On 100 rows that had no part in learning: accuracy {clf.score(X[400:], y[400:]):.3f}, log-loss " in text


def test_a_table_of_other_rows_has_one_score(learned: Any) -> None:
    clf, X, y = learned
    text = headline(clf, X[400:], y[400:])
    assert text.startswith(f"None of these 100 rows was learned from: accuracy {clf.score(X[400:], y[400:]):.3f}.")


def test_without_classes_the_rows_are_counted_all_the_same(learned: Any) -> None:
    clf, X, _ = learned
    assert headline(clf, X).startswith("Of these 500 rows 400 were learned from; the other 100 were not.")


def test_a_table_without_some_column_cannot_be_compared(learned: Any) -> None:
    clf, X, y = learned
    text = headline(clf, X.select(clf.model_.columns)[:50], y[:50])
    assert "land" not in clf.model_.columns
    assert text.startswith("On these 50 rows: accuracy 1.000. Which of them it was learned from is unknown.")


def test_a_tree_made_by_hand_remembers_nothing() -> None:
    assert "There is no record of the rows" in headline(by_hand(), images())


def test_a_chosen_example_says_whether_it_was_learned_from(learned: Any) -> None:
    clf, X, y = learned
    found = {example.row: example.learned for example in page_content(clf.model_, X[350:450], y[350:450]).examples}
    assert len(found) > 20
    assert all(seen == (row < 50) for row, seen in found.items())


# What is remembered ---------------------------------------------------------------------------------
def test_scores_are_those_of_the_held_out_rows(learned: Any) -> None:
    clf, X, y = learned
    (score,) = clf.training_record_.scores
    assert (score.kind, score.rows) == ("held-out", 100)
    assert score.accuracy == clf.score(X[400:], y[400:])
    probabilities = np.clip(clf.predict_proba(X[400:]), 1e-15, 1)
    assert score.log_loss == pytest.approx(log_loss(y[400:], probabilities / probabilities.sum(1, keepdims=True)))


def test_training_rows_are_no_held_out_rows() -> None:
    X, y = people(500)
    clf = NeuID3Classifier(random_state=0).fit(X[:400], y[:400])
    with pytest.warns(UserWarning, match="equal to a training row"):
        clf.record_score(X[:50], y[:50])
    with pytest.raises(DataError, match="the class 'dead', which the tree does not have"):
        clf.record_score(X[400:402], ["ill", "dead"])
    with pytest.raises(DataError, match="1 labels, for 2 examples"):
        clf.record_score(X[400:402], ["ill"])


def test_a_file_keeps_the_record(learned: Any, tmp_path: Path) -> None:
    clf, X, y = learned
    clf.save(tmp_path / "one.neuid3")
    same = neuid3.load(tmp_path / "one.neuid3")
    assert same.training_record_.scores == clf.training_record_.scores
    assert headline(same, X, y) == headline(clf, X, y)
    same.save(tmp_path / "two.neuid3")
    assert (tmp_path / "one.neuid3").read_bytes() == (tmp_path / "two.neuid3").read_bytes()
    clf.model_.save(tmp_path / "tree.neuid3")
    assert headline(neuid3.load(tmp_path / "tree.neuid3"), X, y) == headline(clf, X, y)


def test_a_file_can_be_written_without_digests(learned: Any, tmp_path: Path) -> None:
    clf, X, y = learned
    clf.save(tmp_path / "short.neuid3", remember_rows=False)
    short = neuid3.load(tmp_path / "short.neuid3")
    assert short.training_record_.digests is None
    assert short.training_record_.scores == clf.training_record_.scores
    assert "Which of them it was learned from is unknown." in headline(short, X, y)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_old_files_load_and_say_that_nothing_is_remembered(path: Path) -> None:
    found = neuid3.load(path)
    if not isinstance(found, neuid3.TrainedTest):
        model = getattr(found, "model_", found)
        assert model.training_record is None
        assert all(branch.statistics is None for branch in neuid3.tree.tree.branches(model.tree.root))
    if isinstance(found, NeuID3Classifier):
        output = CliRunner().invoke(main, ["show", str(path)]).output
        assert "There is no record of the rows that the tree was learned from." in output
        with pytest.raises(DataError, match="without a training record"):
            found.record_score({}, [])


@pytest.mark.parametrize(
    "spoil",
    [
        {"rows": -1},
        {"rows": 3},
        {"salt": 2**64},
        {"salt": "pepper"},
        {"scores": [{"kind": "dream", "rows": 1, "accuracy": 1.0, "log_loss": 0.0}]},
        {"scores": [{"kind": "held-out", "rows": 1, "accuracy": 1.5, "log_loss": 0.0}]},
        {"scores": [{"kind": "held-out", "rows": 1, "accuracy": "high", "log_loss": 0.0}]},
        {"scores": None},
    ],
)
def test_a_damaged_record_is_reported_in_a_sentence(learned: Any, tmp_path: Path, spoil: dict[str, Any]) -> None:
    clf, _, _ = learned
    path = clf.save(tmp_path / "model.neuid3")
    saved = read_container(path)
    fields = {**saved.fields, "training_record": {**saved.fields["training_record"], **spoil}}
    write_container(path, SavedFile(fields, saved.background, saved.tensors))
    with pytest.raises(ModelFileError, match="is damaged"):
        neuid3.load(path)


# Digests --------------------------------------------------------------------------------------------
ROWS = st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=30)


@given(ROWS, ROWS)
def test_a_row_is_recognised_as_often_as_it_was_learned_from(
    trained: list[tuple[int, bool]], shown: list[tuple[int, bool]]
) -> None:
    """Equal rows cannot be told apart; the counts of rows, by class, are those of multisets."""

    def table(rows: list[tuple[int, bool]]) -> Examples:
        return Examples({"x": [float(x) for x, _ in rows]}, kinds={"x": "number"})

    X, codes = table(trained), np.array([int(label) for _, label in trained])
    record = TrainingRecord.of(X, codes, 7)
    found = record.learned(table(shown), X.schema, np.array([int(label) for _, label in shown]))
    assert found is not None
    for x in (0, 1, 2):
        for label in (False, True):
            there, known = shown.count((x, label)), trained.count((x, label))
            hits = sum(hit for hit, row in zip(found, shown, strict=True) if row == (x, label))
            assert hits >= min(there, known)
        here = [hit for hit, row in zip(found, shown, strict=True) if row[0] == x]
        assert sum(here) == min(len(here), sum(row[0] == x for row in trained))
    without = record.learned(table(shown), X.schema)
    assert without is not None
    assert without.sum() == found.sum()


def test_a_digest_is_that_of_the_entry_however_the_table_holds_it() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (5, 4, 4), dtype=np.uint8)
    one = Examples(
        {"image": pixels, "age": np.array([1, 2, 3, 4, 0]), "p": [0.0, 0.5, 1, None, 0.25]}, {"p": "probability"}
    )
    other = Examples(
        {"p": [-0.0, 0.5, 1, None, 0.25], "image": pixels / 255, "age": [1.0, 2.0, 3.0, 4.0, -0.0], "more": [1] * 5},
        {"p": "probability"},
    )
    wanted = row_digests(one, 3)
    assert (row_digests(Examples.read(other, one.schema), 3) == wanted).all()
    assert len(set(wanted.tolist())) == 5
    changed = pixels.copy()
    changed[2, 1, 1] ^= 1
    repeated = row_digests(
        Examples.read({"image": changed, "age": [1, 2, 3, 4, 0], "p": [0.0, 0.5, 1, None, 0.25]}, one.schema), 3
    )
    assert (repeated == wanted).tolist() == [True, True, False, True, True]
    assert not np.isin(row_digests(one, 4), wanted).any()


def test_beyond_the_limits_only_the_number_of_rows_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = people(50)
    monkeypatch.setattr(records, "MOST_ROWS", 49)
    clf = NeuID3Classifier(random_state=0).fit(X, y)
    assert (clf.training_record_.rows, clf.training_record_.digests) == (50, None)
    assert "is unknown" in headline(clf, X, y)
    monkeypatch.setattr(records, "MOST_ROWS", 50)
    assert NeuID3Classifier(random_state=0).fit(X, y).training_record_.digests is not None
    pictures = images(60)
    monkeypatch.setattr(records, "MOST_ROWS", 100)
    monkeypatch.setattr(records, "MOST_BYTES", 60 * 2 * 36 * 4 - 1)
    assert TrainingRecord.of(pictures, np.zeros(60, dtype=np.int64), 0).digests is None
    few = TrainingRecord.of(pictures[:30], np.zeros(30, dtype=np.int64), 0)
    assert few.learned(pictures[:40], pictures.schema).sum() == 30
    assert few.learned(pictures, pictures.schema) is None


def test_no_entry_of_a_row_is_in_the_file(tmp_path: Path) -> None:
    secret = 0.123456789123
    X = Examples({"x": [secret, 0.5, 0.6, 0.7] * 5}, kinds={"x": "number"})
    path = (
        NeuID3Classifier(random_state=0, tests=["x =< 0.55"])
        .fit(X, ["a", "a", "b", "b"] * 5)
        .save(tmp_path / "m.neuid3")
    )
    saved = read_container(path)
    assert np.float64(secret).tobytes() not in saved.tensors["/training/digests"].tobytes()
    assert len(set(saved.tensors["/training/digests"].tolist())) == 4  # equal rows have equal digests


# Commands -------------------------------------------------------------------------------------------
def test_commands_report_the_score_of_the_rows_that_fit_held_out(tmp_path: Path) -> None:
    X, y = people(300)
    lines = [
        f"{age!r},{dose!r},{'a' if code else 'b'},{label}"
        for age, dose, code, label in zip(
            X.column("age").values.tolist(), X.column("dose").values.tolist(), X.column("town").values, y, strict=True
        )
    ]
    table, model = tmp_path / "people.csv", tmp_path / "people.neuid3"
    table.write_text("\n".join(["age,dose,town,state", *lines]) + "\n", encoding="utf-8")
    run = CliRunner()
    done = run.invoke(main, ["fit", str(table), "--target", "state", "--out", str(model), "--json"])
    assert done.exit_code == 0, done.output
    fitted = json.loads(done.stdout[done.stdout.index("{") :])
    kept = fitted["held_out"]
    sentence = (
        f"On 60 rows that had no part in learning: accuracy {kept['accuracy']:.3f}, log-loss {kept['log_loss']:.3f}."
    )
    shown = run.invoke(main, ["show", str(model)]).output
    assert "Learned from 240 rows." in shown
    assert sentence in shown
    output = json.loads(run.invoke(main, ["show", str(model), "--json"]).output)["training_record"]
    assert output["rows"] == 240
    assert output["scores"][0]["accuracy"] == kept["accuracy"]
    report = run.invoke(
        main, ["report", str(model), str(table), "--target", "state", "--out", str(tmp_path / "p.html")]
    )
    assert "Of these 300 rows 240 were learned from: accuracy " in report.output
    assert f"; the other 60: accuracy {kept['accuracy']:.3f}." in report.output
    assert sentence in report.output
    short = tmp_path / "short.neuid3"
    done = run.invoke(main, ["fit", str(table), "--target", "state", "--out", str(short), "--forget-rows"])
    assert done.exit_code == 0, done.output
    assert sentence in run.invoke(main, ["show", str(short)]).output
    assert (
        "is unknown" in run.invoke(main, ["report", str(short), str(table), "--out", str(tmp_path / "q.html")]).output
    )
