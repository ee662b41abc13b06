"""The command `fit`: learn a tree from a table file."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.cli.common import FILE, FieldType, FiniteRange, concepts_option, limit_option, row_location
from neuid3.errors import DataError, LabelWarning, MissingFileError, did_you_mean
from neuid3.logic.sandbox import LIMIT_RULES, Limits
from neuid3.training.config import TRAINING_RULES, TrainingConfig
from neuid3.utils.files import check_writable, read_text
from neuid3.utils.output import set_outcome

if TYPE_CHECKING:
    import numpy.typing as npt

    from neuid3.data.reading import TableData
    from neuid3.data.reading.sheet import TextTable
    from neuid3.estimators.classifier import NeuID3Classifier
    from neuid3.logic.program import Declaration
    from neuid3.tree.anchors import Anchors
    from neuid3.tree.record import ConceptScore


@click.command()
@click.argument("table", type=FILE)
@click.option("--target", required=True, metavar="COLUMN", help="The column with the classes to predict.")
@click.option(
    "--background",
    type=FILE,
    metavar="FILE",
    help="Background knowledge: a ProbLog program with rules and neural predicates.",
)
@click.option(
    "--tests",
    multiple=True,
    metavar="ATOM",
    help="A candidate test, such as 'higher(second, first)'; may be repeated. 'auto', the default, generates all tests "
    "that the columns and rules allow.",
)
@click.option(
    "--mode",
    "modes",
    multiple=True,
    metavar="MODE",
    help="Mode declaration: the columns allowed as arguments of a rule, such as 'higher(+second, +first)'; may be repeated.",
)
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="COLUMN=KIND",
    help="Kind of a column: boolean, category, number, probability, image or ignore; may be repeated.",
)
@concepts_option
@click.option("--out", type=FILE, metavar="MODEL", help="File of the model.  [default: the table's name.neuid3]")
@click.option(
    "--held-out",
    type=FiniteRange(0, 0.9),
    default=0.2,
    metavar="FRACTION",
    show_default=True,
    help="Fraction of rows held out to score the tree.",
)
@click.option(
    "--pos-label", metavar="CLASS", help="Positive class, which rules describe.  [default: the second in sort order]"
)
@click.option(
    "--class-weight",
    multiple=True,
    metavar="CLASS=WEIGHT",
    help="Weight of the rows of a class; may be repeated. 'balanced' gives all classes the same total weight.",
)
@click.option("--max-depth", type=click.IntRange(0), metavar="N", help="Maximum number of tests on a path.")
@click.option("--time-limit", type=FiniteRange(0), metavar="SECONDS", help="Stop growing the tree after this time.")
@click.option(
    "--pruning",
    type=FiniteRange(0),
    metavar="NUMBER",
    help="Strength of pruning: the information that a split must gain; 0 keeps all splits.  [default: 0.75]",
)
@click.option(
    "--max-candidates",
    type=FieldType(LIMIT_RULES, "max_candidates"),
    metavar="N",
    help="Maximum number of candidate tests generated from rules.  [default: 1000]",
)
@click.option(
    "--restarts",
    type=FieldType(TRAINING_RULES, "restarts"),
    metavar="N",
    help="Number of random restarts of a network.  [default: 4]",
)
@click.option(
    "--epochs",
    type=FieldType(TRAINING_RULES, "epochs"),
    metavar="N",
    help="Training epochs of a network at a node.  [default: 30]",
)
@click.option(
    "--learning-rate",
    type=FieldType(TRAINING_RULES, "learning_rate"),
    metavar="NUMBER",
    help="Learning rate of Adam.  [default: 0.003]",
)
@click.option(
    "--validation-fraction",
    type=FieldType(TRAINING_RULES, "validation_fraction"),
    metavar="FRACTION",
    help="Fraction of rows in the validation split, by which networks are compared.  [default: 0.2]",
)
@click.option(
    "--read-together",
    "shared",
    is_flag=True,
    help="Train networks on all image columns together, for four or more columns that show the same kind of object.",
)
@click.option(
    "--bank", type=FILE, metavar="FOLDER", help="Bank of trained tests that are tried first (see neuid3 bank)."
)
@click.option(
    "--checkpoint",
    type=FILE,
    metavar="FOLDER",
    help="Save every finished node in this folder; the same command resumes an interrupted fit.",
)
@limit_option
@click.option(
    "--image-size",
    type=click.IntRange(4, 1024),
    default=64,
    metavar="PIXELS",
    show_default=True,
    help="Images with a longer side are scaled down to it.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    metavar="N",
    show_default=True,
    help="Random seed; the same seed learns the same tree.",
)
@click.option(
    "--jobs",
    type=int,
    default=-1,
    metavar="N",
    show_default=True,
    help="Number of workers that train networks; -1: one per core.",
)
@click.option(
    "--forget-rows",
    is_flag=True,
    help="Store no digests of training rows in the model; they cannot be recognized later.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def fit(
    table: Path,
    target: str,
    background: Path | None,
    tests: tuple[str, ...],
    modes: tuple[str, ...],
    types: tuple[str, ...],
    concept_file: Path | None,
    out: Path | None,
    held_out: float,
    pos_label: str | None,
    class_weight: tuple[str, ...],
    max_depth: int | None,
    time_limit: float | None,
    pruning: float | None,
    max_candidates: int | None,
    restarts: int | None,
    epochs: int | None,
    learning_rate: float | None,
    validation_fraction: float | None,
    shared: bool,
    limits: Limits | None,
    bank: Path | None,
    checkpoint: Path | None,
    image_size: int,
    seed: int,
    jobs: int,
    forget_rows: bool,
    as_json: bool,
) -> None:
    """Learn a tree from a table and save it.

    TABLE is a CSV or Parquet file whose first line names the columns. The kind of each column is inferred, and printed before
    learning starts; cells with the path of a PNG or JPEG file, relative to the table's folder, are images. The tree is
    scored on held-out rows.

    \b
    Examples:
      neuid3 fit iris.csv --target species
      neuid3 fit cards.csv --target result --background rules.pl --out cards.neuid3
    """
    if jobs == 0:
        raise DataError("--jobs 0 means no workers; give 1 or more, or -1 for one per core.")
    out = out or Path(f"{table.stem}.neuid3")
    check_writable(out, table, *(path for path in (background, concept_file) if path is not None))
    rules = "" if background is None else read_text(background, "file of rules")
    if bank is not None and not bank.is_dir():
        raise MissingFileError(f"There is no bank {bank}; create one with `neuid3 bank add`.")

    from neuid3.data.reading.sheet import open_text_table
    from neuid3.data.reading.table import read_text_table
    from neuid3.tree.anchors import distinct, selected_concepts
    from neuid3.tree.labels import label_columns, read_labels

    echo = (lambda *_: None) if as_json else click.echo
    text_table = open_text_table(table)
    declarations = _declarations(rules, limits, text_table, _declared(types), concept_file)
    data = read_text_table(
        text_table,
        _declared(types),
        target=target,
        image_size=image_size,
        concept_columns=label_columns(text_table.columns, declarations),
        concept_file=concept_file,
    )
    assert data.labels is not None
    echo(f"{table.name}: {len(data.examples):,} rows\n\n{data}\n")
    labels = read_labels(data.concepts, data.examples, declarations, location=row_location(data.lines))
    anchors = distinct(labels)
    test_rows = _held_out_rows(data.labels, held_out, seed, anchors)
    echo(f"Learning {target!r} from {(~test_rows).sum():,} rows, with {test_rows.sum():,} held out.")

    from neuid3.estimators.classifier import NeuID3Classifier

    training = {
        "restarts": restarts,
        "epochs": epochs,
        "learning_rate": learning_rate,
        "validation_fraction": validation_fraction,
        "shared": shared,
    }
    if max_candidates is not None:
        limits = replace(limits or Limits(), max_candidates=max_candidates)
    started = time.monotonic()
    clf = NeuID3Classifier(
        background=rules,
        tests=list(tests) or "auto",
        modes=list(modes) or None,
        bank=bank,
        pos_label=pos_label,
        class_weight=_weights(class_weight, data.labels),
        max_depth=max_depth,
        time_limit=time_limit,
        training=TrainingConfig(**_given(training)),
        limits=limits,
        n_jobs=jobs,
        random_state=seed,
        verbose=1,
        **_given({"pruning": pruning}),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)  # it counts the rows that are learned from; lines are told below
        clf.fit(
            data.examples[~test_rows],
            data.labels[~test_rows],
            checkpoint=checkpoint,
            concepts=selected_concepts(anchors, declarations, ~test_rows) or None,
        )
    seconds = time.monotonic() - started
    clf.save(out, remember_rows=not forget_rows)  # before anything else can fail
    set_outcome(f"the model is saved in {out}")
    scores = _scores(clf, data, test_rows)
    if labels:
        _warn_of_contradictions(clf, data, labels)
    concepts = _concept_scores(clf, data, selected_concepts(anchors, declarations, test_rows), test_rows)
    clf.save(out, remember_rows=not forget_rows)  # with its score
    networks = f", with {len(clf.networks_)} network{'s' * (len(clf.networks_) > 1)}" if clf.networks_ else ""
    echo(f"\nThe tree{networks}, learned in {seconds:.0f} s:\n\n{clf.export_text()}\n")
    echo(_scores_text(scores) + "\n")
    if concepts:
        echo("\n".join(f"Labels of {score}." for score in concepts) + "\n")
    echo(f"Saved to {out}: the tree learned from {(~test_rows).sum():,} rows.")
    if as_json:
        click.echo(json.dumps(_report(clf, data, scores, concepts, out, seconds), indent=1, ensure_ascii=False))


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that the user has given; the others have the defaults of the library."""
    return {name: value for name, value in options.items() if value is not None}


