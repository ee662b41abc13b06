"""The label page in a browser: values are chosen by mouse and keyboard, and the downloaded file is read as labels."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import NEEDS_BROWSER, all_of, click, keys, one, open_browser, open_page, overflow, press, quiet
from click.testing import CliRunner
from corner import fitted, save_folder

from neuid3 import Examples, LabelSuggestion, LabelSuggestions, read_table, write_label_page
from neuid3.cli.main import main
from neuid3.data.reading import TextTable, open_text_table

pytestmark = NEEDS_BROWSER

EVIL = '</script><script>window.hacked = "script"</script>'
WORSE = '"><img src=x onerror="window.hacked = \'image\'"><b class="injected">'


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(downloads: Path) -> Iterator[Any]:
    yield from open_browser(downloads)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a table with images, and the page and the table of nine suggestions."""
    folder = save_folder(tmp_path_factory.mktemp("cards"))
    files = ["--out", str(folder / "labels.csv"), "--page", str(folder / "labels.html")]
    done = CliRunner().invoke(main, ["label", f"{folder}/cards.neuid3", f"{folder}/cards.csv", "-n", "9", *files])
    assert done.exit_code == 0, done.output
    return folder


def saved(downloads: Path) -> Path:
    """The file that the page has written, when it is complete."""
    file = downloads / "labels.csv"
    for _ in range(100):
        if file.exists() and not list(downloads.glob("*.crdownload")):
            break
        time.sleep(0.05)
    return file


def downloaded(downloads: Path) -> TextTable:
    """The table that the page has written; its file is removed."""
    file = saved(downloads)
    table = open_text_table(file)
    file.unlink()
    return table


def choose(browser: Any, number: int, text: str) -> None:
    """Click the value with this text for one of the images."""
    (label,) = [found for found in all_of(browser, f"#image-{number} label") if found.text == text]
    click(browser, label)


def test_values_are_clicked_and_downloaded_as_a_file_of_labels(browser: Any, folder: Path, downloads: Path) -> None:
    open_page(browser, folder / "labels.html")
    suggested = open_text_table(folder / "labels.csv").columns
    assert one(browser, "h1").text == "Images to label"
    assert "leave one reading" in one(browser, "#notes").text
    assert len(all_of(browser, "fieldset")) == len(suggested["concept"] or ()) == 9
    sizes = [browser.execute_script("return arguments[0].naturalWidth", image) for image in all_of(browser, "img")]
    assert set(sizes) == {16}
    assert one(browser, "#count").text == "0 of 9 answered, 0 labels"
    concepts = list(suggested["concept"] or ())
    pair = concepts.index("same(last, played)")
    assert len(all_of(browser, f"#image-{pair} img")) == 2
    choose(browser, 0, "2")
    choose(browser, 0, "4")  # changed
    choose(browser, 1, "cannot tell")
    choose(browser, pair, "yes")
    red = concepts.index("red")
    choose(browser, red, "no")
    assert one(browser, "#count").text == "4 of 9 answered, 3 labels"
    assert int(one(browser, "#progress").get_attribute("value")) == 4
    click(browser, one(browser, "#download"))
    table = downloaded(downloads)
    assert list(table.columns) == ["image", "concept", "value", "row"]
    assert (table.columns["concept"], table.columns["value"]) == (
        ["rank", "same(last, played)", "red"],
        ["4", "yes", "no"],
    )
    for column in ("image", "row"):
        cells = suggested[column]
        assert cells is not None
        assert table.columns[column] == [cells[0], cells[pair], cells[red]]
    assert (folder / str((table.columns["image"] or ())[0])).is_file()
    assert "labels.csv" in one(browser, "#message").text
    assert quiet(browser)


