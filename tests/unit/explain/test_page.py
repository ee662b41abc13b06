"""A page tells what plain recomputation tells, holds everything it needs, and lets nobody's name run as a script."""

from __future__ import annotations

import json
import re
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch
from bright import BACKGROUND, TREE, Bright, labels, model, table
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from sklearn.exceptions import NotFittedError
from strategies import Case, cases

from neuid3 import Branch, Examples, Leaf, NeuID3Classifier, NeurosymbolicTree, Priors, Tree
from neuid3.errors import DataError, ExportError, TreeError
from neuid3.explain.page import evidence_page, responses, write_page
from neuid3.explain.page import pictures as drawing
from neuid3.explain.page.content import BranchContent, LeafContent, PageContent, Tile, page_content
from neuid3.explain.page.pictures import page_images, png, shrunk
from neuid3.explain.page.render import script_json
from neuid3.explain.page.responses import MIN_REACH
from neuid3.logic.program import Program
from neuid3.tree.tree import node_paths

# What the page spares its networks may move a probability by so much, once for every branch.
CLOSE = 20 * MIN_REACH


def questions(facts: PageContent) -> list[BranchContent]:
    return [node for node in facts.nodes if isinstance(node, BranchContent)]


# What is gathered --------------------------------------------------------------------------------
@given(cases(rows=12), st.integers(1, 3))
@settings(max_examples=12)
def test_what_is_gathered_is_what_plain_recomputation_finds(case: Case, images: int) -> None:
    facts, model = page_content(case.model, case.examples, images=images), case.model
    reach = {path: model.path_probability(case.examples, path) for path, _ in node_paths(model.tree.root)}
    for (path, node), values in zip(node_paths(model.tree.root), facts.nodes, strict=True):
        assert values.masses.mass == pytest.approx(reach[path].sum(), abs=12 * CLOSE)
        if isinstance(values, BranchContent):
            assert isinstance(node, Branch)
            assert values.test == str(node.test)
            yes = reach[(*path, (node.test, True))]
            check_strips(values, reach[path], yes, images)
        else:
            assert values.probabilities == node.probabilities
    exact = model.predict_proba(case.examples)
    for example in facts.examples:
        assert example.probabilities == pytest.approx(exact[example.row], abs=CLOSE)
        branches = [(path, node) for path, node in node_paths(model.tree.root) if isinstance(node, Branch)]
        for (path, node), response in zip(branches, example.responses, strict=True):
            if reach[path][example.row] > 0.01:
                wanted = reach[(*path, (node.test, True))][example.row] / reach[path][example.row]
                assert response == pytest.approx(wanted, abs=100 * CLOSE)


def check_strips(branch: BranchContent, reach: np.ndarray, yes: np.ndarray, images: int) -> None:
    """The strips hold the extremes, by plain sorting; where probabilities are equal either example will do."""
    enough = sorted(reach, reverse=True)[: 3 * images][-1] if len(reach) > 3 * images else 0.0
    responses = [y / r for y, r in zip(yes, reach, strict=True) if r >= min(enough, 0.5) and r > MIN_REACH]
    likely, unlikely = [a for a in responses if a >= 0.5], [a for a in responses if a < 0.5]
    unsure = [a for a in responses if 0.05 < a < 0.95]
    for strip, wanted in (
        (branch.surely_true, sorted(likely, reverse=True)),
        (branch.undecided, sorted(unsure, key=lambda a: abs(a - 0.5))),
        (branch.surely_false, sorted(unlikely)),
    ):
        # Beside a limit rounding may decide, so lengths are compared only where nobody stands there.
        if all(min(abs(a - limit) for limit in (0.05, 0.5, 0.95)) > 1e-3 for a in responses):
            assert len(strip) == min(images, len(wanted))
            assert [distance(s.probability) for s in strip] == pytest.approx(
                [distance(a) for a in wanted[:images]], abs=0.02
            )
        for shown in strip:
            assert shown.probability == pytest.approx(yes[shown.row] / reach[shown.row], abs=0.02)


def distance(probability: float) -> float:
    return abs(probability - 0.5)


def test_a_tile_shows_the_columns_in_the_order_of_the_test() -> None:
    facts = page_content(model(), table())
    assert questions(facts)[0].columns == ("left", "right")
    assert all(shown.columns == ("left", "right") for shown in questions(facts)[0].surely_true)


