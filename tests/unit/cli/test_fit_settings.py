"""Options of `fit` for what Python has: training, parameters, weights, validation rows, verbosity, trained networks."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from click.testing import CliRunner

import neuid3.cli.fit as fit_command
from neuid3 import (
    Branch,
    Examples,
    Leaf,
    LeNet,
    NeuID3BoostingClassifier,
    NeuID3BoostingRegressor,
    NeuID3Classifier,
    NeuID3ForestClassifier,
    NeuID3ForestRegressor,
    NeuID3Regressor,
    NeurosymbolicTree,
    TrainingConfig,
    Tree,
    load,
)
from neuid3.cli.fit_settings import PARAMETER_OPTIONS, TRAINING_OPTIONS
from neuid3.cli.main import main

ESTIMATORS = (
    NeuID3Classifier,
    NeuID3Regressor,
    NeuID3ForestClassifier,
    NeuID3ForestRegressor,
    NeuID3BoostingClassifier,
    NeuID3BoostingRegressor,
)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=120), "mass": rng.normal(size=120), "count": rng.integers(0, 4, 120)})
    frame["result"] = np.where(frame["size"] > 0, "wins", "loses")
    frame.to_csv("cards.csv", index=False)
    return tmp_path / "cards.csv"


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(main, ["fit", *map(str, arguments)])


def learned(table: Path, *options: Any) -> Any:
    ended = run(table, "--target", "result", "--out", "m.neuid3", *options)
    assert ended.exit_code == 0, ended.output
    return load("m.neuid3")


def test_every_field_and_parameter_of_python_has_an_option() -> None:
    names = {name for kind in ESTIMATORS for name in kind().get_params(deep=False)}
    help_text = run("--help").output
    assert all(option in help_text for option in (*PARAMETER_OPTIONS.values(), *TRAINING_OPTIONS.values()))
    assert set(PARAMETER_OPTIONS) <= names
    assert set(TRAINING_OPTIONS) <= {field.name for field in fields(TrainingConfig)}


def test_fields_of_the_training_are_set(table: Path) -> None:
    training = learned(
        table,
        "--training",
        "batch_size=32",
        "--training",
        "max_steps=none",
        "--training",
        "augment=false",
        "--epochs",
        7,
    ).training
    assert (training.batch_size, training.max_steps, training.augment, training.epochs) == (32, None, False, 7)
    assert learned(table, "--training", "paper", "--restarts", 2).training == TrainingConfig.paper(restarts=2)


def test_parameters_are_set(table: Path) -> None:
    model = learned(table, "--parameter", "min_mass=20", "--parameter", "criterion=gini")
    assert (model.min_mass, model.criterion) == (20, "gini")
    forest = learned(table, "--model", "forest", "--trees", 5, "--parameter", "oob_score=true")
    assert forest.oob_score is True


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--training", "batchsize=3"], "Did you mean 'batch_size'?"),
        (["--training", "epochs=3"], "write --epochs"),
        (["--training", "batch_size=0"], "an integer of at least 1"),
        (["--training", "papr"], "no way to train networks"),
        (["--training", "batch_size"], "no way to train networks"),
        (["--parameter", "min_mas=3"], "Did you mean 'min_mass'?"),
        (["--parameter", "max_depth=3"], "write --max-depth"),
        (["--parameter", "min_mass"], "--parameter NAME=VALUE"),
        (["--parameter", "min_mass=heavy"], "min_mass"),
        (["--parameter", "min_mass=2", "--parameter", "min_mass=3"], "twice"),
        (["--network", "rank_net"], "is incomplete"),
        (["--network", "rank_net=weights.pt"], "may run code when it is read"),
        (["--network", "rank_net=nowhere.neuid3"], "nowhere.neuid3"),
        (["--weights", "mas"], "Did you mean 'mass'?"),
        (["--weights", "mass"], "no weight of 0 or more in line"),
        (["--verbose", "3"], "0<=x<=2"),
    ],
)
def test_wrong_settings_are_refused(table: Path, options: list[str], message: str) -> None:
    ended = run(table, "--target", "result", *options)
    assert ended.exit_code == 2
    assert message in ended.output
    assert "Traceback" not in ended.output


def test_weights_count_and_are_no_test(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = learned(table, "--weights", "count")
    assert "count" not in model.schema_
    frame = pd.read_csv(table)
    assert (frame["count"] == 0).any()
    seen: dict[str, Any] = {}

    class Recorded(NeuID3Classifier):
        def fit(self, X: Any, y: Any, **given: Any) -> Any:
            seen.update(given)
            return super().fit(X, y, **given)

    monkeypatch.setattr("neuid3.NeuID3Classifier", Recorded)
    learned(table, "--weights", "count", "--held-out", 0)
    assert seen["sample_weight"].tolist() == frame["count"].tolist()


def test_validation_rows_come_from_their_own_table(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pd.read_csv(table)[:30].to_csv("other.csv", index=False)
    pairs = []
    monkeypatch.setattr(
        fit_command,
        "read_validation_table",
        lambda options, data, read=fit_command.read_validation_table: pairs.append(read(options, data)) or pairs[-1],
    )
    learned(table, "--validation", "other.csv")
    assert len(pairs[0][0]) == len(pairs[0][1]) == 30
    assert set(pairs[0][1]) == {"wins", "loses"}


def test_verbosity_zero_prints_no_progress(table: Path) -> None:
    quiet = CliRunner().invoke(main, ["fit", str(table), "--target", "result", "--verbose", "0"])
    loud = CliRunner().invoke(main, ["fit", str(table), "--target", "result"])
    assert "node 1" not in quiet.output
    assert "node 1" in loud.output


def test_a_network_of_another_model_comes_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    from PIL import Image

    rng = np.random.default_rng(0)
    names = []
    for i in range(40):
        pixels = np.full((8, 8), 255 * (i % 2), dtype=np.uint8) ^ rng.integers(0, 9, (8, 8), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{i}.png")
        names.append(f"{i}.png")
    pd.DataFrame({"card": names, "result": ["dark", "light"] * 20}).to_csv("pictures.csv", index=False)
    rules = "nn(light_net, [C], V, [no, yes]) :: light(C, V).\nis_light(C) :- light(C, yes).\n"
    (tmp_path / "rules.pl").write_text(rules)
    torch.manual_seed(0)
    network = LeNet(2, size=8)
    schema = Examples({"card": np.zeros((2, 1, 8, 8), np.uint8)}).schema
    tree = Tree(Branch("is_light(card)", Leaf((0.1, 0.9)), Leaf((0.9, 0.1))), ("dark", "light"))
    fitted = NeuID3Classifier()
    fitted.model_ = NeurosymbolicTree(tree, schema, background=rules, networks={"light_net": network})
    fitted.tree_, fitted.networks_, fitted.schema_ = tree, {"light_net": network}, schema
    fitted.classes_, fitted.n_features_in_ = np.array(["dark", "light"]), 1
    fitted.feature_importances_, fitted.gradient_steps_, fitted.rule_tests_ = np.ones(1), 0, []
    fitted.feature_names_in_ = np.array(["card"], dtype=object)
    fitted.save("trained.neuid3")
    options = ["--target", "result", "--background", "rules.pl", "--tests", "is_light(card)", "--out", "m.neuid3"]
    for given in ("light_net=trained.neuid3", "light_net=trained.neuid3:light_net"):
        ended = run("pictures.csv", *options, "--network", given, "--parameter", "min_gain=0", "--pruning", 0)
        assert ended.exit_code == 0, ended.output
        model = load("m.neuid3")
        assert model.gradient_steps_ == 0  # nothing was trained
        for module in model.networks_.values():
            assert all(torch.equal(a, b) for a, b in zip(module.parameters(), network.parameters(), strict=True))
    assert "Did you mean 'light_net'?" in run("pictures.csv", *options, "--network", "ligth_net=trained.neuid3").output
    assert "never uses" in run("pictures.csv", *options, "--network", "rank_net=trained.neuid3:light_net").output
