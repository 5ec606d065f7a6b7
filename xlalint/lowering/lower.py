"""ast → `Unit`. The walk is written for speed: it sees every node of every file once."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from xlalint.lowering import ir
from xlalint.lowering.ir import encode_body
from xlalint.lowering.lessons import Lessons
from xlalint.lowering.masks import note_assigned, note_index, note_used
from xlalint.lowering.passing import note_dtype, note_elements, note_held, note_passed, spell_dotted
from xlalint.lowering.scope import Scope
from xlalint.source.lines import Lines

_FIELDS: Final = re.compile(r"\{[^{}]*\}")
_LONGEST_STRING: Final = 80
_HEAD: Final = 16  # characters of an f-string's beginning that are kept
_LITERALS: Final = frozenset((ir.Const, ir.Literal))
_MAX_INT: Final = 1 << 62
_LOAD: Final = ast.Load
_REGISTRARS: Final = frozenset(
    ("register_buffer", "register_parameter", "add_module", "register_module", "add_weight", "setattr")
)
_ADDING: Final = frozenset(("append", "extend", "insert"))

_OPERATORS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.BitAnd: "&",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


class Lowerer:
    """Builds the tables of one unit while it walks the file's tree."""

    def __init__(self, data: bytes, lessons: Lessons | None) -> None:
        self.data = data
        # Indexed by ast's line numbers, which count from 1.
        self.starts = [0, *Lines(data).starts]
        self.lessons = lessons
        # Where what is being lowered begins (as `at` packs it), and the index that function references count from.
        self.base = 0
        self.origin = 0
        self.module = Scope(None, -1)
        self.scope = self.module
        self.functions: list[Scope] = []
        self.classes: list[ir.Class | None] = []
        self.imports: list[ir.Binding] = []
        self.rebound: set[str] = set()
        self.configured: set[str] = set()
        self.searched = False
        self.defs: dict[str, int] = {}
        self.guards = 0  # enclosing `if` and `try` statements
        self.before = 0  # statements of module level that are done

    # ------------------------------------------------------------------------------------------ positions

    def at(self, node: Any) -> int:
        fields: dict[str, Any] = node.__dict__
        return self.place(fields)

    def place(self, fields: dict[str, Any]) -> int:
        """Where a node stands, as `at` packs it; of a node's fields, which are quicker to ask for than its attributes."""
        starts = self.starts
        first: int = starts[fields["lineno"]] + fields["col_offset"]
        last: int = starts[fields["end_lineno"]] + fields["end_col_offset"]
        return (first << 32 | last) - self.base

    def start(self, node: Any) -> int:
        offset: int = self.starts[node.lineno] + node.col_offset
        return offset - (self.base & 0xFFFFFFFF)

    def begin(self, node: Any) -> int:
        """Count positions from the start of a definition (its decorators included) or statement; what they counted from before."""
        before = self.base
        decorators = getattr(node, "decorator_list", None)
        first = decorators[0] if decorators else node
        offset: int = self.starts[first.lineno] + first.col_offset
        self.base = offset << 32 | offset
        return before

    # ---------------------------------------------------------------------------------------- expressions

    def expr(self, node: ast.expr) -> ir.Node:
        return _EXPRESSIONS[type(node)](self, node)

    def maybe(self, node: ast.expr | None) -> ir.Node | None:
        return None if node is None else _EXPRESSIONS[type(node)](self, node)

    def exprs(self, nodes: Iterable[ast.expr]) -> tuple[ir.Node, ...]:
        return tuple([_EXPRESSIONS[type(node)](self, node) for node in nodes])

    def constant(self, node: ast.Constant) -> ir.Node:
        value = node.value
        kind = type(value)
        if value is None or kind is bool or kind is float:
            return ir.Const(value)  # type: ignore[arg-type]
        if kind is int:
            return ir.Const(value) if -_MAX_INT < value < _MAX_INT else ir.Literal("int")  # type: ignore[arg-type,operator]
        if kind is str:
            if len(value) <= _LONGEST_STRING and value.isprintable():  # type: ignore[arg-type,union-attr]
                return ir.Const(value)  # type: ignore[arg-type]
            return ir.Literal("str")
        return ir.Literal(kind.__name__)

    def name(self, node: ast.Name) -> ir.Node:
        scope = self.scope
        fields: dict[str, Any] = node.__dict__
        spelled: str = fields["id"]
        if type(fields["ctx"]) is _LOAD:
            scope.loaded.add(spelled)
        else:
            scope.bound.add(spelled)
        return ir.Name(spelled, self.place(fields))

    def attribute(self, node: ast.Attribute) -> ir.Node:
        fields: dict[str, Any] = node.__dict__
        value: ast.expr = fields["value"]
        attr: str = fields["attr"]
        scope = self.scope
        holder = value.id if type(value) is ast.Name else ""
        if scope.uses:
            if scope.masks or not holder:
                note_used(value, scope)
            if holder in scope.uses:
                scope.uses[holder].add("." + attr)
        if type(fields["ctx"]) is not _LOAD:
            own = bool(holder) and holder == scope.receiver
            (scope.stores if own else self.configured).add(attr)
        return ir.Attr(_EXPRESSIONS[type(value)](self, value), attr, self.place(fields))

    def call(self, node: ast.Call) -> ir.Node:
        func = node.func
        self._note_call(node, func)
        lowered = _EXPRESSIONS[type(func)](self, func)
        if type(lowered) is ir.Attr and lowered.name == "format" and type(lowered.value) is ir.Literal:
            lowered = ir.Attr(_abridge_format(func), lowered.name, lowered.at)
        args = tuple([_EXPRESSIONS[type(arg)](self, arg) for arg in node.args])
        keywords = tuple([(k.arg or "", _EXPRESSIONS[type(k.value)](self, k.value)) for k in node.keywords])
        literals = [k.value for k, (_, value) in zip(node.keywords, keywords, strict=True) if type(value) in _LITERALS]
        return ir.Call(
            lowered,
            args,
            keywords,
            self.at(node),
            tuple([self.at(literal) for literal in literals]) if literals else (),
        )

    def _note_call(self, node: ast.Call, func: ast.expr) -> None:
        """Record what a call shows of the current function's parameters, and attributes that it registers."""
        scope = self.scope
        if scope.uses and node.args:
            note_passed(node.args, func, scope)
        if type(func) is ast.Attribute:
            scope.calls.add(func.attr)
            if func.attr in _ADDING and _is_search_path(func.value):
                self.searched = True
            registers = func.attr in _REGISTRARS and bool(node.args)
            if registers and type(func.value) is ast.Name and func.value.id == scope.receiver:
                _add_string(scope.stores, node.args[0])
        elif type(func) is ast.Name:
            scope.calls.add(func.id)
            if func.id == "setattr" and len(node.args) == 3:
                first = node.args[0]
                if type(first) is ast.Name and first.id == scope.receiver:
                    _add_string(scope.stores, node.args[1])

    def _note_item(self, holder: ast.expr) -> None:
        """Record that the body puts an item into what its receiver keeps under a name: with that it stores under the name."""
        if type(holder) is ast.Attribute and type(holder.value) is ast.Name and holder.value.id == self.scope.receiver:
            self.scope.stores.add(holder.attr)

    def subscript(self, node: ast.Subscript) -> ir.Node:
        value = node.value
        if type(node.ctx) is not ast.Load:
            self._note_item(value)
        if self.scope.uses:
            note_index(value, node.slice, self.scope)
        if type(value) is ast.Name and value.id in self.scope.uses and _array_index(node.slice):
            self.scope.uses[value.id].add("[,]")
            self.scope.uses[value.id].update(f"[{axis}]" for axis in _new_axes(node.slice))
        return ir.Sub(self.expr(value), self.expr(node.slice), self.at(node))

    def slice(self, node: ast.Slice) -> ir.Node:
        return ir.Slice(self.maybe(node.lower), self.maybe(node.upper), self.maybe(node.step))

    def binary(self, node: ast.BinOp) -> ir.Node:
        scope = self.scope
        if scope.uses:
            for side in (node.left, node.right):
                if type(side) is ast.Name and side.id in scope.uses:
                    scope.uses[side.id].add("op")
        return ir.Bin(_OPERATORS[type(node.op)], self.expr(node.left), self.expr(node.right), self.at(node))

    def unary(self, node: ast.UnaryOp) -> ir.Node:
        operand = node.operand
        if type(node.op) is ast.Invert and self.scope.uses:
            note_used(operand, self.scope)
        if type(node.op) is ast.Not:
            return ir.Not(self.expr(operand), self.at(node))
        if type(operand) is ast.Constant and type(node.op) is ast.USub and type(operand.value) in (int, float):
            return self.constant(ast.Constant(-operand.value))  # type: ignore[operator]
        return ir.Unary(_OPERATORS[type(node.op)], self.expr(operand), self.at(node))

    def boolean(self, node: ast.BoolOp) -> ir.Node:
        return ir.Bool(type(node.op) is ast.And, self.exprs(node.values), self.at(node))

    def compare(self, node: ast.Compare) -> ir.Node:
        ops = tuple([_OPERATORS[type(op)] for op in node.ops])
        if self.scope.uses:
            note_dtype(node, self.scope)
        return ir.Compare(self.expr(node.left), ops, self.exprs(node.comparators), self.at(node))

    def ternary(self, node: ast.IfExp) -> ir.Node:
        return ir.IfExp(self.expr(node.test), self.expr(node.body), self.expr(node.orelse), self.at(node))

    def display(self, node: Any) -> ir.Node:
        return ir.Display(type(node).__name__.lower(), self.exprs(node.elts), self.at(node))

    def dict_display(self, node: ast.Dict) -> ir.Node:
        return ir.DictDisplay(tuple([self.maybe(key) for key in node.keys]), self.exprs(node.values), self.at(node))

    def comprehension(self, node: Any) -> ir.Node:
        if self.scope.uses:
            for generator in node.generators:
                note_elements(generator.target, generator.iter, self.scope)
        generators = tuple(
            ir.Generator(self.expr(g.target), self.expr(g.iter), self.exprs(g.ifs)) for g in node.generators
        )
        if type(node) is ast.DictComp:
            return ir.Comprehension("dict", self.expr(node.key), self.expr(node.value), generators, self.at(node))
        kind = {ast.ListComp: "list", ast.SetComp: "set"}.get(type(node), "generator")
        return ir.Comprehension(kind, None, self.expr(node.elt), generators, self.at(node))

    def lambda_(self, node: ast.Lambda) -> ir.Node:
        at, before = self.at(node), self.begin(node)
        index = self._function(
            "<lambda>", node, node.args, None, (), lambda: (ir.Return(self.expr(node.body), self.start(node.body)),)
        )
        self.base = before
        return ir.Lambda(index - self.origin, at)

    def format(self, node: Any) -> ir.Node:
        values: list[ir.Node] = []
        for part in node.values:
            if not isinstance(part, ast.Constant):
                self.narrow(part.value)
                values.append(self.expr(part.value))
                if part.format_spec is not None and part.format_spec.values:
                    nested = self.format(part.format_spec)
                    values.extend(nested.values if type(nested) is ir.Format else ())
        specified = any(getattr(part, "format_spec", None) is not None for part in node.values)
        first = node.values[0] if node.values else None
        head = first.value[:_HEAD] if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
        return ir.Format(tuple(values), self.at(node), specified, head)

    def narrow(self, node: ast.expr) -> None:
        """Take the braces of a formatted string from the extent of a tuple without parentheses, which it has before Python 3.12."""
        if type(node) is not ast.Tuple or node.end_lineno is None or node.end_col_offset is None:
            return
        first, last = self.starts[node.lineno] + node.col_offset, self.starts[node.end_lineno] + node.end_col_offset
        if self.data[first : first + 1] == b"{":
            inner = self.data[first + 1 : last - 1]
            node.col_offset += 1 + len(inner) - len(inner.lstrip(b" "))
            node.end_col_offset -= 1 + len(inner) - len(inner.rstrip(b" "))

    def star(self, node: ast.Starred) -> ir.Node:
        return ir.Star(self.expr(node.value))

    def yield_(self, node: ast.Yield) -> ir.Node:
        self.scope.is_generator = True
        return ir.Yield(self.maybe(node.value), delegates=False)

    def yield_from(self, node: ast.YieldFrom) -> ir.Node:
        self.scope.is_generator = True
        return ir.Yield(self.expr(node.value), delegates=True)

    def await_(self, node: ast.Await) -> ir.Node:
        return ir.Await(self.expr(node.value))

    def walrus(self, node: ast.NamedExpr) -> ir.Node:
        self.scope.bound.add(node.target.id)
        value = self.expr(node.value)
        lesson = self.lessons.find_named(node.target.id, node.target.lineno) if self.lessons is not None else None
        return ir.Walrus(node.target.id, value if lesson is None else ir.Hinted(lesson.kind, value, lesson.name))

    def annotation(self, node: ast.expr | None) -> ir.Node | None:
        """An annotation, with forward references (strings) parsed."""
        if node is None:
            return None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                parsed = ast.parse(node.value.strip(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError):
                return ir.Literal("str")
            for inner in ast.walk(parsed):
                if "lineno" in inner._attributes:
                    ast.copy_location(inner, node)
            return self.expr(parsed)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Constant, ast.Tuple)):
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            lowered = tuple(item for item in map(self.annotation, items) if item is not None)
            index = (
                ir.Display("tuple", lowered, self.at(node.slice)) if isinstance(node.slice, ast.Tuple) else lowered[0]
            )
            return ir.Sub(self.expr(node.value), index, self.at(node))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            left, right = self.annotation(node.left), self.annotation(node.right)
            return ir.Bin("|", left or ir.Const(None), right or ir.Const(None), self.at(node))
        return self.expr(node)

    # ----------------------------------------------------------------------------------------- statements

    def block(self, nodes: Iterable[ast.stmt]) -> tuple[ir.Statement, ...]:
        lowered: list[ir.Statement] = []
        for node in nodes:
            statement = _STATEMENTS[type(node)](self, node)
            if statement is not None:
                lowered.append(statement)
            if self.lessons is not None:
                lowered += self._taught_after(node)
        return tuple(lowered)

    def definitions(
        self, nodes: Iterable[ast.stmt], outermost: bool = False
    ) -> tuple[tuple[ir.Statement, ...], tuple[int, ...]]:
        """The statements of a module (`outermost`) or class, each with positions of its own, and where each begins."""
        lowered: list[ir.Statement] = []
        starts: list[int] = []
        for node in nodes:
            before = self.begin(node)
            scope, origin, guards = self.scope, self.origin, self.guards
            try:
                statement = _STATEMENTS[type(node)](self, node)
            except RecursionError:
                statement = ir.TooDeep()
                self.scope, self.origin, self.guards = scope, origin, guards
            if statement is not None:
                lowered.append(statement)
            if self.lessons is not None:
                lowered += self._taught_after(node)
            starts += [self.base & 0xFFFFFFFF] * (len(lowered) - len(starts))
            if outermost:
                self.before = len(lowered)
            self.base = before
        return tuple(lowered), tuple(starts)

    def _value(self, node: Any, value: ast.expr, targets: Sequence[ast.expr]) -> ir.Node:
        """The assigned value, wrapped where a comment teaches its kind."""
        lowered = self.expr(value)
        if self.lessons is not None:
            name = spell_dotted(targets[0]) if len(targets) == 1 else ""
            lesson = self.lessons.of(name, node.lineno, node.end_lineno)
            if lesson is not None:
                return ir.Hinted(lesson.kind, lowered, lesson.name)
        return lowered

    def _taught_after(self, node: ast.stmt) -> list[ir.Statement]:
        """For names that a comment lists among others that an assignment binds: `a, b = f()` and then `a = <taught> a`."""
        if isinstance(node, ast.Assign) and (len(node.targets) > 1 or type(node.targets[0]) in (ast.Tuple, ast.List)):
            return [statement for target in node.targets for statement in self._taught_again(target)]
        return self._taught_again(node.target) if isinstance(node, ast.AugAssign) else []

    def _taught_again(self, target: ast.expr | None) -> list[ir.Statement]:
        """Assignments of the names of a target to themselves, as comments teach of them."""
        if self.lessons is None or target is None:
            return []
        if isinstance(target, (ast.Tuple, ast.List)):
            return [statement for item in target.elts for statement in self._taught_again(item)]
        if isinstance(target, ast.Starred):
            return self._taught_again(target.value)
        lesson = self.lessons.find_named(spell_dotted(target), target.lineno)
        if lesson is None:
            return []
        loaded: ast.expr = target
        if isinstance(target, ast.Name):
            loaded = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        elif isinstance(target, ast.Attribute):
            loaded = ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
        value = ir.Hinted(lesson.kind, self.expr(loaded), lesson.name)
        return [ir.Assign((self.expr(target),), value, self.start(target))]

    def eval(self, node: ast.Expr) -> ir.Statement | None:
        if type(node.value) is ast.Constant:
            return None
        return ir.Eval(self.expr(node.value), self.start(node))

    def assign(self, node: ast.Assign) -> ir.Statement:
        value = self._value(node, node.value, node.targets)
        if self.scope.uses and len(node.targets) == 1:
            note_assigned(node.targets[0], node.value, self.scope)
            note_held(node.targets[0], node.value, self.scope)
            self._end_uses(node.targets[0], node.value)
        return ir.Assign(self.exprs(node.targets), value, self.start(node))

    def _end_uses(self, target: ast.expr, value: ast.expr) -> None:
        """Count no later use of a name as one of its parameter, where it is given another value for good: `flag = torch.empty(0)`."""
        if type(target) is not ast.Name or target.id not in self.scope.uses or self.guards:
            return
        if not any(type(one) is ast.Name and one.id == target.id for one in ast.walk(value)):
            self.scope.end_uses(target.id)

    def aug_assign(self, node: ast.AugAssign) -> ir.Statement:
        target = self.expr(node.target)
        if type(target) is ir.Name:
            self.scope.loaded.add(target.id)
        return ir.AugAssign(target, _OPERATORS[type(node.op)], self.expr(node.value), self.start(node), self.at(node))

    def ann_assign(self, node: ast.AnnAssign) -> ir.Statement:
        value = None if node.value is None else self._value(node, node.value, [node.target])
        annotation = self.annotation(node.annotation) or ir.Const(None)
        return ir.AnnAssign(self.expr(node.target), annotation, value, self.start(node))

    def return_(self, node: ast.Return) -> ir.Statement:
        return ir.Return(self.maybe(node.value), self.start(node))

    def if_(self, node: ast.If) -> ir.Statement:
        test = self.expr(node.test)
        # What a module defines anew where it is the script, nobody imports.
        imported = dict(self.defs) if asks_for_script(test) else {}
        self.guards += 1
        lowered = ir.If(test, self.block(node.body), self.block(node.orelse), self.start(node))
        self.guards -= 1
        self.defs |= imported
        return lowered

    def while_(self, node: ast.While) -> ir.Statement:
        test = self.expr(node.test)
        return ir.While(test, self.block(node.body), self.block(node.orelse), self.start(node))

    def for_(self, node: Any) -> ir.Statement:
        iterable = self.expr(node.iter)
        if self.scope.uses:
            note_elements(node.target, node.iter, self.scope)
        target, taught = self.expr(node.target), self._taught_again(node.target)
        body = (*taught, *self.block(node.body))
        return ir.For(target, iterable, body, self.block(node.orelse), self.start(node))

    def with_(self, node: Any) -> ir.Statement:
        items = tuple((self.expr(item.context_expr), self.maybe(item.optional_vars)) for item in node.items)
        taught = [statement for item in node.items for statement in self._taught_again(item.optional_vars)]
        return ir.With(items, (*taught, *self.block(node.body)), self.start(node))

    def try_(self, node: Any) -> ir.Statement:
        self.guards += 1
        body, imported = self.block(node.body), _imported_packages(node.body)
        handlers = []
        for handler in node.handlers:
            if handler.name:
                self.scope.bound.add(handler.name)
            kind = self.maybe(handler.type)
            missing = imported if _catches_missing(handler.type) else ()
            handlers.append(ir.Handler(kind, handler.name, self.block(handler.body), missing))
        self.guards -= 1
        return ir.Try(body, tuple(handlers), self.block(node.orelse), self.block(node.finalbody), self.start(node))

    def raise_(self, node: ast.Raise) -> ir.Statement:
        return ir.Raise(self.maybe(node.exc), self.start(node))

    def assert_(self, node: ast.Assert) -> ir.Statement:
        return ir.Assert(self.expr(node.test), self.maybe(node.msg), self.start(node))

    def delete(self, node: ast.Delete) -> ir.Statement:
        return ir.Delete(self.exprs(node.targets))

    def outer(self, node: ast.Global | ast.Nonlocal) -> ir.Statement:
        if type(node) is ast.Global:
            self.rebound.update(node.names)
        return ir.Outer(tuple(node.names))

    def jump(self, node: ast.Break | ast.Continue) -> ir.Statement:
        return ir.Jump(type(node) is ast.Break)

    def nothing(self, _: ast.stmt) -> None:
        return None

    def type_alias(self, node: Any) -> ir.Statement:
        return ir.Assign((self.expr(node.name),), ir.Literal("type"), self.start(node))

    def import_(self, node: ast.Import) -> ir.Statement | None:
        return self._bind_imports(
            ir.Binding(alias.asname, alias.name, "", 0, self.guards > 0, self._place())
            if alias.asname
            else ir.Binding(
                alias.name.partition(".")[0], alias.name.partition(".")[0], "", 0, self.guards > 0, self._place()
            )
            for alias in node.names
        )

    def import_from(self, node: ast.ImportFrom) -> ir.Statement | None:
        module, level = node.module or "", node.level or 0
        return self._bind_imports(
            ir.Binding(
                alias.asname or alias.name,
                module,
                "" if alias.name == "*" else alias.name,
                level,
                self.guards > 0,
                self._place(),
            )
            for alias in node.names
        )

    def _place(self) -> int:
        """How many statements of module level stand in front of an import there."""
        return self.before if self.scope is self.module else 0

    def _bind_imports(self, bindings: Iterable[ir.Binding]) -> ir.Statement | None:
        found = tuple(bindings)
        self.scope.bound.update(binding.local for binding in found)
        if self.scope is self.module:
            self.imports.extend(found)
            return None
        return ir.Import(found)

    def match(self, node: Any) -> ir.Statement:
        subject = self.expr(node.subject)
        cases = []
        for case in node.cases:
            names, compares = _pattern(case.pattern)
            self.scope.bound.update(names)
            cases.append(ir.Case(names, compares, self.maybe(case.guard), self.block(case.body)))
        return ir.Match(subject, tuple(cases), self.start(node))

    # -------------------------------------------------------------------------------- functions and classes

    def define(self, node: Any) -> ir.Statement:
        self.scope.bound.add(node.name)
        before = self.begin(node)
        decorators = self.exprs(node.decorator_list)
        returns = self.annotation(node.returns)
        index = self._function(node.name, node, node.args, returns, decorators, lambda: self.block(node.body))
        self.base = before
        if self.scope is self.module:
            self.defs[node.name] = index
        elif self.scope.class_methods is not None and not _is_accessor(node):
            self.scope.class_methods[node.name] = index
        return ir.Define(node.name, index - self.origin)

    def _function(
        self,
        name: str,
        node: Any,
        arguments: ast.arguments,
        returns: ir.Node | None,
        decorators: tuple[ir.Node, ...],
        body: Callable[[], tuple[ir.Statement, ...]],
    ) -> int:
        outer, origin, guards = self.scope, self.origin, self.guards
        index = len(self.functions)
        scope = Scope(outer, index, name)
        self.functions.append(scope)
        self.origin = 0  # defaults are evaluated by themselves
        params = list(self._params(arguments))
        self.scope, self.origin = scope, index
        scope.enter([param[0] for param in params])
        try:
            scope.body = encode_body(body())
        except RecursionError:
            scope.body = encode_body((ir.TooDeep(),))
        finally:
            self.scope, self.origin, self.guards = outer, origin, guards
        scope.describe(node, self.base & 0xFFFFFFFF, returns, decorators, params)
        return index

    def _params(self, arguments: ast.arguments) -> Iterable[tuple[str, str, ir.Node | None, ir.Node | None]]:
        """(name, kind, annotation, default) of each parameter, lowered in the scope that holds the function."""
        plain = [(arg, "/") for arg in arguments.posonlyargs] + [(arg, "") for arg in arguments.args]
        missing = len(plain) - len(arguments.defaults)
        for position, (arg, kind) in enumerate(plain):
            default = self.maybe(arguments.defaults[position - missing]) if position >= missing else None
            yield arg.arg, kind, self._param_annotation(arg), default
        if arguments.vararg is not None:
            yield arguments.vararg.arg, "*", self._param_annotation(arguments.vararg), None
        for arg, default_node in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            yield arg.arg, "k", self._param_annotation(arg), self.maybe(default_node)
        if arguments.kwarg is not None:
            yield arguments.kwarg.arg, "**", self._param_annotation(arguments.kwarg), None

    def _param_annotation(self, arg: ast.arg) -> ir.Node | None:
        lesson = self.lessons.of(arg.arg, arg.lineno, arg.lineno) if self.lessons is not None else None
        if lesson is not None:
            return ir.Hinted(lesson.kind, ir.Const(None), lesson.name)
        return self.annotation(arg.annotation)

    def class_(self, node: ast.ClassDef) -> ir.Statement:
        outer, origin, before = self.scope, self.origin, self.begin(node)
        outer.bound.add(node.name)
        index = len(self.classes)
        self.classes.append(None)
        decorators, bases = self.exprs(node.decorator_list), self.exprs(node.bases)
        keywords = tuple((k.arg or "", self.expr(k.value)) for k in node.keywords)
        scope = Scope(outer, -1, node.name, index)
        self.scope, self.origin = scope, 0
        try:
            body = encode_statements(self.definitions(node.body)[0])
        finally:
            self.scope, self.origin, self.base = outer, origin, before
        methods = scope.class_methods or {}
        self.classes[index] = ir.Class(
            node.name, scope.qualname, node.lineno, outer.enclosing, bases, keywords, decorators, methods, body
        )
        if outer is self.module:
            self.defs[node.name] = -1 - index
        return ir.DefineClass(node.name, index)


