"""A tree can be seen: as text, as SVG, with matplotlib, as DOT, and in notebooks, whatever its names are."""

from __future__ import annotations

import io
import re
import sys
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
import sklearn
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Text
from PIL import Image as Photo
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from svg_shapes import checked

from neuid3 import (
    Branch,
    Examples,
    Leaf,
    NeuID3Classifier,
    NeuID3Error,
    NeurosymbolicTree,
    Tree,
    export_graphviz,
    export_svg,
    export_text,
    plot_tree,
)
from neuid3.export.galleries import galleries
from neuid3.export.layout import BOX_GAP, ROW_GAP, Box, arrange
from neuid3.export.marks import Image, Label, Picture, Rectangle, text_width
from neuid3.export.palette import class_colours
from neuid3.export.picture import draw_tree
from neuid3.tree.tree import branches

HOSTILE = "</svg><script>alert('1')</script>\n\"a\\\" onload=x & \x00\u202e"
SMALL = Tree(
    Branch(
        "burglary",
        Branch("alarm", Leaf(0.95), Leaf(0.0)),
        Branch("earthquake", Branch("alarm", Leaf(0.7), Leaf(0.2)), Leaf(0.01)),
    )
)

names = st.text(min_size=1, max_size=40) | st.sampled_from([HOSTILE, "日本語", "$\\frac{1$", "]]>", "<!--", "a" * 200])


@st.composite
def trees(drawn: st.DrawFn) -> Tree:
    """Trees of up to fifteen leaves with any names, some of which know their masses and gains."""
    classes = drawn(st.lists(names, min_size=2, max_size=10, unique=True))
    tests = drawn(st.lists(names, min_size=1, max_size=4))
    random, counted = drawn(st.randoms(use_true_random=False)), drawn(st.booleans())

    def grown(leaves: int) -> Branch | Leaf:
        masses = tuple(random.choice((0.5, 1.0, 30.0, 5000.0)) for _ in classes)
        if leaves == 1:
            return Leaf(tuple(mass / sum(masses) for mass in masses), masses if counted else None)
        left = random.randint(1, leaves - 1)
        gain, masses = (0.25, masses) if counted else (None, None)
        return Branch(random.choice(tests), grown(left), grown(leaves - left), gain, masses)

    return Tree(grown(drawn(st.integers(1, 15))), tuple(classes))


# Text -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def iris() -> tuple[NeuID3Classifier, np.ndarray, np.ndarray]:
    table = load_iris()
    labels = table.target_names[table.target]
    return NeuID3Classifier(max_depth=3, random_state=0).fit(table.data, labels), table.data, labels


def test_the_text_tells_masses_and_shares_as_a_plain_count_finds_them(iris: tuple) -> None:
    clf, X, y = iris
    lines = clf.export_text().splitlines()

    def counted(node: Branch | Leaf, rows: np.ndarray) -> Iterator[str]:
        found = Counter(y[rows].tolist())
        shares = "  ".join(f"{name} {found[name] / len(rows):.2f}" for name in sorted(set(y)))
        yield f"mass {len(rows):>3}  {shares}"
        if isinstance(node, Branch):
            column, threshold = re.fullmatch(r"x(\d) =< (.+)", str(node.test)).groups()
            outputs = X[rows, int(column)] <= float(threshold)
            yield from counted(node.yes, rows[outputs])
            yield from counted(node.no, rows[~outputs])

    expected = list(counted(clf.tree_.root, np.arange(len(y))))
    assert len(expected) == len(lines) > 5
    assert [line[line.index("mass") :] for line in lines] == expected
    assert len({line.index("mass") for line in lines}) == 1, "what belongs together stands in one column"
    assert sum("gain" in line for line in lines) == len(list(branches(clf.tree_.root)))


def test_a_tree_made_by_hand_tells_what_there_is() -> None:
    assert export_text(SMALL).splitlines()[:3] == [
        "burglary?",
        "├─ yes: alarm?",
        "│       ├─ yes: pos          neg 0.05  pos 0.95",
    ]
    assert "'0' 0.50" in export_text(Tree(Leaf(0.5), classes=(0, 1))), "a number that names a class is told apart"


@given(trees())
def test_every_node_is_one_line_of_text_whatever_it_is_called(tree: Tree) -> None:
    assert len(export_text(tree).splitlines()) == len(tree.leaves) + sum(1 for _ in branches(tree.root))


