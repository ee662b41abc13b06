"""Everything that can be done with a model, for tests that make odd ones."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

from neuid3 import Examples, export_graphviz, export_svg, export_text, load, plot_tree
from neuid3.explain.page import evidence_page


def uses(model: Any, X: Examples, folder: Path) -> Mapping[str, Callable[[], Any]]:
    """What can be done with a tree or a classifier and these examples, by name."""
    tree = getattr(model, "tree", None) or model.tree_
    inner = getattr(model, "model_", model)
    return {
        "print it": lambda: (repr(model), str(model), repr(tree)),
        "compare it": lambda: (tree == copy.deepcopy(tree), hash(tree)),
        "predict_proba": lambda: model.predict_proba(X),
        "predict": lambda: model.predict(X),
        "apply": lambda: model.apply(X),
        "leaf_probabilities": lambda: model.leaf_probabilities(X),
        "with a threshold": lambda: model.predict_proba(X, threshold=0.01),
        "text": lambda: export_text(model, rules=True).encode(),
        "dot": lambda: export_graphviz(model).encode(),
        "svg": lambda: export_svg(model, X).encode(),
        "shallow svg": lambda: export_svg(model, max_depth=2).encode(),
        "notebook": lambda: inner._repr_html_().encode(),
        "plot": lambda: drawn(model, X),
        "problog": lambda: inner.to_problog(X).encode(),
        "deepproblog": lambda: inner.to_deepproblog(X),
        "page": lambda: evidence_page(inner, X).encode(),
        "audit": lambda: str(inner.audit(X, time_limit=5.0)).encode(),
        "suggest labels": lambda: str(inner.suggest_labels(X, time_limit=5.0)).encode(),
        "explain": lambda: explanation_bytes(inner.explain(X, 0)),
        "draw why": lambda: explained(inner, X),
        "save": lambda: load(model.save(folder / "again")).predict_proba(X),  # type: ignore[union-attr]
        "pickle": lambda: pickle.loads(pickle.dumps(model)).predict_proba(X),
        "deepcopy": lambda: copy.deepcopy(model).predict_proba(X),
    }


def explanation_bytes(explanation: Any) -> bytes:
    """An explanation as text and as JSON."""
    return f"{explanation.text()}{explanation.json()}".encode()


def explained(model: Any, X: Examples) -> None:
    """Draw an explanation, down to the pixels."""
    try:
        model.explain(X, 0).plot().figure.canvas.draw()
    finally:
        pyplot.close("all")


def drawn(model: Any, X: Examples) -> None:
    """Draw with matplotlib, down to the pixels."""
    try:
        plot_tree(model, X)
        pyplot.gcf().canvas.draw()
    finally:
        pyplot.close("all")
