"""Worker processes that leave nothing behind: an interrupt is heard by the run alone, which ends them at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, parent_process
from multiprocessing.context import BaseContext
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def mapped(
    work: Callable[[Item], Result], items: Sequence[Item], processes: int, context: BaseContext | None = None
) -> Iterator[Result]:
    """What `work` makes of each item, in order; worked out in that many processes."""
    before = set(active_children())
    pool = ProcessPoolExecutor(min(processes, len(items)), context, _end_with_parent)
    try:
        with _deaf_to_interrupts():
            results = pool.map(work, items)
        yield from results
    except BaseException:
        for child in set(active_children()) - before:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Hold back SIGINT: processes started meanwhile never see one, and this one sees it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """In a worker: end when the run is killed, which tells nobody."""
    parent = parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
