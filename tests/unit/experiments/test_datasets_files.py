"""A file is found, converted, downloaded whole, or missed in one sentence."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from small_data import signed_images, use, write_small_data

from experiments import datasets
from experiments.datasets import files, images, uci
from experiments.datasets.images import LETTER_FILES, MNIST_FILES, write_idx
from neuid3.errors import DamagedFileError, MissingFileError


@dataclass
class FileServer:
    """A server on this machine, what it serves, and how much of it it promises beyond what it sends."""

    url: str
    stop: Callable[[], None]
    served: dict[str, bytes] = field(default_factory=dict)
    withheld: int = 0
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def site() -> Iterator[FileServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.requests.append(self.path)
            content = made.served.get(self.path)
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content) + made.withheld))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = FileServer(f"http://127.0.0.1:{server.server_address[1]}", server.shutdown)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use(monkeypatch, None, tmp_path / "cache")
    return tmp_path / "cache"


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file()) if folder.exists() else []


@pytest.fixture
def served_mnist(site: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileServer:
    source = write_small_data(tmp_path / "official")
    for name in (name for names in MNIST_FILES.values() for name in names):
        packed = (source / name).read_bytes()
        site.served["/" + Path(name).name] = packed
        monkeypatch.setitem(images.MNIST_MD5, Path(name).name, hashlib.md5(images.gunzip(packed)).hexdigest())
    return site


def test_a_download_is_checked_kept_and_not_repeated(served_mnist: FileServer, cache: Path) -> None:
    shown, labels = datasets.mnist("train", base=served_mnist.url)
    assert (shown[:, 0, 0] == labels).all()
    assert left_in(cache) == ["train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"]
    requests = len(served_mnist.requests)
    datasets.mnist("train", base=served_mnist.url)
    assert len(served_mnist.requests) == requests == 2


def test_the_data_folder_comes_before_the_cache(
    served_mnist: FileServer, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets.mnist("test", base=served_mnist.url)
    name = MNIST_FILES["test"][0]
    assert files.find(name) == cache / name
    use(monkeypatch, tmp_path / "official", cache)
    assert files.find(name) == tmp_path / "official" / name


@pytest.mark.parametrize("spoil", [lambda _: write_idx(np.zeros(3, np.uint8)), lambda b: b[:100], lambda _: b"<html>"])
def test_a_damaged_download_is_refused_and_not_kept(served_mnist: FileServer, cache: Path, spoil) -> None:  # type: ignore[no-untyped-def]
    name = "/train-images-idx3-ubyte.gz"
    served_mnist.served[name] = spoil(served_mnist.served[name])
    with pytest.raises(DamagedFileError, match=f"{served_mnist.url}{name} is damaged.*nothing of it was kept"):
        datasets.mnist("train", base=served_mnist.url)
    assert left_in(cache) == []


def test_a_broken_connection_leaves_nothing_behind(served_mnist: FileServer, cache: Path) -> None:
    served_mnist.withheld = 7
    with pytest.raises(MissingFileError, match="the connection broke after"):
        datasets.mnist("train", base=served_mnist.url)
    assert left_in(cache) == []


@pytest.mark.parametrize("folder", [None, "data"])
def test_without_internet_one_sentence_says_what_is_missing_and_how_to_get_it(
    folder: str | None, site: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = None if folder is None else tmp_path / folder
    use(monkeypatch, data, tmp_path / "cache")
    with pytest.raises(MissingFileError) as caught:
        datasets.mnist("train", base=site.url)  # which answers "not found"
    site.stop()
    with pytest.raises(MissingFileError):
        datasets.uci_table("zoo", base="http://127.0.0.1:9")  # where nobody answers
    message = str(caught.value)
    named = [
        "mnist/train-images-idx3-ubyte.gz",
        str(data or "NEUID3_DATA is not set"),
        str(tmp_path / "cache"),
        site.url,
    ]
    assert all(part in message for part in named), message
    assert f"put that file into {tmp_path / 'cache' / 'mnist'}." in message
    assert "\n" not in message
    assert isinstance(caught.value, FileNotFoundError)
    assert left_in(tmp_path / "cache") == []


def nist_archive(path: Path) -> None:
    """All letters, transposed, as NIST publishes them."""
    with zipfile.ZipFile(path, "w") as archive:
        for part in LETTER_FILES:
            labels = np.repeat(np.arange(1, 27, dtype=np.uint8), 3)
            turned = signed_images(labels, part).transpose(0, 2, 1)
            archive.writestr(
                f"gzip/emnist-letters-{part}-images-idx3-ubyte.gz", write_idx(np.ascontiguousarray(turned))
            )
            archive.writestr(f"gzip/emnist-letters-{part}-labels-idx1-ubyte.gz", write_idx(labels))


def test_letters_of_the_official_archive_are_turned_upright_and_cut_down(
    site: FileServer, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nist_archive(tmp_path / "gzip.zip")
    site.served["/EMNIST/gzip.zip"] = (tmp_path / "gzip.zip").read_bytes()
    with pytest.raises(DamagedFileError, match="checksum"):
        datasets.emnist_letters("train", url=f"{site.url}/EMNIST/gzip.zip")
    monkeypatch.setattr(images, "EMNIST_MD5", hashlib.md5(site.served["/EMNIST/gzip.zip"]).hexdigest())
    for part in LETTER_FILES:
        shown, labels = datasets.emnist_letters(part, url=f"{site.url}/EMNIST/gzip.zip")
        assert labels.tolist() == [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3
        assert (shown[:, 0, 1] == np.arange(12)).all()  # the second pixel of the first row, as it was signed
        assert not shown[:, 1:].any()
    assert len(site.requests) == 2  # once refused, once for both parts
    assert len(left_in(cache)) == 4  # and the archive itself is gone


OFFICIAL = {
    "zoo": ("bear,1,4,m\nworm,0,0,w\nbee,?,6,i\n", ("-", "hair", "legs", "class")),
    "hepatitis": ("2,1,30\r\n1,2,?\r\n2,1,41.50\r\n\r\n", ("class", "sex", "age")),
    "yeast": (
        "ADT1_YEAST  0.58  0.61  MIT\nADT2_YEAST  0.43  0.67  MIT\nX  0.1  0.2  NUC\n",
        ("-", "mcg", "gvh", "class"),
    ),
    "diabetes": (
        "Age,Gender,class\n40,Male,Positive\n58,Male,Positive\n41,Female,Negative\n",
        ("age", "gender", "class"),
    ),
}
READ = {
    "zoo": ({"hair": ["1", "0"], "legs": [4.0, 0.0]}, ["m", "w"]),
    "hepatitis": ({"sex": ["1", "1"], "age": [30.0, 41.5]}, ["2", "2"]),
    "yeast": ({"mcg": [0.58, 0.43, 0.1], "gvh": [0.61, 0.67, 0.2]}, ["MIT", "MIT", "NUC"]),
    "diabetes": ({"age": [40.0, 58.0, 41.0], "gender": ["Male", "Male", "Female"]}, ["Positive"] * 2 + ["Negative"]),
}


@pytest.mark.parametrize("name", OFFICIAL)
@pytest.mark.parametrize("by_hand", [False, True])
def test_official_tables_are_converted(
    name: str, by_hand: bool, site: FileServer, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, columns = OFFICIAL[name]
    spec = replace(datasets.UCI[name], rows=3, columns=columns)
    fields = [line.split(spec.delimiter) for line in text.split("\n") if line.strip()][spec.header :]
    order = [columns.index(column) for column in (*spec.inputs, "class")]
    rows = [tuple(row[i].strip().replace("?", "") for i in order) for row in fields]
    spec = replace(spec, digest=uci.digest(rows, spec))
    monkeypatch.setitem(datasets.UCI, name, spec)
    if by_hand:
        (cache / "uci").mkdir(parents=True)
        (cache / "uci" / Path(spec.source).name).write_text(text)
    else:
        site.served[f"/{spec.source}"] = text.encode()
    table = datasets.uci_table(name, base=site.url)
    expected, target = READ[name]
    assert {column: values.tolist() for column, values in table.columns.items()} == expected
    assert table.target.tolist() == target
    assert bool(site.requests) != by_hand


def test_another_table_under_the_official_name_is_refused(
    site: FileServer, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, columns = OFFICIAL["zoo"]
    monkeypatch.setitem(datasets.UCI, "zoo", replace(datasets.UCI["zoo"], rows=3, columns=columns))
    site.served["/zoo/zoo.data"] = text.encode()
    with pytest.raises(DamagedFileError, match=r"zoo\.data is damaged: its rows are not those of zoo"):
        datasets.uci_table("zoo", base=site.url)
    assert left_in(cache) == []


def test_the_digest_knows_neither_the_order_of_rows_nor_how_numbers_are_written() -> None:
    spec = replace(datasets.UCI["zoo"], columns=("hair", "legs", "class"))
    digest = uci.digest([("1", "4", "m"), ("0", "2.50", "b")], spec)
    assert digest == uci.digest([("0", "2.5", "b"), ("1", "04.0", "m")], spec)
    assert digest != uci.digest([("0", "2.5", "m"), ("1", "4", "b")], spec)
