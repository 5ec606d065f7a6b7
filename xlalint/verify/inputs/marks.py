"""`# xlalint: inputs(x="f32[8,128]", n=4)` above a function, a method or a class: what it is to be verified with.

The comment may go on over the next lines of comments; decorators may stand between it and what it speaks of.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import NamedTuple, Union

from xlalint.source.comments import Comment, comments
from xlalint.verify.inputs.spec import SpecError, parse_inputs
from xlalint.verify.model import Specs

_VERB = "inputs"
_CALL = re.compile(r"#\s*xlalint:\s*(?P<verb>[A-Za-z_]+)\s*\(")
_COMMENT = re.compile(r"\s*#\s?(?P<text>.*)")
_LINE_END = re.compile(r"\r\n?|\n")
_FORM = '# xlalint: inputs(x="f32[8,128]", n=4)'

Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef]


class Mark(NamedTuple):
    """A function, method or class by its qualified name, the line of its comment (from 1), and the inputs that it asks for."""

    name: str
    line: int
    specs: Specs


class MarkError(SpecError):
    """A mark that cannot be read; `name` is what it stands above, "" where that is nothing that can be called."""

    def __init__(self, message: str, name: str = "") -> None:
        super().__init__(message)
        self.name = name


def marks(text: str, file: str) -> list[Mark]:
    """All marks of a file, in order; `file` is for messages.

    Raises: SpecError naming file and line for a mark that cannot be read, or that stands above nothing that can be called.
    """
    read = read_marks(text, file)
    for one in read:
        if isinstance(one, SpecError):
            raise one
    return [one for one in read if isinstance(one, Mark)]


def read_marks(text: str, file: str) -> list[Mark | MarkError]:
    """All marks of a file, in order, and what is wrong with those that cannot be read.

    Raises: SpecError for a file with marks that is not Python.
    """
    found = [comment for comment in comments(text, _CALL) if _looks_like_mark(comment)]
    if not found:
        return []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 1
        raise SpecError(f"{file}:{line}: not Python: {error}") from None
    named = dict(_definitions(tree))
    lines = _LINE_END.split(text)
    return [_mark(comment, lines, named, file) for comment in found]


def definition(tree: ast.Module, name: str) -> Definition | None:
    """The function, method or class of a qualified name; the last one of that name."""
    found = [node for _, (own, node, _) in _definitions(tree) if own == name]
    return found[-1] if found else None


def callables(tree: ast.Module) -> list[str]:
    """The qualified names of what can be called from outside: functions, classes and their methods."""
    return list(dict.fromkeys(name for _, (name, _, within) in _definitions(tree) if not within))


def _looks_like_mark(comment: Comment) -> bool:
    match = _CALL.match(comment.text)
    return match is not None and bool(get_close_matches(match["verb"].lower(), [_VERB], n=1, cutoff=0.6))


def _mark(
    comment: Comment, lines: list[str], named: dict[int, tuple[str, Definition, bool]], file: str
) -> Mark | MarkError:
    where = f"{file}:{comment.row}"
    match = _CALL.match(comment.text)
    name, _, within = named.get(comment.covers, ("", None, False)) if comment.alone else ("", None, False)
    if match is not None and match["verb"] != _VERB:
        return MarkError(f"{where}: unknown mark `{match['verb']}(...)`; did you mean `{_FORM}`?", name)
    if not comment.alone:
        return MarkError(f"{where}: `{_FORM}` belongs on a line of its own, above the function, method or class")
    if not name:
        return MarkError(f"{where}: the mark stands above no function, method or class; write it directly above one")
    if within:
        return MarkError(
            f"{where}: `{name}` is inside a function and cannot be called from outside; move it to the module"
        )
    try:
        return Mark(name, comment.row, parse_inputs(_inside(comment, lines)))
    except SpecError as error:
        return MarkError(f"{where}: {error}", name)


def _inside(comment: Comment, lines: list[str]) -> str:
    """The text between the parentheses of a mark, which ends where they balance, on its own line or a later one."""
    match = _CALL.match(comment.text)
    assert match is not None
    held = comment.text[match.end() :]
    row = comment.row
    while (end := _closing(held)) is None:
        more = _COMMENT.fullmatch(lines[row]) if row < len(lines) else None
        if more is None:
            raise SpecError(f"the parenthesis is never closed; write it like `{_FORM}`")
        held += f"\n{more['text']}"
        row += 1
    left = held[end + 1 :].strip()
    if left and not left.startswith("#"):
        raise SpecError(f"`{left}` after the closing parenthesis; write it like `{_FORM}`")
    return held[:end]


def _closing(text: str) -> int | None:
    """Where the parenthesis closes that was open before the text began; strings are skipped."""
    depth = 1
    for match in re.finditer(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[()\[\]{}]", text):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    return None


def _definitions(tree: ast.Module) -> Iterator[tuple[int, tuple[str, Definition, bool]]]:
    """Each row on which a definition or one of its decorators begins, with its qualified name and whether a function is around it."""
    waiting: list[tuple[ast.AST, str, bool]] = [(tree, "", False)]
    while waiting:
        around, prefix, within = waiting.pop()
        for node in ast.iter_child_nodes(around):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{prefix}{node.name}"
                for row in {node.lineno, *(decorator.lineno for decorator in node.decorator_list)}:
                    yield row, (name, node, within)
                waiting.append((node, f"{name}.", within or not isinstance(node, ast.ClassDef)))
            elif isinstance(node, (ast.stmt, ast.excepthandler)):
                waiting.append((node, prefix, within))
