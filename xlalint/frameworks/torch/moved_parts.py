"""Parts of tensors that are moved to a device: what they are cut out of lies in host memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from xlalint.lowering import ir

_MOVES: Final = frozenset(("to", "cuda", "xla", "tpu"))


def _is_cut(node: object) -> bool:
    return type(node) is ir.Sub


def moves_cuts(body: tuple[ir.Statement, ...], is_cut: Callable[[object], bool] = _is_cut) -> bool:
    """Return whether statements move to a device what they cut out of something, by itself or by the name that they gave it before."""
    within = ir.walk(body)
    first: dict[str, int] = {}  # where a name stands for what is cut from
    for one in within:
        if type(one) is ir.Assign and any(map(is_cut, ir.walk((one.value,)))):
            for name in ir.walk(one.targets):
                if type(name) is ir.Name:
                    first[name.id] = min(one.at, first.get(name.id, one.at))
    calls = (one for one in within if type(one) is ir.Call and type(one.func) is ir.Attr and one.func.name in _MOVES)
    moved = ((call.at >> 32, one) for call in calls for one in ir.walk((call.func,)))
    return any(is_cut(one) or (type(one) is ir.Name and first.get(one.id, at) < at) for at, one in moved)


__all__ = ["moves_cuts"]
