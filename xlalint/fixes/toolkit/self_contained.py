"""Asks of statements whether they can be computed on the host as they stand: nothing in them has a place of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from xlalint.abstract.values import UNKNOWN, Function, LibrarySymbol, Method, Tensor, Value, members
from xlalint.fixes.toolkit.dataflow import bindings
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.operations import MAKERS, NEW, RANDOM, VIEWS, makes_new, names, operation
from xlalint.lowering import ir
from xlalint.program.linker import FunctionInfo

_PLACED = names("cuda xla npu xpu tpu share_memory_ pin_memory")
_DEVICES = ("cuda", "xla", "tpu", "meta")
_PACKAGES = names("builtins itertools math torch")
_DISPLAYS = (cst.List, cst.ListComp, cst.Dict, cst.DictComp, cst.Set, cst.SetComp)
_ENDS = (cst.Yield, cst.Await, cst.Global, cst.Nonlocal, cst.FunctionDef, cst.ClassDef, cst.With, cst.Del)


def find_hindrance(scene: FunctionSource, statements: Iterable[cst.CSTNode], inputs: set[str]) -> str:
    """Find what in statements keeps them where they are, as code; "" if they can be computed on the host."""
    for line in statements:
        for node in (*scene.descend(line, *_ENDS), *_find_placed(scene, line, inputs), *_writes(scene, line)):
            return scene.code(node)
        for call in scene.descend(line, cst.Call):
            if not _is_free(scene, call, inputs):
                return scene.code(call)
    return ""


def _find_placed(scene: FunctionSource, line: cst.CSTNode, inputs: set[str]) -> Iterator[cst.CSTNode]:
    """Yield what names a device, or a tensor that is no input and is not made here."""
    for text in scene.descend(line, cst.SimpleString):
        if any(kind in text.value for kind in _DEVICES):
            yield text
    for attribute in scene.descend(line, cst.Attribute):
        root = _root(attribute)
        if root is None or root.value == "torch" or _is_own(scene, root, inputs):
            continue
        if attribute.attr.value == "device" or _may_be_tensor(scene.value(attribute)):
            yield attribute
    for name in scene.descend(line, cst.Name):
        if _may_be_tensor(scene.value(name)) and not _is_own(scene, name, inputs):
            yield name


def _root(node: cst.BaseExpression) -> cst.Name | None:
    """The name that an attribute, element or call begins with; None for other expressions."""
    while isinstance(node, (cst.Attribute, cst.Subscript, cst.Call)):
        node = node.func if isinstance(node, cst.Call) else node.value
    return node if isinstance(node, cst.Name) else None


def _is_own(scene: FunctionSource, name: cst.Name, inputs: set[str]) -> bool:
    """Return whether a name is that of an input, or is bound in the function."""
    return name.value in inputs or bool(bindings(scene, scene.function(name) or scene.root, name.value))


def _may_be_tensor(value: Value) -> bool:
    return any(type(one) is Tensor for one in members(value))


def _writes(scene: FunctionSource, line: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield what is written into, unless the function has made it."""
    targets: list[cst.BaseExpression] = [one.target for one in scene.descend(line, cst.AssignTarget)]
    targets += [one.target for one in scene.descend(line, cst.AnnAssign)]
    targets += [one.target for one in scene.descend(line, cst.AugAssign)]
    for target in targets:
        if isinstance(target, cst.Attribute) or (
            isinstance(target, cst.Subscript) and not _is_made_here(scene, target.value)
        ):
            yield target
    for one in scene.descend(line, cst.AugAssign):
        if (
            isinstance(one.target, cst.Name)
            and _may_be_tensor(scene.value(one.target))
            and not _is_made_here(scene, one.target)
        ):
            yield one
    for call in scene.descend(line, cst.Call):
        changes = operation(scene, call).endswith("_") or any(
            arg.keyword and arg.keyword.value == "out" for arg in call.args
        )
        if changes and not (isinstance(call.func, cst.Attribute) and _is_made_here(scene, call.func.value)):
            yield call


