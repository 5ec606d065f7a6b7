"""Newer Python rewritten, in place, into Python that 3.10 parses.

Every rewrite keeps the row and byte column of all that it does not touch, so that the tree of the older text has
the positions of the newer one:

    def f[T: int](x: T): ...        def f(       x: T): ...
    class A[T]: ...                 class A( ): ...
    type Pair[T] = tuple[T, T]      __=( Pair   ) = tuple[T, T]     (the value is read, the name is bound)
    except A, B:                    except A| B:
    except* A:                      except  A:                      (before 3.11)
    x[*index], def f(*a: *Ts)       x[ index], def f(*a:  Ts)       (before 3.11)
    f"{a["b"]!r} {c:>{w}}"          ( (a["b"],  c, w,  )            (turned back into a JoinedStr)
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, CodeSpan, MetadataWrapper

from xlalint.source.concrete import parse_or_fail
from xlalint.source.lines import Lines

# First row and byte column, last row and byte column (exclusive), as the attributes of an ast node.
Extent = tuple[int, int, int, int]


class Older(NamedTuple):
    """Text in older syntax, and the extents of the tuples in it that stand for f-strings or t-strings."""

    text: str
    strings: frozenset[Extent]


def backport(text: str) -> Older | None:
    """Return `text` in older syntax, or None if that fails; SyntaxError if libcst knows no Python that it would be."""
    module = parse_or_fail(text)
    if module.code != text:
        return None
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    spans = wrapper.resolve(ByteSpanPositionProvider)
    rewriter = _Rewriter(text.encode(), spans)
    try:
        wrapper.module.visit(rewriter)
    except RecursionError:
        return None
    return Older(rewriter.text.decode(), frozenset(rewriter.strings))


def restore_strings(tree: ast.Module, strings: frozenset[Extent]) -> ast.Module:
    """Turn the tuples that stand for f-strings back into `JoinedStr` nodes; their literal parts are not kept."""
    return _Restorer(strings).visit(tree) if strings else tree


class _Restorer(ast.NodeTransformer):
    def __init__(self, strings: frozenset[Extent]) -> None:
        self.strings = strings

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        self.generic_visit(node)
        if (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) not in self.strings:
            return node
        values: list[ast.expr] = [
            ast.copy_location(ast.FormattedValue(value=part, conversion=-1, format_spec=None), part)
            for part in node.elts
        ]
        return ast.copy_location(ast.JoinedStr(values=values), node)


class _Rewriter(cst.CSTVisitor):
    """Edits `text` while it visits the tree; no edit changes the text's length or its line ends."""

    def __init__(self, text: bytes, spans: Mapping[cst.CSTNode, CodeSpan]) -> None:
        super().__init__()
        self.original = text
        self.text = bytearray(text)
        self.spans = spans
        self.lines = Lines(text)
        self.strings: list[Extent] = []

    def extent(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where `node` begins and ends, with the parentheses around it."""
        first = node.lpar[0] if getattr(node, "lpar", None) else node  # type: ignore[attr-defined]
        last = node.rpar[-1] if getattr(node, "rpar", None) else node  # type: ignore[attr-defined]
        return self.spans[first].start, self.spans[last].start + self.spans[last].length

    def blank(self, start: int, end: int) -> None:
        for i in range(start, end):
            if self.text[i] not in b"\r\n":
                self.text[i] = ord(" ")

    def put(self, offset: int, code: bytes) -> None:
        self.text[offset : offset + len(code)] = code

    # ---- type parameters and type aliases

    def visit_TypeParameters(self, node: cst.TypeParameters) -> bool:
        start, end = self.extent(node)
        self.blank(start, end)
        self.put(start, b"(")
        opening = re.compile(rb"(?:\\?[ \t\f\r\n])*\(").match(self.original, end)
        if opening:
            self.blank(end, opening.end())
        else:
            self.put(end - 1, b")")
        return False

    def visit_TypeAlias(self, node: cst.TypeAlias) -> bool:
        start, _ = self.extent(node)
        self.put(start, b"___=" if node.type_parameters is None else b"__=(")
        if node.type_parameters is not None:
            opening, end = self.extent(node.type_parameters)
            self.blank(opening, end)
            self.put(end - 1, b")")
        node.value.visit(self)
        return False

    # ---- except clauses

    def visit_ExceptHandler(self, node: cst.ExceptHandler) -> None:
        self.join_types(node.type)

    def visit_ExceptStarHandler(self, node: cst.ExceptStarHandler) -> None:
        self.join_types(node.type)
        if sys.version_info < (3, 11):
            self.blank_star(self.extent(node)[0])

    def join_types(self, types: cst.BaseExpression | None) -> None:
        if isinstance(types, cst.Tuple) and not types.lpar:
            for element in types.elements:
                if isinstance(element.comma, cst.Comma):
                    self.put(self.extent(element.comma)[0], b"|")

    # ---- stars

    def visit_Index(self, node: cst.Index) -> None:
        if node.star and sys.version_info < (3, 11):
            self.blank_star(self.extent(node)[0])

    def visit_Annotation(self, node: cst.Annotation) -> None:
        if isinstance(node.annotation, cst.StarredElement) and sys.version_info < (3, 11):
            self.blank_star(self.extent(node)[0])

    def blank_star(self, start: int) -> None:
        star = self.original.index(b"*", start)
        self.blank(star, star + 1)

    # ---- f-strings and t-strings

    def visit_ConcatenatedString(self, node: cst.ConcatenatedString) -> bool:
        return self.rewrite_string(node)

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:
        return self.rewrite_string(node)

    def visit_TemplatedString(self, node: cst.TemplatedString) -> bool:
        return self.rewrite_string(node)

    def rewrite_string(self, node: cst.BaseString) -> bool:
        """Make a whole string, all its adjacent pieces, the tuple of the expressions in it."""
        parts = list(_expressions(node))
        start, end = self.spans[node].start, self.spans[node].start + self.spans[node].length
        if not parts:
            for piece in _pieces(node):
                if isinstance(piece, cst.TemplatedString):
                    at, _ = self.extent(piece)
                    self.put(at, piece.start.rstrip("\"'").lower().replace("t", "f").encode())
            return False
        self.strings.append((*self.lines.byte_place(start), *self.lines.byte_place(end)))
        self.blank(start, end)
        self.put(start, b"(")
        self.put(end - 1, b")")
        for part in parts:
            first, last = self.extent(part)
            self.put(first, self.original[first:last])
            if not self.original[first:last].endswith(b","):
                while self.original[last] in b"\r\n":
                    last += 1
                self.put(last, b",")
            part.visit(self)
        return False


def _pieces(node: cst.BaseString) -> Iterator[cst.BaseString]:
    if isinstance(node, cst.ConcatenatedString):
        yield from _pieces(node.left)
        yield from _pieces(node.right)
    else:
        yield node


def _expressions(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The expressions that a string evaluates, those in its format specifications too, in order."""
    if isinstance(node, cst.ConcatenatedString):
        children: tuple[cst.CSTNode, ...] = tuple(_pieces(node))
    elif isinstance(node, (cst.FormattedString, cst.TemplatedString)):
        children = tuple(node.parts)
    elif isinstance(node, (cst.FormattedStringExpression, cst.TemplatedStringExpression)):
        yield node.expression
        children = tuple(node.format_spec or ())
    else:
        children = ()
    for child in children:
        yield from _expressions(child)
