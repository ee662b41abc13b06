"""How does a fit go on where it was stopped? Every finished node is on disk, and is looked up instead of learned again."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from neuid3.data.columns import Column
from neuid3.data.stores import Entries
from neuid3.errors import CheckpointError, NeuID3Error
from neuid3.io.container import READ_ERRORS, SavedFile, from_bytes, to_bytes
from neuid3.io.networks import tensors_of
from neuid3.io.serialize import Json, nodes_from_json, nodes_to_json, test_from_json, test_to_json
from neuid3.learning.grow import Floats, OpenNode, Split
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.sample import Instance
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Node
from neuid3.utils.files import write_atomically
from neuid3.utils.locks import FileLock

# A folder of another version cannot be gone on with.
VERSION = 2

_FIT, _LOCK = "fit.json", ".lock"
_HEADER = f"neuid3 checkpoint {VERSION} "


class Checkpoint:
    """A folder that belongs to one fit: what it learns from, and what it has learned so far, in order.

    As a context manager it holds the folder: no other fit may use it meanwhile. Every file carries a digest, which is
    there to notice damage and edits; it is no protection against somebody who computes digests.
    """

    def __init__(self, folder: Path | str, about: Mapping[str, str], seed: int) -> None:
        self.folder = Path(folder)
        self.seed = seed
        self._about = dict(about)
        self._digest = ""
        self._is_begun = False
        self._lock = FileLock(self.folder / _LOCK)

    def __enter__(self) -> Checkpoint:
        if self.folder.exists() and not self.folder.is_dir():
            raise CheckpointError(f"{self.folder} is no folder; give a folder for the checkpoint.")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._acquire()
        try:
            self._open()
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _acquire(self) -> None:
        try:
            is_ours = self._lock.acquire()
        except OSError as error:
            raise CheckpointError(
                f"{self._lock.path} cannot be locked ({error.strerror}); remove it, or give a folder that can be written to."
            ) from None
        if not is_ours:
            raise CheckpointError(
                f"The checkpoint in {self.folder} is in use by {self._lock.holder()}; "
                "wait until that fit ends, or give another folder."
            )

    def _open(self) -> None:
        entries = [entry for entry in self.folder.iterdir() if entry.name != _LOCK]
        for entry in entries:
            if _is_unfinished(entry):
                entry.unlink()
        path = self.folder / _FIT
        if os.path.lexists(path):
            self._go_on(path)
            return
        if any(_is_ours(entry) for entry in entries):
            raise CheckpointError(f"{path} is missing, which says what was learned from; {_anew(self.folder)}")
        if not all(_is_unfinished(entry) for entry in entries):
            raise CheckpointError(f"{self.folder} is not empty and holds no checkpoint; give an empty folder.")
        self._digest = _settings_digest(self.seed, self._about)

    def _begin(self) -> None:
        """Write down whose folder it is, now that there is something to keep: a fit that was refused leaves nothing."""
        if not self._is_begun:
            settings = {"version": VERSION, "seed": self.seed, "about": self._about, "digest": self._digest}
            write_atomically(self.folder / _FIT, (json.dumps(settings, indent=1) + "\n").encode())
            self._is_begun = True

    def _go_on(self, path: Path) -> None:
        with _damaged(path):
            settings = json.loads(_content(path).decode())
            if not isinstance(settings, dict):
                raise ValueError("it is no JSON object")
            version = settings.get("version", 1)
            if version != VERSION:
                raise CheckpointError(
                    f"The checkpoint in {self.folder} was written by another version of neuid3 (format {version!r:.20}; this "
                    f"one goes on with format {VERSION}); finish the fit with that version, or {_anew(self.folder)}"
                )
            kept, seed = settings["about"], settings["seed"]
            if settings["digest"] != _settings_digest(seed, kept):
                raise ValueError("its digest is another")
        differs = sorted(name for name in {*kept, *self._about} if kept.get(name) != self._about.get(name))
        if differs:
            shown = ", ".join(differs[:5]) + (", …" if len(differs) > 5 else "")
            raise CheckpointError(
                f"The checkpoint in {self.folder} is of another fit: {shown} differ{'s' if len(differs) == 1 else ''}; "
                "go on with what it was started with, or give an empty folder."
            )
        self.seed = seed  # whatever the random_state is by now, a fit that goes on draws what it drew before
        self._digest, self._is_begun = settings["digest"], True

    def path(self, number: int) -> Path:
        return self.folder / f"node-{number:05}.neuid3"

    @property
    def whole(self) -> Path:
        """Where the finished tree is, after it was trained as one."""
        return self.folder / "tree.neuid3"

    def write(self, path: Path, saved: SavedFile) -> None:
        """Keep a file, under a digest of this fit, the file's name and its content."""
        self._begin()
        content = to_bytes(saved)
        write_atomically(path, f"{_HEADER}{self._file_digest(path, content)}\n".encode() + content)

    def read(self, path: Path) -> SavedFile | None:
        """What was kept in a file, if it was."""
        if not os.path.lexists(path):
            return None
        with _damaged(path):
            header, _, content = _content(path).partition(b"\n")
            if header.decode() != f"{_HEADER}{self._file_digest(path, content)}":
                raise ValueError("its digest is another")
            return from_bytes(content, path)

    def _file_digest(self, path: Path, content: bytes) -> str:
        return hashlib.sha256(f"{self._digest} {path.name}\n".encode() + content).hexdigest()


