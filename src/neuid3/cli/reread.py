"""The command `reread`: a model in the form under which labels are most likely."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from neuid3.cli.common import (
    FILE,
    concepts_option,
    limit_option,
    model_concepts,
    model_examples,
    open_inputs,
    parts_options,
)
from neuid3.errors import DataError
from neuid3.utils.files import check_writable
from neuid3.utils.output import set_outcome

if TYPE_CHECKING:
    from neuid3.estimators.classifier import NeuID3Classifier
    from neuid3.logic.sandbox import Limits
    from neuid3.tree.record import ConceptScore


@click.command()
@click.argument("model", type=FILE)
@click.argument("table", type=FILE)
@click.option("--out", type=FILE, required=True, metavar="MODEL", help="File of the new model.")
@parts_options
@concepts_option
@limit_option
def reread(
    model: Path,
    table: Path,
    out: Path,
    parts: tuple[str, ...],
    part_relations: tuple[str, ...],
    concept_file: Path | None,
    limits: Limits | None,
) -> None:
    """Give a model the form under which labels are most likely.

    Tests are replaced by equivalent ones and values of networks renamed, as in neuid3 audit; the new model predicts the
    same, and nothing is trained. A column of the table that is headed by a network call, as in rank(first), has labels,
    and so has the file of --concepts.

    Example: neuid3 reread cards.neuid3 cards.csv --concepts labels.csv --out true.neuid3
    """
    check_writable(out, model, table, *(() if concept_file is None else (concept_file,)))
    tree, text_table = open_inputs(model, table, limits, (parts, part_relations))
    examples = model_examples(tree, text_table)
    concepts = model_concepts(tree, text_table, examples, concept_file)
    if not any(label is not None for labels in concepts.values() for label in labels):
        raise DataError(
            f"{table} has no labels for what networks read; add a column such as 'rank(first)', or give --concepts FILE."
        )
    clf = _classifier(model, limits)
    after = clf.reread(examples, concepts)
    after.save(out)
    set_outcome(f"the model is saved in {out}")
    is_same = after.tree_ == clf.tree_ and after.networks_ == clf.networks_
    click.echo("No other form makes the labels likelier.\n" if is_same else f"{after.export_text()}\n")
    before = {score.concept: score for score in clf.score_concepts(examples, concepts)}
    for score in after.score_concepts(examples, concepts):
        click.echo(_score_text(score, None if is_same else before.get(score.concept)))
    click.echo(f"Saved to {out}; it predicts the same as {model}.")


def _classifier(path: Path, limits: Limits | None) -> NeuID3Classifier:
    from neuid3.estimators.classifier import NeuID3Classifier
    from neuid3.estimators.loading import load

    clf = load(path, limits=limits)
    assert isinstance(clf, NeuID3Classifier)  # `open_inputs` refuses other files
    return clf


def _score_text(score: ConceptScore, before: ConceptScore | None) -> str:
    """A sentence about the labels that a network reads as they are."""
    right = round((score.accuracy or 0.0) * score.labels)
    sentence = f"Labels of {score.concept} that the network reads as they are: {right:,} of {score.labels:,}"
    if before is None:
        return f"{sentence}."
    return f"{sentence} (before: {round((before.accuracy or 0.0) * before.labels):,})."
