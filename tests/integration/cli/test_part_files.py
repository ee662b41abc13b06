"""Parts and relations on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from neuid3.cli.main import main
from neuid3.data.reading import open_text_table, read_text_table, with_part_files
from neuid3.errors import DataError

OPTIONS = ["--parts", "car=cars.csv:train", "--parts", "load=loads.csv:car", "--relation", "next=next.csv"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tables of trains, cars, loads and of which car comes next; a train with a short car with a disc goes east."""
    rng = np.random.default_rng(0)
    trains, cars, loads, after = ["train,direction"], ["car,train,long,axles"], ["car,shape"], ["car_1,car_2"]
    for train in range(60):
        is_east, last = False, ""
        for number in range(int(rng.integers(1, 4))):
            car, is_long, shape = f"c{train}_{number}", rng.random() < 0.5, str(rng.choice(["disc", "bar"]))
            cars.append(f"{car},t{train},{'yes' if is_long else 'no'},{rng.integers(2, 4)}")
            loads.append(f"{car},{shape}")
            after += [f"{last},{car}"] if last else []
            is_east, last = is_east or (not is_long and shape == "disc"), car
        trains.append(f"t{train},{'east' if is_east else 'west'}")
    for name, lines in {"trains": trains, "cars": cars, "loads": loads, "next": after}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output


def test_a_tree_over_parts_is_fitted_predicted_explained_and_reported(folder: Path) -> None:
    text = run("fit", "trains.csv", "--target", "direction", *OPTIONS, "--type", "car.axles=category")
    assert "car.axles   category" in text
    assert "accuracy 1.000" in text
    predicted = run("predict", "trains.neuid3", "trains.csv", *OPTIONS).splitlines()
    classes = [line.split(",")[1] for line in (folder / "trains.csv").read_text().splitlines()[1:]]
    assert [line.split(",")[0] for line in predicted[1:]] == classes
    assert "Predicted: " + classes[7] in run("explain", "trains.neuid3", "trains.csv", "--row", "7", *OPTIONS)
    run("report", "trains.neuid3", "trains.csv", "--target", "direction", *OPTIONS, "--out", "page.html")
    page = (folder / "page.html").read_text()
    assert all(name in page for name in ("car(C)", "\\\\+ long(C)", "east", "west"))


def test_a_tree_over_parts_is_shown_as_a_program_and_diagnosed(folder: Path) -> None:
    (folder / "rules.pl").write_text("cargo(C) :- load(C, L), shape(L, disc).\n0.5 :: luck.\n")
    rules = ["--background", "rules.pl", "--mode", "car(-car)", "--mode", "\\+ long(+car)", "--mode", "cargo(+car)"]
    run("fit", "trains.csv", "--target", "direction", *OPTIONS, *rules)
    assert "query(east)." in run("show", "trains.neuid3", "--format", "problog")
    assert "Nothing is wrong" in run("diagnose", "trains.neuid3", "trains.csv", *OPTIONS)
    run("report", "trains.neuid3", "trains.csv", "--target", "direction", *OPTIONS, "--out", "page.html")
    assert "cargo(C) :- load(C, L), shape(L, disc)." in (folder / "page.html").read_text()


def test_columns_that_are_called_as_pictures_of_parts_hold_labels(folder: Path) -> None:
    rng = np.random.default_rng(0)
    lines, items = ["bag,class,bright(item_1)"], ["bag,picture"]
    for bag in range(40):
        brightness = rng.integers(0, 256, int(rng.integers(1, 3)))
        for number, grey in enumerate(brightness.tolist()):
            Image.fromarray(np.full((4, 4), grey, dtype=np.uint8)).save(folder / f"{bag}_{number}.png")
            items.append(f"{bag},{bag}_{number}.png")
        label = "" if bag % 2 else "yes" if brightness[0] > 127 else "no"
        lines.append(f"{bag},{'light' if (brightness > 127).any() else 'dark'},{label}")
    (folder / "bags.csv").write_text("\n".join(lines) + "\n")
    (folder / "items.csv").write_text("\n".join(items) + "\n")
    (folder / "rules.pl").write_text("nn(bright_net, [I]) :: bright(I).\nglows(I) :- item(I), bright(I).\n")
    parts = ["--parts", "item=items.csv:bag"]
    modes = ["--mode", "item(-item)", "--mode", "bright(+item)", "--epochs", "5"]
    text = run("fit", "bags.csv", "--target", "class", *parts, "--background", "rules.pl", *modes)
    assert "bright(item_1)  labels" in text
    run("audit", "bags.neuid3", "bags.csv", *parts)
    run("reread", "bags.neuid3", "bags.csv", *parts, "--out", "other.neuid3")
    refused = CliRunner().invoke(main, ["label", "bags.neuid3", "bags.csv"])
    assert "holds a tree over parts" in refused.output


