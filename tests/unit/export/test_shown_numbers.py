"""Text, pictures, page and explanations show the same numbers, and say of a test with networks how far it can be trusted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from bright import BACKGROUND, Bright
from bright import table as pictures

import neuid3
from neuid3 import Branch, Examples, Leaf, NeuID3Classifier, NeurosymbolicTree, Tree
from neuid3.errors import ModelFileError
from neuid3.explain.page import evidence_page
from neuid3.explain.page.content import BranchContent, LeafContent, page_content
from neuid3.io.container import SavedFile, read_container, write_container
from neuid3.tree.criteria import ClassCriterion, Target
from neuid3.tree.tree import NetworkStatistics, branches, node_paths


def learned(sharpness: float = 40.0, n: int = 300) -> tuple[NeuID3Classifier, Examples, np.ndarray]:
    """A tree of two tests, one of which calls a network; two thirds of its examples train, the others validate."""
    X = pictures(n)
    left, right = (X.column(name).values.mean((1, 2)) for name in ("left", "right"))
    rng = np.random.default_rng(1)
    y = np.where(((left < right) ^ (rng.random(n) < 0.1)) | X.column("alarm").values, "yes", "no")
    clf = NeuID3Classifier(
        background=BACKGROUND,
        networks={"bright_net": Bright(sharpness)},
        tests=["darker(left, right)", "alarm"],
        pruning=0,
        random_state=0,
    )
    train = np.arange(n) < 2 * n // 3
    return clf.fit(X[train], y[train], validation=(X[~train], y[~train])), X, y


@pytest.fixture(scope="module")
def good() -> tuple[NeuID3Classifier, Examples, np.ndarray]:
    return learned()


@pytest.fixture(scope="module")
def poor() -> tuple[NeuID3Classifier, Examples, np.ndarray]:
    """Its network gives each of four values about a quarter, whatever it sees."""
    return learned(0.1)


def neural(clf: NeuID3Classifier) -> list[Branch]:
    return [branch for branch in branches(clf.tree_.root) if "darker" in str(branch.test)]


def shown_in_page(model: Any, X: Any) -> dict[str, Any]:
    found = re.search(r'id="content">(.*?)</script>', evidence_page(model, X))
    assert found is not None
    return dict(json.loads(found.group(1)))


# How decided a test is ------------------------------------------------------------------------------
def test_statistics_are_those_that_plain_recomputation_finds(good: Any) -> None:
    clf, X, y = good
    codes, unseen = (y == "yes").astype(np.int64), np.arange(len(y)) >= 2 * len(y) // 3
    nodes = {id(node): path for path, node in node_paths(clf.tree_.root)}
    assert neural(clf)
    for branch in neural(clf):
        path = nodes[id(branch)]
        reach = clf.model_.path_probability(X, path)
        responses = clf.model_.path_probability(X, (*path, (branch.test, True))) / np.maximum(reach, 1e-300)
        favourite = np.mean(
            [
                clf.model_.evidence(X).output("bright_net", (name,), 4).detach().numpy().max(axis=1)
                for name in ("left", "right")
            ],
            axis=0,
        )
        decided = np.average((favourite - 0.25) / 0.75, weights=reach * unseen)
        statistics, target = branch.statistics, Target(codes, reach, ClassCriterion(2))
        assert statistics.decided == pytest.approx(decided, abs=0.01)
        for rows, gain in ((unseen, statistics.unseen_gain), (~unseen, statistics.trained_gain)):
            assert gain == pytest.approx(target[rows].gain(responses[rows]), abs=0.01)
        assert statistics.unseen_mass == pytest.approx(reach[unseen].sum(), abs=0.5)
        assert not statistics.near_chance


def test_a_test_whose_network_is_at_chance_is_marked_however_certain_its_responses_are(poor: Any) -> None:
    clf, X, _ = poor
    (branch, *_) = neural(clf)
    assert branch.statistics.decided < 0.1
    assert branch.statistics.near_chance
    responses = clf.model_.path_probability(X, ((branch.test, True),))
    assert np.maximum(responses, 1 - responses).mean() > 0.6  # three of ten pairs are darker by chance
    text = f"decided {branch.statistics.decided:.2f} (!)"
    assert text in clf.export_text()
    drawn = " ".join(ElementTree.fromstring(clf.export_svg(X)).itertext())
    assert text in drawn
    assert "close to chance (!)" in drawn
    assert text in neuid3.export_graphviz(clf)
    assert text in clf._repr_html_inner()
    artists = [getattr(artist, "get_text", str)() for artist in clf.plot(X)]
    assert "close to chance (!)" in artists
    page = shown_in_page(clf, X)
    assert any(node.get("statistics") and node["statistics"]["nearChance"] for node in page["nodes"])


def test_a_test_that_can_be_trusted_bears_no_mark(good: Any) -> None:
    clf, X, _ = good
    (branch, *_) = neural(clf)
    known = branch.statistics
    text = f"decided {known.decided:.2f}  unseen {known.unseen_gain:.2f}, trained {known.trained_gain:.2f}"
    assert text in clf.export_text()
    assert text.replace("  ", " · ") in " ".join(ElementTree.fromstring(clf.export_svg()).itertext())
    for text in (clf.export_text(), clf.export_svg(X), neuid3.export_graphviz(clf)):
        assert "(!)" not in text


@pytest.mark.parametrize(
    ("statistics", "marked"),
    [
        (NetworkStatistics(0.24, 0.5, 0.5, 50.0), True),
        (NetworkStatistics(0.26, 0.5, 0.5, 50.0), False),
        (NetworkStatistics(0.9, 0.8, 0.19, 50.0), True),
        (NetworkStatistics(0.9, 0.8, 0.21, 50.0), False),
        (NetworkStatistics(0.9, 0.8, 0.0, 7.0), False),  # too few to tell
        (NetworkStatistics(0.9, 0.8, None, 0.0), False),
        (NetworkStatistics(None, None, None, 0.0), False),
    ],
)
def test_a_test_is_close_to_chance_by_its_networks_or_by_unseen_examples(
    statistics: NetworkStatistics, marked: bool
) -> None:
    tree = Tree(Branch("darker(left, right)", Leaf(0.9), Leaf(0.2), statistics=statistics))
    assert statistics.near_chance is marked
    assert ("(!)" in neuid3.export_text(tree)) is marked
    assert ("(!)" in neuid3.export_svg(tree)) is marked


def test_tests_without_networks_have_no_statistics(good: Any) -> None:
    clf, _, _ = good
    plain = [branch for branch in branches(clf.tree_.root) if str(branch.test) == "alarm"]
    assert plain
    assert all(branch.statistics is None for branch in plain)


def test_statistics_are_saved_and_loaded(good: Any, tmp_path: Path) -> None:
    clf, *_ = good
    path = clf.save(tmp_path / "model.neuid3")
    same = neuid3.load(path, networks={"bright_net": Bright})
    assert [b.statistics for b in branches(same.tree_.root)] == [b.statistics for b in branches(clf.tree_.root)]
    assert same.export_text() == clf.export_text()
    saved = read_container(path)
    node = next(node for node in saved.fields["tree"]["nodes"] if "statistics" in node)
    for spoilt in ({"decided": "very"}, {"unseen_mass": None}, {"trained_gain": True}):
        kept, node["statistics"] = node["statistics"], {**node["statistics"], **spoilt}
        write_container(path, SavedFile(saved.fields, saved.background, saved.tensors))
        with pytest.raises(ModelFileError, match="is damaged"):
            neuid3.load(path, networks={"bright_net": Bright})
        node["statistics"] = kept


# The same numbers -----------------------------------------------------------------------------------
def test_leaves_and_masses_are_the_same_wherever_they_are_shown(good: Any) -> None:
    clf, X, _ = good
    text = clf.export_text()
    tree_text, _, meanings = text.partition("\n\n")
    lines = tree_text.splitlines()
    assert meanings == "bright_net: fixed" or meanings.startswith("bright_net: fixed up to")
    svg = [t.text or "" for t in ElementTree.fromstring(clf.export_svg(X)).iter("{http://www.w3.org/2000/svg}text")]
    plot = [artist.get_text() for artist in clf.plot(X) if hasattr(artist, "get_text")]
    dot = neuid3.export_graphviz(clf)
    facts, page = page_content(clf.model_, X), shown_in_page(clf, X)
    nodes = [node for _, node in node_paths(clf.tree_.root)]
    assert len(lines) == len(nodes) == len(facts.nodes) == len(page["nodes"])
    why = clf.explain(X, 0)
    assert [leaf.leaf for leaf in why.leaves] == [leaf.probabilities for leaf in clf.tree_.leaves]
    for line, node, fact, values in zip(lines, nodes, facts.nodes, page["nodes"], strict=True):
        mass = re.search(r"mass +([\d.]+)", line).group(1)
        assert float(mass) == pytest.approx(sum(node.masses), abs=0.05)
        for text in (svg, plot):
            assert any(entry.split(" · ")[0] == f"mass {mass}" for entry in text)
        assert f"mass {mass}\\n" in dot or f'mass {mass}"' in dot
        assert fact.masses.training_text == values["trainingMass"] == mass
        assert tuple(values["training"]) == node.masses
        shares = dict(re.findall(r"(no|yes) (\d\.\d\d)", line.split("mass")[1]))
        if isinstance(node, Leaf):
            assert tuple(values["probabilities"]) == node.probabilities
            assert isinstance(fact, LeafContent)
        else:
            assert isinstance(fact, BranchContent)
            assert values["gain"] == node.gain
            assert f"gain {node.gain:.2f}" in line
        for label, share in shares.items():
            if float(share) > 0:
                assert any(f"{label} {share}" in entry for entry in svg)
                assert f"{label} {share}" in dot


def test_a_page_without_scripts_has_the_tree_and_its_scores(good: Any) -> None:
    clf, X, y = good
    text = evidence_page(clf, X, y).split("<noscript>")[1]
    assert "decided" in text
    assert "All of these 300 rows are rows that it was learned from" in text


def test_by_hand_a_tree_shows_no_statistics() -> None:
    tree = Tree(Branch("alarm", Leaf(0.9), Leaf(0.2)))
    model = NeurosymbolicTree(tree, Examples({"alarm": [True]}).schema)
    assert "decided" not in neuid3.export_text(model) + neuid3.export_svg(model) + neuid3.export_graphviz(model)
