"""Generated programs, trees and examples: small, so that failures arrive small."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import strategies as st

from neuid3 import AtomTest, Branch, Examples, Leaf, NeurosymbolicTree, Priors, Tree
from neuid3.tree.tree import Node

PIXELS = 3


class TinyNetwork(torch.nn.Module):
    """A linear network whose outputs are sharp enough to matter; reproducible by its seed."""

    def __init__(self, width: int, inputs: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.weight = torch.nn.Parameter(
            3 * torch.randn(PIXELS * inputs, width, generator=generator, dtype=torch.float64)
        )

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        logits = torch.cat([x.flatten(1) for x in inputs], 1) @ self.weight
        return torch.softmax(logits, 1) if logits.shape[1] > 1 else torch.sigmoid(logits)


@dataclass(frozen=True)
class Case:
    """A model, and examples for it."""

    background: str
    model: NeurosymbolicTree
    examples: Examples

    def __repr__(self) -> str:
        return f"Case({self.background!r}, {self.model.tree!r})"


IMAGES = ("left", "right")

# Each pair: how a goal is written, and which networks it calls.
FACTS = [
    "alarm",
    "noise",
    "suit(hearts)",
    "suit(clubs)",
    "mood(1)",
    "mood(2)",
    "age > 40",
    "age =< 60",
    "age =:= 50",
    "works",
    "colour(red)",
    "colour(blue)",
]
NEURAL = [f"rank({image}, {value})" for image in IMAGES for value in (1, 2, 3)] + [
    "same(left, right)",
    "same(right, left)",
    "parity(left, odd)",
    "parity(right, even)",
    "twin(left, 1)",
]
RULES = [
    "gt(left, right)",
    "gt(right, left)",
    "odd(left)",
    "odd(right)",
    "path(1, 3)",
    "old(age)",
    "both",
    "tinted(left)",
]

PREAMBLE = """
nn(rank_net, [I], R, [1, 2, 3]) :: rank(I, R).
nn(rank_net, [I], R, [1, 2, 3]) :: twin(I, R).
nn(parity_net, [I], P, [odd, even]) :: parity(I, P).
nn(same_net, [A, B]) :: same(A, B).
0.7 :: works.
0.2 :: colour(red); 0.5 :: colour(blue).
0.4 :: edge(1, 2). 0.6 :: edge(2, 1). 0.3 :: edge(2, 3). 0.5 :: edge(1, 3) :- alarm.
path(X, Y) :- edge(X, Y).
path(X, Y) :- edge(X, Z), path(Z, Y).
gt(A, B) :- rank(A, X), rank(B, Y), X < Y.
odd(A) :- rank(A, X), 1 is X mod 2.
old(X) :- X > 50.
both :- findall(I, (member(I, [left, right]), parity(I, odd)), L), length(L, 2).
0.3 :: tinted(I); 0.4 :: faded(I) :- rank(I, 2).
"""


@st.composite
def rules(draw: st.DrawFn, count: int) -> str:
    """Rules `rule_0 … rule_n`, each over facts, networks, the preamble's rules and the rules before it."""
    lines = []
    for number in range(count):
        atoms = FACTS + NEURAL + RULES + [f"rule_{earlier}" for earlier in range(number)]
        for _ in range(draw(st.integers(1, 2))):
            goals = draw(st.lists(st.sampled_from(atoms), min_size=1, max_size=3))
            signed = [goal if draw(st.booleans()) else f"\\+ ({goal})" for goal in goals]
            joint = draw(st.sampled_from([", ", "; "]))
            weight = draw(st.sampled_from(["", "", "", "0.35 :: "]))
            lines.append(f"{weight}rule_{number} :- {joint.join(signed)}.")
    return "\n".join(lines)


