"""Commands on a CSV file: fit, predict, show and explain; a mistake gives one line on standard error."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import neuid3
from neuid3 import NeuID3Classifier
from neuid3.cli.main import GROUPS, main
from neuid3.cli.wording import SETTINGS, for_command_line

RNG = np.random.default_rng(0)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def mistake(*arguments: str | Path) -> str:
    """What is said on standard error of a call that cannot work: one line, and exit code 2."""
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.output
    return done.stderr.removeprefix("Error: ").rstrip("\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table of 200 people: who smokes or is older than 60 is at risk."""
    monkeypatch.chdir(tmp_path)
    age, smokes = RNG.integers(18, 95, 200), RNG.random(200) < 0.3
    rows = [
        (f"p{i}", age[i], "yes" if smokes[i] else "no", "high" if smokes[i] or age[i] > 60 else "low")
        for i in range(200)
    ]
    with (tmp_path / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("name", "age", "smoker", "risk"), *rows])
    (tmp_path / "rules.pl").write_text("old :- age > 60.\nat_risk :- old.\nat_risk :- smoker.\n")
    return tmp_path


@pytest.fixture
def model(folder: Path) -> Path:
    done = run("fit", "people.csv", "--target", "risk", "--background", "rules.pl")
    assert done.exit_code == 0, done.output
    return folder / "people.neuid3"


def test_fit_tells_what_it_read_what_it_learned_and_how_well_it_does(folder: Path) -> None:
    done = run("fit", "people.csv", "--target", "risk", "--background", "rules.pl")
    assert done.exit_code == 0, done.output
    output = done.stdout
    assert re.search(r"^age +number +from 1\d to 9\d$", output, re.MULTILINE)
    assert re.search(r"^name +left out +text that differs", output, re.MULTILINE)
    assert re.search(r"^risk +class +2 values: high, low$", output, re.MULTILINE)
    assert output.index("2 values: high, low") < output.index("Learning 'risk' from 160 rows, with 40 held out.")
    assert "at_risk?" in output
    assert "On 40 held-out rows: accuracy 1.000 (majority class '" in output
    assert "Saved to people.neuid3: the tree learned from 160 rows." in output
    assert "node 1 (root): at_risk" in done.stderr
    assert isinstance(neuid3.load(folder / "people.neuid3"), NeuID3Classifier)


@pytest.mark.usefixtures("folder")
def test_networks_are_shared_by_an_option() -> None:
    for more in ((), ("--read-together",)):
        assert run("fit", "people.csv", "--target", "risk", "--max-depth", "1", *more).exit_code == 0
        assert neuid3.load("people.neuid3").training.shared == bool(more)


@pytest.mark.usefixtures("folder")
def test_scores_are_those_of_the_held_out_rows() -> None:
    done = run("fit", "people.csv", "--target", "risk", "--max-depth", "1", "--seed", "3", "--json")
    output = json.loads(done.stdout)
    read = neuid3.read_table("people.csv", target="risk")
    from neuid3.data.splits import stratified

    apart = stratified(read.labels, 0.2, np.random.default_rng(3))
    clf = neuid3.load(output["model"])
    predicted, labels = clf.predict(read.examples[apart]), read.labels[apart]
    assert output["held_out"]["rows"] == apart.sum() == 40
    assert output["held_out"]["accuracy"] == pytest.approx((predicted == labels).mean())
    for row in output["held_out"]["classes"]:
        label, hits = row["class"], ((predicted == row["class"]) & (labels == row["class"])).sum()
        assert row["f1"] == pytest.approx(2 * hits / ((predicted == label).sum() + (labels == label).sum()))
    names, counts = np.unique(read.labels[~apart], return_counts=True)
    assert output["held_out"]["most_frequent"]["class"] == names[counts.argmax()]
    refitted = NeuID3Classifier(max_depth=1, random_state=3).fit(read.examples[~apart], read.labels[~apart])
    assert output["tree"] == refitted.export_text() == clf.export_text()


