"""XLA101: `if not mask.any(): break` in a loop over a `range` whose further turns change nothing → without it.

They change nothing if all that a later turn or the code behind reads is updated through the mask: `x = where(mask, v, x)`,
`x += v * mask`. The mask then stays as it is: it is carried itself, and only ever loses members, or is worked out anew from what does not
change.
"""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.control_flow.early_ends import only_breaks
from xlalint.fixes.control_flow.graph_loops import Assigned, carried_by, read_assignment
from xlalint.fixes.model import Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.aliasing import copy_shows
from xlalint.fixes.toolkit.conditions import condition, holder_of
from xlalint.fixes.toolkit.dataflow import live_after, reads
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.operations import arguments_of, operation
from xlalint.fixes.toolkit.shapes import Types, holds
from xlalint.fixes.toolkit.speculation import speculate
from xlalint.fixes.toolkit.text import brief

_ASSUMED = "the remaining iterations may be computed needlessly, and give only finite values"


def drop_break(site: Site) -> Rewrite | None:
    """The `break` of a loop that does nothing from there on."""
    scene = site.scene
    node = holder_of(scene, site.node)
    if not isinstance(node, cst.If) or node.orelse is not None or not only_breaks(node):
        return None
    loop = scene.nearest(node, cst.For, cst.While)
    siblings, index = scene.siblings(node)
    if not isinstance(loop, cst.For) or loop.orelse is not None or node not in loop.body.body or not index:
        return None
    if not isinstance(loop.iter, cst.Call) or values.callee(scene.value(loop.iter.func)) != "builtins.range":
        return None
    guard = _guard(site, node)
    lines = [line for line in siblings if line is not node]
    steps = [step for line in lines if (step := _step(scene, line)) is not None]
    if guard is None or len(steps) != len(lines) or not isinstance(loop.target, cst.Name):
        return None
    assumes = _Idle(site, loop, guard).of(steps, index)
    if assumes is None:
        return None
    return Rewrite("Drop the `break`", (Replacement(*scene.lines(node), ""),), all_of(assumes))


def _step(scene: FunctionSource, line: cst.CSTNode) -> Assigned | None:
    if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1:
        one = line.body[0]
        if isinstance(one, cst.AnnAssign) and isinstance(one.target, cst.Name) and one.value is not None:
            return Assigned(one.target.value, one.value, "")
    return read_assignment(scene, line)


class _Guard:
    """A mask that selects nothing when the loop ends: none of it is true, or, where `full`, all of it."""

    def __init__(self, mask: str, *, full: bool, assumes: str = "") -> None:
        self.mask = mask
        self.full = full
        self.assumes = assumes


def _guard(site: Site, node: cst.If) -> _Guard | None:
    """Read the condition of the `break`: `not mask.any()`, `mask.sum() == 0`, `finished.all()`."""
    scene = site.scene
    asked = condition(scene, node.test, site.framework, Imports(scene, node))
    if not isinstance(asked, tuple) or asked.static or asked.assumes or len(asked.tensors) != 1:
        return None
    test = asked.tensors[0]
    counted = isinstance(test, cst.Comparison)
    if isinstance(test, cst.Comparison):
        zero = len(test.comparisons) == 1 and scene.code(test.comparisons[0].comparator) in ("0", "0.0")
        if not zero or not isinstance(test.comparisons[0].operator, cst.Equal) or asked.turned:
            return None
        test = test.left
    if not isinstance(test, cst.Call):
        return None
    name, operands = operation(scene, test).removeprefix("reduce_"), arguments_of(scene, test)
    if len(operands) != 1 or not isinstance(operands[0], cst.Name) or any(arg.keyword for arg in test.args):
        return None
    mask = operands[0].value
    if not values.is_tensor(scene.value(operands[0]), site.framework):
        return None
    if counted and name in ("sum", "count_nonzero"):
        positive = values.is_bool(scene.value(operands[0])) or name == "count_nonzero"
        return _Guard(mask, full=False, assumes="" if positive else f"nothing in `{mask}` is negative")
    if (name, asked.turned, counted) == ("any", True, False):
        return _Guard(mask, full=False)
    return _Guard(mask, full=True) if (name, asked.turned, counted) == ("all", False, False) else None


