"""Arguments as a tracer passes them on: tensors in place of arrays, and of what is not known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from xlalint.abstract.lattice import join
from xlalint.abstract.structures import map_leaves
from xlalint.abstract.values import (
    ARRAYS,
    HOST,
    NONE,
    UNKNOWN,
    Const,
    Function,
    Host,
    Instance,
    Sequence,
    Tensor,
    Union,
    Value,
    constant,
    function,
    kind_of_number,
    members,
    tensor,
)
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.spelling import spelling
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.program.linker import FunctionInfo

_PLACED = ("", "/", "k")
# Functions that make arrays of a size.
_OF_SIZES = frozenset(("arange", "zeros", "ones", "full", "eye"))
# What dicts, lists and named tuples have, and arrays have not.
_OF_STRUCTURES = frozenset(
    ("items", "keys", "values", "get", "pop", "update", "append", "extend", "_replace", "_asdict", "_fields")
)
# Functions whose second argument is a shape.
_SHAPED = frozenset(("broadcast_to", "reshape", "tile"))


def as_traced(value: Value, framework: str) -> Value:
    """Return what a jitted function finds in a parameter: tensors of the framework, also in place of the host's arrays."""
    return map_leaves(value, lambda leaf: _as_tensor(leaf, framework))


def as_carried(value: Value, framework: str) -> Value:
    """Return what a function finds in a parameter that a loop of the graph runs: numbers are tensors as well."""
    return map_leaves(value, lambda leaf: _as_number(_as_tensor(leaf, framework), framework))


def as_returned(value: Value, framework: str, of_record: Callable[[Instance], Value]) -> Value:
    """Return what a compiled function gives its caller: tensors, of numbers too. What an object of the program's holds its class says."""
    return map_leaves(value, lambda leaf: _as_number(leaf, framework), of_record)


def as_known(value: Value, framework: str) -> Value:
    """Mark what was computed before the tracing began: traced code knows the values of its tensors, not those of what it makes of them."""
    return map_leaves(value, lambda leaf: _with_value(leaf, framework, known=True))


def as_recorded(value: Value, framework: str, *, sure: bool = False) -> Value:
    """Return what an operation of a framework gives that is recorded: no value of it is known, whatever it was made of.

    `sure`: it gives nothing but tracers.
    """
    if sure and type(value) is Tensor and value.framework in (framework, ARRAYS):
        return tensor(framework, value.dtype, value.rank, value.place, sure=True)
    return map_leaves(value, lambda leaf: _with_value(leaf, framework, known=False))


def _with_value(leaf: Value, framework: str, *, known: bool) -> Value:
    if known and type(leaf) is Function and leaf.closure:
        closure = tuple([(name, as_known(value, framework)) for name, value in leaf.closure])
        return function(leaf.info, leaf.receiver, closure)
    if type(leaf) is not Tensor or leaf.framework != framework or leaf.static is known:
        return leaf
    return tensor(leaf.framework, leaf.dtype, leaf.rank, leaf.place, leaf.sure, known)


def _as_tensor(leaf: Value, framework: str) -> Value:
    if type(leaf) is Tensor and leaf.framework == ARRAYS:
        return tensor(framework, leaf.dtype, leaf.rank)
    return leaf


def _as_number(leaf: Value, framework: str) -> Value:
    kind = kind_of_number(leaf) if type(leaf) is Const or type(leaf) is Host else ""
    return tensor(framework, kind, 0) if kind else leaf


def replace_unknown(value: Value, framework: str, of_record: Callable[[Instance], Value] | None) -> Value:
    """Return what a tracer passes for an argument of which nothing but the parameter says more.

    `of_record` takes apart objects of the program, None where the tracer leaves all that is no tensor as it is.
    """
    leaf = tensor(framework, sure=False)
    if value is UNKNOWN:
        return leaf
    if of_record is None:
        return value
    if type(value) is Union:
        return as_traced(value, framework)
    if type(value) is Instance:
        return of_record(value)
    return map_leaves(as_traced(value, framework), lambda one: leaf if one is UNKNOWN else one)


def arguments_of_method(info: FunctionInfo, args: tuple[Value, ...], framework: str, count: int) -> tuple[Value, ...]:
    """The arguments of a method that a framework calls, where nothing is known of its callers.

    The first `count` are tensors, or structures of tensors. So may the others be, but for flags and what is compared with a name. The
    framework passes no texts: a mode is the one that the default says; nor what only holds tensors, as a cache does, where None is the
    default: where a compiled function passes that, its call says so.
    """
    placed = [i for i, param in enumerate(info.params) if param.kind in _PLACED and i]
    found = list(args)
    for position in placed:
        value, param = args[position], info.params[position]
        if type(value) is Tensor and value.framework == ARRAYS:
            array = tensor(framework, value.dtype, value.rank, sure=False)
            found[position] = UNKNOWN if _sizes(info, param.name) else array
        elif value is UNKNOWN and param.default is None and not (chooses(info, param.name) or _sizes(info, param.name)):
            known = tensor(framework, sure=False)
            found[position] = known if position in placed[:count] else join(known, UNKNOWN)
        elif _may_be_left_out(value):
            found[position] = NONE
        elif (
            position not in placed[:count]
            and isinstance(param.default, ir.Const)
            and isinstance(param.default.value, str)
        ):
            found[position] = constant(param.default.value)
    return tuple(found)


