"""Find numbers and lengths of Python's that are others at each call of what `torch.compile` compiled.

Dynamo takes a number of an object or a dictionary for a constant, and checks it before each call. Where the check fails, it compiles again:
for each number where that is an integer of an `nn.Module` or is reached through a name of the module, up to the limit of eight, after which
the function runs uncompiled; else once more, with a symbol in the number's place. Measured with torch 2.9.1 and 2.14.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, TypeGuard

from xlalint.abstract.values import UNKNOWN, Const, Function, Host, Sequence, Value, members, tensors
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.torch.draws import is_compiled
from xlalint.frameworks.torch.graph_breaks import trains
from xlalint.frameworks.torch.kept_numbers import (
    ARITHMETIC,
    Held,
    Read,
    begins_anew,
    begins_as,
    is_emptied,
    is_kept,
    is_set_back,
    is_stepped,
    names_of,
    operands,
    own_parts,
    reads,
    statements,
    targets,
)
from xlalint.frameworks.torch.recompiles import is_assigned, pairs
from xlalint.interpreter.device_loops import blocks
from xlalint.interpreter.spelling import path_of, position, spelling
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.arguments import Arguments
    from xlalint.interpreter.frame import Frame
    from xlalint.program.linker import FunctionInfo, ModuleInfo

_RULE: Final = "XLA410"
_ONCE: Final = "once"
_LENGTH: Final = "length"
_FRAMEWORK: Final = "torch"
_MODULE: Final = "torch.nn.Module"
_ALLOWED: Final = "allow_unspec_int_on_nn_module"
_BELOW: Final = frozenset(("<", "<="))
_LIMIT: Final = 8  # torch._dynamo.config.recompile_limit
_IS_TENSOR: Final = "torch.is_tensor"
_IS_INSTANCE: Final = "isinstance"
_TENSOR: Final = "torch.Tensor"
_GROWS: Final = frozenset(("append", "extend", "insert"))


class StateNumber(NamedTuple):
    """An element as the source writes it, the names that it has there, and those that are mixed into it."""

    text: str
    held: Held
    mixed: frozenset[str]


def check_attribute(frame: Frame, path: str) -> None:
    """Report an attribute of the receiver that a call leaves as another number than it found."""
    method = frame.function
    if method is None or method.name == "__init__" or is_assigned(frame, path) or not _is_judged(frame):
        return
    updates = [one for one in statements(method.body) if _updates(frame, one, path)]
    if not updates or begins_anew(method.body, path) or is_set_back(method, path.rpartition(".")[2]):
        return
    if _ends(method.body, path, updates) or any(_adds_tensor(frame, one) for one in updates):
        return
    target = next(one for one in targets(updates[0]) if path_of(one) == path)
    found = members(frame.eval(target))
    restored = UNKNOWN in found and any(_steps(one) for one in updates)
    kind = _kind_of([one for one in found if not (restored and one is UNKNOWN)])
    if kind:
        read = next(reads(method.body, path), Read(target, updates[0]))
        sure = Confidence.LIKELY if restored else Confidence.CERTAIN
        _note(frame, read, path, _how_often(frame, method, kind), sure)


def check_name(frame: Frame, target: ir.Node, old: Value, _right: Value) -> None:
    """Report a number of the module that a function counts on: `global calls; calls += 1`."""
    if type(target) is not ir.Name or frame.function is None or not frame.is_outer(target.id) or not _is_judged(frame):
        return
    if _kind_of(members(old)) == "int":
        body = frame.function.body
        update = next(one for one in statements(body) if type(one) is ir.AugAssign and one.target is target)
        _note(frame, next(reads(body, target.id, but=target), Read(target, update)), target.id, "")


def check_item(frame: Frame, target: ir.Sub, index: Value, _value: Value) -> None:
    """Report a number of a dictionary that lives on, such as an optimizer's `state["step"]`."""
    method = frame.function
    if method is None or type(index) is not Const or not isinstance(index.value, str) or not _is_judged(frame):
        return
    text, held = spelling(target), names_of(method.body, index.value)
    update = next((one for one in statements(method.body) if _counts(one, text, held)), None)
    if update is None or target not in targets(update) or not is_kept(frame, target.value):
        return
    kind = begins_as(method, index.value)
    if not kind:
        return
    read = next(_uses(method.body, StateNumber(text, held, _operand_names(update))), Read(target, update))
    _note(frame, read, text, _how_often(frame, method, kind))


