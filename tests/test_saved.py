"""Models on disk: what is saved comes back, old files stay readable, and files that somebody made up do no harm."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save as pack
from torch import nn

import neuid3
from golden.make import classifier, examples, tree
from neuid3 import NeuID3Classifier, NeuID3Error, NeurosymbolicTree, load
from neuid3.disk import write_whole
from neuid3.errors import ModelFileError
from neuid3.saved import networks as registry
from neuid3.saved.words import nodes_from_words, nodes_to_words
from neuid3.tree import Branch, Leaf

GOLDEN = Path(__file__).parent / "golden"
MANY = int(os.environ.get("NEUID3_FUZZ", "60"))


class Own(nn.Module):
    """A network that the registry does not know."""

    def __init__(self, hidden: int = 5) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(36, hidden), nn.BatchNorm1d(hidden), nn.Linear(hidden, 3), nn.Softmax(-1)
        )

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.layers(image)
        return found


def own_tree() -> NeurosymbolicTree:
    X = examples()
    return NeurosymbolicTree(
        neuid3.Tree(Branch("level(left, high)", Leaf(0.9), Leaf(0.2))),
        X.schema,
        background="nn(eye, [I], V, [low, middle, high]) :: level(I, V).",
        networks={"eye": Own()},
    )


# What is saved comes back ---------------------------------------------------------------------------


@pytest.mark.parametrize("make", [classifier, tree])
def test_a_loaded_model_answers_to_the_bit(make: Any, tmp_path: Path) -> None:
    model, X = make(), examples()
    again: Any = load(model.save(tmp_path / "m.neuid3"))
    assert type(again) is type(model)
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert (again.predict(X) == model.predict(X)).all()
    assert again.predict(X).dtype == model.predict(X).dtype


def test_a_loaded_classifier_is_fitted_like_the_saved_one(tmp_path: Path) -> None:
    clf = classifier()
    again: Any = load(clf.save(tmp_path / "m.neuid3"))
    assert again.get_params() == clf.get_params()
    assert again.export_text() == clf.export_text()
    assert again.tree_ == clf.tree_
    assert [leaf.masses for leaf in again.tree_.leaves] == [leaf.masses for leaf in clf.tree_.leaves]
    assert (again.feature_importances_ == clf.feature_importances_).all()
    assert again.feature_names_in_.tolist() == clf.feature_names_in_.tolist()
    assert (again.apply(examples()) == clf.apply(examples())).all()


def test_a_plain_array_can_be_learned_saved_and_asked(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 3))
    clf = NeuID3Classifier(random_state=0).fit(X, X[:, 1] > 0)
    again: Any = load(clf.save(tmp_path / "m"))
    assert again.predict(X).dtype == bool
    assert (again.predict_proba(X) == clf.predict_proba(X)).all()


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    model = tree()
    first, second = (model.save(tmp_path / name).read_bytes() for name in ("a", "b"))
    assert first == second


def test_a_trained_test_is_saved_and_asked_in_the_next_tree(tmp_path: Path) -> None:
    X = examples(80)
    y = X.column("left").values.mean((1, 2)) > 0.5
    how = {"epochs": 2, "restarts": 1, "joint_epochs": 0, "random_state": 0, "pruning": 0.0}
    clf = NeuID3Classifier(background="nn(n, [I]) :: seen(I).", tests=["seen(left)"], **how).fit(X, y)
    (test,) = clf.tests_
    again: Any = load(test.save(tmp_path / "test.neuid3"))
    assert str(again) == "seen(left)"
    assert again.columns == test.columns
    assert again.background == test.background
    second = NeuID3Classifier(background="nn(n, [I]) :: seen(I).", tests=[again], **how).fit(X, y)
    (before,), (after,) = test.networks.values(), second.networks_.values()
    assert all(torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True))


def test_networks_of_ones_own_come_back_through_their_factory(tmp_path: Path) -> None:
    model, X = own_tree(), examples()
    path = model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match=r"'eye' of the model is a Own.*networks=.'eye'"):
        load(path)
    with pytest.raises(ModelFileError, match=r"layers\.1\.(weight|bias)"):
        load(path, networks={"eye": lambda: Own(hidden=6)})
    with pytest.raises(NeuID3Error, match="no such network"):
        load(path, networks={"eye": Own, "ear": Own})
    again: Any = load(path, networks={"eye": Own})
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


def test_a_registered_network_needs_no_factory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))

    class Registered(Own):
        def __init__(self, hidden: int = 5) -> None:
            super().__init__(hidden)
            self.settings = {"hidden": hidden}

    neuid3.register(Registered)
    model = own_tree()
    model.networks["eye"] = Registered(7).eval()
    again: Any = load(model.save(tmp_path / "m"))
    assert isinstance(again.networks["eye"], Registered)
    assert (again.predict_proba(examples()) == model.predict_proba(examples())).all()
    with pytest.raises(NeuID3Error, match="Another class called 'Registered'"):
        neuid3.register(type("Registered", (nn.Module,), {}))


def test_classes_and_tests_that_cannot_be_said_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    model = NeurosymbolicTree(neuid3.Tree(Leaf(0.5), classes=((1, 2), (3, 4))), examples().schema)
    with pytest.raises(ModelFileError, match="Classes such as"):
        model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="is not there"):
        tree().save(tmp_path / "nowhere" / "m")
    assert not list(tmp_path.iterdir())


# Old files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("v*/*.neuid3")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_files_of_every_version_stay_loadable(path: Path) -> None:
    answers = json.loads((path.parent / "answers.json").read_text(encoding="utf-8"))[path.stem]
    model: Any = load(path)
    assert model.predict_proba(examples()) == pytest.approx(np.array(answers), abs=1e-6)


def test_there_are_golden_files_of_the_version_that_is_written() -> None:
    from neuid3.saved.container import VERSION

    assert (GOLDEN / f"v{VERSION}" / "tree.neuid3").exists()


# Whole or not at all --------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tree().save(tmp_path / "m")
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        classifier().save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_killed_while_writing_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "m"
    old, new = b"old" * 1000, b"new" * 1000
    write_whole(path, old)
    code = (
        "import sys; from pathlib import Path; from neuid3.disk import write_whole; print(flush=True)\n"
        f"while True: write_whole(Path(sys.argv[1]), {new!r})"
    )
    for wait in (0.0, 0.003, 0.02):
        writer = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        if wait:
            with pytest.raises(subprocess.TimeoutExpired):
                writer.wait(wait)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert path.read_bytes() in (old, new)


# Files that somebody made up ------------------------------------------------------------------------


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path: Path, contents: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def test_files_that_are_no_models_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "m"
    good = parts(tree().save(path))
    words = json.loads(good["model.json"])
    wrong = {
        "no model": b"a,b\n1,2\n",
        "damaged": path.read_bytes()[:-100],
    }
    for told, content in wrong.items():
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=told):
            load(path)
    for told, changed in {
        "newer neuid3": {**words, "version": 99},
        "is no model": {**words, "format": "other"},
        "does not know": {**words, "kind": "forest"},
        "is damaged": {**words, "version": "1"},
    }.items():
        with pytest.raises(ModelFileError, match=told):
            load(packed(path, good | {"model.json": json.dumps(changed).encode()}))
    with pytest.raises(ModelFileError, match="is packed"):
        load(packed(path, good, zipfile.ZIP_DEFLATED))
    with pytest.raises(ModelFileError, match="its parts are not"):
        load(packed(path, good | {"../../evil": b"x"}))
    with pytest.raises(ModelFileError, match="There is no model"):
        load(tmp_path / "none")
    with pytest.raises(ModelFileError, match="is a folder"):
        load(tmp_path)


def test_sizes_that_somebody_made_up_cost_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m"
    good = parts(tree().save(path))
    words = json.loads(good["model.json"])
    words["networks"]["eye@1"]["settings"] |= {"width": 10**9, "size": [10**6, 10**6]}
    with pytest.raises(ModelFileError, match="does not fit its numbers"):
        load(packed(path, good | {"model.json": json.dumps(words).encode()}))


def test_no_code_of_a_file_is_run(tmp_path: Path) -> None:
    """Programs may not reach outside, and no part of a file is unpickled."""
    path = tmp_path / "m"
    good = parts(tree().save(path))
    mark = tmp_path / "mark"
    for goal in (f":- consult('{mark}').", ":- use_module(library(lists)).", f"alarm2 :- open('{mark}', write, _)."):
        contents = good | {"background.pl": good["background.pl"] + goal.encode()}
        with pytest.raises(NeuID3Error):
            load(packed(path, contents))
    with pytest.raises(NeuID3Error):
        load(packed(path, good | {"networks.safetensors": b"\x80\x04cos\nsystem\n(S'true'\ntR."}))
    assert not mark.exists()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def _places(words: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a piece of JSON."""
    inside: list[tuple[Any, Any]] = []
    if isinstance(words, dict):
        inside = list(words.items())
    elif isinstance(words, list):
        inside = list(enumerate(words))
    return [at, *(place for key, value in inside for place in _places(value, (*at, key)))]


