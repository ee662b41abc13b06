"""The leaves that examples reach, by the same methods of the model and of the classifier."""

from __future__ import annotations

import numpy as np
import torch

from neuid3 import Branch, Examples, Leaf, NeuID3Classifier, NeurosymbolicTree, Tree


def test_a_model_gives_indices_of_leaves_and_their_probabilities() -> None:
    tree = Tree(Branch("alarm", Leaf(0.9), Branch("smoke", Leaf(0.6), Leaf(0.1))))
    X = Examples(
        {"alarm": [0.7, 0.2, 0.1], "smoke": [0.5, 0.9, 0.1]}, kinds={"alarm": "probability", "smoke": "probability"}
    )
    model = NeurosymbolicTree(tree, X.schema)
    probabilities = model.leaf_probabilities(X)
    np.testing.assert_allclose(probabilities, [[0.7, 0.15, 0.15], [0.2, 0.72, 0.08], [0.1, 0.09, 0.81]])
    leaves = model.apply(X)
    assert leaves.dtype.kind == "i"
    assert leaves.tolist() == [0, 1, 2]
    reach = model.leaf_reach(X)
    assert isinstance(reach, torch.Tensor)
    np.testing.assert_allclose(reach.numpy(), probabilities)


def test_classifier_and_model_agree_about_leaves() -> None:
    rng = np.random.default_rng(0)
    X = {"fact": rng.random(60) < 0.5, "size": rng.normal(size=60)}
    clf = NeuID3Classifier(pruning=0.0, random_state=0).fit(X, X["fact"] ^ (X["size"] > 0))
    assert (clf.apply(X) == clf.model_.apply(X)).all()
    assert (clf.leaf_probabilities(X) == clf.model_.leaf_probabilities(X)).all()
    assert clf.apply(X).shape == (60,)
    assert clf.leaf_probabilities(X).shape == (60, clf.get_n_leaves())
