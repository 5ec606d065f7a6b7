"""Check that the process that started the server still runs: one that was killed closes no pipe that its children hold open."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

_PERIOD = 2.0  # seconds


def watch(process: int, gone: Callable[[], object], period: float = _PERIOD) -> threading.Thread | None:
    """Call `gone`, on another thread, once a process has ended; None where that cannot be seen.

    One that is not there to begin with lives elsewhere, as where the server runs in a container, and is not watched.
    """
    if os.name == "nt" or not _lives(process):
        return None

    def wait() -> None:
        while _lives(process):
            time.sleep(period)
        gone()

    thread = threading.Thread(target=wait, name="liveness", daemon=True)
    thread.start()
    return thread


def _lives(process: int) -> bool:
    if process <= 0:
        return False
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
