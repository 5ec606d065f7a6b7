"""A logical line as a libcst program of its own, with the extent of every node in it."""

from __future__ import annotations

import re
from types import TracebackType

import libcst as cst

from xlalint.source.concrete import parse_concrete
from xlalint.source.layout import Counter, laid_out

_WORD = re.compile(r"@|\w*")
_TRIVIA = re.compile(r"(?:\s|\\\r?\n|#[^\r\n]*)*")
# What must stand before a clause for it to parse alone.
_OPENERS = {
    "elif": "if 0: pass\n",
    "else": "if 0: pass\n",
    "except": "try: pass\n",
    "finally": "try: pass\n",
    "case": "match 0:\n ",
}


class Snippet:
    """Parsed text. `statement` is the outermost node that begins where the text does; offsets count in code points."""

    def __init__(self, module: cst.Module, text: str, lead: int) -> None:
        extents = laid_out(module, _Extents)
        self.text = text
        self.lead = lead
        self.nodes = extents.nodes
        self.statement = extents.outermost.get(lead, module)

    def find(self, start: int, end: int) -> cst.CSTNode | None:
        """The node whose text is exactly that from `start` to `end`, parentheses around it counted or not."""
        node = self.nodes.get((start + self.lead, end + self.lead))
        while node is None and self.text[start : start + 1] == "(" and self.text[end - 1 : end] == ")":
            opened = _TRIVIA.match(self.text, start + 1)
            start, end = opened.end() if opened else start + 1, end - 1
            node = self._before(start, end)
        return node

    def _before(self, start: int, end: int) -> cst.CSTNode | None:
        """The longest node from `start` between whose end and `end` there is only space, comments or a comma."""
        ends = sorted(
            (last for first, last in self.nodes if first == start + self.lead and last <= end + self.lead), reverse=True
        )
        if ends and _TRIVIA.fullmatch(self.text[ends[0] - self.lead : end].replace(",", " ", 1)):
            return self.nodes[start + self.lead, ends[0]]
        return None


def line_snippet(text: str) -> Snippet | None:
    """The snippet of one logical line; None if it is no statement, header or clause."""
    match = _WORD.match(text)
    word = match[0] if match else ""
    for opener in dict.fromkeys((_OPENERS.get(word, ""), "")):
        module = parse_concrete(opener + text + _body(word, text))
        if module is not None:
            return _snippet(module, text, len(opener))
    return None


def file_snippet(text: str) -> Snippet | None:
    """The snippet of a whole file: slow, and right where a logical line cannot be told by its tokens."""
    module = parse_concrete(text)
    return None if module is None else _snippet(module, text, 0)


def _snippet(module: cst.Module, text: str, lead: int) -> Snippet | None:
    try:
        return Snippet(module, text, lead)
    except RecursionError:  # a chain of thousands of operators
        return None


def _body(word: str, text: str) -> str:
    """Return the code that completes a header or a decorator."""
    if word == "@":
        return "\ndef _(): pass\n"
    if word == "match" and text.endswith(":"):
        return "\n case _: pass\n"
    body = " pass\n" if text.endswith(":") else "\n"
    return body + "finally: pass\n" if word == "try" else body


class _Extents(Counter):
    """Where each node begins and ends.

    Of nodes with the same extent the innermost is kept: the expression, not the statement or the argument that it is.
    """

    def __init__(self, module: cst.Module) -> None:
        super().__init__(module)
        self.nodes: dict[tuple[int, int], cst.CSTNode] = {}
        self.outermost: dict[int, cst.CSTNode] = {}

    def record_syntactic_position(self, node: cst.CSTNode, **_bounds: cst.CSTNode | None) -> _Span:  # type: ignore[override]
        return _Span(self, node)


class _Span:
    """The time in which a node's code is written."""

    __slots__ = ("extents", "node", "start")

    def __init__(self, extents: _Extents, node: cst.CSTNode) -> None:
        self.extents = extents
        self.node = node
        self.start = extents.length

    def __enter__(self) -> None:
        self.start = self.extents.length

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.extents.nodes.setdefault((self.start, self.extents.length), self.node)
        self.extents.outermost[self.start] = self.node
