"""The base class of models: a program with its networks and priors, tests, and their exact inference."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from neuid3.circuits.arrays import AnyArray
from neuid3.data.columns import Kind, Schema
from neuid3.data.examples import Examples
from neuid3.data.parts import Parts, Relation, has_parts
from neuid3.data.priors import (
    Priors,
    check_priors,
    column_priors,
    network_call_name,
    part_kinds,
    with_quantiles,
)
from neuid3.data.slots import Slots, needed_slots, unfolded
from neuid3.data.worlds import MAX_WORLDS, most_probable, open_entries, warn_of_counts, world_counts, worlds_of
from neuid3.errors import BindingLimitError, DataError, NetworkError, did_you_mean
from neuid3.logic.formula import NeuralVariable, Source, Truth, columns_of, columns_read, expressions_in, sources
from neuid3.logic.program import Program
from neuid3.logic.sandbox import Limits
from neuid3.networks.backend import Backend, select_backend
from neuid3.queries.grounding import read_program
from neuid3.queries.language import compared_columns
from neuid3.tree.calculations import expression_prior
from neuid3.tree.conformal import Calibration
from neuid3.tree.evidence import Evidence
from neuid3.tree.goals import Goal
from neuid3.tree.inference import Inference, arrays_for, average_output
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.query_tests import QueryTest
from neuid3.tree.record import TrainingRecord
from neuid3.tree.semantics import Semantics
from neuid3.tree.tree import Path

if TYPE_CHECKING:
    import torch

    from neuid3.encoders.frozen import FrozenEncoder
    from neuid3.encoders.sentences import SentenceEncoder
    from neuid3.identifiability.certificate import Certificate
    from neuid3.tree.network_evidence import Network

# The most worlds that are evaluated together, and the most examples that they belong to.
WORLDS_AT_ONCE, ROWS_AT_ONCE = 1 << 15, 256


class BaseModel:
    """Tests with their program, networks and priors; the base class of models of one tree and of many.

    Parameters
    ----------
    tests : the distinct tests that the model asks.
    schema : the kinds of the columns, `X.schema`.
    background : rules, probabilistic facts and neural declarations in DeepProbLog's syntax.
    networks : the network of every name, or instance, that the tests use.
    priors : the distributions that stand for missing entries.
    limits : the time, memory and circuit size that the background knowledge may take.
    dtype : the precision of inference: "float64", "float32", or torch's dtype of that name.
    device : where networks and circuits run, as torch names it.
    backend : who runs the networks in predictions, by name or itself; see `neuid3.networks.Backend`.
    goals : the distinct goals of leaves that compute.

    Attributes
    ----------
    program : the background knowledge, parsed for the schema.
    expressions : the arithmetic expressions that the tests compare.
    inference : exact inference under the program; in numpy where no test calls a network, otherwise in torch.
    network_calls : the network calls that the tests and the goals of leaves need.
    training_record : digests of the training rows and scores on held-out rows; None where there is no record.
    calibration : scores of rows that had no part in learning, for sets and intervals; None before `calibrate`.
    candidates : the atoms that the model could have been made of; None where they are not known.
    labelled_values : for network instances, the values that they have learned from labels, by index; for a labelled network
        that the tests do not call, none.
    certificate : what the values of the networks are fixed up to, as last found by an audit or an export; None before.
    encoder : what turns pictures into the vectors that the networks read; None where they read the pictures.
    noun : what the model is called in messages.
    has_leaves : whether an example has a most probable leaf, as in one tree.
    has_deviations : whether predicted numbers come with standard deviations.
    """

    noun: ClassVar[str] = "tree"
    has_leaves: ClassVar[bool] = True
    has_deviations: ClassVar[bool] = True

    def __init__(
        self,
        tests: Sequence[NodeTest],
        schema: Schema,
        *,
        background: str = "",
        networks: Mapping[str, Network] | None = None,
        priors: Priors | None = None,
        limits: Limits | None = None,
        dtype: torch.dtype | str = "float64",
        device: torch.device | str = "cpu",
        backend: str | Backend = "auto",
        goals: Sequence[Goal] = (),
    ) -> None:
        self.schema = dict(_as_schema(schema))
        self.networks = dict(networks or {})
        self.training_record: TrainingRecord | None = None
        self.calibration: Calibration | None = None
        self.candidates: tuple[str, ...] | None = None
        self.labelled_values: Mapping[str, tuple[int, ...]] = {}
        self.certificate: Certificate | None = None
        self.encoder: FrozenEncoder | SentenceEncoder | None = None
        self.precision, self.device = _precision(dtype), device
        self.backend = backend
        check_priors(priors or Priors(), self.schema)
        self._tests, self._goals, given = tuple(tests), tuple(goals), priors or Priors()
        self._ground(read_program(background, self.schema, limits))
        self.priors = self._shortened(given)
        for test in tests:
            formula = self.inference.semantics.formula(test)
            if isinstance(formula, Truth):
                message = f"Test '{test}' is always {str(formula.value).lower()}: no fact and no network can change it."
                warnings.warn(message, UserWarning, stacklevel=3)
        self._check_networks()
        for network, inputs, width in self.network_calls:
            if not {network, network_call_name(network, inputs)}.isdisjoint(self.priors.networks):
                self.priors.network(network, inputs, width)  # raises an error where the prior has another width

    def _ground(self, program: Program) -> None:
        """Set the program and all that depends on its formulas."""
        self.program = program
        semantics = Semantics(program, self._tests)
        formulas = [semantics.formula(test) for test in self._tests]
        self.expressions = expressions_in(formulas)
        of_goals = [test for goal in self._goals for _, test in semantics.value_tests(goal)]
        formulas += [semantics.formula(test) for test in of_goals]
        self._sources = frozenset[Source]().union(*(sources(formula) for formula in formulas))
        self.network_calls = frozenset(call for test in (*self._tests, *of_goals) for call in semantics.calls(test))
        arrays = arrays_for(neural=bool(self.network_calls), dtype=self.precision, device=self.device)
        self.inference = Inference(semantics, arrays)

    def _make_room(self, slots: Slots) -> None:
        """Ground the tests for examples with more parts than there were before; nothing changes for the others."""
        facts = self.program.parts
        if facts is not None and not facts.slots.covers(slots):
            program = self.program
            self._ground(read_program(program.text, self.schema, program.limits, facts.slots.union(slots)))
            # What was computed from the formulas before, circuits above all, says nothing about the new slots.
            for name in [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]:
                del self.__dict__[name]
            self._compile()

    def _compile(self) -> None:
        """Compile what depends on the formulas of the tests; models that keep circuits do so."""

    def _check_networks(self) -> None:
        needed = {network for network, _, _ in self.network_calls}
        for name in sorted(needed - set(self.networks)):
            raise NetworkError(
                f"The tree needs network {name!r}, which is not given.{did_you_mean(name, self.networks)}"
            )
        for name in sorted(set(self.networks) - needed - set(self.program.networks)):
            raise NetworkError(
                f"Network {name!r} is given and neither the program nor the tree names it."
                f"{did_you_mean(name, needed | set(self.program.networks))}"
            )

    def read(self, X: Any) -> Examples:
        """The columns of a table that the tree needs, with the kinds of its schema.

        Parameters
        ----------
        X : a table with the columns of the schema.

        Returns
        -------
        The examples, with the vectors of their pictures where the model has an encoder.
        """
        examples = self.read_with(X)
        return examples if self.program.parts is not None else self._encoded(examples)

    def read_with(self, X: Any, further: Iterable[str] = ()) -> Examples:
        """The columns of a table that the tree needs and further ones, as they are given.

        Parameters
        ----------
        X : a table with the columns of the schema.
        further : names of columns, also of pictures of parts, such as `card_2`; those that do not exist are left out.

        Returns
        -------
        The examples.
        """
        further = set(further)
        read = {*self.columns, *further}
        if self.program.parts is None:
            return Examples.read(X, self.schema, [name for name in self.schema if name in read])
        read |= {name for name, kind in self.schema.items() if isinstance(kind, Parts)}
        examples = Examples.read(X, self.schema, [name for name in self.schema if name in read])
        self._make_room(needed_slots(examples))
        rows = unfolded(examples, self.program.slots)
        return rows.select([name for name in rows.names if name in further.union(self.columns)])

    def _encoded(self, examples: Examples) -> Examples:
        """The examples with the vectors of their pictures, where there is an encoder and networks read them."""
        return examples if self.encoder is None or not self.network_calls else self.encoder.encoded(examples)

    @property
    def dtype(self) -> torch.dtype:
        """The precision of inference, as torch's dtype."""
        from neuid3.circuits.torch_arrays import torch_arrays

        return torch_arrays(self.precision).dtype

    def evidence(self, X: Any) -> Evidence:
        """The evidence of these examples for the tree's networks and priors.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.

        Returns
        -------
        The probabilities of all variables of these examples, computed when they are needed.
        """
        return self.evidence_of(self.read(X))

    def evidence_of(self, examples: Examples) -> Evidence:
        """The evidence of examples that are in the schema already, as `read` returns them.

        Parameters
        ----------
        examples : the examples.

        Returns
        -------
        The evidence.
        """
        networks: Mapping[str, Any] = self.networks
        if self.network_calls and not self.inference.arrays.records_gradients:
            from neuid3.tree.network_evidence import on_backend

            backend = self._selected_backend
            networks = {name: on_backend(network, backend, self.device) for name, network in networks.items()}
        return self.inference.evidence(self._encoded(examples), networks, self.priors)

    @cached_property
    def _selected_backend(self) -> Backend:
        return select_backend(self.backend)

    @property
    def columns(self) -> list[str]:
        """The columns that the tree reads, in the order of the schema."""
        read = columns_read(self._sources)
        # A tree without tests of columns still needs the number of examples.
        return [name for name in self.program.schema if name in read] or list(self.schema)[:1]

    @property
    def columns_with_priors(self) -> list[str]:
        """The columns whose missing entries have priors: those that the tree reads, and those of parts, named `car.long`."""
        asked = self._part_thresholds
        return [*self.columns, *(name for name in part_kinds(self.schema) if name.rsplit(".", 1)[1] in asked)]

    @property
    def declarations_and_instances(self) -> list[tuple[int, str]]:
        """Pairs of a neural declaration's number and an instance of its network that the tree calls, sorted."""
        return sorted({(s.declaration, s.network) for s in self._sources if isinstance(s, NeuralVariable)})

    def _as_tensor(self, array: AnyArray) -> torch.Tensor:
        """A result of inference as a tensor, also where it was computed without torch."""
        from neuid3.circuits.torch_arrays import as_tensor

        return as_tensor(array) if isinstance(array, np.ndarray) else array

    def over_worlds(self, examples: Examples, compute: Callable[[Examples], AnyArray]) -> AnyArray:
        """What is computed of examples, with the missing and the probable entries of their parts summed out.

        Parameters
        ----------
        examples : the examples.
        compute : expected values of examples whose parts have all entries, one row for each.

        Returns
        -------
        One row for each example.
        """
        entries = open_entries(examples, self.priors, self._part_thresholds) if self._has_parts else []
        if not entries:
            return self._in_halves(examples, compute)
        arrays, counts = self.inference.arrays, world_counts(entries, len(examples))
        warn_of_counts(counts, entries)
        counts = np.minimum(counts, MAX_WORLDS)
        is_open = np.isin(np.arange(len(examples)), np.concatenate([of_column.example for of_column in entries]))
        order = [np.flatnonzero(~is_open), *_blocks(np.flatnonzero(is_open), counts)]
        results = [self._in_halves(examples[order[0]], compute)] if len(order[0]) else []
        for rows in order[1:]:
            block = examples[rows]
            worlds = worlds_of(block, open_entries(block, self.priors, self._part_thresholds), MAX_WORLDS)
            weights = np.zeros((len(rows), len(worlds.owner)))
            weights[worlds.owner, np.arange(len(worlds.owner))] = worlds.weights
            results.append(arrays.floats(weights) @ self._in_halves(worlds.examples, compute))
        back = np.argsort(np.concatenate(order), kind="stable")
        return arrays.take(arrays.concatenate(results), arrays.indices(back))

    def _in_halves(self, examples: Examples, compute: Callable[[Examples], AnyArray]) -> AnyArray:
        """What is computed of examples, of half of them at a time where all together have too many bindings."""
        try:
            return compute(examples)
        except BindingLimitError:
            if len(examples) == 1 or not self._has_parts:
                raise
        half = len(examples) // 2
        parts = [self._in_halves(examples[rows], compute) for rows in (slice(half), slice(half, None))]
        return self.inference.arrays.concatenate(parts)

    def filled_in(self, example: Examples) -> tuple[Examples, tuple[str, ...]]:
        """One example with the most probable values of entries of its parts that are missing or only probable.

        Parameters
        ----------
        example : one example, as `read` returns it.

        Returns
        -------
        The example, and what was filled in, `long(car_2) = false (0.69)`; nothing where all entries are known.
        """
        entries = open_entries(example, self.priors, self._part_thresholds) if self._has_parts else []
        return most_probable(example, entries) if entries else (example, ())

    def has_open_parts(self, examples: Examples) -> npt.NDArray[np.bool_]:
        """Whether entries of parts that tests ask about are missing or only probable.

        Parameters
        ----------
        examples : the examples, as `read` returns them.

        Returns
        -------
        A mask, `(example,)`.
        """
        is_open = np.zeros(len(examples), dtype=bool)
        for of_column in open_entries(examples, self.priors, self._part_thresholds) if self._has_parts else []:
            is_open[of_column.example] = True
        return is_open

    @cached_property
    def _has_parts(self) -> bool:
        return has_parts(self.schema)

    @cached_property
    def _part_thresholds(self) -> dict[str, list[float] | None]:
        """The columns of parts that tests ask about, with the numbers that they are compared with; see `open_entries`."""
        queries = [test.query for test in self._tests if isinstance(test, QueryTest)]
        compared = compared_columns(queries)
        asked = {name: kind for name, kind in self.schema.items() if isinstance(kind, Relation) and name in compared}
        of_rules = () if self.program.parts is None else self.program.parts.mentioned
        return compared | dict.fromkeys([*of_rules, *(column for kind in asked.values() for column in kind.schema)])

    def _in_batches(
        self, examples: Examples, batch_size: int, compute: Callable[[Examples], AnyArray]
    ) -> npt.NDArray[np.float64]:
        """The results of all batches, one row for each example."""
        if not len(examples):
            raise DataError("The table has no rows to predict; give at least one.")
        arrays = self.inference.arrays
        results: npt.NDArray[np.float64] | None = None
        with self.evaluating(), arrays.without_gradients():
            for start in range(0, len(examples), batch_size):
                batch = arrays.to_numpy(compute(examples[start : start + batch_size]))
                # A list of batch results would lie between the temporary arrays of each batch and fragment the memory.
                results = np.empty((len(examples), *batch.shape[1:])) if results is None else results
                results[start : start + len(batch)] = batch
        assert results is not None
        return results

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """A context with the networks in `eval()` mode; their modes are restored at its end, also between threads."""
        if not self.networks:
            yield
            return
        from neuid3.tree.network_evidence import evaluating

        with evaluating(self.networks.values()):
            yield

    def columns_of(self, test: NodeTest) -> tuple[str, ...]:
        """The columns that a test depends on, in the order of the schema.

        Parameters
        ----------
        test : a test of the tree.

        Returns
        -------
        The names of the columns.
        """
        read = columns_of(self.inference.semantics.formula(test))
        return tuple(name for name in self.program.schema if name in read)

    def path_probability(self, X: Any, path: Path) -> npt.NDArray[np.float64]:
        """P(κ | e) of a path κ, a conjunction of tests with their outcomes, `(example,)`.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        path : a sequence of tests with their responses.

        Returns
        -------
        Probabilities, `(example,)`.
        """
        return self.path_probabilities(X, [path])[:, 0]

    def path_probabilities(self, X: Any, paths: Sequence[Path]) -> npt.NDArray[np.float64]:
        """P(κ | e) of each path κ, `(example, path)`.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        paths : the paths, each a sequence of tests with their responses.

        Returns
        -------
        Probabilities, `(example, path)`.
        """
        examples = self.read(X)
        reach = self.inference.compiled(paths)
        return self._in_batches(
            examples, 4096, lambda batch: self.over_worlds(batch, lambda worlds: reach(self.evidence_of(worlds)))
        )

    def learn_priors(self, X: Any, *, batch_size: int = 4096) -> Self:
        """This model with priors estimated from examples: prevalences of columns and average network outputs.

        Parameters
        ----------
        X : the examples, as `Examples` or a table with the columns of the schema.
        batch_size : as in `predict_proba`.

        Returns
        -------
        A new model; this one does not change.
        """
        examples = self._encoded(Examples.read(X, self.schema))
        if self.program.parts is not None:
            self._make_room(needed_slots(examples))
            examples = unfolded(examples, self.program.slots)
        averages: dict[str, Any] = {}
        for call in sorted(self.network_calls):
            present = examples[examples.complete(call.inputs)]
            if len(present):
                outputs = self._in_batches(
                    present,
                    batch_size,
                    lambda batch, call=call: self.evidence_of(batch).output(*call),  # type: ignore[misc]
                )
                averages[network_call_name(call.network, call.inputs)] = average_output(outputs)
        columns = {**self.priors.columns, **column_priors(examples)}
        partial = [expression for expression in self.expressions if expression.is_partial]
        expressions = {str(expression): expression_prior(expression, examples) for expression in partial}
        return self.with_priors(
            Priors(columns, {**self.priors.networks, **averages}, {**self.priors.expressions, **expressions})
        )

    def with_priors(self, priors: Priors) -> Self:
        """The same model with other priors.

        Parameters
        ----------
        priors : the distributions that stand for missing entries.

        Returns
        -------
        A new model; this one does not change.
        """
        check_priors(priors, self.schema)
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.priors = self._shortened(priors)
        return copy

    def _shortened(self, priors: Priors) -> Priors:
        """The priors with quantiles of the columns that rules calculate with."""
        return with_quantiles(priors, {name for expression in self.expressions for name in expression.columns})