RULES = """
nn(rank_net, [I], R, [1, 2, 3]) :: rank(I, R).
nn(unused_net, [I]) :: unused(I).
0.9 :: works.
0.2 :: broken; 0.3 :: worn :- works.
gt(A, B) :- rank(A, X), rank(B, Y), X < Y.
chain(A, B) :- gt(A, B).
chain(A, B) :- next(A, C), chain(C, B).
alert :- findall(X, (seen(X), \\+ worn), L), L = ['a, b'].
seen('a, b') :- alarm.
next(card, deck).
idle :- unused(card).
"""


def test_the_rules_behind_the_tests_and_no_others_are_reported() -> None:
    X = Examples({"card": np.zeros((2, 4, 4)), "deck": np.zeros((2, 4, 4)), "alarm": [True, False]})
    networks = {"rank_net": lambda x: torch.full((len(x), 3), 1 / 3)}
    values = {}
    for test in ("chain(card, card)", "alert", "alarm"):
        model = NeurosymbolicTree(Tree(Branch(test, Leaf(0.9), Leaf(0.1))), X, background=RULES, networks=networks)
        text = export_text(model, rules=True)
        values[test] = [line.strip() for line in text.partition("Rules behind the tests:\n")[2].splitlines()]
        assert text.startswith(export_text(model))
    assert values == {
        "chain(card, card)": [
            "chain(A, B) :- gt(A, B).",
            "chain(A, B) :- next(A, C), chain(C, B).",
            "gt(A, B) :- rank(A, X), rank(B, Y), X < Y.",
            "next(card, deck).",
            "nn(rank_net, [I], R, [1, 2, 3]) :: rank(I, R).",
        ],
        "alert": [
            "alert :- findall(X, (seen(X), \\+ worn), L), L = ['a, b'].",
            "seen('a, b') :- alarm.",
            "0.2 :: broken; 0.3 :: worn :- works.",
            "0.9 :: works.",
        ],
        "alarm": [],
    }


# Pictures ---------------------------------------------------------------------------------------

boxes = st.recursive(
    st.builds(Box, st.floats(5, 300), st.floats(5, 200), st.just(())),
    lambda below: st.builds(Box, st.floats(5, 300), st.floats(5, 200), st.just(()), st.tuples(below, below)),
    max_leaves=20,
)


@given(boxes)
def test_boxes_stand_in_rows_do_not_touch_and_are_above_the_middle_of_their_children(root: Box) -> None:
    top = arrange(root)
    rows: dict[float, list] = {}
    for spot in top.preorder():
        rows.setdefault(spot.y, []).append(spot)
        assert spot.y + spot.box.height <= spot.row_bottom + 1e-6
        if spot.children:
            yes, no = spot.children
            assert (yes.centre + no.centre) / 2 == pytest.approx(spot.centre, abs=1e-6)
            assert yes.y == no.y == pytest.approx(spot.row_bottom + ROW_GAP)
    for row in rows.values():
        row.sort(key=lambda spot: spot.x)
        assert len({spot.row_bottom for spot in row}) == 1
        for left, right in pairwise(row):
            assert left.x + left.box.width + BOX_GAP <= right.x + 1e-6
    assert min(spot.x for spot in top.preorder()) == pytest.approx(0, abs=1e-6)


