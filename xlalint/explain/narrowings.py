"""Why a value is known better than its assignment says: the condition around or before it that narrows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from xlalint.abstract.lattice import join_all
from xlalint.abstract.values import Value
from xlalint.explain.definitions import dotted_name
from xlalint.explain.model import Origin
from xlalint.explain.place import Text
from xlalint.explain.scope import Scope
from xlalint.explain.wording import Wording


class NarrowingFacts:
    """Finds the conditions that hold where an expression of one scope stands."""

    def __init__(self, scope: Scope, wording: Wording) -> None:
        self.scope = scope
        self.text = scope.text
        self.wording = wording

    def of(self, node: ast.expr) -> Origin | None:
        """The condition that says more of a value than its assignment does."""
        path = dotted_name(node)
        value = self.scope.value(node)
        if not path or value is None:
            return None
        known = self._as_assigned(node, path)
        if known is None or known is value:
            return None
        for test in self._conditions(node):
            if any(dotted_name(part) == path for part in ast.walk(test) if isinstance(part, ast.expr)):
                if self.text.start(test) <= self.text.start(node) < self.text.end(test) and not _chained(
                    self.text, node, test
                ):
                    continue
                said = f"narrowed by `{self.text.code(test)}` from {self.wording.text(known)}"
                return Origin("narrowing", said, 0, self.text.source.path, test.lineno)
        return None

    def _as_assigned(self, node: ast.expr, path: str) -> Value | None:
        found = self.scope.before(node).get(path)
        if not found:
            return None
        values: list[Value] = []
        for definition in found:
            if definition.how == "param":
                values += self.scope.parameter(path)
                continue
            targets = [n for n in ast.walk(definition.node) if isinstance(n, ast.expr) and dotted_name(n) == path]
            stored = [n for n in targets if isinstance(getattr(n, "ctx", None), ast.Store)]
            values += [value for target in stored for value in self.scope.values(target)]
        return join_all(values) if values else None

    def _conditions(self, node: ast.expr) -> Iterator[ast.expr]:
        """The conditions that hold (or do not) at a node, the nearest first."""
        inner: ast.AST = node
        for outer in self.text.around(node):
            if isinstance(outer, ast.BoolOp) and inner in outer.values:
                yield from reversed(outer.values[: outer.values.index(inner)])
            elif isinstance(outer, (ast.If, ast.While, ast.IfExp)) and inner is not outer.test:
                yield outer.test
            if isinstance(inner, ast.stmt):
                yield from self._left_before(outer, inner)
            inner = outer

    def _left_before(self, holder: ast.AST, statement: ast.stmt) -> Iterator[ast.expr]:
        """Conditions of earlier statements of a block: of assertions, and of branches that leave or assign."""
        for block in ("body", "orelse", "finalbody"):
            statements = getattr(holder, block, None)
            if isinstance(statements, list) and statement in statements:
                for earlier in reversed(statements[: statements.index(statement)]):
                    if isinstance(earlier, (ast.If, ast.Assert)):
                        yield earlier.test


def _chained(text: Text, node: ast.AST, test: ast.AST) -> bool:
    """Return whether a node follows a test in a chain of `and` or `or`."""
    return any(isinstance(outer, ast.BoolOp) and test in outer.values for outer in text.around(node))
