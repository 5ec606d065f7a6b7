"""Calls of models of which nothing but what is asked of them tells that they are models: `out = net(x)` where it says `net.parameters()`.

A factory made them, or a caller hands them on. What such a call gives is a tensor, a table of them, or an object with the fields that
outputs of Hugging Face's models have, by how its name is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import ARRAYS, UNKNOWN, Const, Host, Tensor, Value, foreign, mapping, members, tensor
from xlalint.interpreter.device_loops import find_owners
from xlalint.interpreter.frame import body_of
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir
from xlalint.program.linker import ClassInfo, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from xlalint.interpreter.arguments import Arguments
    from xlalint.interpreter.frame import Frame

_ASKED: Final = frozenset(("parameters", "named_parameters", "eval", "train", "zero_grad"))
# What may be asked of a list, a tuple or an object as well.
_SHARED: Final = frozenset(
    ("index", "count", "values", "keys", "items", "get", "update", "copy", "device", "dtype", "type")
)
_TAKING_APART: Final = frozenset(
    ("len", "isinstance", "type", "zip", "enumerate", "list", "tuple", "hasattr", "getattr", "iter", "dict")
)
_OUTPUT: Final = "transformers.utils.generic.ModelOutput"
_SHOWN: Final = tensor("torch", sure=False)


def run_model(frame: Frame, arguments: Arguments, node: ir.Call) -> Value | None:
    """Run a call of what is not known, and is a model by what the code around asks of it."""
    path = path_of(node.func)
    if not path or not _is_model(frame, path) or not _may_compute(arguments):
        return None
    if frame.interpreter.annotations.framework(frame.module) != "torch":
        return None
    name = _find_name(node, body_of(frame))
    return _kind_of(frame, name) if name else None


def _may_compute(arguments: Arguments) -> bool:
    """Return whether arguments may be what a model computes with, and on a device: a text says the model is a pipeline of its own."""
    given = [one for value in (*arguments.args, *arguments.keywords.values()) for one in members(value)]
    held = [one for one in given if type(one) is Tensor and one.framework != ARRAYS]
    if any(one.place == "cpu" for one in held):
        return False
    return bool(held) or any(one is UNKNOWN or not isinstance(one, (Const, Host)) for one in given)


def _is_model(frame: Frame, path: str) -> bool:
    """Return whether code around a call asks something for parameters, or sets it to train; or a method does so of what its class keeps, or
    a caller of what it gives."""
    function = frame.function
    if function is None:
        return path in frame.module.answers(_ask_module)
    if path in frame.interpreter.drivers.models_given(function):
        return True
    if any(path in one.answers(_ask_function) for one in (function, *function.enclosing())):
        return True
    receiver, _, attribute = path.partition(".")
    if function.owner is None or not attribute or receiver != frame.scope.receiver_name:
        return False
    return any(path in asked for asked in _asked_by_methods(function.owner))


def _asked_by_methods(klass: ClassInfo) -> Iterator[frozenset[str]]:
    """The names of which methods of a class and its bases ask for parameters."""
    for base in klass.mro:
        if isinstance(base, ClassInfo):
            for index in base.module.answers(_list_asking).get(base.index, ()):
                yield base.module.functions[index].answers(_ask_function)


def _list_asking(module: ModuleInfo) -> dict[int, list[int]]:
    """The methods that ask something for parameters, by class."""
    return {
        klass.index: found
        for klass in module.classes
        if (
            found := [one for one in klass.ir.methods.values() if not _ASKED.isdisjoint(module.functions[one].ir.calls)]
        )
    }


def _ask_function(info: FunctionInfo) -> frozenset[str]:
    return frozenset() if _ASKED.isdisjoint(info.ir.calls) else frozenset(find_owners(info.body, _ASKED))


def _ask_module(module: ModuleInfo) -> frozenset[str]:
    return frozenset() if _ASKED.isdisjoint(module.unit.calls) else frozenset(find_owners(module.body, _ASKED))


def _find_name(node: ir.Call, body: tuple[ir.Statement, ...]) -> str:
    """The only name that a call's result gets, "" where it gets none, or several."""
    for one in ir.walk(body):
        if type(one) is ir.Assign and type(one.value) is ir.Call and one.value.at == node.at:
            target = one.targets[0]
            return target.id if len(one.targets) == 1 and type(target) is ir.Name else ""
    return ""


def _kind_of(frame: Frame, name: str) -> Value | None:
    """Return what a model gives by how its name is used: a table of tensors, or a tensor; None where that does not tell."""
    nodes = tuple(ir.walk(body_of(frame)))
    keys = [one.index for one in nodes if type(one) is ir.Sub and _is_name(one.value, name)]
    if keys and all(type(key) is ir.Const and isinstance(key.value, str) for key in keys):
        return mapping((), _SHOWN)
    if any(type(key) is ir.Const for key in keys) or any(_takes_apart(one, name) for one in nodes):
        return None
    asked = {one.name for one in nodes if type(one) is ir.Attr and _is_name(one.value, name)}
    if asked and all(frame.apis.class_attribute(_OUTPUT, field) for field in asked):
        return foreign(_OUTPUT)
    return _SHOWN if all(name not in _SHARED and frame.apis.method("torch", name) for name in asked) else None


def _is_name(node: ir.Node, name: str) -> bool:
    return type(node) is ir.Name and node.id == name


def _takes_apart(node: object, name: str) -> bool:
    """Return whether a part of a body goes through what a name stands for, or asks what it is."""
    if type(node) is ir.Assign:
        return _is_name(node.value, name) and any(type(target) is ir.Display for target in node.targets)
    if type(node) is ir.For:
        return _is_name(node.iterable, name)
    if type(node) is ir.Call:
        return type(node.func) is ir.Name and node.func.id in _TAKING_APART and _any_is(node.args, name)
    if type(node) is ir.Compare:
        return _is_name(node.left, name) and node.ops[0] in ("is", "is not", "in", "not in")
    return type(node) is ir.Comprehension and _any_is([one.iterable for one in node.generators], name)


def _any_is(nodes: Iterable[ir.Node], name: str) -> bool:
    return any(_is_name(node, name) for node in nodes)


__all__ = ["run_model"]
