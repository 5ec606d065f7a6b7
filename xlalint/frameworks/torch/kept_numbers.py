"""Find what a method counts or collects in what outlives its call, and how that begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from xlalint.frameworks.torch.recompiles import pairs
from xlalint.interpreter.device_loops import blocks
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.program.linker import FunctionInfo

ARITHMETIC: Final = frozenset("+-*/%") | {"//", "**"}
_SHRINKS: Final = frozenset(("clear", "pop", "popleft", "remove"))
_RESTARTS: Final = frozenset(("__iter__", "__enter__", "__exit__"))


class Read(NamedTuple):
    """An expression that reads the number, in its statement."""

    node: ir.Node
    statement: ir.Statement


def operands(node: ir.Node) -> Iterator[ir.Node]:
    """Yield what arithmetic takes; nothing of an expression that is none."""
    if type(node) is ir.Bin and node.op in ARITHMETIC:
        parts: tuple[ir.Node, ...] = (node.left, node.right)
        for part in parts:
            if type(part) is ir.Bin:
                yield from operands(part)
            else:
                yield part


def statements(body: tuple[ir.Statement, ...]) -> Iterator[ir.Statement]:
    for statement in body:
        yield statement
        yield from statements(blocks(statement))


def targets(statement: ir.Statement) -> tuple[ir.Node, ...]:
    """List what a statement assigns to, one by one."""
    if type(statement) is ir.AugAssign:
        return (statement.target,)
    if type(statement) is not ir.Assign:
        return ()
    return tuple([target for one in statement.targets for target, _ in pairs(one, statement.value)])


def own_parts(statement: ir.Statement) -> Iterator[Any]:
    """The expressions of a statement without those of its blocks, and what is within them."""
    for name in statement.__struct_fields__:
        found = getattr(statement, name)
        for one in found if isinstance(found, tuple) else (found,):
            for part in one if isinstance(one, tuple) else (one,):
                if isinstance(part, ir.Expr):
                    yield from ir.walk((part,))


def reads(body: tuple[ir.Statement, ...], path: str, but: ir.Node | None = None) -> Iterator[Read]:
    """The expressions that read a name or an attribute, as they stand; `x.n += 1` is one."""
    for statement in statements(body):
        stored = targets(statement) if type(statement) is ir.Assign else ()
        for node in own_parts(statement):
            if path_of(node) == path and node is not but and not any(node is one for one in stored):
                yield Read(node, statement)


def begins_anew(body: tuple[ir.Statement, ...], path: str) -> bool:
    """Return whether each call gives an attribute a number of its own first."""
    for statement in body:
        if any(True for _ in reads((statement,), path)):
            return False
        if any(path_of(one) == path for one in targets(statement)):
            return True
    return False


def is_set_back(method: FunctionInfo, name: str) -> bool:
    """Return whether the class itself sets a counter back: as an iteration or a block begins, or by a call beside the counting."""
    if method.owner is None:
        return False
    others = method.owner.own_methods
    for other in others:
        if other is method or other.name == "__init__" or not _sets(other, name):
            continue
        around = [one for one in others if one is method or method.name in one.ir.calls]
        if other.name in _RESTARTS or any(other.name in one.ir.calls for one in around):
            return True
    return False


def _sets(method: FunctionInfo, name: str) -> bool:
    """Return whether a method gives an attribute a constant at each call."""
    for statement in method.body:
        constant = type(statement) is ir.Assign and type(statement.value) is ir.Const
        if constant and any(_is_of(one, name) for one in targets(statement)):
            return True
        if any(type(one) is ir.Return for one in statements((statement,))):
            return False
    return False


def is_emptied(method: FunctionInfo, name: str) -> bool:
    """Return whether the module empties a list anywhere, or gives the attribute another one, or a base class does."""
    if method.owner is None:
        return False
    module = method.owner.module
    bases = [one for one in method.owner.mro if not isinstance(one, str) and one.module is not module]
    infos = [*module.functions, *(method for one in bases for method in one.own_methods)]
    return any(_empties(one, name) for info in infos if info.name != "__init__" for one in statements(info.body))


def _empties(statement: ir.Statement, name: str) -> bool:
    if any(_is_of(one, name) for one in targets(statement)):
        return True
    parts = tuple(own_parts(statement))
    if type(statement) is ir.Delete:
        return any(_is_of(one, name) for one in parts)
    called = (one.func for one in parts if type(one) is ir.Call and type(one.func) is ir.Attr)
    return any(func.name in _SHRINKS and _is_of(func.value, name) for func in called)


def _is_of(node: ir.Node, name: str) -> bool:
    return type(node) is ir.Attr and node.name == name


def is_kept(frame: Frame, holder: ir.Node) -> bool:
    """Return whether a dictionary outlives the call: it is the receiver's, a part of what that has, or the module's."""
    receiver = frame.scope.receiver_name
    if frame.function is None or not receiver:
        return False
    if type(holder) is not ir.Name:
        return path_of(holder).partition(".")[0] == receiver
    for statement in statements(frame.function.body):
        if type(statement) is ir.Assign and any(path_of(one) == holder.id for one in statement.targets):
            return _is_part_of(statement.value, receiver)
        if type(statement) is ir.For and path_of(statement.target) == holder.id:
            return _is_part_of(statement.iterable, receiver)
    return False


def _is_part_of(node: ir.Node, receiver: str) -> bool:
    """Return whether an expression takes a part of an object by attributes and indices."""
    while isinstance(node, (ir.Sub, ir.Attr)):
        node = node.value
    return type(node) is ir.Name and node.id == receiver


class Held(NamedTuple):
    """The names by which a body knows the element of a key: those that are it, and those that are it and a number of the source's more.

    What takes in a value of another kind may be a tensor, and is neither.
    """

    same: frozenset[str]
    stepped: frozenset[str]


def names_of(body: tuple[ir.Statement, ...], key: str) -> Held:
    """Find the names of an element: `step = state["step"] + 1`, or `step = state["step"]` and then `step += 1`."""
    same: set[str] = set()
    stepped: set[str] = set()
    for statement in statements(body):
        if type(statement) is ir.AugAssign:
            name = path_of(statement.target)
            if name in same and statement.op in ARITHMETIC and type(statement.value) is ir.Const:
                stepped.add(name)
        elif type(statement) is ir.Assign:
            for target, value in (pair for one in statement.targets for pair in pairs(one, statement.value)):
                if type(target) is not ir.Name:
                    continue
                if _is_key_of(value, key):
                    same.add(target.id)
                elif _goes_on(value, lambda one: _is_key_of(one, key) or path_of(one) in same):
                    stepped.add(target.id)
    return Held(frozenset(same), frozenset(stepped))


def is_stepped(value: ir.Node, held: Held) -> bool:
    """Return whether a value is what a name of an element has become, or arithmetic of such a name."""
    return path_of(value) in held.stepped or _goes_on(value, lambda one: path_of(one) in held.same | held.stepped)


def _goes_on(value: ir.Node, is_held: Callable[[ir.Node], bool]) -> bool:
    """Return whether a value is arithmetic of a number that is held, and else of numbers that stand in the source."""
    parts = list(operands(value))
    return any(map(is_held, parts)) and all(type(one) is ir.Const or is_held(one) for one in parts)


def begins_as(method: FunctionInfo, key: str) -> str:
    """Return the type of the number that an element has first, "" where it is given anything else, too.

    The method that counts says it, where it begins the element as well: others of the class restore what was saved.
    """
    given = list(_given_in(method, key))
    if not given and method.owner is not None:
        given = [value for other in method.owner.own_methods for value in _given_in(other, key)]
    kinds = {type(one.value).__name__ if type(one) is ir.Const else "" for one in map(_usual, given)}
    return "" if not kinds <= {"int", "float"} else "float" if "float" in kinds else "int" if kinds else ""


def _given_in(method: FunctionInfo, key: str) -> Iterator[ir.Node]:
    held = names_of(method.body, key)
    given = (value for statement in statements(method.body) for value in _gives(statement, key))
    return (value for value in given if not is_stepped(value, held))


def _usual(value: ir.Node) -> ir.Node:
    """Return what is given where no tensor is: `torch.zeros_like(lr) if torch.is_tensor(lr) else 0.0`."""
    asks = type(value) is ir.IfExp and type(value.test) is ir.Call and path_of(value.test.func) == "torch.is_tensor"
    return value.orelse if asks and type(value) is ir.IfExp else value


def _gives(statement: ir.Statement, key: str) -> Iterator[ir.Node]:
    """Yield what a statement gives the element of a key at first: by an assignment, a dictionary's display or `dict(…)`."""
    if type(statement) is ir.Assign:
        for target, value in (pair for one in statement.targets for pair in pairs(one, statement.value)):
            if (
                type(target) is ir.Sub
                and _is_key(target.index, key)
                and not any(_is_key_of(one, key) for one in operands(value))
            ):
                yield value
    for node in own_parts(statement):
        if type(node) is ir.DictDisplay:
            pairs_given = zip(node.keys, node.values, strict=True)
            yield from (value for name, value in pairs_given if name is not None and _is_key(name, key))
        elif type(node) is ir.Call:
            yield from (value for name, value in node.keywords if name == key and path_of(node.func) == "dict")
            if (
                type(node.func) is ir.Attr
                and node.func.name == "setdefault"
                and len(node.args) > 1
                and _is_key(node.args[0], key)
            ):
                yield node.args[1]


def _is_key(node: ir.Node, key: str) -> bool:
    return type(node) is ir.Const and node.value == key


def _is_key_of(node: ir.Node, key: str) -> bool:
    return type(node) is ir.Sub and _is_key(node.index, key)
