"""The public model of a boosted sum: exact inference, with methods that explain, show and save it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from neuid3.estimators.saved_model import SavedModel
from neuid3.explain.sums import SumExplanation, explain_sum
from neuid3.export.sums import sum_svg, sum_text
from neuid3.io.sums import save_sum, sum_to_json
from neuid3.tree.sum_model import SumModel


class NeurosymbolicSum(SavedModel, SumModel):
    """A boosted sum of trees that gives exact scores for batches of examples, with gradients into its networks.

    Parameters and attributes are those of `neuid3.tree.SumModel`.

    Parameters
    ----------
    ensemble : the sum.
    schema, background, networks, priors, limits, dtype, device, backend : as in `neuid3.NeurosymbolicTree`.

    >>> from neuid3 import BoostedSum, Branch, Examples, ScoreLeaf
    >>> stump = Branch("alarm", ScoreLeaf(2.0), ScoreLeaf(-1.0))
    >>> X = Examples({"alarm": [0.5]}, kinds={"alarm": "probability"})
    >>> model = NeurosymbolicSum(BoostedSum((stump,), (0.25,), ("no", "yes")), X.schema)
    >>> model.scores(X).tolist()
    [[0.75]]
    """

    file_kind: ClassVar[str] = "sum"

    def _repr_svg_(self) -> str:
        return sum_svg(self)

    def _repr_html_(self) -> str:
        rules = self.program.text.strip()
        details = (
            f"<details><summary>Background knowledge</summary><pre>{escape(rules)}</pre></details>" if rules else ""
        )
        return sum_svg(self) + details

    def explain(self, X: Any, row: int = 0) -> SumExplanation:
        """The explanation of the scores of one example: what each test adds.

        Parameters
        ----------
        X : the examples.
        row : the example to explain.

        Returns
        -------
        The explanation; `print` shows it as text.
        """
        return explain_sum(self, X, row)

    def export_text(self, decimals: int = 2, *, max_terms: int | None = 20, rules: bool = False) -> str:
        """The sum as text; see `neuid3.export_sum_text`.

        Parameters
        ----------
        decimals : the number of decimals of scores.
        max_terms : the most terms that are listed; None for all.
        rules : whether the background knowledge follows.

        Returns
        -------
        Lines of text.
        """
        return sum_text(self, decimals, max_terms=max_terms, rules=rules)

    def export_svg(self, *, max_terms: int | None = 20) -> str:
        """The sum as an SVG image: a scorecard with bars.

        Parameters
        ----------
        max_terms : the most terms that are drawn; None for all.

        Returns
        -------
        The text of an SVG file.
        """
        return sum_svg(self, max_terms=max_terms)

    def trees_to_json(self) -> dict[str, Any]:
        """The sum as lists, dicts, strings and numbers."""
        return {"sum": sum_to_json(self.boosted_sum)}

    def write(self, path: Path | str, fields: Mapping[str, Any], *, remember_rows: bool = True) -> Path:
        """Write the model with further fields to one file, as the estimators do.

        Parameters
        ----------
        path : the file; an ending is added where there is none.
        fields : further fields of the file, among them its `kind`.
        remember_rows : whether digests of the training rows are stored.

        Returns
        -------
        The path of the file.
        """
        return save_sum(self, path, fields, remember_rows=remember_rows)
