"""NeuID3Classifier: scikit-learn's habits, and what the tree learns."""

from __future__ import annotations

import itertools
import pickle
import re
import threading
import warnings
from collections import UserDict
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from neuid3 import AtomTest, Examples, NeuID3Classifier, NeuID3Error
from neuid3.cli.demo import BACKGROUND, windows
from neuid3.data.priors import Priors
from neuid3.errors import DataError, NetworkError, NodeTestError
from neuid3.io.trained_tests import TrainedTest
from neuid3.learning.candidates import Candidates
from neuid3.learning.grow import OpenNode
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.sample import Instance, Sample
from neuid3.logic.program import Program
from neuid3.networks.defaults import Dense, LeNet
from neuid3.training.config import TrainingConfig
from neuid3.tree.criteria import ClassCriterion, Target

SHORT = TrainingConfig(epochs=6, restarts=2, joint_epochs=2)
QUICK = {"random_state": 0, "training": SHORT}


@pytest.mark.filterwarnings("ignore:No candidate test:UserWarning")
@parametrize_with_checks([NeuID3Classifier()])
def test_scikit_learn_finds_nothing_to_complain_about(estimator: object, check: object) -> None:
    check(estimator)
    assert estimator is not None


def mixed(n: int, seed: int = 0) -> tuple[Examples, np.ndarray]:
    rng = np.random.default_rng(seed)
    age, suit = rng.integers(20, 80, n), rng.choice(["clubs", "hearts", "spades"], n)
    alarm = rng.random(n) < 0.4
    label = np.where((alarm & (suit == "hearts")) | (age > 60), "yes", "no")
    return Examples({"alarm": alarm, "suit": suit, "age": age}), label


def digits_pair(n: int, seed: int = 0) -> tuple[Examples, np.ndarray]:
    X, y = windows(n, np.random.default_rng(seed))
    return X, np.where(y == 1, "holds", "violates")


def test_a_mixed_table_is_learned_and_read() -> None:
    X, y = mixed(500)
    clf = NeuID3Classifier(random_state=0).fit(X, y)
    assert clf.score(*mixed(500, 1)) > 0.98
    assert clf.export_text().splitlines()[0].startswith("age =< 6")
    assert clf.feature_names_in_.tolist() == ["alarm", "suit", "age"]
    assert clf.feature_importances_.sum() == pytest.approx(1.0)
    assert clf.leaf_probabilities(X).shape[1] == len(clf.tree_.leaves)
    assert clf.apply(X).max() < len(clf.tree_.leaves)
    assert clf.model_.verify(X, rows=2) < 1e-9


def test_rules_over_symbols_are_candidates() -> None:
    X, y = mixed(500)
    rule = "risk :- alarm, suit(hearts). risk :- age > 60."
    clf = NeuID3Classifier(background=rule, random_state=0).fit(X, y)
    assert clf.export_text().splitlines()[0].startswith("risk?")
    assert clf.score(X, y) == 1.0


def test_a_repeated_row_equals_a_doubled_weight() -> None:
    X, y = mixed(200)
    rows = np.repeat(np.arange(200), np.where(np.arange(200) % 3 == 0, 2, 1))
    repeated = NeuID3Classifier(random_state=0).fit(X[rows], y[rows])
    weighted = NeuID3Classifier(random_state=0).fit(X, y, sample_weight=np.bincount(rows))
    np.testing.assert_allclose(repeated.predict_proba(X), weighted.predict_proba(X), atol=1e-9)


def test_a_repeated_row_equals_a_doubled_weight_where_entries_are_missing() -> None:
    rng = np.random.default_rng(3)
    n = 240
    table = pd.DataFrame(
        {
            "age": rng.normal(50, 15, n).round(),
            "suit": rng.choice(["hearts", "clubs", "spades"], n),
            "alarm": rng.choice([0.0, 1.0], n),
        }
    )
    y = np.where((table["age"] > 55) ^ (table["suit"] == "clubs"), "yes", "no")
    holes = table.mask(rng.random(table.shape) < 0.15)
    rows = np.repeat(np.arange(n), rng.integers(1, 4, n))
    repeated = NeuID3Classifier(max_depth=4, random_state=0).fit(holes.iloc[rows], y[rows])
    weighted = NeuID3Classifier(max_depth=4, random_state=0).fit(holes, y, sample_weight=np.bincount(rows))
    assert repeated.tree_ == weighted.tree_ or repeated.export_text() == weighted.export_text()
    np.testing.assert_allclose(repeated.predict_proba(holes), weighted.predict_proba(holes), atol=1e-9)