def _changed(words: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    copy = dict(words) if isinstance(words, dict) else list(words)
    copy[place[0]] = _changed(copy[place[0]], place[1:], value)
    return copy


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    classifier().save(folder / "classifier")
    tree().save(folder / "tree")
    return folder


@settings(max_examples=MANY, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_the_words_say_only_our_errors_come_out(saved: Path, data: st.DataObject) -> None:
    good = parts(saved / data.draw(st.sampled_from(["classifier", "tree"])))
    words = json.loads(good["model.json"])
    for _ in range(data.draw(st.integers(1, 3))):
        places = _places(words)
        words = _changed(words, places[data.draw(st.integers(0, len(places) - 1))], data.draw(values))
    _loads_or_complains(packed(saved / "changed", good | {"model.json": json.dumps(words).encode()}))


@settings(max_examples=MANY, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_the_bytes_are_only_our_errors_come_out(saved: Path, data: st.DataObject) -> None:
    content = bytearray((saved / data.draw(st.sampled_from(["classifier", "tree"]))).read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    changed = saved / "changed"
    changed.write_bytes(content[: data.draw(st.integers(1, len(content)))] if data.draw(st.booleans()) else content)
    _loads_or_complains(changed)


def _loads_or_complains(path: Path) -> None:
    with contextlib.suppress(NeuID3Error):
        model: Any = load(path)
        model.predict_proba(examples())


def test_trees_that_are_none_are_refused() -> None:
    leaf = {"leaf": [0.5, 0.5]}
    for rows in (
        [],
        [leaf, leaf],
        [{"test": {"atom": "a"}, "gain": None, "yes": 1, "no": 1}, leaf],
        [{"test": {"atom": "a"}, "gain": None, "yes": 0, "no": 1}, leaf],
        [{"test": {"atom": "a"}, "gain": None, "yes": 1, "no": 7}, leaf],
    ):
        with pytest.raises((ValueError, IndexError)):
            nodes_from_words(rows)


def test_deep_trees_come_back_and_trees_beyond_measure_do_not() -> None:
    node: Any = Leaf(0.5)
    for i in range(900):
        node = Branch(f"a{i}", Leaf(0.25), node)
    words = nodes_to_words(node)
    assert nodes_to_words(nodes_from_words(words)) == words
    chain = [{"test": {"atom": "a"}, "gain": None, "yes": 2 * i + 1, "no": 2 * i + 2} for i in range(4000)]
    rows: list[Any] = []
    for link in chain:
        rows += [link, {"leaf": [0.5, 0.5]}]
    with pytest.raises(ValueError, match="too large"):
        nodes_from_words([*rows, {"leaf": [0.5, 0.5]}])


def test_tensors_are_not_read_from_outside(tmp_path: Path) -> None:
    """A file whose numbers are fewer than its network wants is refused, not filled with something else."""
    path = tmp_path / "m"
    good = parts(tree().save(path))
    with pytest.raises(ModelFileError, match="missing there"):
        load(packed(path, good | {"networks.safetensors": pack({"eye@1/other": torch.zeros(2)})}))
