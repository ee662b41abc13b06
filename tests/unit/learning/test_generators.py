"""Generators of candidates: a random half of them, refinements of the path, and what goes wrong."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from neuid3 import (
    AtomTest,
    Branch,
    CandidateGenerator,
    Candidates,
    Leaf,
    NeuID3Classifier,
    NodeContext,
    RandomCandidates,
)
from neuid3.errors import NodeTestError
from neuid3.learning import NodeLearner
from neuid3.tree.tree import branches, node_paths


class RandomHalf(CandidateGenerator):
    """Offers a random half of the candidates at each node."""

    def candidates(self, context: NodeContext) -> Candidates:
        def half(of: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(item for item in of if context.random.random() < 0.5)

        return Candidates(half(context.listed.tests), half(context.listed.numbers))


@dataclass(frozen=True)
class Recording(CandidateGenerator):
    """Offers what another generator offers, and remembers it by the text of the path."""

    inner: CandidateGenerator
    offers: dict[str, set[str]] = field(default_factory=dict)

    def candidates(self, context: NodeContext) -> Candidates:
        offered = self.inner.candidates(context)
        self.offers[path_text(context.node.path)] = {*map(str, offered.tests), *offered.numbers}
        return offered


def path_text(path: Any) -> str:
    return " ".join(f"{test}:{response}" for test, response in path)


def table(n: int = 300, seed: int = 0) -> tuple[dict[str, Any], np.ndarray]:
    rng = np.random.default_rng(seed)
    columns = {name: rng.random(n) < 0.5 for name in "abcdef"} | {"age": rng.integers(0, 9, n) * 1.0}
    y = (columns["a"] & columns["b"]) | (columns["c"] & (columns["age"] > 4)) | (rng.random(n) < 0.05)
    return columns, y


X, Y = table()
SETTINGS: dict[str, Any] = {"pruning": 0.0, "max_depth": 4, "random_state": 3}


def test_every_test_of_the_tree_was_offered_at_its_node() -> None:
    generator = Recording(RandomHalf())
    clf = NeuID3Classifier(tests=generator, **SETTINGS).fit(X, Y)
    inner = [(path, node) for path, node in node_paths(clf.tree_.root) if isinstance(node, Branch)]
    assert len(inner) > 4
    for path, node in inner:
        assert str(node.test).split(" ")[0] in generator.offers[path_text(path)]
    assert len(set(map(frozenset, generator.offers.values()))) > 3, "nodes are offered different candidates"


def test_the_candidates_depend_on_the_seed_and_the_path_alone() -> None:
    def tree(**settings: Any) -> Any:
        return NeuID3Classifier(tests=RandomHalf(), **{**SETTINGS, **settings}).fit(X, Y).tree_

    assert tree() == tree()
    assert tree(random_state=4) != tree()
    deep, shallow = Recording(RandomHalf()), Recording(RandomHalf())
    NeuID3Classifier(tests=deep, **SETTINGS).fit(X, Y)
    NeuID3Classifier(tests=shallow, **{**SETTINGS, "max_depth": 2}).fit(X, Y)
    assert shallow.offers.items() <= deep.offers.items(), "nodes that are grown before do not matter"


def test_only_the_candidates_that_are_offered_count_in_the_penalty(monkeypatch: pytest.MonkeyPatch) -> None:
    best_split, splits = NodeLearner.best_split, []

    def recorded(self: NodeLearner, node: Any) -> Any:
        splits.append(best_split(self, node))
        return splits[-1]

    monkeypatch.setattr(NodeLearner, "best_split", recorded)
    for generator in (RandomCandidates(count=1), RandomCandidates(count=3), RandomCandidates(1.0)):
        NeuID3Classifier(
            tests=RandomCandidates(generator.fraction, generator.count, list("abcdef")), max_depth=1, pruning=0.0
        ).fit(X, Y)
    assert [split.choices for split in splits] == [1, 3, 6]


def test_a_fit_is_resumed_with_the_same_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = NeuID3Classifier(tests=RandomHalf(), **SETTINGS).fit(X, Y)
    best_split, learned = NodeLearner.best_split, []

    def interrupted(self: NodeLearner, node: Any) -> Any:
        if len(learned) == 4:
            raise KeyboardInterrupt
        learned.append(node)
        return best_split(self, node)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NodeLearner, "best_split", interrupted)
        with pytest.raises(KeyboardInterrupt):
            NeuID3Classifier(tests=RandomHalf(), **SETTINGS).fit(X, Y, checkpoint=tmp_path)
    resumed = NeuID3Classifier(tests=RandomHalf(), **SETTINGS).fit(X, Y, checkpoint=tmp_path)
    assert resumed.tree_ == whole.tree_
    monkeypatch.setattr(NodeLearner, "best_split", lambda *_: pytest.fail("a node was learned again"))
    assert NeuID3Classifier(tests=RandomHalf(), **SETTINGS).fit(X, Y, checkpoint=tmp_path).tree_ == whole.tree_


def test_a_checkpoint_of_other_candidates_is_refused(tmp_path: Path) -> None:
    NeuID3Classifier(tests=RandomCandidates(0.5), **SETTINGS).fit(X, Y, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="parameter 'tests' differs"):
        NeuID3Classifier(tests=RandomCandidates(0.75), **SETTINGS).fit(X, Y, checkpoint=tmp_path)


def test_a_time_limit_ends_the_growth() -> None:
    with pytest.warns(UserWarning, match="time_limit"):
        clf = NeuID3Classifier(tests=RandomHalf(), time_limit=0.0, **SETTINGS).fit(X, Y)
    assert isinstance(clf.tree_.root, Leaf)


def test_tests_may_come_up_while_the_tree_is_grown() -> None:
    @dataclass(frozen=True)
    class Refinement(CandidateGenerator):
        """Below a test of the path, its conjunction with one more atom."""

        tests: tuple[str, ...] = ()

        def candidates(self, context: NodeContext) -> Candidates:
            if not context.node.path:
                return Candidates((AtomTest("both(a, b)"),), ())
            return Candidates(tuple(AtomTest(f"both({name}, old)") for name in "abc"), ())

    background = "both(A, B) :- holds(A), holds(B). holds(old) :- age > 4. " + " ".join(
        f"holds({name}) :- {name}." for name in "abc"
    )
    generator = Recording(Refinement(), {})
    clf = NeuID3Classifier(tests=Refinement(), background=background, random_state=0).fit(X, Y)
    assert [str(test) for test in clf.tree_.tests] == ["both(a, b)", "both(c, old)"]
    assert clf.model_.verify(X, rows=5) < 1e-9
    assert generator.tests == "auto"


def test_random_candidates_are_a_fraction_or_a_count() -> None:
    for generator, expected in ((RandomCandidates(0.5), 4), (RandomCandidates(count=2), 2), (RandomCandidates(1.0), 7)):
        recording = Recording(generator)
        NeuID3Classifier(tests=recording, **SETTINGS).fit(X, Y)
        assert len(recording.offers[""]) == expected
    unrestricted = NeuID3Classifier(tests=RandomCandidates(1.0), **SETTINGS).fit(X, Y)
    assert unrestricted.tree_ == NeuID3Classifier(**SETTINGS).fit(X, Y).tree_
    listed = NeuID3Classifier(tests=RandomCandidates(count=9, tests=["a", "age"]), **SETTINGS).fit(X, Y)
    assert {str(test).split(" ")[0] for test in listed.tree_.tests} == {"a", "age"}


@pytest.mark.parametrize("settings", [{"fraction": 0.0}, {"fraction": 1.5}, {"count": 0}])
def test_no_candidates_at_all_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(NodeTestError, match="give a fraction"):
        RandomCandidates(**settings)


@pytest.mark.parametrize(
    ("offered", "message"),
    [
        ([AtomTest("a")], r"Odd\.candidates returned a list"),
        (Candidates(("a",), ()), r"'a', which is no test; offer AtomTest\('a'\)"),  # type: ignore[arg-type]
        (Candidates((), ("a",)), "'a', which is no number column"),
        (Candidates((AtomTest("nothing"),), ()), "nothing defines"),
    ],
)
def test_an_offer_of_something_else_names_the_culprit(offered: Any, message: str) -> None:
    class Odd(CandidateGenerator):
        def candidates(self, context: NodeContext) -> Any:  # noqa: ARG002 - part of the base class
            return offered

    with pytest.raises(NodeTestError, match=message):
        NeuID3Classifier(tests=Odd()).fit(X, Y)


def test_estimators_with_a_generator_are_cloned_pickled_and_cross_validated() -> None:
    clf = NeuID3Classifier(tests=RandomHalf(), **SETTINGS)
    frame = {name: np.asarray(column) for name, column in X.items()}
    assert isinstance(clone(clf).tests, RandomHalf)
    fitted = clone(clf).fit(frame, Y)
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(restored.predict_proba(X), fitted.predict_proba(X))
    array = np.column_stack(list(X.values()))
    assert (cross_val_score(clf, array, Y, cv=3) > 0.5).all()
    assert list(branches(fitted.tree_.root))
