"""XLA101: `if t: continue` in front of assignments → what the assignments leave behind is chosen by `where`, without the `if`.

The rest of the turn is then computed always. What of it only the turn itself reads stays as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from xlalint.abstract.lattice import join_all
from xlalint.abstract.values import NEVER, UNKNOWN, Tensor, Value, members
from xlalint.fixes.control_flow.branches import comments_of
from xlalint.fixes.control_flow.graph_loops import Assigned, read_assignment
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.aliasing import Original
from xlalint.fixes.toolkit.bindings import value_before
from xlalint.fixes.toolkit.conditions import Condition, condition, holder_of
from xlalint.fixes.toolkit.dataflow import bindings, binds, live_after, reads
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.gradients import FLAT, Slope, Slopes
from xlalint.fixes.toolkit.removal import end_of
from xlalint.fixes.toolkit.selection import (
    Chooser,
    Side,
    host_use,
    keep_value,
    number_as_tensor,
    side_of,
    unchosen_gradient,
)
from xlalint.fixes.toolkit.shapes import Type, Types
from xlalint.fixes.toolkit.speculation import assume_computable, speculate
from xlalint.fixes.toolkit.text import brief, call_at


class _Step(NamedTuple):
    """One assignment of the rest of a turn, to a name or into a tensor."""

    line: cst.SimpleStatementLine
    target: cst.BaseExpression
    value: cst.BaseExpression
    done: Assigned | None  # None of what is written into a tensor


def mask_rest(site: Site) -> Rewrite | NoFix | None:
    """The rest of a turn, without the `continue` that skips it."""
    scene = site.scene
    node = holder_of(scene, site.node)
    if not isinstance(node, cst.If) or node.orelse is not None or not _only_continues(node):
        return None
    loop = scene.nearest(node, cst.For, cst.While)
    if loop is None or node not in loop.body.body:
        return None
    rest = loop.body.body[loop.body.body.index(node) + 1 :]
    steps: list[_Step] = []
    for line in rest:
        step = _step(scene, line)
        if step is None:
            code = brief(scene.code(line).strip().split("\n")[0])
            return NoFix(
                f"`continue` skips more than assignments: `{code}`; compute all of it, and mask what it changes"
            )
        steps.append(step)
    return _Rest(site, node, steps).rewrite() if steps else None


def _only_continues(node: cst.If) -> bool:
    line = node.body.body[0] if len(node.body.body) == 1 else None
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else line
    return isinstance(small, cst.Continue)


def _step(scene: FunctionSource, line: cst.CSTNode) -> _Step | None:
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    one = line.body[0]
    done = read_assignment(scene, line)
    if done is not None and isinstance(one, cst.Assign):
        return _Step(line, one.targets[0].target, done.value, done)
    if done is not None and isinstance(one, cst.AugAssign):
        return _Step(line, one.target, done.value, done)
    if isinstance(one, cst.Assign) and len(one.targets) == 1 and isinstance(one.targets[0].target, cst.Subscript):
        return _Step(line, one.targets[0].target, one.value, None)
    return None


class _Rest:
    """The rest of a turn on its way to be computed always."""

    def __init__(self, site: Site, node: cst.If, steps: list[_Step]) -> None:
        self._scene, self._framework, self._node, self._steps = site.scene, site.framework, node, steps
        self._chooser = Chooser(site.scene, node, site.framework)
        self._types, self._slopes = Types(site.scene, site.framework), Slopes(site.scene, site.framework)

    def rewrite(self) -> Rewrite | NoFix:
        scene, chooser = self._scene, self._chooser
        asked = condition(scene, self._node.test, self._framework, chooser.imports)
        if isinstance(asked, NoFix):
            return asked
        if asked.static:
            return NoFix("a part of the condition is known on the host: give it an `if` of its own, with a `continue`")
        found = speculate(scene, [part for step in self._steps for part in _list_computed(step)], self._framework)
        if found.barrier:
            return NoFix(found.barrier)
        chooser.assume(assume_computable(found.risks))
        asked, head = self._name_condition(asked)
        edits = []
        for step in self._steps:
            edit = self._mask(asked, step)
            if isinstance(edit, NoFix):
                return edit
            edits += [edit] if edit is not None else []
            if step.done is not None and not step.done.sign:
                self._types.assign(step.done.name, step.value)
                self._slopes.assign(step.done.name, step.value)
        if not edits:
            return NoFix("nothing that the rest of the iteration assigns is used: the `if` can be removed")
        chooser.assume(asked.assumes)
        gone = self._without(head)
        return Rewrite(f"Use `{chooser.function}`", (gone, *edits, *chooser.imports.needed), all_of(chooser.assumes))

    def _name_condition(self, asked: Condition) -> tuple[Condition, str]:
        """The condition, by a name where it is needed several times or its operands change, and the line that gives it that."""
        masked = [step for step in self._steps if self._stays(step)]
        changed = {name for step in self._steps[:-1] for name in binds(self._scene, step.line)}
        written = any(step.done is None or step.done.sign for step in self._steps[:-1])
        if asked.text.isidentifier() and asked.text not in changed:
            return asked, ""
        if len(masked) < 2 and not asked.names & changed and not written:
            return asked, ""
        name = self._scene.fresh("taken" if asked.turned else "skipped")
        return asked._replace(text=name), f"{name} = {asked.text}"

    def _stays(self, step: _Step) -> bool:
        """Return whether anything outside of the turn sees what a step assigns."""
        return step.done is None or live_after(self._scene, self._steps[-1].line, step.done.name)

    def _mask(self, asked: Condition, step: _Step) -> Replacement | NoFix | None:
        scene = self._scene
        if not self._stays(step):
            in_place = self._framework == "torch" and step.done is not None and step.done.sign
            return NoFix(f"`{brief(scene.code(step.line).strip())}` may change a tensor in place") if in_place else None
        grown = self._find_grown(step)
        if grown:
            return NoFix(
                f"`{brief(scene.code(step.value))}` is computed from the last iteration's `{grown}`: what a skipped iteration would give"
                " may not be finite, and its gradient would be NaN"
            )
        new = side_of(scene, step.value, self._types, self._slopes)
        if step.done is None:
            return self._mask_store(asked, step, new)
        name = step.done.name
        if sum(name in binds(scene, other.line) for other in self._steps) > 1:
            return NoFix(f"`{name}` is assigned twice after the `continue`: give the first value a name of its own")
        before = self._before(step)
        if before in (NEVER, UNKNOWN):
            return NoFix(f"it is not known what `{name}` is where the iteration is skipped")
        tensors = [one for one in members(before) if type(one) is Tensor]
        numbers = [one for one in members(before) if values.is_number(one)]
        if (
            tensors
            and numbers
            and len(tensors) + len(numbers) == len(members(before))
            and self._framework != "tensorflow"
        ):
            used = host_use(scene, self._node, name)  # it begins as a number, which `where` takes as well
            if used:
                return NoFix(f"`{name}` is used as a Python number: `{brief(used)}`")
            self._chooser.assume([number_as_tensor(self._framework)])
            before = join_all(tensors)
        kept = keep_value(name, before)
        if step.done.sign:
            return self._mask_addition(asked, step, kept, new)
        reason = self._numbers(name, kept, new)
        if reason is not None:
            return reason
        originals: list[Original] = [step.value] if kept.type.number else [name, step.value]
        self._chooser.copy(self._node, name, originals)
        return self._where(asked, step, kept, new)

    def _find_grown(self, step: _Step) -> str:
        """The variable that a step makes by itself, and by what may have no finite derivative, from turn to turn; "" without."""
        name = step.done.name if step.done is not None else self._scene.code(_base_of(step.target))
        return name if self._chooser.learns and self._grows(name, step.value) else ""

    def _grows(self, name: str, node: cst.BaseExpression) -> bool:
        """Return whether an expression is more than sums of a variable, or products with it, which `where` can keep at one."""
        if isinstance(node, cst.BinaryOperation):
            named = name in (self._scene.code(node.left), self._scene.code(node.right))
            if isinstance(node.operator, (cst.Add, cst.Subtract)) or (
                named and isinstance(node.operator, cst.Multiply)
            ):
                return self._grows(name, node.left) or self._grows(name, node.right)
        slope = self._slopes.of(node)
        return name in slope.into and not slope.tame

    def _before(self, step: _Step) -> Value:
        """Return the value, in every turn and in front of the `if`, of the name that a step assigns; `UNKNOWN` if it was not seen."""
        scene = self._scene
        assert step.done is not None
        name = step.done.name
        known = value_before(scene, self._node, name)
        if known not in (NEVER, UNKNOWN):
            return known
        loop = scene.nearest(self._node, cst.For, cst.While)
        assert loop is not None
        first = value_before(scene, loop, name) if name not in reads(scene, loop) else self._first(loop, name)
        if first in (NEVER, UNKNOWN):
            return UNKNOWN
        return join_all([first, *(scene.value(one) for one in bindings(scene, loop, name))])

    def _first(self, loop: cst.BaseCompoundStatement, name: str) -> Value:
        """Return the value of a name that was surely assigned in front of a loop, in its block."""
        scene = self._scene
        siblings, index = scene.siblings(loop)
        for sibling in reversed(siblings[:index]):
            found = bindings(scene, sibling, name)
            if found:
                return scene.value(found[-1]) if isinstance(sibling, cst.SimpleStatementLine) else UNKNOWN
        return value_before(scene, loop, name)

    def _numbers(self, name: str, kept: Side, new: Side) -> NoFix | None:
        """Note what must hold where a name held a Python number, or return why it cannot."""
        if not kept.type.number and not new.type.number:
            return None
        used = host_use(self._scene, self._node, name)
        if used:
            return NoFix(f"`{name}` is used as a Python number: `{brief(used)}`")
        self._chooser.assume([number_as_tensor(self._framework)])
        return None

    def _where(self, asked: Condition, step: _Step, kept: Side, new: Side) -> Replacement | NoFix:
        arguments = self._chooser.choose(asked, kept, new)
        if isinstance(arguments, NoFix):
            return arguments
        made = self._chooser.factor(asked, kept, new) if step.done is not None and not step.done.sign else ""
        text = made or call_at(self._scene, step.value, self._chooser.function, arguments)
        return Replacement(*self._scene.whole(step.value), text)

    def _mask_addition(self, asked: Condition, step: _Step, kept: Side, new: Side) -> Replacement | NoFix:
        """`x += v` → `x += torch.where(t, 0, v)`: what is added to in place stays the same tensor."""
        assert step.done is not None
        name = step.done.name
        if step.done.sign not in ("+", "-"):
            return NoFix(f"`{brief(self._scene.code(step.line).strip())}` may change a tensor in place")
        if self._framework == "tensorflow":
            return NoFix(f"`{name}` is added to: write `{name} = tf.where(…)`")
        why = self._chooser.unfit(new)
        if why:
            return NoFix(why)
        reason = self._numbers(name, kept, kept)
        if reason is not None:
            return reason
        if new.slope.into:
            self._chooser.assume([unchosen_gradient(brief(new.text), self._framework)])
        if asked.rank != 0:
            self._chooser.assume([f"`{brief(asked.text)}` has no dimensions"])
        pair = ["0", new.text] if not asked.turned else [new.text, "0"]
        text = call_at(self._scene, step.value, self._chooser.function, [asked.text, *pair])
        return Replacement(*self._scene.whole(step.value), text)

    def _mask_store(self, asked: Condition, step: _Step, new: Side) -> Replacement | NoFix:
        """`x[i] = v` → `x[i] = torch.where(t, x[i], v)`."""
        scene, target = self._scene, step.target
        assert isinstance(target, cst.Subscript)
        code = scene.code(target)
        if self._framework != "torch" or not values.is_tensor(scene.value(target.value), "torch"):
            return NoFix(f"it is not known that `{scene.code(target.value)}` is a tensor in every call")
        if not all(_is_plain(scene, element.slice) for element in target.slice):
            return NoFix(f"`{code}` is indexed by more than numbers: write into all of it, with a mask")
        base = self._types.of(target.value)
        slope = FLAT if base.kind in ("b", "i") else Slope(frozenset((scene.code(target.value),)))
        kept = Side(code, scene.value(target.value), Type("", base.dtype, base.kind), slope)
        self._chooser.assume([*assume_computable([code]), f"no gradient needs what `{code}` held before"])
        return self._where(asked, step, kept, new)

    def _without(self, head: str) -> Replacement:
        """The `if` gone, but for its comments; in its place the line that gives the condition a name."""
        scene, node = self._scene, self._node
        lines = [*comments_of(scene, node), *([head] if head else [])]
        start, _ = scene.span(node)
        if lines:
            return Replacement(start, end_of(scene, node), f"\n{scene.indent(node)}".join(lines))
        text = scene.document.text
        own = text.rfind("\n", 0, start) + 1
        first, last = scene.lines(node)
        return Replacement(own if "#" in text[first:own] else first, last, "")


def _base_of(node: cst.BaseExpression) -> cst.BaseExpression:
    """The tensor that an element is written into."""
    return node.value if isinstance(node, cst.Subscript) else node


def _list_computed(step: _Step) -> list[cst.CSTNode]:
    """List the expressions that a step computes: its value, and the index that it writes to."""
    return [step.value, *(step.target.slice if isinstance(step.target, cst.Subscript) else ())]


def _is_plain(scene: FunctionSource, one: cst.BaseSlice) -> bool:
    """Return whether an index is `:`, `...`, or Python numbers."""
    if isinstance(one, cst.Slice):
        bounds = [bound for bound in (one.lower, one.upper, one.step) if bound is not None]
        return all(values.is_number(scene.value(bound)) for bound in bounds)
    assert isinstance(one, cst.Index)
    return isinstance(one.value, cst.Ellipsis) or values.is_number(scene.value(one.value))
