"""A limit on the seconds that user code may take within this process."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_AGAIN = 0.01  # seconds after which it rings again, where nobody heard it


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` in code that takes longer; 0.0 is no limit.

    Where Python cannot raise, as in what it calls while it collects garbage, it would print the error and go on: the alarm rings again.
    """
    if not seconds:
        yield
        return

    late = TimeoutError(f"not done within {seconds:g} s")

    def stop(number: int, frame: FrameType | None) -> None:
        raise late

    def hear(told: UnraisableHookArgs, /) -> None:
        if told.exc_value is late:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        else:
            heard(told)

    before, heard = signal.signal(signal.SIGALRM, stop), sys.unraisablehook
    sys.unraisablehook = hear
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = heard
