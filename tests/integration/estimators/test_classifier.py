"""NeuID3Classifier: scikit-learn's habits, and what the tree learns."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from neuid3 import AtomTest, Examples, NeuID3Classifier, NeuID3Error, NodeTest
from neuid3.cli.demo import BACKGROUND, windows
from neuid3.errors import NodeTestError
from neuid3.logic.formula import Formula
from neuid3.logic.program import Program
from neuid3.training import halving
from neuid3.training.config import TrainingConfig

SHORT = TrainingConfig(epochs=6, restarts=2, joint_epochs=2)


QUICK = {"random_state": 0, "training": SHORT}


def digits_pair(n: int, seed: int = 0) -> tuple[Examples, np.ndarray]:
    X, y = windows(n, np.random.default_rng(seed))
    return X, np.where(y == 1, "holds", "violates")


def test_a_leaf_below_a_network_is_no_surer_than_unseen_examples_make_it() -> None:
    rng = np.random.default_rng(0)
    noise, labels = rng.random((120, 8, 8)).astype(np.float32), rng.integers(0, 2, 120)
    clf = NeuID3Classifier(
        max_depth=1,
        pruning=0,
        min_gain=0,
        random_state=0,
        training=TrainingConfig(epochs=60, joint_epochs=0, augment=False, restarts=2),
    ).fit(Examples({"noise": noise}), labels)
    learned = clf.leaf_probabilities(Examples({"noise": noise}))
    assert learned.max(1).mean() > 0.8, "the network knows its examples by heart"
    assert max(max(leaf.probabilities) for leaf in clf.tree_.leaves) < 0.8


def test_validation_by_training_examples_is_warned_of() -> None:
    X, y = digits_pair(60)
    with pytest.warns(UserWarning, match="keeps no example for validation"):
        NeuID3Classifier(
            tests=["gt_rank(first, second)"],
            background=BACKGROUND,
            training=replace(SHORT, validation_fraction=0),
            random_state=0,
        ).fit(X, y)


def test_a_test_without_a_field_for_its_networks_cannot_be_trained() -> None:
    @dataclass(frozen=True)
    class Own(NodeTest):
        def formula(self, program: Program) -> Formula:
            return AtomTest("gt_rank(first, second)").formula(program)

    X, y = digits_pair(60)
    with pytest.raises(NodeTestError, match="write it as a rule"):
        NeuID3Classifier(tests=["joker", Own()], background=BACKGROUND, **QUICK).fit(X, y)


def test_a_rule_over_digits_is_learned() -> None:
    X, y = digits_pair(400)
    clf = NeuID3Classifier(
        background=BACKGROUND,
        tests=["joker", "gt_rank(first, second)"],
        max_depth=2,
        pos_label="holds",
        random_state=0,
        training=TrainingConfig(epochs=20, restarts=2),
    ).fit(X, y)
    assert "gt_rank(first, second)" in clf.export_text()
    assert clf.score(*digits_pair(500, 1)) > 0.8


def test_the_number_of_workers_does_not_change_a_bit() -> None:
    X, y = digits_pair(200)
    tests = ["joker", "gt_rank(first, second)", "gt_rank(second, first)"]
    one, two = (
        NeuID3Classifier(background=BACKGROUND, tests=tests, max_depth=2, n_jobs=jobs, **QUICK).fit(X, y)
        for jobs in (1, 2)
    )
    assert one.tree_ == two.tree_
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_training_side_by_side_and_one_by_one_give_the_same_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = digits_pair(300)
    how = QUICK | {"pruning": 0.0, "n_jobs": 1, "training": replace(SHORT, restarts=4)}
    clf = NeuID3Classifier(background=BACKGROUND, tests=["gt_rank(first, second)", "joker"], max_depth=2, **how)
    together = clf.fit(X, y).tree_, clf.predict_proba(X)
    monkeypatch.setattr(halving, "GROUP_SIZE", 1)
    alone = clf.fit(X, y).tree_, clf.predict_proba(X)
    assert alone[0].tests == together[0].tests
    np.testing.assert_allclose(alone[1], together[1], atol=1e-4)


@pytest.mark.filterwarnings("ignore:No candidate test:UserWarning")
def test_fitting_leaves_random_states_and_arrays_as_they_were() -> None:
    X, y = digits_pair(120)
    before, state = X.column("first").values.copy(), torch.get_rng_state()
    numpy_state = np.random.get_state()[1].copy()  # noqa: NPY002 - the legacy state is what must not move
    NeuID3Classifier(background=BACKGROUND, tests=["gt_rank(first, second)"], max_depth=1, **QUICK).fit(X, y)
    np.testing.assert_array_equal(X.column("first").values, before)
    assert torch.equal(torch.get_rng_state(), state)
    assert (np.random.get_state()[1] == numpy_state).all()  # noqa: NPY002


def test_a_trained_test_is_reused_and_stays_as_it_was() -> None:
    X, y = digits_pair(300)
    tests = ["gt_rank(first, second)"]
    first = NeuID3Classifier(background=BACKGROUND, tests=tests, max_depth=1, pruning=0.0, **QUICK).fit(X, y)
    (trained,) = first.tests_
    weights = {k: v.clone() for k, v in next(iter(trained.networks.values())).state_dict().items()}
    second = NeuID3Classifier(background=BACKGROUND, tests=[trained, "joker"], max_depth=2, pruning=0.0, **QUICK).fit(
        X, y
    )
    assert second.gradient_steps_ == 0
    (network,) = second.networks_.values()
    for name, value in network.state_dict().items():
        assert torch.equal(value, weights[name])
    longer = QUICK | {"training": replace(SHORT, joint_epochs=8)}
    third = NeuID3Classifier(
        background=BACKGROUND, tests=[trained.thawed(), "joker"], max_depth=2, pruning=0.0, **longer
    ).fit(X, y)
    assert third.gradient_steps_ > 0
    for name, value in next(iter(trained.networks.values())).state_dict().items():
        assert torch.equal(value, weights[name])


def test_the_papers_recipe_trains_on_all_rows_for_twenty_epochs() -> None:
    X, y = digits_pair(96)
    clf = NeuID3Classifier(
        background=BACKGROUND, tests=["gt_rank(first, second)"], max_depth=1, random_state=0, training="paper"
    ).fit(X, y)
    assert clf.gradient_steps_ == 20 * 3  # batches of 32
    with pytest.raises(NeuID3Error, match="training='default'"):
        NeuID3Classifier(training="paper").fit(*load_iris(return_X_y=True))


def test_an_image_column_alone_gets_a_network() -> None:
    digits = load_digits()
    rows = np.isin(digits.target, (0, 1))
    X = Examples({"image": digits.images[rows].astype(np.float32) / 16})
    clf = NeuID3Classifier(**QUICK).fit(X, digits.target[rows])
    assert clf.export_text().splitlines()[0].startswith("image_net(image)?")
    assert clf.score(X, digits.target[rows]) > 0.95


def test_labels_may_be_renamed_without_changing_what_is_learned() -> None:
    X, y = digits_pair(200)
    swapped = np.where(y == "holds", "a", "b")  # the positive class is now the other one in sort order
    one = NeuID3Classifier(
        background=BACKGROUND, tests=["gt_rank(first, second)"], pos_label="holds", max_depth=1, pruning=0.0, **QUICK
    )
    two = NeuID3Classifier(
        background=BACKGROUND, tests=["gt_rank(first, second)"], pos_label="a", max_depth=1, pruning=0.0, **QUICK
    )
    p, q = one.fit(X, y).predict_proba(X), two.fit(X, swapped).predict_proba(X)
    with warnings.catch_warnings():
        np.testing.assert_allclose(p[:, one.classes_ == "holds"], q[:, two.classes_ == "a"], atol=1e-6)


def test_progress_is_reported_only_on_request(capfd: object) -> None:
    X, y = digits_pair(150)
    quiet = NeuID3Classifier(
        background=BACKGROUND, tests=["joker", "gt_rank(first, second)"], max_depth=1, pruning=0.0, **QUICK
    )
    quiet.fit(X, y)
    assert capfd.readouterr() == ("", "")
    clone(quiet).set_params(verbose=1).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert "node 1 (root): " in err
    assert "gains of networks" not in err
    clone(quiet).set_params(verbose=2).fit(X, y)
    assert re.search(r"node 1 \(root\): gains of networks: gt_rank\(first, second\) -?\d\.\d{3}", capfd.readouterr()[1])


def test_a_missing_image_follows_the_average_output_of_its_final_network() -> None:
    digits = load_digits()
    rows = np.isin(digits.target, (3, 8))
    images = digits.images[rows].astype(np.float32) / 16
    X = Examples({"image": images})
    clf = NeuID3Classifier(max_depth=1, **QUICK).fit(X, digits.target[rows])
    seen = clf.predict_proba(X)
    unknown = clf.predict_proba({"image": [None, images[0]]})[0]
    learned = clf.model_.learn_priors(X).predict_proba(Examples({"image": [None, images[0]]}))[0]
    assert unknown == pytest.approx(
        learned, abs=0.05
    )  # a fifth of the examples validated the network and did not train it
    assert unknown == pytest.approx(seen.mean(0), abs=0.05)
    ready = NeuID3Classifier(
        background="nn(n, [X]) :: eight(X).", networks={"n": next(iter(clf.networks_.values()))}, tests=["eight(image)"]
    ).fit(X, digits.target[rows])
    assert ready.predict_proba({"image": [None, images[0]]})[0] == pytest.approx(unknown, abs=0.1)


def test_images_may_be_missing_in_training() -> None:
    X, y = digits_pair(300)
    holes = {name: column.values.copy() for name, column in X.items() if name in ("first", "second")}
    holes["first"][::5] = np.nan
    holes["second"][1::4] = np.nan
    given = Examples({**holes, "joker": X.column("joker").values})
    clf = NeuID3Classifier(
        background=BACKGROUND, tests=["joker", "gt_rank(first, second)"], max_depth=2, pruning=0.0, **QUICK
    )
    np.testing.assert_allclose(clf.fit(given, y).predict_proba(given).sum(1), 1.0)


def test_noise_grows_no_tree() -> None:
    sizes = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([50, 200, 1000]))
        numbers = {f"n{i}": rng.normal(size=n) for i in range(5)}
        facts = {f"f{i}": rng.random(n) < 0.5 for i in range(20)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a single leaf is what we want
            clf = NeuID3Classifier().fit(Examples(numbers | facts), rng.integers(0, 2, n))
        sizes.append(len(clf.tree_.leaves))
    assert sizes.count(1) >= 5
    assert max(sizes) <= 4


# Odd data -------------------------------------------------------------------------------------------
def lights(dtype: str = "float32") -> tuple[Any, Any]:
    """Dark and bright images."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 240)
    images = rng.random((240, 8, 8)) * 0.2 + 0.7 * y[:, None, None]
    return ((images * 255).round() if dtype == "uint8" else images).astype(dtype), y


