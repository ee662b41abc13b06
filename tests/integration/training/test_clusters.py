"""A fit on a cluster gives the same tree, bit by bit, sends every worker the images once, and outlives its workers."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import clustered
import joblib
import numpy as np
import pytest
import torch
from distributed import Client, KilledWorker, LocalCluster, WorkerPlugin

from neuid3 import NeuID3Classifier, load
from neuid3.training.parallel.pool import WorkerPool
from neuid3.training.parallel.shared import RowSubset, SharedColumns


class Watch(WorkerPlugin):
    """Has every worker write down what it does."""

    def __init__(self, log: Path) -> None:
        self.log = str(log)

    def setup(self, worker: Any) -> None:  # noqa: ARG002
        clustered.watch(self.log)


@pytest.fixture(scope="module")
def alone() -> NeuID3Classifier:
    return clustered.classifier(n_jobs=1).fit(*clustered.problem())


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        yield cluster
    assert _end_soon(_pids), "workers outlived their cluster"


_pids: set[int] = set()


def _end_soon(pids: Collection[int], seconds: float = 30.0) -> bool:
    """Are these processes gone, now or a moment later? A busy machine takes its time to end them."""
    deadline = time.monotonic() + seconds
    while any(map(_lives, pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not any(map(_lives, pids))


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def at_work(cluster: LocalCluster, log: Path) -> Iterator[None]:
    """Joblib works on the cluster, and its workers are watched."""
    with Client(cluster) as client:
        client.wait_for_workers(2)
        client.register_plugin(Watch(log), name="watch")
        with joblib.parallel_config(backend="dask"):
            yield
        client.unregister_worker_plugin("watch")
    _pids.update(clustered.watched(log))


def assert_same(one: NeuID3Classifier, two: NeuID3Classifier) -> None:
    assert one.tree_ == two.tree_
    ours, theirs = one.model_.networks, two.model_.networks
    assert list(ours) == list(theirs)
    assert ours, "a tree without networks proves little"
    for name, network in ours.items():
        weights, others = network.state_dict(), theirs[name].state_dict()
        assert all(torch.equal(weight, others[key]) for key, weight in weights.items())
    X, _ = clustered.problem()
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def assert_sent_once(log: Path) -> None:
    """Whoever trained got the columns once, for all the groups it trained, on one thread."""
    events_by_pid = {pid: events for pid, events in clustered.watched(log).items() if events["begins on 1"]}
    assert {events["columns"] for events in events_by_pid.values()} == {1}
    assert sum(events["begins on 1"] for events in events_by_pid.values()) > 2 * len(events_by_pid)
    assert {event for events in events_by_pid.values() for event in events} <= {"columns", "begins on 1", "ends"}


def test_on_dask_the_tree_is_the_same_and_every_worker_gets_the_images_once(
    alone: NeuID3Classifier, cluster: LocalCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    with at_work(cluster, log):
        fitted = clustered.classifier(verbose=True).fit(*clustered.problem())
    assert_same(alone, fitted)
    assert_sent_once(log)
    assert len(clustered.watched(log)) == 2, "both workers had something to do"
    assert os.getpid() not in clustered.watched(log)
    assert "node 1 (root)" in capfd.readouterr().err
    left = [name for name in cluster.scheduler.worker_plugins if name.startswith("neuid3")]
    assert left == [], "the scheduler keeps the images after the fit"


@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_on_dask_workers_that_are_killed_in_training_do_not_change_the_tree(
    count: int, alone: NeuID3Classifier, cluster: LocalCluster, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with at_work(cluster, log), ThreadPoolExecutor(1) as killer:
        killed = killer.submit(clustered.kill_in_training, log, count)
        fitted = clustered.classifier().fit(*clustered.problem())
        dead = killed.result()
    assert len(dead) == count
    events_by_pid = clustered.watched(log)
    assert all(events_by_pid[pid]["begins on 1"] > events_by_pid[pid]["ends"] for pid in dead), (
        "they were in the middle of it"
    )
    assert any(events_by_pid[pid]["ends"] for pid in set(events_by_pid) - dead), "others went on"
    assert_same(alone, fitted)
    assert {events_by_pid[pid]["columns"] for pid in events_by_pid} == {1}, (
        "who came in their place got the images, and once"
    )


def test_what_a_network_raises_on_a_worker_is_raised_here(cluster: LocalCluster, tmp_path: Path) -> None:
    X, y = clustered.problem()
    refusing = clustered.classifier(networks={"eye": clustered.Refusing})
    with at_work(cluster, tmp_path / "log"), pytest.raises(ArithmeticError, match="I will not learn"):
        refusing.fit(X, y)
    with Client(cluster) as client, joblib.parallel_config(backend="dask"):
        assert joblib.Parallel()(joblib.delayed(abs)(-i) for i in range(3)) == [0, 1, 2], "and the cluster is well"
        assert client.status == "running"


def test_a_task_that_kills_its_workers_ends_the_fit_with_an_error(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    deadly = clustered.classifier(networks={"eye": clustered.Deadly})
    with at_work(cluster, tmp_path / "log"), pytest.raises(KilledWorker):
        deadly.fit(*clustered.problem())


def interpreter_without_spaces(folder: Path) -> str:
    """This interpreter by a path without spaces: a shell starts Ray's workers, and Ray does not quote their paths."""
    if " " not in sys.executable:
        return sys.executable
    environment = folder / "environment"
    environment.symlink_to(sys.prefix)
    return str(environment / Path(sys.executable).relative_to(sys.prefix))


