"""Does one network learn to read many columns, and is it believed only where it may be?"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from small_data import pictures

from neuid3 import Examples, NeuID3Classifier
from neuid3.circuits.reach import Reach
from neuid3.data.priors import Priors
from neuid3.errors import DataError
from neuid3.learning.candidates import Candidates
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.sample import Instance, Sample
from neuid3.learning.shared_networks import SharedNetworkTask
from neuid3.logic.program import Program
from neuid3.networks.defaults import default_network
from neuid3.training.config import TrainingConfig
from neuid3.training.task import TrainingResult
from neuid3.tree.criteria import gain_of, gain_of_tests
from neuid3.tree.node_tests import AtomTest
from neuid3.tree.tree import Branch, Node


def weak(n: int, seed: int, tells: float = 0.6, columns: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Zeros and ones of which every column tells a little about the class, every other one the other way round."""
    rng = np.random.default_rng(seed)
    symbols = rng.random((n, columns)) < 0.5
    signs = np.where(np.arange(columns) % 2, 1.0, -1.0)
    odds = tells * ((2.0 * symbols - 1.0) * signs).sum(1)
    return symbols, rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * odds))


def drawn(n: int, seed: int, tells: float = 0.6) -> tuple[dict[str, np.ndarray], np.ndarray]:
    symbols, y = weak(n, seed, tells)
    return pictures(symbols, seed), y


def networks_in(node: Node) -> set[str]:
    if not isinstance(node, Branch):
        return set()
    named = dict(node.test.instances).values() if isinstance(node.test, AtomTest) else ()
    return {*named, *networks_in(node.yes), *networks_in(node.no)}


def learner_of(columns: dict[str, np.ndarray], y: np.ndarray, **options: object) -> NodeLearner:
    X = Examples(columns)
    background = "\n".join(f"nn({name}_net, [I]) :: {name}_on(I)." for name in columns)
    tests = tuple(AtomTest(f"{name}_on({name})") for name in columns)
    sample = Sample(X, y.astype(np.int64), np.ones(len(y)), np.arange(len(y)) % 4 == 0, int(y.max()) + 1, 1)
    made = {"priors": Priors(), "price": 2.0, "adaptive": True, "together": True, "seed": 0, **options}
    return NodeLearner(sample, Program(background, X.schema), Candidates(tests, ()), {}, TrainingConfig(), **made)


