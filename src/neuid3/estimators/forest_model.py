"""The public model of a forest: exact inference, with methods that explain and save it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, overload

from neuid3.binned.model import ForestModel
from neuid3.estimators.model import NeurosymbolicTree
from neuid3.explain.forests import ForestExplanation, explain_forest
from neuid3.io.forests import save_forest


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
        return NeurosymbolicTree(
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


class NeurosymbolicForest(ForestModel):
    """A forest of trees that gives exact predictions for batches of examples: the average of its trees.

    Parameters and attributes are those of `ForestModel`.

    Parameters
    ----------
    forest : the trees.
    schema : the kinds of the columns, `X.schema`.
    background : rules, probabilistic facts and neural declarations in DeepProbLog's syntax.
    networks : the network of every instance that the tests use.
    priors : the distributions that stand for missing entries.
    limits : the time, memory and circuit size that the background knowledge may take.
    dtype : the precision of inference.
    device : where networks and circuits run.
    backend : what runs the networks.
    """

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

    def save(self, path: Path | str, *, remember_rows: bool = True) -> Path:
        """Write the forest with its program, networks and priors to one file, which `neuid3.load` reads.

        Parameters
        ----------
        path : the file; an ending is added where there is none.
        remember_rows : whether digests of the training rows are stored.

        Returns
        -------
        The path of the file.
        """
        return save_forest(self, path, {"kind": "forest"}, remember_rows=remember_rows)