def _is_made_here(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether all that a name is bound to in the function is new: a list or dict, a tensor of its own, or a number."""
    function = scene.function(node)
    if not isinstance(node, cst.Name) or function is None:
        return False
    found = [one for one in bindings(scene, function, node.value) if not isinstance(scene.parent(one), cst.AugAssign)]
    made = [_find_assigned(scene, one) for one in found]
    return bool(made) and all(
        one is not None and (isinstance(one, (*_DISPLAYS, cst.Integer)) or makes_new(scene, one)) for one in made
    )


def _find_assigned(scene: FunctionSource, name: cst.Name) -> cst.BaseExpression | None:
    holder = scene.parent(name)
    statement = scene.parent(holder) if isinstance(holder, cst.AssignTarget) else holder
    return statement.value if isinstance(statement, (cst.Assign, cst.AnnAssign)) else None


def _is_free(scene: FunctionSource, call: cst.Call, inputs: set[str]) -> bool:
    """Return whether a call computes wherever its arguments lie: of torch, Python, a list, or a function of the program that does.

    So does what makes an exception that is raised, reached or not. An input is what the function says, also where a caller's is unknown.
    """
    found = set(members(scene.value(call.func)))
    root = _root(call.func)
    if root is not None and root.value != "torch" and _is_own(scene, root, inputs):
        found.discard(UNKNOWN)
    return isinstance(scene.parent(call), cst.Raise) or (bool(found) and all(_is_free_callee(one) for one in found))


def _is_free_callee(value: Value) -> bool:
    if isinstance(value, Function):
        return not value.info.ir.decorators and value.info.answers(_is_self_contained)
    if type(value) is LibrarySymbol:
        package, _, rest = value.name.partition(".")
        name = rest.rpartition(".")[2]
        return package in _PACKAGES and name not in RANDOM and name not in _PLACED and name != "print"
    return type(value) is Method and value.name not in RANDOM and value.name not in _PLACED


def _is_self_contained(info: FunctionInfo) -> bool:
    """Return whether a function of the program works on its arguments alone, and changes nothing."""
    if info.ir.is_generator or info.ir.is_async:
        return False
    body = tuple(ir.walk(info.body))
    own = _find_own(body) - {param.name for param in info.params}
    return all(_is_contained(node, own) for node in body)


def _find_own(body: tuple[object, ...]) -> set[str]:
    """The variables of a function that are only ever given numbers or tensors of their own."""
    given: dict[str, list[ir.Node]] = {}
    for node in body:
        if isinstance(node, ir.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ir.Name):
            given.setdefault(node.targets[0].id, []).append(node.value)
    return {name for name, found in given.items() if all(map(_gives_own, found))}


def _gives_own(node: ir.Node) -> bool:
    """Return whether an expression gives a number, or a tensor of its own: `torch.stack(x)`, or that in another shape."""
    if not isinstance(node, ir.Call) or not isinstance(node.func, ir.Attr):
        return isinstance(node, ir.Const)
    return node.func.name in NEW | MAKERS or (node.func.name in VIEWS and _gives_own(node.func.value))


def _is_contained(node: object, own: set[str]) -> bool:
    if isinstance(node, ir.Assign):
        return all(_is_own_target(target, own) for target in node.targets)
    if isinstance(node, ir.AugAssign):
        target = node.target.value if isinstance(node.target, ir.Sub) else node.target
        return isinstance(target, ir.Name) and target.id in own
    if isinstance(node, ir.Call):
        return isinstance(node.func, ir.Attr) or (
            isinstance(node.func, ir.Name) and (node.func.id in _BUILTINS or node.func.id.endswith("Error"))
        )
    if isinstance(node, ir.Attr):
        return node.name not in _PLACED and node.name not in RANDOM and not node.name.endswith("_")
    if isinstance(node, ir.Name):
        return node.id != "self"
    return not isinstance(node, (ir.With, ir.Lambda, ir.Define, ir.Import))


def _is_own_target(target: ir.Node, own: set[str]) -> bool:
    if isinstance(target, ir.Sub):
        return isinstance(target.value, ir.Name) and target.value.id in own
    return isinstance(target, (ir.Name, ir.Display))


_BUILTINS = names("abs enumerate float int len list max min range round sum tuple zip")