@pytest.mark.parametrize(("one", "other"), [("uint8", "float32"), ("float32", "uint8")])
def test_bytes_and_fractions_are_the_same_image_also_in_the_validation_split(one: str, other: str) -> None:
    (train, y), (validation_images, _) = lights(one), lights(other)
    clf = NeuID3Classifier(**QUICK).fit({"image": train}, y, validation=({"image": validation_images}, y))
    assert clf.score({"image": train}, y) > 0.9
    assert clf.score({"image": validation_images}, y) > 0.9


@pytest.mark.parametrize("dtype", ["float64", ">f4", "longdouble"])
@pytest.mark.parametrize("shape", [(8, 8), (1, 64), (64, 1)])
def test_tensors_of_any_float_and_of_any_side_are_learned(dtype: str, shape: tuple[int, int]) -> None:
    images, y = lights(dtype)
    X = {"image": images.reshape(-1, *shape)}
    assert NeuID3Classifier(**QUICK).fit(X, y).score(X, y) > 0.9


def test_a_tree_may_grow_deeper_than_pythons_stack() -> None:
    X, y = pd.DataFrame({"id": np.arange(1200)}), np.arange(1200) % 2
    with pytest.warns(UserWarning, match="single leaf"):
        assert NeuID3Classifier(pruning=0.75).fit(X, y).tree_.depth == 0, "grown to its depth, and pruned"


