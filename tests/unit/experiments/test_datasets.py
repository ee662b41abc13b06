"""Images, tables, cards and windows are what the paper says they are."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import holds as holds_in
from small_data import EACH, use, write_small_data

from experiments import datasets
from experiments.datasets import pools, uci
from experiments.datasets.eleusis import SIZES, deal
from experiments.datasets.encode import best_cut, entropy_cuts, random_groups
from neuid3 import Examples
from neuid3.data.columns import Boolean, Tensor
from neuid3.errors import DamagedFileError, DataError, NodeTestError
from neuid3.logic.formula import NeuralVariable, sources
from neuid3.logic.program import Program

real_data = pytest.mark.skipif(
    not os.environ.get("NEUID3_DATA"), reason="NEUID3_DATA names no folder with the real data"
)
RED_SUITS = (1, 3)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use(monkeypatch, write_small_data(tmp_path / "data"), tmp_path / "cache")
    return tmp_path / "data"


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use(monkeypatch, None, tmp_path / "cache")
    return tmp_path / "cache"


# Images ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_images_come_with_their_labels() -> None:
    for part in ("train", "test"):
        for images, labels in (datasets.mnist(part), datasets.emnist_letters(part)):
            assert images.dtype == np.uint8
            assert images.shape == (len(labels), 28, 28)
            assert (images[:, 0, 0] == labels).all()
    assert sorted(set(datasets.mnist("train")[1])) == list(range(10))
    assert sorted(set(datasets.emnist_letters("test")[1])) == [1, 2, 3, 4]
    with pytest.raises(DataError, match=r"no part 'tset'.*Did you mean 'test'"):
        datasets.mnist("tset")


@pytest.mark.usefixtures("nothing")
def test_scikit_learns_digits_need_no_file() -> None:
    images, labels = datasets.digits()
    assert (images.shape, images.dtype) == ((1797, 8, 8), np.uint8)
    assert (images.min(), images.max()) == (0, 255)
    assert labels[:10].tolist() == list(range(10))


@pytest.mark.parametrize("spoil", [lambda b: b[:50], lambda b: b[:-9] + b"x" * 9, lambda _: b"not gzip"])
def test_a_damaged_image_file_is_named(small: Path, spoil) -> None:  # type: ignore[no-untyped-def]
    path = small / "mnist" / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(DamagedFileError, match=f"{path.name} is damaged.*delete it and get it again"):
        datasets.mnist("test")


def test_images_and_labels_that_do_not_fit_are_refused(small: Path) -> None:
    path = small / "mnist" / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(datasets.images.write_idx(np.zeros(3, dtype=np.uint8)))
    with pytest.raises(DamagedFileError, match="does not fit"):
        datasets.mnist("test")


# Tables ------------------------------------------------------------------------------------------


def test_iris_and_wine_need_no_file(nothing: Path) -> None:
    iris, wine = datasets.uci_table("iris"), datasets.uci_table("wine")
    assert (len(iris), len(wine)) == (150, 178)
    assert (iris.positive, wine.positive) == ("Iris-setosa", "2")  # three of 50: the first in sort order
    assert tuple(wine.columns) == datasets.UCI["wine"].inputs
    assert not nothing.exists()


def test_the_error_about_an_unknown_table_names_a_known_one() -> None:
    with pytest.raises(DataError, match="Did you mean 'mushroom'"):
        datasets.uci_table("mushrom")


def small_zoo(rows: int = 4) -> uci.TableSpec:
    return replace(datasets.UCI["zoo"], rows=rows, columns=("-", "hair", "legs", "class"))


def test_rows_that_miss_a_value_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, tmp_path, tmp_path / "cache")
    (tmp_path / "uci").mkdir()
    text = "hair,legs,class\n1,4,m\n0,,b\n,2,b\n0,2,b\n"
    (tmp_path / "uci" / "zoo.csv").write_text(text)
    spec = replace(small_zoo(), digest=uci.digest(uci.parse(text.encode(), small_zoo()), small_zoo()))
    monkeypatch.setitem(datasets.UCI, "zoo", spec)
    table = datasets.uci_table("zoo")
    assert table.columns["legs"].tolist() == [4.0, 2.0]
    assert table.columns["hair"].tolist() == ["1", "0"]
    assert table.labels.tolist() == ["negative", "positive"]  # a tie: b comes before m


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hair,legs,class\n1,4,m\n", "1 rows instead of 4"),
        ("hair,wings,class\n" + "1,4,m\n" * 4, "its header"),
        ("hair,legs,class\n" + "1,4,m\n" * 3 + "1,4\n", "row 4 has 2 fields instead of 3"),
        ("hair,legs,class\n" + "1,4,m\n" * 3 + "1,four,m\n", "'four'"),
        ("hair,legs,class\n" + "1,4,m\n" * 4, "its rows are not those of zoo"),
        ("", "its header"),
    ],
)
def test_a_damaged_table_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    use(monkeypatch, tmp_path, tmp_path / "cache")
    monkeypatch.setitem(datasets.UCI, "zoo", small_zoo())
    (tmp_path / "uci").mkdir()
    (tmp_path / "uci" / "zoo.csv").write_text(text)
    with pytest.raises(DamagedFileError, match=rf"zoo\.csv is damaged.*{message}"):
        datasets.uci_table("zoo")


@real_data
@pytest.mark.parametrize("name", datasets.UCI)
def test_official_layouts_convert_to_our_tables(name: str, tmp_path: Path) -> None:
    """Written as UCI writes it, a table is recognised and comes back as it was."""
    spec = datasets.UCI[name]
    ours = (Path(os.environ["NEUID3_DATA"]) / spec.file).read_bytes()
    rows = uci.parse(ours, spec)
    positions = {column: position for position, column in enumerate((*spec.inputs, "class"))}
    lines = [[row[positions[c]] or "?" if c in positions else "id" for c in spec.columns] for row in rows]
    separator = "   " if spec.delimiter is None else spec.delimiter
    raw = tmp_path / "official"
    raw.write_text(("a header\r\n" if spec.header else "") + "".join(f"{separator.join(line)}\r\n" for line in lines))
    assert uci.parse(uci.converted(raw, spec), spec) == rows
    raw.write_text(raw.read_text().replace(lines[5][1], "9", 1))
    with pytest.raises(DamagedFileError, match="not those of"):
        uci.converted(raw, spec)


@real_data
def test_complete_rows_are_as_many_as_in_the_paper() -> None:
    counts = [len(datasets.uci_table(name)) for name in datasets.UCI]
    assert counts == [683, 1728, 232, 653, 358, 520, 150, 5644, 178, 101, 748, 1473, 80, 1000, 1484]


@real_data
def test_scikit_learns_wine_is_ucis_and_its_iris_differs_in_two_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from_files = {name: datasets.uci_table(name) for name in ("wine", "iris")}
    use(monkeypatch, None, tmp_path)  # without a file, scikit-learn's copy is read
    for name, differ in (("wine", 0), ("iris", 2)):
        ours, theirs = from_files[name], datasets.uci_table(name)
        assert (ours.target == theirs.target).all()
        same = np.all([ours.columns[column] == theirs.columns[column] for column in ours.columns], axis=0)
        assert (~same).sum() == differ


# Encoders ----------------------------------------------------------------------------------------


def entropy_of(labels: list[bool]) -> float:
    shares = [labels.count(label) / len(labels) for label in set(labels)]
    return -sum(share * np.log2(share) for share in shares)


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=2, max_size=30))
def test_one_cut_saves_as_many_bits_as_the_best_of_all_cuts(pairs: list[tuple[int, bool]]) -> None:
    values, classes = np.array([float(v) for v, _ in pairs]), np.array([c for _, c in pairs])

    def left_over(cut: float) -> float:
        sides = [[bool(c) for v, c in pairs if (v <= cut) == side] for side in (True, False)]
        return sum(len(side) * entropy_of(side) for side in sides if side)

    cuts = entropy_cuts(values, classes, 2)
    distinct = sorted(set(values))
    if len(distinct) == 1:
        assert cuts == ()
    else:
        best = min(left_over(cut) for cut in distinct[:-1])
        assert left_over(cuts[0]) == pytest.approx(best, abs=1e-6)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30), st.integers(2, 4), st.randoms())
def test_there_are_d_bins_wherever_there_are_d_values(numbers: list[int], d: int, random) -> None:  # type: ignore[no-untyped-def]
    values = np.array(numbers, dtype=float)
    cuts = entropy_cuts(values, np.array([random.random() < 0.5 for _ in numbers]), d)
    assert len(cuts) + 1 == min(d, len(set(numbers)))
    bins = np.searchsorted(cuts, values)
    assert sorted(set(bins)) == list(range(len(cuts) + 1))  # none is empty


@given(st.lists(st.booleans(), min_size=2, max_size=40))
def test_a_cut_is_accepted_as_fayyad_and_irani_accept_it(classes: list[bool]) -> None:
    cut = best_cut(np.arange(float(len(classes))), np.array(classes), 0, len(classes))
    assert cut is not None
    n, parts = len(classes), (classes[: cut.position], classes[cut.position :])
    gain = entropy_of(classes) - sum(len(part) / n * entropy_of(part) for part in parts)
    after = sum(len(set(part)) * entropy_of(part) for part in parts)
    delta = np.log2(3 ** len(set(classes)) - 2) - (len(set(classes)) * entropy_of(classes) - after)
    assert cut.gain == pytest.approx(n * gain, abs=1e-6)
    assert (
        cut.accepted == (gain > (np.log2(n - 1) + delta) / n + 1e-9) or abs(gain - (np.log2(n - 1) + delta) / n) < 1e-6
    )


def test_cuts_that_describe_the_classes_come_first() -> None:
    values = np.arange(90.0)
    assert entropy_cuts(values, (values // 30) % 2 == 1, 3) == (29.5, 59.5)


@given(st.integers(1, 12), st.integers(2, 4), st.integers(0, 99))
def test_every_value_is_in_one_of_d_groups_of_equal_size(n: int, d: int, seed: int) -> None:
    values = np.array([f"v{i}" for i in range(n)])
    groups = random_groups("c", values, d, seed).groups
    assert sorted(itertools.chain(*groups)) == sorted(values)
    assert len(groups) == min(n, d)
    assert max(map(len, groups)) - min(map(len, groups)) <= 1


# Folds -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("nothing")
def test_folds_share_out_the_rows_and_keep_the_classes_balanced() -> None:
    folds = [datasets.uci_fold("wine", fold=fold) for fold in range(10)]
    assert sum(len(fold.test[1]) for fold in folds) == 178
    for fold in folds:
        assert len(fold.train[1]) + len(fold.test[1]) == 178
        assert abs((fold.test[1] == "positive").mean() - 71 / 178) < 0.06
        assert len(fold.train[0]) == len(fold.train[1])


@pytest.mark.usefixtures("nothing")
def test_one_hot_columns_are_facts_of_which_one_holds() -> None:
    X, _ = datasets.uci_fold("iris").train
    assert len(X.names) == datasets.UCI["iris"].attributes == 12
    assert set(X.schema.values()) == {Boolean()}
    for column in datasets.UCI["iris"].inputs:
        indicators = [X.column(f"{column}_{position}").values for position in (1, 2, 3)]
        assert (np.sum(indicators, axis=0) == 1).all()


@pytest.mark.usefixtures("nothing")
def test_cuts_are_fitted_on_the_training_fold_only(monkeypatch: pytest.MonkeyPatch) -> None:
    table = uci.uci_table("wine")
    before = datasets.uci_fold("wine", fold=3)
    _, rows = datasets.folds.split_rows(table.labels, 3, 10, 0)
    spoiled = {name: np.where(np.isin(np.arange(178), rows), 1e6, values) for name, values in table.columns.items()}
    monkeypatch.setattr(datasets.folds, "uci_table", lambda _: replace(table, columns=spoiled))
    assert datasets.uci_fold("wine", fold=3).meanings == before.meanings


def test_a_value_that_only_the_test_fold_has_belongs_to_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.array(["a", "b", "c", "d"] * 10 + ["only once"])
    table = uci.Table("zoo", {"hair": values}, np.array(["m", "b"] * 20 + ["m"]))
    monkeypatch.setattr(datasets.folds, "uci_table", lambda _: table)
    held = [datasets.uci_fold("zoo", fold=fold, folds=5).test[0] for fold in range(5)]
    assert sum(len(X) for X in held) == 41


@pytest.mark.usefixtures("small")
def test_the_mnist_variant_shows_the_one_hot_table() -> None:
    symbols, pictures = (datasets.uci_fold("iris", variant, fold=2, seed=1) for variant in ("onehot", "mnist"))
    assert pictures.meanings == symbols.meanings
    for part in ("train", "test"):
        (X, y), (Z, z) = getattr(symbols, part), getattr(pictures, part)
        assert (y == z).all()
        assert X.names == Z.names
        for name in X.names:
            images = Z.column(name).values
            assert images.shape == (len(y), 28, 28)
            assert (images[:, 0, 0] == X.column(name).values).all()  # a 1 where the fact holds, else a 0
            assert set(images[:, 0, 2]) == {("train", "test").index(part) + 1}


@pytest.mark.parametrize("wrong", [{"fold": 10}, {"fold": -1}, {"variant": "one-hot"}])
@pytest.mark.usefixtures("nothing")
def test_a_fold_that_is_not_there_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(DataError):
        datasets.uci_fold("iris", **wrong)  # type: ignore[arg-type]


@real_data
def test_attribute_counts_are_the_papers_where_d_allows() -> None:
    counts = {name: len(datasets.uci_fold(name).meanings) for name in datasets.UCI}
    other = {name: count for name, count in counts.items() if count != datasets.UCI[name].attributes}
    assert other == {"breast-cancer": 36, "hepatitis": 37, "statlog-german": 68, "yeast": 28}


# Cards and windows -------------------------------------------------------------------------------


def oracle(concept: str, s0: int, r0: int, s1: int, r1: int) -> bool:
    """Card by card, as the specification says it."""
    next_rank = {1: 2, 2: 3, 3: 4, 4: 5, 5: 6, 6: 7, 7: 8, 8: 1}[r0]
    next_suit = {1: 2, 2: 3, 3: 4, 4: 1}[s0]
    match concept:
        case "hidden_modulo_simple":
            return r1 == next_rank or s1 == next_suit
        case "hidden_order_simple":
            return r0 < r1 or s0 < s1
        case "color_parity_rule":
            return s1 not in RED_SUITS if r0 in (1, 3, 5, 7) else s1 in RED_SUITS
        case "increase_suits":
            return s1 == next_suit
        case "suit_order":
            return s0 < s1
        case "rank_order":
            return r0 < r1
        case "alternating_parity":
            return (r0 in (1, 3, 5, 7)) != (r1 in (1, 3, 5, 7))
        case _:
            return (r0 in (5, 6, 7, 8)) != (r1 in (5, 6, 7, 8))


@pytest.mark.parametrize("concept", datasets.CONCEPTS)
def test_concepts_say_what_the_paper_says(concept: str) -> None:
    windows = list(itertools.product(range(1, 5), range(1, 9), range(1, 5), range(1, 9)))
    holds = datasets.CONCEPTS[concept].holds(*np.array(windows).T)
    assert holds.tolist() == [oracle(concept, *window) for window in windows]


@pytest.mark.parametrize("concept", datasets.CONCEPTS)
@pytest.mark.usefixtures("small")
def test_windows_show_what_their_label_says(concept: str) -> None:
    windows = datasets.eleusis(concept, seed=3)
    for part, size in SIZES.items():
        X, y = getattr(windows, part)
        assert X.names == ("suit_1", "rank_1", "suit_2", "rank_2")
        images = {name: X.column(name).values for name in X.names}
        assert all(shown.shape == (size, 3, 28, 28) and shown.dtype == np.uint8 for shown in images.values())
        seen = [images[name][:, 0, 0, 0].astype(int) for name in X.names]  # red, the first channel, is always lit
        expected = ["holds" if oracle(concept, *window) else "violates" for window in zip(*seen, strict=True)]
        assert y.tolist() == expected


@pytest.mark.usefixtures("small")
def test_red_cards_are_red_and_others_white() -> None:
    X, _ = datasets.eleusis("rank_order", 0).train
    for card in (1, 2):
        red = np.isin(X.column(f"suit_{card}").values[:, 0, 0, 0], RED_SUITS)
        assert 400 < red.sum() < 600
        for name in (f"suit_{card}", f"rank_{card}"):
            images = X.column(name).values
            assert not images[red, 1:].any()
            assert (images[~red, 0] == images[~red, 1]).all()
            assert (images[~red, 0] == images[~red, 2]).all()


@pytest.mark.usefixtures("small")
def test_parts_share_no_image_and_suits_and_ranks_are_even() -> None:
    decks = {part: datasets.cards(part) for part in SIZES}
    assert (len(decks["train"]) + len(decks["validation"]), len(decks["test"])) == (20_000, 20_000)
    for images in ("letter", "digit"):
        assert not set(getattr(decks["train"], images)) & set(getattr(decks["validation"], images))
    for deck in decks.values():
        counts = np.unique(8 * deck.suit + deck.rank, return_counts=True)[1]
        assert len(counts) == 32
        assert counts.max() - counts.min() <= 1
    X, _ = datasets.eleusis("rank_order", 0).test
    assert set(X.column("rank_1").values[:, 0, 0, 2]) == {2}  # test images only
    assert len(set(decks["train"].digit)) == 8 * (EACH - EACH // 10)


@pytest.mark.usefixtures("small")
def test_every_concept_seed_and_part_has_windows_of_its_own() -> None:
    deals = [deal(*which) for which in itertools.product(("rank_order", "suit_order"), (0, 1), SIZES)]
    assert len({(*first.digit[:20], *second.digit[:20]) for first, second in deals}) == len(deals) == 12


def test_unknown_concepts_pools_and_tests_are_refused() -> None:
    with pytest.raises(DataError, match="Did you mean 'rank_order'"):
        datasets.eleusis("rank_oder", 0)
    with pytest.raises(DataError, match="no pool 'best'"):
        datasets.pool("rank_order", "best")
    with pytest.raises(NodeTestError, match="Did you mean 'gt_rank"):
        datasets.can_express("gt_rank(rank_1, rank2)", "rank_order")


# Pools -------------------------------------------------------------------------------------------

SCHEMA = {name: Tensor((3, 28, 28)) for name in ("suit_1", "rank_1", "suit_2", "rank_2")}


def test_pools_are_the_papers() -> None:
    for name, concept in datasets.CONCEPTS.items():
        nf, bad, union, opt = (datasets.pool(name, kind) for kind in pools.POOLS)
        assert nf == ("rel_rank(rank_1, rank_2)", "rel_suit(suit_1, suit_2)")
        assert (len(union), opt) == (12, concept.opt)
        assert set(opt) <= set(union)
        assert set(bad) == (set(union) | set(nf)) - set(opt)
        assert len(bad) == 14 - len(opt)


def test_rules_say_the_same_in_the_program_and_in_python() -> None:
    program = Program(datasets.POOL_BACKGROUND, SCHEMA)
    for (test, rule), formula in zip(pools.TESTS.items(), program.formulas(list(pools.TESTS)), strict=True):
        variables = sorted(
            (v for v in sources(formula) if isinstance(v, NeuralVariable)), key=lambda variable: variable.inputs
        )
        if rule.relation is None:
            assert [v.inputs for v in variables] == [(f"{rule.reads}_1", f"{rule.reads}_2")]
            continue
        first, second = variables
        assert (first.inputs, second.inputs) == ((f"{rule.reads}_1",), (f"{rule.reads}_2",)), test
        assert (first.network == second.network) == rule.one_network, test
        assert first.size == second.size == rule.values, test
        for x, y in itertools.product(range(rule.values), repeat=2):
            assert holds_in(formula, {first: x, second: y}) == rule.relation(x + 1, y + 1), (test, x, y)


@pytest.mark.parametrize("concept", datasets.CONCEPTS)
def test_what_suit_tests_can_express_agrees_with_trying_all_networks(concept: str) -> None:
    tests = {test: rule for test, rule in pools.TESTS.items() if rule.reads == "suit" and rule.relation is not None}
    cards_ = list(itertools.product(range(1, 5), range(1, 9)))
    wanted = {(a, b): oracle(concept, *a, *b) for a in cards_ for b in cards_}
    for test, rule in tests.items():
        networks = list(itertools.product(range(1, rule.values + 1), repeat=4))
        pairs = [(f, f) for f in networks] if rule.one_network else itertools.product(networks, networks)

        def fits(f: tuple[int, ...], g: tuple[int, ...], rule: pools.Rule = rule) -> bool:
            assert rule.relation is not None
            agreements = {
                bool(rule.relation(f[a[0] - 1], g[b[0] - 1])) == expected for (a, b), expected in wanted.items()
            }
            return len(agreements) == 1  # always, or never: then its negation

        assert datasets.can_express(test, concept) == any(fits(f, g) for f, g in pairs), test


def test_what_rank_tests_can_express() -> None:
    able = {
        concept: {test.split("(")[0] for test in pools.TESTS if "rank" in test and datasets.can_express(test, concept)}
        for concept in datasets.CONCEPTS
    }
    alternating = {"rel_rank", "alternate_attr_rank", "eq_rank_attrs", "equal_ranks"}
    assert able == {
        "hidden_modulo_simple": set(),
        "hidden_order_simple": set(),
        "color_parity_rule": {"rel_rank", "eq_rank_attrs"},  # a rank image shows the colour too
        "increase_suits": set(),
        "suit_order": set(),
        "rank_order": {"rel_rank", "gt_rank"},
        "alternating_parity": alternating,
        "alternating_faces": alternating,
    }


def test_single_concepts_can_be_expressed_by_the_test_made_for_them() -> None:
    for name, concept in datasets.CONCEPTS.items():
        assert all(datasets.can_express(test, name) for test in concept.opt) == (len(concept.opt) == 1)


@pytest.mark.usefixtures("small")
def test_windows_are_what_a_program_reads() -> None:
    X, _ = datasets.eleusis("suit_order", 0).validation
    assert isinstance(X, Examples)
    assert X.schema == SCHEMA
