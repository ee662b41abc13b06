"""Model files: what is saved comes back, old files stay readable, and made-up files do no harm."""

from __future__ import annotations

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
from golden.make import classifier, examples, tree
from model_parts import Raw, changed_at, nested, packed, parts, save_each_kind, written
from safetensors.torch import load as unpack
from safetensors.torch import save as pack
from torch import nn

import neuid3
from neuid3 import NeuID3Classifier, NeuID3Error, NeurosymbolicTree, load
from neuid3.errors import ModelFileError
from neuid3.io import network_modules as registry
from neuid3.io.serialize import nodes_from_json, nodes_to_json
from neuid3.tree.tree import Branch, Leaf
from neuid3.utils.files import write_atomically

GOLDEN = Path(__file__).parents[2] / "golden"


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
def test_a_loaded_model_predicts_the_same_bits(make: Any, tmp_path: Path) -> None:
    model, X = make(), examples()
    loaded: Any = load(model.save(tmp_path / "m.neuid3"))
    assert type(loaded) is type(model)
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
    assert (loaded.predict(X) == model.predict(X)).all()
    assert loaded.predict(X).dtype == model.predict(X).dtype


def test_a_loaded_classifier_is_fitted_like_the_saved_one(tmp_path: Path) -> None:
    clf = classifier()
    loaded: Any = load(clf.save(tmp_path / "m.neuid3"))
    assert loaded.get_params() == clf.get_params()
    assert loaded.export_text() == clf.export_text()
    assert loaded.tree_ == clf.tree_
    assert [leaf.masses for leaf in loaded.tree_.leaves] == [leaf.masses for leaf in clf.tree_.leaves]
    assert (loaded.feature_importances_ == clf.feature_importances_).all()
    assert loaded.feature_names_in_.tolist() == clf.feature_names_in_.tolist()
    assert (loaded.apply(examples()) == clf.apply(examples())).all()


def test_a_plain_array_can_be_learned_saved_and_predicted(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 3))
    clf = NeuID3Classifier(random_state=0).fit(X, X[:, 1] > 0)
    loaded: Any = load(clf.save(tmp_path / "m"))
    assert loaded.predict(X).dtype == bool
    assert (loaded.predict_proba(X) == clf.predict_proba(X)).all()


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    model = tree()
    first, second = (model.save(tmp_path / name).read_bytes() for name in ("a", "b"))
    assert first == second


def test_networks_of_ones_own_come_back_through_their_factory(tmp_path: Path) -> None:
    model, X = own_tree(), examples()
    path = model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match=r"'eye' of the model is a Own.*networks=.'eye'"):
        load(path)
    with pytest.raises(ModelFileError, match=r"layers\.1\.(weight|bias)"):
        load(path, networks={"eye": lambda: Own(hidden=6)})
    with pytest.raises(NeuID3Error, match="no such network"):
        load(path, networks={"eye": Own, "ear": Own})
    loaded: Any = load(path, networks={"eye": Own})
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()


def test_a_registered_network_needs_no_factory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))

    class Registered(Own):
        def __init__(self, hidden: int = 5) -> None:
            super().__init__(hidden)
            self.settings = {"hidden": hidden}

    neuid3.register(Registered)
    model = own_tree()
    model.networks["eye"] = Registered(7).eval()
    loaded: Any = load(model.save(tmp_path / "m"))
    assert isinstance(loaded.networks["eye"], Registered)
    assert (loaded.predict_proba(examples()) == model.predict_proba(examples())).all()
    with pytest.raises(NeuID3Error, match="Another class called 'Registered'"):
        neuid3.register(type("Registered", (nn.Module,), {}))


def test_classes_and_tests_that_cannot_be_serialized_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    model = NeurosymbolicTree(neuid3.Tree(Leaf(0.5), classes=((1, 2), (3, 4))), examples().schema)
    with pytest.raises(ModelFileError, match="Classes such as"):
        model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="does not exist"):
        tree().save(tmp_path / "nowhere" / "m")
    assert not list(tmp_path.iterdir())


