"""An explanation is exact: shares, proofs and smallest changes are what summing over all worlds says they are."""

from __future__ import annotations

import builtins
import itertools
import json
import math
import sys
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from strategies import PREAMBLE, PRIORS, REFERENCE, Case, TinyNetwork, cases, table

from neuid3 import Branch, Examples, Leaf, NeuID3Classifier, NeuID3Error, NeurosymbolicTree, NodeTest, Priors, Tree
from neuid3.explain import Explanation, counterfactuals
from neuid3.explain.counterfactuals import MARGIN
from neuid3.explain.example_view import ExampleView, view_example
from neuid3.explain.probabilities import JointProbabilities
from neuid3.explain.proofs import proofs_of
from neuid3.logic.formula import (
    And,
    CellVariable,
    ChoiceVariable,
    ColumnVariable,
    Formula,
    Literal,
    Not,
    Or,
    Truth,
    Variable,
    bottom_up,
)
from neuid3.tree.tree import Node

ALL_PROOFS = 10**6

# These cases take long: a third of the usual number, a thousand in `make test-all`.
QUICK = settings().max_examples // 3


def truth_values(formula: Formula, world: dict[Variable, np.ndarray], n: int) -> np.ndarray:
    """The value of a formula in each of n worlds."""
    found: dict[int, np.ndarray] = {}
    for node in bottom_up([formula]):
        match node:
            case Truth(value):
                found[id(node)] = np.full(n, value)
            case Literal(variable, values):
                found[id(node)] = np.isin(world[variable], list(values))
            case Not(part):
                found[id(node)] = ~found[id(part)]
            case And(parts):
                found[id(node)] = np.all([np.ones(n, dtype=bool), *(found[id(part)] for part in parts)], axis=0)
            case Or(parts):
                found[id(node)] = np.any([np.zeros(n, dtype=bool), *(found[id(part)] for part in parts)], axis=0)
    return found[id(formula)]


@dataclass
class Worlds:
    """Every world of an example: the value of each variable, its weight, and the responses of all tests."""

    view: ExampleView

    def __post_init__(self) -> None:
        self.variables = list(self.view.weights)
        sizes = [variable.size for variable in self.variables]
        self.values = np.array(list(np.ndindex(*sizes)), dtype=np.int64).reshape(math.prod(sizes), len(sizes))
        world = dict(zip(self.variables, self.values.T, strict=True))
        responses = [truth_values(formula, world, len(self.values)) for formula in self.view.formulas]
        self.responses = np.array(responses, dtype=bool).reshape(len(responses), len(self.values)).T  # (world, test)

    def weights(self, forced: dict[Variable, int] | None = None) -> np.ndarray:
        total = np.ones(len(self.values))
        for column, variable in enumerate(self.variables):
            chances = np.array(self.view.weights[variable])
            if forced and variable in forced:
                chances = np.eye(variable.size)[forced[variable]]
            total *= chances[self.values[:, column]]
        return total

    def classes(
        self, forced: dict[Variable, int] | None = None, responses: dict[int, bool] | None = None
    ) -> np.ndarray:
        """P(class) with some variables or some responses forced, walked down the tree world by world."""
        given = self.responses.copy()
        for test, response in (responses or {}).items():
            given[:, test] = response
        number = {test: i for i, test in enumerate(self.view.tree.tests)}

        def walk(node: Node) -> np.ndarray:
            if isinstance(node, Leaf):
                return np.tile(node.probabilities, (len(given), 1))
            return np.where(given[:, [number[node.test]]], walk(node.yes), walk(node.no))

        return self.weights(forced) @ walk(self.view.tree.root)

    def consistent(self, path: tuple[tuple[int, bool], ...]) -> np.ndarray:
        return reduce(
            np.logical_and, (self.responses[:, t] == a for t, a in path), np.ones(len(self.values), dtype=bool)
        )


def example_view(case: Case) -> ExampleView:
    view = view_example(case.model, case.examples[0])
    assume(math.prod(variable.size for variable in view.weights) <= 2000)
    return view


