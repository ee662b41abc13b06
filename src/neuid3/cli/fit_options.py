"""The options of the command `fit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import click

from neuid3.cli.common import FILE, Command, FieldType, FiniteRange, concepts_option, limit_option, parts_options
from neuid3.data.reading.pictures import MAX_IMAGE_SIDE
from neuid3.encoders.encoder import SELF, Encoder
from neuid3.errors import DataError, ParameterError
from neuid3.logic.sandbox import LIMIT_RULES, Limits
from neuid3.training.config import TRAINING_RULES

# What `--model` may be; the first is the default.
MODELS = ("tree", "forest", "boosting")


@dataclass(frozen=True)
class FitOptions:
    """What the user has given, with one field for each parameter of the command; None where an option was left out."""

    table: Path
    target: str
    task: str
    background: Path | None
    parts: tuple[str, ...]
    part_relations: tuple[str, ...]
    relations: tuple[str, ...]
    tests: tuple[str, ...]
    modes: tuple[str, ...]
    leaves: tuple[str, ...]
    types: tuple[str, ...]
    model: str
    trees: int | None
    max_splits: int | None
    concept_file: Path | None
    out: Path | None
    held_out: float
    calibration: float
    groups: str | None
    weights: str | None
    validation: Path | None
    pos_label: str | None
    class_weight: tuple[str, ...]
    max_depth: int | None
    time_limit: float | None
    pruning: float | None
    monotonic_cst: tuple[str, ...]
    max_candidates: int | None
    max_variables: int | None
    restarts: int | None
    epochs: int | None
    learning_rate: float | None
    validation_fraction: float | None
    shared: bool
    training: tuple[str, ...]
    parameters: tuple[str, ...]
    networks: tuple[str, ...]
    limits: Limits | None
    bank: Path | None
    checkpoint: Path | None
    image_size: int
    encoder: str | None
    encoder_weights: Path | None
    encoder_size: int | None
    seed: int
    jobs: int
    verbose: int
    forget_rows: bool
    as_json: bool

    @property
    def model_file(self) -> Path:
        """The file that the model is written to."""
        return self.out or Path(f"{self.table.stem}.neuid3")

    @property
    def picture_encoder(self) -> Encoder | None:
        """The encoder of pictures or texts, whose vectors are kept beside the table; None without one."""
        if self.encoder in (None, SELF):
            for option, value in (("--encoder-weights", self.encoder_weights), ("--encoder-size", self.encoder_size)):
                if value is not None:
                    raise DataError(
                        f"{option} is for an architecture by name, such as --encoder resnet18; name one, or leave it out."
                    )
        if self.encoder is None:
            return None
        cache = self.table.with_name(f"{self.table.stem}.encoded")
        return Encoder(self.encoder, self.encoder_weights, self.encoder_size, cache)

    @property
    def input_files(self) -> tuple[Path, ...]:
        """The files that the command reads, which the model must not overwrite."""
        files = (self.table, self.background, self.concept_file, self.validation)
        return tuple(path for path in files if path is not None)


# In the order in which the help lists them.
_PARAMETERS = (
    click.argument("table", type=FILE),
    click.option(
        "--target", required=True, metavar="COLUMN", help="The column with the classes or numbers to predict."
    ),
    click.option(
        "--task",
        type=click.Choice(["auto", "classification", "regression"]),
        default="auto",
        show_default=True,
        help="Whether classes or numbers are predicted. 'auto' predicts numbers where the target is a number column with a value "
        "that is not whole, or with more than 20 different values.",
    ),
    parts_options,
    click.option(
        "--background",
        type=FILE,
        metavar="FILE",
        help="Background knowledge: a ProbLog program with rules and neural predicates.",
    ),
    click.option(
        "--relations",
        multiple=True,
        metavar="NAME=RELATION,…",
        help="Relations of a neural predicate or a category, such as rank=order,equal or 'rank[1..5]=order', for which rules "
        "are written (see neuid3 rules --list); may be repeated.",
    ),
    click.option(
        "--tests",
        multiple=True,
        metavar="ATOM",
        help="A candidate test, such as 'higher(second, first)'; may be repeated. 'auto', the default, generates all tests "
        "that the columns and rules allow.",
    ),
    click.option(
        "--mode",
        "modes",
        multiple=True,
        metavar="MODE",
        help="Mode declaration: the columns allowed as arguments of a rule, such as 'higher(+second, +first)', or a literal over "
        "parts, such as 'load(+car, -load)'; may be repeated.",
    ),
    click.option(
        "--leaf",
        "leaves",
        multiple=True,
        metavar="GOAL",
        help="Goal whose value is the class, such as 'plus(first, second, Y)', or a mode of such goals; may be repeated.",
    ),
    click.option(
        "--model",
        type=click.Choice(MODELS),
        default=MODELS[0],
        show_default=True,
        help="What is learned: one tree, a forest, or a boosted sum of small trees.",
    ),
    click.option("--trees", type=click.IntRange(1), metavar="N", help="Number of trees of a forest.  [default: 100]"),
    click.option(
        "--max-splits",
        type=click.IntRange(1),
        metavar="N",
        help="Maximum number of splits of a boosted sum, all trees together; 20 keep it readable.  [default: 5000]",
    ),
    click.option(
        "--type",
        "types",
        multiple=True,
        metavar="COLUMN=KIND",
        help="Kind of a column: boolean, category, number, probability, image or ignore; may be repeated.",
    ),
    concepts_option,
    click.option("--out", type=FILE, metavar="MODEL", help="File of the model.  [default: the table's name.neuid3]"),
    click.option(
        "--held-out",
        type=FiniteRange(0, 0.9),
        default=0.2,
        metavar="FRACTION",
        show_default=True,
        help="Fraction of rows held out to score the tree.",
    ),
    click.option(
        "--calibration",
        type=FiniteRange(0, 0.9),
        default=0.0,
        metavar="FRACTION",
        show_default=True,
        help="Fraction of rows held out to calibrate the tree, so that `predict --coverage` can be used.",
    ),
    click.option(
        "--groups",
        metavar="COLUMN",
        help="Column with the group of each row, such as the patient. Rows of a group are learned from or held out together, and "
        "the column is no candidate test.",
    ),
    click.option("--weights", metavar="COLUMN", help="Column with the weight of each row, 0 or more."),
    click.option(
        "--validation",
        type=FILE,
        metavar="TABLE",
        help="Table with the rows that networks are compared on, instead of a fraction of TABLE.",
    ),
    click.option(
        "--pos-label",
        metavar="CLASS",
        help="Positive class, which rules describe.  [default: the second in sort order]",
    ),
    click.option(
        "--class-weight",
        multiple=True,
        metavar="CLASS=WEIGHT",
        help="Weight of the rows of a class; may be repeated. 'balanced' gives all classes the same total weight.",
    ),
    click.option("--max-depth", type=click.IntRange(0), metavar="N", help="Maximum number of tests on a path."),
    click.option("--time-limit", type=FiniteRange(0), metavar="SECONDS", help="Stop growing the tree after this time."),
    click.option(
        "--pruning",
        type=FiniteRange(0),
        metavar="NUMBER",
        help="Strength of pruning: the information that a split must gain; 0 keeps all splits.  [default: 0.75 for classes, 0.5 where queries over parts are tried, 0.6 for numbers, and cross-validation where numbers are cut]",
    ),
    click.option(
        "--monotone",
        "monotonic_cst",
        multiple=True,
        metavar="COLUMN=DIRECTION",
        help="Monotone constraint: 1 where the probability of the positive class never falls as the column rises, -1 where it "
        "never rises; may be repeated.",
    ),
    click.option(
        "--max-candidates",
        type=FieldType(LIMIT_RULES, "max_candidates"),
        metavar="N",
        help="Maximum number of candidate tests generated from rules.  [default: 1000]",
    ),
    click.option(
        "--max-variables",
        type=FieldType(LIMIT_RULES, "max_variables"),
        metavar="N",
        help="Maximum number of variables of a query over parts.  [default: 4]",
    ),
    click.option(
        "--restarts",
        type=FieldType(TRAINING_RULES, "restarts"),
        metavar="N",
        help="Number of random restarts of a network.  [default: 4]",
    ),
    click.option(
        "--epochs",
        type=FieldType(TRAINING_RULES, "epochs"),
        metavar="N",
        help="Training epochs of a network at a node.  [default: 30]",
    ),
    click.option(
        "--learning-rate",
        type=FieldType(TRAINING_RULES, "learning_rate"),
        metavar="NUMBER",
        help="Learning rate of Adam.  [default: 0.003]",
    ),
    click.option(
        "--validation-fraction",
        type=FieldType(TRAINING_RULES, "validation_fraction"),
        metavar="FRACTION",
        help="Fraction of rows in the validation split, by which networks are compared.  [default: 0.2]",
    ),
    click.option(
        "--read-together",
        "shared",
        is_flag=True,
        help="Train networks on all image columns together, for four or more columns that show the same kind of object.",
    ),
    click.option(
        "--training",
        multiple=True,
        metavar="FIELD=VALUE",
        help="Any other field of the training of networks, such as batch_size=32, max_steps=none or augment=false, or 'paper' "
        "for the paper's training; may be repeated.",
    ),
    click.option(
        "--parameter",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE",
        help="Any parameter of the Python estimator that has no option, such as min_mass=20, criterion=gini or oob_score=true; "
        "may be repeated.",
    ),
    click.option(
        "--network",
        "networks",
        multiple=True,
        metavar="NAME=MODEL",
        help="Network that comes trained: that of the same name in another model, or MODEL:OTHER for another one; may be "
        "repeated.",
    ),
    click.option(
        "--bank", type=FILE, metavar="FOLDER", help="Bank of trained tests that are tried first (see neuid3 bank)."
    ),
    click.option(
        "--checkpoint",
        type=FILE,
        metavar="FOLDER",
        help="Save every finished node in this folder; the same command resumes an interrupted fit.",
    ),
    limit_option,
    click.option(
        "--image-size",
        type=click.IntRange(4, 1024),
        default=MAX_IMAGE_SIDE,
        metavar="PIXELS",
        show_default=True,
        help="Images with a longer side are scaled down to it.",
    ),
    click.option(
        "--encoder",
        metavar="NAME",
        help="What turns each picture into a vector that networks read in its place: 'self', learned from the pictures of the "
        "table; or an architecture of torchvision or timm, such as 'resnet18'. Or each text: 'sentence-transformers/NAME'. Vectors are kept in a folder beside the table.",
    ),
    click.option(
        "--encoder-weights",
        type=FILE,
        metavar="FILE",
        help="Weights of the architecture, as safetensors or saved by torch; nothing is downloaded.",
    ),
    click.option(
        "--encoder-size",
        type=click.IntRange(1),
        metavar="PIXELS",
        help="Height and width that pictures are scaled to for the architecture.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        metavar="N",
        show_default=True,
        help="Random seed; the same seed learns the same tree.",
    ),
    click.option(
        "--jobs",
        type=int,
        default=-1,
        metavar="N",
        show_default=True,
        help="Number of workers that train networks; -1: one per core.",
    ),
    click.option(
        "--verbose",
        type=click.IntRange(0, 2),
        default=1,
        metavar="N",
        show_default=True,
        help="Progress on standard error: 0 for none, 1 for nodes, 2 for the gains of networks too.",
    ),
    click.option(
        "--forget-rows",
        is_flag=True,
        help="Store no digests of training rows in the model; they cannot be recognized later.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs."),
)


def fit_parameters(command: Command) -> Command:
    """Add the argument and the options of the command `fit`; `FitOptions` has a field for each."""
    return reduce(lambda decorated, parameter: parameter(decorated), reversed(_PARAMETERS), command)


def read_relations(given: Sequence[str]) -> dict[str, list[str]] | None:
    """The relations of `--relations NAME=RELATION,…`.

    >>> read_relations(["rank=order,equal", "size[small, large]=order"])
    {'rank': ['order', 'equal'], 'size[small, large]': ['order']}
    """
    relations: dict[str, list[str]] = {}
    for entry in given:
        name, sign, names = entry.rpartition("=")
        if not sign or not name.strip() or not names.strip():
            raise ParameterError(f"--relations {entry} names no relation; write it as in --relations rank=order,equal.")
        relations.setdefault(name.strip(), []).extend(part.strip() for part in names.split(","))
    return relations or None
