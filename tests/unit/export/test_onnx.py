"""A tree written as ONNX gives, in onnxruntime, the probabilities that it gives here."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx_files import check, inputs_of, session_of
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from strategies import FACTS, PREAMBLE, PRIORS, REFERENCE, Case, nodes, table

from neuid3 import (
    Branch,
    Examples,
    Leaf,
    NeuID3Classifier,
    NeurosymbolicTree,
    Priors,
    Tree,
    export_onnx,
)
from neuid3.circuits import evaluate as layers
from neuid3.errors import ExportError, ModelFileError, NetworkError
from neuid3.export.onnx.write import as_onnx
from neuid3.networks.defaults import Dense

pytestmark = pytest.mark.filterwarnings("ignore:Test .* is always:UserWarning", "ignore:Values never seen:UserWarning")


SYMBOLIC = [*FACTS, "path(1, 3)", "old(age)"]


@st.composite
def symbolic(draw: st.DrawFn) -> Case:
    """A tree of facts and rules over every kind of column, and examples with missing entries."""
    lines = []
    for number in range(2):
        goals = draw(st.lists(st.sampled_from(SYMBOLIC), min_size=1, max_size=3))
        signed = [goal if draw(st.booleans()) else f"\\+ ({goal})" for goal in goals]
        lines.append(f"rule_{number} :- {draw(st.sampled_from([', ', '; '])).join(signed)}.")
    background = PREAMBLE + "\n".join(lines)
    classes = draw(st.sampled_from([("neg", "pos"), ("a", "b", "c")]))
    tree = Tree(draw(nodes([*SYMBOLIC, "rule_0", "rule_1"] * 2, len(classes), 4)), classes)
    dtype = draw(st.sampled_from([torch.float64, torch.float32]))
    model = NeurosymbolicTree(tree, REFERENCE.schema, background=background, priors=PRIORS, dtype=dtype)
    return Case(background, model, table(draw(st.integers(0, 999)), 8).conform(REFERENCE.schema))


@settings(max_examples=settings().max_examples // 2)
@given(symbolic())
def test_generated_trees_of_facts_and_rules_agree(case: Case) -> None:
    check(case.model, case.examples, 1e-12 if case.model.dtype == torch.float64 else 1e-6)


def test_a_learned_tree_of_a_table_agrees(tmp_path: Path) -> None:
    iris = load_iris()
    X = Examples(
        {
            **{f"size {i} (cm)": np.where(np.arange(150) % 9 == i, np.nan, iris.data[:, i]) for i in range(4)},
            "colour": np.array(["blue", "white", None])[np.minimum(iris.target, np.arange(150) % 4 % 3)],
        }
    )
    clf = NeuID3Classifier(max_depth=4, random_state=0).fit(X, iris.target)
    path = clf.export_onnx(tmp_path / "iris.onnx")
    assert path == tmp_path / "iris.onnx"
    session = onnxruntime.InferenceSession(path)
    names = {values.name for values in session.get_inputs()}
    assert names == set(clf.model_.columns)
    classes, leaves = session.run(None, inputs_of(session, X))
    np.testing.assert_allclose(classes, clf.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(leaves, clf.leaf_probabilities(X), atol=1e-12)
    assert (clf.classes_[classes.argmax(axis=1)] == clf.predict(X)).all()


def test_wide_levels_are_added_up_by_gathering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "_DENSE", 0)
    tree = Tree(Branch("suit(hearts)", Branch("twice", Leaf(0.9), Leaf(0.3)), Branch("twice", Leaf(0.5), Leaf(0.0))))
    background = (
        "twice :- mood(1), suit(clubs). twice :- mood(2), age > 40, age =< 60. twice :- alarm, \\+ noise, mood(3)."
    )
    model = NeurosymbolicTree(tree, REFERENCE.schema, background=background, priors=PRIORS)
    written = check(model, table(4, 30), 1e-12)
    assert any(node.op_type == "ReduceSum" and node.input[0].startswith("/Gather") for node in written.graph.node)


# Entries that are missing, strange or torn -----------------------------------------------------------
class Lookup(torch.nn.Module):
    """Looks up an embedding: a number that is no place in its table would stop it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(2, 2)

    def forward(self, image: torch.Tensor, age: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.table(image.flatten(1).mean(1).round().long()) + age, 1)