# Old files ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", sorted(GOLDEN.glob("v*/*.neuid3")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_files_of_every_version_stay_loadable(path: Path) -> None:
    expected = json.loads((path.parent / "predictions.json").read_text(encoding="utf-8"))[path.stem]
    model: Any = load(path)
    assert model.predict_proba(examples()) == pytest.approx(np.array(expected), abs=1e-6)


def test_there_are_golden_files_of_the_version_that_is_written() -> None:
    from neuid3.io.container import VERSION

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
    write_atomically(path, old)
    code = (
        "import sys; from pathlib import Path; from neuid3.utils.files import write_atomically; print(flush=True)\n"
        f"while True: write_atomically(Path(sys.argv[1]), {new!r})"
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
def test_files_that_are_no_models_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "m"
    good = parts(tree().save(path))
    document = json.loads(good["model.json"])
    wrong = {
        "not a neuid3 model": b"a,b\n1,2\n",
        "damaged": path.read_bytes()[:-100],
    }
    for values, content in wrong.items():
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=values):
            load(path)
    for values, changed in {
        "newer neuid3": {**document, "version": 99},
        "is not a neuid3 model": {**document, "format": "other"},
        "does not know": {**document, "kind": "orchard"},
        "is damaged": {**document, "version": "1"},
    }.items():
        with pytest.raises(ModelFileError, match=values):
            load(packed(path, good | {"model.json": json.dumps(changed).encode()}))
    with pytest.raises(ModelFileError, match="is compressed"):
        load(packed(path, good, zipfile.ZIP_DEFLATED))
    with pytest.raises(ModelFileError, match="its parts are not"):
        load(packed(path, good | {"../../evil": b"x"}))
    with pytest.raises(ModelFileError, match="There is no model"):
        load(tmp_path / "none")
    with pytest.raises(ModelFileError, match="is a folder"):
        load(tmp_path)


def test_made_up_sizes_allocate_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m"
    good = parts(tree().save(path))
    document = json.loads(good["model.json"])
    document["networks"]["eye@1"]["settings"] |= {"width": 10**9, "size": [10**6, 10**6]}
    with pytest.raises(ModelFileError, match="does not fit its parameters"):
        load(packed(path, good | {"model.json": json.dumps(document).encode()}))


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


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    save_each_kind(folder)
    return folder


# Every field of a file, with every odd value ---------------------------------------------------------
def _refused(path: Path, contents: dict[str, bytes], document: Any, match: str) -> None:
    with pytest.raises(NeuID3Error, match=match):
        load(packed(path, contents | {"model.json": written(document)}))