def test_a_test_tells_the_rules_behind_it_as_they_were_written() -> None:
    tests = questions(page_content(model(), table()))
    assert tests[0].rules == (
        "darker(A, B) :- bright(A, X), bright(B, Y), X < Y.",
        "nn(bright_net, [I], B, [1, 2, 3, 4]) :: bright(I, B).",
    )
    assert tests[1].rules == ()
    assert tests[0].networks == ("bright_net",)
    assert (tests[0].gain, tests[1].gain, tests[2].gain) == (0.3, 0.1, None)
    assert (tests[0].masses.training, tests[2].masses.training) == ((10.0, 6.0), None)


def test_masses_are_counted_by_class() -> None:
    X, y = table(), labels()
    facts = page_content(model(), X, y)
    for (path, _), values in zip(node_paths(TREE.root), facts.nodes, strict=True):
        reach = model().path_probability(X, path)
        wanted = [reach[y == name].sum() for name in ("no", "yes")]
        assert values.masses.classes == pytest.approx(wanted, abs=60 * CLOSE)
    found = model().predict(X)
    assert facts.row_groups.unknown is not None
    assert facts.row_groups.unknown.score is not None
    assert facts.row_groups.unknown.score.accuracy == pytest.approx((found == y).mean())
    wrong = [row for row in range(60) if found[row] != y[row]]
    given_to_own = model().predict_proba(X)[np.arange(60), (y == "yes").astype(int)]
    worst = sorted(given_to_own[wrong])[:9]
    assert [s.probability for s in facts.errors] == pytest.approx(worst, abs=CLOSE)


def test_a_network_tells_what_it_calls_what_it_sees() -> None:
    X, facts = table(), page_content(model(), table(), images=5)
    (predicate,) = facts.predicates
    assert (predicate.network, predicate.predicate) == ("bright_net", "bright")
    assert predicate.inputs == (("left",), ("right",))
    assert [value.name for value in predicate.values] == ["1", "2", "3", "4"]
    outputs = {
        (row, name): Bright()(torch.from_numpy(X.column(name).values[row : row + 1].copy()))[0].numpy()
        for name in ("left", "right")
        for row in range(60)
    }
    assert predicate.calls == len(outputs)
    for code, value in enumerate(predicate.values):
        mine = sorted((float(p.max()) for p in outputs.values() if p.argmax() == code), reverse=True)
        assert value.count == len(mine)
        assert value.mean_probability == pytest.approx(np.mean(mine), abs=1e-5)
        assert [shown.probability for shown in value.shown] == pytest.approx(mine[:5], abs=1e-5)
        assert all(outputs[shown.row, shown.columns[0]].argmax() == code for shown in value.shown)
    for example in facts.examples:
        assert example.network_values == (
            tuple(int(outputs[example.row, name].argmax()) for name in ("left", "right")),
        )


def test_examples_are_gathered_in_batches_and_shown_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = page_content(model(), table(), images=60)
    monkeypatch.setattr(responses, "BATCH", 7)
    parts = page_content(model(), table(), images=60)
    assert [node.masses.mass for node in parts.nodes] == pytest.approx([node.masses.mass for node in whole.nodes])
    assert [example.network_values for example in parts.examples] == [
        example.network_values for example in whole.examples
    ]
    assert len(parts.examples) == 60


def test_a_network_is_called_once_for_every_input() -> None:
    network = Bright()
    evidence_page(model(network), table())
    assert network.shown == 2 * 60


def test_a_network_is_spared_what_does_not_get_to_it() -> None:
    tree = Tree(Branch("alarm", Branch("darker(left, right)", Leaf(0.9), Leaf(0.2)), Leaf(0.1)))
    network, X = Bright(), table()
    spared = NeurosymbolicTree(tree, X.schema, background=BACKGROUND, networks={"bright_net": network})
    facts = page_content(spared, X)
    there = int(X.column("alarm").values.sum())
    assert network.shown == 2 * there == facts.predicates[0].calls


def test_a_symbolic_test_tells_what_is_on_either_side() -> None:
    X = table()
    age = questions(page_content(model(), X, labels()))[2]
    assert age.sides is not None
    young = model().path_probability(X, ((TREE.tests[0], False), (TREE.tests[2], True)))
    ages = X.column("age").values[young > MIN_REACH]
    yes, no = age.sides
    assert yes.masses.mass == pytest.approx(young.sum(), abs=60 * CLOSE)
    assert yes.values[0].startswith(f"{ages.min():g} to {ages.max():g}, median ")
    assert no.masses.mass + yes.masses.mass == pytest.approx(age.masses.mass)
    assert not age.undecided
    assert questions(page_content(model(), X))[0].sides is None


