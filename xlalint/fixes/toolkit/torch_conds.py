"""Checks what `torch.cond` requires of its branches, as of torch 2.9.1, where it raises and does not fall back.

Nothing that a branch gives may be, or be a view of, something that it was given; no two tensors that the branches read may share memory;
nothing may be changed in place, and no branch may ask for a tensor's value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from xlalint.abstract.values import Function, LibraryInstance, members
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.bindings import made_before
from xlalint.fixes.toolkit.conditions import holds_tensor
from xlalint.fixes.toolkit.dataflow import binds, reads
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.operations import makes_new, operation
from xlalint.fixes.toolkit.speculation import assignments
from xlalint.fixes.toolkit.text import argument, atom

# Attributes that are views: Dynamo reads them outside of the branch, next to the tensor itself.
_VIEW_ATTRIBUTES = frozenset(("H", "T", "data", "grad", "imag", "mH", "mT", "real"))


def is_traced(scene: FunctionSource, function: cst.FunctionDef) -> bool:
    """Return whether Dynamo may trace a function. TorchScript knows no `torch.cond`."""
    around = [function, *(one for one in scene.above(function) if isinstance(one, cst.FunctionDef))]
    decorators = [scene.code(one.decorator) for holder in around for one in holder.decorators]
    return not any("jit.script" in one or "jit.trace" in one or one == "script" for one in decorators)


def is_new(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether an expression gives a tensor that shares its memory with no other. The program's functions are trusted to."""
    if not isinstance(node, cst.Call) or operation(scene, node):
        return makes_new(scene, node)
    found = members(scene.value(node.func))
    return bool(found) and all(
        type(one) is Function or (type(one) is LibraryInstance and not one.name.endswith(".Identity")) for one in found
    )


def new(scene: FunctionSource, node: cst.BaseExpression) -> str:
    """An expression's code, as that of a new tensor."""
    return argument(scene, node) if is_new(scene, node) else f"{atom(scene, node)}.clone()"


def breaks(scene: FunctionSource, node: cst.CSTNode) -> bool:
    """Return whether `torch.cond` cannot trace a part of a branch."""
    if any(one.attr.value in _VIEW_ATTRIBUTES and _is_tensor(scene, one) for one in scene.descend(node, cst.Attribute)):
        return True
    asked = [one.test for one in scene.descend(node, cst.IfExp)]
    asked += [part for one in scene.descend(node, cst.BooleanOperation) for part in (one.left, one.right)]
    return any(holds_tensor(scene, one) for one in asked)


def _is_tensor(scene: FunctionSource, node: cst.Attribute) -> bool:
    return values.is_tensor(scene.value(node), "torch") or values.is_tensor(scene.value(node.value), "torch")


def views(scene: FunctionSource, statement: cst.BaseStatement, nodes: Iterable[cst.CSTNode]) -> list[str] | None:
    """List what branches, given by their expressions, read from outside and may not own its memory; None if two of these may be views of
    one tensor.
    """
    read = _find_captured(scene, nodes)
    known = {name: _origin(scene, statement, name) for name in read}
    if len(read) > 1 and "view" in known.values():
        return None
    return [name for name in read if known[name] != "new"]


def _find_captured(scene: FunctionSource, nodes: Iterable[cst.CSTNode]) -> Sequence[str]:
    found: dict[str, None] = {}
    for node in nodes:
        known = reads(scene, node)
        for one in scene.descend(node, cst.Name, cst.Attribute):
            held = values.is_tensor(scene.value(one), "torch") and _is_path(one)
            if held and (isinstance(one, cst.Attribute) or scene.code(one) in known):
                found[scene.code(one)] = None
    return list(found)


def _is_path(node: cst.CSTNode) -> bool:
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Name)


def _origin(scene: FunctionSource, statement: cst.BaseStatement, name: str) -> str:
    """Where a variable's tensor comes from: "new", a "view" of another, or "" for what is not seen."""
    if made_before(scene, statement, name):
        return "new"
    node: cst.CSTNode = statement
    while not isinstance(node, (cst.FunctionDef, cst.Module)):
        siblings, index = scene.siblings(node)
        for line in reversed(siblings[:index]):
            if name in binds(scene, line):
                return _made_by(scene, dict(assignments(line)).get(name))
        node = scene.parent(node)
    given = isinstance(node, cst.FunctionDef) and any(
        one.name.value == name for one in scene.descend(node.params, cst.Param)
    )
    return "" if given or "." in name else "new"  # what only the branches bind


def _made_by(scene: FunctionSource, node: cst.BaseExpression | None) -> str:
    """The same of what an assignment binds; None for one that is no plain one."""
    if isinstance(node, cst.Call) and not operation(scene, node):
        return ""
    return "new" if node is not None and is_new(scene, node) else "view"