def test_on_ray_the_tree_is_the_same_and_every_worker_gets_the_images_once(
    alone: NeuID3Classifier, tmp_path: Path
) -> None:
    if find_spec("ray") is None:
        pytest.skip("ray is not installed here; its wheel is not made for every machine")
    model, log = tmp_path / "ray.neuid3", tmp_path / "log"
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # the names of sockets must be short
        if " " in folder:
            pytest.skip(f"Ray starts no workers where its folder has a space in its path: {folder!r}; set TMPDIR")
        own = {"HOME": folder, "RAY_TMPDIR": folder, "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
        command = [interpreter_without_spaces(Path(folder)), str(Path(clustered.__file__)), str(model), str(log)]
        subprocess.run(command, check=True, timeout=180, env={**os.environ, **own})
    assert_same(alone, load(model))
    assert_sent_once(log)
    assert _end_soon(clustered.watched(log)), "workers outlived their cluster"


def test_a_task_weighs_the_same_however_large_the_images_are() -> None:
    weights = []
    for size in (8, 80):
        shared = SharedColumns({"image": np.zeros((50, size, size))})
        shared.locate = dict  # type: ignore[assignment]
        weights.append(len(pickle.dumps(RowSubset(shared, ("image",), np.arange(50)))))
    assert weights[0] == weights[1] < 1000


def test_a_row_subset_is_the_rows_of_its_columns() -> None:
    rng = np.random.default_rng(0)
    columns = {"a": rng.random((30, 2)), "b": rng.random(30)}
    shared = SharedColumns(columns)
    for _ in range(20):
        names = tuple(rng.permutation(["a", "b"])[: rng.integers(1, 3)])
        rows = rng.integers(0, 30, rng.integers(1, 30))
        subset = pickle.loads(pickle.dumps(RowSubset(shared, names, rows)))
        assert tuple(subset) == names
        assert {**subset}.keys() == set(names)
        for name in names:
            np.testing.assert_array_equal(subset[name], columns[name][rows])
        for name in set(columns) - set(names):
            assert name not in subset


def test_threads_do_not_mix_their_random_numbers() -> None:
    how = {"networks": {"eye": clustered.dropping}, "training": replace(clustered.TRAINING, learning_rate=0.02)}
    one, three = (clustered.classifier(**how, n_jobs=jobs) for jobs in (1, 3))
    one.fit(*clustered.problem())
    with joblib.parallel_config(backend="threading"):
        assert_same(one, three.fit(*clustered.problem()))


def test_a_worker_pool_is_started_once() -> None:
    with WorkerPool(2) as pool:
        pids = {pid for _ in range(3) for pid in pool(joblib.delayed(os.getpid)() for _ in range(4))}
    assert os.getpid() not in pids
    assert len(pids) <= 2
