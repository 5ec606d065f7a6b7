"""Finds which branches of a file's functions were taken while it ran, by Python's own tracing; those that none took are named."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from xlalint.verify.choices import Choices, brief_of
from xlalint.verify.frames import follow_frames

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Branches:
    """Follows one file. `taken` counts steps from line to line, so that it grows exactly if something new was run."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._steps: set[tuple[int, int]] = set()
        self._text = _read(file)
        try:
            self.tree = ast.parse(self._text)
        except (SyntaxError, ValueError):
            self.tree = ast.Module([], [])
        self._choices = Choices(self.tree)

    @property
    def taken(self) -> int:
        """How many different steps from line to line were seen."""
        return len(self._steps)

    @property
    def lines(self) -> set[int]:
        """The lines that were run."""
        return {line for _, line in self._steps}

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        """Follow what is run inside of the `with` block."""
        steps, file, choices = self._steps, self.file, self._choices

        def enter(frame: FrameType, event: str, argument: Any) -> Any:
            if frame.f_code.co_filename != file:
                return None
            last = frame.f_code.co_firstlineno
            ran = choices.following(frame.f_code)
            frame.f_trace_opcodes = ran is not None

            def local(frame: FrameType, event: str, argument: Any) -> Any:
                nonlocal last
                if event == "line":
                    steps.add((last, frame.f_lineno))
                    last = frame.f_lineno
                elif event == "opcode" and ran is not None:
                    ran.add(frame.f_lasti)
                return local

            return local

        with follow_frames(enter):
            yield

    def functions(self) -> list[ast.AST]:
        """The functions that were run, in the order of the file."""
        lines = self.lines
        found = [node for node in ast.walk(self.tree) if isinstance(node, _FUNCTIONS)]
        return [node for node in found if any(_holds(node.body, line) for line in lines)]

    def find_untaken(self) -> list[tuple[int, str]]:
        """The branches of these functions that were never taken, each by the line of its condition and in words."""
        told: dict[int, str] = {}
        for function in self.functions():
            for node in ast.walk(function):
                if isinstance(node, (ast.If, ast.While)) and (said := self._judge(node)):
                    told[node.lineno] = said
            for line, said in self._choices.find_untaken(function):
                told.setdefault(line, said)
        return sorted(told.items())

    def _judge(self, node: ast.If | ast.While) -> str:
        """In words, which way a condition never went; "" where it went both, or was not come to, or stands on one line with its branch."""
        test = range(node.test.lineno, (node.test.end_lineno or node.test.lineno) + 1)
        lines = self.lines
        if not lines & set(test) or node.body[0].lineno in test or _is_constant(node.test):
            return ""
        into = any(_holds(node.body, line) for line in lines)
        past = any(start in test and line not in test and not _holds(node.body, line) for start, line in self._steps)
        ends = isinstance(node, ast.If) and not node.orelse
        brief = brief_of(node.test)
        if not into:
            return f"`{brief}` was never true"
        return f"`{brief}` was never false" if not past and not (ends and self._returns_after(node)) else ""

    def _returns_after(self, node: ast.If | ast.While) -> bool:
        """Return whether nothing follows a condition: then no line tells that it was false."""
        last = max(self.lines, default=0)
        return last <= (node.end_lineno or 0)


def _is_constant(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant)


def _holds(body: Sequence[ast.stmt], line: int) -> bool:
    return bool(body) and body[0].lineno <= line <= (body[-1].end_lineno or 0)


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def is_check(file: str, line: int) -> bool:
    """Return whether a line of a file is of a `raise` or an `assert`."""
    try:
        tree = ast.parse(_read(file))
    except (SyntaxError, ValueError):
        return False
    checks = (node for node in ast.walk(tree) if isinstance(node, (ast.Raise, ast.Assert)))
    return any(node.lineno <= line <= (node.end_lineno or node.lineno) for node in checks)


def check_of(error: BaseException, file: str) -> int:
    """Return the line of the `raise` or `assert` in a file that raised an error; 0 where none of these did."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    own = trace is not None and trace.tb_frame.f_code.co_filename == file
    line = trace.tb_lineno if own and trace is not None else 0
    return line if line and is_check(file, line) else 0
