"""Serialization of columns, trees and priors as JSON, each by a pair of functions `…_to_json` and `…_from_json`.

The second of each pair raises a TypeError, ValueError or KeyError where a field is invalid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from neuid3.data.columns import (
    Boolean,
    Category,
    Date,
    Distribution,
    Kind,
    Number,
    Probability,
    Schema,
    Series,
    Tensor,
    Text,
    kind_name,
)
from neuid3.data.parts import Parts, Relation
from neuid3.data.priors import Priors
from neuid3.errors import ModelFileError
from neuid3.tree.leaves import leaf_from_json, leaf_to_json, masses_from_json
from neuid3.tree.node_tests import test_from_json, test_to_json
from neuid3.tree.tree import Branch, Leaf, NetworkStatistics, Node, Tree
from neuid3.utils.json_values import as_boolean, as_category, as_count, as_number, as_text

Json = dict[str, Any]

# The largest sum of the depths of all leaves that is read; a tree of a thousand leaves, fifty deep, has fifty thousand.
MAX_PATH_STEPS = 5_000_000

# The largest number of axes of an array, and of characters of all class names as one fixed-width array.
MAX_AXES = 32
MAX_CLASS_CHARACTERS = 10_000_000

# The dtypes of labels other than strings.
LABEL_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")


# Columns --------------------------------------------------------------------------------------------


def schema_to_json(schema: Schema) -> list[Json]:
    """The columns of a schema, in order."""
    return [{"name": name, **_kind_to_json(kind)} for name, kind in schema.items()]


def schema_from_json(columns: Sequence[Json]) -> dict[str, Kind]:
    """The inverse of `schema_to_json`."""
    kinds = {as_text(column["name"]): _kind_from_json(column) for column in columns}
    if len(kinds) < len(columns):
        raise ValueError("a column occurs twice")
    return kinds


def _kind_to_json(kind: Kind) -> Json:
    match kind:
        case Category(values) | Distribution(values):
            return {"kind": kind_name(kind), "values": list(values)}
        case Tensor(shape):
            fields = {"kind": kind_name(kind), "shape": list(shape)}
            return fields if kind.encoded is None else {**fields, "encoded": kind.encoded}
        case Date(day_first):
            order = {} if day_first is None else {"day_first": day_first}
            return {"kind": kind_name(kind), **order}
        case Parts():
            return {"kind": "parts", "columns": schema_to_json(kind.schema)}
        case Relation(types):
            return {"kind": "relation", "types": list(types), "columns": schema_to_json(kind.schema)}
        case _:
            return {"kind": kind_name(kind)}


def _kind_from_json(fields: Json) -> Kind:
    match fields["kind"]:
        case "boolean":
            return Boolean()
        case "probability":
            return Probability()
        case "number":
            return Number()
        case "date":
            return Date(None if fields.get("day_first") is None else as_boolean(fields["day_first"]))
        case "text":
            return Text(encoded=None if fields.get("encoded") is None else as_count(fields["encoded"]))
        case "category":
            return Category(tuple(map(as_category, fields["values"])))
        case "distribution":
            if not fields["values"]:
                raise ValueError(f"the distribution {fields['name']!r:.40} has no values")
            return Distribution(tuple(map(as_category, fields["values"])))
        case "tensor" | "series" as name:
            if len(fields["shape"]) > MAX_AXES:
                raise ValueError(f"the tensor {fields['name']!r:.40} has too many axes")
            shape = tuple(as_count(side) for side in fields["shape"])
            if name == "series" and len(shape) != 2:
                raise ValueError(f"the series {fields['name']!r:.40} has {len(shape)} axes")
            encoded = None if fields.get("encoded") is None else as_count(fields["encoded"])
            return Tensor(shape, encoded=encoded) if name == "tensor" else Series(shape)
        case "parts":
            return Parts(tuple(schema_from_json(fields["columns"]).items()))
        case "relation":
            return Relation(tuple(map(as_text, fields["types"])), tuple(schema_from_json(fields["columns"]).items()))
        case other:
            raise ValueError(f"{other!r} is not a kind of column")


# Trees ----------------------------------------------------------------------------------------------


def nodes_to_json(root: Node) -> list[Json]:
    """The nodes of a tree as a list, parents before their children, whose indices they hold."""
    nodes: list[Json] = []
    stack: list[tuple[Node, Json | None, str]] = [(root, None, "")]
    while stack:
        node, parent, side = stack.pop()
        if parent is not None:
            parent[side] = len(nodes)
        if not isinstance(node, Branch):
            nodes.append(leaf_to_json(node))
            continue
        fields = {**_summary_to_json(node), "test": test_to_json(node.test), "gain": node.gain}
        fields |= {} if node.statistics is None else {"statistics": asdict(node.statistics)}
        nodes.append(fields)
        stack += [(node.no, fields, "no"), (node.yes, fields, "yes")]
    return nodes


def _summary_to_json(branch: Branch) -> Json:
    """The summary of a branch: class masses, from which their leaf follows, or another kind of leaf."""
    match branch.summary:
        case None:
            return {}
        case Leaf(masses=masses) if masses is not None:
            return {"masses": list(masses)}
        case summary:
            return {"summary": leaf_to_json(summary)}


def nodes_from_json(nodes: Sequence[Json]) -> Node:
    """The root of a tree, built from the last node to the first; every other node has one parent, which precedes it."""
    built: list[Node | None] = [None] * len(nodes)  # None once it has a parent
    sizes: list[tuple[int, int]] = [(0, 0)] * len(nodes)  # the number of leaves below, and the sum of their depths
    for index in range(len(nodes) - 1, -1, -1):
        fields = nodes[index]
        leaf = leaf_from_json(fields)
        if leaf is not None:
            built[index] = leaf
            sizes[index] = (1, 0)
            continue
        children: list[Node] = []
        leaves = steps = 0
        for side in ("yes", "no"):
            child_index = as_count(fields[side])
            child = built[child_index] if index < child_index < len(nodes) else None
            if child is None:
                raise ValueError(f"node {index} of the tree has no {side} side")
            built[child_index] = None
            children.append(child)
            child_leaves, child_steps = sizes[child_index]
            leaves, steps = leaves + child_leaves, steps + child_steps + child_leaves
        if steps > MAX_PATH_STEPS:
            raise ValueError("the tree is too large")
        gain = None if fields["gain"] is None else as_number(fields["gain"])
        statistics = _statistics(fields["statistics"]) if "statistics" in fields else None
        summary = leaf_from_json(fields["summary"]) if "summary" in fields else None
        masses = masses_from_json(fields)
        test = test_from_json(fields["test"])
        built[index] = Branch(test, children[0], children[1], gain, masses, statistics, summary)
        sizes[index] = (leaves, steps)
    root, *rest = built
    if root is None or any(node is not None for node in rest):
        raise ValueError("the tree has nodes without a parent")
    return root


def _statistics(fields: Json) -> NetworkStatistics:
    gains = {
        name: None if fields[name] is None else as_number(fields[name]) for name in ("trained_gain", "unseen_gain")
    }
    decided = None if fields["decided"] is None else as_number(fields["decided"])
    return NetworkStatistics(decided, gains["trained_gain"], gains["unseen_gain"], as_number(fields["unseen_mass"]))


def labels_to_json(labels: Sequence[Any] | npt.NDArray[Any]) -> Json:
    """Class labels with their dtype."""
    plain = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if all(type(label) is str for label in plain):
        is_object = isinstance(labels, np.ndarray) and labels.dtype == object
        return {"type": "object" if is_object else "str", "values": plain}
    are_uniform = len({type(label) for label in plain}) == 1 and isinstance(plain[0], (bool, int, float))
    name = np.asarray(labels).dtype.name if are_uniform else type(plain[0]).__name__
    if name in LABEL_DTYPES:
        return {"type": name, "values": plain}
    raise ModelFileError(
        f"Classes such as {plain[0]!r} ({name}) cannot be saved; use strings, numbers or Booleans as labels."
    )


def labels_from_json(fields: Json) -> npt.NDArray[Any]:
    """The inverse of `labels_to_json`, as an array."""
    values = list(fields["values"])
    if fields["type"] in ("str", "object"):
        texts = list(map(as_text, values))
        if len(texts) * max(map(len, texts), default=0) > MAX_CLASS_CHARACTERS:
            raise ValueError("the names of its classes are too long")
        labels = np.array(texts, dtype=object if fields["type"] == "object" else None)
        # Strings of NumPy's fixed-width dtype lose trailing NULs.
        return labels if labels.tolist() == texts else np.array(texts, dtype=object)
    if fields["type"] not in LABEL_DTYPES:
        raise ValueError(f"{fields['type']!r:.40} is not a dtype of labels")
    numbers = [value if isinstance(value, bool) else as_number(value) for value in values]
    with np.errstate(all="ignore"):
        labels = np.array(numbers).astype(fields["type"])
    if labels.tolist() != numbers:
        raise ValueError(f"its classes are not {fields['type']}")
    return labels


def tree_to_json(tree: Tree) -> Json:
    """The classes and nodes of a tree; one that predicts numbers has no classes."""
    classes = None if tree.predicts_numbers else labels_to_json(tree.classes)
    return {"classes": classes, "nodes": nodes_to_json(tree.root)}


def tree_from_json(fields: Json) -> Tree:
    """The inverse of `tree_to_json`."""
    classes = fields["classes"]
    return Tree(nodes_from_json(fields["nodes"]), () if classes is None else tuple(labels_from_json(classes).tolist()))


# Priors ---------------------------------------------------------------------------------------------


def priors_to_json(priors: Priors, columns: Sequence[str]) -> Json:
    """The priors of these columns and of all networks."""
    return {
        "columns": {name: _prior_to_json(priors.columns[name]) for name in columns if name in priors.columns},
        "networks": {name: np.asarray(prior, dtype=float).tolist() for name, prior in priors.networks.items()},
        **({"expressions": _expressions_to_json(priors)} if priors.expressions else {}),
    }


def _expressions_to_json(priors: Priors) -> Json:
    return {text: _prior_to_json(prior) for text, prior in priors.expressions.items()}


def priors_from_json(fields: Json) -> Priors:
    """The inverse of `priors_to_json`."""
    networks = {
        as_text(name): tuple(map(as_number, prior)) if isinstance(prior, list) else as_number(prior)
        for name, prior in fields["networks"].items()
    }
    columns, expressions = (
        {as_text(name): _prior_from_json(prior) for name, prior in fields.get(key, {}).items()}
        for key in ("columns", "expressions")
    )
    return Priors(columns, networks, expressions)


def _prior_to_json(prior: Any) -> Any:
    if isinstance(prior, Mapping):
        return {"shares": [[_plain(value), float(weight)] for value, weight in prior.items()]}
    return np.asarray(prior, dtype=float).tolist()


def _prior_from_json(fields: Any) -> Any:
    match fields:
        case {"shares": shares}:
            prior = {
                value if isinstance(value, str) else cast("Any", as_number(value)): as_number(weight)
                for value, weight in shares
            }
            if len(prior) < len(shares):
                raise ValueError("a prior has a value twice")
            return prior
        case list():
            return tuple(map(as_number, fields))
        case _:
            return as_number(fields)


# Scalars ------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