def check_growth(frame: Frame, node: ir.Call, _found: tuple[Value, ...], _arguments: Arguments) -> None:
    """Report a list of the receiver that is longer after each call: `self.losses.append(loss)`."""
    func, method = node.func, frame.function
    if type(func) is not ir.Attr or func.name not in _GROWS or method is None or method.owner is None:
        return
    holder = func.value
    if (
        type(holder) is not ir.Attr
        or path_of(holder.value) != frame.scope.receiver_name
        or not frame.scope.receiver_name
    ):
        return
    if method.name == "__init__" or is_assigned(frame, path_of(holder)) or not _is_judged(frame):
        return
    known = frame.eval(holder)
    if type(known) is Sequence and known.kind == "list" and not is_emptied(method, holder.name):
        update = next((one for one in statements(method.body) if node in own_parts(one)), None)
        if update is not None:
            _note(frame, Read(holder, update), path_of(holder), _LENGTH, Confidence.LIKELY)


def _is_judged(frame: Frame) -> bool:
    return is_compiled(frame) and not trains(frame)


def _note(frame: Frame, read: Read, text: str, variant: str, sure: Confidence = Confidence.CERTAIN) -> None:
    """Note what is guarded on, at the expression for which Dynamo makes the guard."""
    running, frame.statement = frame.statement, read.statement.at if hasattr(read.statement, "at") else frame.statement
    guard = f"len({text}) == …" if variant == _LENGTH else f"{text} == …"
    frame.note(_RULE, position(read.node), _FRAMEWORK, text, guard, variant, confidence=sure)
    frame.statement = running


def _how_often(frame: Frame, method: FunctionInfo, kind: str) -> str:
    """Return the variant: modules' integers alone are compiled for each number."""
    each = kind == "int" and _is_module(frame, method) and not frame.interpreter.some_module.of(_allows_symbols)
    return "" if each else _ONCE


def _is_module(frame: Frame, method: FunctionInfo) -> bool:
    """Return whether a method belongs to a module of PyTorch, whose integers Dynamo takes for constants."""
    if method.owner is None:
        return False
    bases = method.owner.library_bases()
    return any(_MODULE in frame.interpreter.apis.ancestors(base) for base in bases)


def _kind_of(found: Iterable[Value]) -> str:
    """The type of a number that may be any of these, "" of what is none."""
    kinds = set()
    for member in found:
        if type(member) is Const and type(member.value) in (int, float):
            kinds.add(type(member.value).__name__)
        elif type(member) is Host and member.type in ("int", "float"):
            kinds.add(member.type)
        else:
            return ""
    return "float" if "float" in kinds else "int" if kinds else ""


def _updates(frame: Frame, statement: ir.Statement, path: str) -> bool:
    """Return whether a statement makes another number of an attribute: counts, or gives it what a function makes of it."""
    if type(statement) is ir.AugAssign:
        return path_of(statement.target) == path and statement.op in ARITHMETIC
    if type(statement) is not ir.Assign:
        return False
    for target, value in (pair for one in statement.targets for pair in pairs(one, statement.value)):
        if path_of(target) == path and type(target) is ir.Attr:
            if type(value) is ir.Call:
                given = any(path_of(one) == path for one in value.args)
                return given and all(type(one) is Function for one in members(frame.eval(value.func)))
            return any(path_of(one) == path for one in operands(value))
    return False


def _steps(statement: ir.Statement) -> bool:
    """Return whether an update goes on by a number that stands in the source, as counters do that a checkpoint restores."""
    if type(statement) is ir.AugAssign:
        return type(statement.value) is ir.Const
    return type(statement) is ir.Assign and any(type(one) is ir.Const for one in operands(statement.value))