def _declared(types: tuple[str, ...]) -> dict[str, str]:
    declared = {}
    for entry in types:
        name, equals, kind = entry.rpartition("=")
        if not equals or not name:
            raise DataError(f"--type {entry!r} is incomplete; write --type COLUMN=KIND.")
        declared[name.strip()] = kind.strip()
    return declared


def _weights(given: tuple[str, ...], labels: npt.NDArray[Any]) -> str | dict[str, float] | None:
    """The parameter `class_weight` of the classifier."""
    if given in ((), ("balanced",)):
        return given[0] if given else None
    classes, weights = set(labels.tolist()), {}
    for entry in given:
        name, _, number = entry.rpartition("=")
        if name not in classes:
            raise DataError(
                f"--class-weight {entry!r} names no class; write CLASS=WEIGHT, or 'balanced' alone."
                f"{did_you_mean(name or entry, classes)}"
            )
        weights[name] = _weight(number, entry)
    return weights


def _weight(number: str, entry: str) -> float:
    try:
        weight = float(number)
    except ValueError:
        weight = nan
    if not (isfinite(weight) and weight >= 0):
        raise DataError(f"--class-weight {entry!r} has a weight that is negative or not a number; give 0 or more.")
    return weight


def _declarations(
    rules: str, limits: Limits | None, table: TextTable, types: Mapping[str, str], concept_file: Path | None
) -> Mapping[int, Declaration]:
    """The neural declarations of the rules, where labels of concepts may refer to them."""
    from neuid3.data.reading.table import text_schema
    from neuid3.logic.program import Program
    from neuid3.tree.labels import looks_like_call

    if concept_file is None and not any(map(looks_like_call, table.columns)):
        return {}
    return Program(rules, text_schema(table, types), limits).declarations


