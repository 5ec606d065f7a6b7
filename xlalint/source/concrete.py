"""Text to libcst tree, guarded: libcst's native parser recurses and would end the process when its stack does."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

import libcst as cst

Result = TypeVar("Result")

# A level of nesting takes a character and at most a kilobyte of stack; the usual main thread has 8 MiB.
_SHORT = 4_000
_STACK = 512 * 1024 * 1024
_CALLS = 200_000


def parse_concrete(text: str) -> cst.Module | None:
    """Return the concrete tree of `text`, or None if it is not Python."""
    try:
        return parse_or_fail(text)
    except SyntaxError:
        return None


def parse_or_fail(text: str) -> cst.Module:
    """Return the concrete tree of `text`; SyntaxError says where it is no Python, with row 0 if libcst does not."""
    try:
        return cst.parse_module(text) if len(text) <= _SHORT else with_deep_stack(lambda: cst.parse_module(text))
    except cst.ParserSyntaxError as error:
        place = re.search(r"error at (\d+):(\d+)", error.message)
        row, column = (int(place[1]), int(place[2])) if place else (0, 0)
        raise SyntaxError("invalid syntax", ("<text>", row, max(column - 1, 1), None)) from None
    except (cst.CSTLogicError, cst.CSTValidationError, RecursionError):
        raise SyntaxError("invalid syntax", ("<text>", 0, 0, None)) from None


def with_deep_stack(work: Callable[[], Result]) -> Result:
    """Run `work` in a thread whose stack, and Python's own count of calls, no statement of real code can exhaust."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001  (re-raised in the caller's thread)
            errors.append(error)

    stack, calls = threading.stack_size(_STACK), sys.getrecursionlimit()
    sys.setrecursionlimit(_CALLS)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(stack)
        sys.setrecursionlimit(calls)
    if errors:
        raise errors[0]
    return results[0]