def _blocks(rows: npt.NDArray[np.int64], counts: npt.NDArray[np.float64]) -> Iterator[npt.NDArray[np.int64]]:
    """Rows in blocks with at most so many worlds together, and few examples: their weights are a matrix."""
    block: list[int] = []
    for row in rows.tolist():
        if block and (counts[[*block, row]].sum() > WORLDS_AT_ONCE or len(block) == ROWS_AT_ONCE):
            yield np.array(block)
            block = []
        block.append(row)
    if block:
        yield np.array(block)


def _precision(dtype: Any) -> str:
    """The name of a precision, given by its name or as torch's dtype."""
    name = str(dtype).removeprefix("torch.")
    if name not in ("float64", "float32"):
        raise DataError(f"dtype={dtype!r} is no precision of a tree; give 'float64' or 'float32'.")
    return name


def check_threshold(threshold: float) -> None:
    """Raise a `DataError` unless a threshold is in [0, 1)."""
    if not 0.0 <= threshold < 1.0:
        raise DataError(f"threshold={threshold!r} is no probability below 1; give a number from 0 (exact) to below 1.")


def _as_schema(schema: Any) -> Schema:
    """The schema itself, or that of `Examples` in its place; a `DataError` for anything else."""
    if isinstance(schema, Examples):
        return schema.schema
    if not isinstance(schema, Mapping) or not all(isinstance(kind, Kind) for kind in schema.values()):
        raise DataError("The schema must be that of some examples: pass X.schema, or the Examples themselves.")
    return schema