@pytest.mark.usefixtures("folder")
def test_without_held_out_rows_there_are_no_scores() -> None:
    done = run("fit", "people.csv", "--target", "risk", "--held-out", "0", "--out", "all.neuid3")
    assert "No row was held out" in done.stdout
    assert "from 200 rows" in done.stdout
    assert (
        json.loads(run("fit", "people.csv", "--target", "risk", "--held-out", "0", "--json").stdout)["held_out"] is None
    )


@pytest.mark.usefixtures("folder")
def test_a_fit_that_ran_out_of_time_is_reported_and_goes_on_later() -> None:
    fit = ("fit", "people.csv", "--target", "risk", "--checkpoint", "kept")
    done = run(*fit, "--time-limit", "0")
    assert done.exit_code == 0, done.output
    assert "Warning: --time-limit 0 was reached: 1 nodes were not split further." in done.stderr
    first, second = run(*fit, "--json"), run("fit", "people.csv", "--target", "risk", "--json")
    assert json.loads(first.stdout)["tree"] == json.loads(second.stdout)["tree"]


@pytest.mark.usefixtures("folder")
def test_the_demo_writes_nothing_where_it_cannot_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuid3.cli.tutorial_files.find_spec", lambda _: None)
    assert "Images need Pillow" in mistake("demo", "--files", "cards")
    assert not Path("cards").exists()


@pytest.mark.usefixtures("folder")
def test_tests_modes_and_types_are_heard() -> None:
    output = run("fit", "people.csv", "--target", "risk", "--tests", "smoker", "--tests", "age > 40").stdout
    assert "smoker?" in output
    assert "=<" not in output
    output = run("fit", "people.csv", "--target", "risk", "--type", "smoker=ignore", "--type", "age=number").stdout
    assert "smoker?" not in output
    assert re.search(r"^smoker +left out +as declared$", output, re.MULTILINE)


def test_a_rule_that_is_never_tried_is_reported_and_is_an_error_where_it_is_named(folder: Path) -> None:
    (folder / "more.pl").write_text("older_than(Years) :- age > Years.\nnever :- fail.\n")
    fit = ("fit", "people.csv", "--target", "risk", "--background", "more.pl")
    done = run(*fit)
    assert done.exit_code == 0
    assert "tried as older_than(…)" in done.stderr  # its constant is found
    assert "'never' in line 2 is never tried" in done.stderr
    assert "'never' is always false" in mistake(*fit, "--tests", "never")
    assert "'never' is always false" in mistake(*fit, "--mode", "never")


@pytest.mark.usefixtures("folder")
def test_a_target_of_many_numbers_is_told_of_regression() -> None:
    output = run("fit", "people.csv", "--target", "age", "--task", "classification", "--max-depth", "0").stdout
    assert re.search(r"'age' holds \d+ different numbers in 200 rows.*--task regression", output)


def test_predictions_are_those_of_the_model_and_never_the_inputs(model: Path) -> None:
    done = run("predict", model, "people.csv")
    assert done.exit_code == 0, done.output
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert rows[0] == ["prediction", "p_high", "p_low"]
    clf, read = neuid3.load(model), neuid3.read_table("people.csv", target="risk")
    assert [row[0] for row in rows[1:]] == clf.predict(read.examples).tolist()
    shares = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
    np.testing.assert_allclose(shares, clf.predict_proba(read.examples), atol=1e-6)
    assert run("predict", model, "people.csv", "--out", "predictions.csv").stdout == ""
    assert Path("predictions.csv").read_text() == done.stdout


