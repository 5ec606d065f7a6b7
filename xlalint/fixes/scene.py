"""The function that holds a finding, as libcst reads it: where its nodes stand, what holds them, what the analysis knows of them.

Only that function is parsed, once for all findings in it; libcst reads 11,000 lines a second. Offsets count code points of the file's
text, so that what a rewrite replaces needs no conversion. A rewrite reads the tree and writes text: what it does not touch stays as it was,
comments and layout included.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import TracebackType
from typing import NamedTuple, TypeVar

import libcst as cst

from xlalint.checks.finding import Location
from xlalint.checks.logical_lines import logical_line
from xlalint.lowering.ir import Unit
from xlalint.semantics.values import NEVER, Const, Value, constant
from xlalint.source.concrete import parse_concrete
from xlalint.source.layout import Counter, laid_out
from xlalint.source.lines import Lines

Facts = Mapping[tuple[int, int], Value]
"""What an expression, or a name that is assigned, was in every context: by the bytes that it covers in the file's UTF-8."""

Node = TypeVar("Node", bound=cst.CSTNode)
_HOLDER = "if 0:\n"  # what makes a program of an indented function


class Document:
    """One file that is to be fixed: its text, its lowered unit, and what the analysis knows of its expressions."""

    def __init__(self, text: str, unit: Unit, facts: Facts) -> None:
        self.text = text
        self.unit = unit
        self.facts = facts
        self.data = text.encode()
        self.lines = Lines(self.data)
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self._scenes: dict[tuple[int, int], Scene | None] = {}

    @cached_property
    def _ascii(self) -> bool:
        return self.text.isascii()

    def offset(self, byte: int) -> int:
        """The code point that begins at a byte."""
        return byte if self._ascii else len(self.data[:byte].decode(errors="replace"))

    def byte(self, offset: int) -> int:
        """The byte at which a code point begins."""
        return offset if self._ascii else len(self.text[:offset].encode())

    def place(self, offset: int) -> Location:
        """Row and column of a code point."""
        return Location(*self.lines.place(self.byte(offset)))

    def scene(self, start: int) -> Scene | None:
        """The outermost function or method around a byte, or the whole file for what is in none; None if it cannot be read."""
        extent = self._function_around(start) or (0, len(self.data))
        if extent not in self._scenes:
            self._scenes[extent] = _read(self, *extent)
        return self._scenes[extent]

    def _function_around(self, byte: int) -> tuple[int, int] | None:
        index = bisect_right(self._function_starts, byte) - 1
        while index >= 0:
            start = self._function_starts[index]
            if self.data[:start].rstrip(b" \t").endswith(b"@"):  # a decorated function begins with what decorates it
                start = self.data.rindex(b"@", 0, start)
            end = _block_end(self.data, start)
            if end > byte:
                line = self.lines.starts[self.lines.byte_place(start)[0] - 1]
                return line, end
            index -= 1
        return None

    @cached_property
    def _function_starts(self) -> list[int]:
        return sorted({f.start for f in self.unit.functions if f.outer < 0 and f.name != "<lambda>"})


