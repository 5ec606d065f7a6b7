"""The rewritten lines alone, as a function of what they need: for what cannot be run as a whole.

Attributes of `self` become parameters, methods that are called on it stand-ins that give back their first argument; both programs get the
same. What is returned is what the rest of the function reads. A local tensor that was computed has memory of its own: a copy is given, so
that nobody outside sees what is done to it.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from xlalint.verify.freenames import BUILTINS, find_bound, find_needed
from xlalint.verify.inputs.believed import Believed, Kind
from xlalint.verify.inputs.inferred import Parameter
from xlalint.verify.inputs.usage import uses
from xlalint.verify.modules import name_and_root
from xlalint.verify.rewrites import Around, Rows, StatementRun

NAME = "rewritten_lines"
_LOOP = "for _only_once in (0,):"


class RegionProgram(NamedTuple):
    """A module's text with the function `NAME`, the rows of its body, and the function's own text."""

    text: str
    rows: Rows
    source: str


class Region(NamedTuple):
    """The lines before and after as programs, and their parameters; `stand_ins` are the methods that others stand for, `borrowed` local
    tensors whose memory something else may hold, or nothing.
    """

    before: RegionProgram
    after: RegionProgram
    parameters: list[Parameter]
    stand_ins: tuple[str, ...]
    borrowed: tuple[str, ...] = ()


class RegionError(Exception):
    """The lines cannot be made a function; the message says why."""


class Side(NamedTuple):
    """A text, its function and the lines in it, before or after."""

    text: str
    tree: ast.Module
    around: Around
    run: StatementRun


def region(path: str, before: Side, after: Side, believed: Believed, copy_by: str = "") -> Region:
    """The rewritten lines of a file as two functions with the same parameters. `copy_by` is the method that copies a tensor, "" where none
    is needed.

    Raises: RegionError.
    """
    selves = [_Self(side) for side in (before, after)]
    bodies = [
        [one.visit(copy.deepcopy(node)) for node in side.run.taken]
        for one, side in zip(selves, (before, after), strict=True)
    ]
    for body in bodies:
        _refuse(body)
    live = _live(before, bodies, selves)
    ended = ast.parse(f"return ({', '.join(live)},)" if live else "return None").body
    locals_ = _locals(before) | _locals(after) | {name for one in selves for name in one.attributes}
    wanted: dict[str, None] = {}
    for body, side in zip(bodies, (before, after), strict=True):
        known = _top_level(side.tree)
        for name in find_needed([*body, *ended]):
            if name in locals_ or not (name in known or name in BUILTINS):
                wanted[name] = None
    stand_ins = {name: None for one in selves for name in one.called}
    names = [name for name in wanted if name not in stand_ins]
    unknown = [name for name in names if name not in locals_]
    if unknown:
        raise RegionError(f"nothing says what `{unknown[0]}` is")
    kinds = _kinds(before, names, believed, selves[0])
    use = uses([*before.around.node.body], names)
    for name, more in uses(bodies[0], names).items():
        use[name].rank, use[name].least = max(use[name].rank, more.rank), max(use[name].least, more.least)
    parameters = [Parameter(name, kinds[name], use[name]) for name in names]
    own = _find_computed(before) if copy_by else set()
    copied = [f"{name} = {name}.{copy_by}()" for name in names if name in own and kinds[name].what == "tensor"]
    made = [
        _program(path, side, [*copied], body, ended, names, [name for name in stand_ins if name in one.called])
        for side, body, one in zip((before, after), bodies, selves, strict=True)
    ]
    others = (
        (_find_arguments(before) - _find_rebound(before)) | own | {name for one in selves for name in one.attributes}
    )
    borrowed = [name for name in names if kinds[name].what == "tensor" and name not in others]
    return Region(made[0], made[1], parameters, tuple(stand_ins), tuple(borrowed))


def _refuse(body: Iterable[ast.stmt]) -> None:
    for one in body:
        for node in ast.walk(one):
            if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await, ast.Nonlocal, ast.Global)):
                raise RegionError(f"they hold a `{type(node).__name__.lower()}`")
            if isinstance(node, ast.Name) and node.id in ("self", "cls", "super", "locals"):
                raise RegionError(f"they pass `{node.id}` on")


def _live(side: Side, bodies: Sequence[Sequence[ast.stmt]], selves: Sequence[_Self]) -> list[str]:
    """The names that the lines bind and the rest of the function reads; where it reads none, all that both bind."""
    made = [find_bound(body) for body in bodies]
    common = [name for name in made[0] if name in made[1] or name in {*find_needed(bodies[1])}]
    first, last = side.run.rows
    read = {
        node.id
        for node in ast.walk(side.around.node)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and (side.run.loops or not first <= node.lineno <= last)
    }
    attributes = set(selves[0].stored)
    live = [name for name in made[0] if name in read or name in attributes]
    return live or [name for name in common if not name.startswith("_")]


def _locals(side: Side) -> set[str]:
    """Return all names that the function binds, its parameters and those of inner functions included."""
    found = {name for node in ast.walk(side.around.node) for name in _bindings(node)}
    return found - {"self", "cls"}


def _find_computed(side: Side) -> set[str]:
    """Find the names that the function binds before the lines, once, to what an operator gives, and of which nothing else there may hold
    the memory.
    """
    first, last = side.run.rows
    rest = [node for node in ast.walk(side.around.node) if not first <= getattr(node, "lineno", first) <= last]
    computed = {
        target.id: node
        for node in rest
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and _is_computed(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    bindings = Counter(name for node in rest for name in _bindings(node))
    arguments = _find_arguments(side)
    harmless = {id(one) for node in rest for one in _find_read(node)}
    handed = {
        node.id
        for node in rest
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and (node.lineno < first or side.run.loops)
        and id(node) not in harmless
    }
    return {name for name in computed if bindings[name] == 1 and name not in arguments and name not in handed}


def _find_arguments(side: Side) -> set[str]:
    return {node.arg for node in ast.walk(side.around.node.args) if isinstance(node, ast.arg)}


def _find_rebound(side: Side) -> set[str]:
    """Find the names that are bound anew on each way to the lines: what was an argument by this name may be none any more."""
    above = [one for one in side.around.node.body if (one.end_lineno or one.lineno) < side.run.rows[0]]
    return {name for one in above if isinstance(one, ast.Assign) for node in ast.walk(one) for name in _bindings(node)}


def _find_read(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the operands of which a node keeps nothing."""
    if isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.Compare):
        yield from (node.left, *node.comparators)
    elif isinstance(node, ast.Attribute) and node.attr in _READING:
        yield node.value