def asks_for_script(test: ir.Node) -> bool:
    """Return whether a condition is `__name__ == "__main__"`."""
    if type(test) is not ir.Compare or test.ops != ("==",):
        return False
    sides = (test.left, *test.rights)
    return ir.Const("__main__") in sides and any(type(one) is ir.Name and one.id == "__name__" for one in sides)


def encode_statements(body: tuple[ir.Statement, ...]) -> bytes:
    """Encode a module's or a class's statements; each that is nested too deeply for it is left out as such."""
    try:
        return encode_body(body)
    except RecursionError:
        return encode_body(tuple(map(_encodable, body)))


def _encodable(statement: ir.Statement) -> ir.Statement:
    try:
        encode_body((statement,))
    except RecursionError:
        return ir.TooDeep()
    return statement


def _imported_packages(body: list[ast.stmt]) -> tuple[str, ...]:
    """Return the top-level packages that statements of a block import."""
    named = [alias.name for one in body if isinstance(one, ast.Import) for alias in one.names]
    named += [one.module or "" for one in body if isinstance(one, ast.ImportFrom) and not one.level]
    return tuple(sorted({name.partition(".")[0] for name in named}))


_MISSING: Final = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))


def _catches_missing(kind: ast.expr | None) -> bool:
    """Return whether an `except` clause catches that a module cannot be imported."""
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return kind is None or any(isinstance(one, ast.Name) and one.id in _MISSING for one in kinds)