@st.composite
def nodes(draw: st.DrawFn, atoms: list[str], classes: int, depth: int) -> Node:
    """A tree whose tests call one of two instances of the rank network."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        weights = draw(st.lists(st.integers(0, 5), min_size=classes, max_size=classes).filter(any))
        return Leaf([weight / sum(weights) for weight in weights])
    instances = draw(st.sampled_from([(), (("rank_net", "rank_net#2"),)]))
    test = AtomTest(draw(st.sampled_from(atoms)), instances)
    yes, no = draw(nodes(atoms, classes, depth - 1)), draw(nodes(atoms, classes, depth - 1))
    return Branch(test, yes, no)


def table(seed: int, n: int) -> Examples:
    """Examples with every kind of column, some of their entries missing."""
    rng = np.random.default_rng(seed)

    def holes(values: list[object], share: float = 0.2) -> list[object]:
        return [None if rng.random() < share else value for value in values]

    images = {name: rng.normal(size=(n, 1, PIXELS)) for name in IMAGES}
    images["right"][rng.random(n) < 0.2] = np.nan
    return Examples(
        {
            **images,
            "alarm": holes(list(rng.random(n) < 0.5)),
            "noise": rng.random(n),
            "suit": np.array(holes(list(rng.choice(["hearts", "clubs", "spades"], n))), dtype=object),
            "mood": rng.dirichlet([1.0, 1.0, 1.0], n),
            "age": np.array(holes(list(rng.integers(30, 70, n) // 10 * 10.0)), dtype=object),
        },
        kinds={
            "alarm": "boolean",
            "noise": "probability",
            "suit": "category",
            "mood": (1, 2, 3),
            "age": "number",
            **dict.fromkeys(IMAGES, "tensor"),
        },
    )


REFERENCE = table(0, 200)
PRIORS = Priors(
    columns={"alarm": 0.3, "suit": {"hearts": 0.2, "clubs": 0.5, "spades": 0.3}, "age": [30.0, 40.0, 50.0, 50.0, 60.0]},
    networks={
        "rank_net": [0.2, 0.3, 0.5],
        "rank_net#2": [0.6, 0.3, 0.1],
        "parity_net": [0.4, 0.6],
        "same_net": 0.25,
    },
)


@st.composite
def cases(draw: st.DrawFn, depth: int = 3, rows: int = 2) -> Case:
    """A tree of generated rules that share networks, facts and columns, and examples with missing entries."""
    count = draw(st.integers(1, 3))
    background = PREAMBLE + draw(rules(count))
    atoms = [f"rule_{number}" for number in range(count)] * 3 + RULES + FACTS + NEURAL
    classes = draw(st.sampled_from([("neg", "pos"), ("a", "b", "c")]))
    tree = Tree(draw(nodes(atoms, len(classes), depth)), classes)
    seed = draw(st.integers(0, 999))
    networks = {
        "rank_net": TinyNetwork(3, 1, seed),
        "rank_net#2": TinyNetwork(3, 1, seed + 1),
        "parity_net": TinyNetwork(2, 1, seed + 2),
        "same_net": TinyNetwork(1, 2, seed + 3),
    }
    used = {name for _, instances in [(0, t.instances) for t in tree.tests] for _, name in instances}
    if "rank_net#2" not in used:
        del networks["rank_net#2"]
    examples = table(seed, rows).conform(REFERENCE.schema)
    try:
        model = NeurosymbolicTree(tree, REFERENCE.schema, background=background, networks=networks, priors=PRIORS)
    except Exception as error:
        if "neither the program nor the tree" not in str(error):
            raise
        del networks["rank_net#2"]  # its test turned out to call no network
        model = NeurosymbolicTree(tree, REFERENCE.schema, background=background, networks=networks, priors=PRIORS)
    return Case(background, model, examples)


# Terms, many of which ProbLog prints alike; no two of them are the same.
TERMS = [
    "((a,b),c)",
    "(a,(b,c))",
    "','(a,b)",
    "(a,b)",
    "f((a,b))",
    "f(a,b)",
    "(a;b;c)",
    "((a;b);c)",
    "';'(a,b)",
    "(a;b)",
    "(a->b->c)",
    "((a->b)->c)",
    "(a:-b)",
    "\\+ a",
    "not(a)",
    "1+2+3",
    "1+(2+3)",
    "1-(-1)",
    "1- 1",
    "-(1)",
    "-1",
    "-a",
    "7 mod 2",
    "1",
    "1.0",
    "'1.0'",
    '"a"',
    "a",
    "'a b'",
    "[a]",
    "[[a]]",
    "[a|b]",
    "[]",
    "inf",
    "1e999",
    "9007199254740992",
    "9007199254740993",
    "9007199254740992.0",
]

# A goal for every built-in that is open and every predicate of the libraries, over the random facts f(1), f(2), f(3), g(a), g(b).
OPEN_GOALS = {
    "at_least/2": "at_least(2, [f(1), f(2), g(a)])",
    "at_most/2": "at_most(1, [f(1), f(2), g(a)])",
    "exactly/2": "exactly(1, [f(1), f(2)])",
    "more_than/2": "more_than(1, [f(1), f(2), f(3)])",
    "fewer_than/2": "fewer_than(2, [f(1), f(2), f(3)])",
    "any_of/1": "any_of([f(1), g(a)])",
    "all_of/1": "all_of([f(1), g(a)])",
    "none_of/1": "none_of([f(1), g(a)])",
    "true/0": "true, f(1)",
    "fail/0": "f(1), \\+ fail",
    "false/0": "f(1), \\+ false",
    "=/2": "f(X), X = 2",
    "\\=/2": "f(X), X \\= 2",
    "findall/3": "findall(X, f(X), L), length(L, 2)",
    "all/3": "all(X, f(X), L), length(L, 2)",
    "all_or_none/3": "all_or_none(X, f(X), [])",
    "==/2": "f(X), X == 2",
    "\\==/2": "f(X), X \\== 2",
    "is/2": "f(X), 4 is X + 1",
    ">/2": "f(X), X > 1",
    "</2": "f(X), X < 2",
    "=</2": "f(X), X =< 1",
    ">=/2": "f(X), X >= 3",
    "=\\=/2": "f(X), X =\\= 2",
    "=:=/2": "f(X), X =:= 2.0",
    "var/1": "var(X), f(X)",
    "atom/1": "g(X), atom(X)",
    "atomic/1": "f(X), atomic(X)",
    "compound/1": "f(X), \\+ compound(X)",
    "float/1": "f(X), \\+ float(X)",
    "rational/1": "f(X), rational(X)",
    "integer/1": "f(X), integer(X)",
    "nonvar/1": "f(X), nonvar(X)",
    "number/1": "g(X), \\+ number(X)",
    "simple/1": "f(X), simple(X)",
    "callable/1": "g(X), callable(X)",
    "ground/1": "f(X), ground(h(X))",
    "is_list/1": "findall(X, f(X), L), is_list(L), L = [_]",
    "=../2": "f(X), T =.. [f, X], call(T)",
    "arg/3": "f(X), arg(1, h(X), 3)",
    "functor/3": "g(X), functor(h(X), h, 1)",
    "@>/2": "f(X), X @> 2",
    "@</2": "f(X), X @< 2",
    "@>=/2": "g(X), X @>= b",
    "@=</2": "g(X), X @=< a",
    "compare/3": "f(X), compare('<', X, 2)",
    "length/2": "findall(X, g(X), L), length(L, N), N > 0",
    "sort/2": "findall(X, f(X), L), sort(L, [1 | _])",
    "between/3": "between(2, 3, X), f(X)",
    "succ/2": "f(X), succ(X, 3)",
    "plus/3": "f(X), plus(X, 1, 3)",
    "once/1": "once(f(X)), X > 1",
    "atom_number/2": "f(X), atom_number('2', X)",
    "subsumes_term/2": "f(X), subsumes_term(h(_), h(X))",
    "subsumes_chk/2": "g(X), subsumes_chk(_, X)",
    "call/1": "call(f(2))",
    "call_nc/1": "call_nc(f(2))",
    **{f"call/{n}": f"call(r{n}, {', '.join(['1'] * (n - 1))})" for n in range(2, 10)},
    **{f"call_nc/{n}": f"call_nc(r{n}, {', '.join(['2'] * (n - 1))})" for n in range(2, 10)},
    "forall/2": "forall(f(X), X > 1)",
    "append/2": "findall(X, f(X), L), append([L, [9]], [_, 9])",
    "append/3": "findall(X, f(X), L), append(_, [3], L)",
    "convlist/3": "convlist(next, [1, 2, 3], [3])",
    "delete/3": "findall(X, f(X), L), delete(L, 1, [])",
    "enum_groups/3": "findall((X, X), f(X), L), enum_groups(L, 2, _)",
    "enum_groups/4": "findall(X, f(X), L), enum_groups(L, L, 2, _)",
    "exclude/3": "exclude(f, [1, 2, 3], [_])",
    "flatten/2": "findall([X], f(X), L), flatten(L, [_, _])",
    "foldl/4": "foldl(add, [1, 2, 3], 0, S), S > 3",
    "foldl/5": "foldl(add2, [1, 2], [1, 2], 0, S), S > 1",
    "foldl/6": "foldl(add3, [1], [1], [1], 0, S), S > 0",
    "foldl/7": "foldl(add4, [1], [1], [1], [1], 0, S), S > 0",
    "foldl_noinit/3": "foldl_noinit(add, [1, 2, 3], S), S > 3",
    "include/3": "include(f, [1, 2, 3], [_, _])",
    "intersection/3": "findall(X, f(X), L), intersection(L, [1, 2], [_])",
    "is_set/1": "findall(X, f(X), L), is_set([2 | L])",
    "last/2": "findall(X, f(X), L), last(L, 2)",
    "list_to_set/2": "findall(X, f(X), L), list_to_set([1 | L], [_, _])",
    "maplist/2": "maplist(f, [1, 2])",
    "maplist/3": "maplist(next, [1, 2], _)",
    "maplist/4": "maplist(add, [1], [2], _)",
    "maplist/5": "maplist(add2, [1], [2], [3], _)",
    "max_list/2": "findall(X, f(X), L), max_list(L, 2)",
    "max_member/2": "findall(X, f(X), L), max_member(L, 2)",
    "member/2": "member(X, [1, 3]), f(X)",
    "memberchk/2": "findall(X, f(X), L), memberchk(2, L)",
    "min_list/2": "findall(X, f(X), L), min_list(L, 2)",
    "min_member/2": "findall(X, f(X), L), min_member(L, 2)",
    "nextto/3": "findall(X, f(X), L), nextto(1, 3, L)",
    "nth0/3": "findall(X, f(X), L), nth0(1, L, 2)",
    "nth0/4": "findall(X, f(X), L), nth0(0, L, 2, [_])",
    "nth1/3": "findall(X, f(X), L), nth1(1, L, 2)",
    "nth1/4": "findall(X, f(X), L), nth1(1, L, 1, [_])",
    "numlist/3": "numlist(1, 3, L), member(X, L), f(X)",
    "partition/4": "partition(f, [1, 2, 3], [_], _)",
    "permutation/2": "findall(X, f(X), L), permutation(L, [3, 1])",
    "prefix/2": "findall(X, f(X), L), prefix([2], L)",
    "proper_length/2": "findall(X, f(X), L), proper_length(L, 1)",
    "reverse/2": "findall(X, f(X), L), reverse(L, [2 | _])",
    "same_length/2": "findall(X, f(X), L), findall(Y, g(Y), M), same_length(L, M)",
    "scanl/4": "scanl(add, [1, 2], 0, [1 | _])",
    "scanl/5": "scanl(add2, [1], [1], 0, [1])",
    "scanl/6": "scanl(add3, [1], [1], [1], 0, [1])",
    "scanl/7": "scanl(add4, [1], [1], [1], [1], 0, [1])",
    "select/3": "findall(X, f(X), L), select(2, L, [_])",
    "select/4": "findall(X, f(X), L), select(2, L, 5, [5])",
    "selectchk/3": "findall(X, f(X), L), selectchk(3, L, [_])",
    "selectchk/4": "findall(X, f(X), L), selectchk(1, L, 5, [5 | _])",
    "subset/2": "findall(X, f(X), L), subset(L, [1, 2])",
    "subtract/3": "findall(X, f(X), L), subtract(L, [1], [])",
    "sum_list/2": "findall(X, f(X), L), sum_list(L, 3)",
    "union/3": "findall(X, f(X), L), union(L, [1], [_, _])",
}
RANDOM_FACTS = {"f(1)": 0.3, "f(2)": 0.6, "f(3)": 0.2, "g(a)": 0.5, "g(b)": 0.9}
HELPERS = """
next(X, Y) :- f(X), Y is X + 1.
add(X, A, B) :- f(X), B is A + X.
add(X, A, A) :- \\+ f(X).
add2(X, _, A, B) :- add(X, A, B).
add3(X, _, _, A, B) :- add(X, A, B).
add4(X, _, _, _, A, B) :- add(X, A, B).
""" + "".join(f"r{n}({', '.join('X' * (n - 1))}) :- f(X).\n" for n in range(2, 10))


@st.composite
def built_in_rules(draw: st.DrawFn) -> str:
    """Rules for p, out of one to three goals with built-ins, some of them negated."""
    lines = []
    for _ in range(draw(st.integers(1, 2))):
        goals = draw(st.lists(st.sampled_from(sorted(OPEN_GOALS.values())), min_size=1, max_size=2))
        apart = [f"({re.sub(r'([XYLMNST])', rf'{chr(92)}g<1>{k}', goal)})" for k, goal in enumerate(goals)]
        lines.append(f"p :- {', '.join(goal if draw(st.booleans()) else f'{chr(92)}+ {goal}' for goal in apart)}.")
    return "\n".join(lines)


@st.composite
def term_rules(draw: st.DrawFn) -> str:
    """Random facts about terms that print alike, and rules for p that ask for them."""
    terms = draw(st.lists(st.sampled_from(TERMS), min_size=2, max_size=4, unique=True))
    declared = draw(
        st.sampled_from(
            ["0.3 :: c(X).", "0.3 :: c(X); 0.4 :: d(X) :- t(X).", "0.3 :: c(X) :- t(X).", "0.3 :: c(h(X))."]
        )
    )
    facts = " ".join(f"t({term})." for term in terms)
    atoms = [f"c({term})" if "h(X)" not in declared else f"c(h({term}))" for term in terms]
    rules = []
    for _ in range(draw(st.integers(1, 3))):
        goals = draw(st.lists(st.sampled_from(atoms), min_size=1, max_size=3))
        rules.append(f"p :- {', '.join(goal if draw(st.booleans()) else f'{chr(92)}+ {goal}' for goal in goals)}.")
    return " ".join([declared, facts, *rules])
