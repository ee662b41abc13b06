"""Vectors in a folder: what was written is read, by any number of writers, and damage is noticed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from neuid3.encoders.cache import VectorCache, digest_of
from neuid3.errors import UnwritableFileError

PICTURES = arrays.arrays(np.uint8, st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4)))


@given(PICTURES, PICTURES)
def test_digests_differ_exactly_where_pictures_do(one, other):
    same = one.shape == other.shape and np.array_equal(one, other)
    assert (digest_of(one) == digest_of(other)) == same


@given(arrays.arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=st.floats(-9, 9, width=32)))
def test_what_is_added_is_read(tmp_path_factory, vectors):
    cache = VectorCache(tmp_path_factory.mktemp("cache"), "key")
    written = {digest_of(np.array([i])): vector for i, vector in enumerate(vectors)}
    cache.add(written)
    read = cache.read()
    assert read.keys() == written.keys()
    assert all(np.array_equal(read[digest], written[digest]) for digest in written)


def test_encoders_with_other_keys_do_not_see_each_others_vectors(tmp_path: Path):
    VectorCache(tmp_path, "one").add({digest_of(np.zeros(1)): np.ones(2, dtype=np.float32)})
    assert VectorCache(tmp_path, "other").read() == {}


def test_many_writers_lose_nothing(tmp_path: Path):
    def write(number: int) -> None:
        VectorCache(tmp_path, "key").add({digest_of(np.array([number])): np.full(3, number, dtype=np.float32)})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    read = VectorCache(tmp_path, "key").read()
    assert {int(vector[0]) for vector in read.values()} == set(range(40))


@pytest.mark.parametrize("position", [0, 25, -1])
def test_a_damaged_file_is_ignored(tmp_path: Path, position: int):
    cache = VectorCache(tmp_path, "key")
    cache.add({digest_of(np.zeros(1)): np.ones(2, dtype=np.float32)})
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)
    assert cache.read() == {}
    path.write_bytes(b"short")
    assert cache.read() == {}


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableFileError, match="file"):
        VectorCache(tmp_path / "file" / "cache", "key").add({b"0" * 20: np.ones(1, dtype=np.float32)})
