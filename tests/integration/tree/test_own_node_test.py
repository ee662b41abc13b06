"""A kind of test that this file defines, and the library does not know: it is used as the kinds of the library are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuid3 import (
    Bank,
    Branch,
    Examples,
    Leaf,
    NeuID3Classifier,
    NeurosymbolicTree,
    NodeTest,
    TrainingConfig,
    Tree,
    evidence_page,
    export_graphviz,
    export_svg,
    export_text,
    load,
    register_test_kind,
)
from neuid3.errors import ModelFileError, NodeTestError
from neuid3.learning import NodeLearner
from neuid3.logic import And, Formula, Or, Program
from neuid3.tree import bind_networks, instances_from_json


@register_test_kind("at_least_of_atoms")
@dataclass(frozen=True)
class AtLeast(NodeTest):
    """At least so many of these atoms are true."""

    count: int
    atoms: tuple[str, ...]
    instances: tuple[tuple[str, str], ...] = ()

    def formula(self, program: Program) -> Formula:
        ways = combinations(program.formulas(self.atoms), self.count)
        return bind_networks(Or(tuple(And(way) for way in ways)), self.instances)

    @property
    def goal(self) -> str:
        return " ; ".join(", ".join(way) for way in combinations(self.atoms, self.count))

    def __str__(self) -> str:
        return f"at least {self.count} of {', '.join(self.atoms)}"

    def to_json(self) -> dict[str, Any]:
        return {"count": self.count, "atoms": list(self.atoms), "instances": dict(self.instances)}

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> AtLeast:
        count, atoms = json["count"], json["atoms"]
        if type(count) is not int or not all(isinstance(atom, str) for atom in atoms) or not 0 < count <= len(atoms):
            raise ValueError("it needs a count and as many atoms")
        return cls(count, tuple(atoms), instances_from_json(json["instances"]))


TWO = AtLeast(2, ("same(left, right)", "alarm", "suit(hearts)"))
BACKGROUND = """
nn(lit_net, [I], L, [off, on]) :: lit(I, L).
same(A, B) :- lit(A, L), lit(B, L).
"""
QUICK: dict[str, Any] = {
    "training": TrainingConfig(epochs=12, restarts=2),
    "max_depth": 1,
    "random_state": 0,
    "tests": ["alarm", TWO],
}


def drawn(n: int, seed: int) -> tuple[Examples, np.ndarray]:
    """Two images that are dark or bright, an alarm and a suit; the class is whether two of three facts hold."""
    rng = np.random.default_rng(seed)
    levels = rng.random((2, n)) < 0.5
    images = (levels[..., None, None] * 0.8 + rng.random((2, n, 8, 8)) * 0.2).astype(np.float32)
    alarm, hearts = rng.random(n) < 0.5, rng.random(n) < 0.5
    suit = np.where(hearts, "hearts", np.where(rng.random(n) < 0.5, "clubs", "spades"))
    held = (levels[0] == levels[1]).astype(int) + alarm + hearts
    return Examples({"left": images[0], "right": images[1], "alarm": alarm, "suit": suit.tolist()}), held >= 2


X, Y = drawn(240, 0)
UNSEEN, HIDDEN = drawn(60, 1)


@pytest.fixture(scope="module")
def clf() -> NeuID3Classifier:
    return NeuID3Classifier(background=BACKGROUND, **QUICK).fit(X, Y)


@pytest.fixture(scope="module")
def model(clf: NeuID3Classifier) -> NeurosymbolicTree:
    return clf.model_


def test_its_networks_are_trained(clf: NeuID3Classifier) -> None:
    root = clf.tree_.root
    assert isinstance(root, Branch)
    assert isinstance(root.test, AtLeast)
    assert [network for network, _ in root.test.instances] == ["lit_net"]
    assert clf.gradient_steps_ > 0
    assert clf.score(UNSEEN, HIDDEN) > 0.9


def test_problog_agrees_with_its_probabilities(model: NeurosymbolicTree) -> None:
    assert model.verify(UNSEEN, rows=4) < 1e-9
    program = model.to_problog(UNSEEN)
    assert "test_1 :- " in program
    assert "\\+ test_1" in program


def test_it_is_saved_and_loaded_with_its_networks(clf: NeuID3Classifier, tmp_path: Path) -> None:
    loaded = load(clf.save(tmp_path / "clf"))
    assert loaded.tree_ == clf.tree_
    np.testing.assert_array_equal(loaded.predict_proba(UNSEEN), clf.predict_proba(UNSEEN))


def test_a_file_with_a_kind_that_is_not_registered_names_the_next_move(clf: NeuID3Classifier, tmp_path: Path) -> None:
    path = clf.save(tmp_path / "clf")
    code = f"import neuid3\ntry: neuid3.load({str(path)!r})\nexcept neuid3.NeuID3Error as error: print(error)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "kind 'at_least_of_atoms', which is not registered; import the module that registers it" in printed


@pytest.mark.parametrize("field", ["count", "atoms", "instances"])
def test_the_fields_of_a_forged_file_are_checked(clf: NeuID3Classifier, tmp_path: Path, field: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AtLeast, "to_json", lambda _: {"count": 1, "atoms": ["alarm"], "instances": {}, field: 7})
        path = clf.save(tmp_path / "clf")
    with pytest.raises(ModelFileError, match="damaged"):
        load(path)


def test_a_fit_with_it_is_resumed_from_a_checkpoint(
    clf: NeuID3Classifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NodeLearner, "refine", lambda *_: 1 // 0)  # the root is learned, and the fit is interrupted
    with pytest.raises(ZeroDivisionError):
        NeuID3Classifier(background=BACKGROUND, **QUICK).fit(X, Y, checkpoint=tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(NodeLearner, "best_split", lambda *_: pytest.fail("the root was learned again"))
    resumed = NeuID3Classifier(background=BACKGROUND, **QUICK).fit(X, Y, checkpoint=tmp_path)
    assert resumed.tree_ == clf.tree_
    np.testing.assert_array_equal(resumed.predict_proba(UNSEEN), clf.predict_proba(UNSEEN))


def test_it_is_reused_from_a_bank(clf: NeuID3Classifier, tmp_path: Path) -> None:
    (trained,) = clf.tests_
    bank = Bank(tmp_path / "bank")
    bank.add("two", trained, meaning="two of three")
    assert bank.card("two")["test"] == str(TWO)
    reused = NeuID3Classifier(
        tests=["alarm"], bank=bank, max_depth=1, training=TrainingConfig(joint_epochs=0), random_state=0
    ).fit(X, Y)
    assert isinstance(reused.tree_.root, Branch)
    assert str(reused.tree_.root.test) == str(TWO)
    assert reused.gradient_steps_ == 0
    np.testing.assert_allclose(reused.model_.verify(UNSEEN, rows=2), 0.0, atol=1e-9)
    assert (reused.predict(UNSEEN) == clf.predict(UNSEEN)).mean() > 0.9


def test_it_is_shown_and_explained(model: NeurosymbolicTree) -> None:
    assert export_text(model.tree).startswith(f"{TWO}?")
    assert "same(A, B) :- lit(A, L), lit(B, L)." in export_text(model, rules=True)
    assert "at least 2" in export_svg(model)
    assert "at least 2" in export_graphviz(model)
    assert str(TWO) in evidence_page(model, UNSEEN, HIDDEN)
    explanation = model.explain(UNSEEN, 0)
    assert explanation.leaves[0].steps[0].test == str(TWO)
    assert [str(change).startswith(str(TWO)) for change in explanation.other_responses.changes] == [True]
    assert explanation.other_facts.changes
    assert {reading.name for reading in explanation.readings} >= {"alarm", "suit"}


def test_without_networks_it_is_a_symbolic_test() -> None:
    test = AtLeast(1, ("alarm", "suit(hearts)"))
    y = X.column("alarm").values | (np.array(X.schema["suit"].values)[X.column("suit").values] == "hearts")
    clf = NeuID3Classifier(tests=[test, "alarm"], random_state=0).fit(X, y)
    assert clf.tree_.tests == (test,)
    assert clf.score(X, y) == 1.0


def test_one_that_is_always_true_is_refused() -> None:
    with pytest.raises(NodeTestError, match="is always true"):
        NeuID3Classifier(tests=[AtLeast(1, ("sure",))], background="sure.").fit(X, Y)


def test_a_name_belongs_to_one_kind() -> None:
    @dataclass(frozen=True)
    class Other(NodeTest):
        def formula(self, program: Program) -> Formula:
            return program.formula("alarm")

    with pytest.raises(NodeTestError, match="another name"):
        register_test_kind("at_least_of_atoms")(Other)
    with pytest.raises(ModelFileError, match="register the class"):
        NeurosymbolicTree(Tree(Branch(Other(), Leaf(0.9), Leaf(0.1))), X.schema).save("nowhere")