class _Idle:
    """Decides whether a loop does nothing once a mask selects nothing."""

    def __init__(self, site: Site, loop: cst.For, guard: _Guard) -> None:
        self._scene, self._framework, self._loop, self._guard = site.scene, site.framework, loop, guard
        self._types = Types(site.scene, site.framework)
        self._assumes = [_ASSUMED, *([guard.assumes] if guard.assumes else [])]

    def of(self, steps: list[Assigned], index: int) -> list[str] | None:
        """List what must hold for that if `index` assignments precede the `break`; None if it does something."""
        scene, mask = self._scene, self._guard.mask
        assert isinstance(self._loop.target, cst.Name)
        turn = self._loop.target.value
        names = {step.name for step in steps}
        carried = set(carried_by(scene, self._loop, steps, set()))
        if turn in names or live_after(scene, self._loop, turn):
            return None
        if speculate(scene, [step.value for step in steps], self._framework).barrier:
            return None
        anew = mask in names and mask not in carried
        if anew and (self._depends_on(turn, steps[:index]) or carried & {step.name for step in steps[:index]}):
            return None
        if mask not in names or (anew and mask in {step.name for step in steps[index:]}):
            return None
        for step in steps:
            if step.name in carried and not self._is_idle(step):
                return None
            if step.name not in carried and step.sign:
                return None  # in place, and another name may hold it
        return self._assumes

    def _depends_on(self, turn: str, steps: list[Assigned]) -> bool:
        """Return whether assignments use the number of the turn."""
        return any(turn in reads(self._scene, step.value) for step in steps)

    def _is_idle(self, step: Assigned) -> bool:
        """Return whether an assignment changes nothing when the mask selects nothing. Assumptions are noted."""
        scene, value = self._scene, step.value
        if step.sign:
            return step.sign in ("+", "-") and self._is_nothing(value)
        if isinstance(value, cst.BinaryOperation):
            return self._adds_nothing(step.name, value)
        if not isinstance(value, cst.Call) or any(arg.keyword is not None for arg in value.args):
            return False
        operands = arguments_of(scene, value)
        if len(operands) != 3:
            return False
        name = operation(scene, value)
        if name == "masked_fill":
            chooses, kept, other = operands[1], operands[0], operands[2]
            fits = not self._guard.full and self._selects_nothing(chooses)
        elif name == "where":
            if isinstance(value.func, cst.Attribute) and operands[0] is value.func.value:
                return False
            kept, other = (operands[1], operands[2]) if self._guard.full else (operands[2], operands[1])
            whole = scene.code(operands[0]) == self._guard.mask and values.is_bool(scene.value(operands[0]))
            fits = whole if self._guard.full else self._selects_nothing(operands[0])
        else:
            return False
        if not fits or scene.code(kept) != step.name:
            return False
        if not holds(self._types.of(kept), self._types.of(other)):
            self._assumes.append(f"`{brief(scene.code(other))}` has the shape and dtype of `{step.name}`")
        self._assumes += copy_shows(scene, self._loop, step.name, [step.name])
        return True

    def _adds_nothing(self, name: str, value: cst.BinaryOperation) -> bool:
        """`x + v * mask`; of the mask itself `mask & v`, or `mask | v` where it is full."""
        code = self._scene.code
        if name == self._guard.mask:
            joint = cst.BitOr if self._guard.full else cst.BitAnd
            boolean = values.is_bool(self._scene.value(value))
            return boolean and isinstance(value.operator, joint) and name in (code(value.left), code(value.right))
        if isinstance(value.operator, cst.Add) and code(value.right) == name:
            return self._is_nothing(value.left)
        return (
            isinstance(value.operator, (cst.Add, cst.Subtract))
            and code(value.left) == name
            and self._is_nothing(value.right)
        )

    def _is_nothing(self, node: cst.BaseExpression) -> bool:
        """Return whether an expression is a product with the mask."""
        if self._guard.full or not isinstance(node, cst.BinaryOperation):
            return False
        return isinstance(node.operator, cst.Multiply) and any(
            self._scene.code(one) == self._guard.mask for one in (node.left, node.right)
        )

    def _selects_nothing(self, node: cst.BaseExpression) -> bool:
        """Return whether a condition is the mask, or holds only where the mask does: `mask == 1`, `mask > 0`."""
        code = self._scene.code
        if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
            one = node.comparisons[0]
            compared = (type(one.operator), code(one.comparator))
            return code(node.left) == self._guard.mask and compared in _HOLDS_WITHIN
        return code(node) == self._guard.mask


_HOLDS_WITHIN = (
    (cst.Equal, "1"),
    (cst.Equal, "1.0"),
    (cst.Equal, "True"),
    (cst.GreaterThan, "0"),
    (cst.GreaterThan, "0.0"),
    (cst.NotEqual, "0"),
    (cst.NotEqual, "0.0"),
)
