"""How does a fit go on where it was stopped? Every finished node is on disk, and is looked up instead of learned again."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from neuid3.columns import Column
from neuid3.disk import write_whole
from neuid3.errors import CheckpointError
from neuid3.induce import Floats, Place, Split
from neuid3.learn import Instance, NodeLearner
from neuid3.nodetest import NodeTest
from neuid3.saved.container import Saved, blaming, read, write
from neuid3.saved.networks import tensors_of
from neuid3.saved.words import Words, nodes_from_words, nodes_to_words, question_from_words, question_to_words
from neuid3.stores import Entries
from neuid3.tree import Node

_ABOUT = "fit.json"


class Checkpoint:
    """A folder that belongs to one fit: what it learns from, and what it has learned so far, in order."""

    def __init__(self, folder: Path | str, about: Mapping[str, str], seed: int) -> None:
        self.folder = Path(folder)
        self.seed = seed
        if self.folder.exists() and not self.folder.is_dir():
            raise CheckpointError(f"{self.folder} is no folder; give a folder for the checkpoint.")
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / _ABOUT
        if path.exists():
            self._go_on(path, about)
        elif any(not _is_unfinished(entry) for entry in self.folder.iterdir()):
            raise CheckpointError(f"{self.folder} is not empty and holds no checkpoint; give an empty folder.")
        self._begun = None if path.exists() else {"seed": seed, "about": dict(about)}

    def begin(self) -> None:
        """Write down whose folder it is, now that there is something to keep: a fit that was refused leaves nothing."""
        if self._begun is not None:
            write_whole(self.folder / _ABOUT, (json.dumps(self._begun, indent=1) + "\n").encode())
            self._begun = None

    def _go_on(self, path: Path, about: Mapping[str, str]) -> None:
        with blaming(path):
            words = json.loads(path.read_text(encoding="utf-8"))
            kept, seed = dict(words["about"]), int(words["seed"])
        differs = sorted(name for name in {*kept, *about} if kept.get(name) != about.get(name))
        if differs:
            shown = ", ".join(differs[:5]) + (", …" if len(differs) > 5 else "")
            raise CheckpointError(
                f"The checkpoint in {self.folder} is of another fit: {shown} differ{'s' if len(differs) == 1 else ''}; "
                "go on with what it was started with, or give an empty folder."
            )
        self.seed = seed  # whatever the random_state is by now, a fit that goes on draws what it drew before

    def path(self, number: int) -> Path:
        return self.folder / f"node-{number:05}.neuid3"

    @property
    def whole(self) -> Path:
        """Where the finished tree is, after it was trained as one."""
        return self.folder / "tree.neuid3"


class Remembering:
    """A learner that writes down what it finds, and finds what it has written down before."""

    def __init__(self, learner: NodeLearner, checkpoint: Checkpoint) -> None:
        self.learner, self.checkpoint = learner, checkpoint
        self.number = 0

    def masses(self, place: Place) -> Floats:
        return self.learner.masses(place)

    def best(self, place: Place) -> Split | None:
        path = self.checkpoint.path(self.number)
        self.number += 1
        where = [[question_to_words(test), answer] for test, answer in place.path]
        if path.exists():
            saved = read(path)
            with blaming(path):
                if saved.words["where"] != where:
                    raise ValueError("it is of another node")
                return self._recalled(place, saved)
        before = dict(self.learner.instances)
        split = self.learner.best(place)
        self.checkpoint.begin()
        new = {name: instance for name, instance in self.learner.instances.items() if name not in before}
        words = {"kind": "node", "where": where, "split": _split_to_words(split), **self._state(new)}
        write(path, Saved(words, "", tensors_of({name: instance.module for name, instance in new.items()})))
        return split

    def _state(self, instances: Mapping[str, Instance]) -> Words:
        told = {
            name: {"network": i.network, "read": sorted(i.read), "frozen": i.frozen, "reader": i.reader}
            for name, i in instances.items()
        }
        return {"instances": told, "count": self.learner.count, "steps": self.learner.steps}

    def _recalled(self, place: Place, saved: Saved) -> Split | None:
        words, learner = saved.words, self.learner
        found = {}
        for name, told in words["instances"].items():
            module = _filled(learner.network(told["network"]), name, saved.tensors)
            found[name] = Instance(
                module.to(learner.device), told["network"], frozenset(told["read"]), told["frozen"], told["reader"]
            )
        learner.recall(found, int(words["count"]), int(words["steps"]))
        split = words["split"]
        if split is None:
            return None
        test = question_from_words(split["test"])
        asked = None if split["asked"] is None else _same(question_from_words(split["asked"]), place)
        return learner.asked(place, test, float(split["gain"]), bool(split["vouched"]), asked, float(split["among"]))

    def refine(self, root: Node) -> Node:
        """The finished tree trained as one, or as it was after that."""
        path = self.checkpoint.whole
        if path.exists():
            saved = read(path)
            with blaming(path):
                modules = {
                    name: _filled(copy.deepcopy(self.learner.instances[name].module), name, saved.tensors)
                    for name in saved.words["networks"]
                }
                self.learner.refined(modules, int(saved.words["steps"]))
                return nodes_from_words(saved.words["nodes"])
        before = {name: instance.module for name, instance in self.learner.instances.items()}
        refined = self.learner.refine(root)
        self.checkpoint.begin()
        moved = {n: i.module for n, i in self.learner.instances.items() if before.get(n) is not i.module}
        words = {
            "kind": "whole",
            "nodes": nodes_to_words(refined),
            "networks": sorted(moved),
            "steps": self.learner.steps,
        }
        write(path, Saved(words, "", tensors_of(moved)))
        return refined


def _is_unfinished(path: Path) -> bool:
    """Is this what is left of a file that was being written when somebody was stopped?"""
    return path.name.startswith(".") and path.name.endswith(".tmp")


def about_fit(parameters: Mapping[str, Any], columns: Mapping[str, Column], **more: Any) -> dict[str, str]:
    """What a fit depends on, by name, each as a short digest: parameters, columns, labels and weights."""
    told = {f"parameter {name!r}": _digest(value) for name, value in parameters.items()}
    told |= {f"column {name!r}": _digest((c.kind, c.values, c.missing)) for name, c in columns.items()}
    return told | {f"{name}": _digest(value) for name, value in more.items()}


def _digest(value: Any) -> str:
    found = hashlib.sha256()
    _feed(found, value)
    return found.hexdigest()[:16]


def _feed(found: Any, value: Any) -> None:
    match value:
        case np.ndarray() if value.dtype != object:
            found.update(f"{value.dtype.str}{value.shape}".encode())
            found.update(np.ascontiguousarray(value).view(np.uint8).data)
        case Entries():  # as if it were an array, some entries at a time
            found.update(f"{value.dtype.str}{value.shape}".encode())
            for block in value.blocks():
                found.update(np.ascontiguousarray(block).view(np.uint8).data)
        case torch.Tensor():
            _feed(found, value.detach().cpu().numpy())
        case nn.Module():
            found.update(str(value).encode())
            _feed(found, value.state_dict())
        case np.random.RandomState() | np.random.Generator():
            found.update(type(value).__name__.encode())  # its state is another one after every draw
        case np.generic():
            _feed(found, value.item())
        case bytes():
            found.update(value)
        case Mapping():
            for key, held in value.items():
                found.update(f"{key}=".encode())
                _feed(found, held)
        case list() | tuple() | np.ndarray():
            found.update(f"{len(value)}:".encode())
            for held in value:
                _feed(found, held)
        case _ if callable(value) and not isinstance(value, NodeTest):
            # What a function would make cannot be told without calling it; its name has to do.
            found.update(getattr(value, "__qualname__", type(value).__qualname__).encode())
        case _:
            networks = getattr(value, "networks", None)
            if networks is None:
                found.update(repr(value).encode())
            else:  # a trained test
                found.update(str(value).encode())
                _feed(found, networks)


def _split_to_words(split: Split | None) -> Words | None:
    if split is None:
        return None
    return {
        "test": question_to_words(split.test),
        "gain": split.gain,
        "vouched": split.vouched,
        "asked": None if split.asked is None else question_to_words(split.asked),
        "among": split.among,
    }


def _same(test: NodeTest, place: Place) -> NodeTest:
    if test not in place.tests:
        raise ValueError(f"it asks '{test}', which is no candidate")
    return test


def _filled(network: nn.Module, name: str, tensors: Mapping[str, torch.Tensor]) -> nn.Module:
    own = {key.split("/", 1)[1]: values for key, values in tensors.items() if key.split("/", 1)[0] == name}
    network.load_state_dict(own)
    return network
