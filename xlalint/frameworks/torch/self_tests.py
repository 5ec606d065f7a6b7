"""Self-tests: what a module does where it is started, if others import it and it only tries out there what it defines.

`if __name__ == "__main__": net = Net().cuda(); print(net(torch.rand(1, 3, 64, 64).cuda()).shape)` in the module of a model says that
somebody looked at it once, on the machine at hand. No run of the program comes there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir
from xlalint.lowering.lower import asks_for_script

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.program.linker import ModuleInfo

_MADE_UP: Final = frozenset(
    ("torch.empty", "torch.ones", "torch.rand", "torch.randint", "torch.randn", "torch.zeros", "torch.arange")
)
# What takes what a run is to do from outside, and what takes steps.
_FROM_OUTSIDE: Final = frozenset(("parse_args", "parse_known_args", "load", "DataLoader", "backward", "step"))


def tries_itself(frame: Frame) -> bool:
    """Return whether what runs is a module's own test of what it defines, and others import the module."""
    if frame.function is not None or not any(map(asks_for_script, frame.paths.tests)):
        return False
    module = frame.module
    return module.answers(_makes_up_data) and frame.interpreter.occasions.serves_others(module)


def _makes_up_data(module: ModuleInfo) -> bool:
    """Return whether a module gives made up data to what a class of its own makes, in no loop, and all where it is started."""
    started = [one for one in module.body if type(one) is ir.If and asks_for_script(one.test)]
    nodes = [node for one in started for node in ir.walk(one.body)]
    calls = [one for one in nodes if type(one) is ir.Call]
    names = {last_name(one.func) for one in calls}
    if not names.isdisjoint(_FROM_OUTSIDE) or any(isinstance(one, (ir.For, ir.While)) for one in nodes):
        return False
    own = names.intersection([klass.name for klass in module.classes])
    return bool(own) and any(path_of(one.func) in _MADE_UP for one in calls)


__all__ = ["tries_itself"]
