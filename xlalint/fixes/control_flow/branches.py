"""XLA101: `if t: x = a else: x = b`, and `if t: x = f(x)` → one `where` for each name that lives on.

The branches are straight lines of assignments. What a branch only computes on the way stays above, computed always.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import NEVER, UNKNOWN
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit.bindings import value_before
from xlalint.fixes.toolkit.conditions import Condition, condition, holder_of
from xlalint.fixes.toolkit.dataflow import leaves, live_after, reads, uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.gradients import Slopes
from xlalint.fixes.toolkit.selection import (
    Chooser,
    Side,
    host_use,
    keep_value,
    number_as_tensor,
    side_of,
)
from xlalint.fixes.toolkit.shapes import Types
from xlalint.fixes.toolkit.speculation import assume_computable, speculate
from xlalint.fixes.toolkit.text import ATOMS, argument, brief, call, width_of

_LONGEST_MERGED = 80  # characters of an expression that another is written into


class Step(NamedTuple):
    """One assignment of a branch."""

    name: str
    value: cst.BaseExpression
    statement: cst.BaseSmallStatement
    line: cst.SimpleStatementLine
    side: Side
    read: frozenset[str]


class Branch:
    """A branch as the assignments that it makes, in order."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps

    def last(self, name: str) -> Step | None:
        """The assignment that a name leaves the branch with."""
        return next((step for step in reversed(self.steps) if step.name == name), None)

    @property
    def names(self) -> list[str]:
        """The names that it binds, in order."""
        return list(dict.fromkeys(step.name for step in self.steps))


def branch_of(scene: FunctionSource, body: cst.BaseSuite | None, framework: str) -> Branch | NoFix:
    """The assignments that a block consists of, or why it is not just a sequence of assignments of such."""
    if body is None:
        return Branch([])
    types, slopes = Types(scene, framework), Slopes(scene, framework)
    steps: list[Step] = []
    for line in body.body:
        if not isinstance(line, cst.SimpleStatementLine):
            return NoFix(_not_straight(scene, line))
        for one in line.body:
            if isinstance(one, cst.Pass):
                continue
            found = _read_assignment(one)
            if found is None:
                return NoFix(_not_straight(scene, one))
            name, value = found
            step = Step(name, value, one, line, side_of(scene, value, types, slopes), frozenset(reads(scene, value)))
            if any(known.name == name for known in steps):
                merged = _merge(scene, steps, step)
                if merged is None:
                    return NoFix(f"the branch assigns `{name}` twice: give the first value a name of its own")
                steps = [known for known in steps if known.name != name]
                step = merged
            steps.append(step)
            types.assign(name, value)
            slopes.assign(name, value)
    return Branch(steps)


def _merge(scene: FunctionSource, steps: list[Step], step: Step) -> Step | None:
    """An assignment with what its name was assigned before written into it; None where that is read elsewhere as well, or gets long."""
    before = next(known for known in steps if known.name == step.name)
    between = steps[steps.index(before) + 1 :]
    found = [*uses(scene, step.value, step.name)]
    if len(found) != 1 or any(step.name in known.read or known.name in before.read for known in between):
        return None
    start, _ = scene.whole(step.value)
    at, end = scene.whole(found[0])
    code = argument(scene, step.value)
    own = scene.document.text[start : scene.whole(step.value)[1]]
    inner = before.side.text if isinstance(before.value, ATOMS) else f"({before.side.text})"
    text = f"{own[: at - start]}{inner}{own[end - start :]}"
    if len(text) > _LONGEST_MERGED or "\n" in text or own != code:
        return None
    read = before.read | (step.read - {step.name})
    return step._replace(side=step.side._replace(text=text), read=read)


def rewrite(site: Site) -> Rewrite | NoFix | None:
    """The `if` that the finding is in as a `where` for each name that it leaves behind."""
    scene = site.scene
    node = holder_of(scene, site.node)
    if not isinstance(node, cst.If):
        return None
    if isinstance(node.orelse, cst.If):
        return NoFix("the `elif` has to be rewritten first")
    if leaves(node.body) or (node.orelse is not None and leaves(node.orelse.body)):
        return None
    return _Choice(site, node).rewrite()