def test_a_rule_over_two_networks_is_tried_through_those_on_its_path() -> None:
    X, y = digits_pair(80)
    program = Program(
        "nn(one, [I], V, [0, 1]) :: a(I, V). nn(two, [I], V, [0, 1]) :: b(I, V). "
        "same(I, J) :- a(I, V), b(J, V). differ(I, J) :- a(I, V), b(J, W), V \\= W.",
        X.schema,
    )
    tests = [AtomTest("same(first, second)"), AtomTest("differ(first, second)")]
    labels = (y == "holds").astype(np.int64)
    sample = Sample(X, Target(labels, np.ones(80), ClassCriterion(2)), np.arange(80) % 4 == 0)
    instances = {f"{name}#1": Instance(LeNet(2, size=8), name, frozenset({"first"}), False) for name in ("one", "two")}
    learner = NodeLearner(
        sample, program, Candidates(tuple(tests), ()), {}, TrainingConfig(), priors=Priors(), penalty=2.0, adaptive=True, seed=0,
        reused=instances,
    )  # fmt: skip
    test = AtomTest("same(first, second)", (("one", "one#1"), ("two", "two#1")))
    node = replace(OpenNode.root(80), path=((test, True),))
    (option,) = learner.neural.ready.scored(node, tests[1])
    assert option.test == AtomTest("differ(first, second)", (("one", "one#1"), ("two", "two#1")))
    assert option.gain == pytest.approx(0.0, abs=1e-9), "what differs is known once it is known what is the same"


def test_missing_entries_are_learned_from_and_predicted_for() -> None:
    X, y = mixed(200)
    holes = Examples(
        {
            "alarm": [None if i % 7 == 0 else bool(v) for i, v in enumerate(X.column("alarm").values)],
            "suit": [None if i % 5 == 0 else X.schema["suit"].values[v] for i, v in enumerate(X.column("suit").values)],
            "age": np.where(np.arange(200) % 11 == 0, np.nan, X.column("age").values),
        }
    )
    clf = NeuID3Classifier(random_state=0).fit(holes, y)
    np.testing.assert_allclose(clf.predict_proba(holes).sum(1), 1.0)
    assert clf.score(X, y) > 0.9


def test_a_split_is_cheap_where_many_tests_tell_as_much() -> None:
    rng = np.random.default_rng(0)
    rare = np.arange(60) < 3
    facts = {f"noise_{i}": rng.random(60) < 0.5 for i in range(60)}
    labels = np.where(rare, "rare", "common")
    alone = NeuID3Classifier(pruning=4.0).fit(Examples({"fact": rare, **facts}), labels)
    many = NeuID3Classifier(pruning=4.0).fit(Examples({**{f"fact_{i}": rare for i in range(10)}, **facts}), labels)
    assert len(alone.tree_.leaves) == 1
    assert str(many.tree_.root.test) == "fact_0"
    assert len(many.tree_.leaves) == 2


def test_clone_pipeline_and_grid_search_take_examples() -> None:
    X, y = mixed(200)
    search = GridSearchCV(
        make_pipeline(FunctionTransformer(), NeuID3Classifier(random_state=0)),
        {"neuid3classifier__max_depth": [1, 3]},
        cv=3,
    ).fit(X, y)
    assert search.best_params_ == {"neuid3classifier__max_depth": 3}
    assert clone(search.best_estimator_[-1]).max_depth == 3
    assert cross_val_score(NeuID3Classifier(random_state=0), X, y, cv=3).mean() > 0.9


def test_ready_modules_count_as_trained() -> None:
    X, y = digits_pair(100)
    ready = Dense(8, [64])
    clf = NeuID3Classifier(
        background=BACKGROUND,
        networks={"rank_net": ready},
        tests=["gt_rank(first, second)", "joker"],
        pruning=0.0,
        **QUICK,
    ).fit(X, y)
    assert clf.gradient_steps_ == 0