def test_a_fraction_that_holds_out_no_row_is_warned_of() -> None:
    images, y = lights()
    with pytest.warns(UserWarning, match=r"validation_fraction=0\.001 keeps no example for validation"):
        NeuID3Classifier(random_state=0, training=replace(SHORT, validation_fraction=0.001)).fit({"image": images}, y)


def test_a_warning_says_why_a_tree_is_a_single_leaf_unless_one_was_requested(recwarn: pytest.WarningsRecorder) -> None:
    X, y = {"fact": np.arange(40) % 2 == 0}, np.arange(40) % 4 < 2
    NeuID3Classifier(max_depth=0).fit(X, y)
    assert not recwarn
    NeuID3Classifier(time_limit=0).fit(X, y)
    assert ["time_limit" in str(warning.message) for warning in recwarn] == [True]
    with pytest.warns(UserWarning, match="single leaf. Their gains are below the penalty of a split"):
        NeuID3Classifier().fit(X, y)
    with pytest.warns(UserWarning, match="single leaf. Networks may need more epochs"):
        NeuID3Classifier(training=TrainingConfig(epochs=1, restarts=1)).fit(
            {"image": np.zeros((40, 8, 8), dtype="float32")}, y
        )


def renamed(labels: tuple[str, str]) -> tuple[dict[str, Any], Any]:
    """A table whose one column is the class; the names of the classes are given."""
    holds = np.arange(40) % 2 == 0
    return {"holds": holds}, np.where(holds, labels[1], labels[0])


