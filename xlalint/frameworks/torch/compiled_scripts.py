"""Find the scripts that say themselves what `torch.compile` compiles: nothing else of them is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.interpreter.device_loops import last_name, loops
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.program.linker import ModuleInfo

_TARGET: Final = "torch_compile"
_COMPILE: Final = "compile"
_GRADIENTS: Final = "backward"
_NAMES: Final = frozenset((_COMPILE, f"torch.{_COMPILE}"))


def says_what_is_compiled(module: ModuleInfo) -> bool:
    """Return whether a module trains in a loop, beside which it calls `torch.compile`.

    A library that compiles some of its functions is none: its users compile others.
    """
    if _TARGET not in module.taught.targets or "torch" not in module.at_hand:
        return False
    module.reader.read_whole(module)
    if _COMPILE in module.unit.calls and _trains_compiled(ir.decode_body(module.unit.body)):
        return True
    return any(_COMPILE in info.ir.calls and _trains_compiled(info.body) for info in module.functions)


def _trains_compiled(body: tuple[ir.Statement, ...]) -> bool:
    """Return whether a body compiles something, and goes backward in a loop."""
    calls = [node for node in ir.walk(body) if isinstance(node, ir.Call)]
    if not any(path_of(call.func) in _NAMES for call in calls):
        return False
    within = (node for loop in loops(body) for node in ir.walk(loop.body))
    return any(isinstance(node, ir.Call) and last_name(node.func) == _GRADIENTS for node in within)
