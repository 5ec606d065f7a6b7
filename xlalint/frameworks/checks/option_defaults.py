"""Find what options of the command line are where their users say nothing: argparse's, click's and absl's defaults.

A default is what runs mostly, and not always: what follows from one is likely at most. A flag that is off until it is given says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xlalint.abstract.values import LibraryInstance, Value, constant
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.program.linker import ModuleInfo

NAMESPACE = "argparse.Namespace"
_ABSL = "FLAGS"
_DEFINING = frozenset(("DEFINE_bool", "DEFINE_boolean", "DEFINE_string", "DEFINE_enum", "DEFINE_integer"))
_ON = {"store_true": None, "store_false": True}


def default_of(frame: Frame, node: ir.Node | None) -> Value | None:
    """Return what an expression is if it is an option of the command line that nobody gave.

    Return None where it is none, or has no default.
    """
    if isinstance(node, ir.Attr):
        owner = frame.lookup(node.value.id) if isinstance(node.value, ir.Name) else None
        if isinstance(owner, LibraryInstance) and owner.name == NAMESPACE:
            return _first(_added(frame.module, node.name))
        if path_of(node.value).rpartition(".")[2] == _ABSL:
            return _first(_defined(frame.module, node.name))
    elif isinstance(node, ir.Name) and frame.function is not None:
        return _first(_decorating(frame.function.ir.decorators, node.id))
    return None


def _first(found: Iterator[Value | None]) -> Value | None:
    return next(found, None)


def _calls(module: ModuleInfo, names: frozenset[str]) -> Iterator[ir.Call]:
    """The calls of these last names in a module."""
    module.reader.read_whole(module)
    bodies = [ir.decode_body(module.unit.body)] if not names.isdisjoint(module.unit.calls) else []
    bodies += [info.body for info in module.functions if not names.isdisjoint(info.ir.calls)]
    for one in ir.walk(tuple(bodies)):
        if isinstance(one, ir.Call) and path_of(one.func).rpartition(".")[2] in names:
            yield one


def _added(module: ModuleInfo, name: str) -> Iterator[Value | None]:
    """`parser.add_argument("--fp16", default=True)`."""
    for call in _calls(module, frozenset(("add_argument",))):
        given = dict(call.keywords)
        if _text(given.get("dest")) == name or ("dest" not in given and name in _spelled(call)):
            action = _text(given.get("action"))
            if action in _ON:
                yield constant(True) if _ON[action] else None
            else:
                yield _literal(given.get("default"))


def _defined(module: ModuleInfo, name: str) -> Iterator[Value | None]:
    """`flags.DEFINE_bool("fp16", True, "help")`."""
    for call in _calls(module, _DEFINING):
        if call.args and _text(call.args[0]) == name:
            default = call.args[1] if len(call.args) > 1 else dict(call.keywords).get("default")
            yield _literal(default)


def _decorating(decorators: tuple[ir.Node, ...], name: str) -> Iterator[Value | None]:
    """`@click.option("--fp16/--no-fp16", default=True)`."""
    for one in decorators:
        if isinstance(one, ir.Call) and path_of(one.func).rpartition(".")[2] == "option" and name in _spelled(one):
            yield _literal(dict(one.keywords).get("default"))


def _spelled(call: ir.Call) -> set[str]:
    """The names that an option is kept under: of `"--mixed-precision/--none"`, `mixed_precision`."""
    words = (_text(arg).partition("/")[0] for arg in call.args)
    return {word.lstrip("-").replace("-", "_") for word in words if word}


def _text(node: ir.Node | None) -> str:
    return node.value if isinstance(node, ir.Const) and isinstance(node.value, str) else ""


def _literal(node: ir.Node | None) -> Value | None:
    return constant(node.value) if isinstance(node, ir.Const) and node.value is not None else None
