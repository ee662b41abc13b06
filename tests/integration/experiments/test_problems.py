"""Hitting sets, sums of digits, decks and labelled windows are what the documentation says they are."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from small_data import card_colour, use, write_small_data, write_small_decks, write_small_rows

from experiments import datasets
from experiments.__main__ import main
from experiments.datasets.decks import KNOWN, LIGHTS, RANKS, ROWS, UNSEEN, photographs
from experiments.datasets.even_odd import PAIRS, ROWS_PER_PAIR
from experiments.datasets.hitting_sets import IMAGES, row_file
from experiments.datasets.labels import true_values
from experiments.datasets.problem import Problem
from neuid3.data.columns import Category
from neuid3.errors import DamagedFileError, DataError, MissingFileError

real_data = pytest.mark.skipif(
    not os.environ.get("NEUID3_DATA"), reason="NEUID3_DATA names no folder with the real data"
)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use(monkeypatch, write_small_rows(write_small_data(tmp_path / "data")), tmp_path / "cache")
    for part, rows in (("train", 6), ("validation", 3), ("test", 2)):
        monkeypatch.setitem(ROWS_PER_PAIR, part, rows)
    return tmp_path / "data"


@pytest.fixture
def drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use(monkeypatch, write_small_decks(tmp_path / "data"), tmp_path / "cache")
    for part in ROWS:
        monkeypatch.setitem(ROWS, part, 120)
    return tmp_path / "data"


def bytes_of(problem: Problem) -> bytes:
    X, y = problem.train
    return b"".join(np.ascontiguousarray(X.column(name).values).tobytes() for name in X.names) + y.tobytes()


# Hitting sets --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["mnist", "fashion"])
def test_rows_of_hitting_sets_name_images_with_labels_1_to_5(name: str) -> None:
    problem = datasets.hitting_sets(name)
    for part, (X, y) in (("train", problem.train), ("validation", problem.validation), ("test", problem.test)):  # type: ignore[misc]
        images = np.stack([X.column(column).values for column in IMAGES])
        assert images.shape == (4, 60, 28, 28)
        assert set(images[:, :, 0, 0].ravel()) == {1, 2, 3, 4, 5}  # the first pixel is the label
        assert set(images[:, :, 0, 2].ravel()) == {2 if part == "test" else 1}  # the third says the part
        kind = X.schema["template"]
        assert isinstance(kind, Category)
        assert set(kind.values) <= {f"t{number}" for number in range(8)}
        assert set(y) == {"hit", "miss"}
    assert problem.shown is not None
    for column in IMAGES:
        assert (problem.shown.values[f"shows({column})"] == problem.test[0].column(column).values[:, 0, 0]).all()


def test_positions_count_the_images_with_labels_1_to_5_only(small: Path) -> None:
    path = small / row_file("mnist", "test")
    path.write_text("i1,i2,i3,i4,label,template\n0,1,2,3,1,5\n4,5,6,7,0,2\n")
    X, y = datasets.hitting_sets("mnist").test
    images, labels = datasets.mnist("test")
    listed = images[(labels >= 1) & (labels <= 5)]
    assert (X.column("i1").values == listed[[0, 4]]).all()
    assert (X.column("i4").values == listed[[3, 7]]).all()
    assert y.tolist() == ["hit", "miss"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("i1,i2,i3,i4,label,template\n0,1,2,3,1,x\n", "no table of whole numbers"),
        ("i1,i2,i3,i4,label,template\n0,1,2\n", "no table of whole numbers"),
        ("", "no table of whole numbers"),
        ("i1,i2,i3,i4,label\n0,1,2,3,1\n", "no column 'template'"),
        ("i1,i2,i3,i4,label,template\n0,1,2,100,1,5\n", "names an image beyond the 100"),
        ("i1,i2,i3,i4,label,template\n0,1,2,-1,1,5\n", "a negative number"),
        ("i1,i2,i3,i4,label,template\n", "no rows"),
    ],
)
def test_damaged_rows_are_named(small: Path, text: str, reason: str) -> None:
    (small / row_file("mnist", "train")).write_text(text)
    with pytest.raises(DamagedFileError, match=rf"mnist_train\.csv is damaged: .*{reason}"):
        datasets.hitting_sets("mnist")


def has_small_hitting_set(sets: list[set[int]]) -> bool:
    """Whether some set of at most two elements of 1 to 5 meets all sets."""
    small_sets = chain(combinations(range(1, 6), 1), combinations(range(1, 6), 2))
    return any(all(set(chosen) & one for one in sets) for chosen in small_sets)


@real_data
@pytest.mark.parametrize("name", ["mnist", "fashion"])
def test_the_true_values_explain_the_classes_of_all_test_rows(name: str) -> None:
    problem = datasets.hitting_sets(name)
    assert problem.validation is not None
    assert problem.shown is not None
    assert [len(part[0]) for part in (problem.train, problem.validation, problem.test)] == [1502, 376, 316]
    sizes = ((1, 1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (1, 3), (2, 2), (3, 1), (4,))
    X, y = problem.test
    kind = X.schema["template"]
    assert isinstance(kind, Category)
    values = np.stack([problem.shown.values[f"shows({column})"] for column in IMAGES], axis=1).tolist()
    for elements, code, label in zip(values, X.column("template").values, y, strict=True):
        ends = np.cumsum(sizes[int(str(kind.values[code])[1:])])
        sets = [set(elements[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        assert has_small_hitting_set(sets) == (label == "hit")


# Sums of digits ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_sums_are_of_the_eight_pairs_in_both_orders_equally_often() -> None:
    problem = datasets.even_odd(0)
    assert problem.validation is not None
    for part, (X, y) in (("train", problem.train), ("validation", problem.validation), ("test", problem.test)):
        digits = [X.column(column).values[:, 0, 0] for column in ("first", "second")]
        pairs, counts = np.unique(np.stack(digits, axis=1), axis=0, return_counts=True)
        assert sorted(map(tuple, pairs.tolist())) == sorted([*PAIRS, *(pair[::-1] for pair in PAIRS)])
        assert set(counts) == {ROWS_PER_PAIR[part]}
        assert (y == (digits[0] + digits[1]).astype(str)).all()


@pytest.mark.usefixtures("small")
def test_training_validation_and_test_rows_of_sums_share_no_image() -> None:
    problem = datasets.even_odd(0)
    assert problem.validation is not None
    numbers = [
        {tuple(pixels) for column in X.names for pixels in X.column(column).values[:, 0, 1:3].tolist()}
        for X, _ in (problem.train, problem.validation, problem.test)
    ]
    assert not numbers[0] & numbers[1]
    assert {part for _, part in numbers[0] | numbers[1]} == {1}
    assert {part for _, part in numbers[2]} == {2}


@pytest.mark.usefixtures("small")
def test_one_image_of_each_digit_is_labelled_and_pairs_are_drawn_from_all() -> None:
    problem = datasets.even_odd(3)
    labels = problem.concepts["digit(first)"]
    assert sorted(labels.values()) == list(range(10))
    first = problem.train[0].column("first").values
    assert all(first[row, 0, 0] == digit for row, digit in labels.items())
    assert problem.shown is not None
    values = problem.shown.values
    assert len(set(zip(values["digit(first)"], values["digit(second)"], strict=True))) == 100
    for column in problem.shown.examples.names:
        assert (problem.shown.examples.column(column).values[:, 0, 0] == values[f"digit({column})"]).all()


@pytest.mark.usefixtures("small")
def test_the_same_seed_gives_the_same_sums() -> None:
    assert bytes_of(datasets.even_odd(1)) == bytes_of(datasets.even_odd(1)) != bytes_of(datasets.even_odd(2))


# Decks ---------------------------------------------------------------------------------------------------


def centre(images: np.ndarray) -> np.ndarray:
    """The colour in the middle of each picture, `(n, 3)`."""
    return images[:, :, images.shape[2] // 2, images.shape[3] // 2].astype(float)


@pytest.mark.usefixtures("drawn")
def test_a_photograph_shows_its_card_lit_and_on_green() -> None:
    deck, card = np.repeat(np.arange(len(KNOWN)), 52), np.tile(np.arange(52), len(KNOWN))
    pictures = photographs(KNOWN, deck, card, np.random.default_rng(0))
    assert (pictures.shape, pictures.dtype) == ((len(card), 3, 64, 44), np.uint8)
    colours = np.array([card_colour(d, c) for d, c in zip(deck, card, strict=True)], dtype=float)
    brightest = colours.argmax(axis=1)
    rows = np.arange(len(card))
    light = centre(pictures)[rows, brightest] / colours[rows, brightest]
    assert light.min() >= LIGHTS[0] - 0.03
    assert light.max() <= LIGHTS[1] + 0.03
    assert np.ptp(light) > 0.25
    assert np.abs(centre(pictures) - np.minimum(colours * light[:, None], 255)).max() <= 4
    corners = pictures[:, :, 0, 0].astype(float) / light[:, None]
    assert (
        np.abs(corners - [0, 100, 40]).max(axis=1) < 10
    ).any()  # some cards are turned and moved: there is the table


@pytest.mark.usefixtures("drawn")
def test_cards_of_a_row_are_of_one_deck_and_unseen_decks_are_others() -> None:
    problem = datasets.decks("higher", 0)
    assert problem.unseen is not None
    assert problem.shown is not None
    X, ranks = problem.unseen[0], problem.shown.values
    rows = (ranks["rank(last)"] > 3) & (ranks["rank(played)"] > 3)  # bright enough in green to tell the light
    decks = []
    for column in ("last", "played"):
        colours = centre(X.column(column).values)[rows]
        light = colours[:, 1] / (15 * ranks[f"rank({column})"][rows])
        decks.append(np.round(colours[:, 2] / (10 * light)))
    assert (decks[0] == decks[1]).all()
    assert set(decks[0]) == set(range(len(KNOWN), len(KNOWN) + len(UNSEEN)))
    for known, _ in (problem.train, problem.test):
        blue = np.concatenate([centre(known.column(column).values)[:, 2] for column in known.names])
        assert 10 < blue.max() <= 10 * (len(KNOWN) - 1) * LIGHTS[1] + 1


@pytest.mark.usefixtures("drawn")
@pytest.mark.parametrize("concept", ["higher", "colour_alternates"])
def test_classes_of_decks_follow_from_the_true_values(concept: str) -> None:
    problem = datasets.decks(concept, 1)
    assert problem.shown is not None
    assert problem.unseen is not None
    values, (X, y) = problem.shown.values, problem.unseen
    holds = {
        "higher": values["rank(last)"] < values["rank(played)"],
        "colour_alternates": values["red(last)"] ^ values["red(played)"],
    }[concept]
    assert (y == np.where(holds, "holds", "violates")).all()
    for column in ("last", "played"):
        red = centre(X.column(column).values)[:, 0]
        assert ((red > 120) == values[f"red({column})"]).all()
        assert (values[f"face({column})"] == (values[f"rank({column})"] >= 11)).all()


@pytest.mark.usefixtures("drawn")
def test_thirteen_labelled_cards_are_one_of_each_rank() -> None:
    assert datasets.decks("higher", 0).concepts == {}
    problem = datasets.decks("higher", 0, RANKS)
    ranks, red, face = (problem.concepts[f"{name}(last)"] for name in ("rank", "red", "face"))
    assert sorted(ranks.values()) == list(range(1, RANKS + 1))
    assert set(ranks) == set(red) == set(face)
    colours = centre(problem.train[0].column("last").values)
    for row, rank in ranks.items():
        assert face[row] == (rank >= 11)
        assert red[row] == (colours[row, 0] > 120)
    assert bytes_of(problem) == bytes_of(datasets.decks("higher", 0))  # labels change no row


@pytest.mark.usefixtures("drawn")
def test_the_same_seed_gives_the_same_pictures_and_wrong_arguments_are_reported() -> None:
    one, same, other = (bytes_of(datasets.decks("higher", seed)) for seed in (1, 1, 2))
    assert one == same != other
    with pytest.raises(DataError, match="Did you mean 'higher'"):
        datasets.decks("hihger", 0)
    with pytest.raises(DataError, match="5 cards cannot be labelled here; give 0 or 13"):
        datasets.decks("higher", 0, 5)


def test_a_damaged_card_is_named(drawn: Path) -> None:
    (drawn / "decks" / "paris" / "hearts-07.png").write_bytes(b"no picture")
    with pytest.raises(DamagedFileError, match=r"hearts-07\.png is not a PNG"):
        datasets.decks("higher", 0)


# Labelled windows --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_one_image_of_each_rank_and_suit_is_labelled() -> None:
    problem = datasets.labelled_eleusis("rank_order", 0)
    assert set(problem.concepts) == {"rank(rank_1)", "suit(suit_1)"}
    for call, values in (("rank(rank_1)", range(1, 9)), ("suit(suit_1)", range(1, 5))):
        labels = problem.concepts[call]
        assert sorted(labels.values()) == list(values)
        images = problem.train[0].column(call.partition("(")[2][:-1]).values
        assert all(images[row, 0, 0, 0] == value for row, value in labels.items())  # the first pixel is the label
    assert bytes_of(problem) == bytes_of(Problem(datasets.eleusis("rank_order", 0).train, None, problem.test))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("concept", "relation"),
    [
        ("alternating_parity", lambda v: v["rank_attribute(rank_1)"] != v["rank_attribute(rank_2)"]),
        ("alternating_faces", lambda v: v["rank_attribute(rank_1)"] != v["rank_attribute(rank_2)"]),
        ("color_parity_rule", lambda v: v["rank_attribute_1(rank_1)"] == v["rank_attribute_2(rank_2)"]),
    ],
)
def test_attributes_have_the_values_with_which_the_rule_of_the_concept_is_true(concept: str, relation) -> None:  # type: ignore[no-untyped-def]
    problem = datasets.labelled_eleusis(concept, 2)
    assert problem.shown is not None
    assert (relation(problem.shown.values) == (problem.test[1] == "holds")).all()
    attributes = [call for call in problem.concepts if call.startswith("rank_attribute")]
    assert len(attributes) == (2 if concept == "color_parity_rule" else 1)
    train = true_values(concept, 2, "train")
    for call in attributes:
        assert sorted(problem.concepts[call].values()) == [0, 1]
        assert all(train[call][row] == value for row, value in problem.concepts[call].items())


# Missing files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (["hitting-sets", "--images", "fashion"], "nsil/hs/fashion_mnist_train.csv"),
        (["decks", "--concept", "higher", "--labels", "13"], "decks/ancient_french/clubs-01.png"),
    ],
)
def test_a_command_without_data_says_which_file_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], file: str
) -> None:
    use(monkeypatch, None, tmp_path / "cache")
    done = CliRunner().invoke(main, ["reproduce", *command, "--seed", "0", "--results", str(tmp_path / "results")])
    assert done.exit_code == 1
    assert f"failed: {file} is neither in a data folder (NEUID3_DATA is not set) nor in the cache" in done.output


def test_clothes_are_read_like_digits_and_missed_in_a_sentence(small: Path) -> None:
    images, labels = datasets.fashion_mnist("test")
    assert (images[:, 0, 0] == labels).all()
    (small / "fashion-mnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(MissingFileError, match=r"t10k-labels-idx1-ubyte.gz is neither in .* put it there"):
        datasets.fashion_mnist("test")
    with pytest.raises(DataError, match="Did you mean 'test'"):
        datasets.fashion_mnist("tset")


# Processes ---------------------------------------------------------------------------------------------


def fingerprint() -> str:
    """A checksum of a fold and of windows."""
    seen = hashlib.sha256()
    parts = [datasets.uci_fold("iris", "mnist", fold=1, seed=5).train, datasets.eleusis("suit_order", 5).validation]
    for X, y in parts:
        for name, column in X.items():
            seen.update(name.encode() + column.values.tobytes())
        seen.update("".join(y).encode())
    return seen.hexdigest()


@pytest.mark.usefixtures("small")
def test_the_same_seed_gives_the_same_bytes_in_every_process() -> None:
    here = fingerprint()
    code = "import test_problems; print(test_problems.fingerprint())"
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": path}
    there = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert there.stdout.strip() == here