def _warn_of_contradictions(clf: NeuID3Classifier, data: TableData, labels: Anchors) -> None:
    """Warn where labels contradict the classes of more lines of the table than noise explains."""
    import numpy as np

    from neuid3.identifiability import contradiction_message

    assert data.labels is not None
    known = {label: number for number, label in enumerate(clf.classes_.tolist())}
    classes = np.array([known[label] for label in data.labels.tolist()])
    message = contradiction_message(clf.model_, data.examples, labels, classes, row_location(data.lines))
    if message is not None:
        warnings.warn(message, LabelWarning, stacklevel=2)


def _held_out_rows(labels: npt.NDArray[Any], fraction: float, seed: int, anchors: Anchors) -> npt.NDArray[Any]:
    """The mask of the held-out rows; where concepts have few labels, none of these is among them."""
    import numpy as np

    from neuid3.data.splits import exchanged, stratified
    from neuid3.tree.anchors import anchored_rows

    held_out = stratified(labels, fraction, np.random.default_rng(seed))
    if not anchors:
        return held_out
    return exchanged(held_out, anchored_rows(anchors, len(labels)), labels, np.random.default_rng(seed))


def _concept_scores(
    clf: NeuID3Classifier, data: TableData, concepts: Mapping[str, Any], test_rows: npt.NDArray[Any]
) -> tuple[ConceptScore, ...]:
    """The concept accuracy on labels of held-out rows, where there are any, else on those that the fit held out."""
    return clf.score_concepts(data.examples[test_rows], concepts) if concepts else clf.concept_scores_


