"""Parts of model files, and changes of them that nobody who saves a model would make."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from golden.make import RULES, classifier, examples, tree
from hypothesis import strategies as st

from neuid3.io.trained_tests import TrainedTest
from neuid3.networks.defaults import LeNet
from neuid3.tree.node_tests import AtomTest


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path: Path, contents: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def changed_at(document: Any, location: tuple[Any, ...], value: Any) -> Any:
    if not location:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[location[0]] = changed_at(copy[location[0]], location[1:], value)
    return copy


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


class Raw(str):
    """JSON as it is to be written, which need not be what Python would write."""


def written(document: Any) -> bytes:
    """JSON in which raw values stand as they are."""
    raw: dict[str, str] = {}

    def marked(value: Any) -> Any:
        if isinstance(value, Raw):
            raw[f"raw {len(raw)}"] = value
            return f"raw {len(raw) - 1}"
        if isinstance(value, dict):
            return {key: marked(inner) for key, inner in value.items()}
        return [marked(inner) for inner in value] if isinstance(value, list) else value

    text = json.dumps(marked(document))
    for mark, value in raw.items():
        text = text.replace(f'"{mark}"', value)
    return text.encode()


def save_each_kind(folder: Path) -> None:
    """Save a classifier, a tree and a trained test."""
    classifier().save(folder / "classifier")
    tree().save(folder / "tree")
    networks: Any = {"eye@1": LeNet(3, size=6)}
    details = {"columns": {"left": examples().schema["left"]}, "card": {"means": "bright", "scores": [0.5]}}
    test = AtomTest("level(left, high)", (("eye", "eye@1"),))
    TrainedTest(test, networks, background=RULES, **details).save(folder / "test")
