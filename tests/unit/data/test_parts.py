"""Parts and relations of examples: keys, slices, concatenation, schemas, and Prolog facts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from neuid3 import Examples, NeuID3Classifier
from neuid3.data.parts import Parts, Relation, structure_of
from neuid3.data.reading.interpretations import read_interpretations
from neuid3.data.tables import warn_of_identifiers
from neuid3.errors import DataError, MissingFileError
from neuid3.io.serialize import schema_from_json, schema_to_json

TRAINS = {"train": ["a", "b", "c"], "fast": [True, False, True]}
CARS = {"car": [1, 2, 3, 4], "train": ["b", "a", "a", "c"], "long": [True, False, True, True]}
LOADS = {"car": [4, 1, 1, 2], "shape": ["disc", "bar", "disc", "cube"]}
BEHIND = {"car_1": [2], "car_2": [3], "gap": [0.4]}


def trains() -> Examples:
    return Examples(
        TRAINS, parts={"car": (pd.DataFrame(CARS), "train"), "load": (LOADS, "car")}, relations={"behind": BEHIND}
    )


def contents(examples: Examples) -> list[list[tuple[bool, list[str]]]]:
    """The cars of each example, as their length and the shapes of their loads."""
    structure = structure_of(examples)
    cars, loads = structure.parts["car"], structure.parts["load"]
    shape = loads.table.column("shape")
    shapes = [[shape.kind.domain[shape.values[i]] for i in np.flatnonzero(loads.owner == c)] for c in range(len(cars))]
    long = cars.table.column("long").values
    return [[(bool(long[i]), shapes[i]) for i in np.flatnonzero(cars.example == row)] for row in range(len(examples))]


def test_parts_belong_to_the_examples_whose_keys_they_name() -> None:
    assert contents(trains()) == [[(False, ["cube"]), (True, [])], [(True, ["bar", "disc"])], [(True, ["disc"])]]


def test_a_key_is_no_column_to_learn_from() -> None:
    assert trains().names == ("fast", "car", "behind")


def test_the_schema_of_parts_is_nested() -> None:
    schema = trains().schema
    assert isinstance(schema["car"], Parts)
    assert list(schema["car"].schema) == ["long", "load"]
    assert isinstance(schema["behind"], Relation)
    assert schema["behind"].types == ("car", "car")


@pytest.mark.parametrize("rows", [[2, 0, 0, 1], [1], slice(None, None, -1), np.array([True, False, True]), []])
def test_selected_examples_keep_their_parts(rows) -> None:
    everyone, indices = contents(trains()), np.arange(3)[rows if len(np.shape(rows)) == 0 or len(rows) else slice(0)]
    assert contents(trains()[rows]) == [everyone[i] for i in indices]


def test_concatenated_examples_keep_their_parts_and_relations() -> None:
    both = trains().concatenate(trains()[[1, 0]])
    everyone = contents(trains())
    assert contents(both) == [*everyone, everyone[1], everyone[0]]
    relation = structure_of(both).relations["behind"]
    assert relation.example.tolist() == [0, 4]
    assert relation.arguments.tolist() == [[0, 1], [5, 6]]


def test_scikit_learn_splits_examples_with_parts() -> None:
    learned, tested = train_test_split(trains(), test_size=1, random_state=0)
    assert sorted(map(str, contents(learned) + contents(tested))) == sorted(map(str, contents(trains())))


def test_rows_are_keys_where_no_column_is() -> None:
    examples = Examples({"fast": [True, False]}, parts={"car": ({"of": [1, 0, 1], "long": [1, 0, 1]}, "of")})
    assert structure_of(examples).parts["car"].example.tolist() == [0, 1, 1]


def test_a_schema_of_parts_survives_json() -> None:
    schema = trains().schema
    assert schema_from_json(schema_to_json(schema)) == schema


@pytest.mark.parametrize(
    ("parts", "relations", "message"),
    [
        ({"car": ({**CARS, "train": ["b", "a", "x", "c"]}, "train")}, {}, "Row 2.*'x'"),
        ({"car": ({**CARS, "train": ["b", None, "a", "c"]}, "train")}, {}, "Row 1.*empty"),
        ({"car": (CARS, "trian")}, {}, "trian"),
        (
            {"car": ({**CARS, "car": [1, 2, 2, 4]}, "train"), "load": (LOADS, "car")},
            {},
            "2 is the key of two rows in .*, 1 and 2",
        ),
        ({"car": ({**CARS, "load": [1, 1, 1, 1]}, "load"), "load": (LOADS, "car")}, {}, "circular"),
        ({"car": (CARS, "train")}, {"behind": {"car_1": [1], "car_2": [2]}}, "different examples"),
        ({"car": (CARS, "train")}, {"behind": {"car_1": [1], "car_2": [9]}}, "9"),
        ({"car": (CARS, "train")}, {"behind": {"car_1": [1], "car_2": ["2"]}}, "of type int, and this is of type str"),
        (
            {"car": (CARS, "train")},
            {"behind": {"car_1": [1], "car_2": [[2]]}},
            "Row 0 of the relation 'behind'.*a list",
        ),
        ({"car": (CARS, "train")}, {"behind": {"x": [1], "y": [9]}}, "called as a type of part"),
        ({"car": (CARS, "train")}, [BEHIND], "`relations` is of type list"),
        ([CARS], {}, "`parts` is of type list"),
        ({"car": ({}, "train")}, {}, "The parts 'car'"),
        ({"car": (None, "train")}, {}, "parts 'car' has no column names"),
        ({"car": (CARS, "car")}, {}, "circular: car is owned by car"),
        ({"car": ({"of": [0, 9]}, "of")}, {}, "Row 1.*Without a column 'of' there, keys are the numbers of rows"),
        ({}, {"behind": BEHIND}, "none are given"),
        ({"fast": (CARS, "train")}, {}, "fast"),
        ({"car": CARS}, {}, "pair"),
    ],
)
def test_keys_that_do_not_fit_are_errors_that_name_the_row(parts, relations, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Examples(TRAINS, parts=parts, relations=relations)


def test_a_model_needs_the_columns_of_its_parts() -> None:
    bare = Examples(TRAINS, parts={"car": ({"train": ["a", "b"]}, "train")})
    with pytest.raises(DataError, match="car"):
        bare.conform(trains().schema)


# Prolog facts ---------------------------------------------------------------------------------------


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_interpretations_are_read(tmp_path: Path) -> None:
    text = """
    % two drawings
    begin(model(2)). pos. triangle(o1). config(o1, up). circle(o2). in(o2, o1). end(model(2)).
    begin(model(7)). neg. circle(o1). end(model(7)).
    """
    read = read_interpretations(write(tmp_path / "drawings.kb", text))
    assert read.labels.tolist() == ["pos", "neg"]
    assert read.keys == (2, 7)
    structure = structure_of(read.examples)
    assert structure.parts["object"].example.tolist() == [0, 0, 1]
    assert structure.parts["object"].table.column("circle").values.tolist() == [False, True, True]
    assert structure.relations["in"].arguments.tolist() == [[1, 0]]


def test_facts_with_keys_are_read(tmp_path: Path) -> None:
    text = """
    pos(1). lumo(1, -1.2). atom(1, d1, c, 22, -0.1). atom(1, d2, n, 38, 0.8). bond(1, d1, d2, 7).
    neg(2). lumo(2, 0.5). atom(2, d1, c, 22, 0.0). ring(2, [d1]).
    """
    names = {"atom": ("key", "atom", "element", "type", "charge")}
    read = read_interpretations(write(tmp_path / "molecules.kb", text), names=names)
    atoms = structure_of(read.examples).parts["atom"]
    assert atoms.example.tolist() == [0, 0, 1]
    assert atoms.table.names == ("element", "type", "charge")
    assert read.examples.column("lumo").values.tolist() == [-1.2, 0.5]
    assert structure_of(read.examples).relations["bond"].table.column("bond").values.tolist() == [7.0]
    assert any("ring" in note for note in read.notes)


def test_facts_with_separate_labels_are_read(tmp_path: Path) -> None:
    facts = """
    :- style_check(-discontiguous).
    piece(0, p1). piece(0, p2). piece(1, p3). red(p1). size(p1, 3). size(p2, 0). size(p3, 1). contact(p1, p2).
    small(0). small(1). has_lid(p3, l1). round(l1).
    """
    labels = "pos(zendo(0)). neg(zendo(1))."
    read = read_interpretations(write(tmp_path / "bk.pl", facts), write(tmp_path / "exs.pl", labels))
    structure = structure_of(read.examples)
    assert structure.parts["piece"].table.column("small").values.tolist() == [False, True, True]
    assert structure.parts["lid"].owner.tolist() == [2]
    assert read.labels.tolist() == ["pos", "neg"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("begin(model(1)). circle(o1). end(model(1)).", "no class"),
        ("", "no examples"),
        ("begin(model(1)). pos. circle(X). end(model(1)).", "line 1"),
        ("pos(1)\nneg(2).", "line"),
        ("begin(model(1)). pos. end(model(1)). begin(model(1)). pos. end(model(1)).", "twice"),
        ("begin(model(1)). pos. neg. end(model(1)).", "example 1 has the classes pos and neg"),
        ("begin(model(1)). pos. begin(model(2)). neg. end(model(2)).", "model 2 begins before the end of 1"),
        ("begin(model(1)). pos. end(model(2)).", "model 2 ends where it has not begun"),
        ("begin(model(1)). pos. circle(o1).", "model 1 has no end"),
    ],
)
def test_facts_that_cannot_be_read_are_errors(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_interpretations(write(tmp_path / "facts.pl", text))


def test_a_file_of_facts_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="nowhere"):
        read_interpretations(tmp_path / "nowhere.pl")


def test_examples_may_own_no_part_and_no_tuple() -> None:
    cars = {"train": np.repeat(np.arange(30), 2), "car": np.arange(60), "long": np.arange(60) % 3 == 0}
    pairs = {"car_1": np.arange(0, 60, 2), "car_2": np.arange(1, 60, 2), "how": ["a", "b"] * 15}
    X = Examples({"train": np.arange(30)}, parts={"car": (cars, "train")}, relations={"next": pairs})
    y = cars["long"].reshape(30, 2).any(axis=1)
    clf = NeuID3Classifier(random_state=0, pruning=0.0).fit(X, y)
    no_cars: dict[str, list[object]] = {"train": [], "car": [], "long": []}
    no_pairs: dict[str, list[object]] = {"car_1": [], "car_2": [], "how": []}
    one_car = {"train": [0], "car": [0], "long": [True]}
    assert clf.predict(Examples({"train": [0]}, parts={"car": (one_car, "train")}, relations={"next": no_pairs})) == [
        True
    ]
    assert clf.predict(Examples({"train": [0]}, parts={"car": (no_cars, "train")}, relations={"next": no_pairs})) == [
        False
    ]


def test_what_is_missing_from_parts_is_named_with_their_type() -> None:
    fitted = Examples(TRAINS, parts={"car": (CARS, "train")}).schema
    with pytest.raises(
        DataError, match=r"The table of the parts 'car' is needed and missing; give Examples\(…, parts="
    ):
        Examples({"fast": [True]}).conform(fitted)
    with pytest.raises(DataError, match="The parts 'car': Column 'long' is needed"):
        Examples(TRAINS, parts={"car": ({"train": ["a"], "size": [1.0]}, "train")}).conform({"car": fitted["car"]})
    with pytest.raises(DataError, match=r"declares 'cra'.*Did you mean 'car'"):
        Examples({"train": ["a"]}, {"cra": {"long": "number"}}, parts={"car": ({"train": ["a"], "long": [1]}, "train")})


def test_kinds_of_parts_are_declared_column_by_column() -> None:
    with pytest.raises(DataError, match=r"kinds\['car'\] is 'probability'; declare the columns"):
        Examples({"train": [0]}, parts={"car": ({"train": [0], "a": [0.5]}, "train")}, kinds={"car": "probability"})


def test_a_table_without_rows_is_not_predicted() -> None:
    X = Examples({"a": [True, False] * 10})
    clf = NeuID3Classifier(random_state=0).fit(X, [1, 0] * 10)
    with pytest.raises(DataError, match="no rows to predict"):
        clf.predict(X[:0])


def test_a_column_that_nearly_identifies_parts_is_warned_of() -> None:
    cars = {"train": np.arange(12), "serial": [f"n{i}" for i in range(12)], "roof": ["flat", "open"] * 6}
    X = Examples({"train": np.arange(12)}, parts={"car": (cars, "train")})
    with pytest.warns(UserWarning, match=r"category 'car.serial' has 12 values in 12 rows.*kinds=\{'car': \{'serial'"):
        warn_of_identifiers(X)
