"""Find the scripts that say themselves what `torch.compile` compiles: nothing else of them, and of what they import, is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.interpreter.device_loops import last_name, loops
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.program.linker import ModuleInfo, Program

_TARGET: Final = "torch_compile"
_TORCH: Final = "torch"
_COMPILE: Final = "compile"
_COMPILED: Final = "compiled"
_STARTED: Final = "started"
_INFERS: Final = "infers"
_MAIN: Final = b"__main__"
_GRADIENTS: Final = "backward"
_NAMES: Final = frozenset((_COMPILE, f"torch.{_COMPILE}"))
_OPTIONS: Final = frozenset(("fullgraph", "dynamic", "backend", "mode", "options", "disable"))  # of `nn.Module.compile`


def says_what_is_compiled(module: ModuleInfo, program: Program) -> bool:
    """Return whether a module trains in a loop what it compiles, itself or by what it imports, or belongs to the program of such a script.

    A script that compiles something and trains nothing is one, too, but in a library, of which packages export something: its users
    compile others.
    """
    if _TARGET not in module.taught.targets or _TORCH not in module.at_hand:
        return False
    return module.index in program.answer(_find_told, program.modules[0])


def _find_told(_first: ModuleInfo, program: Program) -> frozenset[int]:
    """Return the indices of the scripts that train what they compile, of what these import, and of other scripts that import it."""
    own = program.modules[: program.linted]
    for module in own:
        program.reader.read_whole(module)
    told: set[ModuleInfo] = set()
    for module in own:
        how = module.answers(_how_run)
        if how == _INFERS and program.exported:
            continue  # a library's own demonstration
        if how:
            led = _led_to(program, module)
            if how != _STARTED or any(one.answers(_compiles) for one in led):
                told |= led
    if not told:
        return frozenset()
    imported = {source for module in own for source in program.imported_by(module)}
    started = [module for module in own if module not in imported or _MAIN in module.unit.body]
    beside = [module for module in started if module not in told]
    told.update([module for module in beside if not told.isdisjoint(_led_to(program, module))])
    return frozenset([module.index for module in told])


def _led_to(program: Program, script: ModuleInfo) -> set[ModuleInfo]:
    """Return a module with those of the program that it imports, and so on."""
    todo = [script]
    found = {script}
    while todo:
        for source in program.imported_by(todo.pop()):
            if source not in found:
                found.add(source)
                todo.append(source)
    return found


def _how_run(module: ModuleInfo) -> str:
    """Answer how a module goes backward in a loop: beside what it compiles, or as a script that is started; or that it is a script of
    which a function compiles something, and none trains; "" of others."""
    if _TORCH not in module.at_hand:
        return ""
    top = module.body if _GRADIENTS in module.unit.calls else ()
    inner = [info.body for info in module.functions if _GRADIENTS in info.ir.calls]
    trains = [body for body in (top, *inner) if _trains(body)]
    if any(_compiles_in(body) for body in trains):
        return _COMPILED
    started = _MAIN in module.unit.body or any(body is top for body in trains)
    if trains:
        return _STARTED if started else ""
    compiling = (info.body for info in module.functions if _COMPILE in info.ir.calls)
    return _INFERS if started and any(map(_compiles_in, compiling)) else ""


def _trains(body: tuple[ir.Statement, ...]) -> bool:
    """Return whether a body goes backward in a loop."""
    within = (node for loop in loops(body) for node in ir.walk(loop.body))
    return any(isinstance(node, ir.Call) and last_name(node.func) == _GRADIENTS for node in within)


def _compiles(module: ModuleInfo) -> bool:
    """Answer whether a module gives something to `torch.compile`."""
    if _TORCH not in module.at_hand:
        return False
    bodies = [module.body] if _COMPILE in module.unit.calls else []
    bodies += [info.body for info in module.functions if _COMPILE in info.ir.calls]
    return any(map(_compiles_in, bodies)) or any(info.decorated(_COMPILE) for info in module.functions)


def _compiles_in(body: tuple[ir.Statement, ...]) -> bool:
    calls = (node for node in ir.walk(body) if isinstance(node, ir.Call))
    return any(path_of(call.func) in _NAMES or _compiles_itself(call) for call in calls)


def _compiles_itself(call: ir.Call) -> bool:
    """Return whether a call is `model.compile()`: what else has such a method is given something."""
    if type(call.func) is not ir.Attr or call.func.name != _COMPILE or call.args:
        return False
    return all(name in _OPTIONS for name, _ in call.keywords)
