"""Asks after every line of the user's code what it did; for thorough meters, since each line costs some microseconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from xlalint.verify.model import Place
from xlalint.verify.places import is_users


class LineTracer:
    """Calls `after_line` when a line of the user's has been run, in the thread that starts it; `here` is the line that is being run.

    What a framework does below a line belongs to it; a line that calls another function of the user's is asked before and after the call.
    """

    def __init__(self, after_line: Callable[[], None]) -> None:
        self._after_line = after_line
        self._code: CodeType | None = None
        self._line = 0
        self._entered: list[FrameType] = []

    @property
    def here(self) -> Place | None:
        """The user's line that is being run, None outside of the user's code."""
        return Place(self._code.co_filename, self._line, self._code.co_name) if self._code else None

    def start(self) -> bool:
        """Trace from now on, the functions that are being run included; false where something else traces: a debugger, a coverage tool."""
        if sys.gettrace() is not None:
            return False
        frame: FrameType | None = sys._getframe(1)
        self._arrive(frame)
        while frame is not None:
            if is_users(frame.f_code.co_filename) and frame.f_trace is None:
                frame.f_trace = self._trace
                self._entered.append(frame)
            frame = frame.f_back
        sys.settrace(self._call)
        return True

    def stop(self) -> None:
        if sys.gettrace() == self._call:
            sys.settrace(None)
        for frame in self._entered:
            frame.f_trace = None
        self._entered.clear()
        self._code = None

    def _call(self, frame: FrameType, _: str, __: Any) -> Any:
        if not is_users(frame.f_code.co_filename):
            return None
        self._after_line()
        self._code, self._line = frame.f_code, frame.f_lineno
        return self._trace

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if event != "exception":
            self._after_line()
            self._arrive(frame.f_back if event == "return" else frame)
        return self._trace

    def _arrive(self, frame: FrameType | None) -> None:
        while frame is not None and not is_users(frame.f_code.co_filename):
            frame = frame.f_back
        self._code, self._line = (frame.f_code, frame.f_lineno) if frame else (None, 0)
