"""XLA406 of JAX and TensorFlow: arrays that grow from call to call of a compiled function, which is compiled for each length.

Measured with JAX 0.10.2 and TensorFlow 2.21. In the code around compiled functions JAX compiles each operation for each length as well:
100 turns of `losses = jnp.append(losses, loss)` compile 100 times, 45 ms each on a CPU, and a small step takes 15 µs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from xlalint.abstract.values import LibrarySymbol, Tensor, Value, members
from xlalint.frameworks.checks.surrounding_loops import each_turn, loops_around
from xlalint.frameworks.torch.recompiles import appends
from xlalint.interpreter.device_loops import is_long
from xlalint.interpreter.spelling import spelling
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame

_ALONG = ("concatenate", "concat", "vstack", "hstack", "append")
# What is longer by what it is given; `stack` is so of a list alone: of two arrays it makes one of a higher rank.
_LENGTHENING = frozenset(
    ["tensorflow.concat", *(f"{package}.{name}" for package in ("jax.numpy", "numpy") for name in _ALONG)]
)
_JOINING = _LENGTHENING | {"jax.numpy.stack", "numpy.stack", "tensorflow.stack", "jax.numpy.array", "numpy.array"}


class Growth(NamedTuple):
    """The name of what grows, and the place where it is joined."""

    name: str
    at: int


def growth(frame: Frame, call: ir.Call, passed: ir.Node) -> Growth | None:
    """How an argument of a call gets longer from turn to turn of the loop around it; None where nothing shows that it does."""
    loops = loops_around(frame, call)
    if not loops or not is_long(loops[-1]):
        return None
    loop, body = loops[-1], loops[-1].body
    if isinstance(passed, ir.Name):
        return None if _binds(loop, passed.id) else _find_carried(frame, body, passed.id)
    if isinstance(passed, ir.Call) and passed.args and isinstance(passed.args[0], ir.Name):
        return _find_collected(frame, body, passed)
    return None


def check_lengthened(frame: Frame, node: ir.Assign, value: Value) -> None:
    """Note `losses = jnp.append(losses, loss)` in a loop of the host's, for what follows where the loop has a device compute."""
    turn = frame.loops.turn
    target = node.targets[0]
    if turn is None or frame.interpreter.tracing or frame.interpreter.mapping or not isinstance(target, ir.Name):
        return
    if not any(isinstance(one, Tensor) and one.framework == "jax" for one in members(value)):
        return
    if _binds(turn.loop, target.id):
        return
    if is_long(turn.loop) and any(one == node for one in each_turn(turn.loop.body)):
        found = _find_carried(frame, turn.loop.body, target.id)
        if found is not None:
            turn.lengthened[found.at] = frame.statement, value, target


def _find_carried(frame: Frame, body: tuple[ir.Statement, ...], name: str) -> Growth | None:
    """`x = jnp.concatenate([x, y])`, the one thing that the loop does to `x`; or an `x` that is joined in each turn from a list."""
    bound = [one for one in ir.walk(body) if _binds(one, name)]
    given = bound[0] if len(bound) == 1 else None
    if not isinstance(given, ir.Assign) or not isinstance(given.targets[0], ir.Name):
        return None
    value = given.value
    if not isinstance(value, ir.Call) or not value.args:
        return None
    first = value.args[0]
    if isinstance(first, ir.Display):
        parts = [item.id for item in first.items if isinstance(item, ir.Name)]
        grows = name in parts and len(first.items) > 1
    elif isinstance(first, ir.Name) and first.id != name:
        return _find_collected(frame, body, value)
    else:
        grows = isinstance(first, ir.Name) and len(value.args) > 1 and spelling(value.func).endswith("append")
    return Growth(name, value.at) if grows and _is(frame, value, _LENGTHENING) else None


def _find_collected(frame: Frame, body: tuple[ir.Statement, ...], joined: ir.Call) -> Growth | None:
    """`jnp.stack(rows)`, where the loop appends to `rows` and never empties it."""
    rows = joined.args[0]
    if not isinstance(rows, ir.Name) or not appends(body, rows.id) or not _is(frame, joined, _JOINING):
        return None
    anew = any(isinstance(one, ir.Assign) and _binds(one, rows.id) for one in ir.walk(body))
    shortened = any(isinstance(one, ir.Delete) and rows.id in map(_root, one.targets) for one in ir.walk(body))
    return None if anew or shortened else Growth(rows.id, joined.at)


def _is(frame: Frame, call: ir.Call, names: frozenset[str]) -> bool:
    func = frame.eval(call.func)
    return isinstance(func, LibrarySymbol) and frame.interpreter.apis.canonical(func.name) in names


def _binds(one: object, name: str) -> bool:
    """Return whether a statement or an expression gives a name a value, or an element of its value."""
    if isinstance(one, ir.Walrus):
        return one.name == name
    targets: Iterable[ir.Node] = ()
    if isinstance(one, ir.Assign):
        targets = one.targets
    elif isinstance(one, (ir.AugAssign, ir.AnnAssign, ir.For)):
        targets = (one.target,)
    elif isinstance(one, ir.With):
        targets = [target for _, target in one.items if target is not None]
    return any(_root(part) == name for target in targets for part in _parts(target))


def _parts(target: ir.Node) -> tuple[ir.Node, ...]:
    return target.items if isinstance(target, ir.Display) else (target,)


def _root(target: ir.Node) -> str:
    while isinstance(target, (ir.Sub, ir.Star)):
        target = target.value
    return target.id if isinstance(target, ir.Name) else ""


__all__ = ["Growth", "check_lengthened", "growth"]
