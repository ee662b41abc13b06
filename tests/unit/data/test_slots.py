"""Parts of examples as columns of slots."""

from __future__ import annotations

import numpy as np
import pytest

from neuid3 import Examples
from neuid3.data.slots import Slots, needed_slots, unfolded, unfolded_schema
from neuid3.errors import DataError


def hands() -> Examples:
    faces = np.arange(5, dtype=np.float32).reshape(5, 1, 1, 1) + 1
    return Examples(
        {"hand": ["a", "b", "c"], "late": [True, False, True]},
        parts={"card": ({"hand": ["b", "a", "b", "b", "a"], "face": faces}, "hand")},
    )


def test_slots_hold_the_parts_of_each_example_in_their_order() -> None:
    X = hands()
    slots = needed_slots(X)
    assert slots == Slots((("card", 3),))
    columns = unfolded(X, slots)
    assert columns.names == ("late", "card", "card_1", "card_2", "card_3")
    assert columns.column("card_1").values[:2, 0, 0, 0].tolist() == [2.0, 1.0]
    assert columns.column("card_3").values[1, 0, 0, 0] == 4.0
    assert columns.column("card_3").missing.tolist() == [True, False, True]
    assert columns.column("card_1").absent.tolist() == [False, False, True]


def test_slots_are_sliced_with_their_rows() -> None:
    columns = unfolded(hands(), Slots((("card", 3),)))[[2, 1]]
    assert columns.column("card_3").absent.tolist() == [True, False]


def test_a_missing_picture_of_a_part_is_missing_and_its_slot_is_not_empty() -> None:
    faces = np.ones((2, 1, 1, 1), dtype=np.float32)
    faces[1] = np.nan
    X = Examples({"hand": [0, 1]}, parts={"card": ({"hand": [0, 1], "face": faces}, "hand")})
    column = unfolded(X, needed_slots(X)).column("card_1")
    assert column.missing.tolist() == [False, True]
    assert not column.absent.any()


def test_two_pictures_of_a_part_are_two_columns() -> None:
    faces = np.ones((2, 1, 1, 1), dtype=np.float32)
    X = Examples({"hand": [0, 1]}, parts={"card": ({"hand": [0, 1], "front": faces, "back": faces}, "hand")})
    assert {"card_1_front", "card_2_back"} <= set(unfolded_schema(X.schema, needed_slots(X)))


def test_a_column_called_as_a_slot_is_refused() -> None:
    faces = np.ones((2, 1, 1, 1), dtype=np.float32)
    X = Examples({"hand": [0, 1], "card_1": [1.5, 2.5]}, parts={"card": ({"hand": [0, 1], "face": faces}, "hand")})
    with pytest.raises(DataError, match="'card_1' is called as the picture of a part"):
        unfolded(X, needed_slots(X))


def test_slots_cover_each_other_by_type() -> None:
    assert Slots((("card", 3),)).covers(Slots((("card", 2),)))
    assert not Slots((("card", 3), ("coin", 1))).covers(Slots((("card", 2), ("coin", 2))))
    pairs = (("next", frozenset({(1, 2)})),)
    assert not Slots((("card", 3),)).covers(Slots((("card", 2),), pairs))
    assert Slots((("card", 3),)).union(Slots((("card", 2),), pairs)).related("next") == {(1, 2)}
    assert Slots((("card", 3), ("coin", 1))).union(Slots((("card", 2), ("coin", 2)))) == Slots(
        (("card", 3), ("coin", 2))
    )
