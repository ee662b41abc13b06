"""The command `fit`: learn a tree from a table file."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

import click

from neuid3.cli.fit_data import FitData, concept_scores, read_fit_data, read_validation_table, warn_of_contradictions
from neuid3.cli.fit_options import FitOptions, fit_parameters, read_relations
from neuid3.cli.fit_report import fit_report, held_out_scores, scores_text
from neuid3.cli.fit_settings import parameters_of, trained_networks, training_of
from neuid3.errors import DataError, LabelWarning, MissingFileError, ParameterError, did_you_mean
from neuid3.logic.sandbox import Limits
from neuid3.utils.files import check_writable, read_text
from neuid3.utils.output import set_outcome

if TYPE_CHECKING:
    import numpy.typing as npt


@click.command()
@fit_parameters
def fit(**given: Any) -> None:
    """Learn a tree from a table and save it.

    TABLE is a CSV or Parquet file whose first line names the columns. The kind of each column is inferred, and printed before
    learning starts; cells with the path of a PNG or JPEG file, relative to the table's folder, are images. The tree is
    scored on held-out rows. A target of numbers is predicted as such where these are not classes; see --task. With
    --model forest or --model boosting, a forest or a boosted sum of small trees is learned instead of one tree.

    \b
    Examples:
      neuid3 fit iris.csv --target species
      neuid3 fit cards.csv --target result --background rules.pl --out cards.neuid3
    """
    options = FitOptions(**given)
    rules = _checked_rules(options)
    echo: Callable[[str], object] = (lambda _: None) if options.as_json else click.echo
    fit_data = read_fit_data(options, rules, echo)
    training, held_out = fit_data.training_rows.sum(), fit_data.test_rows.sum()
    echo(f"Learning {options.target!r} from {training:,} rows, with {held_out:,} held out.")
    started = time.monotonic()
    estimator = _estimator(options, rules, fit_data)
    _learn(estimator, fit_data, options)
    _save_and_report(estimator, fit_data, options, time.monotonic() - started, echo)


def _checked_rules(options: FitOptions) -> str:
    """The background knowledge; files that are missing or cannot be written are errors before anything is read."""
    if options.jobs == 0:
        raise DataError("--jobs 0 means no workers; give 1 or more, or -1 for one per core.")
    _ = options.picture_encoder  # raises an error where its options contradict each other
    check_writable(options.model_file, *options.input_files)
    rules = "" if options.background is None else read_text(options.background, "file of rules")
    if options.bank is not None and not options.bank.is_dir():
        raise MissingFileError(f"There is no bank {options.bank}; create one with `neuid3 bank add`.")
    return rules


def _estimator(options: FitOptions, rules: str, fit_data: FitData) -> Any:
    """The classifier or regressor with the parameters that the options stand for."""
    limits = options.limits
    given = {"max_candidates": options.max_candidates, "max_variables": options.max_variables}
    if changed := {name: value for name, value in given.items() if value is not None}:
        limits = replace(limits or Limits(), **changed)
    kind, own = _kind_and_own_parameters(options, fit_data)
    estimator = kind(
        background=rules,
        encoder=options.picture_encoder,
        networks=trained_networks(options),
        relations=read_relations(options.relations),
        tests=list(options.tests) or "auto",
        modes=list(options.modes) or None,
        bank=options.bank,
        time_limit=options.time_limit,
        training=training_of(options),
        limits=limits,
        n_jobs=options.jobs,
        random_state=options.seed,
        verbose=options.verbose,
        **own,
        **_limiting_parameters(options),
        **parameters_of(options, kind),
    )
    try:
        estimator._validate_params()
    except ValueError as error:  # scikit-learn's own, which names the parameter and the values that it may have
        raise ParameterError(f"{error} Give --parameter another value.") from None
    return estimator


def _limiting_parameters(options: FitOptions) -> dict[str, Any]:
    """The parameters that limit a tree, a forest or a boosted sum."""
    if options.max_splits is not None and options.model != "boosting":
        raise DataError("--max-splits limits a boosted sum; add --model boosting, or limit a tree by --max-depth.")
    if options.trees is not None and options.model != "forest":
        raise DataError("--trees is the number of trees of a forest; add --model forest, or leave it out.")
    if options.model == "tree":
        return _tree_parameters(options)
    _refuse_options_of_trees(options)
    if options.model == "forest":
        if options.monotonic_cst:
            raise DataError(
                "--monotone is for one tree or a boosted sum, and --model forest learns a forest, which keeps no "
                "constraints; choose --model boosting."
            )
        return {"max_depth": options.max_depth, **_given({"n_estimators": options.trees})}
    limits = {"max_depth": options.max_depth, "max_splits": options.max_splits}
    return {"monotonic_cst": _directions(options.monotonic_cst), **_given(limits)}


def _tree_parameters(options: FitOptions) -> dict[str, Any]:
    """The parameters that limit one tree."""
    return {
        "leaves": list(options.leaves) or None,
        "monotonic_cst": _directions(options.monotonic_cst),
        "max_depth": options.max_depth,
        **_given({"pruning": options.pruning}),
    }


def _refuse_options_of_trees(options: FitOptions) -> None:
    """Raise an error for an option that only single trees have."""
    others = {
        "--pruning": options.pruning,
        "--pos-label": options.pos_label,
        "--leaf": options.leaves or None,
    }
    for name, value in others.items():
        if value is not None:
            learned = "a forest" if options.model == "forest" else "a sum of trees"
            raise DataError(
                f"{name} is for one tree, and --model {options.model} learns {learned}; leave one of them out."
            )


def _kind_and_own_parameters(options: FitOptions, fit_data: FitData) -> tuple[Any, dict[str, Any]]:
    """The class of the estimator, and the parameters that only it has."""
    import neuid3

    is_tree = options.model == "tree"
    if not fit_data.is_regression:
        own: dict[str, Any] = {"class_weight": _weights(options.class_weight, fit_data.targets)}
        if is_tree:
            return neuid3.NeuID3Classifier, own | {"pos_label": options.pos_label}
        forest = options.model == "forest"
        return neuid3.NeuID3ForestClassifier if forest else neuid3.NeuID3BoostingClassifier, own
    of_classes = {"--pos-label": options.pos_label, "--class-weight": options.class_weight}
    for option, value in of_classes.items():
        if value:
            raise DataError(
                f"{option} is for classes, and {options.target!r} holds numbers that are predicted as such; leave it out, or "
                "add --task classification."
            )
    kinds = {
        "tree": neuid3.NeuID3Regressor,
        "forest": neuid3.NeuID3ForestRegressor,
        "boosting": neuid3.NeuID3BoostingRegressor,
    }
    return kinds[options.model], {}


def _learn(estimator: Any, fit_data: FitData, options: FitOptions) -> None:
    rows = fit_data.training_rows
    examples, targets, concepts = fit_data.rows(rows)
    validation = None if options.validation is None else read_validation_table(options, fit_data)
    with warnings.catch_warnings():
        # It counts the rows that are learned from; `warn_of_contradictions` names lines of the table.
        warnings.simplefilter("ignore", LabelWarning)
        estimator.fit(
            examples,
            targets,
            sample_weight=None if fit_data.weights is None else fit_data.weights[rows],
            validation=validation,
            checkpoint=options.checkpoint,
            concepts=concepts or None,
            groups=None if fit_data.groups is None else fit_data.groups[rows],
        )


def _save_and_report(
    estimator: Any, fit_data: FitData, options: FitOptions, seconds: float, echo: Callable[[str], object]
) -> None:
    """Save the model, score it on the rows held out, and print tree and scores."""
    from neuid3.tree.record import concept_texts

    out, remember_rows = options.model_file, not options.forget_rows
    estimator.save(out, remember_rows=remember_rows)  # before anything else can fail
    set_outcome(f"the model is saved in {out}")
    if fit_data.calibration_rows.any():
        examples, targets, _ = fit_data.rows(fit_data.calibration_rows)
        estimator.calibrate(examples, targets)
    scores = held_out_scores(estimator, fit_data)
    is_tree = options.model == "tree"
    if is_tree:
        warn_of_contradictions(estimator, fit_data)
    concepts = concept_scores(estimator, fit_data) if is_tree else ()
    estimator.save(out, remember_rows=remember_rows)  # with its score
    networks = (
        f", with {len(estimator.networks_)} network{'s' * (len(estimator.networks_) > 1)}"
        if estimator.networks_
        else ""
    )
    noun = {"tree": "tree", "forest": "forest", "boosting": "sum"}[options.model]
    echo(f"\nThe {noun}{networks}, learned in {seconds:.0f} s:\n\n{estimator.export_text()}\n")
    echo(scores_text(scores) + "\n")
    if concepts:
        echo("\n".join(f"Labels of {text}." for text in concept_texts(concepts)) + "\n")
    calibrated = f", calibrated by {fit_data.calibration_rows.sum():,}" if fit_data.calibration_rows.any() else ""
    echo(f"Saved to {out}: the {noun} learned from {fit_data.training_rows.sum():,} rows{calibrated}.")
    if options.as_json:
        report = fit_report(estimator, fit_data.table, scores, concepts, out, seconds)
        click.echo(json.dumps(report, indent=1, ensure_ascii=False))


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that the user has given; the others have the defaults of the library."""
    return {name: value for name, value in options.items() if value is not None}


def _directions(given: tuple[str, ...]) -> list[tuple[str, int]] | dict[str, int] | None:
    """The parameter `monotonic_cst` of the classifier; pairs where a column is given twice, which it refuses."""
    pairs = []
    for entry in given:
        name, _, direction = entry.rpartition("=")
        if not name or direction.strip() not in ("1", "+1", "-1", "0"):
            raise DataError(f"--monotone {entry!r} is no constraint; write COLUMN=1 or COLUMN=-1.")
        pairs.append((name, int(direction)))
    return pairs if len({name for name, _ in pairs}) < len(pairs) else dict(pairs) or None


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
