"""Finds a variable's value in front of a statement, and whether that was made just there."""

from __future__ import annotations

import libcst as cst

from xlalint.abstract.values import UNKNOWN, Value
from xlalint.fixes.toolkit.dataflow import binds, reads
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.operations import makes_new
from xlalint.fixes.toolkit.speculation import assignments


def value_before(scene: FunctionSource, statement: cst.BaseStatement, name: str) -> Value:
    """Return the value of a variable where a statement begins; `UNKNOWN` if it was not seen."""
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


def _bound_before(scene: FunctionSource, statement: cst.BaseStatement, use: cst.Name) -> set[str]:
    """The names that a statement binds in front of a use of one in it; the other branch of an `if` is not in front."""
    at, _ = scene.span(use)
    around = {use, *scene.above(use)}
    found: set[str] = set()
    for line in scene.descend(statement, cst.SimpleStatementLine):
        if scene.span(line)[1] <= at and not _in_other_branch(scene, line, around):
            found |= binds(scene, line)
    return found


def _in_other_branch(scene: FunctionSource, line: cst.CSTNode, around: set[cst.CSTNode]) -> bool:
    """Return whether a line lies in the other branch of an `if` that is around both it and a node, given by its surroundings."""
    holders = (one for one in scene.above(line) if isinstance(one, cst.If) and one in around)
    nearest = next(holders, None)
    return nearest is not None and nearest.orelse is not None and nearest.orelse in around


def _bound_value(scene: FunctionSource, statement: cst.CSTNode, name: str) -> Value:
    if not isinstance(statement, cst.SimpleStatementLine):
        return UNKNOWN
    for one in statement.body:
        for target in scene.descend(one, cst.Name):
            if target.value == name and name in binds(scene, target):
                return scene.value(target)
    return UNKNOWN


def _rebinds(scene: FunctionSource, loop: cst.CSTNode, but: cst.CSTNode, name: str) -> bool:
    extent = scene.span(but)
    for target in scene.descend(loop, cst.Name):
        at, _ = scene.span(target)
        if target.value == name and not extent[0] <= at < extent[1] and name in binds(scene, target):
            return True
    return False


def _parameter(scene: FunctionSource, function: cst.CSTNode, start: int, name: str) -> Value:
    """Return the value of a parameter that nothing assigns before it is read."""
    if not isinstance(function, cst.FunctionDef):
        return UNKNOWN
    if not any(param.name.value == name for param in scene.descend(function.params, cst.Param)):
        return UNKNOWN
    for use in scene.descend(function.body, cst.Name):
        if use.value == name and scene.span(use)[0] < start and name in reads(scene, use):
            return scene.value(use)
    return UNKNOWN


def made_before(scene: FunctionSource, statement: cst.CSTNode, name: str) -> bool:
    """Return whether the nearest assignment of a variable, above a statement and in its block or an outer one, surely made a new tensor."""
    node = statement
    while not isinstance(node, (cst.FunctionDef, cst.Module)):
        siblings, index = scene.siblings(node)
        for sibling in reversed(siblings[:index]):
            if name in binds(scene, sibling):
                found = dict(assignments(sibling))
                return name in found and makes_new(scene, found[name])
        node = scene.parent(node)
        if isinstance(node, (cst.For, cst.While)):
            return False
    return False