@given(cases(rows=3))
@settings(max_examples=QUICK)
def test_shares_are_those_of_the_model_and_steps_multiply_to_them(case: Case) -> None:
    for row in range(3):
        why = case.model.explain(case.examples, row, changes=0)
        leaves = case.model.leaf_probabilities(case.examples)[row]
        np.testing.assert_allclose([leaf.probability for leaf in why.leaves], leaves, atol=1e-9)
        classes = np.sum([leaf.contributions for leaf in why.leaves], axis=0)
        np.testing.assert_allclose(classes, case.model.predict_proba(case.examples)[row], atol=1e-9)
        np.testing.assert_allclose(why.probabilities, classes, atol=1e-9)
        assert why.prediction == case.model.predict(case.examples)[row]
        for leaf in why.leaves:
            known = [step.probability for step in leaf.steps if step.probability is not None]
            assert math.prod(known) == pytest.approx(leaf.probability, abs=1e-9)
            assert len(known) == len(leaf.steps) or leaf.probability == 0.0
            assert [step.reach for step in leaf.steps][-1:] == [leaf.probability][: len(leaf.steps)]


def test_a_steps_probability_is_that_of_the_path_with_it_over_that_without() -> None:
    model, examples = small(), table(3, 8)
    tests = model.tree.tests
    for row in range(8):
        for leaf in model.explain(examples, row).leaves:
            path = tuple((next(t for t in tests if str(t) == step.test), step.response) for step in leaf.steps)
            for depth, step in enumerate(leaf.steps):
                before, after = (model.path_probability(examples[row], path[: depth + i])[0] for i in (0, 1))
                assert step.reach == pytest.approx(after, abs=1e-9)
                assert step.probability == (pytest.approx(after / before, abs=1e-9) if before > 0 else None)


@given(cases(depth=2, rows=1))
@settings(max_examples=QUICK)
def test_proofs_settle_the_test_exclude_each_other_and_sum_to_it(case: Case) -> None:
    view = example_view(case)
    worlds, joint = Worlds(view), JointProbabilities(view)
    weights, column = worlds.weights(), {view.names[v].name: i for i, v in enumerate(worlds.variables)}
    code = {view.names[v].name: view.names[v].values for v in worlds.variables}
    for node in view.nodes[1:]:
        *path, response = node.path
        before = worlds.consistent(tuple(path))
        mass = float(weights @ before)
        if mass == 0.0:
            continue
        proofs = proofs_of(view, joint, tuple(path), response, ALL_PROOFS)
        covered = np.zeros(len(weights), dtype=int)
        for proof in proofs:
            meant = np.ones(len(weights), dtype=bool)
            for a in proof.assignments:
                meant &= worlds.values[:, column[a.variable]] == code[a.variable].index(a.value)
            assert (worlds.responses[meant, response[0]] == response[1]).all()  # also where the path does not lead
            assert proof.probability == pytest.approx(float(weights @ (meant & before)) / mass, abs=1e-9)
            covered += meant
        assert covered.max(initial=0) <= 1
        after = float(weights @ worlds.consistent(node.path)) / mass
        assert sum(proof.probability for proof in proofs) == pytest.approx(after, abs=1e-9)
        chances = [proof.probability for proof in proofs]
        assert all(a >= b - 1e-12 for a, b in itertools.pairwise(chances))
        assert proofs_of(view, joint, tuple(path), response, 2) == proofs[:2]


def test_the_best_proofs_of_astronomically_many_are_found() -> None:
    """An odd number of 40 coins shows heads, with and without knowing that of the first 21: 2³⁹ and 2³⁸ proofs."""
    chances = np.random.default_rng(0).uniform(0.55, 0.95, 40).round(3)
    odd = "odd(0) :- c(0).\n" + "".join(
        f"odd({i}) :- odd({i - 1}), \\+ c({i}). odd({i}) :- \\+ odd({i - 1}), c({i}).\n" for i in range(1, 40)
    )
    background = "".join(f"{chance}::c({i}).\n" for i, chance in enumerate(chances)) + odd
    X = Examples({"a": [True, False]})
    tree = Tree(Branch("odd(20)", Branch("odd(39)", Leaf(0.9), Leaf(0.1)), Branch("a", Leaf(0.3), Leaf(0.2))))
    model = NeurosymbolicTree(tree, X.schema, background=background)
    given, then = model.explain(X, changes=0).leaves[0].steps
    # All heads are 21 and 40 of them. The 21 are odd as they are; of the others an odd number must show tails.
    ratios = sorted(((1 - chance) / chance, i) for i, chance in enumerate(chances))
    few = [c for k in (0, 1, 2, 3, 4) for c in itertools.combinations(ratios[-16:], k)]
    for step, known, valid in (
        (given, 1.0, [c for c in few if all(i <= 20 for _, i in c) and len(c) % 2 == 0]),
        (then, given.probability, [c for c in few if sum(i <= 20 for _, i in c) % 2 == 0 and len(c) % 2 == 1]),
    ):
        heads = math.prod(chances[: 21 if step is given else 40]) / known
        best = sorted((heads * math.prod(ratio for ratio, _ in c) for c in valid), reverse=True)
        assert [proof.probability for proof in step.proofs] == pytest.approx(best[:5], rel=1e-9)
        assert step.carried < step.probability