def test_a_network_that_returns_nan_is_dropped_with_a_warning_and_the_fit_goes_on() -> None:
    class Broken(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.scale * torch.full((len(x), 8), float("nan"))

    X, y = digits_pair(200)
    with pytest.warns(UserWarning, match=r"gt_rank\(first, second\)' was dropped.*NaN"):
        clf = NeuID3Classifier(
            background=BACKGROUND,
            networks={"rank_net": Broken},
            tests=["gt_rank(first, second)", "joker"],
            pruning=0.0,
            **QUICK,
        ).fit(X, y)
    assert "joker" in clf.export_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": ["yes"] * 50}, "one class only"),
        ({"y": [0.0, np.inf] * 25}, "Input y contains infinity"),
        ({"y": ["yes", None] * 25}, "NaN"),
        ({"y": ["yes"] * 49}, "inconsistent numbers of samples"),
        ({"max_depth": -1}, "The 'max_depth' parameter of NeuID3Classifier must be"),
        ({"training": "papr"}, "training='papr' is not a way to train networks; give 'default', 'paper'"),
        ({"tests": ["alarn"]}, "alarm"),
        ({"tests": []}, "tests='auto'"),
        ({"tests": [3]}, "give an atom"),
        ({"networks": {"net": torch.nn.Linear}}, "never uses it"),
        ({"pos_label": "maybe"}, "not a class of y"),
    ],
)
def test_bad_input_is_reported_in_one_sentence(change: dict[str, object], message: str) -> None:
    X, y = mixed(50)
    y = change.pop("y", y)
    with pytest.raises(NeuID3Error, match=message) as raised:
        NeuID3Classifier(**change).fit(X, y)
    assert isinstance(raised.value, ValueError)


def test_columns_at_prediction_must_be_those_of_fit() -> None:
    X, y = mixed(100)
    clf = NeuID3Classifier(random_state=0).fit(X, y)
    with pytest.raises(NeuID3Error, match="'age' is needed"):
        clf.predict(X.select(["alarm", "suit"]))
    with pytest.raises(NeuID3Error, match="'age'"):
        clf.predict({"alarm": [True], "suit": ["clubs"], "age": ["old"]})
    frame = pd.DataFrame({"suit": ["hearts"], "age": [30], "alarm": [True], "more": [1]})
    assert clf.predict(frame) == ["yes"]


@pytest.mark.filterwarnings("ignore:No candidate test:UserWarning")
def test_a_constant_column_is_skipped_and_useless_tests_make_a_leaf() -> None:
    X = Examples({"same": [True] * 40, "coin": [True, False] * 20})
    y = np.array([0, 0, 1, 1] * 10)
    with pytest.warns(UserWarning, match="'same' is constant"):
        NeuID3Classifier(tests=["same", "coin"]).fit(X, y)
    with pytest.warns(UserWarning, match="single leaf"):
        clf = NeuID3Classifier().fit(X, y)
    assert clf.predict_proba(X)[0] == pytest.approx([0.5, 0.5])


def test_before_fit_nothing_is_predicted() -> None:
    with pytest.raises(NotFittedError):
        NeuID3Classifier().predict([[1.0]])


def test_a_fit_whose_time_is_up_is_a_whole_tree_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = {f"x{i}": rng.normal(size=400) for i in range(3)}
    y = ((X["x0"] > 0) ^ (X["x1"] > 0.5) ^ (X["x2"] > -0.3)).astype(int)
    whole = NeuID3Classifier(random_state=0, pruning=0.0).fit(X, y)
    moments = itertools.count()
    monkeypatch.setattr("neuid3.estimators.base.time.monotonic", lambda: float(next(moments)))
    with pytest.warns(UserWarning, match=r"time_limit=2\.5 was reached: \d+ nodes were not split further"):
        stopped = NeuID3Classifier(random_state=0, pruning=0.0, time_limit=2.5).fit(X, y)
    assert 1 <= len(stopped.tree_.tests) < len(whole.tree_.tests)
    assert stopped.tree_.root.test == whole.tree_.root.test
    np.testing.assert_allclose(stopped.predict_proba(X).sum(axis=1), 1.0)


