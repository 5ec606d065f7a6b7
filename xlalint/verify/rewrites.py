"""Where a fix lies: the function around it, the smallest run of statements that holds all its edits, and what took their place."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, Union

from xlalint.diagnostics.finding import Edit

FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef]
_BLOCKS = ("body", "orelse", "finalbody")  # of `try`, `for`, `if`, `with`

Rows = tuple[int, int]


class Around(NamedTuple):
    """The outermost function around some rows, or the method of a class in no function; `owner` is that class."""

    node: FunctionNode
    name: str
    owner: ast.ClassDef | None


class StatementRun(NamedTuple):
    """Statements of one block, and the blocks that lead to it, each by the statement's index and the field that holds it."""

    statements: list[ast.stmt]
    first: int
    last: int
    path: tuple[tuple[int, str], ...]
    loops: bool

    @property
    def taken(self) -> list[ast.stmt]:
        """The statements of the run."""
        return self.statements[self.first : self.last + 1]

    @property
    def rows(self) -> Rows:
        """The first and last row; (0, 0) of an empty run."""
        taken = self.taken
        return (taken[0].lineno, taken[-1].end_lineno or taken[-1].lineno) if taken else (0, 0)


@lru_cache(maxsize=4)
def parse_once(text: str) -> ast.Module:
    """The syntax tree of a text, which nobody changes."""
    return ast.parse(text)


def rows_of(edit: Edit) -> Rows:
    """The rows that an edit changes; the end of a line that is taken away belongs to it."""
    first, last = edit.location.row, edit.end_location.row
    return first, last - 1 if edit.end_location.column == 1 and last > first else last


def around(tree: ast.Module, row: int) -> Around | None:
    """The outermost function around a row."""
    for node, name, owner in _functions(tree.body, "", None):
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        if first <= row <= (node.end_lineno or node.lineno):
            return Around(node, name, owner)
    return None


def find_named(tree: ast.Module, name: str) -> Around | None:
    """Find the outermost function of a qualified name; the last one."""
    found = [Around(*one) for one in _functions(tree.body, "", None) if one[1] == name]
    return found[-1] if found else None


def _functions(
    statements: Sequence[ast.stmt], prefix: str, owner: ast.ClassDef | None
) -> Iterator[tuple[FunctionNode, str, ast.ClassDef | None]]:
    for one in statements:
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield one, f"{prefix}{one.name}", owner
        elif isinstance(one, ast.ClassDef):
            yield from _functions(one.body, f"{prefix}{one.name}.", one)
        else:
            for _, block in _blocks(one):
                yield from _functions(block, prefix, owner)


def run_of(function: FunctionNode, rows: Sequence[Rows]) -> StatementRun | None:
    """The smallest run of statements in a function that holds rows."""
    inside = [(first, last) for first, last in rows if function.lineno <= last and first <= (function.end_lineno or 0)]
    if not inside or min(first for first, _ in inside) < function.body[0].lineno:
        return None
    low, high = min(first for first, _ in inside), max(last for _, last in inside)
    return _narrow(function.body, low, high, (), loops=False)


def _narrow(
    block: list[ast.stmt], low: int, high: int, path: tuple[tuple[int, str], ...], *, loops: bool
) -> StatementRun:
    ends = [one.end_lineno or one.lineno for one in block]
    first = next((n for n, end in enumerate(ends) if end >= low), len(block) - 1)
    last = max([first, *(n for n, one in enumerate(block) if _begins(one) <= high)])
    if first == last:
        one = block[first]
        for field, inner in _blocks(one):
            if _begins(inner[0]) <= low and high <= (inner[-1].end_lineno or 0):
                looped = loops or isinstance(one, (ast.For, ast.While, ast.AsyncFor))
                return _narrow(inner, low, high, (*path, (first, field)), loops=looped)
    return StatementRun(block, first, last, path, loops)


def to_the_end(run: StatementRun) -> StatementRun:
    """A run with all that follows it in its block."""
    return run._replace(last=len(run.statements) - 1)


def counterpart(function: FunctionNode, run: StatementRun) -> StatementRun | None:
    """Find what replaced a run in the rewritten function: the rest of its block, besides the statements that stayed as they were."""
    block = function.body
    for index, field in run.path:
        if index >= len(block):
            return None
        block = dict(_blocks(block[index])).get(field, [])
    behind = len(run.statements) - 1 - run.last
    last = len(block) - 1 - behind
    same = zip(
        [*run.statements[: run.first], *run.statements[run.last + 1 :]],
        [*block[: run.first], *block[last + 1 :]],
        strict=False,
    )
    if last < run.first - 1 or any(ast.dump(one) != ast.dump(other) for one, other in same):
        return None
    return StatementRun(block, run.first, last, run.path, run.loops)


def _begins(one: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(one, "decorator_list", [])
    return min([one.lineno, *(decorator.lineno for decorator in decorators)])


def _blocks(one: ast.AST) -> Iterator[tuple[str, list[ast.stmt]]]:
    """The blocks that a statement holds, by names that tell which."""
    for field in _BLOCKS:
        block = getattr(one, field, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield field, block
    for number, handler in enumerate(getattr(one, "handlers", ())):
        yield f"handlers{number}", handler.body
    for number, case in enumerate(getattr(one, "cases", ())):
        yield f"cases{number}", case.body