def clearly_other(classes: np.ndarray, predicted: int) -> bool:
    return bool(np.delete(classes, predicted).max() > classes[predicted] + MARGIN)


def undecided(classes: np.ndarray, predicted: int) -> bool:
    """So close that rounding may decide."""
    return bool(abs(np.delete(classes, predicted).max() - classes[predicted] - MARGIN) < 1e-10)


@given(cases(depth=2, rows=1))
@settings(max_examples=QUICK)
def test_the_smallest_set_of_other_responses_is_found(case: Case) -> None:
    view = example_view(case)
    worlds, why = Worlds(view), case.model.explain(case.examples, changes=2)
    found, predicted = why.other_responses, case.model.classes.index(why.prediction)
    names = [str(test) for test in view.tree.tests]
    assume(len(set(names)) == len(names))  # two instances of a network: told apart in the tree, not by name
    best: list[tuple[float, float]] = []
    for size in (1, 2):
        for tests in itertools.combinations(range(len(names)), size):
            for wanted in itertools.product((False, True), repeat=size):
                forced = dict(zip(tests, wanted, strict=True))
                possible = worlds.consistent(tuple(forced.items()))
                classes = worlds.classes(responses=forced)
                assume(not undecided(classes, predicted))
                if possible.any() and clearly_other(classes, predicted):
                    best.append((float(worlds.weights() @ possible), float(np.delete(classes, predicted).max())))
        if best:
            break
    assert (found.status == "found") == bool(best)
    if best:
        assert len(found.changes) == size
        forced = {names.index(c.name): c.after == "true" for c in found.changes}
        np.testing.assert_allclose(found.probabilities, worlds.classes(responses=forced), atol=1e-9)
        assert found.prediction == case.model.classes[int(np.argmax(found.probabilities))]
        nearest = float(worlds.weights() @ worlds.consistent(tuple(forced.items())))
        assert nearest == pytest.approx(max(chance for chance, _ in best), abs=1e-9)
        for c in found.changes:
            alone = worlds.consistent(((names.index(c.name), c.after == "true"),))
            assert c.probability == pytest.approx(float(worlds.weights() @ alone), abs=1e-9)


@given(cases(depth=2, rows=1))
@settings(max_examples=QUICK)
def test_the_smallest_set_of_other_facts_is_found(case: Case) -> None:
    view = example_view(case)
    worlds, why = Worlds(view), case.model.explain(case.examples, changes=2)
    found, predicted = why.other_facts, case.model.classes.index(why.prediction)
    facts = [v for v in worlds.variables if not isinstance(v, ChoiceVariable)]
    assume(sum(variable.size for variable in facts) <= 20)
    best = []
    for size in (1, 2):
        for chosen in itertools.combinations(facts, size):
            for values in itertools.product(*(range(variable.size) for variable in chosen)):
                forced = dict(zip(chosen, values, strict=True))
                classes = worlds.classes(forced)
                assume(not undecided(classes, predicted))
                if clearly_other(classes, predicted):
                    best.append(distance(view, forced))
        if best:
            break
    assert (found.status == "found") == bool(best)
    if best:
        assert len(found.changes) == size
        by_name = {view.names[v].name: v for v in facts}
        forced = {by_name[c.name]: view.names[by_name[c.name]].values.index(c.after) for c in found.changes}
        np.testing.assert_allclose(found.probabilities, worlds.classes(forced), atol=1e-9)
        assert distance(view, forced) == pytest.approx(min(best), abs=1e-9)
        for c in found.changes:
            assert c.probability == view.weights[by_name[c.name]][forced[by_name[c.name]]]


