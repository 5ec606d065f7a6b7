"""XLA102 in torch: `while t and n < 6:` → `for _ in range(6):` that keeps what it has once `t` is false.

The bound is the author's. All turns run; a name that a later turn, the condition or the code behind reads is updated by `torch.where`. So
nothing that the condition depends on changes once it is false, and it stays false.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import Function, members
from xlalint.fixes.control_flow.graph_loops import Assigned, carried_by, is_set_before, read_assignment
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.bindings import value_before
from xlalint.fixes.toolkit.conditions import Condition, condition, holds_tensor
from xlalint.fixes.toolkit.dataflow import binds, live_after, reads, uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.gradients import Slopes
from xlalint.fixes.toolkit.selection import Chooser, Side, keep_value, side_of
from xlalint.fixes.toolkit.shapes import Types
from xlalint.fixes.toolkit.speculation import ACTS, assume_computable, barrier_of, speculate
from xlalint.fixes.toolkit.text import atom, call, width_of

_ASSUMED = "the iterations left when the condition ends the loop may be computed needlessly"


class Bound(NamedTuple):
    """The part of a loop's condition that counts turns: `counter` goes from `first`, which `set_by` gave it, by one up to `last`."""

    rest: cst.BaseExpression
    counter: str
    first: str
    last: str
    set_by: cst.SimpleStatementLine
    raised_by: cst.SimpleStatementLine


def loop_to_bound(site: Site) -> Rewrite | NoFix | None:
    """A loop with a condition and a bound as one with the bound alone."""
    scene = site.scene
    loop = scene.nearest(site.node, cst.While)
    if site.framework != "torch" or loop is None or not _is_asked(scene, site.node, loop):
        return None
    bound = bound_of(scene, loop)
    if not isinstance(bound, Bound):
        return bound
    return _Masked(site, loop, bound).rewrite()


def _is_asked(scene: FunctionSource, node: cst.CSTNode, loop: cst.While) -> bool:
    return node is loop.test or loop.test in scene.above(node)


# ------------------------------------------------------------------------------------------------------ the bound


def bound_of(scene: FunctionSource, loop: cst.While) -> Bound | NoFix | None:
    """The bound in a loop's condition; None where there is none, a reason where it does not count the turns."""
    test = loop.test
    if not isinstance(test, cst.BooleanOperation) or not isinstance(test.operator, cst.And):
        return None
    for part, rest in ((test.right, test.left), (test.left, test.right)):
        if isinstance(part, cst.Comparison) and holds_tensor(scene, rest) and not holds_tensor(scene, part):
            return _find_bound(scene, loop, part, rest)
    return None


def _find_bound(
    scene: FunctionSource, loop: cst.While, part: cst.Comparison, rest: cst.BaseExpression
) -> Bound | NoFix | None:
    limit = part.comparisons[0].comparator
    rising = isinstance(part.comparisons[0].operator, (cst.LessThan, cst.LessThanEqual))
    if len(part.comparisons) != 1 or not isinstance(part.left, cst.Name) or not rising:
        return None
    counter = part.left.value
    raised = [line for line in loop.body.body if counter in binds(scene, line)]
    first = _first(scene, loop, counter)
    if first is None or len(raised) != 1 or not _raises(scene, raised[0]):
        return NoFix(f"`{counter}` is not known to count the iterations from a known number on")
    if not values.is_whole(scene.value(limit)) or not _is_fixed(scene, limit, binds(scene, loop.body)):
        return NoFix(f"`{scene.code(limit)}` is not known to be the same whole number in all iterations")
    if counter in reads(scene, rest) or live_after(scene, loop, counter):
        return NoFix(f"`{counter}` says in which iteration the loop ended: keep that in a tensor of its own")
    last = scene.code(limit)
    if isinstance(part.comparisons[0].operator, cst.LessThanEqual):
        last = str(int(last) + 1) if last.isdigit() else f"{atom(scene, limit)} + 1"
    assert isinstance(raised[0], cst.SimpleStatementLine)
    return Bound(rest, counter, first[0], last, first[1], raised[0])


def _first(scene: FunctionSource, loop: cst.While, counter: str) -> tuple[str, cst.SimpleStatementLine] | None:
    """The number that a counter begins with, and the line in the loop's block that says so."""
    siblings, index = scene.siblings(loop)
    for line in reversed(siblings[:index]):
        if counter not in binds(scene, line):
            continue
        step = read_assignment(scene, line)
        if step is None or step.sign or not isinstance(step.value, cst.Integer):
            return None
        assert isinstance(line, cst.SimpleStatementLine)
        return step.value.value, line
    return None


def _raises(scene: FunctionSource, line: cst.CSTNode) -> bool:
    """Return whether a line of the loop's own block adds one to what it binds."""
    step = read_assignment(scene, line)
    if step is None:
        return False
    if step.sign:
        return step.sign == "+" and scene.code(step.value) == "1"
    return scene.code(step.value).replace(" ", "") == f"{step.name}+1"


def _is_fixed(scene: FunctionSource, node: cst.BaseExpression, changed: set[str]) -> bool:
    """Return whether an expression is the same in all turns: it has no calls, and only names that no turn binds."""
    return not any(scene.descend(node, cst.Call, cst.NamedExpr)) and not reads(scene, node) & changed


# ------------------------------------------------------------------------------------------------------- the loop


