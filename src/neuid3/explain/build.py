"""Why does the tree say so? Everything about one example is put together."""

from __future__ import annotations

from typing import Any

from neuid3.errors import DataError
from neuid3.explain.counterfactuals import Answers, Facts, smallest_change
from neuid3.explain.example_view import ExplainedNode, Scene, images_of, look_at, one_row
from neuid3.explain.explanation import Explanation, LeafShare, Proof, Step
from neuid3.explain.probabilities import Odds
from neuid3.explain.proofs import proofs_of, related
from neuid3.tree.model import TreeModel
from neuid3.tree.tree import Leaf

# A step that fewer than one in a hundred of an example's walks take is not looked into.
WORTH = 0.01


def explain(model: TreeModel, X: Any, row: int = 0, *, proofs: int = 5, changes: int = 3) -> Explanation:
    """Why the model gives this example its class, with up to `proofs` proofs a step and up to `changes` changes.

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
    scene = look_at(model, example)
    odds = Odds(scene)
    readings = tuple(scene.readings.values())
    return Explanation(
        model.tree.classes,
        tuple(probabilities.tolist()),
        model.tree.classes[predicted],
        _leaves(scene, odds, proofs),
        readings,
        smallest_change(scene, Answers(scene, odds), predicted, changes),
        smallest_change(scene, Facts(scene), predicted, changes),
        images_of(example, readings),
    )


def _leaves(scene: Scene, odds: Odds, most: int) -> tuple[LeafShare, ...]:
    reach: list[float] = scene.masses()[0].tolist()
    ways: list[tuple[Step, ...]] = []  # to every place
    found = []
    for place, here in zip(scene.places, reach, strict=True):
        way: tuple[Step, ...] = ()
        if place.parent is not None:
            way = (*ways[place.parent], _step(scene, odds, place, here, reach[place.parent], most))
        ways.append(way)
        if isinstance(place.node, Leaf):
            found.append(LeafShare(way, here, place.node.probabilities))
    return tuple(found)


def _step(scene: Scene, odds: Odds, place: ExplainedNode, here: float, before: float, most: int) -> Step:
    """The last step of the way to a place, which is reached with probability `here`, and its parent with `before`."""
    path, answer = place.path[:-1], place.path[-1]
    given = related(odds, path, answer)
    found: tuple[Proof, ...] | None = None
    if here >= WORTH:
        found = proofs_of(scene, odds, path, answer, most)
    return Step(
        scene.test_names[answer[0]],
        answer[1],
        here / before if before > 0.0 else None,
        here,
        tuple(said(scene.test_names[test], wanted) for test, wanted in given),
        found,
    )


def said(test: str, answer: bool) -> str:
    return test if answer else f"not {test}"
