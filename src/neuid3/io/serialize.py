"""How are columns, tests, trees and priors said in JSON? Each by a pair of functions, one there and one back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import Boolean, Category, Distribution, Kind, Number, Probability, Schema, Tensor, kind_name
from neuid3.data.priors import Priors
from neuid3.errors import ModelFileError
from neuid3.tree.node_tests import AtomTest, CutTest, FactTest, NodeTest, ValueTest
from neuid3.tree.tree import Branch, Leaf, NetworkStatistics, Node, Tree

Json = dict[str, Any]

# Paths of all leaves together; a tree of a thousand leaves, fifty deep, has fifty thousand steps.
MOST_STEPS = 5_000_000

# The most axes that an array can have, and the most letters that the names of all classes may take as one array.
MOST_AXES = 32
MOST_LETTERS = 10_000_000

# Labels are kept with their type.
LABELS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")


# Columns --------------------------------------------------------------------------------------------


def schema_to_json(schema: Schema) -> list[Json]:
    return [{"name": name, **_kind_to_json(kind)} for name, kind in schema.items()]


def schema_from_json(words: Sequence[Json]) -> dict[str, Kind]:
    kinds = {as_text(told["name"]): _kind_from_json(told) for told in words}
    if len(kinds) < len(words):
        raise ValueError("a column is told twice")
    return kinds


def _kind_to_json(kind: Kind) -> Json:
    match kind:
        case Category(values) | Distribution(values):
            return {"kind": kind_name(kind), "values": list(values)}
        case Tensor(shape):
            return {"kind": "tensor", "shape": list(shape)}
        case _:
            return {"kind": kind_name(kind)}


def _kind_from_json(words: Json) -> Kind:
    match words["kind"]:
        case "boolean":
            return Boolean()
        case "probability":
            return Probability()
        case "number":
            return Number()
        case "category":
            return Category(tuple(map(_value, words["values"])))
        case "distribution":
            if not words["values"]:
                raise ValueError(f"the distribution {words['name']!r:.40} has no values")
            return Distribution(tuple(map(_value, words["values"])))
        case "tensor":
            if len(words["shape"]) > MOST_AXES:
                raise ValueError(f"the tensor {words['name']!r:.40} has too many axes")
            return Tensor(tuple(as_count(side) for side in words["shape"]))
        case other:
            raise ValueError(f"{other!r} is no kind of column")


# Tests ----------------------------------------------------------------------------------------------


def test_to_json(test: NodeTest) -> Json:
    match test:
        case AtomTest(atom, instances):
            return {"atom": atom, "instances": dict(instances)} if instances else {"atom": atom}
        case FactTest(column):
            return {"fact": column}
        case ValueTest(column, value):
            return {"column": column, "value": value}
        case CutTest(column, threshold):
            return {"column": column, "at_most": float(threshold)}
        case _:
            raise ModelFileError(
                f"Test '{test}' is a {type(test).__name__}, which cannot be saved; write it as an atom of a rule."
            )


def test_from_json(words: Json) -> NodeTest:
    match words:
        case {"atom": atom}:
            instances = {as_text(name): as_text(instance) for name, instance in words.get("instances", {}).items()}
            return AtomTest(as_text(atom), tuple(sorted(instances.items())))
        case {"fact": column}:
            return FactTest(as_text(column))
        case {"column": column, "value": value}:
            return ValueTest(as_text(column), _value(value))
        case {"column": column, "at_most": threshold}:
            return CutTest(as_text(column), float(as_number(threshold)))
        case _:
            raise ValueError("a test is none that we know")


# Trees ----------------------------------------------------------------------------------------------


def nodes_to_json(root: Node) -> list[Json]:
    """The nodes of a tree in a row, a parent before its children, which it names by their places."""
    rows: list[Json] = []
    waiting: list[tuple[Node, Json | None, str]] = [(root, None, "")]
    while waiting:
        node, parent, side = waiting.pop()
        if parent is not None:
            parent[side] = len(rows)
        words: Json = {} if node.masses is None else {"masses": list(node.masses)}
        rows.append(words)
        match node:
            case Leaf(probabilities):
                words["leaf"] = list(probabilities)
            case Branch(test, yes, no, gain):
                words |= {"test": test_to_json(test), "gain": gain}
                words |= {} if node.statistics is None else {"statistics": asdict(node.statistics)}
                waiting += [(no, words, "no"), (yes, words, "yes")]
    return rows


def nodes_from_json(rows: Sequence[Json]) -> Node:
    """The tree again, from the last node to the root: children come after their parent, and have one only."""
    made: list[Node | None] = [None] * len(rows)
    sizes: list[tuple[int, int]] = [(0, 0)] * len(rows)  # leaves below, and steps to them
    for place in range(len(rows) - 1, -1, -1):
        words = rows[place]
        masses = tuple(map(as_number, words["masses"])) if "masses" in words else None
        if "leaf" in words:
            made[place] = Leaf(tuple(map(as_number, words["leaf"])), masses)
            sizes[place] = (1, 0)
            continue
        sides: list[Node] = []
        leaves = steps = 0
        for side in ("yes", "no"):
            at = as_count(words[side])
            child = made[at] if place < at < len(rows) else None
            if child is None:
                raise ValueError(f"node {place} of the tree has no {side} side")
            made[at] = None
            sides.append(child)
            leaves, steps = leaves + sizes[at][0], steps + sizes[at][1] + sizes[at][0]
        if steps > MOST_STEPS:
            raise ValueError("the tree is too large")
        gain = None if words["gain"] is None else as_number(words["gain"])
        statistics = _statistics(words["statistics"]) if "statistics" in words else None
        made[place] = Branch(test_from_json(words["test"]), sides[0], sides[1], gain, masses, statistics)
        sizes[place] = (leaves, steps)
    root, *rest = made
    if root is None or any(node is not None for node in rest):
        raise ValueError("the tree has nodes that nothing leads to")
    return root


def _statistics(words: Json) -> NetworkStatistics:
    known = {name: None if words[name] is None else as_number(words[name]) for name in ("trained_gain", "unseen_gain")}
    decided = None if words["decided"] is None else as_number(words["decided"])
    return NetworkStatistics(decided, known["trained_gain"], known["unseen_gain"], as_number(words["unseen_mass"]))


def labels_to_json(labels: Sequence[Any] | npt.NDArray[Any]) -> Json:
    plain = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if all(type(label) is str for label in plain):
        kept = isinstance(labels, np.ndarray) and labels.dtype == object
        return {"type": "object" if kept else "str", "values": plain}
    alike = len({type(label) for label in plain}) == 1 and isinstance(plain[0], (bool, int, float))
    name = np.asarray(labels).dtype.name if alike else type(plain[0]).__name__
    if name in LABELS:
        return {"type": name, "values": plain}
    raise ModelFileError(
        f"Classes such as {plain[0]!r} ({name}) cannot be saved; label examples by strings, numbers or truth values."
    )


def labels_from_json(words: Json) -> npt.NDArray[Any]:
    values = list(words["values"])
    if words["type"] in ("str", "object"):
        texts = list(map(as_text, values))
        if len(texts) * max(map(len, texts), default=0) > MOST_LETTERS:
            raise ValueError("the names of its classes are too long")
        found = np.array(texts, dtype=object if words["type"] == "object" else None)
        # Texts of numpy's own type lose zeros at their end.
        return found if found.tolist() == texts else np.array(texts, dtype=object)
    if words["type"] not in LABELS:
        raise ValueError(f"{words['type']!r:.40} is no type of label")
    numbers = [value if isinstance(value, bool) else as_number(value) for value in values]
    with np.errstate(all="ignore"):
        labels = np.array(numbers).astype(words["type"])
    if labels.tolist() != numbers:
        raise ValueError(f"its classes are no {words['type']}")
    return labels


def tree_to_json(tree: Tree) -> Json:
    return {"classes": labels_to_json(tree.classes), "nodes": nodes_to_json(tree.root)}


def tree_from_json(words: Json) -> Tree:
    return Tree(nodes_from_json(words["nodes"]), tuple(labels_from_json(words["classes"]).tolist()))


# Priors ---------------------------------------------------------------------------------------------


def priors_to_json(priors: Priors, columns: Sequence[str]) -> Json:
    """The priors of these columns, and of all networks."""
    return {
        "columns": {name: _prior_to_json(priors.columns[name]) for name in columns if name in priors.columns},
        "networks": {name: np.asarray(prior, dtype=float).tolist() for name, prior in priors.networks.items()},
    }


def priors_from_json(words: Json) -> Priors:
    networks = {
        as_text(name): tuple(map(as_number, prior)) if isinstance(prior, list) else as_number(prior)
        for name, prior in words["networks"].items()
    }
    return Priors({as_text(name): _prior_from_json(prior) for name, prior in words["columns"].items()}, networks)


def _prior_to_json(prior: Any) -> Any:
    if isinstance(prior, Mapping):
        return {"shares": [[_plain(value), float(share)] for value, share in prior.items()]}
    return np.asarray(prior, dtype=float).tolist()


def _prior_from_json(words: Any) -> Any:
    match words:
        case {"shares": shares}:
            found = {
                value if isinstance(value, str) else cast("Any", as_number(value)): as_number(share)
                for value, share in shares
            }
            if len(found) < len(shares):
                raise ValueError("a prior tells a value twice")
            return found
        case list():
            return tuple(map(as_number, words))
        case _:
            return as_number(words)


# Small words ----------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def as_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


def _value(value: Any) -> str | int:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise TypeError(f"{value!r:.40} is no value of a category")
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise ValueError("a value of a category is too large a number")
    return value


def as_number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise TypeError(f"{value!r:.40} is no number")
    return value


def as_count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise TypeError(f"{value!r:.40} is no whole number")
    return value