def test_an_interrupted_fit_leaves_everything_as_it_was() -> None:
    class Interrupting(Dense):
        calls = 0

        def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
            type(self).calls += 1
            if type(self).calls > 5:
                raise KeyboardInterrupt
            return super().forward(*inputs)

    X, y = digits_pair(150)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    clf = NeuID3Classifier(
        background=BACKGROUND,
        networks={"rank_net": lambda: Interrupting(8, [64])},
        tests=["gt_rank(first, second)"],
        **QUICK,
    )
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    with pytest.raises(NotFittedError):
        clf.predict(X)


@pytest.mark.parametrize("holes", [False, True])
def test_a_trained_network_is_called_once_for_every_example(holes: bool) -> None:
    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            shown.extend(x[:, 0].tolist())
            return torch.sigmoid(4 * (x[:, :1] - 50) / 50)

    shown: list[float] = []
    numbers = np.arange(100, dtype=np.float32)
    images = np.stack([numbers, numbers], 1)
    if holes:
        images[::10] = np.nan
    X = Examples({"image": images, "alarm": numbers % 3 == 0}, kinds={"image": "tensor"})
    y = ((numbers > 50) & (numbers % 3 == 0)).astype(int)
    clf = NeuID3Classifier(
        background="nn(n, [X]) :: high(X).",
        networks={"n": Counting()},
        tests=["high(image)", "alarm"],
        pruning=0.0,
        max_depth=3,
        random_state=0,
    )
    clf.fit(X, y)
    assert sorted(shown) == [number for number in numbers.tolist() if not (holes and number % 10 == 0)]


def test_a_cut_is_not_repeated_where_numbers_are_missing() -> None:
    rng = np.random.default_rng(0)
    age = np.where(rng.random(400) < 0.4, np.nan, rng.integers(20, 80, 400))
    c = rng.random(400) < 0.5
    y = np.where(np.nan_to_num(age, nan=40) > 50, 1, np.where(c, 1, 0))
    clf = NeuID3Classifier(min_mass=0.0, random_state=0).fit({"age": age, "c": c}, y)
    assert clf.score({"age": age, "c": c}, y) > 0.9


def test_the_callers_module_is_left_alone() -> None:
    X, y = digits_pair(100)
    mine = Dense(8, [64]).train()
    NeuID3Classifier(
        background=BACKGROUND,
        networks={"rank_net": mine},
        tests=["gt_rank(first, second)", "joker"],
        pruning=0.0,
        **QUICK,
    ).fit(X, y)
    assert mine.training


def test_reused_tests_that_shared_a_network_share_it_again() -> None:
    X, y = digits_pair(200)
    shared = Dense(8, [64])
    tests = [
        TrainedTest(AtomTest(atom), {"rank_net": shared})
        for atom in ("gt_rank(first, second)", "gt_rank(second, first)")
    ]
    clf = NeuID3Classifier(background=BACKGROUND, tests=tests, max_depth=2, pruning=0.0, min_gain=0.0, random_state=0)
    assert set(clone(clf).fit(X, y).networks_) == {"rank_net@0"}


