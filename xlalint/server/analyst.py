"""The thread on which everything is analysed: what editors ask and change in the order in which it came, and in between, once it has been
quiet for a moment, what is left to do.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

from xlalint.project.analysis import Interrupted

_logger = logging.getLogger(__name__)
_STACK = 256 * 1024 * 1024  # of which only what is used is taken: deep expressions are walked by recursion
_QUIET = 0.25
_PATIENCE = 0.1  # for what others wait for
_YIELDS = 3
_BREATH = 0.0005  # in which other threads run: compiled code hands over to none

Result = TypeVar("Result")


class OutdatedError(Exception):
    """A question was not answered, because something changed meanwhile."""


class Question:
    """A question that somebody waits for. `changes` is the number of changes when it was asked; `yields` says how often its answer may
    be begun anew, so that others need not wait for it."""

    def __init__(self, changes: int, yields: int) -> None:
        self.changes = changes
        self.yields = yields
        self.dropped = False


class Analyst:
    """Runs jobs one after the other. `idle` does one piece of what is left, and says whether there may be more.

    What is done while nobody waits gives way to what somebody waits for, and an answer that takes long to a change: `pulse` sees to it.
    """

    def __init__(self, idle: Callable[[], bool], failed: Callable[[str, Exception], None]) -> None:
        self._idle = idle
        self._failed = failed
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._quiet_at = 0.0
        self._ended = False
        self._last: Callable[[], object] = lambda: None
        self._changes = 0
        self._at_work: Question | None = None
        self._idling = False
        self._since = 0.0
        self._resting: list[Callable[[], None]] = []
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        before = threading.stack_size()
        threading.stack_size(_STACK)
        try:
            self._thread = threading.Thread(target=self._run, name="analysis", daemon=True)
            self._thread.start()
        finally:
            threading.stack_size(before)

    def end(self, last: Callable[[], object] = lambda: None) -> None:
        """End the thread, by a last job that comes before all others."""
        self._last = last
        self._ended = True
        self._jobs.put(None)
        if self._thread is not None:
            self._thread.join(timeout=5)

    def post(self, job: Callable[[], object], what: str) -> None:
        """Have something done; what goes wrong is told."""

        def run() -> None:
            try:
                job()
            except Interrupted:  # all of it ends
                pass
            except Exception as error:  # noqa: BLE001 - the server outlives its analysis
                self._failed(what, error)

        self._jobs.put(run)

    async def ask(self, job: Callable[[], Result], *, gives_way: bool = False) -> Result:
        """Have something worked out; if the one who waits for it is cancelled before it is begun, it is not. One that `gives_way` takes
        long: what is asked meanwhile comes first.

        Raises `OutdatedError` where it is not worked out, `CancelledError` once the thread has been ended.
        """
        self._refuse_when_ended()
        future: Future[Result] = Future()
        question = Question(self._changes, _YIELDS if gives_way else 0)

        def run() -> None:
            if not future.running() and not future.set_running_or_notify_cancel():
                return
            self._at_work, self._since = question, time.monotonic()
            try:
                future.set_result(job())
            except Interrupted:
                if self._ended or question.dropped or question.changes != self._changes:
                    future.set_exception(OutdatedError("something was changed meanwhile"))
                else:
                    question.yields -= 1
                    self._jobs.put(run)
            except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked
                future.set_exception(error)
            finally:
                self._at_work = None

        self._jobs.put(run)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            question.dropped = True
            raise

    async def rest(self) -> None:
        """Wait until nothing is left to do. Raises `CancelledError` once the thread has been ended."""
        self._refuse_when_ended()
        loop, over = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(over.set)

        self._jobs.put(lambda: self._resting.append(tell))
        await over.wait()

    def _refuse_when_ended(self) -> None:
        """Whoever asks now would wait for ever; `asyncio.wait_for` may swallow that its task was cancelled."""
        if self._ended:
            raise asyncio.CancelledError

    def note_change(self) -> None:
        """Remember that something was changed: leave alone what can wait until it has been quiet for a moment."""
        self._changes += 1
        self._quiet_at = time.monotonic() + _QUIET

    def pulse(self) -> None:
        """End what is at work, by `Interrupted`, if it is not wanted any more or has kept others waiting."""
        question = self._at_work
        if self._ended or (question is not None and question.dropped):
            raise Interrupted
        waits = question is not None and question.changes != self._changes
        if self._idling or (question is not None and question.yields > 0):
            waits |= not self._jobs.empty()
        if waits and time.monotonic() - self._since > _PATIENCE:
            raise Interrupted

    def _run(self) -> None:
        busy = True
        while not self._ended:
            job = self._next(busy)
            if job is not None:
                job()
                busy = True
                continue
            if not busy or self._ended or time.monotonic() < self._quiet_at:
                continue
            self._idling, self._since = True, time.monotonic()
            try:
                busy = self._idle()
            except Interrupted:
                busy = True
            except Exception as error:  # noqa: BLE001 - the server outlives its analysis
                self._failed("background analysis", error)
                busy = False
            finally:
                self._idling = False
            if not busy:
                for tell in self._resting:
                    tell()
                self._resting.clear()
        try:
            self._last()
        except Exception as error:  # noqa: BLE001 - told, if there is still somebody to tell
            self._failed("ending", error)

    def _next(self, busy: bool) -> Callable[[], None] | None:
        try:
            if not busy:
                return self._jobs.get()
            wait = max(self._quiet_at - time.monotonic(), 0.0)
            return self._jobs.get(timeout=max(wait, _BREATH))
        except queue.Empty:
            return None
