"""The public model of a forest: exact inference, with methods that explain and save it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, overload

from neuid3.binned.model import ForestModel
from neuid3.estimators.model import NeurosymbolicTree
from neuid3.estimators.saved_model import SavedModel
from neuid3.explain.forests import ForestExplanation, explain_forest
from neuid3.export.forests import LISTED, forest_svg, forest_text, importances
from neuid3.io.forests import save_forest
from neuid3.io.serialize import nodes_to_json


class ForestTrees(Sequence[NeurosymbolicTree]):
    """The trees of a forest as models, each made when it is first asked for; they share the networks of the forest.

    Parameters
    ----------
    model : the model of the forest.
    """

    def __init__(self, model: ForestModel) -> None:
        self._model = model
        self._made: dict[int, NeurosymbolicTree] = {}

    def __len__(self) -> int:
        return len(self._model.forest)

    @overload
    def __getitem__(self, number: int) -> NeurosymbolicTree: ...

    @overload
    def __getitem__(self, number: slice) -> list[NeurosymbolicTree]: ...

    def __getitem__(self, number: int | slice) -> NeurosymbolicTree | list[NeurosymbolicTree]:
        """A tree by its number, from 0, or several."""
        if isinstance(number, slice):
            return [self[i] for i in range(len(self))[number]]
        i = range(len(self))[number]
        if i not in self._made:
            self._made[i] = self._tree(i)
        return self._made[i]

    def __iter__(self) -> Iterator[NeurosymbolicTree]:
        return (self[i] for i in range(len(self)))

    def _tree(self, number: int) -> NeurosymbolicTree:
        model, tree = self._model, self._model.forest.tree(number)
        called = {instance for instances in tree.network_instances.values() for instance in instances}
        of_tree = NeurosymbolicTree(
            tree,
            model.schema,
            background=model.program.text,
            networks={
                name: net for name, net in model.networks.items() if name in called | set(model.program.networks)
            },
            priors=model.priors,
            limits=model.program.limits,
            dtype=model.precision,
            device=model.device,
            backend=model.backend,
        )
        of_tree.encoder = model.encoder
        return of_tree


class NeurosymbolicForest(SavedModel, ForestModel):
    """A forest of trees that gives exact predictions for batches of examples: the average of its trees.

    Parameters and attributes are those of `ForestModel`.

    Parameters
    ----------
    ensemble : the forest.
    schema, background, networks, priors, limits, dtype, device, backend : as in `neuid3.NeurosymbolicTree`.
    """

    file_kind: ClassVar[str] = "forest"

    @cached_property
    def trees(self) -> ForestTrees:
        """The trees one by one, as models that share the networks of the forest."""
        return ForestTrees(self)

    def explain(self, X: Any, row: int = 0) -> ForestExplanation:
        """The explanation of a prediction: what each column contributes, and how the trees differ.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        row : the example.

        Returns
        -------
        The explanation; `print` shows it as text.
        """
        return explain_forest(self, X, row)

    def export_text(
        self, decimals: int = 2, *, max_trees: int = 3, max_depth: int | None = 3, rules: bool = False
    ) -> str:
        """The forest as text: importances of columns, the tests that most trees ask, and the first trees.

        Parameters
        ----------
        decimals : the number of decimals.
        max_trees : the most trees that are shown.
        max_depth : the depth to which they are shown; None for all.
        rules : whether the background knowledge follows.

        Returns
        -------
        Lines of text.
        """
        return forest_text(self, decimals, max_trees=max_trees, max_depth=max_depth, rules=rules)

    def export_svg(self, *, max_rows: int = LISTED) -> str:
        """The forest as an SVG image: bars of importances, of the tests that most trees ask, and of those at the roots.

        Parameters
        ----------
        max_rows : the most bars of each kind.

        Returns
        -------
        The text of an SVG file.
        """
        return forest_svg(self, max_rows=max_rows)

    def trees_to_json(self) -> dict[str, Any]:
        """Importances and trees as lists, dicts, strings and numbers."""
        roots = (self.forest.tree(number).root for number in range(len(self.forest)))
        return {"importances": dict(importances(self)), "trees": [nodes_to_json(root) for root in roots]}

    def _repr_svg_(self) -> str:
        return self.export_svg()

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
        return save_forest(self, path, fields, remember_rows=remember_rows)
