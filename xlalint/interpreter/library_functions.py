"""Calls of library functions and classes by dotted name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.lattice import boolean, join_all, truth
from xlalint.abstract.values import (
    UNKNOWN,
    LibraryInstance,
    Mapping,
    Tensor,
    Value,
    foreign,
    members,
    sequence,
    tensor,
    tensors,
)
from xlalint.interpreter.arguments import Arguments
from xlalint.interpreter.builtin_calls import BUILTINS, element_of, is_container
from xlalint.interpreter.dispatch_loops import of_earlier_turn
from xlalint.interpreter.library_calls import LibraryCall
from xlalint.lowering import ir
from xlalint.rules.codes import ITEM, TENSOR_MEMBERSHIP

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.interpreter import Interpreter


def call_external(interpreter: Interpreter, frame: Frame, name: str, arguments: Arguments, node: ir.Call) -> Value:
    """Call the library's function or class of that name."""
    if name.startswith("builtins."):
        return _call_builtin(interpreter, frame, name, arguments, node)
    apis = interpreter.apis
    specials = interpreter.libraries.functions
    special = specials.get(name) or specials.get(apis.canonical(name))
    if special is not None:
        return special(interpreter, frame, arguments, node)
    entry = apis.function(name)
    if entry is not None:
        canonical = apis.canonical(name)
        args = _as_tensors(frame, canonical, arguments.args, node)
        call = LibraryCall(frame, entry, None, args, arguments.pairs(), node)
        call.name = canonical
        call.makes = canonical in interpreter.libraries.factories
        return call.run()
    known = apis.type(name)
    if known is not None and known.kind == "tensor":
        return tensor(apis.framework(name) or interpreter.libraries.default, known.dtype, known.rank)
    spec = apis.klass(name)
    if spec is not None:
        init = apis.class_method(name, "__init__")
        if init is not None:
            made = LibraryCall(frame, init, None, arguments.args, arguments.pairs(), node).run()
            if isinstance(made, LibraryInstance):
                return made
        return foreign(name)
    owner, _, last = name.rpartition(".")
    entry = apis.class_method(owner, last) if owner else None
    if entry is not None:  # a class method, or one of a class that is called by its name
        return LibraryCall(frame, entry, None, arguments.args, arguments.pairs(), node, foreign(owner)).run()
    return UNKNOWN


def _as_tensors(frame: Frame, name: str, args: list[Value], node: ir.Call) -> list[Value]:
    """The arguments of what takes nothing but tensors: one of which nothing else is known is such, from then on. So is the dtype of what
    takes no other."""
    framework, dtype = frame.libraries.of_tensors.get(name, ("", ""))
    if not framework or not args:
        return args
    given = args[0]
    if given is UNKNOWN:
        shown = tensor(framework, dtype, sure=False)
    elif dtype and type(given) is Tensor and given.framework == framework and not given.dtype:
        shown = tensor(framework, dtype, given.rank, given.place, given.sure, given.static)
    else:
        return args
    if node.args and type(node.args[0]) is ir.Name:
        frame.refine(node.args[0].id, shown)
    return [shown, *args[1:]]


def _call_builtin(interpreter: Interpreter, frame: Frame, name: str, arguments: Arguments, node: ir.Call) -> Value:
    handler = BUILTINS.get(name[9:])
    args = arguments.args if arguments.rest is None else [*arguments.args, arguments.rest]
    if name in _ORDERING and len(args) == 1 and any(type(one) is Mapping for one in members(args[0])):
        # The keys are put in order, not what they stand for.
        return sequence("list", None, UNKNOWN) if name == "builtins.sorted" else UNKNOWN
    if name == "builtins.bool" and len(args) == 1 and is_container(args[0]):
        return boolean(truth(args[0]))
    if handler is None or name in _READERS:
        entry = interpreter.apis.function(name)
        if entry is not None and (handler is None or any(map(_holds_tensor, args))):
            call = LibraryCall(frame, entry, None, args, arguments.pairs(), node)
            if handler is None:
                if name == "builtins.print":
                    _read_printed(frame, args, node)
                return call.run()
            if name in _ORDERING and "key" in arguments.keywords:
                _order_by_key(interpreter, frame, arguments, node)
            elif (found := call.hazard()) is not None:
                return of_earlier_turn(found)  # the host has waited for it
    if name in _TAKE_VALUES and len(args) == 1 and len(node.args) == 1:
        for look in frame.libraries.on_array_read:
            look(frame, _TAKE_VALUES[name], node.at, args[0], node.args[0], "")
    return handler(frame, args, node) if handler is not None else UNKNOWN


def _read_printed(frame: Frame, args: list[Value], node: ir.Call) -> None:
    """Note what the host prints of what it dispatched in the same turn of a loop: it waits for that."""
    for part, value in zip(node.args, args, strict=False):
        for one in tensors(value):
            frame.read_in_turn(node.at, one, part)


# Those that take the value of what they are given, or of each of its elements, with the rule for a tensor.
_TAKE_VALUES: Final = {
    "builtins.int": ITEM,
    "builtins.float": ITEM,
    "builtins.complex": ITEM,
    "builtins.bool": ITEM,
    "builtins.any": TENSOR_MEMBERSHIP,
    "builtins.all": TENSOR_MEMBERSHIP,
}

# Builtins of which the tables say when they read a tensor, and for which frameworks that is a hazard.
_READERS: Final = frozenset(
    f"builtins.{name}"
    for name in (
        "int",
        "float",
        "complex",
        "bool",
        "str",
        "repr",
        "format",
        "min",
        "max",
        "sorted",
        "any",
        "all",
        "range",
    )
)
_ORDERING: Final = frozenset(("builtins.min", "builtins.max", "builtins.sorted"))


def _order_by_key(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> None:
    """Report an order by keys that are tensors: Python compares those."""
    compared = arguments.args if len(arguments.args) > 1 else [element_of(frame, arguments.args[0])]
    key = interpreter.call_value(frame, arguments.keywords["key"], [join_all(compared)], (), node)
    if any(isinstance(member, Tensor) for member in members(key)):
        frame.report(TENSOR_MEMBERSHIP, node.at, key, node.args[0] if node.args else None, "its keys are tensors")


def _holds_tensor(value: Value) -> bool:
    return next(iter(tensors(value, 1)), None) is not None


__all__ = ["call_external"]
