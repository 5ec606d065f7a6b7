"""Find out whether a module names a kind of device: "tpu", which only TorchTPU has, or "xla", which only torch_xla has.

A module that surely asks for such a device is written for what has it. What stands under an `if` or a `try` says that the program runs
elsewhere too. A conditional expression does not: its author wants the device, and falls back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.program.linker import ModuleInfo

TPU: Final = "tpu"
XLA: Final = "xla"
# Functions of torch's whose first argument is a device, or its kind.
_TAKE_DEVICES: Final = frozenset(
    (
        "torch.amp.GradScaler",
        "torch.amp.autocast",
        "torch.autocast",
        "torch.device",
        "torch.distributed.device_mesh.init_device_mesh",
        "torch.distributed.init_device_mesh",
        "torch.get_autocast_dtype",
        "torch.set_default_device",
    )
)
_KEYWORDS: Final = frozenset(("device", "device_type", "map_location"))
_OPTION: Final = "add_argument"


def names_device(module: ModuleInfo, kind: str) -> bool:
    """Return whether a module surely asks for a device of a kind, at its level or in a function."""
    if "torch" not in module.at_hand or not _mentions(module, kind):
        return False
    module.reader.read_whole(module)
    level = ir.decode_body(module.unit.body)
    known = _names_of_device(level, kind)
    # Most functions neither hold the word nor could use another name for it.
    everywhere = known or any(_meaning(binding) == f"torch.{kind}" for binding in module.imports.values())
    functions = (info.body for info in module.functions if everywhere or _holds(info.ir.body, kind))
    return any(_asks(module, body, known, kind) for body in (level, *functions))


def body_names(module: ModuleInfo, body: tuple[ir.Statement, ...], kind: str) -> bool:
    """Return whether sure statements of a body of a module ask for a device of a kind."""
    return _asks(module, body, _names_of_device(ir.decode_body(module.unit.body), kind), kind)


def _asks(module: ModuleInfo, body: tuple[ir.Statement, ...], known: frozenset[str], kind: str) -> bool:
    """Return whether sure statements of a body ask for a device of a kind, which its module knows by some names."""
    own = known | _names_of_device(body, kind)
    found = _walk_sure(tuple(_sure_expressions(body)))
    return any(isinstance(one, ir.Expr) and _is_of_device(module, one, own, kind) for one in found)


def is_kind(node: ir.Node | None, kind: str) -> bool:
    """Return whether an expression is the kind of a device, or that with a number, as it is written or where a condition holds."""
    if type(node) is ir.IfExp:
        return is_kind(node.body, kind) or is_kind(node.orelse, kind)
    return type(node) is ir.Const and isinstance(node.value, str) and node.value.partition(":")[0] == kind


def _mentions(module: ModuleInfo, kind: str) -> bool:
    """Return whether a module's code holds the word for a kind of device."""
    return _holds(module.unit.body, kind) or any(_holds(info.ir.body, kind) for info in module.functions)


def _holds(body: bytes, kind: str) -> bool:
    """Return whether a body holds the word by itself, or before a number: as MessagePack writes it, unlike that in "output"."""
    word = kind.encode()
    return bytes([0xA0 + len(word)]) + word in body or word + b":" in body


def _sure_expressions(body: tuple[ir.Statement, ...]) -> Iterator[ir.Statement | ir.Node]:
    """The statements of a body that are no blocks, and the heads of blocks; nothing below an `if` or a `try`."""
    for statement in body:
        if isinstance(statement, (ir.For, ir.While, ir.With)):
            if isinstance(statement, ir.With):
                yield from (item for item, _ in statement.items)
            else:
                yield statement.iterable if isinstance(statement, ir.For) else statement.test
            yield from _sure_expressions(statement.body)
        elif isinstance(statement, ir.If):
            yield statement.test
            if _asks_for_main(statement.test):
                yield from _sure_expressions(statement.body)
        elif not isinstance(statement, (ir.Try, ir.Match)):
            yield statement


def _walk_sure(nodes: tuple[ir.Statement | ir.Node, ...]) -> Iterator[object]:
    """The nodes within some, but for what is only evaluated where torch has such a device: `hasattr(torch, "tpu") and torch.tpu…`."""
    todo: list[object] = list(nodes)
    while todo:
        one = todo.pop()
        if isinstance(one, tuple):
            todo.extend(one)
        elif not (type(one) is ir.Bool and any(map(_asks_for_attribute, one.values))):
            yield one
            todo.extend(ir.parts(one))


def _asks_for_attribute(node: ir.Node) -> bool:
    return type(node) is ir.Call and type(node.func) is ir.Name and node.func.id in ("hasattr", "getattr")


def _asks_for_main(test: ir.Node) -> bool:
    return type(test) is ir.Compare and type(test.left) is ir.Name and test.left.id == "__name__"


def _names_of_device(body: tuple[ir.Statement, ...], kind: str) -> frozenset[str]:
    """The names and attributes to which sure statements of a body assign the name of the device."""
    return frozenset(
        path
        for statement in _sure_expressions(body)
        if isinstance(statement, ir.Assign) and is_kind(statement.value, kind)
        for path in map(path_of, statement.targets)
        if path
    )


def _is_of_device(module: ModuleInfo, node: ir.Expr, known: frozenset[str], kind: str) -> bool:
    """Return whether an expression is of a device: `torch.device("tpu")`, `x.to("tpu")`, `x.tpu()`, `torch.tpu.stream`."""
    if type(node) is ir.Attr:
        return _absolute(module, node.value) == f"torch.{kind}"
    if type(node) is not ir.Call:
        return False
    if type(node.func) is ir.Attr and node.func.name == kind and not node.args and not node.keywords:
        return True
    first = node.args[0] if node.args else None
    given = dict(node.keywords)
    if last_name(node.func) == _OPTION:
        return is_kind(given.get("default"), kind)
    name = _absolute(module, node.func)
    moves = type(node.func) is ir.Attr and node.func.name == "to"
    if (moves or name in _TAKE_DEVICES) and _is_device(first, known, kind):
        return True
    of_torch = (
        moves or name.partition(".")[0] == "torch" or (type(node.func) is ir.Attr and node.func.name[:4] == "new_")
    )
    return of_torch and any(_is_device(given.get(keyword), known, kind) for keyword in _KEYWORDS)


def _is_device(node: ir.Node | None, known: frozenset[str], kind: str) -> bool:
    return is_kind(node, kind) or (isinstance(node, (ir.Name, ir.Attr)) and path_of(node) in known)


def _absolute(module: ModuleInfo, node: ir.Node) -> str:
    """The dotted name of what a path of names means, by the module's imports; "" of others."""
    root, dot, rest = path_of(node).partition(".")
    binding = module.imports.get(root)
    meaning = _meaning(binding) if binding is not None else ""
    return f"{meaning}{dot}{rest}" if meaning else ""


def _meaning(binding: ir.Binding) -> str:
    """The dotted name of what is imported; "" of what is imported by its place beside the module."""
    return "" if binding.level else binding.dotted
