"""Pretraining by candidates: all rules together teach one instance of each declared network."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch import nn

from neuid3.data.columns import Boolean, Category, Column, Distribution, Number, Probability
from neuid3.data.examples import Examples
from neuid3.learning.candidates import shapes_of
from neuid3.learning.goals import NO_GOALS, GoalCandidates
from neuid3.learning.inference import ExactInference
from neuid3.learning.initialize import NetworkInitializer
from neuid3.learning.labelled_inputs import labels_of_instances
from neuid3.learning.sample import Floats, Instance, Sample
from neuid3.logic.formula import Literal, NeuralVariable
from neuid3.networks.defaults import sharpened
from neuid3.training.config import TrainingConfig
from neuid3.training.head import GoalHead, Head
from neuid3.training.parallel.shared import RowSubset, SharedColumns
from neuid3.training.task import NetworkOutput, RestartVariant, Task, TrainingResult
from neuid3.tree.node_tests import NodeTest
from neuid3.tree.semantics import NetworkCall

# The most rules that teach together, and the most other features that their head reads.
MAX_RULES, MAX_FEATURES = 256, 512

# Of four restarts, this one begins with the networks of the grown tree: where these read something well, the others learn
# what is left. It has no grayscale warm-up, which would undo them.
WARM = 2

# The steps of pretraining are so many times those of a single test: there is more to learn at once.
STEPS = 3

# The deviation of numbers around the value of a goal at the beginning, as a fraction of that of all targets.
FIRST_DEVIATION = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class CandidatePretrainingTask:
    """The task that trains one instance of each network by all rules at once.

    Attributes
    ----------
    names : the name of the instance of each declared network.
    columns : the columns that each instance reads in training, by its name.
    task : the training task.
    """

    names: dict[str, str]
    columns: dict[str, frozenset[str]]
    task: Task

    @property
    def title(self) -> str:
        """What reports call the task."""
        return "all candidates together"

    def instances(self, trained: TrainingResult | None) -> dict[str, Instance]:
        """The trained instances, by name; empty where training failed."""
        if trained is None or trained.failed is not None:
            return {}
        declared = {instance: network for network, instance in self.names.items()}
        return {
            name: Instance(net, declared[name], self.columns[name], False) for name, net in trained.networks.items()
        }


def candidate_pretraining(
    tests: Sequence[NodeTest],
    inference: ExactInference,
    initializer: NetworkInitializer,
    shared_columns: SharedColumns,
    config: TrainingConfig,
    starts: Mapping[str, nn.Module],
    goals: GoalCandidates = NO_GOALS,
) -> CandidatePretrainingTask | None:
    """The task that pretrains the networks of these tests; None where they have nothing to teach together, or are too many.

    Networks that are tests by themselves, each of its own name, teach each other nothing.

    Parameters
    ----------
    tests : the candidates with networks.
    inference : exact inference with the trained networks.
    initializer : creates networks.
    shared_columns : columns that the workers hold.
    config : how networks are trained.
    starts : networks of a tree that was grown before, by declared network; some restarts begin with them.
    goals : the goals that leaves may hold. With them the task is to say which goal applies to an example, and goals teach
        their networks.
    """
    sample, semantics = inference.sample, inference.semantics
    tests = list(tests)[:MAX_RULES] if len(goals) else tests
    values = [(i, test) for i, goal in enumerate(goals.goals) for _, test in semantics.value_tests(goal)]
    called = [*(test for _, test in values), *tests]
    calls = {test: [c for c in semantics.calls(test) if c.network not in inference.instances] for test in called}
    first_calls = {call.network: call for of_test in reversed(calls.values()) for call in reversed(of_test)}
    rules = [test for test in tests if not isinstance(semantics.formula(test), Literal)]
    is_joint = bool(values) or len(rules) > 1 or _share_networks(list(calls.values()))
    if not first_calls or not is_joint or len(tests) > MAX_RULES:
        return None
    instances = {network: f"{network}#{initializer.next_number()}" for network in sorted(first_calls)}
    bound = [
        test.bind(dict(test.instances) | {c.network: instances[c.network] for c in calls[test]})
        for test in (*tests, *(test for _, test in values))
    ]
    factored = semantics.conjunctions([((test, True),) for test in bound])
    trainable = {v for v in factored.variables if isinstance(v, NeuralVariable) and v.network in instances.values()}
    columns = {
        name: frozenset(c for v in trainable if v.network == name for c in v.inputs) for name in instances.values()
    }
    inputs = sorted({name for of_network in columns.values() for name in of_network})
    rows = np.arange(len(sample))
    normalised = all(map(initializer.is_normalised, first_calls.values()))
    variants = _variants(inputs, inference, config, normalised)
    all_calls = sorted({call for of_test in calls.values() for call in of_test})

    def fresh(call: NetworkCall) -> nn.Module:
        own = [other for other in all_calls if other.network == call.network]
        return sharpened(initializer.create(call, own), call.width, config.sharpness)

    head = _head(sample, len(tests), [i for i, _ in values], goals)
    task = Task(
        factored,
        {v: NetworkOutput.of(v, semantics.program) for v in factored.variables if v in trainable},
        inference.fixed_weights([v for v in factored.variables if v not in trainable], rows),
        RowSubset(shared_columns, tuple(inputs), rows),
        sample.target,
        sample.unseen,
        tuple(
            {
                instances[network]: copy.deepcopy(starts[network]) if number % 4 == WARM and network in starts else net
                for network, net in ((network, fresh(call)) for network, call in first_calls.items())
            }
            for number in range(len(variants))
        ),
        _config(config, int((~sample.unseen).sum())),
        initializer.seed * 104_729 + initializer.count,
        inference.device,
        variants=tuple(variants),
        missing=sample.missing(inputs, rows),
        absent=sample.absent(inputs, rows),
        labels=labels_of_instances(
            sample,
            {instances[network]: (network, call.inputs) for network, call in first_calls.items()},
            shared_columns,
        ),
        head=head,
    )
    return CandidatePretrainingTask(instances, columns, task)


def _head(sample: Sample, tests: int, value_goals: Sequence[int], goals: GoalCandidates) -> Head:
    """The head that reads so many tests, and weighs goals where there are any."""
    features, criterion, sums = symbolic_features(sample), sample.criterion, sample.target.sums()
    plain = criterion.initial_parameters(sums, 3, False, lambda n: np.ones(n, bool))[0]
    if not len(goals):
        return Head(features, tests, len(plain))
    return GoalHead(
        features,
        tests,
        len(goals) + 1,
        goals=np.array(value_goals, dtype=np.int64),
        values=np.concatenate(goals.targets).astype(np.float64),
        plain=plain,
        deviation=FIRST_DEVIATION,
    )


def _share_networks(calls: Sequence[Sequence[NetworkCall]]) -> bool:
    """Whether some network is called by two tests."""
    networks = [network for of_test in calls for network in {call.network for call in of_test}]
    return len(set(networks)) < len(networks)


def _variants(
    inputs: Sequence[str], inference: ExactInference, config: TrainingConfig, normalised: bool
) -> list[RestartVariant]:
    """The variants of the restarts, twice as many as a test has: with a grayscale warm-up where there is colour."""
    if normalised:
        return [RestartVariant()] * min(WARM + 1, 2 * config.restarts)
    shapes = shapes_of(inputs, inference.semantics.program.schema)
    kinds = (False, True) if any(len(shape) == 3 and shape[0] == 3 for shape in shapes) else (False,)
    return [RestartVariant(False, kinds[i % len(kinds)]) for i in range(2 * config.restarts)]


def _config(config: TrainingConfig, examples: int) -> TrainingConfig:
    """The training configuration: more steps than for a single test."""
    steps = STEPS * config.steps(examples)
    batches = max(1, -(-examples // config.batch_size))
    return replace(config, loss="leaves", epochs=max(1, steps // batches), max_steps=None)


def symbolic_features(sample: Sample) -> Floats:
    """The columns without networks as features of a head, `(example, feature)`; missing entries are 0."""
    unseen = sample.unseen
    columns = [features for name in sample.examples.names for features in _features(sample.examples, name, ~unseen)]
    return np.stack(columns[:MAX_FEATURES], 1) if columns else np.zeros((len(sample), 0))


def _features(examples: Examples, name: str, training: Floats) -> list[Floats]:
    """The features of a column: indicators of its values, probabilities, or a standardised number."""
    column: Column = examples.column(name)
    present = np.ones(len(column), dtype=bool) if column.missing is None else ~column.missing
    match column.kind:
        case Boolean() | Probability():
            features = [np.asarray(column.values, dtype=float)]
        case Category(values):
            features = [(np.asarray(column.values) == code).astype(float) for code in range(len(values))]
        case Distribution(values):
            features = [np.asarray(column.values, dtype=float)[:, code] for code in range(len(values))]
        case Number():
            numbers = np.asarray(column.values, dtype=float)
            known = numbers[present & training]
            features = [(numbers - known.mean()) / (known.std() or 1.0)] if len(known) else []
        case _:
            features = []
    return [np.where(present, feature, 0.0) for feature in features]
