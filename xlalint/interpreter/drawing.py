"""Code that draws: it shows arrays to people, who wait for the picture and not for the device.

Libraries that make pictures take arrays of the host. A read beside a call of one is no more often than a picture is wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from xlalint.interpreter.device_loops import blocks
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame_state import LoopTurns
    from xlalint.program.linker import FunctionInfo, ModuleInfo

_LIBRARIES: Final = frozenset(
    ("PIL", "bokeh", "imageio", "matplotlib", "mediapy", "plotly", "pygame", "pyvista", "seaborn")
)
_PICTURING: Final = "render"


def draws(module: ModuleInfo, info: FunctionInfo | None, turns: LoopTurns | None) -> bool:
    """Return whether the turns of a loop in a function draw; without a loop, whether the function does, whatever it is called for."""
    if turns is None:
        return info is not None and info.answers(_function_draws)
    names = _names_of(module, info)
    each = list(_at_each(turns.loop.body))
    if _names_one(each, names) or any(map(_asks_for_picture, each)):
        return True
    if info is not None and _names_one(ir.walk(info.ir.returns), names):
        return True  # what it gives back is a part of a picture
    made = info.answers(_drawers_of) if info is not None else frozenset[str]()
    return bool(made) and any(map(partial(_asks_one, made), each))


def _asks_for_picture(node: object) -> bool:
    """Return whether an expression asks a simulation for a picture of its state: `env.render(state)`, as Gym has it."""
    return isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name == _PICTURING


def _function_draws(info: FunctionInfo) -> bool:
    """Return whether a body names a library that draws, or a parameter's annotation does: an axis, a canvas."""
    names = _names_of(info.module, info)
    return any(_names_one(ir.walk(node), names) for node in (info.body, *[one.annotation for one in info.params]))


def _drawers_of(info: FunctionInfo) -> frozenset[str]:
    """Return the names of a function that hold what a library that draws made: `clock = pygame.time.Clock()`, `figure, axis = …`."""
    names = _names_of(info.module, info)
    if not names:
        return names
    made = (
        one for one in ir.walk_statements(info.body) if isinstance(one, ir.Assign) and isinstance(one.value, ir.Call)
    )
    drawn = [one for one in made if _root_of(one.value) in names]
    return frozenset([leaf.id for one in drawn for leaf in ir.walk(one.targets) if isinstance(leaf, ir.Name)])


def _asks_one(names: frozenset[str], statement: object) -> bool:
    """Return whether a statement calls a method of one of these for what it does: `axis.plot(x)`, `clock.tick(60)`."""
    return (
        isinstance(statement, ir.Eval) and isinstance(statement.value, ir.Call) and _root_of(statement.value) in names
    )


def _root_of(call: ir.Node) -> str:
    """Return the name that stands first in what is called, "" where a name alone is called or something else comes first."""
    path = path_of(call.func) if isinstance(call, ir.Call) else ""
    root, dot, _ = path.partition(".")
    return root if dot else ""


def _names_one(nodes: Iterable[object], names: frozenset[str]) -> bool:
    return bool(names) and any(isinstance(one, ir.Name) and one.id in names for one in nodes)


def _names_of(module: ModuleInfo, info: FunctionInfo | None) -> frozenset[str]:
    """Return the names by which code knows libraries that draw."""
    own = [one for one in ir.walk_statements(info.body) if isinstance(one, ir.Import)] if info is not None else []
    bound = (*module.unit.imports, *(binding for one in own for binding in one.bindings))
    return frozenset([one.local for one in bound if not one.level and one.module.partition(".")[0] in _LIBRARIES])


def _at_each(body: tuple[ir.Statement, ...]) -> Iterator[object]:
    """Walk what each turn runs: not what a condition leaves out."""
    for statement in body:
        if not isinstance(statement, ir.If):
            inner = blocks(statement)
            yield from _at_each(inner) if inner else ir.walk(statement)
