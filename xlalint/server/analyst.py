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
from typing import TypeVar

_logger = logging.getLogger(__name__)
_STACK = 256 * 1024 * 1024  # of which only what is used is taken: deep expressions are walked by recursion
_QUIET = 0.25
_BREATH = 0.0005  # in which other threads run: compiled code hands over to none

Result = TypeVar("Result")


class Analyst:
    """Runs jobs one after the other. `idle` does one piece of what is left, and says whether there may be more."""

    def __init__(self, idle: Callable[[], bool], failed: Callable[[str, Exception], None]) -> None:
        self._idle = idle
        self._failed = failed
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._quiet_at = 0.0
        self._ended = False
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

    def end(self) -> None:
        """End the thread, once it is done with the job at hand."""
        self._ended = True
        self._jobs.put(None)
        if self._thread is not None:
            self._thread.join(timeout=5)

    def post(self, job: Callable[[], object], what: str) -> None:
        """Have something done; what goes wrong is told."""

        def run() -> None:
            try:
                job()
            except Exception as error:  # noqa: BLE001 - the server outlives its analysis
                self._failed(what, error)

        self._jobs.put(run)

    async def ask(self, job: Callable[[], Result]) -> Result:
        """Have something worked out; if the one who waits for it is cancelled before it is begun, it is not."""
        future: Future[Result] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(job())
            except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked
                future.set_exception(error)

        self._jobs.put(run)
        return await asyncio.wrap_future(future)

    def disturbed(self) -> None:
        """Something was changed: leave alone what can wait until it has been quiet for a moment."""
        self._quiet_at = time.monotonic() + _QUIET

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
            try:
                busy = self._idle()
            except Exception as error:  # noqa: BLE001 - the server outlives its analysis
                self._failed("background analysis", error)
                busy = False

    def _next(self, busy: bool) -> Callable[[], None] | None:
        try:
            if not busy:
                return self._jobs.get()
            wait = max(self._quiet_at - time.monotonic(), 0.0)
            return self._jobs.get(timeout=max(wait, _BREATH))
        except queue.Empty:
            return None
