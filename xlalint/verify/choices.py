"""Finds which parts of choices within a line were run: of `a if c else b`, `a and b`, `x for x in xs if c`, `if c: return a`.

By the positions of instructions, which Python 3.11 and later tell.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple

_SHOWN = 60  # characters of a condition
_MOST_FRAMES = 400  # of one code object that are followed: what they have not shown until then is not looked for
_Span = tuple[int, int, int, int]


class _Choice(NamedTuple):
    """A part that is run or not, and what is said where it never was."""

    span: _Span
    line: int
    said: str


class Choices:
    """Follows the choices within lines of a syntax tree."""

    def __init__(self, tree: ast.Module) -> None:
        self._lines = {choice.line for node in ast.walk(tree) for choice in _choices_of(node)}
        self._ran: dict[CodeType, set[int]] = {}
        self._frames: dict[CodeType, int] = {}

    def following(self, code: CodeType) -> set[int] | None:
        """Return the set that takes the offsets of instructions that are run; None where there is nothing to follow."""
        left = self._frames.get(code)
        if left is None:
            positions = _positions_of(code)
            has = bool(self._lines) and any(one[0] in self._lines for one in positions)
            left = _MOST_FRAMES if has else 0
        self._frames[code] = max(left - 1, 0)
        return self._ran.setdefault(code, set()) if left else None

    def find_untaken(self, function: ast.AST) -> Iterator[tuple[int, str]]:
        """Find the parts of a function's choices that never ran though the choice did, each by its line, in words."""
        own = [(choices, node) for node in ast.walk(function) if (choices := list(_choices_of(node)))]
        if not own or not self._ran:
            return
        ran = self._find_run()
        for choices, node in own:
            if any(_within(one, _span_of(_test_of(node))) for one in ran):
                yield from ((one.line, one.said) for one in choices if not any(_within(two, one.span) for two in ran))

    def _find_run(self) -> set[_Span]:
        return {
            tuple(positions[offset // 2])
            for code, offsets in self._ran.items()
            for positions in [_positions_of(code)]
            for offset in offsets
            if None not in positions[offset // 2]
        }


def _positions_of(code: CodeType) -> list[tuple[Any, ...]]:
    """List the positions of a code's instructions; none where this Python tells none."""
    return list(getattr(code, "co_positions", tuple)())


def brief_of(node: ast.AST) -> str:
    """An expression as text, not too long for a sentence."""
    text = ast.unparse(node)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _choices_of(node: ast.AST) -> Iterator[_Choice]:
    if isinstance(node, (ast.IfExp, ast.If)):
        if isinstance(node.test, ast.Constant) or (isinstance(node, ast.If) and node.body[0].lineno != node.lineno):
            return
        said = f"`{brief_of(node.test)}` was never"
        yield _Choice(_span_of(node.body), node.lineno, f"{said} true")
        if isinstance(node, ast.IfExp):
            yield _Choice(_span_of(node.orelse), node.lineno, f"{said} false")
    elif isinstance(node, ast.BoolOp):
        said = "true" if isinstance(node.op, ast.And) else "false"
        for before, part in zip(node.values, node.values[1:], strict=False):
            yield _Choice(_span_of(part), node.lineno, f"`{brief_of(before)}` was never {said}")
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)) and node.generators[-1].ifs:
        test = node.generators[-1].ifs[-1]
        yield _Choice(_span_of(node.elt), node.lineno, f"`{brief_of(test)}` was never true")


def _test_of(node: ast.AST) -> ast.AST:
    if isinstance(node, ast.BoolOp):
        return node.values[0]
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        return node.generators[-1].ifs[-1]
    test: ast.AST = node.test  # type: ignore[attr-defined]
    return test


def _span_of(part: ast.AST | Sequence[ast.AST]) -> _Span:
    first, last = (part, part) if isinstance(part, ast.AST) else (part[0], part[-1])
    return first.lineno, last.end_lineno, first.col_offset, last.end_col_offset  # type: ignore[attr-defined]


def _within(inner: _Span, outer: _Span) -> bool:
    """Return whether an instruction's position lies in a part; both are first line, last line, first column, last column."""
    begins = (outer[0], outer[2]) <= (inner[0], inner[2])
    return begins and (inner[1], inner[3]) <= (outer[1], outer[3])