def distance(view: ExampleView, forced: dict[Variable, int]) -> tuple[int, int, float]:
    """Certain facts contradicted, cuts crossed, and how improbable the other values are, rounded to break no tie."""
    contradicted, crossed, improbable = 0, 0, 1.0
    for variable, value in forced.items():
        weights = view.weights[variable]
        contradicted += weights[value] == 0.0
        improbable *= weights[value] or 1.0
        if isinstance(variable, CellVariable) and 1.0 in weights:
            crossed += abs(value - weights.index(1.0))
    return contradicted, crossed, round(-math.log(improbable), 9)


# Examples by hand ------------------------------------------------------------------------------------------------
TREE = Tree(
    Branch(
        "gt(left, right)",
        Branch("odd(left)", Leaf(0.9), Leaf(0.3)),
        Branch("alarm", Branch("age > 40", Leaf(0.6), Leaf(0.2)), Branch("suit(hearts)", Leaf(0.7), Leaf(0.1))),
    )
)


def small(tree: Tree = TREE, **more: object) -> NeurosymbolicTree:
    networks = {"rank_net": TinyNetwork(3, 1, 1)}
    given = {"background": PREAMBLE, "networks": networks, "priors": PRIORS, **more}
    return NeurosymbolicTree(tree, REFERENCE.schema, **given)


def facts(tree: Tree, X: Examples, **more: object) -> Explanation:
    return NeurosymbolicTree(tree, X.schema).explain(X, **more)


def test_a_test_that_shares_a_network_with_the_path_is_proved_given_the_path() -> None:
    """With ranks 1, 2, 3 equally probable, gt(left, right) leaves (1,2), (1,3), (2,3): odd(left) is then true in 2 of 3."""
    even = {"rank_net": lambda x: torch.full((len(x), 3), 1 / 3)}
    examples = REFERENCE[~REFERENCE.column("right").missing]
    step = small(networks=even).explain(examples).leaves[0].steps[1]
    assert step.given == ("gt(left, right)",)
    assert step.probability == pytest.approx(2 / 3)
    assert [(str(proof), round(proof.probability, 9)) for proof in step.proofs] == [("rank(left) = 1", round(2 / 3, 9))]


def test_a_number_crosses_the_nearest_cut_and_a_category_takes_the_value_of_the_test() -> None:
    tree = Tree(
        Branch("age > 60", Leaf(0.9), Branch("age > 40", Leaf(0.2), Branch("suit(hearts)", Leaf(0.9), Leaf(0.1))))
    )
    X = Examples({"age": [45, 30], "suit": ["clubs", "hearts"]}, kinds={"age": "number"})
    first, second = (facts(tree, X, row=row).other_facts for row in (0, 1))
    assert [(c.name, c.before, c.after) for c in first.changes] == [("age", "45", "(60.0, inf)")]
    assert [(c.name, c.after) for c in second.changes] == [("suit", "clubs")]
    assert "age > 60.0 held (it is 45)" in str(first.changes[0])


def test_two_changes_are_found_where_one_does_not_do() -> None:
    tree = Tree(Branch("a", Branch("b", Leaf(0.9), Leaf(0.2)), Leaf(0.1)))
    why = facts(tree, Examples({"a": [False, True], "b": [False, True]}))
    assert [c.name for c in why.other_facts.changes] == ["a", "b"] == [c.name for c in why.other_responses.changes]
    assert facts(tree, Examples({"a": [False, True], "b": [False, True]}), changes=1).other_facts.status == "none"
    assert "none with up to 1 change." in str(
        facts(tree, Examples({"a": [False, True], "b": [False, True]}), changes=1)
    )


def test_responses_that_occur_in_no_world_are_not_forced_together() -> None:
    tree = Tree(Branch("age > 60", Branch("age > 40", Leaf(0.1), Leaf(0.9)), Leaf(0.2)))
    why = facts(tree, Examples({"age": [30, 31]}, kinds={"age": "number"}))
    assert why.other_facts.status == "impossible"
    assert why.other_responses.changes[0].name == "age > 60"  # forced alone: what `age > 40` says stays as it is
    assert len(why.other_responses.changes) == 1
    both = Tree(Branch("age > 60", Branch("age > 40", Leaf(0.1), Leaf(0.9)), Branch("age > 40", Leaf(0.1), Leaf(0.2))))
    sure = facts(both, Examples({"age": [50, 51]}, kinds={"age": "number"}))
    assert sure.other_responses.status == "impossible"


