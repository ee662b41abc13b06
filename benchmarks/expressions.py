"""Expressions over number columns: a million rows, evaluated, cut and predicted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.timing import Row, interleaved, rounded, seconds_of, within
from neuid3 import Branch, Examples, Leaf, NeuID3Classifier, NeurosymbolicTree, Tree
from neuid3.tree.calculations import expression_values

# The most seconds that an expression of a million rows may take.
SECONDS = 0.5

RULES = """
bmi(B) :- B is weight / height ** 2.
arterial(P) :- P is diastolic + (systolic - diastolic) / 3.
"""


def clinic(n: int, seed: int = 0) -> tuple[Examples, np.ndarray]:
    """Weights, heights and blood pressures, and a class that depends on two calculated numbers."""
    rng = np.random.default_rng(seed)
    weight, height = rng.normal(80.0, 15.0, n), rng.normal(1.7, 0.1, n)
    systolic, diastolic = rng.normal(130.0, 20.0, n), rng.normal(80.0, 10.0, n)
    bmi, arterial = weight / height**2, diastolic + (systolic - diastolic) / 3
    columns = {"weight": weight, "height": height, "systolic": systolic, "diastolic": diastolic}
    return Examples(columns), (bmi > 30.0) & (arterial > 100.0)


def million(quick: bool) -> Iterator[Row]:
    """Seconds to evaluate an expression, to predict with two of them, and to learn a tree of them."""
    X, y = clinic(20_000 if quick else 1_000_000)
    tree = Tree(Branch("bmi > 30", Branch("arterial > 100", Leaf(1.0), Leaf(0.0)), Leaf(0.0)))
    model = NeurosymbolicTree(tree, X.schema, background=RULES)
    evaluated = {str(e): (lambda e=e: expression_values(e, X)) for e in model.expressions}
    seconds = interleaved(evaluated, 3 if quick else 7)
    rows = {"rows": len(X)}
    for name, time in seconds.items():
        yield within("expression_of_a_million_rows", time, SECONDS, "seconds", expression=name, **rows)
    predicting = seconds_of(lambda: model.predict_proba(X, batch_size=len(X)))
    yield within("predict_with_expressions", predicting, 4 * SECONDS, "seconds", **rows)
    clf = NeuID3Classifier(background=RULES, tests=["bmi", "arterial"], random_state=0)
    clf.fit(X[:1000], y[:1000])
    learning = seconds_of(lambda: clf.fit(X, y))
    accuracy = rounded(clf.score(X, y))
    yield within("fit_of_expressions", learning, 60 * SECONDS, "seconds", accuracy=accuracy, **rows)