def test_a_row_without_parts_is_predicted_from_files_that_name_columns_only(folder: Path) -> None:
    run("fit", "trains.csv", "--target", "direction", *OPTIONS)
    for name in ("cars", "loads", "next"):
        (folder / f"{name}.csv").write_text((folder / f"{name}.csv").read_text().splitlines()[0] + "\n")
    (folder / "one.csv").write_text("train\nt0\n")
    assert run("predict", "trains.neuid3", "one.csv", *OPTIONS).splitlines()[1].startswith("west,")


@pytest.mark.parametrize("model", ["forest", "boosting"])
def test_many_trees_over_parts_are_fitted_predicted_explained_and_reported(folder: Path, model: str) -> None:
    few = ["--trees", "5"] if model == "forest" else []
    text = run("fit", "trains.csv", "--target", "direction", "--model", model, *few, *OPTIONS)
    assert "accuracy 0.9" in text or "accuracy 1.000" in text
    assert len(run("predict", "trains.neuid3", "trains.csv", *OPTIONS).splitlines()) == 61
    assert "long(C)" in run("explain", "trains.neuid3", "trains.csv", "--row", "7", *OPTIONS)
    run("report", "trains.neuid3", "trains.csv", "--target", "direction", *OPTIONS, "--out", "page.html")
    assert "∃ C" in (folder / "page.html").read_text()


@pytest.mark.usefixtures("folder")
def test_modes_say_what_queries_may_ask() -> None:
    modes = ["--mode", "car(-car)", "--mode", "\\+ long(+car)", "--mode", "load(+car, -L), shape(+L, #)"]
    text = run("fit", "trains.csv", "--target", "direction", *OPTIONS, *modes, "--max-variables", "2")
    assert "accuracy 1.000" in text
    wrong = CliRunner().invoke(main, ["fit", "trains.csv", "--target", "direction", *OPTIONS, "--mode", "long(+car)"])
    assert "takes a bound car, and no mode binds one before" in wrong.output
    assert wrong.exit_code != 0


@pytest.mark.usefixtures("folder")
def test_a_model_over_parts_asks_for_their_files() -> None:
    run("fit", "trains.csv", "--target", "direction", *OPTIONS)
    result = CliRunner().invoke(main, ["predict", "trains.neuid3", "trains.csv"])
    assert "give their table with --parts car=FILE:COLUMN" in result.output


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "cars.csv",
            "c3_0,t3",
            "c3_0,tX",
            r"cars.csv, line \d+: 'tX' in column 'train' is the key of no row of trains.csv",
        ),
        (
            "cars.csv",
            "c4_0,t4",
            "c3_0,t4",
            r"cars.csv, line \d+: 'c3_0' in column 'car' is the key of line \d+ already",
        ),
        ("loads.csv", "c5_0,", "zz,", r"loads.csv, line \d+: 'zz' in column 'car' is the key of no row of cars.csv"),
        ("trains.csv", "t6,", "t5,", r"trains.csv, line 8: 't5' in column 'train' is the key of line 7 already"),
    ],
)
def test_a_wrong_key_is_named_with_its_line(folder: Path, file: str, old: str, new: str, message: str) -> None:
    path = folder / file
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(DataError, match=message):
        with_part_files(open_text_table("trains.csv"), OPTIONS[1:4:2], OPTIONS[5:])


def test_circular_ownership_and_incomplete_options_are_refused(folder: Path) -> None:
    table = open_text_table("trains.csv")
    (folder / "loads.csv").write_text("load,car\nl1,c1\n")
    (folder / "cars.csv").write_text("car,load\nc1,l1\n")
    with pytest.raises(DataError, match="Ownership is circular: car is owned by load is owned by car"):
        with_part_files(table, ["car=cars.csv:load", "load=loads.csv:car"])
    with pytest.raises(DataError, match="write --parts NAME=FILE:COLUMN"):
        with_part_files(table, ["car=cars.csv"])


def test_parts_of_rows_without_a_class_are_left_out(folder: Path) -> None:
    path = folder / "trains.csv"
    path.write_text(path.read_text().replace("t9,west", "t9,").replace("t9,east", "t9,"))
    table = with_part_files(open_text_table("trains.csv"), OPTIONS[1:4:2], OPTIONS[5:])
    data = read_text_table(table, target="direction")
    assert len(data.examples) == 59
    assert data.examples.column("car").values.total == sum(
        line.split(",")[1] != "t9" for line in (folder / "cars.csv").read_text().splitlines()[1:]
    )
