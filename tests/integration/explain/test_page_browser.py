"""A page in a browser: it can be clicked and typed through, fits a phone, asks for nothing and runs nobody's script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from bright import BACKGROUND, Bright, labels, model, table
from browsing import NEEDS_BROWSER, all_of, click, keys, one, open_browser, open_page, overflow, press, quiet

from neuid3 import Branch, Examples, Leaf, NeurosymbolicTree, Tree, export_text
from neuid3.explain.page import write_page
from neuid3.explain.page.content import page_content
from neuid3.logic.quoting import atom_text
from neuid3.tree.node_tests import ValueTest
from neuid3.tree.record import TrainingRecord
from neuid3.tree.tree import NetworkStatistics, node_paths

pytestmark = NEEDS_BROWSER

EVIL = '</script><script>window.hacked = "script"</script>'
WORSE = '"><img src=x onerror="window.hacked = \'image\'"><b class="injected">'


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from open_browser()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(tmp_path_factory.mktemp("page") / "page.html", model(), table(), labels(), title="Darker")


def widths_of_bars(browser: Any) -> list[float]:
    """The probabilities beside the nodes of the tree, in percent."""
    return [float(re.sub("[<>%]", "", found.text)) for found in all_of(browser, "#tree .number")]


def test_a_page_is_silent_and_asks_for_nothing(browser: Any, page: Path) -> None:
    open_page(browser, page)
    assert one(browser, "h1").text == "Darker"
    assert "3 tests and 4 leaves, shown on 60 examples" in one(browser, "#lede").text
    drawn = all_of(browser, "img")
    assert drawn
    assert all(browser.execute_script("return arguments[0].naturalWidth", image) == 6 for image in drawn[:20])
    assert quiet(browser)


def test_without_a_choice_the_tree_shows_where_the_examples_go(browser: Any, page: Path) -> None:
    open_page(browser, page)
    wanted = [100 * model().path_probability(table(), path).mean() for path, _ in node_paths(model().tree.root)]
    assert widths_of_bars(browser) == pytest.approx(wanted, abs=0.6)


def test_a_click_shows_how_an_example_flows(browser: Any, page: Path) -> None:
    open_page(browser, page)
    facts = page_content(model(), table(), labels())
    tile = all_of(browser, "#node-0 .strip:nth-of-type(2) .tile")[0]
    row = int(tile.get_attribute("data-row"))
    assert row == facts.nodes[0].undecided[0].row  # type: ignore[union-attr]
    click(browser, tile)
    wanted = [100 * model().path_probability(table()[row], path)[0] for path, _ in node_paths(model().tree.root)]
    assert widths_of_bars(browser) == pytest.approx(wanted, abs=0.6)
    widths = [
        float(browser.execute_script("return parseFloat(arguments[0].style.strokeWidth)", w))
        for w in all_of(browser, "#tree path")
    ]
    assert widths == pytest.approx([max(1.0, 0.16 * share) for share in wanted[1:]], abs=0.1)
    text = one(browser, "#example").text
    best = model().predict_proba(table()[row])[0]
    assert f"Example {row}" in text
    shown = [float(re.sub("[<>%]", "", found.text)) for found in all_of(browser, "#example .classes .number")]
    assert sorted(shown) == pytest.approx(sorted(100 * best), abs=0.6)
    pressed = all_of(browser, '.tile[aria-pressed="true"]')
    assert pressed
    assert {int(found.get_attribute("data-row")) for found in pressed} == {row}
    assert f"Example {row} gets here with 100%" in one(browser, "#chosen-0").text
    click(browser, tile)
    assert not all_of(browser, '.tile[aria-pressed="true"]')
    assert one(browser, "#example h2").text == "All examples"
    assert quiet(browser)


def test_an_example_can_be_chosen_by_its_number(browser: Any, tmp_path: Path) -> None:
    few = write_page(tmp_path / "few.html", model(), table(), images=1)
    rows = [example.row for example in page_content(model(), table(), images=1).examples]
    open_page(browser, few)
    one(browser, "#number").send_keys(str(rows[1]))
    press(browser, keys().ENTER)
    assert one(browser, "#example h2").text == f"Example {rows[1]}"
    one(browser, "#example .next").click()
    assert one(browser, "#example h2").text == f"Example {rows[2]}"
    absent = next(row for row in range(60) if row not in rows)
    box = one(browser, "#number")
    box.clear()
    box.send_keys(str(absent))
    press(browser, keys().ENTER)
    problem = one(browser, ".problem").text
    assert f"Example {absent} is not in this page, which holds {len(rows)} of 60" in problem
    nearest = int(re.findall(r"\d+", problem)[-1])
    assert abs(nearest - absent) == min(abs(row - absent) for row in rows)
    assert f"This page holds {len(rows)} of the table's 60 examples" in one(browser, "footer").text
    assert quiet(browser)


def test_everything_can_be_done_with_the_keyboard(browser: Any, page: Path) -> None:
    open_page(browser, page)
    k = keys()
    for _ in range(20):
        here = press(browser, k.TAB)
        if "node" in here.get_attribute("class").split():
            break
    assert here.get_attribute("id") == "tree-0"
    assert press(browser, k.ARROW_RIGHT).get_attribute("id") == "tree-1"
    assert press(browser, k.ARROW_DOWN, k.ARROW_DOWN).get_attribute("id") == "tree-3"
    assert press(browser, k.ARROW_LEFT).get_attribute("id") == "tree-1"
    assert press(browser, k.END).get_attribute("id") == "tree-6"
    assert press(browser, k.HOME, k.ENTER).get_attribute("id") == "node-0"
    for _ in range(5):
        here = press(browser, k.TAB)
        if "tile" in here.get_attribute("class").split():
            break
    first = here.get_attribute("data-row")
    outline = browser.execute_script(
        "return getComputedStyle(arguments[0]).outlineStyle + getComputedStyle(arguments[0]).outlineWidth", here
    )
    assert outline == "solid3px"
    press(browser, k.ENTER)
    assert one(browser, "#example h2").text == f"Example {first}"
    here = press(browser, k.ARROW_RIGHT)
    assert here.get_attribute("data-row") != first
    press(browser, k.SPACE)
    assert one(browser, "#example h2").text == f"Example {here.get_attribute('data-row')}"
    group = here.find_element("xpath", "..").get_attribute("aria-label")
    below = press(browser, k.ARROW_DOWN)
    assert below.find_element("xpath", "..").get_attribute("aria-label") != group
    assert press(browser, k.ARROW_UP).get_attribute("data-row") == here.get_attribute("data-row")
    press(browser, k.ESCAPE)
    assert one(browser, "#example h2").text == "All examples"
    assert browser.switch_to.active_element == here
    assert quiet(browser)


def test_everything_has_a_name(browser: Any, page: Path) -> None:
    open_page(browser, page)
    assert one(browser, "html").get_attribute("lang") == "en"
    assert all(image.get_attribute("alt") for image in all_of(browser, "img"))
    nameless = "return [...document.querySelectorAll('button, [role]')].filter(e => !e.getAttribute('aria-label') && !e.textContent.trim()).length"
    click(browser, all_of(browser, ".tile")[0])
    assert browser.execute_script(nameless.replace("[role]", "[role=img], [role=treeitem], [role=group]")) == 0
    assert re.fullmatch(
        r"Example \d+, yes with [\d.<>%]+, labelled (yes|no)",
        all_of(browser, "#node-0 .tile")[0].get_attribute("aria-label"),
    )
    assert one(browser, "#status").get_attribute("textContent").startswith("Example ")


def test_a_page_fits_a_phone(browser: Any, page: Path) -> None:
    open_page(browser, page, 375, 700)
    assert overflow(browser) == 0
    assert not one(browser, "#dock").is_displayed()
    click(browser, all_of(browser, ".tile")[0])
    assert one(browser, "#dock").is_displayed()
    assert overflow(browser) == 0
    one(browser, "#dock button:last-child").click()
    assert not one(browser, "#dock").is_displayed()
    assert quiet(browser)


def hostile(path: Path) -> Path:
    """A page on which every name that data can bring is an attack."""
    rng = np.random.default_rng(0)
    column, value = f"c{WORSE}", f"v{EVIL}{WORSE}"
    X = Examples({WORSE: rng.random((12, 4, 4)), column: [value, "plain"] * 6})
    rule = atom_text(EVIL)
    background = (
        f"nn({atom_text('net' + EVIL)}, [I], V, [{atom_text(WORSE)}, {atom_text(EVIL)}]) :: {atom_text('sees' + WORSE)}(I, V).\n"
        f"{rule}(I) :- {atom_text('sees' + WORSE)}(I, {atom_text(EVIL)})."
    )
    made = NeurosymbolicTree(
        Tree(
            Branch(f"{rule}({atom_text(WORSE)})", Branch(ValueTest(column, value), Leaf(0.9), Leaf(0.1)), Leaf(0.2)),
            classes=(EVIL, WORSE),
        ),
        X.schema,
        background=background,
        networks={"net" + EVIL: lambda x: torch.softmax(torch.stack((x[:, 0, 0], x[:, 1, 1]), 1), 1)},
    )
    return write_page(path, made, X, [EVIL, WORSE] * 6, title=EVIL + WORSE)


@pytest.mark.parametrize("width", [1280, 375])
def test_names_are_text_whatever_they_say(browser: Any, tmp_path: Path, width: int) -> None:
    open_page(browser, hostile(tmp_path / "hostile.html"), width, 800)
    click(browser, all_of(browser, ".tile")[0])
    assert browser.execute_script("return typeof window.hacked") == "undefined"
    assert all_of(browser, ".injected, b") == []
    assert len(all_of(browser, "script")) == 2
    assert all(image.get_attribute("src").startswith("data:image/png") for image in all_of(browser, "img"))
    shown = one(browser, "body").get_attribute("textContent")
    assert EVIL in shown
    assert WORSE in shown
    assert one(browser, "h1").text == EVIL + WORSE
    assert overflow(browser) == 0
    assert quiet(browser)


def test_the_browser_would_not_run_a_script_that_got_in(browser: Any, page: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    text = page.read_text(encoding="utf-8")
    broken.write_text(text.replace("<footer", "<script>window.hacked = 1</script><footer"), encoding="utf-8")
    open_page(browser, broken)
    assert browser.execute_script("return typeof window.hacked") == "undefined"
    assert any("Content Security Policy" in entry["message"] for entry in browser.get_log("browser"))


# Scores and doubts -------------------------------------------------------------------------------


def test_the_scores_stand_at_the_top_and_training_rows_are_counted_apart(browser: Any, tmp_path: Path) -> None:
    X, y = table(), labels()
    known = model()
    codes = (y == "yes").astype(np.int64)
    known.training_record = TrainingRecord.of(X[:40], codes[:40], 5)
    open_page(browser, write_page(tmp_path / "page.html", known, X, y))
    right = known.predict(X) == y
    values = f"Of these 60 rows 40 were learned from: accuracy {right[:40].mean():.3f}; the other 20: accuracy {right[40:].mean():.3f}."
    assert one(browser, "#scores .first").text == values
    assert "Learned from 40 rows." in one(browser, "#scores").text
    for button in all_of(browser, ".tile")[:8]:
        row = int(button.get_attribute("data-row"))
        click(browser, button)
        assert f"The tree was {'' if row < 40 else 'not '}learned from this example." in one(browser, "#example").text
        click(browser, one(browser, "#example .clear"))
    assert quiet(browser)


@pytest.mark.parametrize("width", [1280, 375])
def test_a_test_close_to_chance_is_marked_in_the_tree_and_beside_its_evidence(
    browser: Any, tmp_path: Path, width: int
) -> None:
    poor = Branch("darker(left, right)", Leaf(0.9), Leaf(0.2), 0.3, None, NetworkStatistics(0.05, 0.8, 0.01, 40.0))
    fine = Branch("darker(right, left)", poor, Leaf(0.1), 0.3, None, NetworkStatistics(0.97, 0.8, 0.75, 40.0))
    shown = NeurosymbolicTree(
        Tree(fine, ("no", "yes")), table().schema, background=BACKGROUND, networks={"bright_net": Bright()}
    )
    open_page(browser, write_page(tmp_path / "page.html", shown, table()), width)
    assert [found.text for found in all_of(browser, "#tree .decided")] == ["decided 0.97", "decided 0.05 (!)"]
    (warning,) = all_of(browser, ".warning")
    assert warning.text.startswith("(!) Close to chance.")
    assert one(browser, "#node-1 .warning").text == warning.text
    assert "close to chance" in one(browser, "#tree-1").get_attribute("aria-label")
    assert "Gain on unseen\n0.01 bits of 40 examples" in one(browser, "#node-1 .statistics").text
    assert overflow(browser) == 0
    assert quiet(browser)


def test_shares_and_masses_are_written_as_in_the_text(browser: Any, tmp_path: Path) -> None:
    """Also where a share lies exactly between two numbers of two digits."""
    tree = Tree(
        Branch(
            "alarm",
            Branch("age =< 40.5", Leaf(0.125, (7.0, 1.0)), Leaf(0.375, (5.0, 3.0)), 0.125, (12.0, 4.0)),
            Branch("age =< 60.5", Leaf(0.625, (3.0, 5.0)), Leaf(0.57496, (1.5, 2.0)), 0.875, (4.5, 7.0)),
            0.5,
            (16.5, 11.0),
        ),
        ("no", "yes"),
    )
    X = table()
    open_page(browser, write_page(tmp_path / "page.html", NeurosymbolicTree(tree, X.schema), X))
    for number, line in enumerate(export_text(tree).splitlines()):
        card = one(browser, f"#node-{number}").text
        mass = re.search(r"mass +([\d.]+)", line)
        assert mass is not None
        assert f"Reach when grown\n{mass.group(1)} of 27.5" in card
        gain = re.search(r"gain ([\d.]+)", line)
        assert gain is None or f"{gain.group(1)} bits" in card
        for label, share in re.findall(r"(no|yes) (\d\.\d\d)", line):
            assert f"{label} {float(share):.0%}" in card
