"""Model files: what is saved comes back, old files stay readable, and made-up files do no harm."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import pickle
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
import torch
from golden.make import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_parts import Raw, changed_at, nested, packed, parts, save_each_kind, values, written
from uses import uses

from neuid3 import NeuID3Classifier, NeuID3Error, TrainingConfig, load
from neuid3.io.trained_tests import TrainedTest

MANY = int(os.environ.get("NEUID3_FUZZ", "60"))

# What takes longer than a prediction.
SLOW = {"plot", "page", "explain", "draw why", "problog", "deepproblog", "svg", "text", "save", "pickle", "deepcopy"}


# What is saved comes back ---------------------------------------------------------------------------
def test_a_trained_test_is_saved_and_reused_in_the_next_tree(tmp_path: Path) -> None:
    X = examples(80)
    y = X.column("left").values.mean((1, 2)) > 0.5
    how = {"random_state": 0, "pruning": 0.0, "training": TrainingConfig(epochs=2, restarts=1, joint_epochs=0)}
    clf = NeuID3Classifier(background="nn(n, [I]) :: seen(I).", tests=["seen(left)"], **how).fit(X, y)
    (test,) = clf.tests_
    loaded: Any = load(test.save(tmp_path / "test.neuid3"))
    assert str(loaded) == "seen(left)"
    assert loaded.columns == test.columns
    assert loaded.background == test.background
    second = NeuID3Classifier(background="nn(n, [I]) :: seen(I).", tests=[loaded], **how).fit(X, y)
    (before,), (after,) = test.networks.values(), second.networks_.values()
    assert all(torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True))


# Files that somebody made up ------------------------------------------------------------------------
def _locations(document: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every location in a JSON document."""
    inside: list[tuple[Any, Any]] = []
    if isinstance(document, dict):
        inside = list(document.items())
    elif isinstance(document, list):
        inside = list(enumerate(document))
    return [at, *(location for key, value in inside for location in _locations(value, (*at, key)))]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    save_each_kind(folder)
    return folder