def _may_be_left_out(value: Value) -> bool:
    """Return whether a value is None or an object, or several objects: no tensor, nor anything that is not known."""
    found = members(value)
    return NONE in found and len(found) > 1 and all(one is NONE or type(_element_of(one)) is Instance for one in found)


def _element_of(value: Value) -> Value:
    return value.element if type(value) is Sequence else value


def chooses(info: FunctionInfo, name: str) -> bool:
    """Return whether a body asks for the truth of a bare name, compares it with a text, or counts by it: tensors are no such thing."""
    for node in ir.walk(info.body):
        if isinstance(node, (ir.If, ir.While, ir.IfExp)) and _is_name(node.test, name):
            return True
        if isinstance(node, ir.Not) and _is_name(node.value, name):
            return True
        if isinstance(node, ir.Bool) and any(_is_name(value, name) for value in node.values):
            return True
        if isinstance(node, ir.Compare) and _is_name(node.left, name) and any(map(_is_text, node.rights)):
            return True
    return False


def _sizes(info: FunctionInfo, name: str) -> bool:
    """Return whether a body makes an array of a bare name's size, or of its parts': where that is the host's, no tensor under a tracer is
    one."""
    calls = [one for one in ir.walk(info.body) if isinstance(one, ir.Call) and isinstance(one.func, ir.Attr)]
    made = [one.args[0] for one in calls if one.args and _last(one) in _OF_SIZES]
    shaped = [one.args[1] for one in calls if len(one.args) > 1 and _last(one) in _SHAPED]
    scanned = [one for call in calls if _last(call) == "scan" for one in _lengths(call)]
    sizes = (*made, *shaped, *scanned)
    names = (name, *_parts(info, name)) if sizes else ()
    return any(_counts_by(size, one) for size in sizes for one in names)


def _lengths(call: ir.Call) -> tuple[ir.Node, ...]:
    """Return how many turns a scan is told to take: so many rows its result has."""
    return (*call.args[3:4], *(value for key, value in call.keywords if key == "length"))


def sizes_by(info: FunctionInfo, name: str) -> bool:
    """Return whether a body makes an array of a bare name's size, or of what it computes of that alone: `length = width**2`."""
    if _sizes(info, name):
        return True
    return any(
        _sizes(info, target.id)
        for one in ir.walk(info.body)
        if isinstance(one, ir.Assign) and isinstance(one.value, ir.Bin) and _counts_by(one.value, name)
        for target in one.targets
        if isinstance(target, ir.Name)
    )


def _parts(info: FunctionInfo, name: str) -> Iterator[str]:
    """The names that a body unpacks a bare name to: `height, width = size`."""
    for node in ir.walk(info.body):
        if isinstance(node, ir.Assign) and _is_name(node.value, name):
            for target in node.targets:
                if isinstance(target, ir.Display):
                    yield from (item.id for item in target.items if isinstance(item, ir.Name))


def _last(call: ir.Call) -> str:
    return call.func.name if isinstance(call.func, ir.Attr) else ""


def _counts_by(size: ir.Node, name: str) -> bool:
    if isinstance(size, ir.Display):
        return any(_counts_by(one, name) for one in size.items)
    if isinstance(size, ir.Bin):
        return _counts_by(size.left, name) or _counts_by(size.right, name)
    return _is_name(size, name)


def is_number(info: FunctionInfo, name: str) -> bool:
    """Return whether a body uses a bare name as a flag or as a number of the host: it counts by it, makes arrays of that size, or compares
    it with one."""
    if chooses(info, name) or _sizes(info, name):
        return True
    for node in ir.walk(info.body):
        if isinstance(node, ir.Compare) and _is_name(node.left, name) and all(map(_is_literal, node.rights)):
            return True
        if isinstance(node, ir.Call) and _is_name(node.func, "range") and any(_is_name(arg, name) for arg in node.args):
            return True
    return False


def _is_literal(node: ir.Node) -> bool:
    return isinstance(node, ir.Const) and isinstance(node.value, (int, float))


def _is_name(node: ir.Node | None, name: str) -> bool:
    return isinstance(node, ir.Name) and node.id == name


def _is_text(node: ir.Node) -> bool:
    if isinstance(node, ir.Display):
        return bool(node.items) and all(map(_is_text, node.items))
    return isinstance(node, ir.Const) and isinstance(node.value, str)