def test_missing_entries_are_shown_as_missing() -> None:
    X = table()
    left = X.column("left").values.copy()
    left[:30] = np.nan
    holes = Examples(
        {
            "left": left,
            "right": X.column("right").values,
            "alarm": [None] * 30 + [True] * 30,
            "age": X.column("age").values,
        },
        kinds={"alarm": "boolean"},
    )
    priors = Priors(columns={"alarm": 0.5}, networks={"bright_net": [0.25] * 4})
    informed = model().with_priors(priors)
    facts = page_content(informed, holes)
    shown = {example.row: dict(example.values) for example in facts.examples}
    assert {shown[row]["alarm"] for row in shown if row < 30} == {"missing"}
    assert facts.predicates[0].calls == 30 + 60
    drawn = page_images(holes, [(0, "left"), (40, "left")], [])
    assert drawn.pictures[drawn.index[0, "left"]] is None
    assert "missing" in evidence_page(informed, holes)


def test_a_single_leaf_has_a_page() -> None:
    X = table()
    facts = page_content(NeurosymbolicTree(Tree(Leaf(0.3)), X.schema), X)
    (leaf,) = facts.nodes
    assert isinstance(leaf, LeafContent)
    assert leaf.masses.mass == 60
    assert "<h1>" in evidence_page(NeurosymbolicTree(Tree(Leaf(0.3)), X.schema), X)


def test_the_page_describes_every_example_that_it_shows_and_no_other() -> None:
    facts = page_content(model(), table(), labels(), images=2)

    def shown() -> list[Tile]:
        found = [s for q in questions(facts) for s in (*q.surely_true, *q.undecided, *q.surely_false)]
        return [*found, *facts.errors, *(s for p in facts.predicates for v in p.values for s in v.shown)]

    assert [example.row for example in facts.examples] == sorted({s.row for s in shown()})


# Rules -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "test", "wanted"),
    [
        ("a :- b, \\+ c. b. 0.5::c. d :- a.", "a", ("a :- b, \\+ c.", "b.", "0.5::c.")),
        ("p(X) :- q(X) ; p(X). q(1). q('a. b').", "p(1)", ("p(X) :- q(X) ; p(X).", "q(1).", "q('a. b').")),
        ("/* a. */ a :- % b.\n  findall(X, q(X), [_]).\nq(1).", "a", ("a :- findall(X, q(X), [_]).", "q(1).")),
        ("0.3::a; 0.4::b.\nc :- a.", "c", ("c :- a.", "0.3::a; 0.4::b.")),
    ],
)
def test_the_clauses_behind_a_test_are_those_it_can_reach(text: str, test: str, wanted: tuple[str, ...]) -> None:
    assert Program(text, {}).clauses_behind([test]) == [wanted]


