"""Models of the KEEL tables: ours, and those of scikit-learn on numbers and one-hot categories."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from neuid3 import Examples, NeuID3BoostingClassifier, NeuID3Classifier, NeuID3ForestClassifier
from neuid3.data.columns import Category

TREES = 200

Classes = npt.NDArray[Any]


class OnArrays:
    """A model of scikit-learn on number columns and one-hot categories."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Examples, y: Classes, *, validation: Any = None) -> Self:  # noqa: ARG002 - needs none
        self.estimator.fit(as_array(X), y)
        return self

    def predict(self, X: Examples) -> Classes:
        predictions: Classes = self.estimator.predict(as_array(X))
        return predictions


def as_array(X: Examples) -> npt.NDArray[np.float32]:
    """Numbers as they are, Booleans as 0 and 1, and a column of zeros and ones for each value of a category."""
    columns = []
    for name in X.names:
        column = X.column(name)
        if isinstance(column.kind, Category):
            columns.append(column.values[:, None] == np.arange(len(column.kind.values)))
        else:
            columns.append(column.values[:, None])
    return np.concatenate(columns, axis=1).astype(np.float32)


def pruned_cart(random_state: int) -> GridSearchCV:
    """scikit-learn's tree, its cost-complexity pruning and depth chosen by cross-validation."""
    grid = {"max_depth": [2, 3, 4, 6, 8, 12, None], "ccp_alpha": [0.0, 1e-3, 3e-3, 1e-2, 3e-2]}
    tree = DecisionTreeClassifier(random_state=random_state)
    return GridSearchCV(tree, grid, cv=StratifiedKFold(5, shuffle=True, random_state=random_state))


def make_model(model: str, fold: int) -> tuple[Any, dict[str, Any]]:
    """The unfitted model of a unit, and its settings for the record."""
    common: dict[str, Any] = {"random_state": fold}
    match model:
        case "tree":
            return NeuID3Classifier(**common), common
        case "forest":
            return NeuID3ForestClassifier(n_estimators=TREES, **common), common | {"n_estimators": TREES}
        case "boosting":
            return NeuID3BoostingClassifier(**common), common
        case "cart":
            return OnArrays(pruned_cart(fold)), common
        case "sklearn-forest":
            return OnArrays(RandomForestClassifier(TREES, **common)), common | {"n_estimators": TREES}
        case _:
            return OnArrays(HistGradientBoostingClassifier(**common)), common
