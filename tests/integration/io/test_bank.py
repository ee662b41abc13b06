"""A bank of trained tests: what goes in comes out, and what fits is tried before anything is trained."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from interrupted import RULES, problem

from neuid3 import Bank, Examples, NeuID3Classifier, TrainedTest, TrainingConfig
from neuid3.errors import BankError, NodeTestError

HOW: dict[str, Any] = {"random_state": 0, "training": TrainingConfig(epochs=25, restarts=2, joint_epochs=0)}


@pytest.fixture(scope="module")
def sure() -> TrainedTest:
    """A test that knows a bright image from a dark one."""
    X, y = first_problem()
    clf = NeuID3Classifier(background=RULES, tests=["bright(left)"], max_depth=1, **HOW).fit(X, y)
    assert (clf.predict(X) == y).mean() > 0.9
    (test,) = clf.tests_
    return test


def first_problem() -> tuple[Examples, Any]:
    X, _ = problem()
    return X, X.column("left").values.mean((1, 2)) > 0.5


def test_what_goes_in_comes_out_with_its_card(tmp_path: Path, sure: TrainedTest) -> None:
    bank = Bank(tmp_path / "bank")
    assert len(bank) == 0
    bank.add("bright", sure, meaning="the image is bright", scores={"gain": 0.9})
    assert bank.names() == ["bright"]
    card = bank.card("bright")
    assert (card["test"], card["meaning"]) == ("bright(left)", "the image is bright")
    assert card["columns"] == ["left: tensor"]
    second = bank.test("bright")
    for one, other in zip(sure.networks.values(), second.networks.values(), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    bank.remove("bright")
    assert len(bank) == 0


def test_a_test_carries_the_clauses_that_it_depends_on_and_no_others(tmp_path: Path) -> None:
    X, y = first_problem()
    rules = RULES + " 0.9 :: works. alert :- fact, works, bright(left)."
    clf = NeuID3Classifier(background=rules, tests=["bright(left)"], max_depth=1, **HOW).fit(X, y)
    (test,) = clf.tests_
    assert "fact" not in test.background
    bank = Bank(tmp_path)
    bank.add("bright", test)
    narrow = {name: X.column(name).values for name in ("left", "right")}  # without the column that `alert` reads
    later = NeuID3Classifier(background=RULES, bank=bank, max_depth=1, **HOW).fit(narrow, y)
    assert later.gradient_steps_ == 0


def test_names_are_checked(tmp_path: Path, sure: TrainedTest) -> None:
    bank = Bank(tmp_path)
    bank.add("bright", sure)
    with pytest.raises(BankError, match="has a test 'bright'; remove it first"):
        bank.add("bright", sure)
    with pytest.raises(BankError, match=r"no test 'brigth'\. Did you mean 'bright'"):
        bank.card("brigth")
    for name in ("../evil", "a/b", "", ".hidden", "x" * 101):
        with pytest.raises(BankError, match="not a valid name of a test"):
            bank.add(name, sure)
    with pytest.raises(BankError, match="is not a folder"):
        Bank(bank.folder / "bright.neuid3")


def test_a_test_that_fits_is_reused_and_nothing_is_trained(tmp_path: Path, sure: TrainedTest) -> None:
    bank = Bank(tmp_path)
    path = bank.add("bright", sure)
    before = path.read_bytes()
    X, y = first_problem()
    clf = NeuID3Classifier(background=RULES, bank=bank, max_depth=1, **HOW).fit(X, y)
    assert str(clf.tree_.root.test) == "bright(left)"
    assert clf.gradient_steps_ == 0
    assert (clf.predict(X) == y).mean() > 0.9
    assert path.read_bytes() == before
    without = NeuID3Classifier(background=RULES, max_depth=1, **HOW).fit(X, y)
    assert without.gradient_steps_ > 0


def test_where_the_bank_tells_little_the_rest_is_trained(tmp_path: Path, sure: TrainedTest) -> None:
    bank = Bank(tmp_path)
    bank.add("bright", sure)
    X, _ = problem()
    y = X.column("right").values.mean((1, 2)) > 0.5
    clf = NeuID3Classifier(
        background=RULES,
        tests=["bright(right)"],
        bank=tmp_path,
        max_depth=1,
        **HOW | {"training": replace(HOW["training"], reuse=False)},
    ).fit(X, y)
    assert str(clf.tree_.root.test) == "bright(right)"
    assert clf.gradient_steps_ > 0


def test_rules_that_the_program_lacks_come_from_the_bank(tmp_path: Path, sure: TrainedTest) -> None:
    bank = Bank(tmp_path)
    bank.add("bright", sure)
    X, y = first_problem()
    clf = NeuID3Classifier(tests=["fact"], bank=bank, max_depth=1, **HOW).fit(X, y)
    assert str(clf.tree_.root.test) == "bright(left)"
    assert clf.gradient_steps_ == 0


def test_tests_over_other_columns_or_other_rules_are_left_in_the_bank(tmp_path: Path, sure: TrainedTest) -> None:
    bank = Bank(tmp_path)
    bank.add("bright", sure)
    X, y = first_problem()
    smaller = Examples(
        {"left": np.ascontiguousarray(X.column("left").values[:, :5, :5]), "fact": X.column("fact").values}
    )
    clf = NeuID3Classifier(tests=["fact"], bank=bank, max_depth=1, **HOW)
    with pytest.warns(UserWarning, match="single leaf"):
        clf.fit(smaller, y)
    other = "nn(eye, [I], V, [a, b]) :: seen(I, V). bright(I) :- seen(I, a)."
    trained = NeuID3Classifier(background=other, tests=["bright(left)"], bank=bank, max_depth=1, **HOW).fit(X, y)
    assert trained.gradient_steps_ > 0


def test_a_test_of_other_networks_is_refused(sure: TrainedTest) -> None:
    X, y = first_problem()
    other = "nn(other_net, [I]) :: bright(I)."
    with pytest.raises(NodeTestError, match=r"'bright\(left\)' was trained with .* uses 'other_net' in it"):
        NeuID3Classifier(background=other, tests=[sure], **HOW).fit(X, y)


def test_a_bank_is_kept_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from neuid3.cli.main import main

    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(main, ["bank", *arguments])

    X, y = first_problem()
    NeuID3Classifier(background=RULES, tests=["bright(left)"], max_depth=1, **HOW).fit(X, y).save("m.neuid3")
    NeuID3Classifier(tests=["fact"], max_depth=1, pruning=0.0).fit(X.select(["fact"]), X.column("fact").values).save(
        "f"
    )
    done = run("add", "tests", "m.neuid3", "--meaning", "it is bright")
    assert (done.exit_code, done.output) == (0, "bright(left) is in the bank as bright.\n")
    assert run("list", "tests").output == "bright  bright(left)  it is bright\n"
    card = json.loads(run("show", "tests", "bright", "--json").output)
    assert card["trained_on"] == "m.neuid3"
    assert card["scores"]["gain"] > 0.5
    assert "it is bright" in run("show", "tests", "bright").output
    for arguments, values in (
        (("add", "tests", "m.neuid3"), "has a test 'bright'; remove it first"),
        (("add", "tests", "m.neuid3", "--test", "brigt(left)"), "Did you mean 'bright(left)'?"),
        (("add", "tests", "f"), "no test with networks"),
        (("show", "tests", "birght"), "Did you mean 'bright'?"),
        (("list", "elsewhere"), "There is no bank elsewhere"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2
        assert values in done.stderr
        assert done.stderr.count("\n") == 1
    shutil.copy("m.neuid3", "tests/model.neuid3")
    shutil.copy("tests/bright.neuid3", "tests/not a name.neuid3")
    assert "model.neuid3 is not a trained test; remove it from the bank" in run("list", "tests").stderr
    Path("tests/model.neuid3").unlink()
    assert run("list", "tests").output == "bright  bright(left)  it is bright\n"
    assert run("remove", "tests", "bright").exit_code == 0
    assert "empty" in run("list", "tests").output


def test_a_bank_that_is_not_there_is_reported(tmp_path: Path) -> None:
    X = {"fact": np.arange(20) % 2 == 0}
    with pytest.raises(BankError, match=r"There is no bank .*nobank; `Bank.add` or `neuid3 bank add` makes one"):
        NeuID3Classifier(bank=tmp_path / "nobank").fit(X, X["fact"])
    NeuID3Classifier(bank=Bank(tmp_path / "to be filled")).fit(X, X["fact"])