def test_during_a_refit_the_classifier_predicts_as_before() -> None:
    X, y = renamed(("a", "b"))
    clf = NeuID3Classifier(random_state=0).fit(X, y)
    tree, seen = clf.tree_, []

    def network() -> torch.nn.Module:
        seen.append((clf.predict(X) == y).all() and clf.tree_ is tree and clf.classes_.tolist() == ["a", "b"])
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 1), torch.nn.Sigmoid())

    images = {"image": np.random.default_rng(0).random((40, 2, 2)), **X}
    clf.set_params(
        background="nn(eye, [I]) :: bright(I).", networks={"eye": network}, training__epochs=1, training__restarts=1
    )
    swapped = np.where(y == "a", "d", "c")
    clf.fit(images, swapped)
    assert seen
    assert all(seen)
    assert (clf.predict(images) == swapped).all()


def test_parameters_set_during_a_fit_are_those_of_the_next() -> None:
    X, y = renamed(("a", "b"))
    X["image"] = np.random.default_rng(0).random((40, 2, 2))

    def network() -> torch.nn.Module:
        clf.set_params(max_depth=0, class_weight="balanced")
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 1), torch.nn.Sigmoid())

    eye = {"background": "nn(eye, [I]) :: bright(I).", "networks": {"eye": network}}
    clf = NeuID3Classifier(**eye, random_state=0, training=TrainingConfig(epochs=1, restarts=1))
    assert len(clf.fit(X, y).tree_.tests) == 1
    assert not hasattr(clf, "class_weights_")
    assert not clf.fit(X, y).tree_.tests
    assert hasattr(clf, "class_weights_")


@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_more_classes_are_learned_as_well_as_by_scikit_learns_tree(load: object) -> None:
    X, y = load(return_X_y=True)
    ours = cross_val_score(NeuID3Classifier(max_depth=6, random_state=0), X, y, cv=3).mean()
    theirs = cross_val_score(
        DecisionTreeClassifier(criterion="entropy", max_depth=6, random_state=0), X, y, cv=3
    ).mean()
    assert ours > theirs - 0.02
