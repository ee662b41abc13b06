"""Networks learn what labels say their values mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_data import pictures

import neuid3
from neuid3 import NeuID3Classifier, TrainingConfig
from neuid3.errors import CheckpointError, DataError, LabelWarning

RULES = """
nn(rank_net, [X], R, [1, 2, 3]) :: rank(X, R).
higher(A, B) :- rank(A, X), rank(B, Y), X < Y.
"""


def bars(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Images of 8 by 8 pixels with a bar whose height is the value."""
    images = 0.1 * rng.random((len(values), 8, 8))
    images[np.arange(len(values)), 1 + 2 * values] = 1.0
    return images.astype("float32")


def cards(seed: int = 0, rows: int = 200) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Two images a row, whether the second is higher, and the ranks 1 to 3 of both."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 3, (2, rows))
    columns = {"first": bars(first, rng), "second": bars(second, rng)}
    return columns, np.where(first < second, "yes", "no"), first + 1, second + 1


def classifier(**settings: Any) -> NeuID3Classifier:
    training = TrainingConfig(**{"epochs": 8, "restarts": 2, **settings.pop("fields", {})})
    settings = {"background": RULES, "tests": ["higher(second, first)"], **settings}
    return NeuID3Classifier(training=training, random_state=0, **settings)


def one_of_each(ranks: np.ndarray) -> dict[int, int]:
    """A label for the first row of each rank."""
    return {int(np.flatnonzero(ranks == rank)[0]): rank for rank in (1, 2, 3)}


def accuracy(clf: NeuID3Classifier) -> float:
    X, _, first, second = cards(seed=1)
    scores = clf.score_concepts(X, {"rank(first)": first, "rank": {"second": second}})
    assert [score.labels for score in scores] == [400]
    assert scores[0].accuracy is not None
    return scores[0].accuracy


def test_the_wrong_form_of_a_rule_counts_backwards_until_three_labels_say_so() -> None:
    X, y, first, _ = cards()
    free = classifier().fit(X, y)
    assert free.score(X, y) > 0.95
    assert accuracy(free) < 0.5  # the classes are right, and the names are not
    assert free.concept_scores_ == ()
    anchored = classifier().fit(X, y, concepts={"rank(first)": one_of_each(first)})
    assert accuracy(anchored) > 0.95
    (score,) = anchored.concept_scores_
    assert (score.concept, score.trained, score.labels, score.accuracy) == ("rank", 3, 0, None)


def test_labels_of_both_forms_choose_the_true_one() -> None:
    X, y, _, second = cards()
    tests = ["higher(second, first)", "higher(first, second)"]
    clf = classifier(tests=tests).fit(X, y, concepts={"rank(second)": one_of_each(second)})
    assert str(clf.tree_.tests[0]).startswith("higher(first, second)")
    assert min(clf.score(X, y), accuracy(clf)) > 0.95


def test_with_labels_all_candidates_teach_networks_before_a_tree_is_grown(tmp_path: Path) -> None:
    X, y, _, second = cards()
    labels, tests = {"rank(second)": one_of_each(second)}, ["higher(second, first)", "higher(first, second)"]
    clf = classifier(tests=tests).fit(X, y, concepts=labels, checkpoint=tmp_path / "fit")
    finished = {path.name for path in (tmp_path / "fit").iterdir()}
    assert "pretrained-00.neuid3" in finished
    assert not any(name.startswith("node-") for name in finished), "pretraining explains enough, and nothing was grown"
    resumed = classifier(tests=tests).fit(X, y, concepts=labels, checkpoint=tmp_path / "fit")
    assert (resumed.predict_proba(X) == clf.predict_proba(X)).all()


