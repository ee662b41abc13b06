"""Frozen fits: hashes of small fits of every kind, which a change of the code's shape must leave as they are.

`python -m benchmarks.frozen results/frozen.json --write` keeps the hashes of trees, weights and predictions;
`python -m benchmarks.frozen results/frozen.json` fits again and compares. Networks round differently on another kind of
processor, so both belong on one machine. Predictions of models without networks may differ by `TOLERANCE`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from neuid3 import AtomTest, Bank, Distribution, Examples, LeNet, NeuID3Classifier, TrainingConfig, load
from neuid3.training.config import changed_training

TOLERANCE = 1e-12

# Number of rows whose predictions are stored as numbers where a tree has no networks.
STORED_ROWS = 20

Fit = tuple[NeuID3Classifier, Any]

CASES: dict[str, Callable[[], Fit]] = {}


def case(function: Callable[[], Fit]) -> Callable[[], Fit]:
    """Register a fit under its name; it returns the classifier and the examples for its predictions."""
    CASES[function.__name__] = function
    return function


# Problems -------------------------------------------------------------------------------------------

RANK = "nn(rank_net, [I], R, [1, 2, 3, 4]) :: rank(I, R). "
ORDER = RANK + "gt_rank(A, B) :- rank(A, X), rank(B, Y), X < Y. "
RULES = ORDER + (
    "eq_rank(A, B) :- rank(A, X), rank(B, X). nn(same_net, [A, B]) :: same(A, B). "
    "0.9 :: sensor_works. alert :- alarm, sensor_works, rank(first, R), R > 2."
)


def plain_table(n: int = 300, seed: int = 0, missing: float = 0.0) -> tuple[Examples, Any]:
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 15, n).round(1)
    suit = rng.choice(["clubs", "hearts", "spades"], n)
    alarm = rng.random(n) < 0.4
    belief = rng.random(n).round(2)
    spread = rng.dirichlet([1, 1, 1], n)
    y = np.where((alarm & (suit == "hearts")) | (age > 60) ^ (belief > 0.8), "yes", "no")
    columns: dict[str, Any] = {"alarm": alarm.astype(object), "suit": suit.astype(object), "age": age}
    if missing:
        for name, values in columns.items():
            values[rng.random(n) < missing] = np.nan if name == "age" else None
    columns |= {"belief": belief, "spread": spread}
    kinds: dict[str, Any] = {"alarm": "boolean", "belief": "probability", "spread": Distribution(("a", "b", "c"))}
    return Examples(columns, kinds=kinds), y


def digit_pairs(n: int = 240, seed: int = 0, colour: bool = False, missing: float = 0.0) -> tuple[Examples, Any]:
    digits, rng = load_digits(), np.random.default_rng(seed)
    rows = rng.choice(np.flatnonzero(np.isin(digits.target, (1, 2, 3, 4))), (2, n))
    images = (digits.images / 16).astype(np.float32)
    first, second = images[rows[0]], images[rows[1]]
    if colour:
        red = rng.random((2, n)) < 0.5
        shades = np.where(red[..., None], [1.0, 0.2, 0.2], [0.9, 0.9, 0.9]).astype(np.float32)
        first = first[:, None] * shades[0][:, :, None, None]
        second = second[:, None] * shades[1][:, :, None, None]
    alarm = rng.random(n) < 0.2
    ranks = digits.target[rows]
    y = np.where(alarm | (ranks[0] < ranks[1]), "yes", "no")
    if missing:
        first = first.copy()
        first[rng.random(n) < missing] = np.nan
    return Examples({"alarm": alarm, "first": first, "second": second}), y


def image_columns(n: int = 200, columns: int = 6, seed: int = 0) -> tuple[Examples, Any]:
    digits, rng = load_digits(), np.random.default_rng(seed)
    images = (digits.images / 16).astype(np.float32)
    symbols = rng.random((n, max(columns, 3))) < 0.5
    of = [np.flatnonzero(digits.target == value) for value in (0, 1)]
    drawn = {f"c{j}": images[[rng.choice(of[int(value)]) for value in symbols[:, j]]] for j in range(columns)}
    y = (symbols[:, 0] & (symbols[:, 1] | symbols[:, 2])) ^ (rng.random(n) < 0.05)
    return Examples(drawn), y


# The names of the cases' settings that are called otherwise in a `TrainingConfig`.
RENAMED = {"epsilon": "min_reach", "warm_starts": "reuse", "read_together": "shared"}
TRAINING_FIELDS = frozenset(field.name for field in fields(TrainingConfig))


def classifier(**settings: Any) -> NeuID3Classifier:
    """The one place that knows how parameters are called."""
    named = {RENAMED.get(name, name): value for name, value in settings.items()}
    changes = {name: named.pop(name) for name in list(named) if name in TRAINING_FIELDS}
    training = changed_training(named.pop("recipe", "default"), changes)
    return NeuID3Classifier(**{"random_state": 0, "training": training, **named})


QUICK: dict[str, Any] = {"epochs": 20, "restarts": 2, "joint_epochs": 3}


def learned(X: Any, y: Any, fit: dict[str, Any] | None = None, **settings: Any) -> Fit:
    return classifier(**settings).fit(X, y, **(fit or {})), X


# Plain columns --------------------------------------------------------------------------------------


@case
def numbers_iris() -> Fit:
    return learned(*load_iris(return_X_y=True))


@case
def numbers_wine_deep() -> Fit:
    return learned(*load_wine(return_X_y=True), pruning=0)


@case
def numbers_breast_cancer() -> Fit:
    return learned(*load_breast_cancer(return_X_y=True))


@case
def every_plain_kind() -> Fit:
    return learned(*plain_table())


@case
def every_plain_kind_with_missing_entries() -> Fit:
    return learned(*plain_table(missing=0.15))


@case
def plain_weighted() -> Fit:
    X, y = plain_table()
    return learned(X, y, {"sample_weight": np.linspace(0.5, 2.0, len(y))}, class_weight="balanced", max_depth=4)


@case
def plain_rules() -> Fit:
    X, y = plain_table()
    return learned(X, y, background="risk :- alarm, suit(hearts). risk :- age > 60. 0.3 :: luck. lucky :- luck, alarm.")


@case
def plain_rules_with_missing_entries() -> Fit:
    X, y = plain_table(missing=0.2)
    return learned(X, y, background="risk :- alarm, suit(hearts). risk :- age > 60. old :- age > 55.", pruning=0.2)


@case
def plain_paper_training() -> Fit:
    X, y = plain_table()
    return learned(X, y, recipe="paper", max_depth=5)


@case
def plain_three_classes() -> Fit:
    X, _ = plain_table()
    y = np.digitize(X.column("age").values, [40, 60])
    return learned(X, y, min_mass=5, min_gain=0.01)


@case
def plain_unfinished() -> Fit:
    X, y = plain_table()
    return learned(X, y, max_depth=1, epsilon=0.05, pos_label="no")


# Networks -------------------------------------------------------------------------------------------


@case
def one_image() -> Fit:
    X, y = image_columns(columns=1)
    return learned(X, y, **QUICK)


@case
def rule_over_images() -> Fit:
    X, y = digit_pairs()
    return learned(X, y, background=RULES, tests=["alarm", "gt_rank(first, second)"], max_depth=2, **QUICK)


@case
def rules_that_share_images() -> Fit:
    X, y = digit_pairs(480)
    tests = ["alarm", "gt_rank(first, second)", "eq_rank(first, second)", "same(first, second)", "alert"]
    return learned(X, y, background=RULES, tests=tests, max_depth=3, **QUICK)


@case
def rules_by_modes() -> Fit:
    X, y = digit_pairs()
    return learned(X, y, background=RULES, modes=["gt_rank(+tensor, +tensor)"], tests=["alarm"], max_depth=2, **QUICK)


@case
def rules_found_by_themselves() -> Fit:
    X, y = digit_pairs(400)
    return learned(X, y, background=ORDER, max_depth=2, **QUICK)


@case
def coloured_images() -> Fit:
    X, y = digit_pairs(colour=True)
    return learned(X, y, background=RULES, tests=["gt_rank(first, second)"], max_depth=1, **{**QUICK, "restarts": 4})


@case
def default_settings() -> Fit:
    X, y = digit_pairs(160)
    return learned(X, y, background=RULES, tests=["alarm", "gt_rank(first, second)"], max_depth=2)


@case
def paper_training() -> Fit:
    X, y = digit_pairs()
    tests = ["alarm", "gt_rank(first, second)", "same(first, second)"]
    return learned(X, y, background=RULES, tests=tests, recipe="paper", epochs=15, max_depth=2)


@case
def branches_loss() -> Fit:
    X, y = digit_pairs()
    settings = {
        **QUICK,
        "loss": "branches",
        "one_cycle": False,
        "weight_decay": 0.02,
        "batch_size": 32,
        "sharpness": 2.0,
    }
    return learned(X, y, background=RULES, tests=["alarm", "gt_rank(first, second)"], max_depth=2, **settings)


@case
def no_augmentation() -> Fit:
    X, y = digit_pairs()
    settings = {**QUICK, "augment": False, "learning_rate": 1e-3, "warm_starts": False}
    return learned(X, y, background=RULES, tests=["gt_rank(first, second)", "eq_rank(first, second)"], **settings)


@case
def three_classes_of_images() -> Fit:
    X, y = digit_pairs(480)
    labels = np.where(X.column("alarm").values, "alarm", y)
    tests = ["alarm", "gt_rank(first, second)"]
    return learned(X, labels, background=RULES, tests=tests, max_depth=2, **QUICK)


@case
def two_image_network() -> Fit:
    X, y = digit_pairs()
    return learned(X, y, background=RULES, tests=["same(first, second)"], max_depth=1, **QUICK)


@case
def own_factory() -> Fit:
    X, y = digit_pairs()
    networks = {"rank_net": lambda: LeNet(4, size=8)}
    return learned(X, y, background=RULES, networks=networks, tests=["gt_rank(first, second)"], max_depth=1, **QUICK)


class Reader(torch.nn.Module):
    """A head over an encoder that other networks may share."""

    def __init__(self, encoder: torch.nn.Module, width: int) -> None:
        super().__init__()
        self.encoder, self.head = encoder, torch.nn.Linear(16, width)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.head(torch.tanh(self.encoder(image.flatten(1)))), 1)


@case
def shared_encoder() -> Fit:
    X, y = digit_pairs()
    torch.manual_seed(0)
    encoder = torch.nn.Linear(64, 16)
    networks = {"rank_net": Reader(encoder, 4), "tall_net": Reader(encoder, 2)}
    program = RANK + (
        "nn(tall_net, [I], V, [no, yes]) :: tall(I, V). gt_rank(A, B) :- rank(A, X), rank(B, Y), X < Y. "
        "both(A, B) :- tall(A, yes), tall(B, yes)."
    )
    tests = ["alarm", "gt_rank(first, second)", "both(first, second)", "tall(first, yes)"]
    return learned(X, y, background=program, networks=networks, tests=tests, max_depth=3, pruning=0, **QUICK)


@case
def own_module_with_dropout() -> Fit:
    X, y = digit_pairs(480)

    def fresh() -> torch.nn.Module:
        return torch.nn.Sequential(
            torch.nn.Flatten(),
            torch.nn.Linear(64, 8),
            torch.nn.Dropout(0.2),
            torch.nn.Linear(8, 4),
            torch.nn.Softmax(1),
        )

    tests = ["gt_rank(first, second)"]
    return learned(X, y, background=RULES, networks={"rank_net": fresh}, tests=tests, max_depth=1, **QUICK)


@case
def columns_read_one_by_one() -> Fit:
    return learned(*image_columns(), **QUICK)


@case
def columns_read_together() -> Fit:
    return learned(*image_columns(columns=8), read_together=True, **QUICK)


@case
def columns_grown_again() -> Fit:
    X, y = image_columns(300)
    return learned(X, y, epochs=25, restarts=2, joint_epochs=5)


@case
def images_with_plain_columns() -> Fit:
    X, y = image_columns(200, 2)
    rng = np.random.default_rng(5)
    return learned(
        {"c0": X.column("c0").values, "age": rng.integers(0, 9, 200), "alarm": rng.random(200) < 0.5}, y, **QUICK
    )


@case
def validation_given() -> Fit:
    X, y = digit_pairs()
    held = digit_pairs(60, 9)
    return learned(X, y, {"validation": held}, background=RULES, tests=["gt_rank(first, second)"], max_depth=1, **QUICK)


@case
def missing_images() -> Fit:
    X, y = digit_pairs(360, missing=0.3)
    return learned(X, y, background=RULES, tests=["alarm", "gt_rank(first, second)"], max_depth=2, **QUICK)


@case
def bytes_in_two_workers() -> Fit:
    X, y = digit_pairs()
    pixels = {name: (X.column(name).values * 255).astype(np.uint8) for name in ("first", "second")}
    columns = {"alarm": X.column("alarm").values, **pixels}
    return learned(
        columns, y, background=RULES, tests=["alarm", "gt_rank(first, second)"], n_jobs=2, max_depth=2, **QUICK
    )


# Reuse ----------------------------------------------------------------------------------------------


def _first_tree() -> NeuID3Classifier:
    X, y = digit_pairs()
    return learned(X, y, background=ORDER, tests=["gt_rank(first, second)"], max_depth=1, **QUICK)[0]


@case
def reused_tests() -> Fit:
    X, y = digit_pairs(seed=3)
    return learned(X, y, background=RULES, tests=[*_first_tree().tests_, "alarm"], max_depth=2, **QUICK)


@case
def reused_tests_trained_further() -> Fit:
    X, y = digit_pairs(seed=3)
    tests = [*(test.thawed() for test in _first_tree().tests_), "alarm", "eq_rank(first, second)"]
    return learned(X, y, background=RULES, tests=tests, max_depth=2, **QUICK)


@case
def tests_from_a_bank() -> Fit:
    X, y = digit_pairs(seed=3)
    with tempfile.TemporaryDirectory() as folder:
        bank = Bank(folder)
        bank.add("order", _first_tree().tests_[0])
        tests = ["alarm", "gt_rank(first, second)"]
        return learned(X, y, background=ORDER, bank=bank, tests=tests, max_depth=2, **QUICK)


@case
def saved_and_loaded() -> Fit:
    X, _ = digit_pairs(seed=4)
    with tempfile.TemporaryDirectory() as folder:
        path = _first_tree().save(Path(folder) / "model.neuid3")
        clf = load(path)
        assert isinstance(clf, NeuID3Classifier)
        return clf, X


# Checkpoints and clusters ------------------------------------------------------------------------------


@case
def checkpointed() -> Fit:
    X, y = digit_pairs()
    settings: dict[str, Any] = {
        "background": RULES,
        "tests": ["alarm", "gt_rank(first, second)"],
        "max_depth": 2,
        **QUICK,
    }
    with tempfile.TemporaryDirectory() as folder:
        learned(X, y, {"checkpoint": folder}, **settings)
        nodes = sorted(Path(folder).glob("node-*"))
        nodes[-1].unlink()
        return learned(X, y, {"checkpoint": folder}, **settings)


@case
def on_dask() -> Fit:
    from dask.distributed import Client
    from joblib import parallel_config

    X, y = digit_pairs()
    with (
        Client(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None),
        parallel_config(backend="dask"),
    ):
        return learned(X, y, background=RULES, tests=["alarm", "gt_rank(first, second)"], max_depth=2, **QUICK)


# Hashes ---------------------------------------------------------------------------------------------


def frozen(name: str) -> dict[str, Any]:
    """The hashes of one fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf, X = CASES[name]()
        predictions = clf.predict_proba(X)
    networks = {name: net for name, net in clf.model_.networks.items() if isinstance(net, torch.nn.Module)}
    nodes = _nodes(clf.tree_.root)
    record: dict[str, Any] = {"nodes": len(nodes), "tree": _hash(nodes), "classes": list(map(str, clf.classes_))}
    if networks:
        record["weights"] = _hash([(name, _weights(net)) for name, net in sorted(networks.items())])
        record["predictions"] = hashlib.sha256(predictions.tobytes()).hexdigest()[:16]
    else:
        record["predictions"] = predictions[:STORED_ROWS].tolist()
    return record