def _ends(body: tuple[ir.Statement, ...], path: str, updates: list[ir.Statement]) -> bool:
    """Return whether a number stops changing before the limit of compilations, as one does that counts the first steps."""
    tests = [one for one in statements(body) if type(one) is ir.If and _is_below(one.test, path)]
    return any(all(update in statements(test.body) for update in updates) for test in tests)


def _is_below(test: ir.Node, path: str) -> bool:
    """Return whether a test holds below a bound of which nothing says that it lies above the limit."""
    if type(test) is not ir.Compare or len(test.ops) != 1 or test.ops[0] not in _BELOW or path_of(test.left) != path:
        return False
    bound = test.rights[0]
    return type(bound) is not ir.Const or (isinstance(bound.value, int) and bound.value <= _LIMIT)


def _adds_tensor(frame: Frame, statement: ir.Statement) -> bool:
    return type(statement) is ir.AugAssign and any(True for _ in tensors(frame.eval(statement.value)))


def _counts(statement: ir.Statement, text: str, held: Held) -> bool:
    """Return whether a statement makes another number of an element, by arithmetic."""
    if type(statement) is ir.AugAssign:
        return statement.op in ARITHMETIC and spelling(statement.target) == text
    if type(statement) is not ir.Assign or len(statement.targets) != 1 or spelling(statement.targets[0]) != text:
        return False
    return is_stepped(statement.value, held) or any(spelling(one) == text for one in operands(statement.value))


def _operand_names(update: ir.Statement) -> frozenset[str]:
    """The names that go into an element: where one of them is a tensor, so is the element."""
    value = update.value if isinstance(update, (ir.Assign, ir.AugAssign)) else None
    return (
        frozenset(path_of(one) for one in operands(value) if type(one) is ir.Name) if value is not None else frozenset()
    )


def _uses(body: tuple[ir.Statement, ...], counted: StateNumber) -> Iterator[Read]:
    """The expressions for which Dynamo needs to know an element, by itself or by a name; to count it and to keep it are none."""
    text, names = counted.text, set[str]()
    for statement in _of_numbers(body, counted):
        if type(statement) is ir.Assign:
            given = (pair for one in statement.targets for pair in pairs(one, statement.value))
            bound = {target.id for target, value in given if type(target) is ir.Name and spelling(value) == text}
            if bound:
                names |= bound
                continue
        if _counts(statement, text, counted.held) or _asks_for_tensor(statement, counted):
            continue
        stored = targets(statement)
        for node in own_parts(statement):
            known = spelling(node) == text if type(node) is ir.Sub else type(node) is ir.Name and node.id in names
            if known and not any(node is one for one in stored):
                yield Read(node, statement)


def _of_numbers(body: tuple[ir.Statement, ...], counted: StateNumber) -> Iterator[ir.Statement]:
    """The statements that run where an element is no tensor."""
    for statement in body:
        yield statement
        inner = statement.orelse if _asks_for_tensor(statement, counted) else blocks(statement)
        yield from _of_numbers(inner, counted)


def _asks_for_tensor(statement: ir.Statement, counted: StateNumber) -> TypeGuard[ir.If]:
    """Return whether a branch runs where an element, or what is mixed into it, is a tensor."""
    test = statement.test if type(statement) is ir.If else None
    if type(test) is not ir.Call or not test.args:
        return False
    asked = path_of(test.func)
    if asked == _IS_INSTANCE and (len(test.args) < 2 or path_of(test.args[1]) != _TENSOR):
        return False
    if asked not in (_IS_INSTANCE, _IS_TENSOR):
        return False
    return spelling(test.args[0]) == counted.text or path_of(test.args[0]) in counted.mixed


def _allows_symbols(module: ModuleInfo) -> bool:
    """Return whether a module sets Dynamo to take integers of modules for symbols."""
    bodies = [ir.decode_body(module.unit.body), *(info.body for info in module.functions)]
    given = (target for body in bodies for statement in statements(body) for target in targets(statement))
    return any(type(one) is ir.Attr and one.name == _ALLOWED for one in given)
