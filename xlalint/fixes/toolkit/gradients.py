"""Where the gradient of an expression goes, and whether choosing between two expressions leaves every gradient as it was.

`where` sends a gradient of zeros into the side that it does not choose. That changes nothing if the zeros arrive as zeros, which they do
not where a derivative is infinite or NaN, and if they arrive where the gradient of the chosen side goes anyway: what had none has one now.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import Const, Host, LibrarySymbol, Tensor, members
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.operations import CASTS, CUT, LINEAR, VIEWS, arguments_of, operation


class Slope(NamedTuple):
    """Where the gradient of an expression goes: into the variables `into`; `tame` says that a gradient of zero arrives as zeros."""

    into: frozenset[str] = frozenset()
    tame: bool = True

    def __or__(self, other: Slope) -> Slope:
        return Slope(self.into | other.into, self.tame and other.tame)


FLAT = Slope()


class Slopes:
    """The slopes of expressions at one point of a scene's function."""

    def __init__(self, scene: FunctionSource, framework: str) -> None:
        self._scene = scene
        self._framework = framework
        self._assigned: dict[str, Slope] = {}

    def assign(self, name: str, value: cst.BaseExpression) -> None:
        """From here on a name stands for the value of an expression that was just computed."""
        self._assigned[name] = self.of(value)

    def alike(self, first: cst.BaseExpression, second: cst.BaseExpression) -> bool:
        """Return whether choosing between two expressions gives each variable the gradient of the chosen one alone."""
        a, b = self.of(first), self.of(second)
        return a.tame and b.tame and a.into == b.into

    def of(self, node: cst.BaseExpression) -> Slope:
        """Where an expression's gradient goes."""
        value = self._scene.value(node)
        if isinstance(node, cst.Name) and node.value in self._assigned:
            return self._assigned[node.value]
        if values.is_number(value) or values.dtype_of(value) in ("b", "i"):
            return FLAT
        if isinstance(node, (cst.Name, cst.Attribute)):
            return Slope(frozenset((self._scene.code(node),)))
        if isinstance(node, cst.UnaryOperation):
            return self.of(node.expression)
        if isinstance(node, cst.Comparison):
            return FLAT
        if isinstance(node, cst.BinaryOperation):
            return self._binary(node)
        if isinstance(node, cst.Subscript):
            return self.of(node.value)
        if isinstance(node, cst.Call):
            return self._call(node)
        return Slope(frozenset(name.value for name in self._scene.descend(node, cst.Name)), tame=False)

    def _binary(self, node: cst.BinaryOperation) -> Slope:
        left, right = self.of(node.left), self.of(node.right)
        both = left | right
        if isinstance(node.operator, (cst.Add, cst.Subtract)):
            return both
        if isinstance(node.operator, cst.Multiply) and FLAT in (left, right):
            limitless = any(is_infinite(self._scene, one) for one in (node.left, node.right))
            return Slope(both.into, tame=not limitless)
        divisor = self._scene.value(node.right)
        if isinstance(node.operator, cst.Divide) and type(divisor) is Const and divisor.value:
            return both
        return Slope(both.into, tame=not both.into)

    def _call(self, node: cst.Call) -> Slope:
        name = operation(self._scene, node)
        if name in CUT:
            return FLAT
        given = [*arguments_of(self._scene, node), *(arg.value for arg in node.args if arg.keyword is not None)]
        if not name and isinstance(node.func, cst.Attribute):
            given.append(node.func)
        if name == "where":
            given = given[1:]
        slope = FLAT
        for one in given:
            slope = slope | self._argument(one)
        if name in LINEAR or name in CASTS or name in VIEWS:
            return slope
        return Slope(slope.into, tame=False)

    def _argument(self, node: cst.BaseExpression) -> Slope:
        if isinstance(node, (cst.List, cst.Tuple)):
            slope = FLAT
            for element in node.elements:
                slope = slope | self.of(element.value)
            return slope
        held = any(type(member) is Tensor for member in members(self._scene.value(node)))
        known = bool(members(self._scene.value(node))) and not held
        return FLAT if known and isinstance(self._scene.value(node), (Const, Host, LibrarySymbol)) else self.of(node)


def is_infinite(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether a number is written as an infinity or NaN, or is one."""
    code, value = scene.code(node).lower(), scene.value(node)
    if type(value) is Const and type(value.value) is float and not math.isfinite(value.value):
        return True
    return any(word in code for word in ('"inf', "'inf", '"-inf', "'-inf", ".inf", "nan"))


def without_gradient(scene: FunctionSource, node: cst.CSTNode) -> bool:
    """Return whether code surely runs where no gradients are kept: under `torch.no_grad` or `inference_mode`."""
    for holder in scene.above(node):
        if isinstance(holder, cst.FunctionDef) and any(_stops(scene, one.decorator) for one in holder.decorators):
            return True
        if isinstance(holder, cst.With) and any(_stops(scene, item.item) for item in holder.items):
            return True
    return False


def _stops(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    while isinstance(node, cst.Call):
        node = node.func
    return scene.code(node).rpartition(".")[2] in ("no_grad", "inference_mode")