def _is_computed(value: ast.expr) -> bool:
    """Return whether an expression gives a tensor of its own: `+x` gives `x` itself."""
    return isinstance(value, (ast.BinOp, ast.Compare)) or (
        isinstance(value, ast.UnaryOp) and not isinstance(value.op, ast.UAdd)
    )


def _bindings(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg


def _top_level(tree: ast.Module) -> dict[str, ast.stmt]:
    """The names that a module binds, each with the statement that does."""
    found: dict[str, ast.stmt] = {}
    for one in tree.body:
        if isinstance(one, ast.If) and "TYPE_CHECKING" in ast.unparse(one.test):
            continue
        for name in find_bound([one]):
            found[name] = one
    return found


class _Self(ast.NodeTransformer):
    """Gives attributes of `self` names of their own: `self.config.eps` becomes `self_config_eps`; `called` are methods."""

    def __init__(self, side: Side) -> None:
        arguments = side.around.node.args
        own = [*arguments.posonlyargs, *arguments.args]
        self.own = own[0].arg if own and side.around.owner is not None and own[0].arg in ("self", "cls") else ""
        self.attributes: dict[str, ast.Attribute] = {}
        self.called: dict[str, None] = {}
        self.stored: dict[str, None] = {}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        if isinstance(function, ast.Attribute) and self._path(function):
            holder = function.value
            if isinstance(holder, ast.Name):
                name = self._path(function)
                self.called[name] = None
                node.func = ast.copy_location(ast.Name(name, ast.Load()), function)
            else:
                function.value = self.visit(holder)
            node.args = [self.visit(one) for one in node.args]
            node.keywords = [self.visit(one) for one in node.keywords]
            return node
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        name = self._path(node)
        if not name:
            return self.generic_visit(node)
        if node.attr in _OF_TENSORS and isinstance(node.value, ast.Attribute):
            inner = self.visit(node.value)
            return ast.copy_location(ast.Attribute(inner, node.attr, node.ctx), node)
        self.attributes[name] = node
        if isinstance(node.ctx, ast.Store):
            self.stored[name] = None
        return ast.copy_location(ast.Name(name, node.ctx), node)

    def _path(self, node: ast.expr) -> str:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        found = self.own and parts and isinstance(node, ast.Name) and node.id == self.own
        return "_".join(["self", *reversed(parts)]) if found else ""


_READING = frozenset(
    ("shape", "dtype", "device", "ndim", "size", "dim", "sum", "mean", "any", "all", "argmax", "argmin", "item", "abs")
)
_OF_TENSORS = ("shape", "dtype", "device", "ndim", "T", "mT", "size", "grad", "data", "real", "imag")


def _kinds(side: Side, names: Sequence[str], believed: Believed, own: _Self) -> dict[str, Kind]:
    """Return the kinds of names. A name is a tensor if any expression of that name is one."""
    found = {name: Kind() for name in names}
    told = believed.parameters.get(side.around.name, {})
    starts = _line_starts(side.text)
    nodes: list[tuple[str, ast.expr]] = [
        (node.id, node) for node in ast.walk(side.around.node) if isinstance(node, ast.Name) and node.id in found
    ]
    nodes += [(name, node) for name, node in own.attributes.items() if name in found]
    for name, node in nodes:
        kind = believed.expression(
            _byte(starts, node.lineno, node.col_offset), _byte(starts, node.end_lineno, node.end_col_offset)
        )
        if _tells_more(kind, found[name]):
            found[name] = kind
    for name, kind in told.items():
        if name in found and _tells_more(kind, found[name]):
            found[name] = kind
    return found


def _tells_more(kind: Kind, known: Kind) -> bool:
    order = ("", "constant", "host", "tensor")
    if kind.what != known.what:
        return order.index(kind.what) > order.index(known.what)
    return kind.what == "tensor" and (known.rank < 0 <= kind.rank or (not known.dtype and bool(kind.dtype)))


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _byte(starts: Sequence[int], line: int | None, column: int | None) -> int:
    return starts[(line or 1) - 1] + (column or 0)


def _jumps(statements: Iterable[ast.AST]) -> bool:
    """Return whether a `break` or `continue` leaves the statements."""
    for one in statements:
        if isinstance(one, (ast.Break, ast.Continue)):
            return True
        if not isinstance(one, (ast.For, ast.While, ast.FunctionDef, ast.AsyncFor)) and _jumps(
            ast.iter_child_nodes(one)
        ):
            return True
    return False


def _program(
    path: str,
    side: Side,
    copied: list[str],
    body: list[ast.stmt],
    ended: list[ast.stmt],
    names: Sequence[str],
    stand_ins: Sequence[str],
) -> RegionProgram:
    lines = "\n".join(ast.unparse(ast.fix_missing_locations(one)) for one in body) or "pass"
    if _jumps(body):
        lines = "\n".join([_LOOP, *(f"    {line}" for line in lines.splitlines())])
    lines = "\n".join([lines, *map(ast.unparse, ended)])
    indented = "\n".join(f"    {line}" if line else line for line in [*copied, *lines.splitlines()])
    stood = "".join(f"def {name}(*given, **named):\n    return given[0]\n\n\n" for name in stand_ins)
    source = f"{stood}def {NAME}({', '.join(names)}):\n{indented}\n"
    header = _header(path, side, body)
    text = f"{header}\n\n{source}"
    first = text[: text.index(f"def {NAME}(")].count("\n") + 2 + len(copied)
    last = first + lines.count("\n") - 1
    return RegionProgram(text, (first, max(first, last)), source)


def _header(path: str, side: Side, body: Sequence[ast.stmt]) -> str:
    """The imports of a module, each for itself, and what else of it the lines need."""
    known = _top_level(side.tree)
    wanted: dict[int, ast.stmt] = {}
    waiting = list(find_needed(body))
    while waiting:
        one = known.get(waiting.pop())
        if one is None or id(one) in wanted:
            continue
        wanted[id(one)] = one
        if not isinstance(one, (ast.Import, ast.ImportFrom)):
            waiting += [node.id for node in ast.walk(one) if isinstance(node, ast.Name)]
    package = name_and_root(Path(path))[0].rpartition(".")[0]
    parts = ["from __future__ import annotations"]
    for one in side.tree.body:
        if id(one) not in wanted:
            continue
        if isinstance(one, (ast.Import, ast.ImportFrom)):
            parts.append(f"try:\n    {_absolute(one, package)}\nexcept Exception:\n    pass")
        else:
            parts.append(ast.unparse(one))
    return "\n".join(parts) + "\n"


def _absolute(one: ast.Import | ast.ImportFrom, package: str) -> str:
    if isinstance(one, ast.Import) or not one.level:
        return ast.unparse(one)
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - one.level + 1])
    module = f"{base}.{one.module}" if one.module else base
    return ast.unparse(ast.ImportFrom(module, one.names, 0))
