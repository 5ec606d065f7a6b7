"""Lowering by executors: the same report whatever they do, and whether they do it at all."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.conftest import COMMAND, MODEL
from xlalint.config import Settings
from xlalint.project import check_paths
from xlalint.project.executors import ClusterError, connect, lowered_by
from xlalint.project.lowered import Parcel, VersionError, lower_parcel, lower_paths, pack_files
from xlalint.project.report import encode_report


def _tree(folder: Path, files: int) -> Path:
    """Modules that use one another, some that cannot be read among them, and a notebook."""
    (folder / "pkg").mkdir()
    (folder / "pkg" / "__init__.py").write_text("")
    for number in range(files):
        imported = f"from pkg.m{number - 1} import Model as Before\n" if number else ""
        filling = "".join(f"def f{n}(x):\n    return [x + {n}, x * {n}]\n\n\n" for n in range(20))
        (folder / "pkg" / f"m{number}.py").write_text(imported + MODEL + filling)
    (folder / "broken.py").write_text("x = (\n")
    (folder / "latin.py").write_bytes(b"x = '\xe9'\n")
    (folder / "n.ipynb").write_text('{"cells": [], "metadata": {}, "nbformat": 4}')
    return folder


class Odd(Executor):
    """An executor that does as it is told, and after that many tasks otherwise."""

    def __init__(self, good: int, otherwise: Callable[[Future[Any]], None]) -> None:
        self.good = good
        self.otherwise = otherwise

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.good -= 1
        if self.good >= 0:
            future.set_result(fn(*args, **kwargs))
        else:
            self.otherwise(future)
        return future


def _fail(future: Future[Any]) -> None:
    future.set_exception(RuntimeError("worker 3 is gone\nand more"))


def _refuse(_: Future[Any]) -> None:
    raise RuntimeError("worker 3 is gone")


def _cancel(future: Future[Any]) -> None:
    future.cancel()


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: ThreadPoolExecutor(3), id="threads"),
        pytest.param(lambda: ProcessPoolExecutor(2, get_context("spawn")), id="processes"),
        pytest.param(lambda: Odd(1, _fail), id="fails"),
        pytest.param(lambda: Odd(1, _refuse), id="refuses"),
        pytest.param(lambda: Odd(1, _cancel), id="cancels"),
    ],
)
def test_the_report_is_the_same(make: Callable[[], Executor], tmp_path: Path) -> None:
    tree, settings = _tree(tmp_path, 30), Settings(root=str(tmp_path), show_info=True)
    alone = check_paths([tree], settings)
    assert len(alone.findings) > 30
    troubles: Counter[str] = Counter()
    with make() as executor:
        shared = check_paths([tree], settings, executor=executor, troubles=troubles)
    assert encode_report(shared) == encode_report(alone)
    assert all("worker 3 is gone" in trouble or "gave the work back" in trouble for trouble in troubles)
    assert bool(troubles) == isinstance(executor, Odd)


def test_an_executor_that_does_not_answer_is_given_up_once(tmp_path: Path) -> None:
    tree = _tree(tmp_path, 12)
    batches = [[str(path)] for path in sorted(tree.rglob("*.py"))]
    troubles: Counter[str] = Counter()
    began = time.monotonic()
    found = list(lowered_by(Odd(2, lambda _: None), batches, troubles, patience=0.05))
    assert found == [lower_paths(batch) for batch in batches]
    assert list(troubles.values()) == [1]
    assert time.monotonic() - began < 30  # not once a batch, at an hour each


def test_the_warning_tells_what_went_wrong_at_the_bottom(tmp_path: Path) -> None:
    """Dask says of a worker without xlalint that the task graph cannot be deserialized."""
    tree = _tree(tmp_path, 2)

    def fail(future: Future[Any]) -> None:
        error = RuntimeError("Error during deserialization. This frequently\noccurs")
        error.__cause__ = ModuleNotFoundError("No module named 'xlalint'")
        future.set_exception(error)

    batches = [[str(path)] for path in sorted(tree.rglob("*.py"))]
    troubles: Counter[str] = Counter()
    found = list(lowered_by(Odd(1, fail), batches, troubles))
    assert found == [lower_paths(batch) for batch in batches]
    assert set(troubles) == {"ModuleNotFoundError: No module named 'xlalint'"}


def test_what_is_left_is_cancelled(tmp_path: Path) -> None:
    batches = [[str(path)] for path in sorted(_tree(tmp_path, 5).rglob("*.py"))]
    futures: list[Future[Any]] = []
    lowering = lowered_by(Odd(1, futures.append), batches, Counter())
    next(lowering)
    lowering.close()
    assert futures
    assert all(future.cancelled() for future in futures)


def test_workers_of_another_version_do_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(MODEL)
    unread, blob = pack_files([str(path), str(tmp_path / "gone.py")])
    assert len(unread) == 1
    assert [*unread, *lower_parcel(blob)] == lower_paths([str(tmp_path / "gone.py"), str(path)])
    told = msgspec.msgpack.decode(blob, type=Parcel)
    with pytest.raises(VersionError, match=r"a worker has xlalint .*, this is 9\.9"):
        lower_parcel(msgspec.msgpack.encode(msgspec.structs.replace(told, versions=("9.9",))))


@pytest.mark.parametrize("address", ["", "localhost:8786", "dask://", "spark://localhost:1"])
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(ClusterError, match="not the address of a cluster"), connect(address):
        pass


# ----------------------------------------------------------------------------------------------------------- clusters


def _check(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [COMMAND, "check", "--isolated", "--no-cache", "--output-format", "json", "--show-info", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.fixture
def dask() -> Iterator[Any]:
    """A cluster of two worker processes on this machine."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(host="127.0.0.1", **options) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


