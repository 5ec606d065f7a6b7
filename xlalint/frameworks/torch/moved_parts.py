"""Parts of tensors that are moved to a device: what they are cut out of lies in host memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from xlalint.lowering import ir

_MOVES: Final = frozenset(("to", "cuda", "xla", "tpu"))


def _is_cut(node: object) -> bool:
    return type(node) is ir.Sub


def moves_cuts(body: tuple[ir.Statement, ...], is_cut: Callable[[object], bool] = _is_cut) -> bool:
    """Return whether statements move to a device what they cut out of something, by itself or by the name that they give it."""
    within = ir.walk(body)
    cut: set[str] = set()
    for one in within:
        if type(one) is ir.Assign and any(map(is_cut, ir.walk((one.value,)))):
            cut.update(name.id for name in ir.walk(one.targets) if type(name) is ir.Name)
    calls = (one.func for one in within if type(one) is ir.Call and type(one.func) is ir.Attr)
    moved = (one for func in calls if func.name in _MOVES for one in ir.walk((func.value,)))
    return any(is_cut(one) or (type(one) is ir.Name and one.id in cut) for one in moved)


__all__ = ["moves_cuts"]