def test_a_class_that_nothing_can_change_is_reported_as_such() -> None:
    why = facts(Tree(Branch("a", Leaf(0.9), Leaf(0.8))), Examples({"a": [True, False]}))
    assert why.other_responses.status == why.other_facts.status == "impossible"
    assert "no facts would change the class" in why.text()


def test_a_path_may_have_more_responses_than_an_integer_has_bits() -> None:
    clf = NeuID3Classifier(pruning=0.0).fit({"x": np.arange(72.0)}, np.arange(72) % 2)
    view = view_example(clf.model_, Examples({"x": [np.nan]}, kinds={"x": "number"}))
    responses = counterfactuals.ResponseInterventions(view, JointProbabilities(view))
    assert responses.slots > 64
    forced = np.zeros((2, responses.slots), dtype=np.int64)
    forced[:, 63] = (1, 2)
    np.testing.assert_allclose(responses.reach(forced)[:, view.leaf_indices].sum(1), 1.0)


def test_a_search_that_would_take_too_long_says_how_far_it_got(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counterfactuals, "MAX_SETS", 3)
    tree = Tree(Branch("a", Branch("b", Branch("c", Leaf(0.9), Leaf(0.1)), Leaf(0.1)), Leaf(0.1)))
    X = Examples({name: [0.1] for name in "abc"}, kinds=dict.fromkeys("abc", "probability"))
    assert facts(tree, X).other_facts.status == "too many"
    assert facts(tree, X).other_facts.searched == 0
    assert "too many larger sets" in facts(tree, X).text()


def test_probabilities_and_distributions_are_explained_as_they_are() -> None:
    tree = Tree(Branch("noise", Branch("mood(1)", Leaf(0.9), Leaf(0.4)), Leaf(0.3)))
    X = Examples({"noise": [0.8], "mood": [[0.2, 0.5, 0.3]]}, kinds={"noise": "probability", "mood": (1, 2, 3)})
    why = facts(tree, X)
    mood = why.leaves[1].steps[1]
    assert [(str(p), pytest.approx(p.probability)) for p in mood.proofs] == [("mood = 2", 0.5), ("mood = 3", 0.3)]
    assert [(c.name, c.after, pytest.approx(c.probability)) for c in why.other_facts.changes] == [("mood", "1", 0.2)]
    assert {reading.kind for reading in why.readings} == {"probability", "distribution"}


def test_a_missing_entry_is_shown_as_missing_and_follows_its_prior() -> None:
    unknown = Examples(
        {
            "left": np.zeros((1, 1, 3)),
            "right": np.full((1, 1, 3), np.nan),
            "alarm": [None],
            "suit": [None],
            "age": [None],
        },
        kinds={
            "left": "tensor",
            "right": "tensor",
            "alarm": "boolean",
            "suit": REFERENCE.schema["suit"],
            "age": "number",
        },
    )
    model = small()
    why = model.explain(unknown)
    np.testing.assert_allclose(why.probabilities, model.predict_proba(unknown)[0], atol=1e-12)
    seen = {reading.name: reading for reading in why.readings}
    assert [name for name, reading in seen.items() if reading.missing] == ["rank(right)", "alarm", "age", "suit"]
    assert dict(seen["rank(right)"].values) == pytest.approx({"1": 0.2, "2": 0.3, "3": 0.5})
    assert dict(seen["suit"].values) == pytest.approx({"hearts": 0.2, "clubs": 0.5, "spades": 0.3})
    output = why.text()
    assert "rank(right): right is missing, so its prior: 3 0.50, 2 0.30, 1 0.20" in output
    assert "alarm: it is missing, so its prior: false 0.70, true 0.30" in output


def test_a_network_without_a_prior_does_no_harm_where_it_is_never_called() -> None:
    tree = Tree(Branch("alarm", Branch("odd(right)", Leaf(0.9), Leaf(0.8)), Leaf(0.2)))
    X = Examples({"alarm": [False, True], "right": np.full((2, 1, 3), np.nan)})
    networks = {"rank_net": TinyNetwork(3, 1, 1)}
    model = NeurosymbolicTree(
        tree, X.schema, background=PREAMBLE.split("nn(par")[0] + "odd(A) :- rank(A, 1).", networks=networks
    )
    assert model.explain(X, 0).probabilities == pytest.approx((0.8, 0.2))
    with pytest.raises(NeuID3Error, match="missing"):
        model.explain(X, 1)


