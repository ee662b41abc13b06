"""A forest with its program, networks and priors: the average of the exact predictions of its trees."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from neuid3.binned.averaged import Forest
from neuid3.binned.columns import BinnedColumn
from neuid3.binned.forest import column_values
from neuid3.binned.trees import BinnedTree
from neuid3.circuits.reach import Reach
from neuid3.data.columns import Distribution, Probability
from neuid3.data.examples import Examples
from neuid3.errors import TreeError
from neuid3.logic.formula import ColumnVariable, Source, sources
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.tree import Path, paths
from neuid3.tree.trees_model import BATCH, TreesModel

Floats = npt.NDArray[np.float64]


class ForestModel(TreesModel):
    """A forest with its program, networks and priors: the average of the exact predictions of its trees.

    Parameters
    ----------
    ensemble : the forest.
    schema, background, networks, priors, limits, dtype, device, backend : as in `TreesModel`.

    Attributes
    ----------
    threads : the threads that predict.
    """

    noun: ClassVar[str] = "forest"
    ensemble_kind: ClassVar[type] = Forest
    adds_scores: ClassVar[bool] = False
    threads: int = 1

    @property
    def forest(self) -> Forest:
        """The trees."""
        return cast("Forest", self._ensemble)

    def _size(self) -> str:
        return f"{len(self.forest)} trees, {self.forest.applied.leaf_offsets[-1]} leaves"

    @property
    def center(self) -> float:  # type: ignore[override]
        """The mean of the training targets, which moments are about."""
        return self.forest.center

    def weighted_trees(self) -> tuple[Floats, Iterator[tuple[list[Path], Floats]]]:
        """Zeros, and the paths of each tree with what its leaves add to the average.

        Returns
        -------
        The start, `(value,)`, and pairs of the paths of a tree and values, `(path, value)`.
        """
        forest, values = self.forest, self.forest.leaf_values / len(self.forest)
        offsets = forest.applied.leaf_offsets
        trees = (
            ([path for path, _ in paths(forest.tree(i).root)], values[offsets[i] : offsets[i + 1]])
            for i in range(len(forest))
        )
        return np.zeros(values.shape[1]), trees

    @property
    def columns(self) -> list[str]:
        """The columns that the trees read, in the order of the schema."""
        read = {*self.forest.column_names, *(super().columns if self.forest.tests else ())}
        return [name for name in self.program.schema if name in read] or list(self.schema)[:1]

    def columns_of_gains(self) -> list[tuple[str, ...]]:
        """The columns of the schema that each column of the forest depends on, in the order of `Forest.columns`."""
        read = [(c.name,) if c.fact is None else self.columns_of(c.fact) for c in self.forest.columns]
        # The slots of pictures in parts belong to the column of the parts.
        return [tuple(name for name in names if name in self.schema) for names in read]

    def leaf_reach(self, X: Any, number: int) -> Floats:
        """P(leaf | e) of the leaves of a tree from left (all yes) to right (all no), `(example, leaf)`.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        number : the number of the tree.

        Returns
        -------
        Probabilities that sum to 1 for each example, `(example, leaf)`.
        """
        start, end = self.forest.applied.leaf_offsets[number], self.forest.applied.leaf_offsets[number + 1]
        values = np.zeros((int(self.forest.applied.leaf_offsets[-1]), int(end - start)))
        values[start:end] = np.eye(int(end - start))
        with self.evaluating():
            return self._batch_values(self.read(X), slice(None), [number], values)

    # Prediction ----------------------------------------------------------------------------------

    def values(self, X: Any, *, batch_size: int = BATCH) -> Floats:
        """The average over the trees of Σ P(leaf | e) · value, `(example, value)`; see `Forest.leaf_values`.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        batch_size : examples in memory at a time.

        Returns
        -------
        Values, `(example, value)`.
        """
        examples = self.read(X)
        width = self.forest.leaf_values.shape[1]
        out = np.empty((len(examples), width))
        with self.evaluating():
            for start in range(0, len(examples), batch_size):
                batch = slice(start, start + batch_size)
                out[batch] = self._batch_values(examples, batch)
        return out / len(self.forest)

    def _class_probabilities(self, X: Any, batch_size: int) -> Floats:
        return self.values(X, batch_size=batch_size)

    def _numbers(self, X: Any, batch_size: int) -> Floats:
        return self.predict_number(X, batch_size=batch_size)[0]

    def predict_number(self, X: Any, *, batch_size: int = BATCH) -> tuple[Floats, Floats]:
        """The expected number of each example, and the standard deviation of the mixture of all leaves of all trees.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        batch_size : examples in memory at a time.

        Returns
        -------
        Means and standard deviations, `(example,)` each.

        Raises
        ------
        TreeError : where the forest predicts classes.
        """
        if not self.predicts_numbers:
            raise TreeError("The forest predicts classes and no numbers; use `predict` or `predict_proba`.")
        first, second = self.values(X, batch_size=batch_size).T
        return self.forest.center + first, np.sqrt(np.maximum(second - first**2, 0.0))

    def tree_values(self, X: Any) -> Iterator[Floats]:
        """Σ P(leaf | e) · value of each tree in turn, `(example, value)`.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.

        Returns
        -------
        An iterator over the trees.
        """
        examples = self.read(X)
        with self.evaluating():
            for number in range(len(self.forest)):
                yield self._batch_values(examples, slice(None), [number])

    def _batch_values(
        self, examples: Examples, rows: slice, trees: list[int] | None = None, leaf_values: Floats | None = None
    ) -> Floats:
        """The sum of the trees for some rows, `(example, value)`, by default of what their leaves say."""
        if not self._has_parts:
            return self._sums(examples, rows, trees, leaf_values)
        arrays = self.inference.arrays

        def compute(worlds: Examples) -> Any:
            return arrays.floats(self._sums(worlds, slice(None), trees, leaf_values))

        with arrays.without_gradients():
            return np.asarray(arrays.to_numpy(self.over_worlds(examples[rows], compute)), dtype=np.float64)

    def _sums(self, examples: Examples, rows: slice, trees: list[int] | None, leaf_values: Floats | None) -> Floats:
        """As `_batch_values`, for examples whose parts have all entries."""
        facts: dict[NodeTest, npt.NDArray[Any]] = {}
        numbers = list(range(len(self.forest))) if trees is None else trees
        compiled: list[int] = []
        if self.forest.tests:
            batch = examples[rows]
            evidence = self.evidence_of(batch)
            arrays = self.inference.arrays
            with arrays.without_gradients():
                responses = arrays.to_numpy(self._responses(evidence))
            facts = {test: responses[:, i] for i, test in enumerate(self.forest.tests)}
            compiled = [n for n in numbers if any(_is_uncertain(s, batch) for s in self._shared[n])]
            values = column_values(self.forest.columns, batch, facts=facts, needed=self.forest.used)
        else:
            values = column_values(self.forest.columns, examples, rows, needed=self.forest.used)
        applied, leaf_values = self.forest.applied, self.forest.leaf_values if leaf_values is None else leaf_values
        chosen = [n for n in numbers if n not in set(compiled)]
        sums = applied.sums(values, leaf_values, trees=chosen, threads=self.threads)
        for number in compiled:
            with arrays.without_gradients():
                reach = arrays.to_numpy(self._compiled(number)(evidence))
            start, end = applied.leaf_offsets[number], applied.leaf_offsets[number + 1]
            sums += reach @ leaf_values[start:end]
        return sums

    @cached_property
    def _responses(self) -> Reach:
        """P(τ | e) of the tests that are no plain columns, as a function of evidence."""
        return self.inference.compiled([((test, True),) for test in self.forest.tests])

    def _compiled(self, number: int) -> Reach:
        """P(leaf | e) of a tree by circuits, which are exact whatever its tests share."""
        if number not in self._compiled_trees:
            leaves = [path for path, _ in paths(self.forest.tree(number).root)]
            self._compiled_trees[number] = self.inference.compiled(leaves)
        return self._compiled_trees[number]

    @cached_property
    def _compiled_trees(self) -> dict[int, Reach]:
        """What `_compiled` returned."""
        return {}

    @cached_property
    def _shared(self) -> list[frozenset[Source]]:
        """For each tree, the variables that different tests of one path depend on, one of which is no plain column.

        The kernel multiplies the responses of these tests, which is exact where such variables are certain.
        """
        semantics = self.inference.semantics
        of_column: list[frozenset[Source]] = []
        for column in self.forest.columns:
            if column.fact is None:
                of_column.append(frozenset({column.name}))
            else:
                of_column.append(frozenset(sources(semantics.formula(column.fact))))
        names = [frozenset(map(_name_of, variables)) for variables in of_column]
        return [_shared_sources(tree, self.forest.columns, of_column, names) for tree in self.forest.trees]


def _shared_sources(
    tree: BinnedTree,
    columns: tuple[BinnedColumn, ...],
    of_column: list[frozenset[Source]],
    names: list[frozenset[Any]],
) -> frozenset[Source]:
    """The variables that two different columns of a path depend on."""
    above: list[frozenset[int]] = []
    shared: set[Source] = set()
    for node, column in enumerate(tree.column.tolist()):
        parent = int(tree.parent[node])
        on_path = frozenset() if parent < 0 else above[parent] | {int(tree.column[parent])}
        above.append(on_path)
        if column < 0:
            continue
        for other in on_path - {column}:
            if (columns[column].fact or columns[other].fact) and names[column] & names[other]:
                shared |= {
                    s for s in of_column[column] | of_column[other] if _name_of(s) in names[column] & names[other]
                }
    return frozenset(shared)


def _name_of(source: Source) -> Any:
    """The column that a variable is, or the variable itself."""
    return source.column if isinstance(source, ColumnVariable) else source


def _is_uncertain(source: Source, examples: Examples) -> bool:
    """Whether a variable has no certain value for some example."""
    match source:
        case str(name) | ColumnVariable(name):
            column = examples.column(name)
            return isinstance(column.kind, (Probability, Distribution)) or (
                column.missing is not None and bool(column.missing.any())
            )
        case _:
            return True
