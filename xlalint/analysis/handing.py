"""Host functions that hand functions to a tracer.

`jax.jit(step)` in a function that nothing calls makes `step` a root. Which functions hand something over follows from what the callees of
their calls resolve to; lowering keeps the last names of what a function calls, so only the few whose names a tracer bears are decoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.values import Class, Function, LibrarySymbol, Module
from xlalint.frameworks.registry import frameworks
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir
from xlalint.lowering.walking import walk
from xlalint.program.linker import FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from xlalint.interpreter.interpreter import Interpreter


class HandingOver:
    """Tells which functions of a program hand functions to a tracer.

    A callee that the module's names resolve is judged by what it is: a library's tracer, or a function of the program that calls one itself
    and bears a tracer's name. Of a callee that nothing resolves, such as a parameter, only its name is known.
    """

    def __init__(self, interpreter: Interpreter) -> None:
        self._program = interpreter.program
        self._apis = interpreter.apis
        self._tracers = {framework.name: framework.tracers for framework in frameworks()}
        self.names = frozenset([name for names in self._tracers.values() for name in names])
        self._methods = frozenset([name for framework in frameworks() for name in framework.tracing_methods])

    def find(self, module: ModuleInfo) -> list[FunctionInfo]:
        """Return the functions of a module, nested ones aside, that hand something to a tracer, themselves or by what is nested in them."""
        outer = (info for info in module.functions if info.ir.outer < 0)
        return [info for info in outer if self._hands_over(info, own=True)]

    def _hands_over(self, info: FunctionInfo, *, own: bool) -> bool:
        if not self.names.isdisjoint(info.ir.calls) and self._calls_tracer(info, own):
            return True
        return any(self._decorated(inner) or self._hands_over(inner, own=own) for inner in info.nested)

    def _calls_tracer(self, info: FunctionInfo, own: bool) -> bool:
        nodes = walk(ir.decode_body(info.ir.body))
        imported = {binding.local for node in nodes if isinstance(node, ir.Import) for binding in node.bindings}
        return any(isinstance(node, ir.Call) and self._traces(info, node.func, imported, own) for node in nodes)

    def _decorated(self, info: FunctionInfo) -> bool:
        """Return whether a decorator speaks of a tracer, as `@jit` and `@partial(jit, ...)` do."""
        if info.decorated(*self.names):
            return True
        given = (argument for node in info.ir.decorators if isinstance(node, ir.Call) for argument in node.args)
        return any(last_name(node) in self.names for node in given)

    def _traces(self, info: FunctionInfo, callee: ir.Node, imported: set[str], own: bool) -> bool:
        """Return whether a call of it traces what it is given; `own`: a function of the program may be what calls the tracer."""
        name = last_name(callee)
        if name not in self.names:
            return False
        method = _own_method(info, callee)
        if method is not None:
            return own and self._hands_over(method, own=False)
        found = self._program.resolve(info.module, callee)
        if isinstance(found, LibrarySymbol):
            return name in self._tracers.get(self._apis.framework(found.name) or "", ())
        if isinstance(found, Function):
            return own and self._hands_over(found.info, own=False)
        if found is not None:
            return not isinstance(found, (Class, Module))
        return isinstance(callee, ir.Name) or name in self._methods or path_of(callee).partition(".")[0] in imported


def _own_method(info: FunctionInfo, callee: ir.Node) -> FunctionInfo | None:
    """Return the method of a method's own class that `self.name` is."""
    if info.owner is None or not info.ir.params or not isinstance(callee, ir.Attr):
        return None
    return info.owner.method(callee.name) if path_of(callee.value) == info.ir.params[0].name else None


__all__ = ["HandingOver"]