def test_batches_do_not_change_predictions(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run("predict", model, "people.csv").stdout
    monkeypatch.setattr("neuid3.cli.predict.BATCH", 7)
    assert run("predict", model, "people.csv").stdout == whole


def test_prediction_needs_only_what_the_tree_asks(model: Path, folder: Path) -> None:
    (folder / "new.csv").write_text("smoker;extra;age\nyes;what?;20\n;;30,5\nno;;\n")
    rows = list(csv.DictReader(io.StringIO(run("predict", model, "new.csv").stdout)))
    assert rows[0]["prediction"] == "high"
    assert len(rows) == 3
    assert 0 < float(rows[2]["p_high"]) < 1
    (folder / "less.csv").write_text("age\n20\n")
    assert "has no column 'smoker', which the model needs" in mistake("predict", model, "less.csv")


def test_what_prediction_cannot_read_leaves_nothing_behind(model: Path, folder: Path) -> None:
    (folder / "new.csv").write_text("smoker,age\nyes,20\nno,old\n")
    done = run("predict", model, "new.csv")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "new.csv, line 3: column 'age' has 'old'; a number is needed" in done.stderr
    assert run("predict", model, "new.csv", "--out", "predictions.csv").exit_code == 2
    assert sorted(path.name for path in folder.iterdir()) == ["new.csv", "people.csv", "people.neuid3", "rules.pl"]


def test_a_value_never_seen_is_a_warning_of_one_line(folder: Path) -> None:
    (folder / "t.csv").write_text("suit,y\n" + "clubs,a\nhearts,b\n" * 10)
    assert run("fit", "t.csv", "--target", "y").exit_code == 0
    (folder / "new.csv").write_text("suit\nspades\n")
    done = run("predict", "t.neuid3", "new.csv")
    assert done.exit_code == 0
    assert done.stderr == "Warning: Values not seen in training are read as 'other' (suit: spades).\n"


def test_a_tree_is_shown_in_every_format(model: Path) -> None:
    assert run("show", model).stdout.startswith("at_risk?")
    assert run("show", model, "--format", "text", "--out", "tree.txt").exit_code == 0
    assert Path("tree.txt").read_text() == run("show", model).stdout
    shown = json.loads(run("show", model, "--json").stdout)
    assert shown["classes"] == ["high", "low"]
    assert "at_risk :- smoker." in shown["background"]
    assert "leaf_1 :- at_risk." in run("show", model, "--format", "problog").stdout
    assert run("show", model, "--format", "svg").stdout.startswith("<svg")
    assert run("show", model, "--format", "dot").stdout.startswith("digraph")


def test_a_row_is_explained(model: Path) -> None:
    output = run("explain", model, "people.csv", "--row", "0")
    assert output.exit_code == 0, output.output
    assert "at_risk" in output.stdout
    assert json.loads(run("explain", model, "people.csv", "--row", "0", "--json").stdout)
    assert "<svg" in run("explain", model, "people.csv", "--row", "0", "--format", "svg").stdout
    program = run("explain", model, "people.csv", "--row", "0", "--format", "problog").stdout
    assert "query(high)." in program
    assert "There is no row 200; people.csv has 200 rows" in mistake("explain", model, "people.csv", "--row", "200")


def test_a_page_is_written(model: Path) -> None:
    done = run("report", model, "people.csv", "--target", "risk", "--out", "page.html")
    assert done.exit_code == 0, done.output
    assert "at_risk" in Path("page.html").read_text()
    assert "has no column 'rsk' with classes. Did you mean 'risk'?" in mistake(
        "report", model, "people.csv", "--target", "rsk"
    )


def test_a_page_knows_classes_that_are_no_words_and_leaves_out_rows_without_one(folder: Path) -> None:
    table = pd.read_csv("people.csv")
    numbers = (table["risk"] == "high").astype(int)
    NeuID3Classifier().fit(table[["age"]], numbers).save("numbers.neuid3")
    cells = numbers.astype(str)
    cells[:3] = ""
    table.assign(risk=cells).to_csv("numbers.csv", index=False)
    done = run("report", "numbers.neuid3", "numbers.csv", "--target", "risk", "--out", "page.html")
    assert done.exit_code == 0, done.output
    assert "197" in (folder / "page.html").read_text()


@pytest.mark.usefixtures("folder")
def test_no_command_writes_over_what_it_reads(model: Path) -> None:
    before = model.read_bytes(), Path("people.csv").read_bytes()
    for arguments in (
        ("show", model, "--out", model),
        ("predict", model, "people.csv", "--out", "people.csv"),
        ("explain", model, "people.csv", "--row", "0", "--out", model),
        ("report", model, "people.csv", "--out", model),
    ):
        assert "is an input of this command" in mistake(*arguments)
    assert before == (model.read_bytes(), Path("people.csv").read_bytes())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_the_shell(shell: str) -> None:
    assert "_NEUID3_COMPLETE" in run("completion", shell).stdout


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("fit peple.csv --target risk", "There is no table peple.csv. Did you mean 'people.csv'?"),
        ("fit people.csv --target rsk", "people.csv has no column 'rsk' to predict. Did you mean 'risk'?"),
        ("fit people.csv --target risk --type age=nmber", "an unknown kind. Did you mean 'number'?"),
        ("fit people.csv --target risk --type aeg=number", "no column 'aeg' to declare. Did you mean 'age'?"),
        ("fit people.csv --target risk --type age", "write --type COLUMN=KIND"),
        ("fit people.csv --target risk --background rule.pl", "no file of rules rule.pl. Did you mean 'rules.pl'?"),
        ("fit people.csv --target risk --background rules.pl --tests at_rsk", "Did you mean 'at_risk"),
        ("fit people.csv --target risk --background people.csv", "Syntax error in the background knowledge, line "),
        ("fit people.csv --target risk --out there/x.neuid3", "There is no folder there; create it first"),
        ("fit people.csv --target risk --out .", ". is a folder; name a file in it"),
        ("fit . --target risk", ". is a folder; give the table's file in it"),
        ("fit people.csv --target name", "column 'name' has 200 different values in 200 rows"),
        ("predict people.csv people.csv", "people.csv is a table, not a model; give the model first"),
        ("predict rules.pl people.csv", "rules.pl is not a neuid3 model"),
        ("predict peopel.neuid3 people.csv", "There is no model peopel.neuid3."),
        ("show people.neuid3", "There is no model people.neuid3."),
        ("fit people.csv --target risk --out people.csv", "people.csv is an input of this command; write to another"),
        ("fit people.csv --target risk --jobs 0", "--jobs 0 means no workers; give 1 or more"),
        ("fit people.csv --target risk --background rules.pl --mode at_rsk", "Did you mean 'at_risk'?"),
        ("demo --jobs 0", "--jobs 0 means no workers; give 1 or more"),
        ("demo --files .", ". exists already; give a new folder"),
        ("fit people.csv --target risk --pos-label hgih", "--pos-label 'hgih' is not a class of y"),
    ],
)
def test_mistakes_are_reported_in_one_sentence(arguments: str, message: str) -> None:
    assert message in mistake(*arguments.split())