def _is_accessor(node: Any) -> bool:
    """Return whether a method only sets or deletes a property: its getter is what reading the name runs."""
    return any(isinstance(d, ast.Attribute) and d.attr in ("setter", "deleter") for d in node.decorator_list)


def _abridge_format(func: ast.expr) -> ir.Node:
    """Lower a text that is too long to be kept, of which `format` is called: the fields that are filled in remain."""
    text = func.value.value if type(func) is ast.Attribute and type(func.value) is ast.Constant else None
    return ir.Const("".join(_FIELDS.findall(text))) if type(text) is str else ir.Literal("str")


def _is_search_path(node: ast.expr) -> bool:
    return (
        type(node) is ast.Attribute and node.attr == "path" and type(node.value) is ast.Name and node.value.id == "sys"
    )


def _add_string(names: set[str], node: ast.expr) -> None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        names.add(node.value)


def _array_index(node: ast.expr) -> bool:
    """Return whether only arrays take such an index: a tuple that holds a slice, an ellipsis or None."""
    if type(node) is not ast.Tuple:
        return type(node) is ast.Constant and (node.value is None or node.value is ...)
    return any(
        type(item) is ast.Slice or (type(item) is ast.Constant and (item.value is None or item.value is ...))
        for item in node.elts
    )


def _new_axes(node: ast.expr) -> list[str]:
    """How an index spells the new axes in it: whose `newaxis` tells whose array."""
    items = node.elts if type(node) is ast.Tuple else [node]
    return [spell_dotted(item) for item in items if type(item) is ast.Attribute and item.attr == "newaxis"]


