"""Imports that fixes left without use: of a package that the program cannot have where it is meant to run."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from types import MappingProxyType
from typing import Union

from xlalint.fixes.toolkit.edits import Span

LEFT_BY = MappingProxyType({"XLA527": "torch_xla"})
"""By rule, the package whose imports its fixes leave behind."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")  # not `str.splitlines`: to Python a form feed ends no line
_Import = Union[ast.Import, ast.ImportFrom]


def leftover_imports(text: str, packages: Collection[str]) -> tuple[Span, ...]:
    """Return the edits that take out of a Python text the imports of packages whose names nothing in it uses, in order.

    A word in a string counts as a use: it may stand in `__all__`, or be an annotation. An import that shares its line stays.
    """
    tree = ast.parse(text)
    used = frozenset(_used_names(tree))
    lines = _LINE.findall(text)
    spans: list[Span] = []
    for block in _blocks(tree):
        imports = [one for one in block if isinstance(one, (ast.Import, ast.ImportFrom)) and _stands_alone(one, lines)]
        changed = [(one, kept) for one in imports if (kept := _remaining_names(one, packages, used)) is not None]
        emptied = block is not tree.body and len([one for one, kept in changed if not kept]) == len(block)
        spans += [_edit(one, kept, lines, "pass" if emptied and one is block[-1] else "") for one, kept in changed]
    return tuple(sorted(spans))


def _used_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from node.value.replace(".", " ").split()


def _blocks(tree: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield value


def _remaining_names(statement: _Import, packages: Collection[str], used: Collection[str]) -> list[ast.alias] | None:
    """Return the names of an import that stay, None where all do."""
    origin = "" if isinstance(statement, ast.Import) else "." * statement.level + (statement.module or "")
    kept = [one for one in statement.names if not _is_leftover(one, origin, packages, used)]
    return kept if len(kept) < len(statement.names) else None


def _is_leftover(alias: ast.alias, origin: str, packages: Collection[str], used: Collection[str]) -> bool:
    package = (origin or alias.name).partition(".")[0]
    local = alias.asname or (alias.name if origin else package)
    return package in packages and local != "*" and local not in used


def _stands_alone(statement: ast.stmt, lines: Sequence[str]) -> bool:
    """Return whether a statement shares its lines with no other."""
    first, last = lines[statement.lineno - 1].encode(), lines[(statement.end_lineno or statement.lineno) - 1].encode()
    behind = last[statement.end_col_offset or 0 :].strip()
    return not first[: statement.col_offset].strip() and (not behind or behind.startswith(b"#"))


def _edit(statement: _Import, kept: list[ast.alias], lines: Sequence[str], instead: str) -> Span:
    rows = slice(statement.lineno - 1, statement.end_lineno)
    start = sum(map(len, lines[: rows.start]))
    end = start + sum(map(len, lines[rows]))
    if kept:
        statement.names = kept
        instead = ast.unparse(statement)
    indent = lines[rows.start][: len(lines[rows.start]) - len(lines[rows.start].lstrip())]
    ending = lines[rows][-1][len(lines[rows][-1].rstrip("\r\n")) :]
    return Span(start, end, f"{indent}{instead}{ending}" if instead else "")