# Pictures ----------------------------------------------------------------------------------------
@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from([1, 3]), st.integers(0, 99))
def test_a_png_shows_the_pixels_it_was_made_of(height: int, breadth: int, channels: int, seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, breadth, channels), dtype=np.uint8)
    read = np.asarray(Image.open(BytesIO(png(pixels))).convert("RGB"))
    np.testing.assert_array_equal(read, np.broadcast_to(pixels, (height, breadth, 3)))


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20), st.integers(1, 20))
def test_a_smaller_image_keeps_its_means(height: int, breadth: int, rows: int, columns: int) -> None:
    image = np.random.default_rng(0).random((height, breadth, 1))
    size = (min(rows, height), min(columns, breadth))
    small = shrunk(image, size)
    assert small.shape == (*size, 1)
    edges = [[i * full // few for i in range(few)] + [full] for full, few in ((height, size[0]), (breadth, size[1]))]
    for i in range(size[0]):
        for j in range(size[1]):
            part = image[edges[0][i] : edges[0][i + 1], edges[1][j] : edges[1][j + 1]]
            assert small[i, j, 0] == pytest.approx(part.mean())


def pixels_of(picture: object) -> np.ndarray:
    import base64

    assert isinstance(picture, str)
    return np.asarray(Image.open(BytesIO(base64.b64decode(picture))))


@pytest.mark.parametrize("shape", [(12, 10), (1, 12, 10), (3, 12, 10), (200, 100)])
@pytest.mark.parametrize("scale", ["bytes", "fractions", "anything"])
def test_images_are_drawn_from_black_to_white(shape: tuple[int, ...], scale: str) -> None:
    values = np.random.default_rng(0).random((4, *shape))
    values[0].flat[0], values[0].flat[1] = 0.0, 1.0
    columns = {"bytes": (values * 255).astype(np.uint8), "fractions": values, "anything": values * 40 - 20}
    drawn = page_images(Examples({"image": columns[scale]}, kinds={"image": "tensor"}), [(0, "image")], [])
    found = pixels_of(drawn.pictures[0])
    assert max(found.shape[:2]) <= 56
    if max(shape) <= 56:
        wanted = values[0] if len(shape) == 2 else np.moveaxis(values[0], 0, -1)
        np.testing.assert_allclose(found.reshape(wanted.shape) / 255, wanted, atol=0.01)


def test_vectors_are_drawn_as_lines_and_short_ones_shown_as_numbers() -> None:
    X = Examples(
        {"long": np.tile(np.linspace(-1, 1, 80), (3, 1)), "short": np.ones((3, 2))},
        dict.fromkeys(("long", "short"), "tensor"),
    )
    (line,) = page_images(X, [(0, "long")], []).pictures
    assert isinstance(line, list)
    assert (len(line), line[0], line[-1]) == (40, 1, 99)
    assert line == sorted(line)
    background = "nn(n, [A, B]) :: p(A, B)."
    made = NeurosymbolicTree(
        Tree(Branch("p(long, short)", Leaf(0.9), Leaf(0.1))),
        X.schema,
        background=background,
        networks={"n": lambda a, b: torch.sigmoid(a[:, :1] * b[:, :1])},
    )
    assert dict(page_content(made, X).examples[0].values) == {"short": "1, 1"}


def test_images_are_made_smaller_when_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (40, 3, 64, 64), dtype=np.uint8)
    X, wanted = Examples({"image": noise}), [(row, "image") for row in range(40)]
    assert pixels_of(page_images(X, wanted, []).pictures[0]).shape == (56, 56, 3)
    monkeypatch.setattr(drawing, "BUDGET", 100_000)
    tight = page_images(X, wanted[:20], wanted)
    assert pixels_of(tight.pictures[0]).shape == (28, 28, 3)
    assert 20 <= len(tight.pictures) < 40  # those that are needed, and of the others as many as there is room for


# The page ----------------------------------------------------------------------------------------
@given(st.lists(st.dictionaries(st.text(), st.none() | st.text(), max_size=3), max_size=3))
@settings(max_examples=30)
def test_data_in_a_page_can_be_read_and_cannot_end_its_element(data: object) -> None:
    text = script_json(data)
    assert json.loads(text) == data
    assert not set(text) & set("<>&\u2028\u2029")


def test_a_page_asks_for_nothing() -> None:
    page = evidence_page(model(), table(), labels())
    assert set(re.findall(r'\b(?:src|href)="([^"]*)"', page)) == {"data:,", "#evidence"}
    assert set(re.findall(r"https?://[^\s\"']*", page)) == {"http://www.w3.org/2000/svg"}  # a name, not a place
    assert "default-src &#x27;none&#x27;" in page
    assert "unsafe" not in page
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", page)


def test_a_title_is_text() -> None:
    page = evidence_page(model(), table(), title="</title><script>alert(1)</script>")
    assert "<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;</title>" in page
    assert page.count("<script") == 2


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = write_page(tmp_path / "new" / "page.html", model(), table(), title="First")
    assert path.read_text(encoding="utf-8") == evidence_page(model(), table(), title="First")
    with pytest.raises(DataError):
        write_page(path, model(), table(), labels(3))
    assert "<h1>First</h1>" in path.read_text(encoding="utf-8")
    assert [found.name for found in path.parent.iterdir()] == ["page.html"]
    with pytest.raises(ExportError, match="choose another path"):
        write_page(tmp_path, model(), table())


def test_a_classifier_has_the_page_of_its_tree() -> None:
    X = {"alarm": np.arange(40) % 2 == 0, "noise": np.arange(40) % 3 == 0}
    y = np.where(X["alarm"], "ring", "quiet")
    learned = NeuID3Classifier(random_state=0).fit(X, y)
    assert evidence_page(learned, X, y) == evidence_page(learned.model_, X, y)


# What is wrong -----------------------------------------------------------------------------------
@pytest.mark.parametrize("images", [0, -1, 2.5, True, "9"])
def test_the_number_of_images_is_a_number(images: object) -> None:
    with pytest.raises(DataError, match="images="):
        evidence_page(model(), table(), images=images)  # type: ignore[arg-type]


def test_labels_must_fit() -> None:
    with pytest.raises(DataError, match=r"y has shape \(3,\)"):
        evidence_page(model(), table(), ["yes", "no", "yes"])
    with pytest.raises(DataError, match=r"class 'yess'.*Did you mean 'yes'"):
        evidence_page(model(), table(), ["yess"] * 60)


def test_a_page_needs_a_tree() -> None:
    with pytest.raises(TreeError, match="A str has no tree"):
        evidence_page("tree", table())  # type: ignore[arg-type]
    with pytest.raises(NotFittedError):
        evidence_page(NeuID3Classifier(), table())
