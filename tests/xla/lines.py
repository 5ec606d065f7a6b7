"""Which lines of an example an observation belongs to."""

from __future__ import annotations

import contextlib
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any


@contextlib.contextmanager
def lines_that_move(counter: Callable[[], int], file: str) -> Iterator[set[int]]:
    """Collect the lines of a file during which a counter moves; a call's line counts for all that happens in the call."""
    moved: set[int] = set()
    current: dict[FrameType, int] = {}
    last = counter()

    def settle() -> None:
        nonlocal last
        now = counter()
        if now != last:
            moved.update(current.values())
            last = now

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        settle()
        if event == "return":
            current.pop(frame, None)
        else:
            current[frame] = frame.f_lineno
        return trace

    sys.settrace(trace)
    try:
        yield moved
    finally:
        sys.settrace(None)


def lines_of_error(error: BaseException, file: str) -> list[int]:
    """The lines of a file that an exception came through, by its traceback or (AutoGraph) by its message."""
    lines = {frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file}
    lines |= {int(line) for line in re.findall(rf'File "{re.escape(file)}", line (\d+)', str(error))}
    cause = error.__cause__ or error.__context__
    if cause is not None:
        lines |= set(lines_of_error(cause, file))
    return sorted(line for line in lines if line)