def is_structure(info: FunctionInfo, name: str) -> bool:
    """Return whether a body takes a bare name apart as no array is: by texts, as a dict or a named tuple, into names or arguments."""
    for node in ir.walk(info.body):
        if isinstance(node, ir.Sub) and _is_name(node.value, name) and _is_text(node.index):
            return True
        if isinstance(node, ir.Attr) and _is_name(node.value, name) and node.name in _OF_STRUCTURES:
            return True
        if isinstance(node, ir.Star) and _is_name(node.value, name):
            return True
        if isinstance(node, ir.Assign) and _is_name(node.value, name) and isinstance(node.targets[0], ir.Display):
            return True
        if isinstance(node, ir.Call) and any(not key and _is_name(value, name) for key, value in node.keywords):
            return True
    return False


def is_gone_over(info: FunctionInfo, name: str) -> bool:
    """Return whether a body goes over a bare name, by itself or beside others: what has several parts and is an array has no truth."""
    return any(_is_name(part, name) for one in ir.walk(info.body) for part in _gone_over_by(one))


def _gone_over_by(node: object) -> tuple[ir.Node, ...]:
    """List what a loop goes over row by row, of the host or, in a call, of the device: `scan(step, carry, rows)`."""
    if isinstance(node, (ir.For, ir.Generator)):
        return (node.iterable, *_given_beside(node.iterable))
    if isinstance(node, ir.Call) and last_name(node.func) == "scan":
        return (*node.args[2:3], *[value for key, value in node.keywords if key == "xs"])
    return ()


def _given_beside(node: ir.Node) -> tuple[ir.Node, ...]:
    if not isinstance(node, ir.Call) or not isinstance(node.func, ir.Name):
        return ()
    return node.args if node.func.id in ("enumerate", "zip") else ()


def is_taken_apart(info: FunctionInfo, node: ir.Node) -> bool:
    """Return whether a body asks an expression, as it stands elsewhere, for what dicts have and arrays have not: `x[0].keys()`."""
    shown = spelling(node)
    asked = (one.value for one in ir.walk(info.body) if isinstance(one, ir.Attr) and one.name in _OF_STRUCTURES)
    return any(type(one) is type(node) and spelling(one) == shown for one in asked)


def is_asked_for_key(info: FunctionInfo, node: ir.Node, key: ir.Node) -> bool:
    """Return whether a body takes of an expression the very entry of which it asks whether it is there: `x[k] if k in x else y`."""
    shown, wanted = spelling(node), spelling(key)
    entries = (one for one in ir.walk(info.body) if isinstance(one, ir.Sub))
    return any(spelling(one.value) == shown and spelling(one.index) == wanted for one in entries)


def is_shape(default: Value) -> bool:
    """Return whether a parameter's default is a tuple or list of numbers of the host, as shapes and axes are."""
    return type(default) is Sequence and default.items is not None and all(type(one) is Const for one in default.items)


def binds_itself(info: FunctionInfo, param: ir.Param) -> bool:
    """Return whether a parameter keeps what the code around has where the function is made: `def step(x, task=task)`.

    The defaults of a lambda are there for that, `lambda x, c=config: …`: who calls it passes the others.
    """
    if param.default is None:
        return False
    return info.name == "<lambda>" or (type(param.default) is ir.Name and param.default.id == param.name)


def is_choice(default: Value) -> bool:
    """Return whether a parameter's default is a flag or a text: Python cannot choose by what a tracer passes in its place."""
    return type(default) is Const and isinstance(default.value, (bool, str))


def static_places(info: FunctionInfo, static: tuple[object, ...]) -> frozenset[int]:
    """Number the parameters that `static` names or numbers: a number that no parameter has makes none static, unless `*args` takes it."""
    params = info.params
    count = len(params)
    rest = [i for i, param in enumerate(params) if param.kind == "*"]
    places = [item % count for item in static if isinstance(item, int) and -count <= item < count]
    beyond = rest if any(isinstance(item, int) and item >= count for item in static) else ()
    return frozenset((*places, *beyond, *(i for i, param in enumerate(params) if param.name in static)))


def static_arguments(args: tuple[Value, ...], places: frozenset[int]) -> tuple[Value, ...]:
    """The arguments with those at static places as host values."""
    return tuple(HOST if i in places and (isinstance(v, Tensor) or v is UNKNOWN) else v for i, v in enumerate(args))


__all__ = [
    "arguments_of_method",
    "as_known",
    "as_recorded",
    "as_traced",
    "binds_itself",
    "chooses",
    "is_asked_for_key",
    "is_choice",
    "is_gone_over",
    "is_number",
    "is_shape",
    "is_structure",
    "is_taken_apart",
    "replace_unknown",
    "sizes_by",
    "static_arguments",
    "static_places",
]
