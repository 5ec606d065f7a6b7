"""Notes what user code asks of the operating system while it runs: variables of the environment, files that it writes or removes, processes
that it starts.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from xlalint.verify.places import is_users

_CHANGES = ("os.putenv", "os.unsetenv", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "subprocess.Popen")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT
_OF_PYTHON = (os.path.dirname(os.__file__) + os.sep, "<frozen ")  # noqa: PTH120 - asked once
_local = threading.local()
_hooked: list[bool] = []  # whether Python tells: what is added is there for good


@contextmanager
def noting() -> Iterator[list[str]]:
    """Collect, in this thread, what user code asks for inside of the `with` block; files by their suffixes, since names may be drawn."""
    if not _hooked:
        sys.addaudithook(_hear)
        _hooked.append(True)
    told: list[str] = []
    _local.told = told
    try:
        yield told
    finally:
        _local.told = None


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" and event not in _CHANGES:
        return
    told = getattr(_local, "told", None)
    if told is None or (event == "open" and not _writes(*arguments[1:3])) or not _is_asked_by_user(sys._getframe(1)):
        return
    if event in ("os.putenv", "os.unsetenv"):
        told.append(" ".join([event, *(os.fsdecode(one) for one in arguments)]))
    else:
        told.append(f"{event} {os.path.splitext(str(arguments[0]))[1]}".rstrip())  # noqa: PTH122


def _is_asked_by_user(frame: FrameType | None) -> bool:
    """Return whether user code asks, by Python's own modules at most: what a library sets up when it is first used is its own matter."""
    while frame is not None and _is_pythons(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and is_users(frame.f_code.co_filename)


def _is_pythons(file: str) -> bool:
    return file.startswith(_OF_PYTHON) and "-packages" + os.sep not in file


def _writes(mode: Any, flags: Any) -> bool:
    return any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool((flags or 0) & _WRITING)
