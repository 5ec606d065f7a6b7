"""Finds the assignments that may have given a name its value at a statement: reaching definitions over one function's tree.

The interpreter keeps values, not where they came from; this finds the places, and `xlalint.explain.origins` looks up there what was seen.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

Env = dict[str, tuple["Definition", ...]]
_MOST = 64  # bindings of a name that may reach a place


class Definition(NamedTuple):
    """One binding of a name or attribute path: how (`param`, `assign`, `unpack`, `augment`, `for`, `with`, `import`, `def`, `except`,
    `match`), the node that binds, and the expression whose value, or a part of it, is bound.
    """

    how: str
    node: ast.AST
    value: ast.expr | None

    @property
    def row(self) -> int:
        return getattr(self.node, "lineno", 0)


class Definitions:
    """The definitions that reach each statement of a body. `ran` says which statements were found to run at all."""

    def __init__(self, ran: Callable[[ast.stmt], bool] = lambda _: True) -> None:
        self.before: dict[ast.stmt, Env] = {}
        self._ran = ran
        self._exits: list[Env] = []
        self._repeats: list[Env] = []

    def run_function(self, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Definitions:
        """Work out a function's body."""
        given = function.args
        names = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        names += [arg for arg in (given.vararg, given.kwarg) if arg is not None]
        env: Env = {arg.arg: (Definition("param", arg, None),) for arg in names}
        if not isinstance(function, ast.Lambda):
            self._block(function.body, env)
        return self

    def run_body(self, body: Sequence[ast.stmt]) -> Definitions:
        """Work out the body of a module or class."""
        self._block(body, {})
        return self

    def _block(self, body: Iterable[ast.stmt], env: Env) -> Env | None:
        """The environment behind a block; None where control does not get there."""
        here: Env | None = env
        for statement in body:
            if here is None or not self._ran(statement):
                return here
            known = self.before.get(statement)
            self.before[statement] = here if known is None else _merge(known, here)
            here = self._statement(statement, dict(here))
        return here

    def _statement(self, node: ast.stmt, env: Env) -> Env | None:
        for inner in _walrus(node):
            _bind(env, inner.target, Definition("assign", inner, inner.value))
        if isinstance(node, ast.Assign):
            for target in node.targets:
                _assign(env, node, target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            _assign(env, node, node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            _bind(env, node.target, Definition("augment", node, node.value))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                env[alias.asname or alias.name.partition(".")[0]] = (Definition("import", node, None),)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            env[node.name] = (Definition("def", node, None),)
        elif isinstance(node, (ast.Return, ast.Raise)):
            return None
        elif isinstance(node, ast.Break):
            self._exits.append(env)
            return None
        elif isinstance(node, ast.Continue):
            self._repeats.append(env)
            return None
        else:
            return self._compound(node, env)
        return env

    def _compound(self, node: ast.stmt, env: Env) -> Env | None:
        if isinstance(node, ast.If):
            return _either(self._block(node.body, dict(env)), self._block(node.orelse, dict(env)))
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            return self._loop(node, env)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if item.optional_vars is not None:
                    _bind(env, item.optional_vars, Definition("with", item.context_expr, item.context_expr))
            return self._block(node.body, env)
        if isinstance(node, ast.Match):
            ends: Env | None = env
            for case in node.cases:
                inner = dict(env)
                for pattern in ast.walk(case.pattern):
                    name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                    if isinstance(name, str):
                        inner[name] = (Definition("match", node.subject, node.subject),)
                ends = _either(ends, self._block(case.body, inner))
            return ends
        return self._try(node, env) if hasattr(node, "handlers") else env

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, env: Env) -> Env | None:
        outer = self._exits, self._repeats
        self._exits = []
        start = env
        for _ in range(2):
            self._repeats = []
            inner = dict(start)
            if not isinstance(node, ast.While):
                _bind(inner, node.target, Definition("for", node, node.iter))
            turned = self._block(node.body, inner)
            for ended in [*self._repeats, *([turned] if turned is not None else [])]:
                start = _merge(start, ended)
        behind = self._block(node.orelse, dict(start))
        for ended in self._exits:
            behind = _either(behind, ended)
        self._exits, self._repeats = outer
        return behind

    def _try(self, node: ast.stmt, env: Env) -> Env | None:
        body = self._block(getattr(node, "body", ()), dict(env))
        seen = _either(env, body) or env
        ends = self._block(getattr(node, "orelse", ()), body) if body is not None else None
        for handler in getattr(node, "handlers", ()):
            inner = dict(seen)
            if handler.name:
                inner[handler.name] = (Definition("except", handler, None),)
            ends = _either(ends, self._block(handler.body, inner))
        final = getattr(node, "finalbody", ())
        return self._block(final, dict(ends if ends is not None else seen)) if final else ends


def _walrus(node: ast.stmt) -> list[ast.NamedExpr]:
    """The `name := value` in a statement's own expressions."""
    todo: list[ast.AST] = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
    found: list[ast.NamedExpr] = []
    while todo:
        here = todo.pop()
        if isinstance(here, ast.NamedExpr):
            found.append(here)
        todo += [child for child in ast.iter_child_nodes(here) if isinstance(child, (ast.expr, ast.keyword))]
    return found


def _assign(env: Env, node: ast.AST, target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, (ast.Tuple, ast.List)):
        parts: list[ast.expr | None] = [None] * len(target.elts)
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
            parts = [None if isinstance(item, ast.Starred) else item for item in value.elts]
        for inner, part in zip(target.elts, parts, strict=True):
            if part is not None:
                _assign(env, node, inner, part)
            else:
                _bind(env, inner, Definition("unpack", node, value))
    else:
        _bind(env, target, Definition("assign", node, value))


def _bind(env: Env, target: ast.expr, definition: Definition) -> None:
    if isinstance(target, ast.Starred):
        target = target.value
    if isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            _bind(env, item, definition)
        return
    path = dotted_name(target)
    if path:
        for stale in [key for key in env if key.startswith(f"{path}.")]:
            del env[stale]
        env[path] = (definition,)
    elif isinstance(target, ast.Subscript) and (path := dotted_name(target.value)) and path in env:
        # Storing into a container leaves it what it was, and adds to what it holds.
        env[path] = (*env[path], definition)[-4:]


def dotted_name(node: ast.expr) -> str:
    """ "x" or "x.a.b" of names and attribute chains, however long; "" for others."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _merge(a: Env, b: Env) -> Env:
    """Join what two ways leave; of a name that is bound in very many places the last ones are kept, for time to stay linear."""
    merged = dict(a)
    for name, ways in b.items():
        known = a.get(name)
        if known is not ways:
            merged[name] = ways if known is None else tuple(dict.fromkeys((*known, *ways)))[-_MOST:]
    return merged


def _either(a: Env | None, b: Env | None) -> Env | None:
    return b if a is None else a if b is None else _merge(a, b)