def test_missing_entries_of_every_kind_follow_the_priors() -> None:
    rng = np.random.default_rng(1)
    holes = rng.random((5, 60)) < 0.3
    images, mood = rng.random((60, 2, 2)).astype(np.float32), rng.dirichlet([1.0, 1.0], 60)
    images[holes[0]], mood[holes[1]] = np.nan, np.nan
    X = Examples(
        {
            "image": images,
            "mood": mood,
            "age": np.where(holes[2], np.nan, rng.random(60)),
            "alarm": np.where(holes[3], np.nan, rng.random(60)),
            "suit": np.where(holes[4], None, rng.choice(["clubs", "hearts"], 60)),
        },
        kinds={"mood": ("good", "bad"), "alarm": "probability"},
    )
    background = "nn(net, [I, A], R, [up, down]) :: says(I, A, R). calm :- mood(good), \\+ alarm, suit(clubs)."
    tree = Tree(
        Branch("says(image, age, up)", Branch("age > 0.4", Leaf(0.9), Leaf(0.3)), Branch("calm", Leaf(0.6), Leaf(0)))
    )
    priors = Priors(
        {"age": [0.1, 0.5], "alarm": 0.3, "mood": {"good": 0.2, "bad": 0.8}, "suit": {"clubs": 1}}, {"net": [0.1, 0.9]}
    )
    model = NeurosymbolicTree(tree, X.schema, background=background, networks={"net": Lookup()}, priors=priors)
    written = check(model, X, 1e-6)

    # Here an image that is missing in part would be refused; the file says that it knows nothing.
    session, whole = session_of(written), np.flatnonzero(~holes[:2].any(0))
    inputs = inputs_of(session, X[whole])
    inputs["image"][0, 0, 1] = np.nan
    classes, _ = session.run(None, inputs)
    assert np.isnan(classes[0]).all()
    np.testing.assert_allclose(classes[1:], model.predict_proba(X[whole[1:]]), atol=1e-6)


def test_without_a_prior_a_missing_entry_makes_its_example_unknown_and_no_other() -> None:
    X = Examples({"alarm": [True, False], "age": [30.0, 50.0], "suit": ["clubs", "hearts"]})
    tree = Tree(Branch("alarm", Branch("age > 40", Leaf(0.9), Leaf(0.2)), Branch("suit(clubs)", Leaf(0.7), Leaf(0.1))))
    model = NeurosymbolicTree(tree, X.schema)
    session = session_of(as_onnx(model))
    inputs = inputs_of(session, X)
    for name, hole in (("alarm", np.nan), ("age", np.nan), ("suit", -1)):
        torn = {**inputs, name: np.array([hole, *inputs[name][1:]], dtype=inputs[name].dtype)}
        classes, leaves = session.run(None, torn)
        assert np.isnan(classes[0]).all()
        assert np.isnan(leaves[0]).sum() == (4 if name == "alarm" else 2)  # those that hinge on it
        np.testing.assert_allclose(classes[1], model.predict_proba(X)[1])


def test_codes_that_no_value_has_are_other() -> None:
    X = Examples({"suit": ["clubs", "hearts"]})
    model = NeurosymbolicTree(Tree(Branch("suit(other)", Leaf(1.0), Leaf(0.0))), X.schema)
    classes, _ = session_of(as_onnx(model)).run(None, {"suit": np.array([0, 1, 2, 3, 99, -7])})
    assert classes[:, 1].tolist() == [0.0, 0.0, 1.0, 1.0, 1.0, 1.0]


# The file --------------------------------------------------------------------------------------------
def test_a_tree_without_tests_reads_the_number_of_examples() -> None:
    model = NeurosymbolicTree(Tree(Leaf((0.2, 0.3, 0.5)), ("a", "b", "c")), REFERENCE.schema)
    written = check(model, REFERENCE[:7], 1e-12)
    assert [values.name for values in written.graph.input] == ["left"]


def test_the_file_says_what_it_is() -> None:
    tree = Tree(Branch("suit(hearts)", Branch("mood(1)", Leaf(0.9), Leaf(0.3)), Leaf(0.1)), (False, True))
    made = as_onnx(NeurosymbolicTree(tree, REFERENCE.schema), opset=20)
    values = {entry.key: entry.value for entry in made.metadata_props}
    assert json.loads(values["classes"]) == [False, True]
    assert values["leaves"] == "3"
    assert json.loads(values["columns"]) == [
        {"name": "suit", "kind": "category", "domain": ["clubs", "hearts", "spades", "other"]},
        {"name": "mood", "kind": "distribution", "domain": [1, 2, 3]},
    ]
    assert re.match(r"\d+\.\d+", values["neuid3_version"])
    assert made.producer_name == "neuid3"
    assert made.doc_string.startswith("suit(hearts)?")
    assert [entry.version for entry in made.opset_import] == [20]


