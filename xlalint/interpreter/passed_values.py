"""Host values that the calls of a function pass for its parameters, where they are written out: numbers, flags and texts.

A tracer that replaces arrays alone leaves these as they are: `tf.function` traces `step(x, 3)` with the number 3, not with a tensor. Calls
are found by the function's name in the module that hands it to the tracer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from xlalint.abstract.lattice import join_all
from xlalint.abstract.values import Const, Value, constant, sequence
from xlalint.interpreter.device_loops import last_name
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.program.linker import FunctionInfo, ModuleInfo

_DEPTH = 3  # names between what is passed and a literal


class _Site(NamedTuple):
    """A call, and the body of the function that it stands in."""

    call: ir.Call
    body: tuple[ir.Statement, ...]


def passed_values(info: FunctionInfo, module: ModuleInfo) -> dict[int, Value]:
    """Return the host values that a module's calls of a function pass, by the parameters' positions.

    A parameter is left out if one of the calls passes something else, or if it cannot be told which argument is the parameter's.
    """
    sites = list(_find_sites(info, module))
    places = [i for i, param in enumerate(info.params) if param.kind in ("", "/", "k") and not _is_receiver(info, i)]
    found: dict[int, Value] = {}
    for place in places if sites else ():
        told = [_value_at(info, place, site) for site in sites]
        known = [value for value in told if value is not None]
        if len(known) == len(told):
            found[place] = join_all(known)
    return found


def _find_sites(info: FunctionInfo, module: ModuleInfo) -> Iterator[_Site]:
    module.reader.read_whole(module)
    for body in _list_bodies(info, module):
        for node in ir.walk(body):
            if type(node) is ir.Call and _calls(info, node, module):
                yield _Site(node, body)


def _list_bodies(info: FunctionInfo, module: ModuleInfo) -> list[tuple[ir.Statement, ...]]:
    """The code in which a function's name is known: a nested one's where it is defined, the module otherwise."""
    outer = info.ir.outer if info.module is module and info.ir.owner < 0 else -1
    inside = [one.body for one in module.functions if one is not info and (outer < 0 or one.ir.outer == outer)]
    return [ir.decode_body(module.unit.body) if outer < 0 else module.functions[outer].body, *inside]


def _calls(info: FunctionInfo, call: ir.Call, module: ModuleInfo) -> bool:
    """Return whether a call names the function, or what a tracer just made of it: `tf.function(step)(x, 3)`."""
    callee = call.func
    if type(callee) is ir.Call:
        return bool(callee.args) and last_name(callee.args[0]) == info.name
    of_object = info.ir.owner >= 0 or info.module is not module
    return type(callee) is (ir.Attr if of_object else ir.Name) and last_name(callee) == info.name


def _is_receiver(info: FunctionInfo, place: int) -> bool:
    return place == 0 and info.ir.owner >= 0 and not info.decorated("staticmethod")


def _value_at(info: FunctionInfo, place: int, site: _Site) -> Value | None:
    """Return the host value that a call passes for a parameter, None where it is not known to be one."""
    call, param = site.call, info.params[place]
    named = next((node for name, node in call.keywords if name == param.name), None)
    if named is not None:
        return _literal(named, site.body, _DEPTH)
    number = place - _is_receiver(info, 0)
    if any(type(arg) is ir.Star for arg in call.args[: number + 1]) or any(not name for name, _ in call.keywords):
        return None
    if param.kind != "k" and number < len(call.args):
        return _literal(call.args[number], site.body, _DEPTH)
    return _literal(param.default, (), _DEPTH) if param.default is not None else None


def _literal(node: ir.Node, body: tuple[ir.Statement, ...], depth: int) -> Value | None:
    """Return the host value that an expression is by its own words, or by those of the assignments of its name."""
    if type(node) is ir.Const:
        return constant(node.value)
    if type(node) is ir.Unary:
        inner = _literal(node.value, body, depth)
        number = inner.value if type(inner) is Const else None
        return constant(-number) if node.op == "-" and isinstance(number, (int, float)) else inner
    if type(node) is ir.Display:
        return _literals(node, body, depth)
    if type(node) is ir.Name and depth:
        return _join_known(_find_bindings(node.id, body), body, depth - 1)
    return None


def _literals(node: ir.Display, body: tuple[ir.Statement, ...], depth: int) -> Value | None:
    items = [_literal(item, body, depth) for item in node.items]
    known = tuple(item for item in items if item is not None)
    kind = node.kind if node.kind in ("list", "tuple") else ""
    return sequence(kind, known, join_all(known)) if kind and len(known) == len(items) else None


def _join_known(nodes: Iterable[ir.Node | None], body: tuple[ir.Statement, ...], depth: int) -> Value | None:
    told = [_literal(node, body, depth) if node is not None else None for node in nodes]
    known = [value for value in told if value is not None]
    return join_all(known) if known and len(known) == len(told) else None


def _find_bindings(name: str, body: tuple[ir.Statement, ...]) -> Iterator[ir.Node | None]:
    """Yield what a body's statements give a name, None for one that binds it otherwise."""
    for node in ir.walk(body):
        if type(node) is ir.Assign:
            for target in node.targets:
                if _names(target, name):
                    yield node.value if type(target) is ir.Name else None
        elif type(node) is ir.For and _names(node.target, name):
            yield from _elements(node, body)
        elif isinstance(node, (ir.AugAssign, ir.AnnAssign)) and _names(node.target, name):
            yield None


def _names(target: ir.Node, name: str) -> bool:
    return any(type(node) is ir.Name and node.id == name for node in ir.walk((target,)))


def _elements(loop: ir.For, body: tuple[ir.Statement, ...]) -> Iterator[ir.Node | None]:
    """Yield what a loop's single name goes through, None where that is not written out."""
    over = loop.iterable
    if type(over) is ir.Name:
        assigned = list(_find_bindings(over.id, body))
        over = assigned[0] if len(assigned) == 1 and assigned[0] is not None else over
    if type(loop.target) is not ir.Name:
        yield None
    elif type(over) is ir.Display:
        yield from over.items
    elif type(over) is ir.Call and last_name(over.func) == "range":
        yield ir.Const(0)
        yield ir.Const(1)
    else:
        yield None


__all__ = ["passed_values"]
