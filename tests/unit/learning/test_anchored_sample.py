"""Labels of concepts and the validation split."""

from __future__ import annotations

import numpy as np

from neuid3 import Examples
from neuid3.learning.sample import Sample
from neuid3.learning.validation import training_sample
from neuid3.logic.program import Declaration
from neuid3.tree.criteria import Target, criterion_of
from neuid3.tree.labels import read_labels

CLASSES = np.arange(100) % 2
DECLARATIONS = {0: Declaration(0, "rank_net", 1, 3, ("1", "2", "3"), "rank")}


def sample(labelled: int) -> Sample:
    """A hundred rows, the first of which are labelled, with a validation split of a fifth."""
    examples = Examples({"card": np.random.default_rng(0).random((100, 3, 3))})
    concepts = {"rank(card)": {row: row % 3 + 1 for row in range(labelled)}}
    return training_sample(
        examples,
        Target(CLASSES, np.ones(100), criterion_of("entropy").for_classes(2, 1)),
        validation=None,
        fraction=0.2,
        seed=0,
        anchors=read_labels(concepts, examples, DECLARATIONS) if labelled else {},
    )


def test_rows_of_few_labels_leave_the_validation_split_to_others_of_their_class() -> None:
    plain, few = sample(0), sample(49)
    assert plain.unseen[:49].any()
    assert not few.unseen[:49].any()
    for label in (0, 1):
        assert few.unseen[label == CLASSES].sum() == plain.unseen[label == CLASSES].sum()
    assert len(few.anchors["rank_net"]) == 49
    assert not few.held_out_anchors


def test_many_labels_leave_the_validation_split_as_it_is_and_are_not_trained_on_there() -> None:
    plain, many = sample(0), sample(100)
    assert (plain.unseen == many.unseen).all()
    assert not plain.anchors
    assert many.held_out_anchors["rank_net"].rows.tolist() == np.flatnonzero(plain.unseen).tolist()
    assert many.anchors["rank_net"].rows.tolist() == np.flatnonzero(~plain.unseen).tolist()


def test_where_a_class_has_no_row_without_labels_those_of_the_validation_split_are_not_trained_on() -> None:
    examples = Examples({"card": np.random.default_rng(0).random((20, 3, 3))})
    anchors = read_labels({"rank(card)": [1] * 20}, examples, DECLARATIONS)
    target = Target(np.arange(20) % 2, np.ones(20), criterion_of("entropy").for_classes(2, 1))
    drawn = training_sample(examples, target, validation=None, fraction=0.2, seed=0, anchors=anchors)
    assert drawn.anchors["rank_net"].rows.tolist() == np.flatnonzero(~drawn.unseen).tolist()
    assert drawn.unseen.sum() == 4