def test_misspelt_options_and_commands_end_with_2_and_a_suggestion() -> None:
    for arguments, hint in ((["predit"], "'predict'"), (["fit", "t.csv", "--traget", "x"], "--target")):
        done = run(*arguments)
        assert done.exit_code == 2
        assert hint in done.stderr


def test_every_help_page_has_an_example() -> None:
    for name in ("demo", *GROUPS):
        if name != "completion":  # which prints a script
            assert re.search(rf"Examples?:\s+neuid3 {name}", run(name, "--help").output), name


# The system -----------------------------------------------------------------------------------------
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_reported_and_a_device_stays_a_device(model: Path) -> None:
    assert mistake("predict", model, "people.csv", "--out", "/dev/full") == (
        "/dev/full cannot be written (No space left on device); write somewhere else."
    )
    assert Path("/dev/full").is_char_device()


def test_a_link_keeps_leading_to_its_file(model: Path, folder: Path) -> None:
    (folder / "real.csv").write_text("old")
    (folder / "link.csv").symlink_to(folder / "real.csv")
    run("predict", model, "people.csv", "--out", "link.csv")
    assert (folder / "link.csv").is_symlink()
    assert (folder / "real.csv").read_text().startswith("prediction,")


def test_a_report_tells_which_rows_it_leaves_out(model: Path) -> None:
    lines = Path("people.csv").read_text().splitlines()
    lines[3] = lines[3].rsplit(",", 1)[0] + ","
    Path("holes.csv").write_text("\n".join(lines) + "\n")
    output = run("report", model, "holes.csv", "--target", "risk", "--out", "page.html").stdout
    assert "Rows without a class in 'risk', left out of the page: 1." in output
    assert "Left out" not in run("report", model, "people.csv", "--target", "risk", "--out", "page.html").stdout


