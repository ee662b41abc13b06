"""Generated trees over parts that networks read, and their probabilities by summing over worlds."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from neuid3 import AtomTest, Branch, Examples, Leaf, NeurosymbolicTree, Tree
from neuid3.data.parts import structure_of
from neuid3.queries.language import AtLeast, Atom, Different, Literal, Negation, Query, Var
from neuid3.tree.query_tests import QueryTest

BACKGROUND = """
nn(kind_net, [T], K, [disc, bar, star]) :: kind(T, K).
nn(bright_net, [T]) :: bright(T).
alike(A, B) :- kind(A, K), kind(B, K).
odd(T) :- kind(T, star), \\+ bright(T).
shines(T) :- thing(T), round(T), bright(T).
reaches(A, B) :- touches(A, B).
reaches(A, B) :- touches(A, C), alike(A, C), reaches(C, B).
crowded :- thing(A), thing(B), A \\= B, alike(A, B).
"""

UNARY = ("bright", "odd", "shines")
BINARY = ("alike", "reaches")


class TableNetwork(torch.nn.Module):
    """A network whose output is a function of the first pixel."""

    def __init__(self, width: int, seed: int) -> None:
        super().__init__()
        rng = np.random.default_rng(seed)
        self.weight = torch.nn.Parameter(torch.from_numpy(rng.normal(size=(2, max(width, 1))) * 2))

    def forward(self, picture: torch.Tensor) -> torch.Tensor:
        pixel = picture.flatten(1)[:, :1].double()
        logits = torch.cat((pixel, torch.ones_like(pixel)), 1) @ self.weight
        return logits.softmax(1) if logits.shape[1] > 1 else logits.sigmoid()


@dataclass
class Problem:
    """One example with parts, and a tree over it."""

    examples: Examples
    model: NeurosymbolicTree

    @property
    def expected(self) -> float:
        """The probability of the second class, summed over all values of all networks."""
        return _summed(self.model, self.examples)


def made_problem(seed: int) -> Problem:
    """A random example of up to five things, which touch each other, and a tree with shared variables."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 6))
    things = {
        "thing": list(range(count)),
        "box": np.zeros(count, dtype=int),
        "picture": rng.normal(size=(count, 1, 1, 2)),
        "round": rng.random(count) < 0.5,
        "colour": rng.choice(["red", "blue"], count),
    }
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b and rng.random() < 0.35]
    touches = {"thing_1": [a for a, _ in pairs], "thing_2": [b for _, b in pairs]}
    # A second example, so that every column has entries.
    others = {
        "thing": [97, 98],
        "box": [1, 1],
        "picture": rng.normal(size=(2, 1, 1, 2)),
        "round": [True, False],
        "colour": ["red", "blue"],
    }
    together = {name: np.concatenate((np.asarray(things[name]), np.asarray(others[name]))) for name in things}
    touches = {"thing_1": [*touches["thing_1"], 97], "thing_2": [*touches["thing_2"], 98]}
    examples = Examples(
        {"box": [0, 1]},
        parts={"thing": (together, "box")},
        relations={"touches": touches},
        kinds={"thing": {"picture": "tensor"}},
    )
    tree = Tree(_node(rng, Query(), {}, int(rng.integers(1, 4))), classes=("no", "yes"))
    networks = {"kind_net": TableNetwork(3, seed), "bright_net": TableNetwork(1, seed + 1)}
    model = NeurosymbolicTree(tree, examples.schema, background=BACKGROUND, networks=networks)
    return Problem(examples[:1], model)


def _node(rng: np.random.Generator, query: Query, bound: dict[Var, str], depth: int) -> Any:
    if depth == 0:
        p = round(float(rng.random()), 3)
        return Leaf((1 - p, p))
    if rng.random() < 0.15:
        test: Any = AtomTest("crowded")
        return Branch(test, _node(rng, query, bound, depth - 1), _node(rng, query, bound, depth - 1))
    literals, new = _added(rng, bound)
    longer = query.extended(literals)
    test = QueryTest(longer, len(query))
    return Branch(test, _node(rng, longer, {**bound, **new}, depth - 1), _node(rng, query, bound, depth - 1))


def _added(rng: np.random.Generator, bound: dict[Var, str]) -> tuple[list[Literal], dict[Var, str]]:
    """Literals that continue a query, and the variables that they bind."""
    new: dict[Var, str] = {}
    literals: list[Literal] = []
    if not bound or (len(bound) < 3 and rng.random() < 0.6):
        variable = Var(f"V{len(bound)}")
        if bound and rng.random() < 0.5:
            other = list(bound)[int(rng.integers(len(bound)))]
            literals.append(Atom("touches", (other, variable)))
        else:
            literals.append(Atom("thing", (variable,)))
            literals += [Different(variable, other) for other in bound if rng.random() < 0.7]
        new[variable] = "thing"
    variables = [*bound, *new]
    for _ in range(int(rng.integers(1, 3))):
        literals.append(_condition(rng, variables))
    return literals, new


