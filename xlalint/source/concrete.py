"""Text to libcst tree, guarded: libcst's native parser recurses and would end the process when its stack does."""

from __future__ import annotations

import ast
import re
import sys
import threading
import warnings
from collections.abc import Callable
from typing import TypeVar

import libcst as cst

Result = TypeVar("Result")

# A level of nesting takes a character and at most a kilobyte of stack; the usual main thread has 8 MiB.
_SHORT = 4_000
_STACK = 512 * 1024 * 1024
_CALLS = 200_000
_LONGEST_CHAIN = 300


def parse_concrete(text: str) -> cst.Module | None:
    """Return the concrete tree of `text`, or None if it is not Python, or Python that no person writes (`is_too_deep`)."""
    try:
        return None if is_too_deep(text) else parse_or_fail(text)
    except SyntaxError:
        return None


def is_too_deep(text: str) -> bool:
    """Return whether a chain of operators, attributes, calls or subscripts is so long that libcst, which copies what it has of a chain
    at each link, would take seconds."""
    if len(text) <= _SHORT:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of the linted code are not ours to print
            nodes = list(ast.walk(ast.parse(text)))
    except (RecursionError, MemoryError):
        return True
    except (SyntaxError, ValueError):
        return False
    links: dict[ast.AST, int] = {}
    for node in reversed(nodes):  # what a node holds comes before it
        first = getattr(node, _FIRST.get(type(node), ""), None)
        if first is not None:
            links[node] = links.get(first, 0) + 1
    return max(links.values(), default=0) > _LONGEST_CHAIN


_FIRST = {ast.BinOp: "left", ast.Attribute: "value", ast.Call: "func", ast.Subscript: "value"}
"""What a link of a chain goes on from."""


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