def test_readings_through_two_instances_of_a_network_are_told_apart() -> None:
    from neuid3 import AtomTest

    tree = Tree(
        Branch("odd(left)", Branch(AtomTest("odd(left)", (("rank_net", "other"),)), Leaf(0.9), Leaf(0.4)), Leaf(0.1))
    )
    networks = {"rank_net": TinyNetwork(3, 1, 1), "other": TinyNetwork(3, 1, 2)}
    why = small(tree, networks=networks).explain(table(0, 2))
    assert [reading.name for reading in why.readings] == ["rank(left) [rank_net]", "rank(left) [other]"]


def test_a_rule_with_chances_of_its_own_names_them() -> None:
    background = "0.2::colour(red); 0.5::colour(blue). 0.4::seen(X) :- near(X, Y). near(a, b). near(a, c). k :- colour(red), seen(a)."
    X = Examples({"a": [True, False]})
    model = NeurosymbolicTree(Tree(Branch("k", Leaf(0.9), Leaf(0.1))), X.schema, background=background)
    why = model.explain(X)
    best = why.leaves[0].steps[0].proofs[0]
    assert str(best) == "colour(red), seen(a) [a, b]"
    assert best.probability == pytest.approx(0.08)
    assert why.other_facts.status == "impossible"  # the program's own chances are no facts of the example


def test_two_clauses_for_one_chance_are_two_chances() -> None:
    X = Examples({"a": [True, False]})
    model = NeurosymbolicTree(Tree(Branch("k", Leaf(0.9), Leaf(0.1))), X.schema, background="0.3::k. 0.2::k :- a.")
    why = model.explain(X)
    assert {reading.name for reading in why.readings} == {"k [clause 1]", "k [clause 2]", "a"}
    assert [proof.probability for proof in why.leaves[0].steps[0].proofs] == pytest.approx([0.3, 0.14])


def test_a_leaf_alone_is_explained_too() -> None:
    why = facts(Tree(Leaf(0.3)), Examples({"a": [True, False]}))
    assert why.prediction == "neg"
    assert "the only leaf" in why.text()
    assert why.plot() is not None


def test_a_new_kind_of_test_is_explained_as_any_other() -> None:
    @dataclass(frozen=True)
    class EitherTest(NodeTest):
        def formula(self, program: object) -> Or:  # noqa: ARG002 - part of the protocol
            return Or(tuple(Literal(ColumnVariable(name, 2), frozenset({1})) for name in "ab"))

        def __str__(self) -> str:
            return "either"

    why = facts(Tree(Branch(EitherTest(), Leaf(0.9), Leaf(0.1))), Examples({"a": [False, True], "b": [True, True]}))
    assert [str(proof) for proof in why.leaves[0].steps[0].proofs] == ["not a, b"]


def test_the_dictionary_is_json_and_says_the_same() -> None:
    tree = Tree(TREE.root, (np.int64(3), np.int64(7)))
    why = small(tree).explain(table(3, 4), 1)
    text = json.loads(why.json())
    assert text == json.loads(json.dumps(why.to_dict()))
    assert text["classes"] == [3, 7]
    assert text["prediction"] in (3, 7)
    assert sum(leaf["contributions"][1] for leaf in text["leaves"]) == pytest.approx(text["probabilities"][1])
    step = max(text["leaves"], key=lambda leaf: leaf["probability"])["path"][0]
    assert step["carried"] == pytest.approx(sum(proof["probability"] for proof in step["proofs"]))


def test_the_text_says_the_class_the_paths_the_proofs_and_the_changes() -> None:
    why = small().explain(table(3, 4), 3)
    output = why.text(decimals=2)
    assert output.startswith(f"Predicted: {why.prediction}")
    for title in ("Where the probability goes", "Why", "What the tree reads", "What would change it"):
        assert f"\n{title}\n" in output
    likeliest = max(why.leaves, key=lambda leaf: leaf.probability)
    best = likeliest.steps[0].proofs[0]
    assert f"    {best.probability:.2f}  {best}" in output
    assert str(why) == output