def test_the_page_about_onnx_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).resolve().parents[3] / "docs" / "onnx.md"
    names: dict[str, object] = {"__name__": "onnx_page"}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(compile(block, "onnx.md", "exec"), names)
    onnx.checker.check_model(str(tmp_path / "alarms.onnx"))


# What cannot be written ------------------------------------------------------------------------------
class Hesitant(torch.nn.Module):
    """Does one thing or another, as the numbers are."""

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        flat = image.flatten(1)[:, :3]
        return torch.softmax(flat, 1) if flat.sum() > 0 else torch.softmax(-flat, 1)


class Moody(torch.nn.Module):
    """Never says the same thing twice."""

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return torch.softmax(image.flatten(1)[:, :3] + torch.rand(3), 1)


def small_model(**networks: torch.nn.Module) -> NeurosymbolicTree:
    X = Examples({"left": np.zeros((1, 2, 2))})
    tests = [f"{name}(left, 1)" for name in networks]
    background = "".join(f"nn({name}, [I], R, [1, 2, 3]) :: {name}(I, R). " for name in networks)
    tree = Tree(Branch(tests[0], Leaf(0.1), Branch(tests[-1], Leaf(0.9), Leaf(0.4))))
    return NeurosymbolicTree(tree, X.schema, background=background, networks=networks)


@pytest.mark.parametrize(
    ("networks", "kind", "message"),
    [
        ({"fine": Dense(3, [4]), "net": Hesitant()}, ExportError, r"Network net\(left\) cannot be written as ONNX"),
        ({"net": Moody()}, ExportError, r"Network net\(left\) gives other probabilities as ONNX"),
        ({"net": Dense(4, [4])}, NetworkError, r"Network net\(left\) returned \(3, 4\)"),
    ],
    ids=["control flow", "noise", "width"],
)
def test_a_network_that_cannot_be_written_is_named_and_the_old_file_stays(
    networks: dict[str, torch.nn.Module],
    kind: type[Exception],
    message: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    model = small_model(**networks)
    path = tmp_path / "tree.onnx"
    path.write_text("old")
    with pytest.raises(kind, match=message):
        model.export_onnx(path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("tree.onnx", "old")]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("package", ["onnx", "onnxscript", "onnxruntime"])
def test_the_error_names_a_missing_package(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model(net=Dense(3, [4]))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ExportError, match=re.escape(f'need {package}; install it with: pip install "neuid3[onnx]"')):
        model.export_onnx(tmp_path / "tree.onnx")
    assert not list(tmp_path.iterdir())


def test_mistakes_are_reported_in_a_sentence(tmp_path: Path) -> None:
    X = Examples({"leaf_probabilities": [True, False], "alarm": [True, False]})
    tree = Tree(Branch("alarm", Leaf(0.9), Leaf(0.2)))
    model = NeurosymbolicTree(tree, X.schema)
    with pytest.raises(ExportError, match="A Tree alone has no columns"):
        export_onnx(tree, tmp_path / "tree.onnx")
    with pytest.raises(NotFittedError):
        export_onnx(NeuID3Classifier(), tmp_path / "tree.onnx")
    with pytest.raises(ExportError, match="opset=9 cannot be written; give a number from 18"):
        export_onnx(model, tmp_path / "tree.onnx", opset=9)
    with pytest.raises(ModelFileError, match="nowhere does not exist"):
        export_onnx(model, tmp_path / "nowhere" / "tree.onnx")
    with pytest.raises(ModelFileError, match="is a folder"):
        export_onnx(model, tmp_path)
    strange = NeurosymbolicTree(Tree(Branch("leaf_probabilities", Leaf(0.9), Leaf(0.2))), X.schema)
    with pytest.raises(ExportError, match="Column 'leaf_probabilities' has a name"):
        export_onnx(strange, tmp_path / "tree.onnx")
    assert not list(tmp_path.iterdir())