def test_everything_can_be_done_with_the_keyboard(browser: Any, folder: Path, downloads: Path) -> None:
    open_page(browser, folder / "labels.html")
    k = keys()
    here = press(browser, k.TAB)
    assert (here.get_attribute("type"), here.get_attribute("name")) == ("radio", "value-0")
    outline = browser.execute_script("return getComputedStyle(arguments[0].parentElement).outlineStyle", here)
    assert outline == "solid"
    press(browser, k.SPACE)
    press(browser, k.ARROW_RIGHT, k.ARROW_RIGHT)
    summary = press(browser, k.TAB)
    assert summary.tag_name == "summary"
    assert press(browser, k.TAB).get_attribute("name") == "value-1"
    for _ in range(40):
        here = press(browser, k.TAB)
        if here.get_attribute("id") == "download":
            break
    press(browser, k.ENTER)
    assert downloaded(downloads).columns["value"] == ["3"]
    assert quiet(browser)


def test_without_a_value_there_is_a_sentence_and_no_file(browser: Any, folder: Path, downloads: Path) -> None:
    open_page(browser, folder / "labels.html")
    button = one(browser, "#download")
    assert button.get_attribute("aria-disabled") == "true"
    choose(browser, 0, "cannot tell")
    click(browser, button)
    assert "Choose a value" in one(browser, "#message").text
    choose(browser, 0, "1")
    assert button.get_attribute("aria-disabled") == "false"
    assert one(browser, "#message").text == ""
    assert not list(downloads.iterdir())
    assert quiet(browser)


def test_the_network_output_is_hidden_until_it_is_opened(browser: Any, folder: Path) -> None:
    open_page(browser, folder / "labels.html")
    (row, *_) = open_text_table(folder / "labels.csv").columns["predicted"] or ()
    hidden = one(browser, "#image-0 details p")
    assert not hidden.is_displayed()
    click(browser, one(browser, "#image-0 summary"))
    assert hidden.is_displayed()
    assert hidden.text.startswith(f"{row}, with a probability of ")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (375, "light"), (320, "dark")])
