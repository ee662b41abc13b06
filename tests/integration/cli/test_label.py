"""The command `label`: its text, the table to fill in, the page, and its mistakes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from corner import save_folder

from neuid3 import Examples, NeuID3Classifier
from neuid3.cli.main import main
from neuid3.data.reading import open_text_table


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_folder(tmp_path_factory.mktemp("cards"))


def test_the_command_prints_suggestions_and_writes_nothing_by_itself(folder: Path) -> None:
    before = sorted(folder.iterdir())
    done = run("label", folder / "cards.neuid3", folder / "cards.csv")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["row", "concept", "network", "says", "why"]
    assert len([line for line in lines if "readings" in line or "value" in line]) == 5
    assert sorted(folder.iterdir()) == before


def test_the_command_writes_a_table_to_fill_in_and_a_page(folder: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "labels.csv", tmp_path / "new" / "labels.html"
    page.parent.mkdir()
    done = run("label", folder / "cards.neuid3", folder / "cards.csv", "-n", "9", "--out", out, "--page", page)
    assert done.exit_code == 0, done.output
    assert f"Written to {out}." in done.stdout
    assert f"Written to {page}." in done.stdout
    columns = open_text_table(out).columns
    assert list(columns)[:3] == ["image", "concept", "value"]
    assert set(columns["value"] or ()) == {""}
    for image, concept, names in zip(*(columns[c] or () for c in ("image", "concept", "columns")), strict=True):
        if concept == "same(last, played)":
            assert names == "last, played"
            assert all((folder / file).is_file() for file in image.split(" | "))
        else:
            assert concept in ("rank", "red")
            assert (folder / image).is_file()
            assert image.startswith(names)
    text = page.read_text()
    assert "Content-Security-Policy" in text
    assert "default-src 'none'" in text.replace("&#x27;", "'")
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text


def test_the_page_shows_images_as_large_as_their_files_are(folder: Path, tmp_path: Path) -> None:
    """Networks read 16 × 16 pixels; a person sees the 90 × 120 pixels of the file."""
    from base64 import b64decode
    from io import BytesIO

    from PIL import Image

    shutil.copytree(folder, tmp_path / "large")
    for file in (tmp_path / "large").glob("*.png"):
        Image.open(file).resize((90, 120), Image.Resampling.NEAREST).save(file)
    page = tmp_path / "labels.html"
    done = run("label", folder / "cards.neuid3", tmp_path / "large" / "cards.csv", "-n", "2", "--page", page)
    assert done.exit_code == 0, done.output
    pictures = page.read_text().rpartition('"pictures":["')[2].partition('"]')[0].split('","')
    assert len(pictures) >= 2
    assert {Image.open(BytesIO(b64decode(picture))).size for picture in pictures} == {(90, 120)}


def test_labels_in_the_table_are_known_already(folder: Path) -> None:
    plain = run("label", folder / "cards.neuid3", folder / "cards.csv", "-n", "1")
    row, concept, value = plain.stdout.splitlines()[1].split()[:3]
    lines = (folder / "cards.csv").read_text().splitlines()
    labelled = [f"{line},{value if i == int(row) else ''}" for i, line in enumerate(lines[1:])]
    (folder / "labelled.csv").write_text("\n".join([f"{lines[0]},{concept}", *labelled]) + "\n")
    after = run("label", folder / "cards.neuid3", folder / "labelled.csv", "-n", "1")
    assert after.exit_code == 0, after.output
    assert after.stdout.splitlines()[1].split()[:3] != [row, concept, value]


def test_missing_images_are_not_suggested(folder: Path, tmp_path: Path) -> None:
    header, *lines = (folder / "cards.csv").read_text().splitlines()
    holes = [line if i % 3 else "," + line.split(",", 1)[1] for i, line in enumerate(lines)]
    (folder / "holes.csv").write_text("\n".join([header, *holes]) + "\n")
    files = ["--out", tmp_path / "labels.csv", "--page", tmp_path / "labels.html"]
    done = run("label", folder / "cards.neuid3", folder / "holes.csv", "-n", "200", *files)
    assert done.exit_code == 0, done.output
    columns = open_text_table(tmp_path / "labels.csv").columns
    read = list(zip(*(columns[name] or () for name in ("row", "columns")), strict=True))
    assert {int(row) for row, names in read if names != "played"} == {i for i in range(40) if i % 3}
    assert {int(row) for row, names in read if names == "played"} == set(range(40))


def test_without_time_the_command_says_so(folder: Path) -> None:
    done = run("label", folder / "cards.neuid3", folder / "cards.csv", "--time-limit", "0")
    assert done.exit_code == 0, done.output
    assert "reached before a smallest set of labels was found" in done.stdout


def test_more_than_there_is_gives_all_there_is(folder: Path) -> None:
    done = run("label", folder / "cards.neuid3", folder / "cards.csv", "-n", "100000")
    assert done.exit_code == 0, done.output
    assert "left to label" in done.stdout
    assert len(done.stdout.splitlines()) == 1 + 160 + 2  # 40 rows: two ranks, one colour and one pair each


def test_a_tree_without_networks_says_so_and_writes_nothing(tmp_path: Path) -> None:
    X, y = Examples({"age": [20.0, 30.0, 60.0, 70.0] * 5}), ["low", "low", "high", "high"] * 5
    NeuID3Classifier(random_state=0).fit(X, y).save(tmp_path / "ages.neuid3")
    (tmp_path / "ages.csv").write_text("age\n20\n70\n")
    files = ["--out", tmp_path / "labels.csv", "--page", tmp_path / "labels.html"]
    done = run("label", tmp_path / "ages.neuid3", tmp_path / "ages.csv", *files)
    assert done.exit_code == 0, done.output
    assert done.stdout == "The tree calls no network, so there is nothing to label.\n"
    assert not (tmp_path / "labels.csv").exists()
    assert not (tmp_path / "labels.html").exists()


def test_mistakes_of_the_command_are_sentences(folder: Path, tmp_path: Path) -> None:
    model, table = folder / "cards.neuid3", folder / "cards.csv"
    (folder / "half.csv").write_text("last\nlast 0.png\n")
    (folder / "gone.csv").write_text("last,played\nlast 0.png,nowhere.png\n")
    (tmp_path / "bad.neuid3").write_text("no model")
    for arguments, message in (
        ((model, folder / "half.csv"), "'played'"),
        ((model, folder / "gone.csv"), "nowhere.png"),
        ((model, folder / "absent.csv"), "absent.csv"),
        ((tmp_path / "bad.neuid3", table), "bad.neuid3"),
        ((table, table), "table, not a model"),
        ((model, table, "-n", "0"), "0 is not in the range"),
        ((model, table, "-n", "-3"), "-3 is not in the range"),
        ((model, table, "-n", "many"), "'many' is not a valid integer"),
        ((model, table, "--time-limit", "-1"), "-1"),
        ((model, table, "--out", model), "cards.neuid3"),
        ((model, table, "--page", table), "cards.csv"),
        ((model, table, "--out", tmp_path / "a", "--page", tmp_path / "a"), "two files"),
    ):
        done = run("label", *arguments)
        assert done.exit_code == 2, done.output
        assert message in done.stderr
        assert "Traceback" not in done.output
    assert not (tmp_path / "a").exists()
