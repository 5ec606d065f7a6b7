"""What a variable holds in front of a statement: its value, and whether it was made just there."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.dataflow import binds, reads
from xlalint.fixes.operations import CASTS, VIEWS, operation
from xlalint.fixes.scene import Scene
from xlalint.fixes.speculation import assignments
from xlalint.semantics.values import UNKNOWN, Value


def value_before(scene: Scene, statement: cst.BaseStatement, name: str) -> Value:
    """What a variable holds where a statement begins; `UNKNOWN` where that is not seen."""
    start, _ = scene.span(statement)
    for use in scene.descend(statement, cst.Name):
        if use.value == name and name in reads(scene, use) and name not in _bound_before(scene, statement, use):
            return scene.value(use)
    node: cst.CSTNode = statement
    while not isinstance(node, (cst.FunctionDef, cst.Module)):
        siblings, index = scene.siblings(node)
        for sibling in reversed(siblings[:index]):
            if name in binds(scene, sibling):
                return _bound_value(scene, sibling, name)
        node = scene.parent(node)
        if isinstance(node, (cst.For, cst.While)) and _rebinds(scene, node, statement, name):
            return UNKNOWN
    return _parameter(scene, node, start, name)


def _bound_before(scene: Scene, statement: cst.BaseStatement, use: cst.Name) -> set[str]:
    """The names that a statement binds in front of a use of one in it; the other branch of an `if` is not in front."""
    at, _ = scene.span(use)
    around = {use, *scene.above(use)}
    found: set[str] = set()
    for line in scene.descend(statement, cst.SimpleStatementLine):
        if scene.span(line)[1] <= at and not _in_other_branch(scene, line, around):
            found |= binds(scene, line)
    return found


def _in_other_branch(scene: Scene, line: cst.CSTNode, around: set[cst.CSTNode]) -> bool:
    """Whether a line runs only where some node, told by all that is around it, does not: in the other branch of an `if` around both."""
    holders = (one for one in scene.above(line) if isinstance(one, cst.If) and one in around)
    nearest = next(holders, None)
    return nearest is not None and nearest.orelse is not None and nearest.orelse in around


def _bound_value(scene: Scene, statement: cst.CSTNode, name: str) -> Value:
    if not isinstance(statement, cst.SimpleStatementLine):
        return UNKNOWN
    for one in statement.body:
        for target in scene.descend(one, cst.Name):
            if target.value == name and name in binds(scene, target):
                return scene.value(target)
    return UNKNOWN


def _rebinds(scene: Scene, loop: cst.CSTNode, but: cst.CSTNode, name: str) -> bool:
    extent = scene.span(but)
    for target in scene.descend(loop, cst.Name):
        at, _ = scene.span(target)
        if target.value == name and not extent[0] <= at < extent[1] and name in binds(scene, target):
            return True
    return False


def _parameter(scene: Scene, function: cst.CSTNode, start: int, name: str) -> Value:
    """What a parameter holds that nothing assigns in front of a place, as it is read there."""
    if not isinstance(function, cst.FunctionDef):
        return UNKNOWN
    if not any(param.name.value == name for param in scene.descend(function.params, cst.Param)):
        return UNKNOWN
    for use in scene.descend(function.body, cst.Name):
        if use.value == name and scene.span(use)[0] < start and name in reads(scene, use):
            return scene.value(use)
    return UNKNOWN


def made_before(scene: Scene, statement: cst.CSTNode, name: str) -> bool:
    """Whether the nearest assignment of a variable, in front of a statement and in its block or one around it, surely made a new tensor."""
    node = statement
    while not isinstance(node, (cst.FunctionDef, cst.Module)):
        siblings, index = scene.siblings(node)
        for sibling in reversed(siblings[:index]):
            if name in binds(scene, sibling):
                found = dict(assignments(sibling))
                return name in found and makes(scene, found[name])
        node = scene.parent(node)
        if isinstance(node, (cst.For, cst.While)):
            return False
    return False


def makes(scene: Scene, node: cst.BaseExpression) -> bool:
    """Whether an expression surely gives a new tensor, not one that is held elsewhere as well."""
    if isinstance(node, (cst.BinaryOperation, cst.UnaryOperation, cst.Comparison)):
        return True
    if not isinstance(node, cst.Call):
        return False
    name = operation(scene, node)
    return bool(name) and not name.endswith("_") and name not in _MAY_ALIAS


_MAY_ALIAS = VIEWS | CASTS.keys() | {"contiguous", "detach", "identity", "asarray", "as_tensor", "stop_gradient"}
