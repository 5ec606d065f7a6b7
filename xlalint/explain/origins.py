"""Where a value came from: from the expression back to the annotation, call, table entry or use that made it what it is."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from xlalint.abstract.values import (
    NONE,
    UNKNOWN,
    Answer,
    Class,
    Function,
    Instance,
    LibraryInstance,
    LibrarySymbol,
    Method,
    Module,
    Partial,
    Tensor,
    Value,
)
from xlalint.explain.definitions import Definition, dotted_name
from xlalint.explain.library import LibraryFacts
from xlalint.explain.model import Cause, Origin
from xlalint.explain.narrowings import NarrowingFacts
from xlalint.explain.parameters import ParameterFacts
from xlalint.explain.replay import Replay
from xlalint.explain.scope import Scope
from xlalint.explain.stores import AttributeFacts
from xlalint.explain.wording import Wording
from xlalint.interpreter.interpreter import find_call_method
from xlalint.lowering.lessons import Lessons
from xlalint.program.linker import FunctionInfo

_DEEPEST = 7
_MOST = 10
_MOST_DEFINITIONS = 3
# Builtins whose result holds what their first argument holds.
_PASSING = frozenset(
    f"builtins.{name}" for name in ("enumerate", "zip", "list", "tuple", "set", "reversed", "iter", "next")
)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Origins:
    """Explains the expressions of one scope."""

    def __init__(self, scope: Scope, replay: Replay, wording: Wording, library: LibraryFacts, lessons: Lessons) -> None:
        self.scope = scope
        self.lessons = lessons
        self.text = scope.text
        self.replay = replay
        self.wording = wording
        self.library = library
        self.parameters = ParameterFacts(scope, replay, wording)
        self.attributes = AttributeFacts(replay, wording)
        self.narrowings = NarrowingFacts(scope, wording)
        self._visited: set[int] = set()

    def of(self, node: ast.expr) -> tuple[Origin, ...]:
        """The facts behind an expression's value, what is nearest first."""
        self._visited = set()
        found: list[Origin] = []
        for origin in self._of(node, 0):
            if all((origin.text, origin.row) != (known.text, known.row) for known in found):
                found.append(origin)
            if len(found) == _MOST:
                break
        return tuple(found)

    def of_parameter(self, name: str) -> tuple[Origin, ...]:
        """The facts behind a parameter's value."""
        return tuple(self.parameters.of(name, 0))

    def _of(self, node: ast.expr, depth: int) -> Iterator[Origin]:
        if depth > _DEEPEST or id(node) in self._visited:
            return
        self._visited.add(id(node))
        teller = _TELLERS.get(type(node))
        if teller is not None:
            yield from teller(self, node, depth)

    def _here(self, cause: Cause, text: str, depth: int, node: ast.AST) -> Origin:
        return Origin(cause, text, depth, self.text.source.path, getattr(node, "lineno", None))

    # ---------------------------------------------------------------------------------------------------- names

    def name(self, node: ast.Name, depth: int) -> Iterator[Origin]:
        if isinstance(node.ctx, ast.Store):
            yield from self._target(node, depth)
            return
        looped = self._find_comprehension(node)
        if looped is not None:
            yield self._here("loop", f"an element of `{self.text.code(looped.iter)}`", depth, looped.iter)
            yield from self._of(looped.iter, depth + 1)
            return
        narrowed = self.narrowings.of(node)
        if narrowed is not None:
            yield msgspec.structs.replace(narrowed, depth=depth)
        found = self.scope.before(node).get(node.id)
        if found is not None:
            yield from self._trace_definition(found, node.id, depth)
        else:
            yield from self._outer(node, depth)

    def _target(self, node: ast.expr, depth: int) -> Iterator[Origin]:
        """Yield the origins of what this very statement assigns."""
        statement = self.text.statement_of(node)
        if isinstance(statement, (ast.For, ast.AsyncFor)):
            yield self._here("loop", f"an element of `{self.text.code(statement.iter)}`", depth, statement)
            yield from self._of(statement.iter, depth + 1)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and statement.value is not None:
            part = _part(statement, node)
            if part is None:
                yield self._here("assignment", f"unpacked from `{self.text.code(statement.value)}`", depth, statement)
            yield from self._of(part if part is not None else statement.value, depth if part is not None else depth + 1)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            for item in statement.items:
                if item.optional_vars is not None and node in ast.walk(item.optional_vars):
                    yield self._here(
                        "context-manager", f"what `with {self.text.code(item.context_expr)}` gives", depth, node
                    )

    def _find_comprehension(self, node: ast.Name) -> ast.comprehension | None:
        """The generator of a comprehension that binds a name."""
        inner: ast.AST = node
        for outer in self.text.around(node):
            if isinstance(outer, _COMPREHENSIONS):
                for generator in outer.generators:
                    bound = {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}
                    if node.id in bound and not (inner is generator and node in ast.walk(generator.iter)):
                        return generator
            inner = outer
        return None

    def _trace_definition(self, found: tuple[Definition, ...], name: str, depth: int) -> Iterator[Origin]:
        for definition in found[-_MOST_DEFINITIONS:]:
            taught = self._taught(definition, name)
            if taught is not None:
                yield taught
            else:
                yield from _DEFINED[definition.how](self, definition, depth)
        if len(found) > _MOST_DEFINITIONS:
            rows = self.text.describe_rows(*(definition.row for definition in found[:-_MOST_DEFINITIONS]))
            yield Origin("assignment", f"assigned on {rows} too", depth, self.text.source.path)

    def parameter(self, definition: Definition, depth: int) -> Iterator[Origin]:
        yield from self.parameters.of(definition.node.arg, depth)  # type: ignore[attr-defined]

    def assignment(self, definition: Definition, depth: int) -> Iterator[Origin]:
        yield self._here("assignment", f"`{self.text.code(definition.node)}`", depth, definition.node)
        if definition.value is not None:
            yield from self._of(definition.value, depth + 1)

    def _taught(self, definition: Definition, name: str) -> Origin | None:
        """Return what a comment on the assignment says of it."""
        if definition.how == "param":  # the parameters' own facts tell
            return None
        row = definition.row
        if definition.how in ("assign", "unpack"):
            lesson = self.lessons.of(name, row, getattr(definition.node, "end_lineno", row))
        else:
            lesson = self.lessons.find_named(name, row)
        if lesson is None:
            return None
        said = f"`# xlalint: {lesson.kind}[{lesson.name}]`" if lesson.name else f"`# xlalint: {lesson.kind}`"
        return self._here("taught", f"the comment {said} says so", 0, definition.node)

    def loop(self, definition: Definition, depth: int) -> Iterator[Origin]:
        assert definition.value is not None
        yield self._here("loop", f"an element of `{self.text.code(definition.value)}`", depth, definition.node)
        yield from self._of(definition.value, depth + 1)

    def context_manager(self, definition: Definition, depth: int) -> Iterator[Origin]:
        assert definition.value is not None
        yield self._here(
            "context-manager", f"what `with {self.text.code(definition.value)}` gives", depth, definition.node
        )
        yield from self._of(definition.value, depth + 1)

    def other(self, definition: Definition, depth: int) -> Iterator[Origin]:
        causes: dict[str, tuple[Cause, str]] = {
            "import": ("import", "imported by"),
            "def": ("function", "defined by"),
            "except": ("unknown", "what is caught by"),
            "match": ("unknown", "bound by a pattern that matches"),
        }
        cause, said = causes[definition.how]
        yield self._here(cause, f"{said} `{self.text.code(definition.node).partition(':')[0]}`", depth, definition.node)

    def _outer(self, node: ast.Name, depth: int) -> Iterator[Origin]:
        """A name that the function does not bind: an outer function's, the module's, a builtin."""
        module = self.scope.module
        for context, _ in self.scope.believed[:1]:
            if context.function is not None and node.id in context.function.ir.free:
                yield Origin(
                    "closure", "a name of the function around this one, as known where this one is defined", depth
                )
                return
        binding = module.imports.get(node.id)
        if binding is not None:
            source = self.replay.program.absolute(module, binding)
            yield Origin("import", f"imported from `{source}`", depth, module.path)
        elif node.id in module.assigned:
            yield from self._global(node.id, depth)
        elif node.id in module.unit.defs:
            index = module.unit.defs[node.id]
            row = module.functions[index].ir.row if index >= 0 else module.classes[-1 - index].ir.row
            yield Origin("function" if index >= 0 else "class", "defined in this file", depth, module.path, row)
        elif self.scope.value(node) is UNKNOWN:
            yield Origin("unknown", f"nothing in the program says what `{node.id}` is", depth)
        else:
            yield Origin("builtin", "a name of Python or of a star import", depth)

    def _global(self, name: str, depth: int) -> Iterator[Origin]:
        rows = [
            statement
            for statement in ast.walk(self.text.tree)
            if isinstance(statement, (ast.Assign, ast.AnnAssign)) and self.text.function_of(statement) is None
            if any(dotted_name(target) == name for target in _targets(statement))
        ]
        if rows:
            yield self._here("assignment", f"assigned at module level: `{self.text.code(rows[-1])}`", depth, rows[-1])
        else:
            yield Origin("assignment", "assigned at module level", depth, self.scope.module.path)

    # ------------------------------------------------------------------------------------------------ attributes

    def attribute(self, node: ast.Attribute, depth: int) -> Iterator[Origin]:
        path = dotted_name(node)
        if isinstance(node.ctx, ast.Store):
            yield from self._target(node, depth)
            return
        found = self.scope.before(node).get(path) if path else None
        if found:
            yield from self._trace_definition(found, dotted_name(node), depth)
            return
        for member in self.scope.alternatives(node.value):
            if member is NONE:
                continue
            if isinstance(member, Instance):
                yield from self.attributes.of(member.klass, node.attr, depth)
            elif isinstance(member, Tensor):
                yield self.library.attribute(member.framework, node.attr, depth)
            elif isinstance(member, LibrarySymbol):
                yield self.library.name(f"{member.name}.{node.attr}", depth)
            elif isinstance(member, LibraryInstance):
                yield self.library.member(member.name, node.attr, depth)
            elif isinstance(member, Module):
                yield Origin("import", f"a name of module `{member.info.name}`", depth, member.info.path)
            elif member is UNKNOWN:
                said = f"`{self.text.code(node.value)}` is unknown, so its attributes are"
                yield self._here("unknown", said, depth, node)
                yield from self._of(node.value, depth + 1)
            else:
                yield self._here("operation", f"attribute of `{self.text.code(node.value)}`", depth, node)
                yield from self._of(node.value, depth + 1)

    # ----------------------------------------------------------------------------------------------------- calls

    def call(self, node: ast.Call, depth: int) -> Iterator[Origin]:
        for member in self.scope.alternatives(node.func):
            if member is not NONE:
                yield from self._trace_call(node, member, depth)

    def _trace_call(self, node: ast.Call, func: Value, depth: int) -> Iterator[Origin]:
        if isinstance(func, Partial):
            yield from self._trace_call(node, func.func, depth)
        elif isinstance(func, Function):
            yield self._trace_return(func.info, depth)
        elif isinstance(func, Instance):
            info = find_call_method(func.klass) or func.klass.method_below("forward")
            if info is not None:
                yield self._trace_return(info, depth)
            else:
                yield self.library.instance_call(func.klass.library_bases(), depth)
        elif isinstance(func, Class):
            yield Origin("class", f"an instance of `{func.info.name}`", depth, func.info.module.path, func.info.ir.row)
        elif isinstance(func, Answer):
            yield self._here("function", f"given back by what `{self.text.code(node.func)}` wraps", depth, node)
        elif isinstance(func, (LibrarySymbol, Method, LibraryInstance)):
            yield from self._library_call(node, func, depth)
        else:
            yield self._here("unknown", f"what `{self.text.code(node.func)}` calls is not known", depth, node)
            yield from self._of(node.func, depth + 1)

    def _library_call(self, node: ast.Call, func: Value, depth: int) -> Iterator[Origin]:
        applied = [case for _, sight in self.scope.believed for case in sight.applied.get(self.scope.at(node), ())]
        result = self.scope.value(node)
        source = self._maker(node, func)
        passing = source is not None and isinstance(func, LibrarySymbol) and func.name in _PASSING
        if not passing:
            yield self.library.call(func, applied, result, depth)
        if source is not None:
            yield from self._of(source, depth if passing else depth + 1)

    def _maker(self, node: ast.Call, func: Value) -> ast.expr | None:
        """The receiver or argument that the result is like."""
        if isinstance(func, Method) and isinstance(node.func, ast.Attribute):
            return node.func.value
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(func, LibrarySymbol) and func.name in _PASSING:
            return next(iter(given), None)
        tensors = [arg for arg in given if self._may_be_tensor(arg)]
        unknown = [arg for arg in given if UNKNOWN in self.scope.alternatives(arg)]
        return next(iter(tensors or unknown), None)

    def _may_be_tensor(self, node: ast.expr) -> bool:
        return any(isinstance(member, Tensor) for member in self.scope.alternatives(node))

    def _trace_return(self, info: FunctionInfo, depth: int) -> Origin:
        rows = ""
        if info.module is self.scope.module:
            returns = self._returns(info)
            rows = f", at {self.text.describe_rows(*returns)}" if returns else ""
        return Origin("function", f"returned by `{info.ir.qualname}`{rows}", depth, info.module.path, info.ir.row)

    def _returns(self, info: FunctionInfo) -> list[int]:
        for node in ast.walk(self.text.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (node.lineno, node.name) == (
                info.ir.row,
                info.name,
            ):
                inner = (n for n in ast.walk(node) if isinstance(n, ast.Return) and self.text.function_of(n) is node)
                return sorted(n.lineno for n in inner)[:5]
        return []

    # ------------------------------------------------------------------------------------------------ operations

    def subscript(self, node: ast.Subscript, depth: int) -> Iterator[Origin]:
        base = self.scope.value(node.value)
        said = f"taken from `{self.text.code(node.value)}`"
        if base is not None:
            said += f": {self.wording.text(base)}"
        yield self._here("operation", said, depth, node)
        yield from self._of(node.value, depth + 1)

    def operation(self, node: Any, depth: int) -> Iterator[Origin]:
        operands = _operands(node)
        tensors = [operand for operand in operands if self._may_be_tensor(operand)]
        unknown = [operand for operand in operands if UNKNOWN in self.scope.alternatives(operand)]
        followed = next(iter(tensors or unknown), None)
        if tensors:
            said = f"an operation on `{self.text.code(tensors[0])}`"
        elif unknown:
            said = f"`{self.text.code(unknown[0])}` is unknown, so the operation is"
        else:
            said = "computed from host values"
            followed = next((o for o in operands if not isinstance(o, ast.Constant)), None)
        yield self._here("operation", said, depth, node)
        if followed is not None:
            yield from self._of(followed, depth + 1)

    def comparison(self, node: ast.Compare, depth: int) -> Iterator[Origin]:
        if isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            yield self._here("operation", "compares identities, which the host knows: no value is read", depth, node)
        elif isinstance(node.ops[0], (ast.In, ast.NotIn)):
            yield self._here("operation", "a test of membership, which gives a bool", depth, node)
        else:
            yield from self.operation(node, depth)

    def alternatives(self, node: Any, depth: int) -> Iterator[Origin]:
        for branch in (node.body, node.orelse) if isinstance(node, ast.IfExp) else node.values:
            if self.scope.value(branch) is not None:
                yield from self._of(branch, depth)

    def literal(self, node: ast.expr, depth: int) -> Iterator[Origin]:
        yield self._here("literal", "written here", depth, node)

    def display(self, node: Any, depth: int) -> Iterator[Origin]:
        yield self._here("literal", f"built here: `{self.text.code(node)}`", depth, node)

    def inner(self, node: Any, depth: int) -> Iterator[Origin]:
        yield from self._of(node.value, depth)


def _operands(node: Any) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    return [node.left, *node.comparators]


def _targets(statement: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return statement.targets if isinstance(statement, ast.Assign) else [statement.target]


def _part(statement: ast.Assign | ast.AnnAssign | ast.AugAssign, target: ast.expr) -> ast.expr | None:
    """The expression that is assigned to one of a statement's targets as it is; None where it is unpacked."""
    if not isinstance(statement, ast.Assign):
        return statement.value
    for one in statement.targets:
        if one is target:
            return statement.value
        value = statement.value
        if isinstance(one, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
            pairs = zip(one.elts, value.elts, strict=False) if len(one.elts) == len(value.elts) else ()
            for item, part in pairs:
                if item is target:
                    return part
    return None


_DEFINED: dict[str, Callable[[Origins, Definition, int], Iterator[Origin]]] = {
    "param": Origins.parameter,
    "assign": Origins.assignment,
    "unpack": Origins.assignment,
    "augment": Origins.assignment,
    "for": Origins.loop,
    "with": Origins.context_manager,
    "import": Origins.other,
    "def": Origins.other,
    "except": Origins.other,
    "match": Origins.other,
}
_TELLERS: dict[type[ast.expr], Callable[[Origins, Any, int], Iterator[Origin]]] = {
    ast.Name: Origins.name,
    ast.Attribute: Origins.attribute,
    ast.Call: Origins.call,
    ast.Subscript: Origins.subscript,
    ast.BinOp: Origins.operation,
    ast.UnaryOp: Origins.operation,
    ast.Compare: Origins.comparison,
    ast.BoolOp: Origins.alternatives,
    ast.IfExp: Origins.alternatives,
    ast.Constant: Origins.literal,
    ast.JoinedStr: Origins.literal,
    ast.List: Origins.display,
    ast.Tuple: Origins.display,
    ast.Set: Origins.display,
    ast.Dict: Origins.display,
    ast.ListComp: Origins.display,
    ast.SetComp: Origins.display,
    ast.DictComp: Origins.display,
    ast.GeneratorExp: Origins.display,
    ast.Lambda: Origins.display,
    ast.Starred: Origins.inner,
    ast.Await: Origins.inner,
    ast.NamedExpr: Origins.inner,
}
