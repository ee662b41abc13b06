"""Background knowledge: neural declarations, rules, and the formulas of tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuid3.data.columns import (
    Boolean,
    Category,
    Date,
    Distribution,
    Kind,
    Number,
    Probability,
    Schema,
    Tensor,
    kind_name,
)
from neuid3.data.derived import with_mentioned
from neuid3.data.parts import Parts, Relation
from neuid3.data.slots import Slots
from neuid3.logic.expressions import expression_from_json
from neuid3.logic.formula import (
    And,
    ChoiceVariable,
    ColumnVariable,
    Compare,
    CompareExpression,
    Formula,
    Literal,
    NeuralVariable,
    OpenCompare,
    Or,
    QueryVariable,
    Truth,
    Variable,
    negate,
)
from neuid3.logic.quoting import atom_text
from neuid3.logic.sandbox import Limits, send_request


@dataclass(frozen=True, slots=True)
class Declaration:
    """One `nn(...)` declaration.

    Attributes
    ----------
    number : the number of its clause.
    network : the name of the network.
    inputs : how many columns the network reads.
    size : how many values its random variable has.
    values : the values, as text; None for a neural fact, whose network returns one probability.
    predicate : the name of the predicate that it defines.
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
    """A predicate that rules or neural facts define.

    Attributes
    ----------
    line : the line of its first clause.
    head : the head of that clause.
    needed : whether rules of another predicate call it.
    example : an invented ground atom of it.
    repeats : whether a column occurs twice in `example`.
    """

    line: int
    head: str
    needed: bool
    example: str
    repeats: bool


@dataclass(frozen=True, slots=True)
class GoalValue:
    """A value of the open argument of a goal.

    Attributes
    ----------
    value : a number or a name.
    atom : the goal with this value, a ground atom.
    """

    value: int | float | str
    atom: str


@dataclass(frozen=True, slots=True)
class OpenGoal:
    """A goal with one open argument, such as `plus(first, second, Y)`.

    Attributes
    ----------
    variable : the name of the open argument.
    values : its values in any world, numbers in ascending order before names.
    expression : what it computes, such as `digit(first) + digit(second)`; empty where that is no single expression.
    """

    variable: str
    values: tuple[GoalValue, ...]
    expression: str


@dataclass(frozen=True, slots=True)
class Count:
    """A goal that counts others: `at_least(2, …)`.

    Attributes
    ----------
    goal : the counting goal, without its list.
    goals : the goals that are counted.
    """

    goal: str
    goals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenHead:
    """The head of a rule with one variable that must be a number: `older_than(Years)`, `bmi(B)`.

    Attributes
    ----------
    name : the predicate.
    arguments : for each argument a constant, or None for a variable.
    position : the argument that must be a number.
    needed : whether rules of another predicate call it.
    """

    name: str
    arguments: tuple[str | None, ...]
    position: int
    needed: bool


@dataclass(frozen=True, slots=True, eq=False)
class SlotFacts:
    """What a program knows about the parts of examples: a fact about slots is true of some examples.

    Attributes
    ----------
    slots : the slots.
    schema : the kinds of the columns of examples, without those of slots.
    variables : for each ground fact, such as `long(car_1)`, the Boolean of examples that it stands for.
    clauses : clauses that are true of all examples, as those that lead from a part to its picture.
    predicates : the predicates of these facts, by name.
    mentioned : the columns of parts among them.
    """

    slots: Slots
    schema: Schema
    variables: Mapping[str, QueryVariable]
    clauses: tuple[str, ...]
    predicates: frozenset[str]
    mentioned: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """All facts as clauses; each is true where the Boolean column of its name is."""
        facts = (f"{fact} :- {atom_text(fact)}." for fact in self.variables)
        return "\n".join((*self.clauses, *facts))


# The constant that stands for the number of such a rule while its family of tests is grounded.
OPEN_CONSTANT = "'$open'"


