"""Find the scripts that say themselves what `torch.compile` compiles: nothing else of them, and of what they import, is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.interpreter.device_loops import last_name, loops
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xlalint.program.linker import ModuleInfo, Program

_TARGET: Final = "torch_compile"
_TORCH: Final = "torch"
_COMPILE: Final = "compile"
_GRADIENTS: Final = "backward"
_NAMES: Final = frozenset((_COMPILE, f"torch.{_COMPILE}"))
_OPTIONS: Final = frozenset(("fullgraph", "dynamic", "backend", "mode", "options", "disable"))  # of `nn.Module.compile`


def says_what_is_compiled(module: ModuleInfo, program: Program) -> bool:
    """Return whether a module trains in a loop, beside which it calls `torch.compile`, or belongs to a program of such a script.

    A library that compiles some of its functions is none: its users compile others.
    """
    if _TARGET not in module.taught.targets or _TORCH not in module.at_hand:
        return False
    return module.index in program.answer(_find_told, program.modules[0])


def _find_told(_first: ModuleInfo, program: Program) -> frozenset[int]:
    """Return the indices of the scripts that train what they compile, of what these import, and of other scripts that import it."""
    own = program.modules[: program.linted]
    for module in own:
        program.reader.read_whole(module)
    scripts = [module for module in own if module.answers(_trains_what_it_compiles)]
    if not scripts:
        return frozenset()
    told = _led_to(program, scripts)
    imported = {source for module in own for source in program.imported_by(module)}
    beside = (module for module in own if module not in told and module not in imported)
    told.update([module for module in beside if not told.isdisjoint(_led_to(program, (module,)))])
    return frozenset([module.index for module in told])


def _led_to(program: Program, begin: Iterable[ModuleInfo]) -> set[ModuleInfo]:
    """Return modules with those of the program that they import, and so on."""
    todo = list(begin)
    found = set(todo)
    while todo:
        for source in program.imported_by(todo.pop()):
            if source not in found:
                found.add(source)
                todo.append(source)
    return found


def _trains_what_it_compiles(module: ModuleInfo) -> bool:
    """Answer whether one body of a module compiles something, and goes backward in a loop."""
    if _TORCH not in module.at_hand:
        return False
    if _COMPILE in module.unit.calls and _trains_compiled(ir.decode_body(module.unit.body)):
        return True
    return any(_COMPILE in info.ir.calls and _trains_compiled(info.body) for info in module.functions)


def _trains_compiled(body: tuple[ir.Statement, ...]) -> bool:
    """Return whether a body compiles something, and goes backward in a loop."""
    calls = [node for node in ir.walk(body) if isinstance(node, ir.Call)]
    if not any(path_of(call.func) in _NAMES or _compiles_itself(call) for call in calls):
        return False
    within = (node for loop in loops(body) for node in ir.walk(loop.body))
    return any(isinstance(node, ir.Call) and last_name(node.func) == _GRADIENTS for node in within)


def _compiles_itself(call: ir.Call) -> bool:
    """Return whether a call is `model.compile()`: what else has such a method is given something."""
    if type(call.func) is not ir.Attr or call.func.name != _COMPILE or call.args:
        return False
    return all(name in _OPTIONS for name, _ in call.keywords)