def readings_of(learner: NodeLearner) -> list[SharedNetworkTask]:
    return list(learner.neural.readers.readings(learner.neural.tests))


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(2, 4))
def test_the_average_gain_is_that_of_tests_one_by_one(seed: int, tests: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    n = 40
    which, labels, weights = rng.integers(0, tests, n), rng.integers(0, classes, n), rng.random(n)
    answers = rng.random(n)
    sides = np.zeros((2 * tests, n))
    sides[2 * which, np.arange(n)], sides[2 * which + 1, np.arange(n)] = answers, 1.0 - answers
    alone = sum(
        weights[which == j].sum() * gain_of(answers[which == j], weights[which == j], labels[which == j], classes)
        for j in range(tests)
    )
    assert gain_of_tests(sides, weights, labels, classes) == pytest.approx(alone / weights.sum(), abs=1e-12)


def test_each_half_of_the_columns_teaches_once_and_judges_once() -> None:
    columns, y = drawn(60, 0)
    one, other = readings_of(learner_of(columns, y))
    assert one.columns | other.columns == set(columns)
    assert not one.columns & other.columns
    for reading in (one, other):
        task = reading.task
        assert len(task.labels) == 45 * 4 + 60 * 4, "of the columns that teach only rows that are not kept apart"
        assert int((~task.unseen).sum()) == 45 * 4
        shown = np.asarray(task.columns["image"])
        teaching = sorted(reading.columns)
        np.testing.assert_array_equal(shown[:45], columns[teaching[0]][np.arange(60) % 4 != 0])
        np.testing.assert_array_equal(shown[-60:], columns[max(set(columns) - reading.columns)])


def test_an_example_takes_the_paths_of_its_column_only() -> None:
    columns, y = drawn(40, 0)
    task = readings_of(learner_of(columns, y))[0].task
    (network,) = task.outputs
    says = np.random.default_rng(0).random(len(task.labels))

    class Told:
        def __len__(self) -> int:
            return len(says)

        def weights(self, variable: object) -> torch.Tensor:
            return torch.tensor(
                np.stack((1 - says, says)) if variable == network else task.fixed_weights[variable]
            ).double()

    reached = Reach(task.paths)(Told()).numpy()
    (which,) = task.fixed_weights.values()
    for j, here in enumerate(which.astype(bool)):
        np.testing.assert_allclose(reached[here][:, [2 * j, 2 * j + 1]], np.stack((says, 1 - says), 1)[here])
        assert not np.delete(reached[here], [2 * j, 2 * j + 1], axis=1).any()


@pytest.mark.parametrize("gain", [0.0, 0.001, 0.01, 0.02, 0.1])
@pytest.mark.parametrize("classes", [2, 3])
def test_chance_is_that_of_the_chi_squared_distribution(gain: float, classes: int) -> None:
    columns, y = drawn(80, 0)
    reading = readings_of(learner_of(columns, (y + np.arange(80)) % classes))[0]
    judges = 80 * 4
    expected = chi2.sf(2 * np.log(2) * gain * judges, 4 * (classes - 1))
    net = next(iter(reading.task.initial_networks[0].values()))
    kept = reading.reader(TrainingResult({reading.name: net}, np.zeros((0, classes)), gain, 1))
    assert bool(kept) == (expected < 1e-3)
    assert not reading.reader(None)


def test_what_no_column_tells_by_itself_is_read_by_one_network_of_all() -> None:
    symbols, y = weak(300, 0, tells=0.25, columns=16)
    clf = NeuID3Classifier(read_together=True, max_depth=3, epochs=20, joint_epochs=0, random_state=0).fit(
        Examples(pictures(symbols, 0)), y
    )
    assert 1 <= len(networks_in(clf.tree_.root)) <= 2, "readers of either half, and nobody else"
    fresh, truth = weak(2000, 1, tells=0.25, columns=16)
    assert clf.score(Examples(pictures(fresh, 1)), truth) > 0.56  # a network for each column learns nothing: .5


def test_with_labels_that_mean_nothing_nobody_learns_to_read() -> None:
    columns, _ = drawn(120, 0)
    y = np.random.default_rng(7).random(120) < 0.5
    with pytest.warns(UserWarning, match="single leaf"):
        clf = NeuID3Classifier(read_together=True, max_depth=3, epochs=15, random_state=0).fit(Examples(columns), y)
    assert not clf.networks_


def test_images_of_another_kind_get_a_network_of_their_own() -> None:
    columns, y = drawn(300, 0)
    rng = np.random.default_rng(3)
    stripes = np.where((np.arange(8) % 2).astype(bool), 1.0, 0.0)
    upright = y ^ (rng.random(300) < 0.05)
    fields = np.where(upright[:, None, None], stripes[None, None, :], stripes[None, :, None])
    columns["other"] = np.clip(fields + rng.normal(0, 0.3, (300, 8, 8)), 0, 1).astype("float32")
    clf = NeuID3Classifier(read_together=True, max_depth=1, joint_epochs=0, random_state=0).fit(Examples(columns), y)
    assert str(clf.tree_.root.test) == "other_net(other)"
    assert clf.tree_.root.gain > 0.5


def test_nobody_reads_together_unasked() -> None:
    columns, y = drawn(60, 0)
    assert not readings_of(learner_of(columns, y, together=False))


@pytest.mark.parametrize("other", [{"recipe": "paper"}, {"warm_starts": False}])
def test_what_cannot_be_had_together_is_named_before_anything_is_written(
    other: dict[str, object], tmp_path: Path
) -> None:
    columns, y = drawn(60, 0)
    with pytest.raises(DataError, match=r"read_together=True .* leave one of them out"):
        NeuID3Classifier(read_together=True, **other).fit(Examples(columns), y, checkpoint=tmp_path)
    assert not list(tmp_path.iterdir())


def test_fewer_than_four_columns_share_nothing() -> None:
    columns, y = drawn(60, 0)
    assert not readings_of(learner_of({name: columns[name] for name in ("c0", "c1", "c2")}, y))


def test_missing_images_neither_teach_nor_judge() -> None:
    columns, y = drawn(60, 0)
    columns["c3"][::3] = np.nan
    sizes = {len(reading.task.labels) for reading in readings_of(learner_of(columns, y))}
    assert sizes == {45 * 4 + 60 * 4 - 15, 45 * 4 + 60 * 4 - 20}


def test_a_fit_that_was_stopped_below_its_readers_goes_on_to_the_same_tree(tmp_path: Path) -> None:
    columns, y = drawn(300, 0)
    X = Examples(columns)

    def fit(folder: Path, jobs: int) -> NeuID3Classifier:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return NeuID3Classifier(read_together=True, max_depth=3, epochs=15, random_state=0, n_jobs=jobs).fit(
                X, y, checkpoint=folder
            )

    whole = fit(tmp_path, 2)
    nodes = sorted(tmp_path.glob("node-*.neuid3"))
    assert len(nodes) > 2
    for path in (*nodes[2:], tmp_path / "tree.neuid3"):
        path.unlink()
    again = fit(tmp_path, 1)
    assert again.export_text() == whole.export_text()
    np.testing.assert_array_equal(again.predict_proba(X), whole.predict_proba(X))


# What readers are believed ------------------------------------------------------------------------


def reader_of(columns: dict[str, np.ndarray], read: set[str], name: str) -> tuple[str, Instance]:
    """A network with random weights that is said to have learned from these columns."""
    torch.manual_seed(len(name))
    return f"{name}_net#1", Instance(
        default_network([columns[name].shape[1:]], 1), f"{name}_net", frozenset(read), False, True
    )


def test_a_reader_is_asked_about_columns_it_did_not_learn_from_and_counted_like_a_fact() -> None:
    columns, y = drawn(80, 0)
    halves = {"c0", "c1", "c2", "c3"}, {"c4", "c5", "c6", "c7"}
    readers = dict([reader_of(columns, halves[0], "c0"), reader_of(columns, halves[1], "c4")])
    learner = learner_of(columns, y, reused=readers)
    for test in learner.neural.tests:
        stranger = "c4_net#1" if str(test)[:2] in halves[0] else "c0_net#1"
        (option,) = learner.neural.ready.options(learner.root, test)
        assert dict(option.test.instances) == {f"{str(test)[:2]}_net": stranger}
        assert not option.vouched
        answers = learner.exact.conditional((), option.test)
        assert option.gain == pytest.approx(gain_of(answers, np.ones(80), y.astype(int), 2)), "all examples count"
        assert option.bits == pytest.approx(80 * option.gain)
        assert option.blur * 80 == pytest.approx(0.5), "half a bit less is as good"
        unseen = np.arange(80) % 4 == 0
        assert learner.neural.ready.gain_on_unseen(learner.root, option.test) == pytest.approx(
            gain_of(answers[unseen], np.ones(20), y[unseen].astype(int), 2)
        )


def test_without_another_reader_one_is_judged_by_unseen_examples_about_its_own_columns() -> None:
    columns, y = drawn(80, 0)
    learner = learner_of(columns, y, reused=dict([reader_of(columns, {"c0", "c1", "c2", "c3"}, "c0")]))
    own, strange = (next(learner.neural.ready.options(learner.root, learner.neural.tests[i])) for i in (1, 5))
    assert own.vouched
    assert not strange.vouched
    assert own.bits == pytest.approx(20 * own.gain)


def test_a_column_that_sends_all_examples_one_way_is_no_option() -> None:
    columns, y = drawn(80, 0)
    readers = dict([reader_of(columns, {"c0", "c1", "c2", "c3"}, "c0")])
    learner = learner_of(columns, y, reused=readers, least=41.0)
    assert not list(learner.neural.ready.options(learner.root, learner.neural.tests[5])), "neither side has 41 of 80"


def test_a_network_of_its_own_must_tell_more_than_a_reader_on_the_same_examples() -> None:
    columns, y = drawn(80, 0)
    learner = learner_of(columns, y, reused=dict([reader_of(columns, {"c0"}, "c0")]))
    neural, place = learner.neural, learner.root
    ready = {test: list(neural.ready.options(place, test)) for test in neural.tests}
    test = neural.tests[5]
    ready[test][0].bits = 100.0  # as if it told a lot
    beaten = neural._worth_training(place, ready)
    assert beaten[test] == neural.ready.gain_on_unseen(place, ready[test][0].test)
    assert all(gain == 0.0 for other, gain in beaten.items() if other != test)
    below = replace(place, path=((AtomTest("c6_on(c6)", (("c6_net", "c0_net#1"),)), True),))
    assert not neural._worth_training(below, ready), "below the root, readers are good enough"