def _settings_digest(seed: Any, about: Any) -> str:
    return hashlib.sha256(json.dumps([VERSION, seed, about], sort_keys=True).encode()).hexdigest()


def _content(path: Path) -> bytes:
    if not path.is_file():  # a pipe would be waited for
        raise ValueError("it is no regular file")
    return path.read_bytes()


@contextmanager
def _damaged(path: Path) -> Iterator[None]:
    """Whatever goes wrong inside is the file's fault."""
    try:
        yield
    except CheckpointError:
        raise
    except (*READ_ERRORS, NeuID3Error, OSError) as error:
        raise CheckpointError(f"{path} is damaged ({_reason(error)}); {_anew(path.parent)}") from None


@contextmanager
def _fitting(path: Path) -> Iterator[None]:
    """The file is whole: whatever goes wrong inside, networks or rules are not what they were."""
    try:
        yield
    except NeuID3Error:
        raise
    except READ_ERRORS as error:
        raise CheckpointError(
            f"{path} does not go with the networks of this fit ({_reason(error)}); go on with those that it was started "
            f"with, or {_anew(path.parent)}"
        ) from None


def _anew(folder: Path) -> str:
    return f"delete the folder {folder} and start the fit anew."


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


class CheckpointedLearner:
    """A learner that writes down what it finds, and finds what it has written down before."""

    def __init__(self, learner: NodeLearner, checkpoint: Checkpoint) -> None:
        self.learner, self.checkpoint = learner, checkpoint
        self.number = 0

    def masses(self, place: OpenNode) -> Floats:
        return self.learner.masses(place)

    def best(self, place: OpenNode) -> Split | None:
        path = self.checkpoint.path(self.number)
        self.number += 1
        where = [[test_to_json(test), answer] for test, answer in place.path]
        saved = self.checkpoint.read(path)
        if saved is not None:
            with _fitting(path):
                if saved.fields["where"] != where:
                    raise ValueError("it is of another node")
                return self._recalled(place, saved)
        before = dict(self.learner.instances)
        split = self.learner.best(place)
        new = {name: instance for name, instance in self.learner.instances.items() if name not in before}
        words = {"kind": "node", "where": where, "split": _split_to_words(split), **self._state(new)}
        tensors = tensors_of({name: instance.module for name, instance in new.items()})
        self.checkpoint.write(path, SavedFile(words, "", tensors))
        return split

    def _state(self, instances: Mapping[str, Instance]) -> Json:
        told = {
            name: {"network": i.network, "read": sorted(i.read), "frozen": i.frozen, "reader": i.reader}
            for name, i in instances.items()
        }
        return {"instances": told, "count": self.learner.count, "steps": self.learner.steps}

    def _recalled(self, place: OpenNode, saved: SavedFile) -> Split | None:
        words, learner = saved.fields, self.learner
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
        test = test_from_json(split["test"])
        asked = None if split["asked"] is None else _same(test_from_json(split["asked"]), place)
        return learner.asked(place, test, float(split["gain"]), bool(split["vouched"]), asked, float(split["among"]))

    def refine(self, root: Node) -> Node:
        """The finished tree trained as one, or as it was after that."""
        path = self.checkpoint.whole
        saved = self.checkpoint.read(path)
        if saved is not None:
            with _fitting(path):
                modules = {
                    name: _filled(copy.deepcopy(self.learner.instances[name].module), name, saved.tensors)
                    for name in saved.fields["networks"]
                }
                self.learner.refined(modules, int(saved.fields["steps"]))
                return nodes_from_json(saved.fields["nodes"])
        before = {name: instance.module for name, instance in self.learner.instances.items()}
        refined = self.learner.refine(root)
        moved = {n: i.module for n, i in self.learner.instances.items() if before.get(n) is not i.module}
        words = {
            "kind": "whole",
            "nodes": nodes_to_json(refined),
            "networks": sorted(moved),
            "steps": self.learner.steps,
        }
        self.checkpoint.write(path, SavedFile(words, "", tensors_of(moved)))
        return refined


_OURS = re.compile(r"fit\.json|node-[0-9]+\.neuid3|tree\.neuid3")


def _is_ours(path: Path) -> bool:
    return _OURS.fullmatch(path.name) is not None


def _is_unfinished(path: Path) -> bool:
    """Is this what is left of a file that was being written when somebody was stopped?"""
    return re.fullmatch(rf"\.({_OURS.pattern})\..*\.tmp", path.name) is not None


def fit_digests(parameters: Mapping[str, Any], columns: Mapping[str, Column], **more: Any) -> dict[str, str]:
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


def _split_to_words(split: Split | None) -> Json | None:
    if split is None:
        return None
    return {
        "test": test_to_json(split.test),
        "gain": split.gain,
        "vouched": split.vouched,
        "asked": None if split.asked is None else test_to_json(split.asked),
        "among": split.among,
    }


def _same(test: NodeTest, place: OpenNode) -> NodeTest:
    if test not in place.tests:
        raise ValueError(f"it asks '{test}', which is no candidate")
    return test


def _filled(network: nn.Module, name: str, tensors: Mapping[str, torch.Tensor]) -> nn.Module:
    own = {key.split("/", 1)[1]: values for key, values in tensors.items() if key.split("/", 1)[0] == name}
    network.load_state_dict(own)
    return network
