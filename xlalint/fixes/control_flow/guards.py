"""XLA101: a guard around what does nothing where the guard is false → without the guard.

`if mask.any(): x = x.masked_fill(mask, v)`, `x[mask] = v` and `x = where(mask, v, x)` under it, `if not kept.all(): x = where(kept, x, v)`.
A mask that is false everywhere selects nothing: no value changes, and the gradient goes where it went.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.aliasing import copy_shows
from xlalint.fixes.toolkit.conditions import condition, holder_of
from xlalint.fixes.toolkit.dataflow import binds, definition_at, live_after, uses
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.gradients import FLAT, Slopes, without_gradient
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.indexing import align, made_like, read_masked
from xlalint.fixes.toolkit.operations import BOOLEAN, TO_BOOL, arguments_of, operation
from xlalint.fixes.toolkit.ownership import owned
from xlalint.fixes.toolkit.selection import kept_gradients, side_of, unchosen_gradient
from xlalint.fixes.toolkit.shapes import SCALAR, Types, holds
from xlalint.fixes.toolkit.speculation import assignments, assume_computable, speculate
from xlalint.fixes.toolkit.text import brief, lift_block, movable

# Operations of which autograd keeps none of what they are given.
_SAVES_NOTHING = BOOLEAN | TO_BOOL | {"argmax", "argmin", "mean", "sum"}


# Operations that give each element of their first operand, and no others.
_ARRANGING = frozenset(("expand", "expand_as", "expand_dims", "reshape", "squeeze", "transpose", "unsqueeze", "view"))


class _Guard(NamedTuple):
    """A mask, as code, and whether the guarded block runs if some of it is true, else if some of it is false."""

    mask: str
    some: bool


def remove_guard(site: Site) -> Rewrite | NoFix | None:
    """The block of an `if` that asks whether a mask selects anything, of statements that do nothing where it does not."""
    scene = site.scene
    node = holder_of(scene, site.node)
    if not isinstance(node, cst.If) or node.orelse is not None or isinstance(scene.parent(node), cst.If):
        return None
    asked = condition(scene, node.test, site.framework, Imports(scene, node))
    if isinstance(asked, NoFix) or len(asked.tensors) != 1 or asked.assumes:
        return None
    guard = guard_of(scene, asked.tensors[0], turned=asked.turned)
    if guard is None:
        return None
    body = [line for line in node.body.body if isinstance(line, cst.SimpleStatementLine)]
    if len(body) != len(node.body.body) or not movable(scene, body):
        return None
    idle = _Block(site, guard)
    assumes = idle.idle(body)
    if assumes is None:
        return None
    found = speculate(scene, [part for line in body for part in _list_computed(line)], site.framework, [node.test])
    if found.barrier:
        return None
    risks = [risk for risk in found.risks if risk not in idle.own and not risk.endswith(f"[{guard.mask}]")]
    assumes += assume_computable(risks)
    return Rewrite("Drop the guard", lift_block(scene, node, asked.static), all_of(assumes))


def guard_of(scene: FunctionSource, node: cst.BaseExpression, *, turned: bool) -> _Guard | None:
    """The mask of which a condition asks whether it selects anything: `mask.any()`, `not mask.all()`, `mask.sum() > 0`."""
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1 and not turned:
        count = node.left
        zero = scene.code(node.comparisons[0].comparator) == "0"
        some = isinstance(node.comparisons[0].operator, (cst.GreaterThan, cst.NotEqual))
        if zero and some and isinstance(count, cst.Call) and operation(scene, count) in ("sum", "count_nonzero"):
            mask = _operand(scene, count)
            return _Guard(mask, some=True) if mask and _is_mask(scene, count) else None
        return None
    if not isinstance(node, cst.Call):
        return None
    name = operation(scene, node).removeprefix("reduce_")
    mask = _operand(scene, node)
    if not mask or not _is_mask(scene, node):
        return None
    if (name, turned) == ("any", False):
        return _Guard(mask, some=True)
    return _Guard(mask, some=False) if (name, turned) == ("all", True) else None


class _Block:
    """A guarded block: which of its statements do nothing where the guard is false."""

    def __init__(self, site: Site, guard: _Guard) -> None:
        self._scene = site.scene
        self._framework = site.framework
        self._guard = guard
        self._types = Types(site.scene, site.framework)
        self._slopes = Slopes(site.scene, site.framework)
        self._learns = not without_gradient(site.scene, site.node)
        self.own: set[str] = set()  # the code of what selects by the mask

    def idle(self, body: list[cst.SimpleStatementLine]) -> list[str] | None:
        """List what must hold for a block to do nothing; None if it does something."""
        assumes: list[str] = []
        selects = 0
        changed: set[str] = set()
        for line in body:
            if len(line.body) != 1:
                return None
            if changed & self._mask_names():
                return None
            found = self._selects(line.body[0])
            if found is None:
                if not self._temporary(line):
                    return None
                changed |= binds(self._scene, line)
                continue
            selects += 1
            assumes += found
            changed |= binds(self._scene, line) if isinstance(line.body[0], cst.Assign) else set()
        return assumes if selects else None

    def _mask_names(self) -> set[str]:
        return {
            name
            for name in self._guard.mask.replace("(", " ").replace(")", " ").replace(".", " ").split()
            if name.isidentifier()
        }

    def _temporary(self, line: cst.SimpleStatementLine) -> bool:
        """Return whether a statement only computes something that is not seen after the block."""
        found = assignments(line)
        holder = self._scene.nearest(line, cst.If)
        if len(found) != 1 or holder is None:
            return False
        return not live_after(self._scene, holder, found[0][0])

    def _selects(self, statement: cst.BaseSmallStatement) -> list[str] | None:
        """List what must hold for a statement to change nothing where the mask selects nothing."""
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            target = statement.targets[0].target
            if isinstance(target, cst.Subscript):
                return self._check_store(target, statement.value)
            if isinstance(target, cst.Name) and isinstance(statement.value, cst.Call):
                return self._check_choice(target, statement.value)
        if isinstance(statement, cst.AugAssign) and isinstance(statement.target, cst.Subscript):
            return self._check_store(statement.target, statement.value)
        if isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call):
            call = statement.value
            operands = arguments_of(self._scene, call)
            if (
                operation(self._scene, call) != "masked_fill_"
                or len(operands) != 3
                or not self._is_guarded(operands[1])
            ):
                return None
            return self._list_write_assumptions(operands[0]) + self._flows(operands[0], operands[2])
        return None

    def _check_store(self, target: cst.Subscript, value: cst.BaseExpression) -> list[str] | None:
        parts = [element.slice for element in target.slice]
        indices = [one.value for one in parts if isinstance(one, cst.Index)]
        mutable = self._framework == "torch" and values.is_tensor(self._scene.value(target.value), "torch")
        if not mutable or len(indices) != 1 or not self._is_guarded(indices[0]):
            return None
        if not _is_writable(self._scene, target):
            return None
        return self._list_write_assumptions(target.value) + self._flows(target.value, value)

    def _list_write_assumptions(self, written: cst.BaseExpression) -> list[str]:
        """A write that changes nothing is one nevertheless: parameters of a model refuse it, and so does autograd of what it saved."""
        scene, node = self._scene, self._scene.nearest(written, cst.If)
        code = brief(scene.code(written))
        if node is not None and isinstance(written, cst.Name) and owned(scene, node, written.value):
            made = definition_at(scene, written.value, node)
            since = scene.span(made)[1] if made is not None else 0
            between = [
                one
                for one in uses(scene, scene.root, written.value)
                if since <= scene.span(one)[0] < scene.span(node)[0]
            ]
            if all(map(self._saves_nothing, between)):
                return []
        return [f"`{code}` may be written into where the mask selects nothing"]

    def _saves_nothing(self, use: cst.Name) -> bool:
        """Return whether a read of a tensor leaves nothing that autograd keeps of it: it is compared, or asked for its shape."""
        scene = self._scene
        for holder in scene.above(use):
            if isinstance(holder, (cst.Comparison, cst.Index)):
                return True
            if isinstance(holder, cst.Call) and operation(scene, holder) in _SAVES_NOTHING:
                return True
            if isinstance(holder, cst.Attribute) and holder.attr.value in ("shape", "dtype", "device", "ndim", "size"):
                return True
            if not isinstance(holder, (cst.Subscript, cst.ComparisonTarget, cst.Attribute, cst.Arg)):
                return False
        return False

    def _check_choice(self, target: cst.Name, call: cst.Call) -> list[str] | None:
        scene = self._scene
        name = operation(scene, call)
        operands = arguments_of(scene, call)
        if any(arg.keyword is not None for arg in call.args) or len(operands) != 3:
            return None
        if name == "masked_fill":
            if scene.code(operands[0]) != target.value or not self._is_guarded(operands[1]):
                return None
            self.own.add(scene.code(call))
            fits = self._fits(operands[1], target)
            return fits + self._list_alias_assumptions(target) + self._like(operands[0], operands[2])
        if name != "where":
            return None
        if isinstance(call.func, cst.Attribute) and operands[0] is call.func.value:  # x.where(mask, other)
            operands = [operands[1], operands[0], operands[2]]
        kept, other = (operands[2], operands[1]) if self._guard.some else (operands[1], operands[2])
        if scene.code(_unwrap_arranged(scene, operands[0])) != self._guard.mask or scene.code(kept) != target.value:
            return None
        self.own.add(scene.code(call))
        fits = self._fits(operands[0], target)
        return fits + self._list_alias_assumptions(target) + self._like(kept, other, promotes=True)

    def _fits(self, mask: cst.BaseExpression, kept: cst.Name) -> list[str]:
        """List what must hold for a choice by a mask to have the shape of what it keeps."""
        own, whole = self._types.of(mask), self._types.of(kept)
        if own.shape == SCALAR or own.shape == whole.shape != "" or made_like(self._scene, mask, kept):
            return []
        return [f"`{brief(self._scene.code(mask))}` broadcasts to the shape of `{kept.value}`"]

    def _like(self, kept: cst.BaseExpression, other: cst.BaseExpression, *, promotes: bool = False) -> list[str]:
        """List what must hold for a choice that takes nothing of `other` to give `kept`, with its gradients."""
        scene, found = self._scene, []
        if promotes and not holds(self._types.of(kept), self._types.of(other)):
            found.append(f"`{brief(scene.code(other))}` has the shape and dtype of `{brief(scene.code(kept))}`")
        if not self._learns:
            side = side_of(scene, kept, self._types, self._slopes)
            return found + kept_gradients(scene, scene.nearest(kept, cst.If) or kept, [side])
        return found + self._flows(kept, other)

    def _flows(self, kept: cst.BaseExpression, other: cst.BaseExpression) -> list[str]:
        """List what must hold for what nothing is taken of to change no gradient."""
        slope = self._slopes.of(other)
        if not self._learns or slope == FLAT or (slope.tame and slope.into <= self._slopes.of(kept).into):
            return []
        return [unchosen_gradient(brief(self._scene.code(other)), self._framework)]

    def _list_alias_assumptions(self, target: cst.Name) -> list[str]:
        """A tensor that is made anew is no longer what others hold."""
        node = self._scene.nearest(target, cst.If)
        if self._framework != "torch" or node is None:
            return []
        return copy_shows(self._scene, node, target.value, [target.value])

    def _is_guarded(self, mask: cst.BaseExpression) -> bool:
        """Return whether a mask is the one that the guard tests, perhaps arranged otherwise."""
        mask = _unwrap_arranged(self._scene, mask)
        if self._guard.some:
            return self._scene.code(mask) == self._guard.mask
        if not isinstance(mask, cst.UnaryOperation) or not isinstance(mask.operator, cst.BitInvert):
            return False
        return self._scene.code(_unwrap_arranged(self._scene, mask.expression)) == self._guard.mask


def _unwrap_arranged(scene: FunctionSource, node: cst.BaseExpression) -> cst.BaseExpression:
    """Return the expression all of whose elements another one holds, and no others: `mask` of `mask.unsqueeze(1)`, of `mask[..., None]`."""
    while True:
        if isinstance(node, cst.Subscript) and all(_keeps_all(scene, one.slice) for one in node.slice):
            node = node.value
        elif (
            isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and operation(scene, node) in _ARRANGING
        ):
            node = arguments_of(scene, node)[0]
        else:
            return node


def _keeps_all(scene: FunctionSource, part: cst.BaseSlice) -> bool:
    """Return whether a part of an index leaves nothing out: `None`, `...` and `:`."""
    return scene.code(part) in ("None", "...", ":")


def _is_writable(scene: FunctionSource, target: cst.Subscript) -> bool:
    """Return whether an assignment through a mask can be written without waiting itself: without a guard it would wait at each step."""
    index = read_masked(scene, target)
    return index is not None and not isinstance(align(scene, index), NoFix)


def _operand(scene: FunctionSource, call: cst.Call) -> str:
    """The code of the one operand of a call without options; "" where there are more."""
    operands = arguments_of(scene, call)
    method = isinstance(call.func, cst.Attribute) and bool(operands) and operands[0] is call.func.value
    if len(operands) != 1 or len(call.args) != (0 if method else 1):
        return ""
    return scene.code(operands[0])


def _is_mask(scene: FunctionSource, call: cst.Call) -> bool:
    """Return whether the operand of a call is one tensor: no list of several masks, and nothing else."""
    operand = arguments_of(scene, call)[0]
    return bool(values.tensors_only(scene.value(operand)))


def _list_computed(line: cst.SimpleStatementLine) -> list[cst.CSTNode]:
    """List the expressions that a statement computes, without its target."""
    one = line.body[0]
    if isinstance(one, (cst.Assign, cst.AugAssign)):
        return [one.value]
    if isinstance(one, cst.Expr) and isinstance(one.value, cst.Call):
        return [arg.value for arg in one.value.args]
    return [one]
