"""The function that holds a finding, as libcst reads it: where its nodes stand, what holds them, what the analysis knows of them.

Only that function is parsed, once for all findings in it; libcst reads 11,000 lines a second. Offsets count code points of the file's
text, so that what a rewrite replaces needs no conversion. A rewrite reads the tree and writes text: what it does not touch stays as it was,
comments and layout included.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import TracebackType
from typing import NamedTuple, TypeVar

import libcst as cst

from xlalint.abstract.values import NEVER, Const, Value, constant
from xlalint.diagnostics.finding import Location
from xlalint.diagnostics.logical_lines import logical_line
from xlalint.lowering.ir import Unit
from xlalint.source.concrete import parse_concrete
from xlalint.source.layout import Counter, laid_out
from xlalint.source.lines import Lines
from xlalint.source.model import SourceError
from xlalint.source.syntax import parse

Facts = Mapping[tuple[int, int], Value]
"""What an expression, or a name that is assigned, was in every context: by the bytes that it covers in the file's UTF-8."""

Node = TypeVar("Node", bound=cst.CSTNode)
_LONE_RETURN = re.compile(r"\r(?!\n)")
_INDENTED_FEED = re.compile(r"(\r?\n)([ \t\f]*\f)")
# Expressions that all rewrites of a function may look at, counted anew each time: what each finding looks at may be all of the function.
_LEAST_WORK = 100_000
_WORK_PER_NODE = 50
_HOLDER = "if 0:\n"  # what makes a program of an indented function


class Document:
    """One file that is to be fixed: its text, its lowered unit, and what the analysis knows of its expressions."""

    def __init__(self, text: str, unit: Unit, facts: Facts) -> None:
        # A carriage return by itself ends a line too. As a line feed it is in the same place, and nothing else need know of it.
        self.text = _LONE_RETURN.sub("\n", text) if "\r" in text else text
        self.unit = unit
        self.facts = facts
        self.data = self.text.encode()
        self.lines = Lines(self.data)
        self.newline = _newline(text)
        self._scenes: dict[tuple[int, int], FunctionSource | None] = {}
        self._ends: dict[int, int] = {}

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

    def scene(self, start: int) -> FunctionSource | None:
        """The outermost function or method around a byte, or the whole file for what is in none; None if it cannot be read."""
        return self._scene(self._function_around(start) or (0, len(self.data)))

    def whole(self) -> FunctionSource | None:
        """The whole file; None if it cannot be read."""
        return self._scene((0, len(self.data)))

    def _scene(self, extent: tuple[int, int]) -> FunctionSource | None:
        if extent not in self._scenes:
            self._scenes[extent] = _read(self, *extent)
        return self._scenes[extent]

    def _function_around(self, byte: int) -> tuple[int, int] | None:
        index = bisect_right(self._function_starts, byte) - 1
        while index >= 0:
            start = self._function_starts[index]
            if _is_decorated(self.data, start):  # such a function begins with what decorates it
                start = self.data.rindex(b"@", 0, start)
            end = self._end(start)
            if end > byte:
                return _line_start(self.data, start), end
            index -= 1
        return None

    def _end(self, start: int) -> int:
        """Where a function that begins there ends. Kept: a function may hold thousands of findings."""
        if start not in self._ends:
            self._ends[start] = _block_end(self.data, start)
        return self._ends[start]

    @cached_property
    def _function_starts(self) -> list[int]:
        return sorted({f.start for f in self.unit.functions if f.outer < 0 and f.name != "<lambda>"})


class Exhausted(Exception):  # noqa: N818 - it ends the search for fixes, and is no error
    """The rewrites of a function have taken more than its share of work."""


