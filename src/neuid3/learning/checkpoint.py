"""Checkpoints of a fit: every finished node is saved, and loaded instead of learned when the fit is resumed."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neuid3.data.columns import Column
from neuid3.data.parts import GroupedRows
from neuid3.data.stores import StoredRows
from neuid3.errors import CheckpointError, NeuID3Error
from neuid3.io.container import READ_ERRORS, SavedFile, from_bytes, to_bytes
from neuid3.io.networks import tensors_of
from neuid3.io.serialize import Json, nodes_from_json, nodes_to_json
from neuid3.learning.candidates import Candidates
from neuid3.learning.goals import GoalCandidates
from neuid3.learning.grow import Floats, OpenNode, Split
from neuid3.learning.node_learner import NodeLearner
from neuid3.learning.sample import Instance
from neuid3.networks.backend import Backend
from neuid3.training.config import TrainingConfig
from neuid3.tree.criteria import Criterion
from neuid3.tree.node_tests import NodeTest, test_from_json, test_to_json
from neuid3.tree.tree import Node
from neuid3.utils.files import write_atomically
from neuid3.utils.locks import FileLock

if TYPE_CHECKING:
    from torch import nn

    from neuid3.learning.regrow import Regrower

# The format of the folder; a fit cannot be resumed from another one.
VERSION = 4

_FIT, _LOCK = "fit.json", ".lock"
_HEADER = f"neuid3 checkpoint {VERSION} "


class Checkpoint:
    """The folder of one fit: digests of its parameters and data, and the nodes learned so far, in order.

    As a context manager it locks the folder against other fits. Every file carries a digest, which detects damage and
    edits; it is no protection against an attacker who computes digests.

    Parameters
    ----------
    folder : the folder, made if it does not exist.
    about : digests of what the fit depends on, by name.
    seed : the seed of the fit; that of the folder takes its place when a fit is resumed.

    Raises
    ------
    CheckpointError : on entry, where the folder is in use, damaged, of another fit or no checkpoint.
    """

    def __init__(self, folder: Path | str, about: Mapping[str, str], seed: int) -> None:
        self.folder = Path(folder)
        self.seed = seed
        self._about = dict(about)
        self._digest = ""
        self._is_described = False
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
        """Lock the folder."""
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
        """Remove temporary files, and check whether a fit can start or be resumed here."""
        entries = [entry for entry in self.folder.iterdir() if entry.name != _LOCK]
        for entry in entries:
            if _is_unfinished(entry):
                entry.unlink()
        path = self.folder / _FIT
        if os.path.lexists(path):
            self._resume(path)
            return
        if any(_is_ours(entry) for entry in entries):
            raise CheckpointError(f"{path} is missing, which describes the fit; {_start_anew(self.folder)}")
        if not all(_is_unfinished(entry) for entry in entries):
            raise CheckpointError(f"{self.folder} is not empty and holds no checkpoint; give an empty folder.")
        self._digest = _settings_digest(self.seed, self._about)

    def _describe(self) -> None:
        """Write the description of the fit, once there is a node to save: a fit that was refused leaves no file."""
        if not self._is_described:
            settings = {"version": VERSION, "seed": self.seed, "about": self._about, "digest": self._digest}
            write_atomically(self.folder / _FIT, (json.dumps(settings, indent=1) + "\n").encode())
            self._is_described = True

    def _resume(self, path: Path) -> None:
        """Check that the description of the fit is intact and of this fit, and take over its seed."""
        with _damaged(path):
            settings = json.loads(_content(path).decode())
            if not isinstance(settings, dict):
                raise ValueError("it is no JSON object")
            version = settings.get("version", 1)
            if version != VERSION:
                raise CheckpointError(
                    f"The checkpoint in {self.folder} was written by another version of neuid3 (format {version!r:.20}; this "
                    f"one resumes format {VERSION}); finish the fit with that version, or {_start_anew(self.folder)}"
                )
            about, seed = settings["about"], settings["seed"]
            if settings["digest"] != _settings_digest(seed, about):
                raise ValueError("its digest does not match")
        differs = sorted(name for name in {*about, *self._about} if about.get(name) != self._about.get(name))
        if differs:
            shown = ", ".join(differs[:5]) + (", …" if len(differs) > 5 else "")
            raise CheckpointError(
                f"The checkpoint in {self.folder} belongs to another fit: {shown} differ{'s' if len(differs) == 1 else ''}; "
                "resume it with what it was started with, or give an empty folder."
            )
        self.seed = seed  # whatever random_state is now, a resumed fit repeats the draws of the first
        self._digest, self._is_described = settings["digest"], True

    def path(self, number: int) -> Path:
        """The file of a node, by its number.

        Parameters
        ----------
        number : the number of the node, in the order in which nodes are learned.

        Returns
        -------
        The path, whether the file exists or not.
        """
        return self.folder / f"node-{number:05}.neuid3"

    def tree_path(self, number: int) -> Path:
        """The file of a tree after joint training.

        Parameters
        ----------
        number : the number of the joint training, in order.

        Returns
        -------
        The path, whether the file exists or not.
        """
        return self.folder / f"tree-{number:02}.neuid3"

    def pretrained_path(self, number: int) -> Path:
        """The file of pretrained networks.

        Parameters
        ----------
        number : the number of the pretraining, in order.

        Returns
        -------
        The path, whether the file exists or not.
        """
        return self.folder / f"pretrained-{number:02}.neuid3"

    def write(self, path: Path, saved: SavedFile) -> None:
        """Write a file, under a digest of the fit, of the file's name and of its content.

        Parameters
        ----------
        path : a file of the checkpoint.
        saved : its content.
        """
        self._describe()
        content = to_bytes(saved)
        write_atomically(path, f"{_HEADER}{self._file_digest(path, content)}\n".encode() + content)

    def read(self, path: Path) -> SavedFile | None:
        """The content of a file; None where it does not exist.

        Parameters
        ----------
        path : a file of the checkpoint.

        Returns
        -------
        Its content, or None.
        """
        if not os.path.lexists(path):
            return None
        with _damaged(path):
            header, _, content = _content(path).partition(b"\n")
            if header.decode() != f"{_HEADER}{self._file_digest(path, content)}":
                raise ValueError("its digest does not match")
            return from_bytes(content, path)

    def _file_digest(self, path: Path, content: bytes) -> str:
        return hashlib.sha256(f"{self._digest} {path.name}\n".encode() + content).hexdigest()


def _settings_digest(seed: Any, about: Any) -> str:
    return hashlib.sha256(json.dumps([VERSION, seed, about], sort_keys=True).encode()).hexdigest()


def _content(path: Path) -> bytes:
    if not path.is_file():  # reading a pipe would block
        raise ValueError("it is no regular file")
    return path.read_bytes()


@contextmanager
def _damaged(path: Path) -> Iterator[None]:
    """Turn any failure inside into an error about a damaged file."""
    try:
        yield
    except CheckpointError:
        raise
    except (*READ_ERRORS, NeuID3Error, OSError) as error:
        raise CheckpointError(f"{path} is damaged ({_reason(error)}); {_start_anew(path.parent)}") from None


@contextmanager
def _mismatched(path: Path) -> Iterator[None]:
    """Turn any failure inside into an error about networks or rules that do not match a file, which is intact."""
    try:
        yield
    except NeuID3Error:
        raise
    except READ_ERRORS as error:
        raise CheckpointError(
            f"{path} does not match the networks of this fit ({_reason(error)}); resume it with those that it was "
            f"started with, or {_start_anew(path.parent)}"
        ) from None


def _start_anew(folder: Path) -> str:
    return f"delete the folder {folder} and start the fit anew."


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


class CheckpointedLearner:
    """A learner that saves every split, and loads those that a checkpoint has instead of learning them."""

    def __init__(self, learner: NodeLearner, checkpoint: Checkpoint) -> None:
        self.learner, self.checkpoint = learner, checkpoint
        self.number = 0  # of the next node
        self.joint_number = self.pretraining_number = 0  # of the next joint training and of the next pretraining
        self.inference, self.config, self.progress = learner.inference, learner.config, learner.progress
        self.penalty = learner.penalty

    @property
    def criterion(self) -> Criterion:
        """What is counted, how good a split is, what a leaf says."""
        return self.learner.criterion

    @property
    def steps(self) -> int:
        """The number of gradient steps so far."""
        return self.learner.steps

    def leaf_statistics(self, node: OpenNode) -> Floats:
        """The statistics of the targets that a leaf at this node is estimated from, `(statistic,)`."""
        return self.learner.leaf_statistics(node)

    def best_split(self, node: OpenNode) -> Split | None:
        """The split of a node, loaded where the checkpoint has it."""
        path = self.checkpoint.path(self.number)
        self.number += 1
        path_json = [[test_to_json(test), response] for test, response in node.path]
        saved = self.checkpoint.read(path)
        if saved is not None:
            with _mismatched(path):
                if saved.fields["where"] != path_json:
                    raise ValueError("it belongs to another node")
                return self._restored(node, saved)
        before = dict(self.learner.instances)
        split = self.learner.best_split(node)
        new = {name: instance for name, instance in self.learner.instances.items() if name not in before}
        content = {"kind": "node", "where": path_json, "split": _split_to_json(split), **self._state(new)}
        tensors = tensors_of({name: instance.module for name, instance in new.items()})
        self.checkpoint.write(path, SavedFile(content, "", tensors))
        return split

    def _state(self, instances: Mapping[str, Instance]) -> Json:
        """The state of the learner as JSON, with these new instances."""
        entries = {
            name: {"network": i.network, "trained_on": sorted(i.trained_on), "frozen": i.frozen, "shared": i.is_shared}
            for name, i in instances.items()
        }
        return {"instances": entries, "count": self.learner.count, "steps": self.learner.steps}

    def _restored(self, node: OpenNode, saved: SavedFile) -> Split | None:
        """The split of a saved node; restores the state of the learner after it."""
        content, learner = saved.fields, self.learner
        offered = learner.offered(node)
        self._restore_instances(saved)
        split = content["split"]
        if split is None:
            return None
        test = test_from_json(split["test"])
        candidate = None if split["candidate"] is None else _checked(test_from_json(split["candidate"]), node, offered)
        gain, choices = float(split["gain"]), float(split["choices"])
        return learner.make_split(node, test, gain, bool(split["validated"]), candidate, choices)

    def _restore_instances(self, saved: SavedFile) -> None:
        """Restore the networks of a file, and the numbers of networks and of gradient steps."""
        content, learner, instances = saved.fields, self.learner, {}
        for name, entry in content["instances"].items():
            module = _filled(learner.network(entry["network"]), name, saved.tensors)
            instances[name] = Instance(
                module.to(learner.device),
                entry["network"],
                frozenset(entry["trained_on"]),
                entry["frozen"],
                entry["shared"],
            )
        learner.restore(instances, int(content["count"]), int(content["steps"]))

    def reread(self, root: Node, first_form: bool = False) -> Node:
        """The tree in the form under which labels of concepts are most likely, which takes no training."""
        return self.learner.reread(root, first_form)

    def regrower(self) -> Regrower | None:
        """A learner that regrows the tree from the predictions of its networks, which trains nothing."""
        return self.learner.regrower()

    @property
    def goals(self) -> GoalCandidates:
        """The goals that leaves may hold."""
        return self.learner.goals

    def settled(self, root: Node) -> Node:
        """A grown tree with the best kind of leaf at each of its leaves, which takes no training."""
        return self.learner.settled(root)

    def next_number(self) -> int:
        """The number of the next network."""
        return self.learner.next_number()

    def pretrain(self, starts: Mapping[str, nn.Module]) -> bool:
        """Pretrain networks by all candidates, or load those of the checkpoint; False where none can be pretrained."""
        if not self.learner.may_pretrain:
            return False
        path = self.checkpoint.pretrained_path(self.pretraining_number)
        self.pretraining_number += 1
        saved = self.checkpoint.read(path)
        if saved is not None:
            with _mismatched(path):
                self._restore_instances(saved)
                bindings = {str(network): str(name) for network, name in saved.fields["bindings"].items()}
                self.inference.bindings.update(bindings)
                return bool(bindings)
        before = dict(self.learner.instances)
        is_pretrained = self.learner.pretrain(starts)
        new = {name: instance for name, instance in self.learner.instances.items() if name not in before}
        content = {"kind": "networks", "bindings": dict(self.inference.bindings), **self._state(new)}
        tensors = tensors_of({name: instance.module for name, instance in new.items()})
        self.checkpoint.write(path, SavedFile(content, "", tensors))
        return is_pretrained

    @property
    def reads_single_images(self) -> bool:
        """Whether every test with a network is one Boolean call on one image."""
        return self.learner.reads_single_images

    @property
    def refines_queries(self) -> bool:
        """Whether tests with networks are queries over parts, which are refined as the tree grows."""
        return self.learner.refines_queries

    def refine(self, root: Node, fraction: float = 1.0) -> Node:
        """The finished tree after joint training, loaded where the checkpoint has it."""
        path = self.checkpoint.tree_path(self.joint_number)
        self.joint_number += 1
        saved = self.checkpoint.read(path)
        if saved is not None:
            with _mismatched(path):
                modules = {
                    name: _filled(copy.deepcopy(self.learner.instances[name].module), name, saved.tensors)
                    for name in saved.fields["networks"]
                }
                self.learner.restore_refined(modules, int(saved.fields["steps"]))
                return nodes_from_json(saved.fields["nodes"])
        before = {name: instance.module for name, instance in self.learner.instances.items()}
        refined = self.learner.refine(root, fraction)
        changed = {n: i.module for n, i in self.learner.instances.items() if before.get(n) is not i.module}
        content = {
            "kind": "whole",
            "nodes": nodes_to_json(refined),
            "networks": sorted(changed),
            "steps": self.learner.steps,
        }
        self.checkpoint.write(path, SavedFile(content, "", tensors_of(changed)))
        return refined


_OURS = re.compile(r"fit\.json|(node|tree|pretrained)-[0-9]+\.neuid3")


def _is_ours(path: Path) -> bool:
    return _OURS.fullmatch(path.name) is not None


def _is_unfinished(path: Path) -> bool:
    """Whether this is a temporary file of an interrupted write."""
    return re.fullmatch(rf"\.({_OURS.pattern})\..*\.tmp", path.name) is not None


def fit_digests(parameters: Mapping[str, Any], columns: Mapping[str, Column], **more: Any) -> dict[str, str]:
    """Short digests of all that a fit depends on, by name: parameters, columns, and more such as labels and weights."""
    digests = {f"parameter {name!r}": _digest(value) for name, value in parameters.items()}
    digests |= {f"column {name!r}": _digest((c.kind, c.values, c.missing)) for name, c in columns.items()}
    return digests | {f"{name}": _digest(value) for name, value in more.items()}


def _digest(value: Any) -> str:
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()[:16]


def _feed(digest: Any, value: Any) -> None:
    match value:
        case np.ndarray() if value.dtype != object:
            digest.update(f"{value.dtype.str}{value.shape}".encode())
            digest.update(np.ascontiguousarray(value).view(np.uint8).data)
        case StoredRows():  # the digest of the array, block by block
            digest.update(f"{value.dtype.str}{value.shape}".encode())
            for block in value.blocks():
                digest.update(np.ascontiguousarray(block).view(np.uint8).data)
        case GroupedRows():  # parts of examples
            _feed(digest, list(value.digest_arrays()))
        case _ if hasattr(value, "detach"):  # a torch tensor
            _feed(digest, value.detach().cpu().numpy())
        case _ if hasattr(value, "state_dict") and not isinstance(value, type):  # a torch module
            digest.update(str(value).encode())
            _feed(digest, value.state_dict())
        case np.random.RandomState() | np.random.Generator():
            digest.update(type(value).__name__.encode())  # its state changes with every draw
        case np.generic():
            _feed(digest, value.item())
        case TrainingConfig():
            _feed(digest, {field.name: getattr(value, field.name) for field in fields(value)})
        case Backend():
            _feed(digest, value.name)
        case bytes():
            digest.update(value)
        case Mapping():
            for key, item in value.items():
                digest.update(f"{key}=".encode())
                _feed(digest, item)
        case list() | tuple() | np.ndarray():
            digest.update(f"{len(value)}:".encode())
            for item in value:
                _feed(digest, item)
        case _ if callable(value) and not isinstance(value, NodeTest):
            # The result of a function is not known without calling it; its name stands for it.
            digest.update(getattr(value, "__qualname__", type(value).__qualname__).encode())
        case _:
            networks = getattr(value, "networks", None)
            if networks is None and repr(value) == object.__repr__(value):  # its `repr` is its address
                digest.update(type(value).__qualname__.encode())
                _feed(digest, vars(value))
            elif networks is None:
                digest.update(repr(value).encode())
            else:  # a trained test
                digest.update(str(value).encode())
                _feed(digest, networks)


def _split_to_json(split: Split | None) -> Json | None:
    if split is None:
        return None
    return {
        "test": test_to_json(split.test),
        "gain": split.gain,
        "validated": split.validated,
        "candidate": None if split.candidate is None else test_to_json(split.candidate),
        "choices": split.choices,
    }


def _checked(test: NodeTest, node: OpenNode, offered: Candidates) -> NodeTest:
    if test in node.used or test not in offered.tests:
        raise ValueError(f"its test '{test}' is no candidate")
    return test


def _filled(network: nn.Module, name: str, tensors: Mapping[str, Any]) -> nn.Module:
    own = {key.split("/", 1)[1]: values for key, values in tensors.items() if key.split("/", 1)[0] == name}
    network.load_state_dict(own)
    return network