def _tasks(dask_scheduler: Any) -> dict[str, int]:
    """How much each worker was given so far."""
    return {one.address: len(one.has_what) + len(one.processing) for one in dask_scheduler.workers.values()}


@pytest.mark.slow
def test_a_cluster_of_dask_gives_the_same_bytes_though_a_worker_is_killed(tmp_path: Path, dask: Any) -> None:
    tree = _tree(tmp_path, 400)
    alone = _check(tree).communicate()[0]
    assert alone.count(b'"code":"XLA101"') == 400
    address = dask.scheduler.address.replace("tcp://", "dask://")
    running = _check(tree, "--executor", address)

    while not (busy := [worker for worker, tasks in dask.run_on_scheduler(_tasks).items() if tasks]):
        assert running.poll() is None, "the work never reached the cluster"
        time.sleep(0.01)
    [pid] = dask.run(os.getpid, workers=busy[:1]).values()
    os.kill(pid, signal.SIGKILL)
    said, complaints = running.communicate(timeout=600)
    assert said == alone
    assert running.returncode == 1, complaints


def test_no_scheduler(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    (tmp_path / "a.py").write_text("x = 1\n")
    running = _check(tmp_path, "--executor", "dask://127.0.0.1:9")
    said, complaints = running.communicate(timeout=300)
    assert (running.returncode, said) == (2, b"")
    assert b"no Dask scheduler answers at `dask://127.0.0.1:9`" in complaints


@pytest.mark.slow
def test_a_cluster_of_ray_gives_the_same_bytes(tmp_path: Path) -> None:
    """Where Ray is installed, which is of 300 megabytes and no part of the tests' environment."""
    pytest.importorskip("ray")
    tree = _tree(tmp_path, 60)
    alone = _check(tree).communicate()[0]
    ray = [sys.executable, "-m", "ray.scripts.scripts"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = ["--port=0", f"--ray-client-server-port={port}", "--include-dashboard=false", "--num-cpus=2", "--block"]
    head = subprocess.Popen([*ray, "start", "--head", *told], stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        for _ in range(60):
            running = _check(tree, "--executor", f"ray://127.0.0.1:{port}")
            said, complaints = running.communicate(timeout=300)
            if running.returncode != 2:
                break
            time.sleep(1)
        assert (said, running.returncode) == (alone, 1), complaints
        assert b"done here" not in complaints
    finally:
        os.killpg(head.pid, signal.SIGTERM)
        head.wait(timeout=60)