def test_labels_of_two_networks_tell_rules_of_one_form_apart() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 2, (2, 200, 2))  # (row, top and bottom)
    images = 0.2 * rng.random((2, 200, 8, 8))
    for image, bits in zip(images, (left, right), strict=True):
        image[:, 1:3, 2:6] += bits[:, :1, None]
        image[:, 5:7, 2:6] += bits[:, 1:, None]
    X = {"a": images[0].astype("float32"), "b": images[1].astype("float32")}
    y = np.where(left[:, 0] != right[:, 0], "differ", "agree")
    rules = "\n".join(
        f"nn({name}_net, [X]) :: {name}(X).\n"
        f"{name}_changes(A, B) :- {name}(A), \\+ {name}(B).\n{name}_changes(A, B) :- \\+ {name}(A), {name}(B)."
        for name in ("bottom", "top")
    )
    clf = classifier(background=rules, tests=["bottom_changes(a, b)", "top_changes(a, b)"], fields={"epochs": 12})
    labels = {f"{name}(a)": {row: bool(left[row, i]) for row in range(8)} for i, name in enumerate(("top", "bottom"))}
    clf.fit(X, y, concepts=labels)
    assert str(clf.tree_.tests[0]).startswith("top_changes")
    (score,) = clf.score_concepts(X, {"top(b)": right[:, 0] == 1})
    assert score.accuracy is not None
    assert score.accuracy > 0.95


def test_a_network_that_counts_backwards_is_turned_by_labels_without_training(tmp_path: Path) -> None:
    X, y, first, _ = cards()
    free = classifier(tests=["higher(second, first)"]).fit(X, y)
    reused = [test.thawed() for test in free.tests_]  # it counts backwards, and is ready when the tree is grown
    settings = {"tests": [*reused, "higher(first, second)"], "fields": {"joint_epochs": 0}}
    clf = classifier(**settings).fit(X, y, concepts={"rank(first)": one_of_each(first)}, checkpoint=tmp_path / "fit")
    assert str(clf.tree_.tests[0]).startswith("higher(first, second)")
    assert min(clf.score(X, y), accuracy(clf)) > 0.95
    resumed = classifier(**settings).fit(
        X, y, concepts={"rank(first)": one_of_each(first)}, checkpoint=tmp_path / "fit"
    )
    assert (resumed.predict_proba(X) == clf.predict_proba(X)).all()


def test_a_fitted_classifier_is_reread_by_later_labels(tmp_path: Path) -> None:
    X, y, first, _ = cards()
    both = ["higher(second, first)", "higher(first, second)"]
    clf = classifier(tests=both).fit(X, y)
    labels = {"rank(first)": one_of_each(first)}
    read = clf.reread(X, labels)
    assert str(read.tree_.tests[0]).startswith("higher(first, second)")
    assert accuracy(read) > 0.95
    np.testing.assert_allclose(read.predict_proba(X), clf.predict_proba(X), atol=1e-5)
    # The other direction: labels that say that low is high.
    back = read.reread(X, {"rank(first)": {row: 4 - rank for row, rank in one_of_each(first).items()}})
    assert str(back.tree_.tests[0]).startswith("higher(second, first)")
    np.testing.assert_allclose(back.predict_proba(X), clf.predict_proba(X), atol=1e-5)
    loaded = neuid3.load(read.save(tmp_path / "read"))
    assert (loaded.predict_proba(X) == read.predict_proba(X)).all()


def test_labels_that_contradict_the_classes_are_reported_with_their_rows() -> None:
    X, y, first, _ = cards()
    wrong = [int(row) for row in np.flatnonzero(y == "yes")[:12]]  # these rows are said to show the same rank twice
    labels = {"first": {int(row): int(first[row]) for row in range(100, 160)}, "second": {}}
    labels["first"] |= dict.fromkeys(wrong, 2)
    labels["second"] |= dict.fromkeys(wrong, 2)
    clf = classifier(tests=["higher(first, second)"])
    with pytest.warns(
        UserWarning, match=r"rows contradict the tree by labels and class, such as row \d+: rank"
    ) as caught:
        clf.fit(X, y, concepts={"rank": labels})
    (message,) = [str(warning.message) for warning in caught if warning.category is LabelWarning]
    assert f"These are row {wrong[0]}, row {wrong[1]}, row {wrong[2]}, " in message


