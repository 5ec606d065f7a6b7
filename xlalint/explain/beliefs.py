"""The expressions at a place that are worth telling, each with what it is and why."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from xlalint.abstract.lattice import join_all
from xlalint.abstract.values import Class, Function, LibrarySymbol, Method, Module, Super, Value, members
from xlalint.explain.model import Belief, Kind, Question, Verdict
from xlalint.explain.origins import Origins
from xlalint.explain.scope import Scope
from xlalint.explain.tracing import Tracing
from xlalint.explain.wording import Wording

_MOST = 14
_LONGEST = 60
_QUIET = (Module, LibrarySymbol, Method, Super, Function, Class)


class Beliefs:
    """Tells the values of one scope's site."""

    def __init__(
        self,
        scope: Scope,
        wording: Wording,
        origins: Origins,
        tracing: Tracing,
        told_of: Iterable[Verdict | Question],
    ) -> None:
        self.scope = scope
        self.text = scope.text
        self.wording = wording
        self.origins = origins
        self._told_of = {(told.location, told.end_location) for told in told_of}
        self.numbers = {id(context): number for number, context in enumerate(tracing.order_contexts(), 1)}

    def tell(self) -> Iterator[Belief]:
        """The beliefs, in order of place; names before the expressions that hold them where one begins with the other."""
        if self.scope.node is self.scope.site.statement and self.scope.site.pointed is None:
            yield from self._parameters()
        told: set[str] = set()
        for node in self._worth_telling():
            code = self.text.code(node, _LONGEST)
            belief = None if code in told else self._belief(node, code)
            if belief is not None:
                told.add(code)
                yield belief
            if len(told) == _MOST:
                return

    # ------------------------------------------------------------------------------------------- what is worth it

    def _worth_telling(self) -> list[ast.expr]:
        site = self.scope.site
        if site.pointed is not None:
            outer = self.text.around(site.pointed)
            holders = [node for node in outer if isinstance(node, ast.expr) and not self._callee(node)]
            inner = [node for node in ast.walk(site.pointed) if self._names(node)]
            shown = [site.pointed, *[holder for holder in holders if holder in site.expressions]]
            return list(dict.fromkeys([*shown, *[node for node in inner if isinstance(node, ast.expr)]]))
        chosen = [node for node in site.expressions if self._names(node) or self._tells(node)]
        return sorted(chosen, key=lambda node: (not self._names(node),))

    def _names(self, node: ast.AST) -> bool:
        """Return whether a node is a name or a dotted path by itself: not the beginning of a longer one, and not what a call calls."""
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return False
        parent = self.text.parents.get(node)
        if isinstance(node, ast.Attribute) and not isinstance(node.value, (ast.Name, ast.Attribute)):
            return not (isinstance(parent, ast.Call) and parent.func is node)
        if isinstance(parent, ast.Attribute):
            called = isinstance(self.text.parents.get(parent), ast.Call) and self._callee(parent)
            return called and not self._quiet(node)
        if isinstance(parent, ast.Call) and parent.func is node:
            return False
        return not self._annotation(node)

    def _callee(self, node: ast.AST) -> bool:
        parent = self.text.parents.get(node)
        return isinstance(parent, ast.Call) and parent.func is node

    def _annotation(self, node: ast.AST) -> bool:
        inner: ast.AST = node
        for outer in self.text.around(node):
            if getattr(outer, "annotation", None) is inner or getattr(outer, "returns", None) is inner:
                return True
            if isinstance(outer, ast.stmt):
                return False
            inner = outer
        return False

    def _quiet(self, node: ast.expr) -> bool:
        """Return whether a name stands for a module, library or class, which is of no interest by itself."""
        value = self.scope.value(node)
        receiver = self.scope.info is not None and self.scope.owner is not None and self._is_receiver(node)
        return receiver or (value is not None and all(isinstance(member, _QUIET) for member in members(value)))

    def _is_receiver(self, node: ast.expr) -> bool:
        params = self.scope.info.params if self.scope.info is not None else ()
        return bool(params) and isinstance(node, ast.Name) and node.id == params[0].name

    def _tells(self, node: ast.expr) -> bool:
        """Return whether an expression that is no name is worth showing: a rule or question is about it, or it is the result."""
        place = self.text.location(self.text.start(node)), self.text.location(self.text.end(node))
        return place in self._told_of or isinstance(self.text.parents.get(node), (ast.Return, ast.Expr))

    # -------------------------------------------------------------------------------------------------- beliefs

    def _belief(self, node: ast.expr, code: str) -> Belief | None:
        each = self.scope.by_context(node, self.scope.believed)
        values = [value for _, value in each] or self.scope.values(node)
        if not values or isinstance(node, ast.Constant):
            return None
        value = join_all(values)
        if self.scope.site.pointed is None and self._quiet(node):
            return None
        return self._make(
            code, self.text.start(node), self.text.end(node), value, [(self.numbers.get(id(c), 0), v) for c, v in each],
            node,
        )  # fmt: skip

    def _make(
        self, code: str, start: int, end: int, value: Value, each: list[tuple[int, Value]], node: ast.expr | str
    ) -> Belief:
        kinds: tuple[Kind, ...] = ()
        numbers: tuple[int, ...] = ()
        if len({id(v) for _, v in each}) > 1:
            each = sorted(each, key=lambda one: one[0])
            numbers = tuple(number for number, _ in each)
            kinds = tuple(self.wording.kind(v) for _, v in each)
        origins = self.origins.of_parameter(node) if isinstance(node, str) else self.origins.of(node)
        place, behind = self.text.location(start), self.text.location(end)
        alternatives = [member for _, one in each for member in members(one)]
        kind = self.wording.describe_alternatives(alternatives, value) if alternatives else self.wording.kind(value)
        return Belief(code, place, behind, kind, origins, numbers, kinds)

    def _parameters(self) -> Iterator[Belief]:
        """The parameters, where a function's header is asked about."""
        function = self.scope.site.statement
        assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        given = {arg.arg: arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)}
        info = self.scope.info
        for position, param in enumerate(info.params if info is not None else ()):
            each = [
                (self.numbers.get(id(context), 0), context.args[position])
                for context, _ in self.scope.believed
                if position < len(context.args)
            ]
            arg = given.get(param.name)
            if not each or arg is None:
                continue
            value = join_all(v for _, v in each)
            start = self.text.start(arg)
            yield self._make(param.name, start, start + len(param.name.encode()), value, each, param.name)