class FunctionSource:
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
        self._indexes: dict[cst.CSTNode, dict[cst.CSTNode, int]] = {}
        self._values: dict[cst.CSTNode, Value] = {}
        self._shift = start - lead
        self.introduced: set[str] = set()
        self._left = max(_LEAST_WORK, _WORK_PER_NODE * len(self._order))

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
        """Return the node that directly holds another."""
        return self._parents[node]

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the nodes that hold another, the nearest first."""
        while node in self._parents:
            node = self._parents[node]
            self._left -= 1
            yield node

    def nearest(self, node: cst.CSTNode, *kinds: type[Node]) -> Node | None:
        """The node itself or the nearest one around it of some kinds."""
        for other in (node, *self.above(node)):
            if isinstance(other, kinds):
                return other
        return None

    def extent(self, node: cst.CSTNode) -> tuple[int, int]:
        """The places, in the order of the text, of a node and all that it holds: of the first, and behind the last."""
        return self._extents[node]

    def node(self, place: int) -> cst.CSTNode:
        """The node at a place in the order of the text."""
        return self._order[place]

    def holds(self, outer: cst.CSTNode, node: cst.CSTNode) -> bool:
        """Return whether a node is held, directly or not, by another one."""
        first, last = self._extents[outer]
        return first < self._extents[node][0] < last

    def child_towards(self, outer: cst.CSTNode, node: cst.CSTNode) -> cst.CSTNode:
        """Return the child of a node that holds another node, directly or not."""
        while self._parents[node] is not outer:
            node = self._parents[node]
        return node

    def statement(self, node: cst.CSTNode) -> cst.BaseStatement:
        """The statement that holds a node: a simple statement's line, or a compound one whose header holds it."""
        found = self._statements[self._extents[node][0]]
        if found is None:
            raise LookupError("a node outside of all statements")
        return found

    @cached_property
    def _statements(self) -> list[cst.BaseStatement | None]:
        """The statement that holds the node at each place."""
        found: list[cst.BaseStatement | None] = []
        for node in self._order:
            if isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
                found.append(node)
            else:
                holder = self._parents.get(node)
                found.append(None if holder is None else found[self._extents[holder][0]])
        return found

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The innermost function that holds a node; None at module level, in a class body or a lambda."""
        found = self._scopes[self._extents[self.parent(node)][0]]
        return found if isinstance(found, cst.FunctionDef) else None

    @cached_property
    def _scopes(self) -> list[cst.CSTNode | None]:
        """The innermost function, class or lambda that the node at each place is, or is held by."""
        found: list[cst.CSTNode | None] = []
        for node in self._order:
            if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
                found.append(node)
            else:
                holder = self._parents.get(node)
                found.append(None if holder is None else found[self._extents[holder][0]])
        return found

    def siblings(self, statement: cst.CSTNode) -> tuple[Sequence[cst.CSTNode], int]:
        """The statements of the block that holds one, and its index; an `elif` has no block of its own."""
        holder = self._parents[statement]
        body = getattr(holder, "body", ())
        if not isinstance(body, Sequence):
            return (statement,), 0
        indexes = self._indexes.get(holder)
        if indexes is None:
            indexes = self._indexes[holder] = {one: index for index, one in enumerate(body)}
        return (body, indexes[statement]) if statement in indexes else ((statement,), 0)

    def descend(self, node: cst.CSTNode, *kinds: type[Node]) -> Iterator[Node]:
        """A node and all that it holds, in the order of the text, of some kinds."""
        first, last = self._extents[node]
        found = self._of_kind(kinds[0])
        places: Sequence[int] = found[bisect_left(found, first) : bisect_left(found, last)]
        if len(kinds) > 1:
            others = (self._of_kind(kind) for kind in kinds[1:])
            more = {place for one in others for place in one[bisect_left(one, first) : bisect_left(one, last)]}
            places = sorted(more.union(places))
        self._spend(len(places) + 1)
        for place in places:
            yield self._order[place]  # type: ignore[misc]

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

    @property
    def step(self) -> str:
        """By how much the file indents a block."""
        return self.root.default_indent if isinstance(self.root, cst.Module) else "    "

    def indent(self, node: cst.CSTNode) -> str:
        """The white space in front of the line on which a node begins."""
        start, _ = self.span(node)
        line = self.document.text.rfind("\n", 0, start) + 1
        text = self.document.text[line:start]
        return text[: len(text) - len(text.lstrip())]

    def value(self, node: cst.CSTNode) -> Value:
        """Return an expression's value, joined over all calls; `NEVER` if none was seen."""
        self._spend(1)
        known = self._values.get(node)
        if known is None:
            known = self._values[node] = self._value(node)
        return known

    def _value(self, node: cst.CSTNode) -> Value:
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
        """A rewrite begins: it has introduced no names yet. `Exhausted` where earlier ones have used up the function's share of work."""
        self.introduced = set()
        self._spend(0)

    def _spend(self, work: int) -> None:
        """Count work that a rewrite takes: expressions that it looks at."""
        self._left -= work
        if self._left < 0:
            raise Exhausted

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


def _read(document: Document, start: int, end: int) -> FunctionSource | None:
    """Parse a stretch of a file, given in bytes."""
    text = document.data[start:end].decode(errors="replace")
    holder = _HOLDER if text[:1] in (" ", "\t") else ""
    source = holder + text
    module = parse_concrete(_without_form_feeds(source) if "\f" in source else source)
    return None if module is None else FunctionSource(document, module, document.offset(start), len(holder))


def _is_decorated(data: bytes, start: int) -> bool:
    """Return whether a decorator's sign stands directly in front of a place."""
    while start and data[start - 1 : start] in (b" ", b"\t"):
        start -= 1
    return data[start - 1 : start] == b"@"


def _without_form_feeds(text: str) -> str:
    """The same program, of the same length, with form feeds in indentations, which libcst drops, as blanks on the line above."""
    plain = _INDENTED_FEED.sub(lambda match: " " * len(match[2]) + match[1], text)
    try:
        same = ast.dump(parse(plain)) == ast.dump(parse(text))
    except (SourceError, RecursionError):
        same = False
    return plain if same else text  # one within a string is text


def _block_end(data: bytes, start: int) -> int:
    """Where a function that begins at `start`, with its decorators, ends: behind the line end of its last line."""
    column = start - _line_start(data, start)
    end, inside = start, False
    line = logical_line(data, start)
    while line is not None:
        first, last = line
        if inside and first - _line_start(data, first) <= column:
            break
        inside = inside or not data.startswith(b"@", first)
        end = last
        line = logical_line(data, last)
    newline = data.find(b"\n", end)
    return len(data) if newline < 0 else newline + 1


def _line_start(data: bytes, offset: int) -> int:
    """Where the line around a place begins, or behind its form feed, from which Python counts the indentation anew."""
    line = data.rfind(b"\n", 0, offset) + 1
    return max(line, data.rfind(b"\f", line, offset) + 1)


def _newline(text: str) -> str:
    """How lines end in a text."""
    if "\r\n" in text:
        return "\r\n"
    return "\r" if "\r" in text and "\n" not in text else "\n"


def _comments_above(text: str, start: int) -> int:
    """Where the comments begin that stand directly above a line, without a blank line between; the line's start where none do."""
    while start:
        above = text.rfind("\n", 0, start - 1) + 1
        if not text[above:start].lstrip().startswith("#"):
            break
        start = above
    return start