def test_the_page_fits_its_window_and_is_legible_in_both_schemes(
    browser: Any, folder: Path, width: int, scheme: str
) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    open_page(browser, folder / "labels.html", width)
    assert overflow(browser) == 0
    for selector in ("#lede", ".question", ".reason", ".values label", ".values .unknown", "#download", "#count"):
        assert contrast(browser, selector) >= 4.5, selector
    choose(browser, 0, "2")
    assert contrast(browser, ".values label:has(:checked)") >= 4.5
    assert contrast(browser, "#download") >= 4.5
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def contrast(browser: Any, selector: str) -> float:
    """The contrast of an element's text and its background, as WCAG defines it."""
    colours = browser.execute_script(
        """
        const element = document.querySelector(arguments[0]);
        let behind = element;
        while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
        return [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor];
        """,
        selector,
    )

    def luminance(colour: str) -> float:
        parts = np.array([float(part) for part in colour[4:-1].split(",")[:3]]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    dark, light = sorted(map(luminance, colours))
    return (light + 0.05) / (dark + 0.05)


def test_names_of_the_data_are_text_and_never_run(browser: Any, tmp_path: Path, downloads: Path) -> None:
    awkward = 'a "quoted", value\nof two lines'
    suggestion = LabelSuggestion(
        1, (EVIL, "age"), WORSE, (EVIL, awkward, "=1+1", " x"), EVIL, 0.7, WORSE, True, (EVIL, WORSE)
    )
    X = Examples({EVIL: np.zeros((3, 8, 8)), "age": [1.0, 2.5, 3.0]})
    suggestions = LabelSuggestions((suggestion,), (EVIL, WORSE), 3)
    open_page(browser, write_label_page(tmp_path / "evil.html", suggestions, X, title=EVIL))
    assert one(browser, "h1").text == EVIL
    assert WORSE in one(browser, ".question").text
    assert one(browser, ".entry").text == "2.5"
    assert not all_of(browser, ".injected")
    for number, value in enumerate(suggestion.values):
        click(browser, all_of(browser, ".values label")[number])
        click(browser, one(browser, "#download"))
        assert downloaded(downloads).columns["value"] == [value.strip()]
    assert browser.execute_script("return window.hacked") is None
    assert quiet(browser)


def test_tensors_that_are_no_images_are_drawn_as_lines(browser: Any, tmp_path: Path) -> None:
    X = {"pulse": np.sin(np.arange(200.0)).reshape(2, 100)}
    suggestion = LabelSuggestion(0, ("pulse",), "beat", ("fast", "slow"), "fast", 0.5, "a further image", False)
    open_page(browser, write_label_page(tmp_path / "pulse.html", LabelSuggestions((suggestion,), (), 2), X))
    assert one(browser, "svg.picture").get_attribute("aria-label") == "pulse of row 0"
    assert one(browser, "figcaption").text == "pulse"
    assert quiet(browser)


def test_without_suggestions_the_page_says_so(browser: Any, tmp_path: Path) -> None:
    nothing = LabelSuggestions((), ("The tree calls no network, so there is nothing to label.",), 3)
    open_page(browser, write_label_page(tmp_path / "nothing.html", nothing, Examples({"age": [1.0, 2.0, 3.0]})))
    assert one(browser, "#lede").text == "There is nothing to label."
    assert "calls no network" in one(browser, "#notes").text
    assert not one(browser, "#bar").is_displayed()
    assert quiet(browser)


def test_labels_of_the_page_leave_fewer_readings(browser: Any, tmp_path: Path, downloads: Path) -> None:
    """From Python: the rows and values of the downloaded file are labels for the next suggestions."""
    clf, X = fitted(40)
    suggestions = clf.suggest_labels(X, 4)
    open_page(browser, write_label_page(tmp_path / "labels.html", suggestions, X))
    for number, suggestion in enumerate(suggestions):
        choose(browser, number, suggestion.predicted)
    click(browser, one(browser, "#download"))
    table = downloaded(downloads)
    assert table.columns["row"] == [str(suggestion.row) for suggestion in suggestions]
    assert table.columns["concept"] == [suggestion.concept for suggestion in suggestions]
    following = clf.suggest_labels(X, 4, concepts=suggestions.to_concepts(table.columns["value"] or ()))
    assert following.notes == ("No label is needed for one reading of the examples.",)
    assert not any(suggestion.settles for suggestion in following)


def test_fit_and_label_take_the_downloaded_file(browser: Any, folder: Path, downloads: Path) -> None:
    open_page(browser, folder / "labels.html")
    names = ("row", "columns", "concept", "predicted")
    columns = open_text_table(folder / "labels.csv").columns
    suggested = list(zip(*(columns[name] or () for name in names), strict=True))
    for number, (*_, value) in enumerate(suggested):
        choose(browser, number, value)
    click(browser, one(browser, "#download"))
    saved(downloads).rename(folder / "filled.csv")
    table, filled = folder / "cards.csv", ["--concepts", str(folder / "filled.csv")]
    done = CliRunner().invoke(main, ["label", f"{folder}/cards.neuid3", str(table), *filled])
    assert done.exit_code == 0, done.output
    assert "No label is needed for one reading of the examples." in done.stdout
    quick = ["--epochs", "1", "--restarts", "1", "--out", str(folder / "again.neuid3")]
    rules = ["--background", str(folder / "rules.pl"), "--tests", "same(last, played)", "--jobs", "1"]
    done = CliRunner().invoke(main, ["fit", str(table), "--target", "result", *rules, *filled, *quick])
    assert done.exit_code == 0, done.output
    concepts = read_table(table, target="result", concept_file=folder / "filled.csv").concepts
    assert sum(label is not None for labels in concepts.values() for label in labels) == len(suggested) == 9
    for row, inputs, concept, value in suggested:
        assert concepts[concept if "(" in concept else f"{concept}({inputs})"][int(row)] == value
