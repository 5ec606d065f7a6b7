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

    Where Python cannot raise, as in what it calls while it collects garbage, it would print the error and go on: the alarm rings again. A
    framework that takes the error for one of what it traces, as Dynamo does, and raises its own for it, does not hide it.
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
    except Exception as error:
        if error is not late and _is_from(error, late):
            raise late from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = heard


def _is_from(error: BaseException, cause: BaseException) -> bool:
    """Return whether an error was raised for another, or while that was handled."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is cause:
            return True
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            waiting += [one.__cause__, one.__context__]
    return False
