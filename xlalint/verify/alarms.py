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
_EVERY = 1.0  # seconds between one time and the next, where what is to end caught the error and went on


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` in code that takes longer; 0.0 is no limit.

    Where Python cannot raise, as in what it calls while it collects garbage, it would print the error and go on: the alarm rings again, as
    it does where code catches the error and goes on. A framework that raises an error of its own for it, as Dynamo does, or that tells of
    it just in the text of one, as JAX's compiler and caches do, does not hide it.
    """
    if not seconds:
        yield
        return

    late, rung = TimeoutError(f"not done within {seconds:g} s"), False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal rung
        rung = True
        raise late

    def hear(told: UnraisableHookArgs, /) -> None:
        if told.exc_value is late:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN, _EVERY)
        else:
            heard(told)

    before, heard = signal.signal(signal.SIGALRM, stop), sys.unraisablehook
    sys.unraisablehook = hear
    signal.setitimer(signal.ITIMER_REAL, seconds, _EVERY)
    try:
        yield
    except Exception as error:
        if rung and error is not late:
            raise late from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = heard