class Program:
    """Background knowledge in DeepProbLog's syntax, parsed for the columns of one schema.

    Parameters
    ----------
    text : rules, probabilistic facts and neural declarations.
    schema : the kinds of the columns; derived columns that the program mentions are added.
    limits : the time, memory and circuit size that it may take.
    parts : what it knows about the parts of examples; None where examples have no slots.

    Attributes
    ----------
    declarations : the neural declarations by their numbers.
    predicates : the predicates that the program defines, as `name/arity`.
    test_heads : heads that can be tests: a name, and for each argument a constant, or None for a variable.
    open_heads : heads with one variable that must be a number.

    Raises
    ------
    SyntaxErrorInProgram : where the text cannot be parsed.
    RuleError : where a clause is invalid.
    GroundingLimitError : where the limits are exceeded.

    >>> from neuid3.data.columns import Boolean, Tensor
    >>> program = Program("nn(n, [X], Y, [odd, even]) :: parity(X, Y).", {"card": Tensor((28, 28))})
    >>> program.networks
    ('n',)
    >>> program.formula("parity(card, odd)").values
    frozenset({0})
    """

    def __init__(self, text: str, schema: Schema, limits: Limits | None = None, parts: SlotFacts | None = None) -> None:
        self.text, self.parts = text, parts
        self.schema = with_mentioned(text, schema)
        self.limits = limits or Limits()
        self.declarations: dict[int, Declaration] = {}
        self.predicates: tuple[str, ...] = ()
        self.test_heads: tuple[tuple[str, tuple[str | None, ...]], ...] = ()
        self.open_heads: tuple[OpenHead, ...] = ()
        self._formulas: dict[str, Formula] = {}
        self._goals: dict[str, OpenGoal] = {}
        self._counts: dict[str, tuple[Count, ...]] = {}
        self._heads: dict[tuple[int, tuple[str, ...]], tuple[str, ...]] = {}
        if text.strip():
            reply = self.request({"do": "read"})
            for entry in reply["declarations"]:
                values = None if entry["values"] is None else tuple(entry["values"])
                self.declarations[entry["number"]] = Declaration(
                    entry["number"], entry["network"], entry["inputs"], entry["size"], values, entry["predicate"]
                )
            of_parts = frozenset[str]() if parts is None else parts.predicates
            self.predicates = tuple(head for head in reply["heads"] if head.rsplit("/", 1)[0] not in of_parts)
            self.test_heads = tuple(
                (name, tuple(arguments)) for name, arguments in reply["test_heads"] if name not in of_parts
            )
            self.open_heads = tuple(
                OpenHead(name, tuple(arguments), position, needed)
                for name, arguments, position, needed in reply["open_heads"]
            )

    @property
    def networks(self) -> tuple[str, ...]:
        """The names of the declared networks, in the order of their declarations."""
        return tuple(dict.fromkeys(declaration.network for declaration in self.declarations.values()))

    @property
    def given_schema(self) -> Schema:
        """The kinds of the columns as examples are given: without those of slots."""
        return self.schema if self.parts is None else self.parts.schema

    @property
    def slots(self) -> Slots | None:
        """The slots of the parts of examples; None where no rule or network may name them."""
        return None if self.parts is None else self.parts.slots

    def request(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The reply of the sandbox to a request about this program.

        Parameters
        ----------
        fields : the request: `do`, and its arguments as JSON values.

        Returns
        -------
        The reply, as JSON values.
        """
        symbolic = {name: kind for name, kind in self.schema.items() if not isinstance(kind, (Parts, Relation))}
        columns = {name: kind_to_json(kind) for name, kind in symbolic.items()}
        text = self.text
        if self.parts is not None:
            columns |= {fact: {"kind": "boolean"} for fact in self.parts.variables}
            text = f"{text}\n{self.parts.text}"
        return send_request({**fields, "program": text, "columns": columns}, self.limits)

    def clauses_behind(self, atoms: Sequence[str]) -> list[tuple[str, ...]]:
        """The clauses that each of these tests depends on, in the user's spelling without comments, nearest first.

        Parameters
        ----------
        atoms : ground atoms, such as `gt_rank(first, second)`.

        Returns
        -------
        The clauses of each atom.

        >>> Program("0.5 :: rich. happy :- rich, \\\\+ sad. 0.1 :: sad.", {}).clauses_behind(["happy"])
        [('happy :- rich, \\\\+ sad.', '0.5 :: rich.', '0.1 :: sad.')]
        """
        if not atoms or not self.text.strip():
            return [() for _ in atoms]
        reply = self.request({"do": "clauses", "tests": list(atoms)})
        of_parts = frozenset(() if self.parts is None else self.parts.text.splitlines())
        return [tuple(clause for clause in clauses if clause not in of_parts) for clauses in reply["clauses"]]

    def counts(self, atoms: Sequence[str]) -> list[tuple[Count, ...]]:
        """What the rules behind each of these tests count.

        Parameters
        ----------
        atoms : ground atoms, such as `risk(2)`.

        Returns
        -------
        The counts of each atom.

        >>> Program("0.5 :: a. 0.5 :: b. both :- at_least(2, [a, b]).", {}).counts(["both"])
        [(Count(goal='at_least(2, …)', goals=('a', 'b')),)]
        """
        if not self.text.strip():
            return [() for _ in atoms]
        new = [atom for atom in dict.fromkeys(atoms) if atom not in self._counts]
        if new:
            reply = self.request({"do": "counted", "tests": new})
            for atom, counts in zip(new, reply["counted"], strict=True):
                self._counts[atom] = tuple(Count(entry["goal"], tuple(entry["goals"])) for entry in counts)
        return [self._counts[atom] for atom in atoms]

    def rules(self) -> dict[str, Rule]:
        """The predicates that rules and neural facts define, `gt_rank/2`, in the order of their first clauses.

        >>> Program("0.5 :: rich. happy :- rich.", {}).rules()
        {'happy/0': Rule(line=1, head='happy', needed=False, example='happy', repeats=False)}
        """
        if not self.text.strip():
            return {}
        reply = self.request({"do": "rules"})
        of_parts = frozenset[str]() if self.parts is None else self.parts.predicates
        return {
            rule["predicate"]: Rule(rule["line"], rule["head"], rule["needed"], rule["example"], rule["repeats"])
            for rule in reply["rules"]
            if rule["predicate"].rsplit("/", 1)[0] not in of_parts
        }

    def flaw(self, atom: str) -> str:
        """The value that a rule behind a test requires of a network which does not have it; empty where there is none.

        Parameters
        ----------
        atom : a ground atom.

        Returns
        -------
        A sentence that names the rule and the value.

        >>> from neuid3.data.columns import Tensor
        >>> program = Program("nn(n, [X], Y, [odd, even]) :: parity(X, Y). no :- parity(card, od).", {"card": Tensor((8,))})
        >>> program.flaw("no")
        "line 1, the rule for 'no/0' calls parity(card,od), but network 'n' has no value od; its values are odd, even.
        Did you mean 'odd'?"
        """
        if not self.text.strip():
            return ""
        return str(self.request({"do": "flaws", "tests": [atom]})["flaws"][0])

    def formula(self, atom: str) -> Formula:
        """The formula that a test stands for.

        Parameters
        ----------
        atom : a ground atom.

        Returns
        -------
        The formula.
        """
        return self.formulas([atom])[0]

    def formulas(self, atoms: Sequence[str]) -> list[Formula]:
        """The formulas of several tests, grounded together.

        Parameters
        ----------
        atoms : ground atoms, such as `gt_rank(first, second)`.

        Returns
        -------
        One formula for each atom.
        """
        new = [atom for atom in dict.fromkeys(atoms) if atom not in self._formulas]
        facts = [atom for atom in new if isinstance(self.schema.get(atom), (Boolean, Probability))]
        for atom in facts:
            self._formulas[atom] = fact(atom)
        rest = [atom for atom in new if atom not in self._formulas]
        if rest:
            reply = self.request({"do": "ground", "tests": rest})
            self._formulas.update(zip(rest, self._graph(reply), strict=True))
        return [self._formulas[atom] for atom in atoms]

    def open_goals(self, goals: Sequence[str]) -> list[OpenGoal]:
        """The values of goals with one open argument.

        Parameters
        ----------
        goals : atoms with one variable, such as `plus(first, second, Y)`.

        Returns
        -------
        The variable, values and expression of each goal.

        Raises
        ------
        NodeTestError : where a goal has no open argument or several, or a value is neither a number nor a name.

        >>> program = Program("size(a, 2). size(b, 3). area(X, Y) :- size(X, S), Y is S * S.", {})
        >>> (goal,) = program.open_goals(["area(b, Y)"])
        >>> goal.values, goal.expression
        ((GoalValue(value=9, atom='area(b,9)'),), 'size(b) * size(b)')
        """
        new = [goal for goal in dict.fromkeys(goals) if goal not in self._goals]
        if new:
            for goal, entry in zip(new, self.request({"do": "values", "goals": new})["goals"], strict=True):
                values = tuple(GoalValue(value["value"], value["atom"]) for value in entry["values"])
                self._goals[goal] = OpenGoal(entry["variable"], values, entry["expression"])
        return [self._goals[goal] for goal in goals]

    def set_formula(self, atom: str, formula: Formula) -> None:
        """Store the formula of a test that is known without grounding, as that of a family with a constant.

        Parameters
        ----------
        atom : a ground atom.
        formula : its formula.
        """
        self._formulas.setdefault(atom, formula)

    def formulas_or_none(self, atoms: Sequence[str]) -> list[Formula | None]:
        """The formulas of these tests, None for those that cannot be grounded.

        Parameters
        ----------
        atoms : ground atoms, such as `gt_rank(first, second)`.

        Returns
        -------
        One formula, or None, for each atom.
        """
        if not atoms:
            return []
        reply = self.request({"do": "ground", "tests": list(atoms), "tolerant": True})
        formulas = [
            formula if known else None for formula, known in zip(self._graph(reply), reply["known"], strict=True)
        ]
        self._formulas.update({atom: f for atom, f in zip(atoms, formulas, strict=True) if f is not None})
        return formulas

    def _graph(self, reply: Mapping[str, Any]) -> Iterable[Formula]:
        """The formulas of a reply to "ground"."""
        variables = [self._variable(entry) for entry in reply["variables"]]
        nodes: list[Formula] = []

        def part(reference: int | bool) -> Formula:
            if isinstance(reference, bool):
                return Truth(reference)
            node = nodes[abs(reference) - 1]
            return node if reference > 0 else negate(node)

        for entry in reply["nodes"]:
            match entry:
                case ["literal", index, value]:
                    nodes.append(Literal(variables[index], frozenset({value})))
                case ["compare" | "calculate" | "open", *_]:
                    nodes.append(comparison_from_json(entry))
                case ["and", children]:
                    nodes.append(And(tuple(part(child) for child in children)))
                case ["or", children]:
                    nodes.append(Or(tuple(part(child) for child in children)))
        return [part(root) for root in reply["roots"]]

    def heads(self, variable: ChoiceVariable | NeuralVariable) -> tuple[str, ...]:
        """The ground heads of a probabilistic choice, or the ground atom, without its value, of a neural declaration.

        Parameters
        ----------
        variable : a random variable of the program.

        Returns
        -------
        The atoms: one for each value of a choice, or one for a neural declaration.

        >>> from neuid3.data.columns import Tensor
        >>> program = Program("nn(n, [X], Y, [odd, even]) :: parity(X, Y).", {"card": Tensor((28, 28))})
        >>> program.heads(program.formula("parity(card, odd)").variable)
        ('parity(card)',)
        """
        number = variable.clause if isinstance(variable, ChoiceVariable) else variable.declaration
        return self._heads[number, variable.arguments]

    def _variable(self, entry: Mapping[str, Any]) -> Variable:
        """The random variable of an entry of a reply; its heads are stored for `heads`."""
        if entry["kind"] != "column":
            number = entry["clause"] if entry["kind"] == "choice" else entry["declaration"]
            self._heads[number, tuple(entry["arguments"])] = tuple(entry["heads"])
        match entry["kind"]:
            case "column" if self.parts is not None and entry["column"] in self.parts.variables:
                return self.parts.variables[entry["column"]]
            case "column":
                return ColumnVariable(entry["column"], domain_size(self.schema[entry["column"]]))
            case "choice":
                none = max(0.0, 1.0 - sum(entry["weights"]))
                return ChoiceVariable(entry["clause"], tuple(entry["arguments"]), (*entry["weights"], none))
            case _:
                inputs, arguments = tuple(entry["inputs"]), tuple(entry["arguments"])
                return NeuralVariable(entry["declaration"], entry["network"], inputs, arguments, entry["size"])


def comparison_from_json(entry: Sequence[Any]) -> Compare | CompareExpression | OpenCompare:
    """A comparison in a reply of the sandbox."""
    match entry:
        case ["compare", column, operator, constant]:
            return Compare(column, operator, constant)
        case ["calculate", steps, operator, constant]:
            return CompareExpression(expression_from_json(steps), operator, constant)
        case ["open", steps, operator]:
            return OpenCompare(expression_from_json(steps), operator)
        case _:
            raise AssertionError(f"{entry!r} is no comparison")


def domain_size(kind: Kind) -> int:
    """The number of values of a column's variable."""
    return len(kind.domain) if isinstance(kind, (Category, Distribution)) else 2


def fact(column: str) -> Literal:
    """The formula that a Boolean or probability column is true."""
    return Literal(ColumnVariable(column, 2), frozenset({1}))


def kind_to_json(kind: Kind) -> dict[str, Any]:
    """A kind as the sandbox reads it: its name, and its values where they are finite."""
    of_class = Number() if isinstance(kind, Number) else Tensor(kind.shape) if isinstance(kind, Tensor) else kind
    fields: dict[str, Any] = {"kind": kind_name(of_class)}
    if isinstance(kind, Date):
        fields["date"] = True
    if kind_name(kind) != fields["kind"]:
        fields["called"] = kind_name(kind)
    if isinstance(kind, (Category, Distribution)):
        fields["values"] = list(kind.domain)
    return fields