class Scene:
    """A function of a document under the knife. `root` is what was parsed of it, `document` the file, `introduced` the names that the
    rewrite under way brings in."""

    def __init__(self, document: Document, module: cst.Module, start: int, lead: int) -> None:
        self.document = document
        self.root: cst.CSTNode = module
        layout = laid_out(module, _Layout)
        self._spans = layout.spans
        self._wholes = layout.wholes
        self._parents = layout.parents
        self._order = layout.order
        self._extents = layout.extents
        self._kinds: dict[type[cst.CSTNode], list[int]] = {}
        self._shift = start - lead
        self.introduced: set[str] = set()

    # ------------------------------------------------------------------------------------------------- places

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where a node's own text begins and ends, parentheses around an expression left out."""
        start, end = self._spans.get(node) or self._wholes[node]
        return start + self._shift, end + self._shift

    def whole(self, node: cst.CSTNode) -> tuple[int, int]:
        """The same with parentheses, of a statement with the comments above and the line end."""
        start, end = self._wholes[node]
        return start + self._shift, end + self._shift

    def lines(self, first: cst.CSTNode, last: cst.CSTNode | None = None) -> tuple[int, int]:
        """The lines of a statement, or of several up to `last`, with the comments directly above: what to remove with them.

        With them go the blank lines that would be too many then: those behind if there are some in front or it opens its block,
        those in front if it ends its block.
        """
        text, newline = self.document.text, self.document.newline
        start = _comments_above(text, text.rfind("\n", 0, self.span(first)[0]) + 1)
        end = self.whole(last or first)[1]
        following = text[end:].lstrip()
        margin = text[end : len(text) - len(following)].rpartition("\n")[2]
        if not following or len(margin) < len(self.indent(first)):
            return len(text[:start].rstrip()) + len(newline), end
        above = text[:start].rpartition("\n")[0].rpartition("\n")[2].strip()
        if not above or self.siblings(first)[1] == 0:
            end = len(text) - len(following) - len(margin)
        return start, end

    def find(self, start: int, end: int) -> cst.CSTNode | None:
        """The innermost node that covers these bytes exactly, parentheses counted or not."""
        extent = self.document.offset(start) - self._shift, self.document.offset(end) - self._shift
        return self._by_extent.get(extent)

    @cached_property
    def _by_extent(self) -> dict[tuple[int, int], cst.CSTNode]:
        found: dict[tuple[int, int], cst.CSTNode] = {}
        for node, extent in self._spans.items():  # children come before what holds them
            found.setdefault(extent, node)
        for node, extent in self._wholes.items():
            if isinstance(node, cst.BaseExpression):
                found.setdefault(extent, node)
        return found

    # -------------------------------------------------------------------------------------------------- tree

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        """What directly holds a node."""
        return self._parents[node]

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """What holds a node, from the nearest on."""
        while node in self._parents:
            node = self._parents[node]
            yield node

    def nearest(self, node: cst.CSTNode, *kinds: type[Node]) -> Node | None:
        """The node itself or the nearest one around it of some kinds."""
        for other in (node, *self.above(node)):
            if isinstance(other, kinds):
                return other
        return None

    def statement(self, node: cst.CSTNode) -> cst.BaseStatement:
        """The statement that holds a node: a simple statement's line, or a compound one whose header holds it."""
        for other in (node, *self.above(node)):
            if isinstance(other, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
                return other
        raise LookupError("a node outside of all statements")

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The innermost function that holds a node; None at module level, in a class body or a lambda."""
        found = self.nearest(self.parent(node), cst.FunctionDef, cst.ClassDef, cst.Lambda)
        return found if isinstance(found, cst.FunctionDef) else None

    def siblings(self, statement: cst.CSTNode) -> tuple[Sequence[cst.CSTNode], int]:
        """The statements of the block that holds one, and its index; an `elif` has no block of its own."""
        body = getattr(self._parents[statement], "body", ())
        if isinstance(body, Sequence) and statement in body:
            return body, body.index(statement)
        return (statement,), 0

    def descend(self, node: cst.CSTNode, *kinds: type[Node]) -> Iterator[Node]:
        """A node and all that it holds, in the order of the text, of some kinds."""
        first, last = self._extents[node]
        if len(kinds) > 1:
            yield from (one for one in self._order[first:last] if isinstance(one, kinds))
            return
        found = self._of_kind(kinds[0])
        for index in found[bisect_left(found, first) : bisect_left(found, last)]:
            yield self._order[index]  # type: ignore[misc]

    def _of_kind(self, kind: type[cst.CSTNode]) -> list[int]:
        """Where in the order of the text nodes of a kind stand."""
        known = self._kinds.get(kind)
        if known is None:
            known = self._kinds[kind] = [index for index, one in enumerate(self._order) if isinstance(one, kind)]
        return known

    # -------------------------------------------------------------------------------------------------- text

    def code(self, node: cst.CSTNode) -> str:
        """A node's own text, without parentheses around it, line ends as Python has them."""
        start, end = self.span(node)
        return self.document.text[start:end].replace("\r\n", "\n")

    def indent(self, node: cst.CSTNode) -> str:
        """The white space in front of the line on which a node begins."""
        start, _ = self.span(node)
        line = self.document.text.rfind("\n", 0, start) + 1
        text = self.document.text[line:start]
        return text[: len(text) - len(text.lstrip())]

    def value(self, node: cst.CSTNode) -> Value:
        """What an expression is in every way that leads to it; `NEVER` where nothing was seen."""
        for start, end in (self.span(node), self.whole(node)):
            found = self.document.facts.get((self.document.byte(start), self.document.byte(end)))
            if found is not None:
                return found
        return _literal(node)

    # ------------------------------------------------------------------------------------------------- names

    @cached_property
    def names(self) -> frozenset[str]:
        """All names that the function, or the module around it, knows."""
        unit = self.document.unit
        module = {*unit.defs, *unit.assigned, *(binding.local for binding in unit.imports)}
        spelled = {name for path in self._import_paths() for name in self.descend(path, cst.Name)}
        local = {node.value for node in self.descend(self.root, cst.Name) if node not in spelled}
        return frozenset(module | local)

    def _import_paths(self) -> Iterator[cst.CSTNode]:
        """Dotted names of modules in imports that bind another name, or none: `a.b` of `import a.b as c`, `a` of `from a import c`."""
        for alias in self.descend(self.root, cst.ImportAlias):
            if alias.asname is not None:
                yield alias.name
        for statement in self.descend(self.root, cst.ImportFrom):
            if statement.module is not None:
                yield statement.module

    def begin(self) -> None:
        """A rewrite begins: it has introduced no names yet."""
        self.introduced = set()

    def fresh(self, wish: str) -> str:
        """A name that nothing here has: the one wished for, or one like it."""
        number = 1
        name = wish
        while name in self.names or name in self.introduced:
            number += 1
            name = f"{wish}_{number}"
        self.introduced.add(name)
        return name


class _Layout(Counter):
    """The extents of all nodes, in the text and in their own order, and what holds each."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(module)
        self.spans: dict[cst.CSTNode, tuple[int, int]] = {}
        self.wholes: dict[cst.CSTNode, tuple[int, int]] = {}
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self.order: list[cst.CSTNode] = []
        self.extents: dict[cst.CSTNode, tuple[int, int]] = {}
        self._open: list[tuple[cst.CSTNode, int, int]] = []

    def before_codegen(self, node: cst.CSTNode) -> None:
        if self._open:
            self.parents[node] = self._open[-1][0]
        self._open.append((node, self.length, len(self.order)))
        self.order.append(node)

    def after_codegen(self, node: cst.CSTNode) -> None:
        _, start, index = self._open.pop()
        self.wholes[node] = start, self.length
        self.extents[node] = index, len(self.order)

    def record_syntactic_position(self, node: cst.CSTNode, **_bounds: cst.CSTNode | None) -> _Span:  # type: ignore[override]
        return _Span(self, node)


class _Span:
    """The time in which a node's own code is written."""

    __slots__ = ("layout", "node", "start")

    def __init__(self, layout: _Layout, node: cst.CSTNode) -> None:
        self.layout = layout
        self.node = node
        self.start = layout.length

    def __enter__(self) -> None:
        self.start = self.layout.length

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.layout.spans[self.node] = self.start, self.layout.length


def _literal(node: cst.CSTNode) -> Value:
    """The value of a literal, of which the analysis keeps no place."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        found = _literal(node.expression)
        return constant(-found.value) if isinstance(found, Const) and isinstance(found.value, (int, float)) else NEVER
    if isinstance(node, (cst.Integer, cst.Float, cst.SimpleString)):
        return constant(node.evaluated_value) if not isinstance(node.evaluated_value, bytes) else NEVER
    if isinstance(node, cst.Name) and node.value in _CONSTANTS:
        return constant(_CONSTANTS[node.value])
    return NEVER


_CONSTANTS = {"None": None, "True": True, "False": False}


class Replacement(NamedTuple):
    """Put `text` in the place of the code points from `start` to `end` of the file."""

    start: int
    end: int
    text: str


def _read(document: Document, start: int, end: int) -> Scene | None:
    """Parse a stretch of a file, given in bytes."""
    text = document.data[start:end].decode(errors="replace")
    holder = _HOLDER if text[:1] in (" ", "\t", "\f") else ""
    module = parse_concrete(holder + text)
    return None if module is None else Scene(document, module, document.offset(start), len(holder))


def _block_end(data: bytes, start: int) -> int:
    """Where a function that begins at `start`, with its decorators, ends: behind the line end of its last line."""
    column = start - (max(data.rfind(b"\n", 0, start), data.rfind(b"\r", 0, start)) + 1)
    end, inside = start, False
    line = logical_line(data, start)
    while line is not None:
        first, last = line
        at_column = first - (max(data.rfind(b"\n", 0, first), data.rfind(b"\r", 0, first)) + 1)
        if inside and at_column <= column:
            break
        inside = inside or not data.startswith(b"@", first)
        end = last
        line = logical_line(data, last)
    newline = data.find(b"\n", end)
    return len(data) if newline < 0 else newline + 1


def _comments_above(text: str, start: int) -> int:
    """Where the comments begin that stand directly above a line, without a blank line between; the line's start where none do."""
    while start:
        above = text.rfind("\n", 0, start - 1) + 1
        if not text[above:start].lstrip().startswith("#"):
            break
        start = above
    return start
