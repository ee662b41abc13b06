"""What does the background knowledge offer? Its networks, and a formula for every test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuid3.data.columns import Boolean, Category, Distribution, Kind, Probability, Schema, kind_name
from neuid3.logic.formula import (
    And,
    ChoiceVariable,
    ColumnVariable,
    Compare,
    Formula,
    Literal,
    NeuralVariable,
    Or,
    Truth,
    Variable,
    negate,
)
from neuid3.logic.sandbox import Limits, ask


@dataclass(frozen=True, slots=True)
class Declaration:
    """One `nn(...)` clause: which network, how many inputs, and the values it chooses from.

    `values` is None for a neural fact, whose network returns one probability.
    """

    number: int
    network: str
    inputs: int
    size: int
    values: tuple[str, ...] | None
    predicate: str

    @property
    def width(self) -> int:
        """How many numbers the network returns for an example."""
        return 1 if self.values is None else self.size


@dataclass(frozen=True, slots=True)
class Rule:
    """A predicate that rules or neural facts define: its first head as written, and the line of it.

    `needed` says whether rules of another predicate call it; `example` is an atom of it, made up, and `repeats` says
    whether one column had to stand in it twice.
    """

    line: int
    head: str
    needed: bool
    example: str
    repeats: bool


class Program:
    """Background knowledge in DeepProbLog's syntax, read for the columns of one schema.

    >>> from neuid3.data.columns import Boolean, Tensor
    >>> program = Program("nn(n, [X], Y, [odd, even]) :: parity(X, Y).", {"card": Tensor((28, 28))})
    >>> program.networks
    ('n',)
    >>> program.formula("parity(card, odd)").values
    frozenset({0})
    """

    def __init__(self, text: str, schema: Schema, limits: Limits | None = None) -> None:
        self.text = text
        self.schema = dict(schema)
        self.limits = limits or Limits()
        self.declarations: dict[int, Declaration] = {}
        self.predicates: tuple[str, ...] = ()
        # Heads that can be asked as tests: a name, and for each argument a constant or None for a variable.
        self.askable: tuple[tuple[str, tuple[str | None, ...]], ...] = ()
        self._formulas: dict[str, Formula] = {}
        self._heads: dict[tuple[int, tuple[str, ...]], tuple[str, ...]] = {}
        if text.strip():
            reply = self.ask({"do": "read"})
            for told in reply["declarations"]:
                values = None if told["values"] is None else tuple(told["values"])
                self.declarations[told["number"]] = Declaration(
                    told["number"], told["network"], told["inputs"], told["size"], values, told["predicate"]
                )
            self.predicates = tuple(reply["heads"])
            self.askable = tuple((name, tuple(arguments)) for name, arguments in reply["askable"])

    @property
    def networks(self) -> tuple[str, ...]:
        """The names of the networks that the program declares, in order."""
        return tuple(dict.fromkeys(declaration.network for declaration in self.declarations.values()))

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """What the logic's own process says about this program."""
        columns = {name: _told(kind) for name, kind in self.schema.items()}
        return ask({**request, "program": self.text, "columns": columns}, self.limits)

    def clauses_behind(self, atoms: Sequence[str]) -> list[tuple[str, ...]]:
        """The clauses that each of these tests rests on, as they were written and without comments, the nearest first.

        >>> Program("0.5 :: rich. happy :- rich, \\\\+ sad. 0.1 :: sad.", {}).clauses_behind(["happy"])
        [('happy :- rich, \\\\+ sad.', '0.5 :: rich.', '0.1 :: sad.')]
        """
        if not atoms or not self.text.strip():
            return [() for _ in atoms]
        reply = self.ask({"do": "clauses", "tests": list(atoms)})
        return [tuple(clauses) for clauses in reply["clauses"]]

    def rules(self) -> dict[str, Rule]:
        """The predicates that rules and neural facts define, `gt_rank/2`, in the order of their first clauses.

        >>> Program("0.5 :: rich. happy :- rich.", {}).rules()
        {'happy/0': Rule(line=1, head='happy', needed=False, example='happy', repeats=False)}
        """
        if not self.text.strip():
            return {}
        reply = self.ask({"do": "rules"})
        return {
            told["predicate"]: Rule(told["line"], told["head"], told["needed"], told["example"], told["repeats"])
            for told in reply["rules"]
        }

    def flaw(self, atom: str) -> str:
        """What a rule behind a test asks of a network that has no such value, with its line; empty where nothing is.

        >>> from neuid3.data.columns import Tensor
        >>> program = Program("nn(n, [X], Y, [odd, even]) :: parity(X, Y). no :- parity(card, od).", {"card": Tensor((8,))})
        >>> program.flaw("no")
        "line 1, the rule for 'no/0' asks for parity(card,od), but network 'n' has no value od; its values are odd, even.
        Did you mean 'odd'?"
        """
        if not self.text.strip():
            return ""
        return str(self.ask({"do": "flaws", "tests": [atom]})["flaws"][0])

    def formula(self, atom: str) -> Formula:
        """The formula that a test stands for."""
        return self.formulas([atom])[0]

    def formulas(self, atoms: Sequence[str]) -> list[Formula]:
        """The formulas of several tests, grounded together."""
        new = [atom for atom in dict.fromkeys(atoms) if atom not in self._formulas]
        facts = [atom for atom in new if isinstance(self.schema.get(atom), (Boolean, Probability))]
        for atom in facts:
            self._formulas[atom] = fact(atom)
        rest = [atom for atom in new if atom not in self._formulas]
        if rest:
            reply = self.ask({"do": "ground", "tests": rest})
            self._formulas.update(zip(rest, self._graph(reply), strict=True))
        return [self._formulas[atom] for atom in atoms]

    def formulas_or_none(self, atoms: Sequence[str]) -> list[Formula | None]:
        """The formulas of these tests, None for those that cannot be grounded."""
        if not atoms:
            return []
        reply = self.ask({"do": "ground", "tests": list(atoms), "tolerant": True})
        found = [formula if known else None for formula, known in zip(self._graph(reply), reply["known"], strict=True)]
        self._formulas.update({atom: f for atom, f in zip(atoms, found, strict=True) if f is not None})
        return found

    def _graph(self, reply: Mapping[str, Any]) -> Iterable[Formula]:
        variables = [self._variable(told) for told in reply["variables"]]
        nodes: list[Formula] = []

        def part(reference: int | bool) -> Formula:
            if isinstance(reference, bool):
                return Truth(reference)
            node = nodes[abs(reference) - 1]
            return node if reference > 0 else negate(node)

        for told in reply["nodes"]:
            match told:
                case ["literal", place, value]:
                    nodes.append(Literal(variables[place], frozenset({value})))
                case ["compare", column, operator, constant]:
                    nodes.append(Compare(column, operator, constant))
                case ["and", children]:
                    nodes.append(And(tuple(part(child) for child in children)))
                case ["or", children]:
                    nodes.append(Or(tuple(part(child) for child in children)))
        return [part(root) for root in reply["roots"]]

    def heads(self, variable: ChoiceVariable | NeuralVariable) -> tuple[str, ...]:
        """The ground heads that a random choice of the program decides between, or what a network says a value of.

        >>> from neuid3.data.columns import Tensor
        >>> program = Program("nn(n, [X], Y, [odd, even]) :: parity(X, Y).", {"card": Tensor((28, 28))})
        >>> program.heads(program.formula("parity(card, odd)").variable)
        ('parity(card)',)
        """
        number = variable.clause if isinstance(variable, ChoiceVariable) else variable.declaration
        return self._heads[number, variable.arguments]

    def _variable(self, told: Mapping[str, Any]) -> Variable:
        if told["kind"] != "column":
            number = told["clause"] if told["kind"] == "choice" else told["declaration"]
            self._heads[number, tuple(told["arguments"])] = tuple(told["heads"])
        match told["kind"]:
            case "column":
                return ColumnVariable(told["column"], domain_size(self.schema[told["column"]]))
            case "choice":
                none = max(0.0, 1.0 - sum(told["weights"]))
                return ChoiceVariable(told["clause"], tuple(told["arguments"]), (*told["weights"], none))
            case _:
                inputs, arguments = tuple(told["inputs"]), tuple(told["arguments"])
                return NeuralVariable(told["declaration"], told["network"], inputs, arguments, told["size"])


def domain_size(kind: Kind) -> int:
    """How many values a column's variable has."""
    return len(kind.domain) if isinstance(kind, (Category, Distribution)) else 2


def fact(column: str) -> Literal:
    """The formula of a Boolean or probability column."""
    return Literal(ColumnVariable(column, 2), frozenset({1}))


def _told(kind: Kind) -> dict[str, Any]:
    told: dict[str, Any] = {"kind": kind_name(kind)}
    if isinstance(kind, (Category, Distribution)):
        told["values"] = list(kind.domain)
    return told