@settings(max_examples=MANY, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_document_says_only_our_errors_are_raised(saved: Path, data: st.DataObject) -> None:
    good = parts(saved / data.draw(st.sampled_from(["classifier", "tree"])))
    document = json.loads(good["model.json"])
    for _ in range(data.draw(st.integers(1, 3))):
        locations = _locations(document)
        document = changed_at(document, locations[data.draw(st.integers(0, len(locations) - 1))], data.draw(values))
    _loads_or_complains(packed(saved / "changed", good | {"model.json": json.dumps(document).encode()}))


@settings(max_examples=MANY, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_the_bytes_are_only_our_errors_come_out(saved: Path, data: st.DataObject) -> None:
    content = bytearray((saved / data.draw(st.sampled_from(["classifier", "tree"]))).read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    changed = saved / "changed"
    changed.write_bytes(content[: data.draw(st.integers(1, len(content)))] if data.draw(st.booleans()) else content)
    _loads_or_complains(changed)


def _loads_or_complains(path: Path, but: Collection[str] = ()) -> None:
    """Whatever loads can be used in all ways `but` these, or says in an error of ours why not."""
    try:
        model: Any = load(path)
    except NeuID3Error:
        return
    if isinstance(model, TrainedTest):
        with contextlib.suppress(NeuID3Error):
            load(model.save(path.parent / "again"))
        repr(model), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)
        return
    for name, use in uses(model, examples(), path.parent).items():
        if name not in but:
            with contextlib.suppress(NeuID3Error):
                use()


# Every field of a file, with every odd value ---------------------------------------------------------
ODD: dict[str, Any] = {
    "none": None,
    "true": True,
    "zero": 0,
    "minus one": -1,
    "a fraction": 0.3,
    "huge": 1e308,
    "tiny": 5e-324,
    "past int64": 2**63,
    "past uint64": 2**64,
    "not a number": Raw("NaN"),
    "infinite": Raw("-Infinity"),
    "overflowing": Raw("1e999"),
    "many digits": Raw("1" * 5000),
    "empty text": "",
    "half a letter": "\ud800",
    "NUL": "a\0",
    "long text": "x" * 100_000,
    "another language": "<b>&'\"\n葉\u202e",
    "empty list": [],
    "empty object": {},
    "list of texts": ["a", "b"],
    "list of numbers": [1e308, 1e308],
    "deep list": Raw("[" * 10_000 + "]" * 10_000),
    "rather deep list": nested(200),
    "said twice": Raw('{"a": 1, "a": 2}'),
}


def _kind_of(location: tuple[Any, ...]) -> tuple[Any, ...]:
    """Entries of a list are of one kind: the first of them stands for all."""
    if location[:1] == ("parameters",):
        location = location[:1] + (0,) * (len(location) - 1)
    return tuple("*" if isinstance(key, int) else key for key in location)


def _fields(document: Any) -> list[tuple[Any, ...]]:
    found: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for location in _locations(document):
        found.setdefault(_kind_of(location), location)
    return list(found.values())


@pytest.mark.parametrize("name", ["classifier", "tree", "test"])
@pytest.mark.parametrize("odd", ODD)
def test_whatever_a_field_holds_only_our_errors_come_out(saved: Path, name: str, odd: str) -> None:
    good = parts(saved / name)
    document = json.loads(good["model.json"])
    for number, location in enumerate(_fields(document)):
        changed = written(changed_at(document, location, ODD[odd]))
        # `make fuzz` uses all of them in all ways, and a quick run every fifth; whatever loads predicts and is shown.
        but = () if MANY > 60 or (number + list(ODD).index(odd)) % 5 == 0 else SLOW
        _loads_or_complains(packed(saved / "changed", good | {"model.json": changed}), but)


# Deep trees ------------------------------------------------------------------------------------------
questions = st.sampled_from(
    [
        {"fact": "alarm"},
        {"atom": "alarm"},
        {"column": "suit", "value": "hearts"},
        {"column": "suit", "value": "other"},
        {"column": "weight", "at_most": 0.25},
        {"column": "weight", "at_most": -1e308},
        {"column": "weight", "at_most": 5e-324},
        {"atom": "weight > 0"},
        {"atom": "level(left, high)", "instances": {"eye": "eye@1"}},
        {"atom": "louder(left, right)", "instances": {"eye": "eye@1"}},
        {"atom": "hum(signal)"},
        {"fact": "left"},
    ]
)


edges = st.sampled_from([0, 1, 0.0, -0.0, 5e-324, 1e-6, 0.5, 1.0 - 2**-53, 1.0 + 2**-52, 2**53, 1e300, 1e308])


@settings(max_examples=max(MANY // 20, 8), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_tree_a_file_has_only_our_errors_come_out(saved: Path, data: st.DataObject) -> None:
    """Trees of all shapes, some of them hundreds of levels deep, with values at the edges of their types."""
    good = parts(saved / "tree")
    document = json.loads(good["model.json"])
    depth = data.draw(st.sampled_from([0, 1, 3, 8, 40, 300]))
    tests = data.draw(st.lists(questions, min_size=1, max_size=6))
    rows: list[Any] = []
    for level in range(depth):
        leaf_first = data.draw(st.booleans()) if depth < 40 else True
        number = len(rows)
        sides = (number + 1, number + 2) if leaf_first else (number + 2, number + 1)
        rows.append({"test": tests[level % len(tests)], "gain": None, "yes": sides[0], "no": sides[1]})
        rows.append({"leaf": [0.25, 0.75]})
    rows.append({"leaf": [0.5, 0.5]})
    for row in data.draw(st.lists(st.sampled_from(rows), max_size=3)):
        row["masses"] = [data.draw(edges), data.draw(edges)]
        if "test" in row:
            row["gain"] = data.draw(edges)
        elif data.draw(st.booleans()):
            row["leaf"] = [data.draw(edges), data.draw(edges)]
    document["tree"]["nodes"] = rows
    if data.draw(st.booleans()):
        document["schema"][2] = {"name": "weight", "kind": "number"}
        document["priors"]["columns"]["weight"] = {"shares": [[data.draw(edges), data.draw(edges)], [2.5, 1.0]]}
    else:
        document["priors"]["columns"] = {}
    _loads_or_complains(
        packed(saved / "changed", good | {"model.json": json.dumps(document).encode()}), but=SLOW if depth > 40 else ()
    )
