"""The code around a place and what was seen of it: which analysed calls of the function count, and what an expression was in them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cached_property

from xlalint.abstract.lattice import join, join_all
from xlalint.abstract.values import HOST, NEVER, Value, constant, host, members
from xlalint.explain.definitions import Definitions, Env, dotted_name
from xlalint.explain.place import Definition, Site, Text
from xlalint.explain.replay import Replay
from xlalint.interpreter.context import Context
from xlalint.interpreter.recording import Sight, start_of
from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo

Seen = tuple[Context, Sight]


class Scope:
    """The function (None: module level) that holds a site, its contexts, and the values of its expressions.

    `believed` are the contexts that the answer is about: those that traced code reaches; else those that something else calls; else what
    there is. `all` are all of them, believed ones first.
    """

    def __init__(self, text: Text, site: Site, module: ModuleInfo) -> None:
        self.text = text
        self.site = site
        self.module = module
        self.node: Definition | ast.Lambda | None = _function_at(text, site)
        self.info = function_info(module, self.node)
        self.believed: list[Seen] = []
        self.all: list[Seen] = []
        self.base = start_of(self.info)

    def look(self, replay: Replay) -> None:
        """Take in what a replay saw."""
        seen = replay.sights(self.module, self.info)
        tables = replay.in_tables()
        traced = [(c, s) for c, s in seen if replay.reach(c) is not None and not replay.superseded(c)]
        superseded = [(c, s) for c, s in seen if replay.superseded(c)]
        called = [(c, s) for c, s in seen if id(c) not in tables and replay.reach(c) is None]
        # What a table of attributes needed is analysed with few calls followed: the last resort.
        rest = [(c, s) for c, s in seen if id(c) in tables and replay.reach(c) is None]
        groups = [group for group in (traced, superseded, called, rest) if group]
        if self.info is None:
            known = replay.interpreter.module_contexts.get(self.module.index)
            groups = [traced or [(c, s) for c, s in seen if c is known]]
        self.believed = groups[0] if groups else []
        self.all = [one for group in groups for one in group]

    def at(self, node: ast.AST) -> int:
        """The extent of a node as it is known in the function's sights."""
        return self.text.at(node) - self.base

    # ------------------------------------------------------------------------------------------------ values

    def value(self, node: ast.expr) -> Value | None:
        """The join of what an expression was; None where it was never worked out."""
        found = self.values(node)
        return join_all(found) if found else None

    def values(self, node: ast.expr, seen: Iterable[Seen] | None = None) -> list[Value]:
        """List an expression's values, one for each of the contexts that evaluated it."""
        return [value for _, value in self.by_context(node, self.believed if seen is None else seen)]

    def alternatives(self, node: ast.expr) -> list[Value]:
        """All that an expression may be, each once; unlike the join of many calls it forgets nothing."""
        return list(dict.fromkeys(member for value in self.values(node) for member in members(value)))

    def by_context(self, node: ast.expr, seen: Iterable[Seen]) -> list[tuple[Context, Value]]:
        """The contexts that worked an expression out, each with its value there."""
        found = []
        for context, sight in seen:
            value = self._value_in(node, sight)
            if value is not None and value is not NEVER:
                found.append((context, value))
        return found

    def _value_in(self, node: ast.expr, sight: Sight) -> Value | None:
        if isinstance(node, ast.Constant):
            return _literal(node)
        if isinstance(node, ast.NamedExpr):
            return self._value_in(node.value, sight)
        known = sight.values.get(self.at(node))
        if known is not None:
            return known
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return _literal(node.operand)
        return None

    def parameter(self, name: str) -> list[Value]:
        """List a parameter's values, one for each believed context."""
        if self.info is None:
            return []
        position = next((i for i, param in enumerate(self.info.params) if param.name == name), -1)
        return [context.args[position] for context, _ in self.believed if 0 <= position < len(context.args)]

    def truth_of(self, test: ast.expr) -> bool | None:
        """Return a condition's truth, if it is the same in all believed contexts."""
        from xlalint.abstract.lattice import truth

        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.truth_of(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp):
            outcomes = [self.truth_of(operand) for operand in test.values]
            short = isinstance(test.op, ast.Or)
            if short in outcomes:
                return short
            return None if None in outcomes else not short
        value = self.value(test)
        return None if value is None else truth(value)

    # ------------------------------------------------------------------------------------------- definitions

    def ran(self, statement: ast.stmt) -> bool:
        """Return whether a statement was reached in a believed context; True for statements that leave no trace."""
        if isinstance(statement, _UNNOTED) or _is_text(statement) or not self.believed:
            return True
        start = self.text.start(statement) - (self.base & 0xFFFFFFFF)
        return any(start in sight.ran for _, sight in self.believed)

    @cached_property
    def definitions(self) -> Definitions:
        found = Definitions(self.ran)
        if self.node is not None:
            return found.run_function(self.node)
        holder = next(
            (outer for outer in self.text.around(self.site.statement) if isinstance(outer, ast.ClassDef)), None
        )
        return found.run_body(holder.body if holder is not None else self.text.tree.body)

    def before(self, node: ast.AST) -> Env:
        """The definitions that reach the statement of a node."""
        if isinstance(self.node, ast.Lambda):
            return _lambda_env(self.node)
        statement = self.text.statement_of(node)
        return self.definitions.before.get(statement, {}) if statement is not None else {}

    @property
    def owner(self) -> ClassInfo | None:
        return self.info.owner if self.info is not None else None


def function_info(module: ModuleInfo, node: Definition | ast.Lambda | None) -> FunctionInfo | None:
    """The function of the program that a tree's node defines."""
    if node is None:
        return None
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    params = node.args
    given = [arg.arg for arg in [*params.posonlyargs, *params.args]]
    fitting = [info for info in module.functions if info.ir.row == node.lineno and info.name == name]
    exact = [info for info in fitting if [p.name for p in info.params if p.kind in ("", "/")] == given]
    return next(iter(exact or fitting), None)


def _function_at(text: Text, site: Site) -> Definition | ast.Lambda | None:
    """The function that is asked about: the one whose header is pointed at, else the one around."""
    if isinstance(site.statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and site.pointed is None:
        return site.statement
    return text.function_of(site.pointed if site.pointed is not None else site.statement)


_UNNOTED = (
    ast.Pass,
    ast.Break,
    ast.Continue,
    ast.Global,
    ast.Nonlocal,
    ast.Import,
    ast.ImportFrom,
    ast.Delete,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _literal(node: ast.Constant) -> Value:
    value = node.value
    if value is None or isinstance(value, (bool, int, float, str)):
        return constant(value)
    return host(type(value).__name__) if value is not ... else HOST


def _lambda_env(node: ast.Lambda) -> Env:
    from xlalint.explain.definitions import Definition as Binding

    given = node.args
    names = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return {arg.arg: (Binding("param", arg, None),) for arg in names}


__all__ = ["Scope", "Seen", "dotted_name", "function_info", "join"]