def _nodes(root: Any) -> list[Any]:
    """Every node of a tree, parents first: tests with their network instances, gains, masses and leaf probabilities."""
    nodes, stack = [], [root]
    while stack:
        node = stack.pop()
        masses = None if node.masses is None else [float(mass).hex() for mass in node.masses]
        if hasattr(node, "test"):
            instances = list(node.test.instances) if isinstance(node.test, AtomTest) else []
            nodes.append([str(node.test), instances, float(node.gain).hex(), masses])
            stack += [node.no, node.yes]
        else:
            nodes.append([[float(p).hex() for p in node.probabilities], masses])
    return nodes


def _weights(network: torch.nn.Module) -> list[Any]:
    return [
        (name, hashlib.sha256(tensor.detach().cpu().contiguous().numpy().tobytes()).hexdigest())
        for name, tensor in network.state_dict().items()
    ]


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def differences(expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    """The parts of a fit that differ from the frozen ones."""
    changed = [part for part in ("tree", "classes", "weights") if expected.get(part) != actual.get(part)]
    before, after = expected["predictions"], actual["predictions"]
    if isinstance(before, str) or isinstance(after, str):
        same = before == after
    else:
        same = np.shape(before) == np.shape(after) and float(np.abs(np.subtract(before, after)).max()) <= TOLERANCE
    return changed if same else [*changed, "predictions"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Freeze fits, or compare them with those that were frozen; 1 where one differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frozen", description=__doc__)
    parser.add_argument("file", type=Path, help="the file of hashes")
    parser.add_argument("--write", action="store_true", help="freeze fits instead of comparing them")
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES), metavar="CASE")
    options = parser.parse_args(arguments)
    records = json.loads(options.file.read_text()) if options.file.exists() else {}
    differing = 0
    for name in options.only:
        record = frozen(name)
        if options.write:
            records[name] = record
            options.file.write_text(json.dumps(records, indent=1) + "\n")
            print(f"{name}: frozen", flush=True)
            continue
        changed = differences(records[name], record) if name in records else ["not frozen"]
        differing += bool(changed)
        print(f"{name}: {', '.join(changed) or 'as it was'}", flush=True)
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
