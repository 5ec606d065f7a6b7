"""Answers for a missing finding: what on a line would be a hazard if a value were a tensor's, and why it is none."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from xlalint.abstract.values import NEVER, UNKNOWN, Tensor, Value, members, tensors
from xlalint.explain.model import Question, Silence, Verdict
from xlalint.explain.origins import Origins
from xlalint.explain.scope import Scope
from xlalint.explain.wording import Wording

_READS = frozenset(("item", "tolist", "numpy", "cpu", "to_py", "nonzero", "unique", "masked_select"))
_BUILTINS = frozenset(
    ("int", "float", "bool", "complex", "range", "min", "max", "sorted", "any", "all", "sum", "print", "len", "str")
)
_LONGEST = 60


class _Asked(NamedTuple):
    """Names what is asked (in words), and of which expression."""

    what: str
    node: ast.expr


class Questions:
    """The questions that a scope's site asks of its values."""

    def __init__(self, scope: Scope, wording: Wording, origins: Origins) -> None:
        self.scope = scope
        self.text = scope.text
        self.wording = wording
        self.origins = origins

    def tell(self, verdicts: Sequence[Verdict]) -> Iterator[Question]:
        """The questions that no verdict speaks of, each with its answer."""
        told: set[str] = set()
        for asked in self._find_questions():
            start, end = self.text.start(asked.node), self.text.end(asked.node)
            place, behind = self.text.location(start), self.text.location(end)
            answered = any(verdict.location <= place and behind <= verdict.end_location for verdict in verdicts)
            if self.scope.site.covers(start, end) and not answered:
                silence, said = self._answer(asked)
                if said not in told:
                    told.add(said)
                    yield Question(silence, self.text.code(asked.node, _LONGEST), place, behind, said)

    def _find_questions(self) -> Iterator[_Asked]:
        statement = self.scope.site.statement
        if isinstance(statement, (ast.If, ast.While, ast.Assert)):
            word = type(statement).__name__.lower()
            yield from (_Asked(f"`{word}` tests the truth of", part) for part in _operands(statement.test))
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            yield _Asked("`for` iterates over", statement.iter)
        for node in self.scope.site.expressions:
            yield from _of_expression(node, self.text.parents.get(node))

    def _answer(self, asked: _Asked) -> tuple[Silence, str]:
        value = self.scope.value(asked.node)
        said = f"{asked.what} `{self.text.code(asked.node, _LONGEST)}`"
        if value is None or value is NEVER:
            return "unreached", f"{said}, which the analysed calls never reach"
        kind = self.wording.text(value)
        if any(isinstance(member, Tensor) for member in members(value)):
            return "no-rule", f"{said}: {kind}; no rule has a case for that here"
        if UNKNOWN in members(value):
            because = self._because(asked.node)
            return "unknown-value", f"{said}: {kind}{because}; nothing is reported of what is not known"
        if next(iter(tensors(value)), None) is not None and not _truth_known(value):
            return "no-rule", f"{said}: {kind}; its own truth and length are the host's"
        return "host-value", f"{said}: {kind}{self._because(asked.node)}"

    def _because(self, node: ast.expr) -> str:
        """The one fact that says most of why a value is what it is."""
        found = self.origins.of(node)
        telling = [origin for origin in found if origin.cause not in ("assignment", "operation", "literal")]
        fact = next(iter(telling or [one for one in found if one.cause == "operation"]), None)
        if fact is None:
            return ""
        place = (
            f", {self.text.describe_rows(fact.row)}"
            if fact.row and fact.filename == self.text.source.path and "line" not in fact.text
            else ""
        )
        return f" ({fact.text}{place})"


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    """The parts of a condition whose truth Python asks for."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _operands(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _operands(test.operand)
    else:
        yield test


def _of_expression(node: ast.expr, parent: ast.AST | None) -> Iterator[_Asked]:
    if isinstance(node, ast.IfExp):
        yield from (_Asked("`… if … else …` tests the truth of", part) for part in _operands(node.test))
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        for generator in node.generators:
            yield from (
                _Asked("the filter tests the truth of", part) for one in generator.ifs for part in _operands(one)
            )
    elif isinstance(node, ast.BoolOp) and not isinstance(
        parent, (ast.If, ast.While, ast.Assert, ast.BoolOp, ast.IfExp)
    ):
        yield from (
            _Asked(f"`{'and' if isinstance(node.op, ast.And) else 'or'}` tests the truth of", v)
            for v in node.values[:-1]
        )
    elif (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.Not)
        and isinstance(parent, (ast.Assign, ast.Return, ast.keyword))
    ):
        yield _Asked("`not` tests the truth of", node.operand)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Load, ast.Store)):
        yield from (_Asked("indexing takes", index) for index in _indexes(node.slice))
    elif isinstance(node, ast.Call):
        yield from _of_call(node)


def _of_call(node: ast.Call) -> Iterator[_Asked]:
    func = node.func
    if isinstance(func, ast.Attribute) and func.attr in _READS:
        yield _Asked(f"`.{func.attr}()` reads", func.value)
    elif isinstance(func, ast.Name) and func.id in _BUILTINS:
        yield from (
            _Asked(f"`{func.id}` takes", arg) for arg in node.args if not isinstance(arg, (ast.Starred, ast.Constant))
        )


def _indexes(index: ast.expr) -> Iterator[ast.expr]:
    """The parts of an index that may be tensors."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    for part in parts:
        bounds = [part.lower, part.upper, part.step] if isinstance(part, ast.Slice) else [part]
        for bound in bounds:
            if bound is not None and not isinstance(bound, (ast.Constant, ast.Starred, ast.UnaryOp)):
                yield bound


def _truth_known(value: Value) -> bool:
    return any(isinstance(member, Tensor) for member in members(value))