# Scores ---------------------------------------------------------------------------------------------


def _scores(clf: NeuID3Classifier, data: TableData, test_rows: npt.NDArray[Any]) -> Mapping[str, Any] | None:
    """The scores of the tree on held-out rows, and of the majority class; the log loss and accuracy are stored in the model."""
    if not test_rows.any():
        return None
    import numpy as np
    from sklearn.metrics import f1_score

    from neuid3.tree.record import Score

    assert data.labels is not None
    labels, predictions = data.labels[test_rows], clf.predict(data.examples[test_rows])
    recorded = clf.record_score(data.examples[test_rows], labels)
    assert isinstance(recorded, Score)
    names, counts = np.unique(data.labels[~test_rows], return_counts=True)
    majority = names[counts.argmax()]
    f1 = f1_score(labels, predictions, labels=clf.classes_, average=None, zero_division=0.0)
    return {
        "rows": int(test_rows.sum()),
        "accuracy": float((predictions == labels).mean()),
        "log_loss": recorded.log_loss,
        "most_frequent": {"class": str(majority), "accuracy": float((labels == majority).mean())},
        "classes": [
            {"class": str(label), "rows": int((labels == label).sum()), "f1": float(score)}
            for label, score in zip(clf.classes_, f1, strict=True)
        ],
    }


def _scores_text(scores: Mapping[str, Any] | None) -> str:
    if scores is None:
        return "No row was held out, so there is no score on unseen rows."
    from neuid3.export.labels import class_name

    majority = scores["most_frequent"]
    names = [class_name(score["class"]) for score in scores["classes"]]
    width = max(5, *map(len, names))
    rows = [
        f"  {name:<{width}}  {score['f1']:.3f}  {score['rows']:>6,}"
        for name, score in zip(names, scores["classes"], strict=True)
    ]
    head = (
        f"On {scores['rows']:,} held-out rows: accuracy {scores['accuracy']:.3f} "
        f"(majority class {majority['class']!r}: {majority['accuracy']:.3f})"
    )
    return "\n".join([head, f"  {'class':<{width}}  F1       rows", *rows])


def _report(
    clf: NeuID3Classifier,
    data: TableData,
    scores: Mapping[str, Any] | None,
    concepts: Sequence[ConceptScore],
    out: Path,
    seconds: float,
) -> dict[str, Any]:
    return {
        "model": str(out),
        "rows": len(data.examples),
        "columns": [{"name": c.name, "kind": c.kind, "found": c.details} for c in data.columns],
        "notes": list(data.notes),
        "classes": clf.classes_.tolist(),
        "tree": clf.export_text(),
        "networks": sorted(clf.networks_),
        "held_out": scores,
        **({"concepts": [asdict(score) for score in concepts]} if concepts else {}),
        "seconds": round(seconds, 3),
    }