def test_of_many_classes_those_are_listed_that_are_not_zero() -> None:
    classes = tuple("abcdefgh")
    tree = Tree(Branch("alarm", Leaf((0.75, 0.25, *[0.0] * 6)), Leaf((0.0, 0.0, 1.0, *[0.0] * 5))), classes)
    X = Examples({"alarm": [True, False]})
    text = str(NeurosymbolicTree(tree, X.schema).explain(X, 0))
    assert "Predicted: a   (a 0.75, b 0.25)" in text
    assert "→ a 0.75, b 0.25; adds 0.75 to a, 0.25 to b\n" in text


def test_the_classifier_explains_what_it_predicts() -> None:
    rng = np.random.default_rng(0)
    X = {"a": rng.random(200) < 0.5, "x": rng.normal(size=200)}
    y = np.where(X["a"] & (X["x"] > 0.3), "yes", "no")
    clf = NeuID3Classifier(random_state=0).fit(X, y)
    why = clf.explain(X, row=5)
    assert why.prediction == clf.predict(X)[5]
    assert why.probabilities == pytest.approx(clf.predict_proba(X)[5])
    assert why.other_facts.status == "found"
    array = NeuID3Classifier(random_state=0).fit(np.stack((X["a"], X["x"]), axis=1), y)
    assert array.explain(np.stack((X["a"], X["x"]), axis=1), row=5).prediction == why.prediction


@pytest.mark.parametrize("wrong", [{"row": 99}, {"row": [0, 1]}, {"proofs": 0}, {"changes": -1}])
def test_a_wrong_request_is_an_error_of_ours(wrong: dict[str, object]) -> None:
    with pytest.raises(NeuID3Error, match=r"row|proofs"):
        small().explain(table(0, 3), **wrong)


def test_the_picture_shows_the_flow_the_classes_and_the_images() -> None:
    X = Examples({"card": np.random.default_rng(0).random((1, 8, 8)), "alarm": [0.6]}, kinds={"alarm": "probability"})
    model = NeurosymbolicTree(
        Tree(Branch("alarm", Branch("big(card)", Leaf(0.9), Leaf(0.3)), Leaf(0.1)), ("no", "yes")),
        X.schema,
        background="nn(n, [I], R, [1, 2, 3]) :: rank(I, R). big(I) :- rank(I, R), R > 1.",
        networks={"n": lambda x: torch.tensor([[0.2, 0.5, 0.3]]).expand(len(x), 3)},
    )
    why = model.explain(X)
    ax = why.plot()
    written = {text.get_text() for text in ax.texts}
    assert {"alarm?", "big(card)?", "yes 0.60", "no 0.40", "yes 0.80", "0.48"} <= written
    assert f"no {why.probabilities[0]:.2f}" in written
    assert len(ax.child_axes) == 1  # the card
    np.testing.assert_allclose(ax.child_axes[0].images[0].get_array(), X.column("card").values[0])
    assert why.plot(ax) is ax


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    why = facts(Tree(Leaf(0.3)), Examples({"a": [True, False]}))
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(NeuID3Error, match=r"pip install 'neuid3\[plots\]'"):
        why.plot()


def test_given_priors_change_the_counterfactuals() -> None:
    tree = Tree(Branch("alarm", Leaf(0.9), Leaf(0.1)))
    X = Examples({"alarm": [None]}, kinds={"alarm": "boolean"})
    model = NeurosymbolicTree(tree, X.schema, priors=Priors(columns={"alarm": 0.3}))
    (only,) = model.explain(X).other_facts.changes
    assert (only.name, only.before, only.after, only.probability) == ("alarm", "missing", "true", 0.3)


def test_long_names_of_columns_and_classes_do_not_run_into_each_other() -> None:
    rng = np.random.default_rng(0)
    table = {f"petal length number {i} (cm)": rng.random(200) for i in range(4)}
    first, second, third, _ = table.values()
    y = np.where(
        first > 0.5, np.where(second > 0.5, "versicolor", "virginica"), np.where(third > 0.5, "setosa", "other one")
    )
    ax = NeuID3Classifier(max_depth=4, pruning=0.0).fit(table, y).explain(table, 3).plot()
    renderer = ax.figure.canvas.get_renderer()
    boxes = {text.get_text(): text.get_window_extent(renderer) for text in ax.texts if text.get_text()}
    for (one, a), (other, b) in itertools.combinations(boxes.items(), 2):
        assert not a.overlaps(b), f"{one!r} and {other!r}"