# Options that messages speak of ---------------------------------------------------------------------

# What only Python can set, so that no message about it reaches the command line.
ONLY_PYTHON = {"backend", "limits"}


def texts_of_errors_and_warnings() -> Iterator[str]:
    """Every string of the package that is raised, warned of or handed to one who does, with … for what is filled in."""
    package = Path(neuid3.__file__).parent
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.JoinedStr(values):
                    yield "".join(v.value if isinstance(v, ast.Constant) else "…" for v in values)
                case ast.Constant(str() as text) if len(text.splitlines()) == 1:
                    yield text


def test_every_parameter_that_a_message_speaks_of_is_an_option() -> None:
    from neuid3.estimators.parameters import CLASSIFIER_CONSTRAINTS
    from neuid3.training.config import TRAINING_RULES

    sentences = [text for text in texts_of_errors_and_warnings() if text.count(" ") > 2]
    names = "|".join([*CLASSIFIER_CONSTRAINTS, *TRAINING_RULES, "max_candidates"])
    found = {m[1] or m[2] for text in sentences for m in re.finditer(rf"`({names})`|\b({names})=", text)}
    assert {"pruning", "shared", "max_candidates"} <= found
    options = {param.name for param in import_module("neuid3.cli.fit").fit.params}
    assert found - ONLY_PYTHON <= options | set(SETTINGS)


def test_messages_speak_of_options() -> None:
    for outputs, values in {
        "No test; a lower `pruning` asks less": "No test; a lower `--pruning` asks less",
        "if many, try TrainingConfig(shared=True).": "if many, try --read-together.",
        "than max_candidates=5; as in modes=['f(+a)'], or raise max_candidates.": (
            "than --max-candidates 5; as in --mode 'f(+a)', or raise --max-candidates."
        ),
        "raise the limit with Limits(seconds=…).": "raise the limit with --limit seconds=NUMBER.",
        "as in types={'it\\'s': 'category'}.": "as in --type it's=category.",
        "Column 'max_depth' of 'pruning=3' is constant.": "Column 'max_depth' of 'pruning=3' is constant.",
        "more epochs or restarts": "more epochs or restarts",
    }.items():
        assert for_command_line(outputs) == values


@pytest.mark.usefixtures("folder")
def test_a_message_of_the_library_names_the_option() -> None:
    few = "--max-candidates 1 --background rules.pl"
    assert "--max-candidates 1; restrict" in mistake(*f"fit people.csv --target risk {few}".split())
    text = mistake(*["fit", "people.csv", "--target", "risk", "--type", "age=ignore", "--type", "smoker=ignore"])
    assert "as in --type name=category." in text