def _condition(rng: np.random.Generator, variables: list[Var]) -> Literal:
    variable = variables[int(rng.integers(len(variables)))]
    inner = Var("W")
    match int(rng.integers(9)):
        case 0:
            return Atom("round", (variable,))
        case 1:
            return Atom("colour", (variable, "red"))
        case 2:
            return Atom("kind", (variable, str(rng.choice(["disc", "bar", "star"]))))
        case 3 if len(variables) > 1:
            other = variables[int(rng.integers(len(variables)))]
            return (
                Atom(str(rng.choice(BINARY)), (variable, other)) if other != variable else Atom("bright", (variable,))
            )
        case 4:
            return Negation(Query((Atom("touches", (variable, inner)), Atom("bright", (inner,)))))
        case 5:
            return AtLeast(2, Query((Atom("thing", (inner,)), Atom(str(rng.choice(UNARY)), (inner,)))))
        case 6:
            return Negation(Query((Atom(str(rng.choice(UNARY)), (variable,)),)))
        case 7:
            return Negation(
                Query((Atom("thing", (inner,)), Different(inner, variable), Atom("alike", (variable, inner))))
            )
        case _:
            return Atom(str(rng.choice(UNARY)), (variable,))


# Summing over worlds -------------------------------------------------------------------------------


def _summed(model: NeurosymbolicTree, examples: Examples) -> float:
    structure = structure_of(examples)
    things = structure.parts["thing"]
    count = len(things)
    table = things.table
    if count:
        pictures = torch.from_numpy(np.array(table.column("picture").values))
        with torch.no_grad():
            kinds = model.networks["kind_net"](pictures).numpy()
            lights = model.networks["bright_net"](pictures).numpy()[:, 0]
    touches = {tuple(pair) for pair in structure.relations["touches"].arguments.tolist()}
    colours = table.column("colour")
    total = 0.0
    for kind in itertools.product(range(3), repeat=count):
        for bright in itertools.product((False, True), repeat=count):
            weight = 1.0
            for i in range(count):
                weight *= kinds[i, kind[i]] * (lights[i] if bright[i] else 1.0 - lights[i])
            world = _World(
                count,
                touches,
                [bool(x) for x in table.column("round").values],
                [colours.kind.domain[c] for c in colours.values],
                [("disc", "bar", "star")[k] for k in kind],
                bright,
            )
            total += weight * world.value(model.tree.root)
    return total


@dataclass
class _World:
    count: int
    touches: set[Any]
    round: list[bool]
    colour: list[str]
    kind: list[str]
    bright: tuple[bool, ...]

    def value(self, node: Any) -> float:
        while isinstance(node, Branch):
            node = node.yes if self.holds(node.test) else node.no
        return float(node.value[1])

    def holds(self, test: Any) -> bool:
        if isinstance(test, AtomTest):
            return any(self.kind[a] == self.kind[b] for a in range(self.count) for b in range(a))
        return any(True for _ in self.bindings(test.query.literals, {}))

    def bindings(self, literals: Any, binding: dict[Var, int]) -> Any:
        if not literals:
            yield binding
            return
        first, *rest = literals
        free = [v for v in getattr(first, "arguments", ()) if isinstance(v, Var) and v not in binding]
        for parts in itertools.product(range(self.count), repeat=len(free)):
            longer = {**binding, **dict(zip(free, parts, strict=True))}
            if self.is_true(first, longer):
                yield from self.bindings(rest, longer)

    def reaches(self, start: int, end: int) -> bool:
        seen, waiting = {start}, [start]
        while waiting:
            at = waiting.pop()
            if (at, end) in self.touches:
                return True
            steps = {b for a, b in self.touches if a == at and self.kind[a] == self.kind[b]} - seen
            seen |= steps
            waiting.extend(steps)
        return False

    def is_true(self, literal: Any, binding: dict[Var, int]) -> bool:
        match literal:
            case Atom("thing"):
                return True
            case Atom("touches", (a, b)):
                return (binding[a], binding[b]) in self.touches
            case Atom("round", (a,)):
                return self.round[binding[a]]
            case Atom("colour", (a, value)):
                return self.colour[binding[a]] == value
            case Atom("kind", (a, value)):
                return self.kind[binding[a]] == value
            case Atom("bright", (a,)):
                return self.bright[binding[a]]
            case Atom("odd", (a,)):
                return self.kind[binding[a]] == "star" and not self.bright[binding[a]]
            case Atom("shines", (a,)):
                return self.round[binding[a]] and self.bright[binding[a]]
            case Atom("alike", (a, b)):
                return self.kind[binding[a]] == self.kind[binding[b]]
            case Atom("reaches", (a, b)):
                return self.reaches(binding[a], binding[b])
            case Different(a, b):
                return binding[a] != binding[b]
            case Negation(query):
                return not any(True for _ in self.bindings(query.literals, binding))
            case AtLeast(count, query):
                new = [v for v in query.variables if v not in binding]
                found = {tuple(b[v] for v in new) for b in self.bindings(query.literals, binding)}
                return len(found) >= count
        raise AssertionError(literal)