def _pattern(pattern: ast.AST) -> tuple[tuple[str, ...], bool]:
    names: list[str] = []
    compares = False
    for node in ast.walk(pattern):
        if isinstance(node, ast.MatchValue):
            compares = True
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            names.append(name)
    return tuple(names), compares


_EXPRESSIONS: Final[dict[type[ast.AST], Callable[[Lowerer, Any], ir.Node]]] = {
    ast.Constant: Lowerer.constant,
    ast.Name: Lowerer.name,
    ast.Attribute: Lowerer.attribute,
    ast.Call: Lowerer.call,
    ast.Subscript: Lowerer.subscript,
    ast.Slice: Lowerer.slice,
    ast.BinOp: Lowerer.binary,
    ast.UnaryOp: Lowerer.unary,
    ast.BoolOp: Lowerer.boolean,
    ast.Compare: Lowerer.compare,
    ast.IfExp: Lowerer.ternary,
    ast.List: Lowerer.display,
    ast.Tuple: Lowerer.display,
    ast.Set: Lowerer.display,
    ast.Dict: Lowerer.dict_display,
    ast.ListComp: Lowerer.comprehension,
    ast.SetComp: Lowerer.comprehension,
    ast.GeneratorExp: Lowerer.comprehension,
    ast.DictComp: Lowerer.comprehension,
    ast.Lambda: Lowerer.lambda_,
    ast.JoinedStr: Lowerer.format,
    ast.Starred: Lowerer.star,
    ast.Yield: Lowerer.yield_,
    ast.YieldFrom: Lowerer.yield_from,
    ast.Await: Lowerer.await_,
    ast.NamedExpr: Lowerer.walrus,
}