@pytest.mark.usefixtures("folder")
def test_options_are_parameters_of_the_classifier() -> None:
    given = {
        "pruning": 0.5,
        "restarts": 3,
        "epochs": 7,
        "learning_rate": 0.01,
        "max_candidates": 50,
        "validation_fraction": 0.3,
    }
    options = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
    done = run("fit", "people.csv", "--target", "risk", *options, "--limit", "seconds=40")
    assert done.exit_code == 0, done.output
    plain = neuid3.load("people.neuid3")
    places = (plain, plain.training, plain.limits)
    assert {name: next(getattr(p, name) for p in places if hasattr(p, name)) for name in given} == given
    weights = ["--class-weight", "high=2", "--class-weight", "low=1"]
    assert run("fit", "people.csv", "--target", "risk", *weights).exit_code == 0
    high, low = plain.tree_.root.masses
    assert neuid3.load("people.neuid3").tree_.root.masses == pytest.approx((2 * high, low))
    assert run("fit", "people.csv", "--target", "risk", "--class-weight", "balanced").exit_code == 0
    assert neuid3.load("people.neuid3").class_weight == "balanced"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("option", "allowed"),
    [
        ("--epochs=0", "0 is not an integer of at least 1"),
        ("--epochs=2.5", "2.5 is not an integer of at least 1"),
        ("--restarts=many", "many is not an integer of at least 1"),
        ("--learning-rate=0", "0 is not a number above 0"),
        ("--validation-fraction=1", "1 is not a number of at least 0 and below 1"),
        ("--max-candidates=0", "0 is not an integer of at least 1"),
    ],
)
def test_numbers_are_checked_as_in_python(option: str, allowed: str) -> None:
    done = run("fit", "people.csv", "--target", "risk", option)
    assert done.exit_code == 2
    assert f"Invalid value for '{option.partition('=')[0]}': {allowed}.\n" in done.stderr


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("hgih=2", "names no class; write CLASS=WEIGHT, or 'balanced' alone. Did you mean 'high'?"),
        ("high", "names no class"),
        ("high=nan", "has a weight that is negative or not a number"),
        ("high=-1", "has a weight that is negative or not a number"),
        ("high=many", "has a weight that is negative or not a number"),
    ],
)
def test_weights_of_classes_are_checked(weight: str, message: str) -> None:
    assert message in mistake("fit", "people.csv", "--target", "risk", "--class-weight", weight)


def test_limits_are_heard_by_every_command_that_reads_rules(model: Path) -> None:
    for call in ("show", "predict", "explain", "report"):
        more = [] if call == "show" else ["people.csv"]
        more += ["--row", "0"] if call == "explain" else []
        assert run(call, model, *more, "--limit", "circuit_nodes=1").exit_code == 2, call
        assert run(call, model, *more, "--limit", "circuit_nodes=1000", "--limit", "seconds=60").exit_code == 0, call
        for wrong in ("seconds=0", "seconds=nan", "megabytes=1.5", "hours=3", "seconds"):
            done = run(call, model, *more, "--limit", wrong)
            assert done.exit_code == 2, (call, wrong)
            assert "--limit" in done.stderr


def test_help_tells_the_defaults_of_the_classifier() -> None:
    from neuid3.logic.sandbox import Limits
    from neuid3.training.config import TrainingConfig

    shown = run("fit", "--help").output
    places = (NeuID3Classifier(), TrainingConfig(), Limits())
    for name in (
        "pruning",
        "max_candidates",
        "max_variables",
        "restarts",
        "epochs",
        "learning_rate",
        "validation_fraction",
    ):
        default = next(getattr(place, name) for place in places if hasattr(place, name))
        values = re.search(rf"--{name.replace('_', '-')} .*?\[default: ([\d.]+)", shown, re.DOTALL)
        assert values is not None
        assert float(values[1]) == (NeuID3Classifier._default_pruning if name == "pruning" else default), name


def test_rules_are_shown_below_the_tree(model: Path) -> None:
    shown = run("show", model, "--rules").stdout
    assert shown.startswith(neuid3.load(model).export_text(rules=True) + "\n\nLearned from ")
    assert "Rules behind the tests:\n  at_risk :- old." in shown
    assert "--rules applies to text" in mistake("show", model, "--rules", "--format", "dot")