class _Choice:
    """One `if` on its way to a choice."""

    def __init__(self, site: Site, node: cst.If) -> None:
        self._scene = site.scene
        self._node = node
        self._framework = site.framework
        self._chooser = Chooser(site.scene, node, site.framework)
        self._elif = isinstance(site.scene.parent(node), cst.If)

    def rewrite(self) -> Rewrite | NoFix:
        scene, node = self._scene, self._node
        asked = condition(scene, node.test, self._framework, self._chooser.imports)
        if isinstance(asked, NoFix):
            return asked
        other = node.orelse.body if isinstance(node.orelse, cst.Else) else None
        if asked.static and (self._elif or (other is not None and not _is_short(other))):
            return NoFix("a part of the condition is known on the host, and decides on an `else` too: nest the `if`")
        branches: list[Branch] = []
        for body in (node.body, other):
            branch = branch_of(scene, body, self._framework)
            if isinstance(branch, NoFix):
                return branch
            branches.append(branch)
        why = self._speculate(branches)
        if why:
            return NoFix(why)
        lines = self._lines(asked, *branches)
        if isinstance(lines, NoFix):
            return lines
        self._chooser.assume(asked.assumes)
        return self._write(asked, lines, other)

    def _speculate(self, branches: Iterable[Branch]) -> str:
        for branch in branches:
            lines = [step.line for step in branch.steps]
            found = speculate(self._scene, lines, self._framework, [self._node.test])
            if found.barrier:
                return found.barrier
            self._chooser.assume(assume_computable(found.risks))
        return ""

    # ------------------------------------------------------------------------------------------------- the lines

    def _lines(self, asked: Condition, taken: Branch, other: Branch) -> list[str] | NoFix:
        """The code that takes the place of the `if`, a statement to an item, not indented."""
        scene = self._scene
        bound = list(dict.fromkeys([*taken.names, *other.names]))
        live = [name for name in bound if live_after(scene, self._node, name)]
        if not live:
            return NoFix("nothing that the branches assign is used afterwards: the `if` can be removed")
        order = _order(bound, live, taken, other)
        if isinstance(order, NoFix):
            return order
        text = asked.text
        lines = []
        changed = asked.names & set(order[:-1])
        if changed or (len(live) > 1 and not text.isidentifier()):
            name = scene.fresh("condition")
            lines.append(f"{name} = {text}")
            self._chooser.tested = "" if changed else text
            asked = asked._replace(text=name)
        for name in order:
            if name not in live:
                step = taken.last(name) or other.last(name)
                assert step is not None
                lines.append(self._compute(asked, step, chosen=(step in taken.steps) is not asked.turned))
                continue
            made = self._select(asked, name, taken.last(name), other.last(name))
            if isinstance(made, NoFix):
                return made
            lines.append(made)
        return lines

    def _compute(self, asked: Condition, step: Step, *, chosen: bool) -> str:
        """The code of an assignment of what is computed on the way, which divides by nothing that is zero where it is not chosen."""
        code, value = self._scene.code(step.statement), self._scene.code(step.value)
        return (
            code.removesuffix(value) + self._chooser.divide_safely(asked, value, chosen=chosen)
            if code.endswith(value)
            else code
        )

    def _select(self, asked: Condition, name: str, taken: Step | None, other: Step | None) -> str | NoFix:
        sides = []
        for step in (taken, other):
            why = self._chooser.unfit(step.side) if step is not None else ""
            if why:
                return NoFix(why)
        for step in (taken, other):
            side = self._make_unchanged_side(name) if step is None else step.side
            if isinstance(side, NoFix):
                return side
            sides.append(side)
        if any(side.type.number for side in sides):
            use = host_use(self._scene, self._node, name)
            if use:
                return NoFix(f"`{name}` is used as a Python number: `{brief(use)}`")
            if all(side.type.number for side in sides):
                self._chooser.assume([number_as_tensor(self._framework, sides)])
        arguments = self._chooser.choose(asked, *sides)
        if isinstance(arguments, NoFix):
            return arguments
        steps = zip((taken, other), sides, strict=True)
        originals = [name if step is None else step.value for step, side in steps if not side.type.number]
        self._chooser.copy(self._node, name, originals)
        indent = self._indent(asked)
        made = self._chooser.factor(asked, *sides)
        if made and len(indent) + len(name) + 3 + len(made) <= width_of(self._scene):
            return f"{name} = {made}"
        column = len(indent) + len(name) + 3
        made = call(self._chooser.function, arguments, column, "", width=width_of(self._scene))
        return f"{name} = {made}"

    def _make_unchanged_side(self, name: str) -> Side | NoFix:
        value = value_before(self._scene, self._node, name)
        if value in (NEVER, UNKNOWN):
            return NoFix(f"it is not known what `{name}` is where the branch is not taken")
        return keep_value(name, value)

    # ------------------------------------------------------------------------------------------------- the text

    def _indent(self, asked: Condition) -> str:
        indent = self._scene.indent(self._node)
        return indent + "    " if asked.static or self._elif else indent

    def _write(self, asked: Condition, lines: list[str], other: cst.BaseSuite | None) -> Rewrite:
        scene, node = self._scene, self._node
        outer = scene.indent(node)
        body = [*comments_of(scene, node), *lines]
        text = "\n".join(textwrap.indent(line, self._indent(asked)) for line in body)
        if self._elif:
            text = f"else:\n{text}"
        elif asked.static:
            text = f"if {asked.static}:\n{text}"
            if other is not None:
                text += f"\n{outer}else:\n{outer}    {scene.code(other.body[0]).strip()}"
        else:
            text = text[len(outer) :]
        start, end = scene.span(node)
        end = start + len(scene.document.text[start:end].rstrip())
        chooser = self._chooser
        replacements = (Replacement(start, end, text), *chooser.imports.needed)
        return Rewrite(f"Use `{chooser.function}`", replacements, all_of(chooser.assumes))