class _Masked:
    """One loop on its way to a fixed number of turns."""

    def __init__(self, site: Site, loop: cst.While, bound: Bound) -> None:
        self._scene, self._loop, self._bound = site.scene, loop, bound
        self._chooser = Chooser(site.scene, loop, site.framework)
        self._types = Types(site.scene, site.framework)
        self._slopes = Slopes(site.scene, site.framework)
        self._framework = site.framework

    def rewrite(self) -> Rewrite | NoFix:
        scene, loop, bound = self._scene, self._loop, self._bound
        if loop.orelse is not None or not isinstance(loop.body, cst.IndentedBlock):
            return NoFix("the loop has an `else`: test after the loop whether the condition holds")
        asked = condition(scene, bound.rest, self._framework, self._chooser.imports)
        if isinstance(asked, NoFix):
            return asked
        if asked.static:
            return NoFix("a part of the condition is known on the host: test it in an `if` around the loop")
        lines = [line for line in loop.body.body if line is not bound.raised_by]
        done = [read_assignment(scene, line) for line in lines]
        steps = [step for step in done if step is not None]
        if len(steps) != len(lines):
            return NoFix("the loop does more than assign names: mask what each iteration changes, with `torch.where`")
        why = self._explain_refusal(bound.rest, steps)
        if why:
            return NoFix(why)
        return self._write(asked, steps)

    def _explain_refusal(self, test: cst.BaseExpression, steps: Sequence[Assigned]) -> str:
        """Why a turn may not run once more, "" if it may."""
        scene = self._scene
        for step in steps:
            if step.sign and values.tensors_only(value_before(scene, self._loop, step.name)):
                return f"`{step.name} {step.sign}= …` changes a tensor in place: write `{step.name} = …`"
        nodes = [test, *(step.value for step in steps)]
        own = [one for node in nodes for one in scene.descend(node, cst.Call) if self._is_own(one)]
        for part in (part for node in nodes for part in scene.descend(node, *ACTS)):
            barrier = barrier_of(scene, part, self._framework)
            if barrier and part not in own:
                return barrier
        self._chooser.assume([_ASSUMED])
        self._chooser.assume(f"`{scene.code(one.func)}` does nothing but compute" for one in own)
        self._chooser.assume(assume_computable(speculate(scene, nodes, self._framework).risks) if not own else [])
        return ""

    def _is_own(self, node: cst.Call) -> bool:
        found = members(self._scene.value(node.func))
        return bool(found) and all(type(one) is Function and one.receiver is None for one in found)

    def _write(self, asked: Condition, steps: Sequence[Assigned]) -> Rewrite | NoFix:
        scene, loop, bound = self._scene, self._loop, self._bound
        carried = carried_by(scene, loop, steps, reads(scene, bound.rest))
        if not carried:
            return NoFix("nothing that the loop computes is used")
        flag = scene.fresh("finished" if asked.turned else "going")
        inner = scene.indent(loop.body.body[0])
        read = any(one for one in uses(scene, loop.body, bound.counter) if not _is_in(scene, one, bound.raised_by))
        if read and loop.body.body[-1] is not bound.raised_by:
            return NoFix(f"`{bound.counter}` is read after it is incremented: increment it at the end of the iteration")
        span = bound.last if bound.first == "0" else f"{bound.first}, {bound.last}"
        header = f"for {bound.counter if read else '_'} in range({span}):\n{inner}{flag} = {asked.text}"
        made = [Replacement(scene.span(loop)[0], scene.whole(loop.test)[1] + 1, header)]
        shown = asked._replace(text=flag)
        for step in steps:
            if step.name in carried:
                one = self._mask(shown, step)
                if isinstance(one, NoFix):
                    return one
                made.append(one)
            elif not step.sign:
                self._types.assign(step.name, step.value)
                self._slopes.assign(step.name, step.value)
        made += [Replacement(*scene.lines(line), "") for line in (bound.set_by, bound.raised_by)]
        if any(_is_read_between(scene, bound.set_by, loop, bound.counter)):
            return NoFix(f"`{bound.counter}` is read before the loop: count in a separate variable")
        self._chooser.assume(asked.assumes)
        return Rewrite(
            f"Loop up to the bound, and use `{self._chooser.function}`",
            (*made, *self._chooser.imports.needed),
            all_of(self._chooser.assumes),
        )

    def _mask(self, asked: Condition, step: Assigned) -> Replacement | NoFix:
        """The value of an assignment, chosen where the loop is still going."""
        scene = self._scene
        value = value_before(scene, self._loop, step.name)
        function = scene.function(self._loop)
        start = scene.span(self._loop)[0]
        if function is None or not is_set_before(scene, function, start, step.name):
            return NoFix(
                f"`{step.name}` may be unset before the first iteration: give it a value of its shape and dtype"
            )
        kept: Side = keep_value(step.name, value)
        taken = side_of(scene, step.value, self._types, self._slopes)
        if step.sign or taken.type.number or kept.type.number or not values.is_tensor(value, self._framework):
            return NoFix(
                f"`{step.name}` is not a tensor in every iteration: begin with one of the dtype that it ends with"
            )
        arguments = self._chooser.choose(asked, taken, kept)
        if isinstance(arguments, NoFix):
            return arguments
        self._chooser.copy(self._loop, step.name, [step.name, step.value])
        start, end = scene.whole(step.value)
        indent = scene.indent(step.value)
        text = call(self._chooser.function, arguments, len(indent) + len(step.name) + 3, indent, 0, width_of(scene))
        return Replacement(start, end, text)


def _is_in(scene: FunctionSource, node: cst.CSTNode, line: cst.CSTNode) -> bool:
    return line in scene.above(node)


def _is_read_between(scene: FunctionSource, first: cst.CSTNode, loop: cst.While, name: str) -> list[cst.Name]:
    """The reads of a name between the line that sets it and a loop."""
    siblings, index = scene.siblings(loop)
    between = siblings[siblings.index(first) + 1 : index]
    return [one for line in between for one in uses(scene, line, name)]
