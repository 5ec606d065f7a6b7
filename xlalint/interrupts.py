"""Signals that end xlalint: it says so in one line, leaves no process of its own behind, and waits for nothing that may never come.

The first signal is an exception where the program stands, so that what is under way is put in order: a file that is being written, a line
of progress. Whatever comes of that, the process is gone after `PATIENCE` seconds, or at once at the second signal.

Imported before anything else: it imports what Python has loaded by then, and the rest when it is needed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn, Union

PATIENCE = 1.2
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_SHELL = 128  # what shells add to the number of the signal that ended a program

_heard: int | None = None
_telling = False
_told = False
_unraisable = sys.unraisablehook

Handler = Union[Callable[[int, FrameType | None], Any], int, signal.Handlers, None]


class Ended(KeyboardInterrupt):
    """A signal that is to end the process."""


def heed() -> dict[signal.Signals, Handler]:
    """End by signals as this module has it, from now on; gives what it was before, for `unheed`.

    What the caller has the process ignore (`nohup`) stays ignored, and signals that another handler waits for are left to that. Threads
    cannot choose: in them nothing changes.
    """
    before: dict[signal.Signals, Handler] = {}
    for number in SIGNALS:
        handler = signal.getsignal(number)
        if handler in (signal.SIG_DFL, signal.default_int_handler):
            try:
                signal.signal(number, _hear)
            except ValueError:  # another thread than the main one
                break
            before[number] = handler
    if before:
        global _unraisable
        _unraisable, sys.unraisablehook = sys.unraisablehook, _pass_on
    return before


def unheed(before: dict[signal.Signals, Handler]) -> None:
    """Undo what `heed` did."""
    if before:
        sys.unraisablehook = _unraisable
    for number, handler in before.items():
        signal.signal(number, handler)


def exit_code() -> int:
    """130 for Ctrl-C, 143 for SIGTERM, 129 for a terminal that is gone."""
    return _SHELL + (_heard or signal.SIGINT)


def reason() -> str:
    """Say in a few words what ended the process."""
    if _heard is None or _heard == signal.SIGINT:
        return "interrupted"
    return f"ended by {signal.Signals(_heard).name}"


def interrupted_only() -> bool:
    """Return whether nothing worse than Ctrl-C was heard."""
    return _heard is None or _heard == signal.SIGINT


@contextmanager
def tell() -> Iterator[None]:
    """Open a `with` block that tells the user that the process ends. A signal that comes meanwhile does not cut the line off."""
    global _telling, _told
    _telling = True
    try:
        yield
    finally:
        _told = True
        _telling = False


def leave() -> NoReturn:
    """End at once, and with it the processes that share the work."""
    if not (_told or _telling):
        with tell(), suppress(OSError):  # the terminal is gone, or standard error is closed
            os.write(2, f"xlalint: {reason()}\n".encode())
    if "multiprocessing.process" in sys.modules:
        from multiprocessing.process import active_children

        for child in active_children():
            child.kill()
    os._exit(exit_code())


def _pass_on(lost: sys.UnraisableHookArgs) -> None:
    """Tell of an exception that Python cannot raise where it came up, such as in a finalizer.

    Of a signal that came there nothing need be told: `_insist` ends the process.
    """
    if not isinstance(lost.exc_value, Ended):
        _unraisable(lost)


def _hear(number: int, _: FrameType | None) -> None:
    global _heard
    if _telling:
        return  # it is on its way out, and `_insist` sees to it
    if _heard is not None:
        leave()
    _heard = number
    _insist()
    raise Ended


def _insist() -> None:
    """Have another thread see to it that the process ends: the exception may be lost, or what it interrupts may wait for ever."""
    import threading
    import time

    def insist() -> None:
        time.sleep(PATIENCE)
        leave()

    try:
        threading.Thread(target=insist, daemon=True).start()
    except RuntimeError:  # no more threads can be had
        leave()