def test_all_labels_make_a_concept_bottleneck_whose_accuracy_is_recorded_and_saved(tmp_path: Path) -> None:
    X, y, first, second = cards()
    clf = classifier(tests=["higher(first, second)"]).fit(X, y, concepts={"rank": {"first": first, "second": second}})
    (score,) = clf.concept_scores_
    assert score.trained + score.labels == 400
    assert 60 <= score.labels <= 100
    assert score.accuracy is not None
    assert score.accuracy > 0.95
    loaded = neuid3.load(clf.save(tmp_path / "cards"))
    assert loaded.concept_scores_ == clf.concept_scores_
    assert accuracy(loaded) == accuracy(clf)


def test_a_column_of_labels_is_no_feature() -> None:
    X, y, first, _ = cards()
    column = [None] * len(y)
    for row, rank in one_of_each(first).items():
        column[row] = rank
    by_column = classifier().fit({**X, "rank(first)": column}, y)
    assert list(by_column.schema_) == ["first", "second"]
    given = classifier().fit(X, y, concepts={"rank(first)": one_of_each(first)})
    assert by_column.export_text() == given.export_text()
    assert (by_column.predict_proba(X) == given.predict_proba(X)).all()
    with pytest.raises(DataError, match=r"'rank\(first\)' is a column of the table and is given in `concepts`"):
        classifier().fit({**X, "rank(first)": column}, y, concepts={"rank(first)": column})
    assert by_column.score_concepts({**X, "rank(first)": first}) == given.score_concepts(X, {"rank(first)": first})
    with pytest.raises(DataError, match="There are no labels to compare with"):
        given.score_concepts(X)


def test_a_data_frame_with_a_column_of_labels_is_fitted_scored_and_audited() -> None:
    X, y, first, _ = cards()
    column = np.full(len(y), np.nan)
    for row, rank in one_of_each(first).items():
        column[row] = rank
    frame = pd.DataFrame({name: list(images) for name, images in X.items()})
    clf = classifier().fit(frame.assign(**{"rank(first)": column}), y)
    assert list(clf.feature_names_in_) == ["first", "second"]
    given = classifier().fit(X, y, concepts={"rank(first)": one_of_each(first)})
    assert (clf.predict_proba(frame) == given.predict_proba(X)).all()
    labelled = frame.assign(**{"rank(first)": first})
    assert clf.score_concepts(labelled) == given.score_concepts(X, {"rank(first)": first})
    assert clf.audit(labelled, y).source == "labels and predictions"
    assert "On labels of this table: rank (rank_net" in neuid3.evidence_page(clf, labelled, y)
    assert "On labels of this table" not in neuid3.evidence_page(clf, frame, y)


def test_yes_and_no_of_a_neural_fact_are_what_labels_say() -> None:
    X, _, first, second = cards()
    y = np.where(first == 3, "high", "low")
    low = {int(row): bool(first[row] != 3) for row in range(12)}
    rules = "nn(low_net, [X]) :: low(X). nn(same_net, [X, Y]) :: same(X, Y)."
    clf = classifier(background=rules, tests=["low(first)"]).fit(X, y, concepts={"low(first)": low})
    assert clf.score(X, y) > 0.95
    (score,) = clf.score_concepts(X, {"low(second)": second != 3})
    assert score.accuracy is not None
    assert score.accuracy > 0.95


def test_a_network_of_two_images_is_trained_on_labels_of_pairs() -> None:
    X, _, first, second = cards()
    y = np.where(first == second, "pair", "none")
    differ = {int(row): bool(first[row] != second[row]) for row in range(40)}
    rules = "nn(differ_net, [X, Y]) :: differ(X, Y)."
    clf = classifier(background=rules, tests=["differ(first, second)"], fields={"epochs": 20})
    clf.fit(X, y, concepts={"differ(first, second)": differ})
    (score,) = clf.score_concepts(X, {"differ(first, second)": first != second})
    assert score.accuracy is not None
    assert score.accuracy > 0.8


