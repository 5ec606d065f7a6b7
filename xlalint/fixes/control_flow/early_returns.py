"""XLA101: `if t: return a` with a `return b` behind it, `elif` chains of such → one `return` of nested choices.

What is computed between the two stays where it is: it ran only where the function had not returned, and now runs always.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Union
from weakref import WeakKeyDictionary

import libcst as cst

from xlalint.abstract.values import Tensor, members
from xlalint.fixes.control_flow.branches import comments_of
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit.conditions import Condition, condition, holder_of, holds_tensor
from xlalint.fixes.toolkit.dataflow import binds, reads
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.gradients import Slopes
from xlalint.fixes.toolkit.selection import Chooser, Side, side_of
from xlalint.fixes.toolkit.shapes import Type, Types, alike
from xlalint.fixes.toolkit.speculation import assignments, assume_computable, speculate
from xlalint.fixes.toolkit.text import Arguments, width_of, write_nested


class Chain(NamedTuple):
    """Values with the conditions under which they are returned, in order; the value that is returned where none of these holds.

    `conditions` are the statements that go, `between` those that stay in front of the last `return`, which is `last` unless the chain ends
    in an `else`.
    """

    cases: tuple[tuple[cst.BaseExpression, cst.BaseExpression], ...]
    otherwise: cst.BaseExpression
    conditions: tuple[cst.If, ...]
    between: tuple[cst.SimpleStatementLine, ...]
    last: cst.SimpleStatementLine | None


def rewrite(site: Site) -> Rewrite | NoFix | None:
    """The chain of returns that the finding stands in as one `return`."""
    scene = site.scene
    node = holder_of(scene, site.node)
    if not isinstance(node, cst.If) or _find_returned(node.body) is None:
        return None
    head = head_of(scene, node)
    known = _known.setdefault(scene, {})
    if (head, site.framework) in known:
        made, introduced = known[head, site.framework]
        scene.introduced |= introduced
        return made
    chain = chain_of(scene, head)
    made = chain if isinstance(chain, NoFix) else _Return(site, head, chain).rewrite()
    known[head, site.framework] = made, frozenset(scene.introduced)
    return made


_known: WeakKeyDictionary[FunctionSource, dict[tuple[cst.If, str], tuple[Union[Rewrite, NoFix], frozenset[str]]]] = (
    WeakKeyDictionary()
)
"""What was made of the chains of a scene, by their first `if`, with the names that it introduced: each condition asks for all of it."""


class _Return:
    """One chain on its way to a `return`."""

    def __init__(self, site: Site, head: cst.If, chain: Chain) -> None:
        self._scene = site.scene
        self._framework = site.framework
        self._head = head
        self._chain = chain
        self._chooser = Chooser(site.scene, head, site.framework)

    def rewrite(self) -> Rewrite | NoFix:
        asked = self._read_conditions()
        if isinstance(asked, NoFix):
            return asked
        static = asked[0].static
        if any(one.static for one in asked) and (len(asked) > 1 or self._chain.last is None or self._chain.between):
            return NoFix("a part of the condition is known on the host: test it first, in an `if` of its own")
        why = self._speculate(asked)
        if why:
            return NoFix(why)
        arguments = self._arguments(asked)
        if isinstance(arguments, NoFix):
            return arguments
        for one in asked:
            self._chooser.assume(one.assumes)
        values = [*(value for _, value in self._chain.cases), self._chain.otherwise]
        self._chooser.copy(self._chain.last or self._head, self._chain.otherwise, values)
        chooser = self._chooser
        replacements = (*self._write(arguments, static), *self._divide_safely(asked), *chooser.imports.needed)
        return Rewrite(f"Use `{chooser.function}`", replacements, all_of(chooser.assumes))

    def _read_conditions(self) -> list[Condition] | NoFix:
        found = []
        for test, _ in self._chain.cases:
            asked = condition(self._scene, test, self._framework, self._chooser.imports)
            if isinstance(asked, NoFix):
                return asked
            found.append(asked)
        return found

    def _speculate(self, asked: Sequence[Condition]) -> str:
        """Why something in the chain may not be computed always; what is assumed of the rest is noted."""
        scene, chain = self._scene, self._chain
        bound = {name for line in chain.between for name in binds(scene, line)}
        moved = {name for test, value in chain.cases for name in (*reads(scene, test), *reads(scene, value))}
        if bound & moved:
            return f"`{min(bound & moved)}` is assigned again after the early return"
        nodes: list[cst.CSTNode] = [node for one in asked[1:] for node in one.tensors]
        nodes += [*(value for _, value in chain.cases), *chain.between, chain.otherwise]
        found = speculate(scene, nodes, self._framework, [test for test, _ in chain.cases])
        self._chooser.assume(assume_computable(found.risks))
        return found.barrier

    def _arguments(self, asked: Sequence[Condition]) -> Arguments | NoFix:
        """The arguments of the outermost `where`, built from the inside out."""
        scene, chain = self._scene, self._chain
        types, slopes = Types(scene, self._framework), Slopes(scene, self._framework)
        taken = [side_of(scene, value, types, slopes) for _, value in chain.cases]
        for line in chain.between:
            for name, value in assignments(line):
                types.assign(name, value)
                slopes.assign(name, value)
        inner = side_of(scene, chain.otherwise, types, slopes)
        made: list[Union[str, Arguments]] = []
        for one, side in zip(reversed(asked), reversed(taken), strict=True):
            chosen = self._chooser.choose(one, side, inner)
            if isinstance(chosen, NoFix):
                return chosen
            if side.type.number and inner.type.number:
                self._chooser.assume(["the caller accepts a tensor in place of the Python number"])
            own: list[Union[str, Arguments]] = [*chosen]
            if made:
                own[1 if one.turned else 2] = made
            made = own
            inner = _join(side, inner)
        return made

    def _write(self, arguments: Arguments, static: str) -> Iterator[Replacement]:
        scene, chain = self._scene, self._chain
        outer = scene.indent(self._head)
        indent = outer + "    " if static else outer
        made = write_nested(
            self._chooser.function, arguments, len(indent) + len("return "), indent, width=width_of(scene)
        )
        moved = bool(chain.between) and chain.last is not None and not static
        comments = [
            comment
            for one in chain.conditions
            for comment in (*(_comments_above(one) if moved else ()), *comments_of(scene, one))
        ]
        text = f"\n{indent}".join([*comments, f"return {made}"])
        start, _ = scene.span(self._head)
        if static:
            yield Replacement(start, self._end(chain.conditions[-1]), f"if {static}:\n{indent}{text}")
        elif moved and chain.last is not None:
            for one in chain.conditions:
                yield Replacement(*scene.whole(one), "")
            place, _ = scene.span(chain.last)
            yield Replacement(place, self._end(chain.last), text)
        else:
            yield Replacement(start, self._end(chain.last or chain.conditions[-1]), text)

    def _divide_safely(self, asked: Sequence[Condition]) -> Iterator[Replacement]:
        """Let what is computed between an early return and the last one divide by nothing that is zero where the early one is chosen."""
        for _, value in (one for line in self._chain.between for one in assignments(line) if len(asked) == 1):
            code = self._scene.code(value)
            safe = self._chooser.divide_safely(asked[0], code, chosen=asked[0].turned)
            if safe != code:
                yield Replacement(*self._scene.span(value), safe)

    def _end(self, statement: cst.CSTNode) -> int:
        start, end = self._scene.span(statement)
        return start + len(self._scene.document.text[start:end].rstrip())


def _comments_above(node: cst.If) -> list[str]:
    """The comments in front of an `if`, which go where it goes."""
    return [line.comment.value for line in node.leading_lines if line.comment is not None]


def head_of(scene: FunctionSource, node: cst.If) -> cst.If:
    """The first `if` of the chain that one stands in: above an `elif`, and above an `if` that directly follows another such."""
    holder = scene.parent(node)
    while isinstance(holder, cst.If):
        node, holder = holder, scene.parent(holder)
    siblings, index = scene.siblings(node)
    for above in reversed(siblings[:index]):
        if not isinstance(above, cst.If) or above.orelse is not None:
            break
        if _find_returned(above.body) is None or not holds_tensor(scene, above.test):
            break
        node = above
    return node


def chain_of(scene: FunctionSource, head: cst.If) -> Chain | NoFix:
    """The returns that follow one another from an `if` on, or why they are no chain."""
    siblings, index = scene.siblings(head)
    cases: list[tuple[cst.BaseExpression, cst.BaseExpression]] = []
    conditions: list[cst.If] = []
    between: list[cst.SimpleStatementLine] = []
    for statement in siblings[index:]:
        if isinstance(statement, cst.If) and not between:
            found = _cases(statement)
            if isinstance(found, NoFix):
                return found
            conditions.append(statement)
            cases += found[0]
            if found[1] is not None:
                return Chain(tuple(cases), found[1], tuple(conditions), (), None)
        elif not isinstance(statement, cst.SimpleStatementLine):
            return NoFix("what follows the early return is more than a `return`")
        elif (value := _returned_by(statement)) is not None:
            return Chain(tuple(cases), value, tuple(conditions), tuple(between), statement)
        else:
            between.append(statement)
    return NoFix("nothing is returned where the condition does not hold")


def _cases(
    node: cst.If,
) -> tuple[list[tuple[cst.BaseExpression, cst.BaseExpression]], cst.BaseExpression | None] | NoFix:
    """List what the branches of an `if` return and under which conditions, and what its `else` returns."""
    cases = []
    branch: cst.If | cst.Else | None = node
    while isinstance(branch, cst.If):
        value = _find_returned(branch.body)
        if value is None:
            return NoFix("one branch returns, and another does not")
        cases.append((branch.test, value))
        branch = branch.orelse
    if branch is None:
        return cases, None
    value = _find_returned(branch.body)
    return NoFix("one branch returns, and another does not") if value is None else (cases, value)


def _join(first: Side, second: Side) -> Side:
    """Join two values between which a condition chooses."""
    of_tensor = first if any(type(member) is Tensor for member in members(first.value)) else second
    kind = first.type if alike(first.type, second.type) else Type(rank=of_tensor.type.rank)
    return Side(second.text, of_tensor.value, kind, first.slope | second.slope)


def _find_returned(body: cst.BaseSuite) -> cst.BaseExpression | None:
    """The value that a block returns which does nothing else."""
    return _returned_by(body.body[0]) if len(body.body) == 1 else None


def _returned_by(statement: cst.CSTNode) -> cst.BaseExpression | None:
    if isinstance(statement, cst.SimpleStatementLine):
        statement = statement.body[0]
    return statement.value if isinstance(statement, cst.Return) else None
