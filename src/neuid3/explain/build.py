"""Explanation of one prediction: leaves with their paths and proofs, and counterfactuals."""

from __future__ import annotations

from typing import Any

from neuid3.errors import DataError
from neuid3.explain.counterfactuals import ResponseInterventions, VariableInterventions, smallest_change
from neuid3.explain.example_view import ExampleView, ExplainedNode, images_of, one_row, view_example
from neuid3.explain.explanation import Explanation, LeafShare, Proof, Step
from neuid3.explain.probabilities import JointProbabilities
from neuid3.explain.proofs import proofs_of, related
from neuid3.tree.model import TreeModel

# Proofs are listed only for steps that are reached with at least this probability.
MIN_REACH = 0.01


def explain(model: TreeModel, X: Any, row: int = 0, *, proofs: int = 5, changes: int = 3) -> Explanation:
    """The explanation of the class that a model predicts for one example.

    Parameters
    ----------
    model : the tree with its program and networks.
    X : a table of examples.
    row : the example.
    proofs : the most proofs for each step of a path.
    changes : the most changes in a counterfactual.

    Returns
    -------
    The explanation; `print` shows it as text.

    Raises
    ------
    DataError : if `proofs`, `changes` or `row` is out of range.

    >>> from neuid3 import Branch, Examples, Leaf, NeurosymbolicTree, Tree
    >>> X = Examples({"alarm": [True], "age": [35]}, kinds={"age": "number"})
    >>> tree = Tree(Branch("alarm", Branch("age > 40", Leaf(0.9), Leaf(0.7)), Leaf(0.2)), classes=("stay", "leave"))
    >>> why = explain(NeurosymbolicTree(tree, X.schema), X)
    >>> why.prediction, [str(change) for change in why.other_facts.changes]
    ('leave', ['alarm were false (it is true)'])
    """
    if proofs < 1 or changes < 0:
        raise DataError(f"proofs={proofs!r} and changes={changes!r} must be whole numbers from 1 and from 0.")
    example = one_row(model, X, row)
    probabilities = model.predict_proba(example)[0]
    predicted = int(probabilities.argmax())
    view = view_example(model, example)
    joint = JointProbabilities(view)
    readings = tuple(view.readings.values())
    return Explanation(
        model.tree.classes,
        tuple(probabilities.tolist()),
        model.tree.classes[predicted],
        _leaves(view, joint, proofs),
        readings,
        smallest_change(view, ResponseInterventions(view, joint), predicted, changes),
        smallest_change(view, VariableInterventions(view), predicted, changes),
        images_of(example, readings),
    )


def _leaves(view: ExampleView, joint: JointProbabilities, max_proofs: int) -> tuple[LeafShare, ...]:
    reach: list[float] = view.path_probabilities()[0].tolist()  # by node
    paths: list[tuple[Step, ...]] = []  # by node
    leaves = []
    for index, (node, node_reach) in enumerate(zip(view.nodes, reach, strict=True)):
        path: tuple[Step, ...] = ()
        if node.parent is not None:
            path = (*paths[node.parent], _step(view, joint, node, node_reach, reach[node.parent], max_proofs))
        paths.append(path)
        component = view.of_components.get(index)  # a plain leaf, or a value of a leaf's goal
        if component is not None:
            leaves.append(LeafShare(path, node_reach, tuple(view.leaves[component].tolist())))
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