def test_the_same_fit_with_other_numbers_of_workers_is_the_same() -> None:
    X, y, first, _ = cards()
    fits = [classifier(n_jobs=jobs).fit(X, y, concepts={"rank(first)": one_of_each(first)}) for jobs in (1, 2)]
    assert (fits[0].predict_proba(X) == fits[1].predict_proba(X)).all()


def test_a_checkpoint_of_other_labels_is_refused(tmp_path: Path) -> None:
    X, y, first, _ = cards()
    labels = one_of_each(first)
    classifier().fit(X, y, checkpoint=tmp_path / "fit", concepts={"rank(first)": labels})
    with pytest.raises(CheckpointError, match="concepts"):
        classifier().fit(X, y, checkpoint=tmp_path / "fit", concepts={"rank(first)": {**labels, 60: int(first[60])}})
    with pytest.raises(CheckpointError, match="concepts"):
        classifier().fit(X, y, checkpoint=tmp_path / "fit")


def test_a_network_that_columns_share_learns_what_its_labels_say() -> None:
    symbols = np.random.default_rng(0).integers(0, 2, (240, 6))
    X = pictures(symbols, seed=0)
    y = np.where(symbols.sum(1) >= 3, "many", "few")
    rules = "nn(zero_net, [X]) :: zero(X)."
    settings = {"background": rules, "tests": [f"zero({name})" for name in X], "max_depth": 2}
    accuracies = {}
    for meaning in (0, 1):  # the same images may be called zero or not; only the labels say which
        labels = {row: bool(symbols[row, 0] == meaning) for row in range(10)}
        clf = classifier(**settings, fields={"shared": True}).fit(X, y, concepts={"zero(c0)": labels})
        scores = clf.score_concepts(X, {f"zero({name})": symbols[:, i] == meaning for i, name in enumerate(X)})
        accuracies[meaning] = [score.accuracy for score in scores]
    assert all(accuracy > 0.9 for of_meaning in accuracies.values() for accuracy in of_meaning if accuracy is not None)
    assert all(accuracies.values())


def test_the_training_of_the_paper_takes_labels() -> None:
    X, y, first, _ = cards()
    clf = NeuID3Classifier(
        background=RULES,
        tests=["higher(first, second)"],
        training=TrainingConfig(epochs=10, restarts=1, loss="branches", validation_fraction=None, joint_epochs=0),
        random_state=0,
    ).fit(X, y, concepts={"rank(first)": one_of_each(first)})
    assert [score.trained for score in clf.concept_scores_] == [3]
    assert accuracy(clf) > 0.95


def test_labels_are_fetched_step_by_step_where_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, first, _ = cards()
    labels = {"rank(first)": {row: int(first[row]) for row in range(40)}}
    in_memory = classifier(n_jobs=1).fit(X, y, concepts=labels)
    monkeypatch.setattr("neuid3.training.label_batches.MAX_IN_MEMORY", 0)
    fetched = classifier(n_jobs=1).fit(X, y, concepts=labels)
    assert (fetched.predict_proba(X) == in_memory.predict_proba(X)).all()


def test_a_network_that_reads_a_number_takes_labels() -> None:
    rng = np.random.default_rng(0)
    age = rng.random(200) * 4 - 2
    rules = "nn(old_net, [X]) :: young(X)."
    y = np.where(age > 0, "old", "not")
    clf = classifier(background=rules, tests=["young(age)"], fields={"epochs": 20})
    clf.fit({"age": age}, y, concepts={"young(age)": {row: bool(age[row] <= 0) for row in range(30)}})
    (score,) = clf.score_concepts({"age": age}, {"young(age)": age <= 0})
    assert score.accuracy is not None
    assert score.accuracy > 0.9


def test_rows_of_weight_zero_lend_no_labels() -> None:
    X, y, first, _ = cards()
    weights = (np.arange(len(y)) >= 10).astype(float)
    labels = {row: int(first[row]) for row in range(20)}
    clf = classifier(tests=["higher(first, second)"]).fit(X, y, weights, concepts={"rank(first)": labels})
    assert [score.trained for score in clf.concept_scores_] == [10]
    assert accuracy(clf) > 0.9
