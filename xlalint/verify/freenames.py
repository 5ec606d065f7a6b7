"""Finds the names that some statements need from outside, and those that they bind, to make a function of them."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Sequence

BUILTINS = frozenset(dir(builtins))
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_MUTATING = ("append", "extend", "insert", "update", "pop", "add", "clear")


def find_needed(statements: Sequence[ast.stmt]) -> list[str]:
    """Find the names that may be read before the statements bind them, in order."""
    found: dict[str, None] = {}
    _block(statements, set(), found)
    return list(found)


def find_bound(statements: Iterable[ast.AST]) -> list[str]:
    """Find the names that statements bind, write into, or change in place, in order; those of inner functions are theirs."""
    found: dict[str, None] = {}
    for one in statements:
        for node in _own(one):
            if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                found[node.id] = None
            elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
                _base(node, found)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found[node.name] = None
            elif isinstance(node, ast.alias):
                found[(node.asname or node.name).partition(".")[0]] = None
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                name = node.func.attr
                if name in _MUTATING or (name.endswith("_") and not name.endswith("__")):
                    _base(node.func, found)
    return list(found)


def _base(node: ast.expr, found: dict[str, None]) -> None:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    if isinstance(node, ast.Name):
        found[node.id] = None


def _own(root: ast.AST) -> Iterable[ast.AST]:
    """A node and what it holds, without the insides of functions, classes and comprehensions."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, _SCOPES) and node is not root:
            continue
        if isinstance(node, _SCOPES):
            return
        inside = ast.iter_child_nodes(node)
        hidden = ast.comprehension if isinstance(node, _COMPREHENSIONS) else ()
        waiting += [child for child in inside if not isinstance(child, hidden)]


def _block(statements: Sequence[ast.stmt], known: set[str], found: dict[str, None]) -> set[str]:
    """Return the names that are surely bound after some statements; add those that they need to `found`."""
    for one in statements:
        known = _statement(one, known, found)
    return known


def _statement(one: ast.stmt, known: set[str], found: dict[str, None]) -> set[str]:
    if isinstance(one, ast.If):
        _reads(one.test, known, found)
        branches = [_block(block, set(known), found) for block in (one.body, one.orelse)]
        ended = [_ends(block) for block in (one.body, one.orelse)]
        left = [names for names, end in zip(branches, ended, strict=True) if not end] or branches
        return set.intersection(*left)
    if isinstance(one, (ast.For, ast.AsyncFor)):
        _reads(one.iter, known, found)
        _block(one.body, known | set(find_bound([one.target])), found)
        _block(one.orelse, set(known), found)
        return known
    if isinstance(one, ast.While):
        _reads(one.test, known, found)
        _block(one.body, set(known), found)
        _block(one.orelse, set(known), found)
        return known
    if isinstance(one, (ast.With, ast.AsyncWith)):
        for item in one.items:
            _reads(item.context_expr, known, found)
            known = known | set(find_bound([item.optional_vars] if item.optional_vars else []))
        return _block(one.body, known, found)
    if isinstance(one, ast.Try):
        _block(one.body, set(known), found)
        for handler in one.handlers:
            _block(handler.body, known | {handler.name or ""}, found)
        _block(one.orelse, set(known), found)
        return _block(one.finalbody, set(known), found)
    if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
        own = {parameter.arg for parameter in _parameters(one.args)}
        for name in find_needed(one.body):
            if name not in own | known | {one.name}:
                found[name] = None
        for other in (*one.decorator_list, *one.args.defaults, *filter(None, one.args.kw_defaults)):
            _reads(other, known, found)
        return known | {one.name}
    if isinstance(one, ast.AugAssign):
        _reads(one.value, known, found)
        for node in ast.walk(one.target):
            if isinstance(node, ast.Name) and node.id not in known:
                found[node.id] = None
        return known
    for child in ast.iter_child_nodes(one):
        _reads(child, known, found)
    return known | set(find_bound([one]))


def _reads(root: ast.AST, known: set[str], found: dict[str, None]) -> None:
    """The names that an expression reads, those of its comprehensions and lambdas apart."""
    if isinstance(root, _COMPREHENSIONS):
        inner = set(known)
        for one in root.generators:
            _reads(one.iter, inner, found)
            inner |= {node.id for node in ast.walk(one.target) if isinstance(node, ast.Name)}
            for test in one.ifs:
                _reads(test, inner, found)
        parts = [root.key, root.value] if isinstance(root, ast.DictComp) else [root.elt]
        for part in parts:
            _reads(part, inner, found)
        return
    if isinstance(root, ast.Lambda):
        _reads(root.body, known | {one.arg for one in _parameters(root.args)}, found)
        return
    if isinstance(root, ast.Name):
        if isinstance(root.ctx, ast.Load) and root.id not in known:
            found[root.id] = None
        return
    for child in ast.iter_child_nodes(root):
        _reads(child, known, found)


def _parameters(told: ast.arguments) -> list[ast.arg]:
    more = [one for one in (told.vararg, told.kwarg) if one is not None]
    return [*told.posonlyargs, *told.args, *told.kwonlyargs, *more]


def _ends(block: Sequence[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))
