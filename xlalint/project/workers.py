"""Worker processes that leave nothing behind: an interrupt is heard by the run alone, which ends them at once and waits for none.

Each worker has a pipe of its own, of which nobody else holds the end: one that is killed in the middle of a message cannot keep anybody
waiting for the rest, nor hold a lock that others need.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_all_start_methods, get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from xlalint.interrupts import SIGNALS

Item = TypeVar("Item")
Result = TypeVar("Result")

_FEW = 4  # items for each worker: the last ones are handed out one at a time, for them to be shared fairly
_PATIENCE = 5.0  # seconds for a worker that has nothing left to do to end


class WorkerError(Exception):
    """A worker has ended before its work; the message says by what."""


def map_in_processes(
    work: Callable[[Item], Result], items: Sequence[Item], processes: int, context: BaseContext | None = None
) -> Iterator[Result]:
    """Yield what `work` makes of each item, in order.

    It is worked out in that many processes, which are forks, or in this one where there are none.
    A process that is started anew (`spawn`, `forkserver`) would import what lies in the working directory. Raises what `work` raises, and
    `WorkerError`.
    """
    context = context or forks()
    if context is None or not items:
        yield from map(work, items)
        return
    crew = _Crew(work, items, min(processes, len(items)), context)
    try:
        yield from crew.results()
        crew.dismiss()
    finally:
        crew.end()


def forks() -> BaseContext | None:
    """How to start processes that are copies of this one; None where the system has no such thing."""
    return get_context("fork") if "fork" in get_all_start_methods() else None


class _Crew(Generic[Item, Result]):
    """Workers, each with its end of a pipe. What they send is taken by a thread, so that none waits while this one is busy."""

    def __init__(
        self, work: Callable[[Item], Result], items: Sequence[Item], processes: int, context: BaseContext
    ) -> None:
        self._left = iter(range(len(items)))
        self._size = self._unsent = len(items)
        self._few = _FEW * processes
        self._pipes: list[Connection[Any, Any]] = []
        self._workers: list[BaseProcess] = []
        self._owed = [0] * processes
        self._mail: SimpleQueue[tuple[int, bytes | None]] = SimpleQueue()
        with _deaf():
            for _ in range(processes):
                ours, theirs = context.Pipe()
                self._pipes.append(ours)
                worker = context.Process(  # type: ignore[attr-defined]
                    target=_serve, args=(work, items, theirs, list(self._pipes)), daemon=True
                )
                self._workers.append(worker)
                worker.start()
                theirs.close()
        self._taker = threading.Thread(target=_take, args=(list(self._pipes), self._mail), daemon=True)
        self._taker.start()

    def results(self) -> Iterator[Result]:
        """The results in the order of the items."""
        for number in range(len(self._workers)):
            self._hand_on(number)
        early: dict[int, Result] = {}
        for index in range(self._size):
            while index not in early:
                at, result = self._next()
                early[at] = result
            yield early.pop(index)

    def _hand_on(self, number: int) -> None:
        """Give a worker what it is to do next, and one item more while there are many: it then need not wait for this process."""
        while self._owed[number] < (2 if self._unsent > self._few else 1):
            index = next(self._left, None)
            if index is None:
                return
            self._unsent -= 1
            self._owed[number] += 1
            with suppress(OSError):  # of a worker that has ended the mail tells
                self._pipes[number].send(index)

    def _next(self) -> tuple[int, Result]:
        """Wait for what some worker sends next: an item's index, and the result."""
        while True:
            number, message = self._mail.get()
            if message is not None:
                self._owed[number] -= 1
                self._hand_on(number)
                index, result, error = pickle.loads(message)
                if error is not None:
                    raise error
                return index, result
            if self._owed[number]:
                raise WorkerError(_ending(self._workers[number]))

    def dismiss(self) -> None:
        """There is nothing left to do."""
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.send(None)
        for worker in self._workers:
            worker.join(_PATIENCE)

    def end(self) -> None:
        """Kill the workers that still run."""
        for worker in self._workers:
            with suppress(ValueError, AttributeError):  # it was not started
                worker.kill()
        for worker in self._workers:
            with suppress(ValueError, AssertionError):
                worker.join(_PATIENCE)
        self._taker.join(_PATIENCE)
        if self._taker.is_alive():  # it would read from what is opened next under the number of a closed pipe
            return
        for pipe in self._pipes:
            pipe.close()


def _take(pipes: list[Connection[Any, Any]], mail: SimpleQueue[tuple[int, bytes | None]]) -> None:
    """In a thread: put what comes from the pipes into the mail, and None for a pipe that ends."""
    numbers = {pipe: number for number, pipe in enumerate(pipes)}
    while numbers:
        for pipe in wait(list(numbers)):
            assert isinstance(pipe, Connection)
            try:
                mail.put((numbers[pipe], pipe.recv_bytes()))
            except (EOFError, OSError):  # the latter in the middle of a message
                mail.put((numbers.pop(pipe), None))


def _serve(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    pipe: Connection[Any, Any],
    others: list[Connection[Any, Any]],
) -> None:
    """In a worker: do what the pipe asks for, until it ends."""
    _hear_as_a_worker()
    for other in others:
        other.close()
    _end_with_parent()
    with suppress(EOFError, OSError):  # the run is gone
        while (index := pipe.recv()) is not None:
            pipe.send_bytes(_answer(work, items[index], index))


def _answer(work: Callable[[Item], Result], item: Item, index: int) -> bytes:
    try:
        return pickle.dumps((index, work(item), None), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - it is raised where the results are
        try:
            return pickle.dumps((index, None, pickle.loads(pickle.dumps(error))))
        except Exception:  # noqa: BLE001 - not every error can be sent
            return pickle.dumps((index, None, RuntimeError(f"{type(error).__name__}: {error}")))


def _ending(worker: BaseProcess) -> str:
    worker.join(_PATIENCE)
    code = worker.exitcode
    if code is None or code >= 0:
        return f"a worker process has ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    want = ", perhaps by the system for lack of memory: use fewer processes (`-j`)" if name == "SIGKILL" else ""
    return f"a worker process was ended by {name}{want}"


@contextmanager
def _deaf() -> Iterator[None]:
    """Hold back the signals that end a run: a process that is started meanwhile hears them its own way, and this one afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _hear_as_a_worker() -> None:
    """Leave Ctrl-C, which a terminal sends to all, to the run; end by the other signals without a word."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _end_with_parent() -> None:
    """In a worker: end when the run is killed, which tells nobody."""
    parent = parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
