"""Explanation of one prediction: leaves with their paths and proofs, and counterfactuals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

from neuid3.errors import DataError
from neuid3.explain.counterfactuals import (
    BeyondThreshold,
    OtherClass,
    OtherPrediction,
    ResponseInterventions,
    VariableInterventions,
    smallest_change,
)
from neuid3.explain.criteria import counts_of
from neuid3.explain.example_view import ExampleView, ExplainedNode, images_of, one_row, view_example
from neuid3.explain.explanation import CriterionCount, Explanation, LeafShare, Move, Proof, Step
from neuid3.explain.probabilities import JointProbabilities
from neuid3.explain.proofs import proofs_of, related
from neuid3.explain.quotes import with_quotations
from neuid3.tree.model import TreeModel
from neuid3.tree.tree import Branch

# Proofs are listed only for steps that are reached with at least this probability.
MIN_REACH = 0.01


def explain(
    model: TreeModel, X: Any, row: int = 0, *, proofs: int = 5, changes: int = 3, threshold: float | None = None
) -> Explanation:
    """The explanation of the class or number that a model predicts for one example.

    Parameters
    ----------
    model : the tree with its program and networks.
    X : a table of examples.
    row : the example.
    proofs : the most proofs for each step of a path.
    changes : the most changes in a counterfactual.
    threshold : the number that the changes move a predicted number across; by default the mean of the training examples.

    Returns
    -------
    The explanation; `print` shows it as text.

    Raises
    ------
    DataError : if `proofs`, `changes` or `row` is out of range, or `threshold` is no number or the tree predicts classes.

    >>> from neuid3 import Branch, Examples, Leaf, NeurosymbolicTree, Tree
    >>> X = Examples({"alarm": [True], "age": [35]}, kinds={"age": "number"})
    >>> tree = Tree(Branch("alarm", Branch("age > 40", Leaf(0.9), Leaf(0.7)), Leaf(0.2)), classes=("stay", "leave"))
    >>> why = explain(NeurosymbolicTree(tree, X.schema), X)
    >>> why.prediction, [str(change) for change in why.other_facts.changes]
    ('leave', ['alarm were false (it is true)'])
    """
    if proofs < 1 or changes < 0:
        raise DataError(f"proofs={proofs!r} and changes={changes!r} must be whole numbers from 1 and from 0.")
    given = one_row(model, X, row)
    example, filled_in = model.filled_in(given)
    view = view_example(model, example)
    joint = JointProbabilities(view)
    counts = counts_of(model, example)
    readings = with_quotations(view.readings.values(), model, X, row)
    other: OtherPrediction
    probabilities: tuple[float, ...] = ()
    numbers: dict[str, Any] = {}
    if model.predicts_numbers:
        means, deviations = model.predict_number(example)
        prediction: Any = float(means[0])
        limit = _default_threshold(view) if threshold is None else _checked_threshold(threshold)
        other = BeyondThreshold(limit, above=prediction <= limit)
        summed = tuple(float(numbers[0]) for numbers in model.predict_number(given)) if filled_in else ()
        numbers = {"deviation": float(deviations[0]), "threshold": limit, **_moves(view)}
    else:
        if threshold is not None:
            raise DataError(
                f"threshold={threshold!r} is for trees that predict numbers, and this one predicts classes."
            )
        probabilities = tuple(model.predict_proba(example)[0].tolist())
        summed = tuple(model.predict_proba(given)[0].tolist()) if filled_in else ()
        predicted = max(range(len(probabilities)), key=probabilities.__getitem__)
        prediction, other = model.tree.classes[predicted], OtherClass(model.tree.classes, predicted)
    return Explanation(
        model.tree.classes,
        probabilities,
        prediction,
        _leaves(view, joint, counts, proofs),
        readings,
        smallest_change(view, ResponseInterventions(view, joint), other, changes),
        smallest_change(view, VariableInterventions(view), other, changes),
        images_of(example, readings),
        filled_in=filled_in,
        summed=summed,
        **numbers,
    )


def _checked_threshold(threshold: Any) -> float:
    if isinstance(threshold, bool) or not isinstance(threshold, Real) or not math.isfinite(threshold):
        raise DataError(f"threshold={threshold!r} is no number; give one in the unit of the target.")
    return float(threshold)


def _default_threshold(view: ExampleView) -> float:
    """The mean of the training examples; where it is not known, the middle between the smallest and the largest leaf."""
    root = view.tree.root
    summary = root.summary if isinstance(root, Branch) else root
    means = view.leaves[:, 0]
    return float(means.min() / 2 + means.max() / 2) if summary is None else summary.value[0]


def _moves(view: ExampleView) -> dict[str, Any]:
    """How far each test moves the number, and the mean that the moves start from; empty where a branch has no summary."""
    nodes = [node.node for node in view.nodes]
    summaries = [node.summary if isinstance(node, Branch) else node for node in nodes]
    if any(leaf is None for leaf in summaries):
        return {}
    means = [leaf.value[0] for leaf in summaries if leaf is not None]
    for index, component in view.of_components.items():
        means[index] = float(view.leaves[component, 0])
    base = means[0]
    reach: list[float] = view.path_probabilities()[0].tolist()  # by node
    amounts: dict[int, float] = {}
    passed: dict[tuple[int, bool], float] = {}
    for i, node in enumerate(view.nodes):
        if node.parent is None:
            continue
        test, response = node.path[-1]
        # Relative to the base, so that large means with small differences lose no digits.
        amounts[test] = amounts.get(test, 0.0) + reach[i] * (means[i] - means[node.parent])
        passed[test, response] = passed.get((test, response), 0.0) + reach[i]
    moves = [
        Move(view.test_names[test], amount, passed.get((test, True), 0.0) >= passed.get((test, False), 0.0))
        for test, amount in amounts.items()
    ]
    return {"base": base, "moves": tuple(sorted(moves, key=lambda move: -abs(move.amount)))}


def _leaves(
    view: ExampleView,
    joint: JointProbabilities,
    counts: Mapping[int, tuple[CriterionCount, ...]],
    max_proofs: int,
) -> tuple[LeafShare, ...]:
    reach: list[float] = view.path_probabilities()[0].tolist()  # by node
    paths: list[tuple[Step, ...]] = []  # by node
    leaves = []
    for index, (node, node_reach) in enumerate(zip(view.nodes, reach, strict=True)):
        path: tuple[Step, ...] = ()
        if node.parent is not None:
            step = _step(view, joint, node, node_reach, reach[node.parent], max_proofs)
            path = (*paths[node.parent], replace(step, counts=counts.get(node.path[-1][0], ())))
        paths.append(path)
        component = view.of_components.get(index)  # a plain leaf, or a value of a leaf's goal
        if component is not None:
            leaf_value = tuple(view.leaves[component].tolist())
            leaves.append(LeafShare(path, node_reach, leaf_value, view.tree.predicts_numbers))
    return tuple(leaves)


def _step(
    view: ExampleView,
    joint: JointProbabilities,
    node: ExplainedNode,
    reach: float,
    parent_reach: float,
    max_proofs: int,
) -> Step:
    """The last step of the path to a node, given the reach of the node and of its parent."""
    path, signed_test = node.path[:-1], node.path[-1]
    test, response = signed_test
    given = related(joint, path, signed_test)
    proofs: tuple[Proof, ...] | None = None
    if reach >= MIN_REACH:
        proofs = proofs_of(view, joint, path, signed_test, max_proofs)
    return Step(
        view.test_names[test],
        response,
        reach / parent_reach if parent_reach > 0.0 else None,
        reach,
        tuple(view.test_names[other] if sign else f"not {view.test_names[other]}" for other, sign in given),
        proofs,
    )