@pytest.mark.parametrize(
    ("location", "value", "match"),
    [
        (("tree", "classes", "values", 0), "\ud800", "is damaged"),
        (("tree", "classes", "values", 0), "loud", "at least two different classes"),
        (("tree", "classes"), {"type": "int8", "values": [1, 300]}, "are not int8"),
        (("tree", "classes"), {"type": "float32", "values": [1.0, 1e308]}, "are not float32"),
        (("tree", "nodes", 1, "masses"), [1.0, 2.0, 3.0], "3 masses and the tree 2 classes"),
        (("tree", "nodes", 1, "masses"), [1e308, 1e308], "finite in sum"),
        (("tree", "nodes", 1, "masses"), [-1.0, 1.0], "0 or more"),
        (("tree", "nodes", 0, "gain"), 10**400, "is damaged"),
        (("tree", "nodes", 0, "gain"), Raw("NaN"), "is damaged"),
        (("tree", "nodes", 1, "leaf"), [0.5, 0.5, 0.5], "no distribution"),
        (("tree", "nodes", 0, "test"), {"fact": "left"}, "is a tensor and no fact"),
        (("tree", "nodes", 0, "test"), {"fact": "suit"}, "is a category and no fact"),
        (("tree", "nodes", 0, "test"), {"column": "left", "at_most": 0.5}, "cannot be cut"),
        (("tree", "nodes", 0, "test"), {"column": "nothing", "at_most": 0.5}, "cannot be cut"),
        (("tree", "nodes", 0, "test"), {"column": "suit", "value": "spades"}, "has no value"),
        (("tree", "nodes", 0, "test", "instances"), {"eye": "nobody"}, "'nobody', which is not given"),
        (("schema", 0, "name"), "suit", "occurs twice"),
        (("schema", 1, "values"), ["a", "a"], "given twice"),
        (("schema", 1, "values"), [2**64], "too large"),
        (("schema", 3, "shape"), [2] * 33, "too many axes"),
        (("schema", 3, "shape"), [2**63, 2], "not a non-negative integer"),
        (("schema", 5), {"name": "signal", "kind": "distribution", "values": []}, "no values"),
        (("priors", "columns", "alarm"), 1.5, "a probability in"),
        (("priors", "networks", "ear(signal)"), [0.2, 0.2], "2 numbers"),
        (("priors", "networks", "ear(signal)"), [1e308], "not a distribution"),
        (("priors", "columns"), {"weight": {"shares": [[1.0, 0.0], [2.0, 0.0]]}}, "a mapping of numbers to weights"),
        (
            ("priors", "columns"),
            {"weight": {"shares": [[1.0, 1e308], [2.0, 1e308]]}},
            "a mapping of numbers to weights",
        ),
        (("priors", "columns"), {"suit": {"shares": [["hearts", 0.5], ["hearts", 0.5]]}}, "a value twice"),
        (("networks", "ear", "settings", "width"), 2**40, "does not fit its parameters"),
        (("version",), True, "its version is True"),
        (("version",), Raw('1, "version": 1'), "repeated key"),
        (("more",), nested(100), "nested too deeply"),
    ],
)
def test_what_a_tree_cannot_mean_is_refused_when_it_is_loaded(
    saved: Path, location: tuple[Any, ...], value: Any, match: str
) -> None:
    good = parts(saved / "tree")
    document = json.loads(good["model.json"])
    document["tree"]["nodes"][1]["masses"] = [1.0, 2.0]
    document["more"] = None
    _refused(saved / "changed", good, changed_at(document, location, value), match)


@pytest.mark.parametrize(
    ("location", "value", "match"),
    [
        (("features",), 3, "columns differ: 3 and 6"),
        (("features",), "6", "not a non-negative integer"),
        (("names",), ["a", "b"], "columns differ: 2 and 6"),
        (("names", 0), 7, "is not a string"),
        (("importances",), [1.0], "columns differ: 1 and 6"),
        (("importances", 0), -1.0, r"not in \[0, 1\]"),
        (("importances", 0), "1", "not a finite number"),
        (("steps",), -1, "not a non-negative integer"),
        (("parameters", "max_depth"), {"a": 1}, "its parameter max_depth"),
        (("parameters", "max_depth"), [[1]], "its parameter max_depth"),
        (("labels", "values", 0), 7, "not those of its tree"),
    ],
)
def test_what_a_classifier_cannot_mean_is_refused_when_it_is_loaded(
    saved: Path, location: tuple[Any, ...], value: Any, match: str
) -> None:
    good = parts(saved / "classifier")
    _refused(saved / "changed", good, changed_at(json.loads(good["model.json"]), location, value), match)


@pytest.mark.parametrize(
    "change",
    [
        *(
            lambda values, dtype=dtype: values.to(dtype)
            for dtype in (
                torch.float8_e4m3fn, torch.float8_e5m2, torch.float16, torch.bfloat16, torch.complex64, torch.int8,
                torch.int64, torch.bool,
            )
        ),
        lambda values: values * float("nan"),
    ],
)  # fmt: skip
def test_numbers_of_another_type_are_refused_when_they_are_loaded(saved: Path, change: Any) -> None:
    good = parts(saved / "tree")
    tensors = unpack(good["networks.safetensors"])
    for names in ([next(iter(tensors))], list(tensors)):
        changed = {name: change(values) if name in names else values for name, values in tensors.items()}
        with pytest.raises(ModelFileError, match=r"of another dtype|NaN"):
            load(packed(saved / "changed", good | {"networks.safetensors": pack(changed)}))


