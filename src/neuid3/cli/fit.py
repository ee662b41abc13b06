"""How is a tree learned from a table in a file?"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuid3.cli.common import FILE, FiniteRange, limit_option
from neuid3.errors import DataError, MissingFileError, did_you_mean
from neuid3.utils.files import check_writable, read_text
from neuid3.utils.output import remember

if TYPE_CHECKING:
    import numpy.typing as npt

    from neuid3.data.reading import Read
    from neuid3.estimators.classifier import NeuID3Classifier
    from neuid3.logic.sandbox import Limits


@click.command()
@click.argument("table", type=FILE)
@click.option("--target", required=True, metavar="COLUMN", help="The column with the classes to predict.")
@click.option("--background", type=FILE, metavar="FILE", help="Rules and neural declarations, a ProbLog program.")
@click.option(
    "--tests",
    multiple=True,
    metavar="ATOM",
    help="A test that may be asked, such as 'higher(second, first)'; may be repeated. 'auto', which is also the default, "
    "means all that the columns and rules offer.",
)
@click.option(
    "--mode",
    "modes",
    multiple=True,
    metavar="MODE",
    help="Which columns may fill which argument of a rule, such as 'higher(+second, +first)'; may be repeated.",
)
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="COLUMN=KIND",
    help="What a column is: boolean, category, number, probability, image or ignore; may be repeated.",
)
@click.option("--out", type=FILE, metavar="MODEL", help="Where the model is saved.  [default: the table's name.neuid3]")
@click.option(
    "--held-out",
    type=FiniteRange(0, 0.9),
    default=0.2,
    metavar="SHARE",
    show_default=True,
    help="The share of rows that is kept apart to measure the tree.",
)
@click.option(
    "--pos-label", metavar="CLASS", help="The class that rules are written for.  [default: the second in sort order]"
)
@click.option(
    "--class-weight",
    multiple=True,
    metavar="CLASS=WEIGHT",
    help="What a row of this class counts; may be repeated. 'balanced' means that all classes count the same.",
)
@click.option("--max-depth", type=click.IntRange(0), metavar="N", help="The most tests on a path.")
@click.option("--time-limit", type=FiniteRange(0), metavar="SECONDS", help="Grow no further once this time is over.")
@click.option(
    "--pruning",
    type=FiniteRange(0),
    metavar="NUMBER",
    help="How much a split must tell to be kept; 0 keeps all.  [default: 0.75]",
)
@click.option(
    "--max-candidates",
    type=click.IntRange(1),
    metavar="N",
    help="The most tests that rules may be expanded to.  [default: 1000]",
)
@click.option(
    "--restarts", type=click.IntRange(1), metavar="N", help="How many fresh starts of a network compete.  [default: 4]"
)
@click.option(
    "--epochs", type=click.IntRange(1), metavar="N", help="How often networks go through a node's rows.  [default: 30]"
)
@click.option(
    "--learning-rate", type=FiniteRange(0, min_open=True), metavar="NUMBER", help="Adam's rate.  [default: 0.003]"
)
@click.option(
    "--validation-fraction",
    type=FiniteRange(0, 1, max_open=True),
    metavar="SHARE",
    help="The share of rows that networks are not trained on and are compared by.  [default: 0.2]",
)
@click.option(
    "--read-together",
    is_flag=True,
    help="Let networks learn to read from all columns of images at once, if four or more show the same kind of thing.",
)
@click.option("--bank", type=FILE, metavar="FOLDER", help="Tests trained before, to be tried first (see neuid3 bank).")
@click.option(
    "--checkpoint",
    type=FILE,
    metavar="FOLDER",
    help="Keep every finished node here; the same command goes on where it was stopped.",
)
@limit_option
@click.option(
    "--image-size",
    type=click.IntRange(4, 1024),
    default=64,
    metavar="PIXELS",
    show_default=True,
    help="Images with a longer side are shrunk to it.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    metavar="N",
    show_default=True,
    help="The same seed learns the same tree.",
)
@click.option(
    "--jobs",
    type=int,
    default=-1,
    metavar="N",
    show_default=True,
    help="Workers that train networks; -1: one for each core.",
)
@click.option(
    "--forget-rows",
    is_flag=True,
    help="Write no digests of rows into the model; later nobody can recognise which rows it was learned from.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def fit(
    table: Path,
    target: str,
    background: Path | None,
    tests: tuple[str, ...],
    modes: tuple[str, ...],
    types: tuple[str, ...],
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
    read_together: bool,
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

    TABLE is a CSV or Parquet file whose first line names the columns. The kind of each column is inferred, and told before
    learning starts; cells that hold the path of a PNG or JPEG file, from the table's folder, are images. The tree is
    measured on rows that were kept apart.

    \b
    Examples:
      neuid3 fit iris.csv --target species
      neuid3 fit cards.csv --target result --background rules.pl --out cards.neuid3
    """
    if jobs == 0:
        raise DataError("0 workers do nothing; give 1 or more, or -1 for one on each core.")
    out = out or Path(f"{table.stem}.neuid3")
    check_writable(out, table, *(path for path in (background,) if path is not None))
    rules = "" if background is None else read_text(background, "file of rules")
    if bank is not None and not bank.is_dir():
        raise MissingFileError(f"There is no bank {bank}; `neuid3 bank add` makes one.")

    from neuid3.data.reading import read_table

    say = (lambda *_: None) if as_json else click.echo
    read = read_table(table, _declared(types), target=target, image_size=image_size)
    assert read.labels is not None
    say(f"{table.name}: {len(read.examples):,} rows\n\n{read}\n")
    apart = _kept_apart(read.labels, held_out, seed)
    say(f"Learning {target!r} from {(~apart).sum():,} rows, with {apart.sum():,} kept apart.")

    from neuid3.estimators.classifier import NeuID3Classifier

    numbers: dict[str, Any] = {
        "pruning": pruning,
        "max_candidates": max_candidates,
        "restarts": restarts,
        "epochs": epochs,
        "learning_rate": learning_rate,
        "validation_fraction": validation_fraction,
    }
    started = time.monotonic()
    clf = NeuID3Classifier(
        background=rules,
        tests=list(tests) or "auto",
        modes=list(modes) or None,
        bank=bank,
        pos_label=pos_label,
        class_weight=_weights(class_weight, read.labels),
        max_depth=max_depth,
        time_limit=time_limit,
        read_together=read_together,
        limits=limits,
        n_jobs=jobs,
        random_state=seed,
        verbose=1,
        **{name: number for name, number in numbers.items() if number is not None},
    ).fit(read.examples[~apart], read.labels[~apart], checkpoint=checkpoint)
    seconds = time.monotonic() - started
    clf.save(out, remember_rows=not forget_rows)  # before anything else can go wrong
    remember(f"the model is saved in {out}")
    scores = _scores(clf, read, apart)
    clf.save(out, remember_rows=not forget_rows)  # and again, now that it has a score to remember
    say(f"\nThe tree, learned in {seconds:.0f} s:\n\n{clf.export_text()}\n")
    say(_told(scores) + "\n")
    say(f"Saved to {out}: the tree as it was learned from {(~apart).sum():,} rows.")
    if as_json:
        click.echo(json.dumps(_report(clf, read, scores, out, seconds), indent=1, ensure_ascii=False))