# Odd data -------------------------------------------------------------------------------------------
def lights(dtype: str = "float32") -> tuple[Any, Any]:
    """Dark and bright images."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 240)
    images = rng.random((240, 8, 8)) * 0.2 + 0.7 * y[:, None, None]
    return ((images * 255).round() if dtype == "uint8" else images).astype(dtype), y


@pytest.mark.parametrize("kind", ["boolean", "probability", "category"])
def test_a_column_without_entries_gets_no_test(kind: str) -> None:
    fact = np.arange(40) % 2 == 0
    empty = pd.Categorical([None] * 40, categories=["u", "v"]) if kind == "category" else [None] * 40
    X = Examples({"fact": fact, "empty": empty}, kinds={} if kind == "category" else {"empty": kind})
    assert [str(test) for test in NeuID3Classifier().fit(X, fact).tree_.tests] == ["fact"]


def test_a_rule_may_speak_of_a_column_without_a_single_entry() -> None:
    fact = np.arange(40) % 2 == 0
    X = Examples({"fact": fact, "empty": [None] * 40}, kinds={"empty": "boolean"})
    clf = NeuID3Classifier(background="both :- fact, empty.", tests=["both"], pruning=0.0).fit(X, fact)
    assert [str(test) for test in clf.tree_.tests] == ["both"]


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_class_weights_are_numbers_from_0_on(weight: float) -> None:
    with pytest.raises(DataError, match="class_weight="):
        NeuID3Classifier(class_weight={0: weight, 1: 1.0}).fit({"x": [True, False] * 10}, [0, 1] * 10)


@pytest.mark.parametrize("mode", ["boht", "both(fact)", "both(+fact)"])
def test_a_mode_that_gives_no_test_is_reported(mode: str) -> None:
    X = {"fact": np.arange(40) % 2 == 0, "other": np.arange(40) % 3 == 0}
    with pytest.raises(NodeTestError, match=r"gives no test: the background knowledge has no bo\w+/[01]"):
        NeuID3Classifier(background="both :- fact, other.", tests=["fact"], modes=[mode]).fit(X, X["fact"])


def test_a_device_that_cannot_be_used_is_named() -> None:
    images, y = lights()
    for device in ("meta", "no_device"):
        with pytest.raises(NetworkError, match=f"device='{device}'"):
            NeuID3Classifier(random_state=0, training=replace(SHORT, device=device)).fit({"image": images}, y)
        with pytest.raises(NetworkError, match=f"device='{device}'"):
            NeuID3Classifier(training=TrainingConfig(device=device)).fit({"fact": y}, y)


def test_labels_with_holes_of_any_kind_are_refused() -> None:
    with pytest.raises(DataError, match="Input y contains NaN"):
        NeuID3Classifier().fit({"x": [True, False] * 2}, pd.Series(["a", pd.NA] * 2, dtype="string"))
    with pytest.raises(DataError, match="Input y contains NaN"):
        NeuID3Classifier().fit({"x": [True, False] * 2}, np.array([["a"], [None]] * 2, dtype=object))


def renamed(labels: tuple[str, str]) -> tuple[dict[str, Any], Any]:
    """A table whose one column is the class; the names of the classes are given."""
    holds = np.arange(40) % 2 == 0
    return {"holds": holds}, np.where(holds, labels[1], labels[0])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply", "leaf_probabilities"])
def test_a_prediction_is_of_one_fit_also_where_a_refit_ends_meanwhile(method: str) -> None:
    X, y = renamed(("a", "b"))
    clf = NeuID3Classifier(random_state=0).fit(X, y)
    expected = getattr(clf, method)(X)

    class Refitting(UserDict[str, Any]):
        """A table that is read while another thread ends a fit."""

        def __getitem__(self, name: str) -> Any:
            clf.fit({"other": ~X["holds"]}, np.where(X["holds"], "c", "d"))
            return super().__getitem__(name)

    assert (getattr(clf, method)(Refitting(X)) == expected).all()
    assert clf.classes_.tolist() == ["c", "d"]


def test_readers_in_other_threads_see_whole_fits() -> None:
    tables = [renamed(("a", "b")), renamed(("d", "c"))]  # in the second, sorting exchanges the classes
    clf = NeuID3Classifier(random_state=0).fit(*tables[0])
    allowed = [y.tolist() for _, y in tables]
    ended, wrong = threading.Event(), []

    def read() -> None:
        while not ended.is_set():
            predicted = clf.predict(tables[0][0]).tolist()
            if predicted not in allowed:
                wrong.append(predicted)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(20):
        clf.fit(*tables[turn % 2])
    ended.set()
    for reader in readers:
        reader.join()
    assert not wrong


def test_a_failed_refit_leaves_the_old_fit() -> None:
    X, y = renamed(("a", "b"))
    clf = NeuID3Classifier(random_state=0, class_weight="balanced").fit(X, y)
    before = dict(vars(clf))
    with pytest.raises(NeuID3Error):
        clf.fit({"other": X["holds"]}, np.full(40, np.nan))
    assert vars(clf) == before


def test_what_only_the_last_fit_learned_does_not_outlive_it() -> None:
    X, y = renamed(("a", "b"))
    clf = NeuID3Classifier(random_state=0, class_weight="balanced").fit(X, y)
    clf.set_params(class_weight=None).fit(X["holds"][:, None], y)
    assert not hasattr(clf, "class_weights_")
    assert not hasattr(clf, "feature_names_in_")


class Named(NeuID3Classifier):
    """A classifier that learns something before its tree."""

    def fit(self, X: Any, y: Any, **more: Any) -> NeuID3Classifier:
        self.name_, self._seen = "mine", len(y)
        return super().fit(X, y, **more)


def test_a_subclass_keeps_what_it_set_before_fit() -> None:
    X, y = renamed(("a", "b"))
    clf = pickle.loads(pickle.dumps(Named(random_state=0).fit(X, y)))
    assert (clf.name_, clf._seen) == ("mine", 40)
    assert (clf.predict(X) == y).all()


def test_the_tree_is_measured_by_scikit_learns_names() -> None:
    X, y = mixed(300)
    clf = NeuID3Classifier(random_state=0).fit(X, y)
    assert clf.get_depth() == clf.tree_.depth > 0
    assert clf.get_n_leaves() == clf.leaf_probabilities(X).shape[1]
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(clf.predict_log_proba(X), np.log(clf.predict_proba(X)))
    for ask in (NeuID3Classifier().get_depth, NeuID3Classifier().get_n_leaves):
        with pytest.raises(NotFittedError):
            ask()


def test_a_sparse_matrix_is_learned_as_its_dense_array() -> None:
    rng = np.random.default_rng(0)
    dense = (rng.random((200, 30)) < 0.3).astype(float)
    for table in (dense, dense * rng.normal(size=dense.shape)):
        y = np.where((table[:, 2] != 0) | (table[:, 5] > 0), "yes", "no")
        plain = NeuID3Classifier(random_state=0).fit(table, y)
        sparse = NeuID3Classifier(random_state=0).fit(csr_matrix(table), y)
        assert sparse.tree_ == plain.tree_
        for form in ("csr", "coo", "dok"):
            np.testing.assert_array_equal(
                sparse.predict_proba(csr_matrix(table).asformat(form)), plain.predict_proba(table)
            )


def test_weights_beyond_all_numbers_are_named() -> None:
    X, y = {"x": [True, False] * 10}, [0, 1] * 10
    for class_weight, weight in (({0: 1e308, 1: 1e308}, 1.0), (None, 1e308)):
        with pytest.raises(DataError, match=r"weights of the examples sum to inf, .*divide sample_weight and class_w"):
            NeuID3Classifier(class_weight=class_weight).fit(X, y, sample_weight=np.full(20, weight))
    with pytest.raises(DataError, match="Every example has weight 0"):
        NeuID3Classifier(class_weight={0: 0.0, 1: 0.0}).fit(X, y)
    large = NeuID3Classifier().fit(X, y, sample_weight=np.full(20, 1e95))
    assert (large.predict(X) == y).all()


def test_a_target_of_quantities_is_told_of_the_regressor() -> None:
    rng = np.random.default_rng(0)
    table = rng.random((200, 3))
    for X in (table, pd.DataFrame(table, columns=list("abc"))):
        with pytest.raises(DataError, match=r"Unknown label type: continuous.*use NeuID3Regressor.*cut the quantity"):
            NeuID3Classifier().fit(X, rng.normal(size=200))
        with pytest.warns(UserWarning, match="60 different numbers in 200 rows.*use NeuID3Regressor"):
            NeuID3Classifier(max_depth=1).fit(X, np.arange(200) % 60)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            NeuID3Classifier(max_depth=1).fit(X, np.where(table[:, 0] > 0.5, 3, 7))


def notes(n: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    alarm = np.arange(n) % 2 == 0
    return pd.DataFrame({"note": [f"patient {i}" for i in range(n)], "alarm": alarm}), alarm


def test_names_of_rows_are_left_out_with_a_warning_unless_it_is_declared_or_named() -> None:
    X, y = notes()
    with pytest.warns(UserWarning, match=r"Column 'note' is text .*kinds=\{'note': 'category'\}"):
        clf = NeuID3Classifier().fit(X, y)
    assert list(clf.schema_) == clf.feature_names_in_.tolist() == ["alarm"]
    assert len(clf.feature_importances_) == clf.n_features_in_ == 1
    assert (clf.predict(X) == y).all()  # the column may be there
    assert (clf.predict(X[["alarm"]]) == y).all()  # or not
    assert (clf.predict(Examples(X)) == y).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(NeuID3Classifier().fit(Examples(X, kinds={"note": "category"}), y).schema_) == ["note", "alarm"]
        assert list(NeuID3Classifier().fit(Examples(X, kinds={"note": "ignore"}), y).schema_) == ["alarm"]
    with pytest.warns(UserWarning, match="The category 'note' has 60 values in 60 rows"):
        named = NeuID3Classifier(background="first :- note('patient 0').").fit(X, y)
    assert list(named.schema_) == ["note", "alarm"]
    with pytest.warns(
        UserWarning, match=r"'note' holds numbers that are written as text, such as '0\.5'.*convert it to"
    ):
        NeuID3Classifier().fit(X.assign(note=[f"{i}.5" for i in range(60)]), y)
    days = [str(day.date()) for day in pd.date_range("2024-01-01", periods=60)]
    with pytest.warns(UserWarning, match=r"'note' holds dates, except for 'soon', and is left out; correct that entry"):
        NeuID3Classifier().fit(X.assign(note=[*days[:-1], "soon"]), y)
    with pytest.raises(DataError, match="no column to learn from: 'note'"), pytest.warns(UserWarning, match="left out"):
        NeuID3Classifier().fit(X[["note"]], y)


def test_a_category_with_nearly_as_many_values_as_rows_is_warned_of() -> None:
    X, y = notes(16)
    assert "note" in Examples(X).names
    with pytest.warns(UserWarning, match=r"The category 'note' has 16 values in 16 rows.*leave it out, or declare it"):
        NeuID3Classifier().fit(X, y)
    many, y = notes()
    with pytest.warns(UserWarning, match="The category 'note' has 60 values in 60 rows"):
        NeuID3Classifier().fit(many.astype({"note": "category"}), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NeuID3Classifier().fit(Examples(many, kinds={"note": "category"}), y)
        NeuID3Classifier().fit(many.assign(note=["a", "b", "c"] * 20), y)


def test_names_of_image_files_are_not_learned_as_categories() -> None:
    X = pd.DataFrame({"plate": [f"img/p{i}.png" for i in range(40)]})
    with pytest.raises(DataError, match="'plate' names image files such as 'img/p0"):
        NeuID3Classifier().fit(X, np.arange(40) % 2)


def test_nodes_are_numbered_without_gaps_in_the_progress_log(capfd: object) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((400, 8))
    NeuID3Classifier(verbose=1, pruning=0.0, random_state=0).fit(X, (X.sum(axis=1) > 4).astype(int))
    lines = re.findall(r"^nodes? (\d+)(?: to (\d+), the last)? \(", capfd.readouterr()[1], flags=re.MULTILINE)
    numbers = [range(int(first), int(last or first) + 1) for first, last in lines]
    assert lines[0] == ("1", "")
    assert len(numbers) > 1
    assert [n for text in numbers for n in text] == list(range(1, numbers[-1][-1] + 1))


def test_what_rules_were_tried_as_is_reported(capfd: object) -> None:
    images, y = lights()
    rules = "nn(net, [I]) :: lit(I).\nboth(A, B) :- lit(A), lit(B)."
    X = {"left": images, "right": images, "fact": y}
    clf = NeuID3Classifier(background=rules, max_depth=0, verbose=1, **QUICK).fit(X, y)
    wanted = ["lit(left)", "lit(right)", "both(left, right)", "both(right, left)"]
    assert clf.rule_tests_ == [*wanted, "left_net(left)", "right_net(right)"]
    assert f"rules and networks are tried as {', '.join(wanted)}" in capfd.readouterr()[1]
