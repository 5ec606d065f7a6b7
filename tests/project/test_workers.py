"""Work in processes: in order, with what goes wrong told, and nobody waiting for those who are gone."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing import active_children
from multiprocessing.connection import Connection
from typing import Any

import pytest

from xlalint.project.workers import WorkerError, forks, map_in_processes

pytestmark = pytest.mark.skipif(forks() is None, reason="this system has no forks")


class OddError(Exception):
    """An error that cannot be sent: it holds a function that has no name, whatever libraries teach pickle of errors."""

    def __init__(self, number: int) -> None:
        super().__init__(number, lambda: number)


def squared(number: int) -> int:
    time.sleep(0.001 * (number % 3))
    return number * number


@pytest.mark.parametrize("processes", [1, 2, 3, 50])
@pytest.mark.parametrize("items", [0, 1, 7, 100])
def test_results_come_in_order(items: int, processes: int) -> None:
    assert list(map_in_processes(squared, range(items), processes)) == [number * number for number in range(items)]
    assert active_children() == []


def test_large_results_come_while_nobody_asks_for_them() -> None:
    results = map_in_processes(lambda number: bytes(3_000_000), range(12), 3)
    for result in results:
        time.sleep(0.01)
        assert len(result) == 3_000_000


def _raise(error: BaseException) -> Callable[[int], int]:
    def work(number: int) -> int:
        if number == 5:
            raise error
        return number

    return work


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        pytest.param(KeyError("five"), KeyError, id="error"),
        pytest.param(OddError(5), RuntimeError, id="that-cannot-be-sent"),
        pytest.param(MemoryError(), MemoryError, id="memory"),
    ],
)
def test_what_goes_wrong_is_raised(error: Exception, raised: type[Exception]) -> None:
    with pytest.raises(raised):
        list(map_in_processes(_raise(error), range(40), 3))
    assert active_children() == []


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGKILL, "ended by SIGKILL, perhaps by the system for lack of memory"),
        (signal.SIGSEGV, "ended by SIGSEGV"),
    ],
    ids=["killed", "crashed"],
)
def test_a_worker_that_ends_early_is_told_of(number: int, words: str) -> None:
    def work(item: int) -> int:
        if item == 5:
            os.kill(os.getpid(), number)
        return item

    with pytest.raises(WorkerError, match=words):
        list(map_in_processes(work, range(40), 3))
    assert active_children() == []


def test_a_worker_that_is_killed_in_the_middle_of_a_message_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pool of the standard library waits for the rest of it, for ever."""
    whole = Connection._send  # type: ignore[attr-defined]

    def half(self: Any, message: bytes, *rest: Any) -> None:
        if b"half of this" in bytes(message):
            os.write(self.fileno(), bytes(message)[: len(message) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        whole(self, message, *rest)

    monkeypatch.setattr(Connection, "_send", half)
    with pytest.raises(WorkerError, match="SIGKILL"):
        list(map_in_processes(lambda item: b"half of this" if item == 3 else b"all", range(8), 2))
    assert active_children() == []


def test_nothing_reads_from_a_pipe_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next pipe to be opened has its number: what is meant for that one would be taken from it."""
    received = Connection.recv_bytes

    def slowly(self: Any, *most: Any) -> bytes:
        time.sleep(0.05)
        return received(self, *most)

    monkeypatch.setattr(Connection, "recv_bytes", slowly)
    threads = set(threading.enumerate())
    with pytest.raises(KeyError):
        list(map_in_processes(_raise(KeyError("five")), range(40), 3))
    assert set(threading.enumerate()) == threads


def test_workers_are_gone_when_results_are_not_wanted_any_more() -> None:
    results = map_in_processes(squared, range(1000), 3)
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert active_children() == []