_STATEMENTS: Final[dict[type[ast.AST], Callable[[Lowerer, Any], ir.Statement | None]]] = {
    ast.Expr: Lowerer.eval,
    ast.Assign: Lowerer.assign,
    ast.AugAssign: Lowerer.aug_assign,
    ast.AnnAssign: Lowerer.ann_assign,
    ast.Return: Lowerer.return_,
    ast.If: Lowerer.if_,
    ast.While: Lowerer.while_,
    ast.For: Lowerer.for_,
    ast.AsyncFor: Lowerer.for_,
    ast.With: Lowerer.with_,
    ast.AsyncWith: Lowerer.with_,
    ast.Try: Lowerer.try_,
    ast.Raise: Lowerer.raise_,
    ast.Assert: Lowerer.assert_,
    ast.Delete: Lowerer.delete,
    ast.Global: Lowerer.outer,
    ast.Nonlocal: Lowerer.outer,
    ast.Break: Lowerer.jump,
    ast.Continue: Lowerer.jump,
    ast.Pass: Lowerer.nothing,
    ast.FunctionDef: Lowerer.define,
    ast.AsyncFunctionDef: Lowerer.define,
    ast.ClassDef: Lowerer.class_,
    ast.Import: Lowerer.import_,
    ast.ImportFrom: Lowerer.import_from,
    ast.Match: Lowerer.match,
}

for _name, _method in (("TryStar", Lowerer.try_), ("TypeAlias", Lowerer.type_alias)):
    if hasattr(ast, _name):
        _STATEMENTS[getattr(ast, _name)] = _method
if hasattr(ast, "TemplateStr"):
    _EXPRESSIONS[ast.TemplateStr] = Lowerer.format