def extent(mark: Label) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a line, a little less than it was given."""
    width = text_width(mark.text, mark.size)
    left = mark.x - {"start": 0.0, "middle": width / 2, "end": width}[mark.anchor]
    return left, mark.y - 0.75 * mark.size, left + width, mark.y + 0.2 * mark.size


def test_fifteen_leaves_share_the_paper_without_a_word_upon_another() -> None:
    def grown(depth: int, position: int = 1) -> Branch | Leaf:
        masses = (float(position), 7.0, 0.4)
        if depth == 0 or position == 15:
            return Leaf(tuple(mass / sum(masses) for mass in masses), masses)
        yes, no = grown(depth - 1, 2 * position), grown(depth - 1, 2 * position + 1)
        return Branch(f"'measured in place {position}' =< {position / 3!r}", yes, no, 0.5, masses)

    tree = Tree(grown(4), classes=("setosa", "versicolor", "something with a very long name"))
    assert len(tree.leaves) == 15
    nothing_overlaps(draw_tree(tree))


@given(trees())
def test_no_word_lies_upon_another_and_none_leaves_its_box_or_the_paper(tree: Tree) -> None:
    nothing_overlaps(draw_tree(tree))


def nothing_overlaps(picture: Picture) -> None:
    extents = [extent(mark) for mark in picture.marks if isinstance(mark, Label)]
    frames = [mark for mark in picture.marks if isinstance(mark, Rectangle) and mark.stroke]
    assert extents
    assert frames
    for i, (left, top, right, bottom) in enumerate(extents):
        assert left >= 0
        assert top >= 0
        assert right <= picture.width
        assert bottom <= picture.height
        for other in extents[:i]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
        for frame in frames:
            inside = frame.x <= left and right <= frame.x + frame.width
            beside = right <= frame.x or frame.x + frame.width <= left
            apart = bottom <= frame.y or frame.y + frame.height <= top
            assert inside or beside or apart


def test_bars_are_as_long_as_the_shares() -> None:
    tree = Tree(Leaf((0.5, 0.3, 0.2)), classes=("a", "b", "c"))
    bars = [
        m for m in draw_tree(tree).marks if isinstance(m, Rectangle) and m.fill in class_colours(3) and m.height == 7.0
    ]
    total = sum(bar.width for bar in bars)
    assert [bar.width / total for bar in bars] == pytest.approx([0.5, 0.3, 0.2])
    assert len(set(class_colours(30))) >= 24
    assert [bar.x + bar.width for bar in bars[:-1]] == pytest.approx([bar.x for bar in bars[1:]])


@given(trees())
def test_an_svg_is_xml_and_holds_nothing_but_shapes_whatever_the_names_are(tree: Tree) -> None:
    checked(export_svg(tree))


def test_hostile_names_are_only_shown() -> None:
    root = checked(export_svg(Tree(Branch(HOSTILE, Leaf(0.9), Leaf(0.1)), classes=(HOSTILE, "x"))))
    hints = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(hint.startswith("</svg><script>alert('1')</script>\\n\"a\\\" onload=x & \\x00\\u202e") for hint in hints)


def test_what_lies_too_deep_is_counted() -> None:
    texts = [mark.text for mark in draw_tree(SMALL, max_depth=0).marks if isinstance(mark, Label)]
    assert [text for text in texts if "leaves" in text] == ["… 2 leaves", "… 3 leaves"]
    assert "earthquake" not in texts
    assert draw_tree(SMALL, max_depth=2).marks == draw_tree(SMALL).marks


# What networks see ------------------------------------------------------------------------------


def bright_model() -> tuple[NeurosymbolicTree, Examples]:
    rng = np.random.default_rng(0)
    brightness = rng.permutation(np.linspace(0, 1, 60))
    X = Examples(
        {
            "left": np.repeat(brightness, 12).reshape(60, 3, 4) * 200,  # a scale of its own
            "right": (rng.random((60, 3, 5, 6)) * 255).astype(np.uint8),
            "signal": rng.random((60, 1, 9)),
            "alarm": rng.random(60),
        },
        kinds={"alarm": "probability"},
    )
    tree = Tree(
        Branch("alarm", Branch("both(right, left)", Leaf(0.9), Leaf(0.2)), Branch("loud", Leaf(0.5), Leaf(0.1)))
    )
    networks = {
        "bright_net": lambda x: torch.sigmoid(8 * (x.flatten(1).mean(1, keepdim=True) / 200 - 0.4)),
        "pale_net": lambda x: x.flatten(1).mean(1, keepdim=True).clamp(0, 1),
        "loud_net": lambda x: x.flatten(1).mean(1, keepdim=True),
    }
    rules = """
        nn(bright_net, [I]) :: bright(I).  nn(pale_net, [I]) :: pale(I).  nn(loud_net, [I]) :: loud(I).
        both(A, B) :- pale(A), bright(B).
        loud :- loud(signal).
    """
    return NeurosymbolicTree(tree, X, background=rules, networks=networks), X


def test_a_test_shows_the_surest_of_the_examples_that_reach_it() -> None:
    model, X = bright_model()
    (path, gallery), *others = galleries(model, X, 3).items()
    assert not others, "facts and signals are not to be seen"
    assert [response for _, response in path] == [True]
    assert gallery.columns == ("right", "left"), "in the order in which the test names them"
    test = model.tree.root.yes.test
    here = np.flatnonzero(X.column("alarm").values > 0.5)
    yes = model.path_probability(X, ((test, True),))
    for shown, sure in ((gallery.yes, yes), (gallery.no, 1 - yes)):
        expected = sorted((row for row in here if sure[row] > 0.5), key=lambda row: -sure[row])[:3]
        assert [example.row for example in shown] == expected
        for example in shown:
            assert example.probability == pytest.approx(sure[example.row])
            right, left = example.images
            np.testing.assert_array_equal(right, np.moveaxis(X.column("right").values[example.row], 0, -1))
            np.testing.assert_allclose(left[:, :, 0], X.column("left").values[example.row] / 200 * 255, atol=0.6)
    assert gallery.no


def test_the_images_are_in_the_svg_and_nothing_lies_upon_them() -> None:
    model, X = bright_model()
    gallery = next(iter(galleries(model, X, 2).values()))
    picture = draw_tree(model, X, images=2)
    images = [mark for mark in picture.marks if isinstance(mark, Image)]
    shown = [pixels for example in (*gallery.yes, *gallery.no) for pixels in example.images]
    assert len(images) == len(shown) > 2
    for mark, pixels in zip(images, shown, strict=True):
        np.testing.assert_array_equal(mark.pixels, pixels)
        for left, top, right, bottom in (extent(m) for m in picture.marks if isinstance(m, Label)):
            assert right <= mark.x or mark.x + mark.width <= left or bottom <= mark.y or mark.y + mark.height <= top
    found = checked(export_svg(model, X, images=2)).iter("{http://www.w3.org/2000/svg}image")
    for element, pixels in zip(found, shown, strict=True):
        decoded = Photo.open(io.BytesIO(b64decode(element.attrib["href"].partition(",")[2])))
        np.testing.assert_array_equal(np.asarray(decoded.convert("RGB")), pixels)


def test_missing_and_large_images_and_empty_tables_are_no_trouble() -> None:
    values = np.random.default_rng(0).random((6, 200, 300))
    values[0] = np.nan
    X = Examples({"scan": values})
    model = NeurosymbolicTree(
        Tree(Branch("dark(scan)", Leaf(0.9), Leaf(0.1))),
        X,
        background="nn(net, [I]) :: dark(I).",
        networks={"net": lambda x: torch.linspace(0.9, 0.6, len(x)).unsqueeze(1)},
    ).learn_priors(X)
    (gallery,) = galleries(model, X, 9).values()
    assert sorted(example.row for example in gallery.yes) == [1, 2, 3, 4, 5]
    assert gallery.no == ()
    assert all(max(pixels.shape) <= 64 for example in gallery.yes for pixels in example.images)
    assert galleries(model, X[:0], 3) == galleries(model, X, 0) == {}


# matplotlib -------------------------------------------------------------------------------------


def test_matplotlib_draws_the_same_labels_inside_the_same_boxes() -> None:
    pyplot.switch_backend("Agg")
    hostile = Tree(Branch("$\\frac{1$", SMALL.root, Leaf(0.5)), classes=("</svg>", "50 $ & more $"))
    model, X = bright_model()
    _, (left, right) = pyplot.subplots(1, 2, figsize=(14, 6))
    for artists, picture in (
        (plot_tree(hostile), draw_tree(hostile)),
        (plot_tree(model, X, ax=left), draw_tree(model, X)),
        (plot_tree(SMALL, ax=right), draw_tree(SMALL)),
        (plot_tree(SMALL, fontsize=20), draw_tree(SMALL)),
    ):
        artists[0].figure.draw_without_rendering()
        texts = [artist for artist in artists if isinstance(artist, Text)]
        assert [text.get_text() for text in texts] == [m.text for m in picture.marks if isinstance(m, Label)]
        frames = [a for a in artists if isinstance(a, FancyBboxPatch) and a.get_edgecolor()[3] > 0]
        bounds = [text.get_window_extent() for text in texts]
        for i, box in enumerate(bounds):
            assert not any(box.overlaps(other.padded(-1)) for other in bounds[:i])
            for frame in (patch.get_window_extent() for patch in frames):
                if box.overlaps(frame):
                    assert frame.x0 <= box.x0 <= box.x1 <= frame.x1
    assert {artist.axes for artist in plot_tree(SMALL, ax=left)} == {left}
    assert texts[0].get_fontsize() == pytest.approx(20 * 10 / 12)
    pyplot.close("all")


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(NeuID3Error, match=re.escape('pip install "neuid3[plots]"')):
        plot_tree(SMALL)


# DOT --------------------------------------------------------------------------------------------


def read_dot(text: str) -> tuple[dict[str, list[str]], list[tuple[str, str, str]]]:
    """Labels by node and labelled edges of a DOT file, read as Graphviz reads them: quotes and backslashes first."""
    token = re.compile(r'\s*(?:"((?:\\.|[^"\\])*)"|(->|[\[\]{}=,;])|([A-Za-z_0-9]+))', re.DOTALL)
    position, tokens = 0, []
    while position < len(text.rstrip()):
        found = token.match(text, position)
        assert found, text[position : position + 40]
        tokens.append(found.group(2) or found.group(3) or found.group(1))
        position = found.end()
    assert tokens[:3] == ["digraph", "tree", "{"]
    assert tokens[-1] == "}"
    nodes, edges, statement = {}, [], []
    for part in tokens[3:-1]:
        if part != ";":
            statement.append(part)
            continue
        if statement[1] == "->":
            edges.append((statement[0], statement[2], statement[6]))
        elif statement[0].startswith("n") and statement[0] != "node":
            assert statement[1:4] == ["[", "label", "="]
            nodes[statement[0]] = [
                unescaped(line) for line in re.findall(r"((?:\\[^n]|[^\\])*)(?:\\n|$)", statement[4])
            ]
        statement = []
    assert not statement
    return nodes, edges


def unescaped(line: str) -> str:
    return re.sub(r"\\(.)", r"\1", line).replace("&amp;", "&")


@given(trees())
def test_dot_is_well_formed_and_tells_every_node_whatever_the_names_are(tree: Tree) -> None:
    nodes, edges = read_dot(export_graphviz(tree))
    inner = list(branches(tree.root))
    assert len(nodes) == len(inner) + len(tree.leaves)
    assert len(edges) == len(nodes) - 1
    assert Counter(response for _, _, response in edges) == Counter({"yes": len(inner), "no": len(inner)})
    below = {(start, response): end for start, end, response in edges}

    def walk(name: str, node: Branch | Leaf) -> None:
        if isinstance(node, Branch):
            spelled = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(node.test))
            assert nodes[name][0] == spelled
            walk(below[name, "yes"], node.yes)
            walk(below[name, "no"], node.no)

    walk("n0", tree.root)


# Notebooks and the classifier -------------------------------------------------------------------


def test_a_fitted_classifier_shows_its_tree_and_an_unfitted_one_what_scikit_learn_shows(iris: tuple) -> None:
    clf, _, _ = iris
    bundle = clf._repr_mimebundle_()
    shown = re.search(r"<svg.*?</svg>", bundle["text/html"], re.DOTALL).group(0)
    assert checked(shown) is not None
    assert shown == export_svg(clf)
    assert re.search(
        r"<details><summary>Parameters</summary>.*sk-top-container.*</details>", bundle["text/html"], re.DOTALL
    )
    assert clf._repr_html_().count("<svg xmlns") == 1
    assert bundle["text/plain"] == repr(clf)
    assert "<svg xmlns" not in NeuID3Classifier()._repr_html_()
    assert "sk-top-container" in NeuID3Classifier()._repr_mimebundle_()["text/html"]
    with sklearn.config_context(display="text"):
        assert "text/html" not in clf._repr_mimebundle_()


def test_hostile_names_stay_names_in_notebooks() -> None:
    X = {HOSTILE: np.arange(60.0), "<img src=x onerror=y>": np.arange(60.0) % 7}
    y = np.where(np.arange(60) > 30, "<script>alert(2)</script>", "<b>")
    clf = NeuID3Classifier(random_state=0).fit(X, y)
    rules = "risk :- '<img src=x onerror=y>' > 3."
    model = NeurosymbolicTree(Tree(Branch("risk", Leaf(0.9), Leaf(0.1))), Examples(X), background=rules)
    for page in (clf._repr_html_(), model._repr_html_(), model._repr_svg_()):
        assert "<svg xmlns" in page
        assert not re.search(r"<script>alert|<img|</svg><script", page)
    assert "&lt;img src=x onerror=y&gt;" in model._repr_html_()
    checked(model._repr_svg_())


def test_the_classifier_writes_what_its_model_writes(iris: tuple) -> None:
    clf, X, _ = iris
    assert clf.to_problog(X, row=60) == clf.model_.to_problog(X, row=60) != clf.to_problog(X)
    assert clf.to_deepproblog(X, row=60).program == clf.model_.to_deepproblog(X, row=60).program
    assert clf.export_svg() == export_svg(clf.model_) == export_svg(clf.tree_)
    assert clf.export_text() == export_text(clf.tree_)


@pytest.mark.parametrize("show", [export_text, export_svg, export_graphviz, plot_tree])
def test_what_has_no_tree_is_reported_in_one_sentence(show: object) -> None:
    with pytest.raises(NeuID3Error, match="A dict has no tree to show; give a Tree"):
        show({})
    with pytest.raises(NotFittedError):
        show(NeuID3Classifier())


def test_a_tree_alone_has_neither_rules_nor_networks() -> None:
    with pytest.raises(NeuID3Error, match="A Tree alone has no background knowledge"):
        export_text(SMALL, rules=True)
    with pytest.raises(NeuID3Error, match="A Tree alone has no networks that read X"):
        export_svg(SMALL, Examples({"alarm": [True]}))
    model, X = bright_model()
    with pytest.raises(NeuID3Error, match="images=-1"):
        export_svg(model, X, images=-1)