def test_a_network_is_in_one_precision_throughout(saved: Path) -> None:
    good = parts(saved / "tree")
    tensors = unpack(good["networks.safetensors"])
    double = {name: values.double() for name, values in tensors.items()}
    model: Any = load(packed(saved / "changed", good | {"networks.safetensors": pack(double)}))
    assert np.isfinite(model.predict_proba(examples())).all()
    first = next(iter(tensors))
    with pytest.raises(ModelFileError, match="of another dtype"):
        load(packed(saved / "changed", good | {"networks.safetensors": pack(double | {first: tensors[first]})}))


def test_numbers_that_belong_to_no_network_are_refused(saved: Path) -> None:
    good = parts(saved / "tree")
    tensors = unpack(good["networks.safetensors"]) | {"nobody/weight": torch.zeros(2)}
    with pytest.raises(ModelFileError, match="'nobody/weight' in the file belong to no network"):
        load(packed(saved / "changed", good | {"networks.safetensors": pack(tensors)}))


def test_a_network_whose_name_has_a_slash_comes_back(tmp_path: Path) -> None:
    X = examples()
    model = NeurosymbolicTree(
        neuid3.Tree(Branch("hum(signal)", Leaf(0.9), Branch("buzz(signal)", Leaf(0.7), Leaf(0.2)))),
        X.schema,
        background="nn('a', [S]) :: hum(S). nn('a/b', [S]) :: buzz(S).",
        networks={"a": neuid3.networks.defaults.Dense(1, [4]), "a/b": neuid3.networks.defaults.Dense(1, [4])},
    )
    loaded: Any = load(model.save(tmp_path / "m"))
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()


def test_what_no_file_can_hold_is_not_saved(tmp_path: Path) -> None:
    X = examples()
    tree = neuid3.Tree(Branch("alarm", Leaf(0.9), Leaf(0.2)), classes=("fine", "odd \ud800"))
    with pytest.raises(ModelFileError, match=r"The text 'odd \\ud800' cannot be written"):
        NeurosymbolicTree(tree, X.schema).save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_class_names_come_back_with_their_zeros(tmp_path: Path) -> None:
    tree = neuid3.Tree(Branch("alarm", Leaf(0.9), Leaf(0.2)), classes=("a", "a\0"))
    loaded: Any = load(NeurosymbolicTree(tree, examples().schema).save(tmp_path / "m"))
    assert loaded.tree == tree


# Deep trees ------------------------------------------------------------------------------------------
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
            nodes_from_json(rows)


def test_deep_trees_come_back_and_trees_beyond_measure_do_not() -> None:
    node: Any = Leaf(0.5)
    for i in range(900):
        node = Branch(f"a{i}", Leaf(0.25), node)
    document = nodes_to_json(node)
    assert nodes_to_json(nodes_from_json(document)) == document
    chain = [{"test": {"atom": "a"}, "gain": None, "yes": 2 * i + 1, "no": 2 * i + 2} for i in range(4000)]
    rows: list[Any] = []
    for link in chain:
        rows += [link, {"leaf": [0.5, 0.5]}]
    with pytest.raises(ValueError, match="too large"):
        nodes_from_json([*rows, {"leaf": [0.5, 0.5]}])


def test_tensors_are_not_read_from_outside(tmp_path: Path) -> None:
    """A file whose numbers are fewer than its network wants is refused, not filled with something else."""
    path = tmp_path / "m"
    good = parts(tree().save(path))
    with pytest.raises(ModelFileError, match="missing there"):
        load(packed(path, good | {"networks.safetensors": pack({"eye@1/other": torch.zeros(2)})}))