def _declared(types: tuple[str, ...]) -> dict[str, str]:
    declared = {}
    for said in types:
        name, equals, kind = said.rpartition("=")
        if not equals or not name:
            raise DataError(f"--type {said!r} does not say what is what; write --type COLUMN=KIND.")
        declared[name.strip()] = kind.strip()
    return declared


def _weights(given: tuple[str, ...], labels: npt.NDArray[Any]) -> str | dict[str, float] | None:
    """What `class_weight` is to be."""
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
        raise DataError(f"--class-weight {entry!r} has a weight that is negative or no number; give 0 or more.")
    return weight


def _kept_apart(labels: npt.NDArray[Any], share: float, seed: int) -> npt.NDArray[Any]:
    import numpy as np

    from neuid3.data.tables import stratified

    return stratified(labels, share, np.random.default_rng(seed))


# Scores ---------------------------------------------------------------------------------------------


def _scores(clf: NeuID3Classifier, read: Read, apart: npt.NDArray[Any]) -> Mapping[str, Any] | None:
    """How well the tree does on the rows that were kept apart, beside always saying what was most frequent.

    The model remembers it.
    """
    if not apart.any():
        return None
    import numpy as np
    from sklearn.metrics import f1_score

    assert read.labels is not None
    truth, answers = read.labels[apart], clf.predict(read.examples[apart])
    remembered = clf.record_score(read.examples[apart], truth)
    names, counts = np.unique(read.labels[~apart], return_counts=True)
    usual = names[counts.argmax()]
    f1 = f1_score(truth, answers, labels=clf.classes_, average=None, zero_division=0.0)
    return {
        "rows": int(apart.sum()),
        "accuracy": float((answers == truth).mean()),
        "log_loss": remembered.log_loss,
        "most_frequent": {"class": str(usual), "accuracy": float((truth == usual).mean())},
        "classes": [
            {"class": str(label), "rows": int((truth == label).sum()), "f1": float(score)}
            for label, score in zip(clf.classes_, f1, strict=True)
        ],
    }


def _told(scores: Mapping[str, Any] | None) -> str:
    if scores is None:
        return "No row was kept apart, so nothing says how well it does on others."
    from neuid3.export.labels import class_name

    usual = scores["most_frequent"]
    names = [class_name(told["class"]) for told in scores["classes"]]
    width = max(5, *map(len, names))
    rows = [
        f"  {name:<{width}}  {told['f1']:.3f}  {told['rows']:>6,}"
        for name, told in zip(names, scores["classes"], strict=True)
    ]
    head = (
        f"On the {scores['rows']:,} rows kept apart: accuracy {scores['accuracy']:.3f} "
        f"(always {usual['class']!r}: {usual['accuracy']:.3f})"
    )
    return "\n".join([head, f"  {'class':<{width}}  F1       rows", *rows])


def _report(
    clf: NeuID3Classifier, read: Read, scores: Mapping[str, Any] | None, out: Path, seconds: float
) -> dict[str, Any]:
    return {
        "model": str(out),
        "rows": len(read.examples),
        "columns": [{"name": c.name, "kind": c.kind, "found": c.told} for c in read.columns],
        "notes": list(read.notes),
        "classes": clf.classes_.tolist(),
        "tree": clf.export_text(),
        "held_out": scores,
        "seconds": round(seconds, 3),
    }
