"""Draws on the host that a program seeds where it draws: their numbers are the same at each call, so that a tracer freezes nothing else.

A generator that is made with a seed in the very function, or the global one that the function seeds before, or a function of the module
that calls it.
"""

from __future__ import annotations

from typing import Final

from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.guards import assigned_once
from xlalint.lowering import ir
from xlalint.program.linker import FunctionInfo

_GENERATORS: Final = frozenset(("default_rng", "Generator", "PCG64", "Philox", "Random", "RandomState"))
_CALLS_AWAY: Final = 3


def is_seeded(info: FunctionInfo, draw: ir.Call) -> bool:
    """Return whether the numbers that a call draws are those of a seed that is set anew for them."""
    func = draw.func
    if type(func) is not ir.Attr:
        return False
    drawing = assigned_once(func.value, info.body)
    if type(drawing) is ir.Call:
        return last_name(drawing.func) in _GENERATORS and _is_told(drawing)
    return type(func.value) is not ir.Call and _is_led_to_by_seed(info)


def _is_led_to_by_seed(info: FunctionInfo) -> bool:
    """Return whether a function seeds what it draws, or one that calls it does: what a tracer is given begins anew."""
    if info.answers(_seeds):
        return True
    if info.ir.decorators:
        return False
    names, seeding = {info.name}, [one for one in info.module.functions if one.answers(_seeds)]
    for _ in range(_CALLS_AWAY if seeding else 0):
        if any(not names.isdisjoint(one.ir.calls) for one in seeding):
            return True
        callers = (one for one in info.module.functions if not names.isdisjoint(one.ir.calls))
        names |= {one.name for one in callers if one.name and not one.ir.decorators}
    return False


def _seeds(info: FunctionInfo) -> bool:
    """Return whether a function sets the seed of the global generator to something."""
    if "seed" not in info.ir.calls:
        return False
    calls = (one for one in ir.walk(info.body) if type(one) is ir.Call and type(one.func) is ir.Attr)
    return any(last_name(one.func) == "seed" and _is_told(one) for one in calls)


def _is_told(call: ir.Call) -> bool:
    given = (*call.args, *dict(call.keywords).values())
    return bool(given) and not any(type(one) is ir.Const and one.value is None for one in given)