def test_classes_that_are_numbers_are_told_from_numbers(folder: Path) -> None:
    (folder / "t.csv").write_text("age,grade\n" + "".join(f"{i},{5 if i > 40 else 6}\n" for i in range(80)))
    output = run("fit", "t.csv", "--target", "grade", "--held-out", "0.3", "--json")
    assert re.search(r"^├─ yes: '6' +mass +\d+  '5' 0\.00  '6' 1\.00$", json.loads(output.stdout)["tree"], re.MULTILINE)
    output = run("explain", "t.neuid3", "t.csv", "--row", "0").stdout
    assert "Predicted: '6'   ('6' 1.00, '5' 0.00)" in output
    assert "adds 0.00 to '5', 1.00 to '6'" in output


@pytest.fixture
def number_model(folder: Path) -> Path:
    done = run("fit", "people.csv", "--target", "age", "--max-depth", "2")
    assert done.exit_code == 0, done.output
    return folder / "people.neuid3"


@pytest.mark.usefixtures("folder")
def test_a_number_column_is_learned_as_numbers_and_fit_says_so() -> None:
    done = run("fit", "people.csv", "--target", "age", "--max-depth", "2")
    assert re.search(r"^age +target +numbers from 1\d to 9\d$", done.stdout, re.MULTILINE)
    assert re.search(r"'age' holds \d+ different numbers, so numbers are predicted \(regression\)", done.stdout)
    assert re.search(r"On \d\d held-out rows: R² .*, mean absolute error .* \(always the mean ", done.stdout)
    assert isinstance(neuid3.load("people.neuid3"), neuid3.NeuID3Regressor)
    again = run("fit", "people.csv", "--target", "age", "--task", "regression", "--max-depth", "2", "--json")
    report = json.loads(again.stdout)
    assert report["task"] == "regression"
    assert report["classes"] == []
    assert report["held_out"]["r2"] == pytest.approx(float(re.findall(r"R² ([-0-9.]+)", done.stdout)[0]), abs=1e-3)


def test_numbers_are_predicted_shown_explained_and_reported(number_model: Path) -> None:
    rows = list(csv.DictReader(run("predict", str(number_model), "people.csv").stdout.splitlines()))
    reg = neuid3.load(number_model)
    table = neuid3.read_table("people.csv", target="age", task="auto")
    means, deviations = reg.predict(table.examples, return_std=True)
    assert [float(row["prediction"]) for row in rows] == means.tolist()
    assert [float(row["std"]) for row in rows] == deviations.tolist()
    assert "±" in run("show", str(number_model)).stdout
    assert "query(leaf_1)" in run("show", str(number_model), "--format", "problog").stdout
    explained = run("explain", str(number_model), "people.csv", "--row", "3", "--threshold", "70").stdout
    assert re.search(r"What would move it (above|below) 70\.", explained)
    reported = run("report", str(number_model), "people.csv", "--target", "age").stdout
    assert re.search(r"Of these 200 rows 1\d\d were learned from: R² ", reported)


@pytest.mark.usefixtures("folder")
def test_tasks_and_targets_that_do_not_fit_are_mistakes() -> None:
    fit = ("fit", "people.csv", "--target")
    text = mistake(*fit, "risk", "--task", "regression")
    assert re.search(r"row 0 has '(low|high)' in column 'risk', which is no finite number", text)
    assert "--pos-label is for classes, and 'age' holds numbers" in mistake(*fit, "age", "--pos-label", "50")
    assert "--class-weight is for classes" in mistake(*fit, "age", "--class-weight", "balanced")
    Path("same.csv").write_text("a,b\n" + "1,2.5\n0,2.5\n" * 20)
    assert "every row has the number 2.5 in column 'b'" in mistake("fit", "same.csv", "--target", "b")
    Path("endless.csv").write_text("a,b\n" + "1,2.5\n0,inf\n" * 20)
    assert "row 1 has 'inf' in column 'b'" in mistake("fit", "endless.csv", "--target", "b", "--task", "regression")
    Path("almost.csv").write_text("a,b\n" + "".join(f"1,{i}.5\n" for i in range(20)) + "0,-inf\n")
    assert "Most cells are numbers, but row 20 has '-inf'" in mistake("fit", "almost.csv", "--target", "b")