def _order(bound: list[str], live: list[str], taken: Branch, other: Branch) -> list[str] | NoFix:
    """In which order names can be assigned so that each reads what it read in its branch."""
    before: dict[str, set[str]] = {name: set() for name in bound}
    for branch, opposite in ((taken, other), (other, taken)):
        for index, step in enumerate(branch.steps):
            for name in step.read & set(bound):
                if name not in live and branch.last(name) is None:
                    return NoFix(f"one branch uses `{name}` as it was, and the other assigns it")
                earlier = any(one.name == name for one in branch.steps[:index])
                if earlier:
                    before[step.name].add(name)
                elif branch.last(name) is not None and name != step.name:
                    before[name].add(step.name)
        if any(name not in live and opposite.last(name) is not None for name in branch.names):
            return NoFix("both branches use the same name for an intermediate value")
    order: list[str] = []
    while len(order) < len(bound):
        ready = [name for name in bound if name not in order and before[name] <= set(order)]
        if not ready:
            return NoFix("the branches use each other's values in an order that cannot be kept")
        order.append(ready[0])
    return order


def _read_assignment(node: cst.BaseSmallStatement) -> tuple[str, cst.BaseExpression] | None:
    """The name and the expression of a plain assignment."""
    if isinstance(node, cst.Assign) and len(node.targets) == 1 and isinstance(node.targets[0].target, cst.Name):
        return node.targets[0].target.value, node.value
    if isinstance(node, cst.AnnAssign) and isinstance(node.target, cst.Name) and node.value is not None:
        return node.target.value, node.value
    return None


def _not_straight(scene: FunctionSource, node: cst.CSTNode) -> str:
    code = brief(scene.code(node).split("\n")[0])
    if isinstance(node, cst.Expr):
        return f"`{code}` in the branch is evaluated for its side effect"
    if isinstance(node, cst.Assign) and isinstance(node.targets[0].target, cst.Attribute):
        return f"the branch writes `{scene.code(node.targets[0].target)}`"
    if isinstance(node, cst.AugAssign):
        return f"`{code}` changes in place what other code may hold"
    return f"the branch is not just a sequence of assignments: `{code}`"


def _is_short(body: cst.BaseSuite) -> bool:
    return len(body.body) == 1 and isinstance(body.body[0], cst.SimpleStatementLine)


def comments_of(scene: FunctionSource, node: cst.If) -> Iterator[str]:
    """The comments within an `if`, one to an item, in order; those in front of it are not within."""
    start, _ = scene.span(node)
    for comment in scene.descend(node, cst.Comment):
        if scene.span(comment)[0] >= start:
            yield comment.value
