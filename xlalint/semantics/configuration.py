"""Settings of compilers and devices that host code makes: hazards that no tensor is needed for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.lowering import ir
from xlalint.semantics.values import TRUE, Value

if TYPE_CHECKING:
    from xlalint.semantics.arguments import Arguments
    from xlalint.semantics.frame import Frame
    from xlalint.semantics.program import FunctionInfo, ModuleInfo

_SETS_UP_TPU = frozenset(("TPUStrategy", "TPUStrategyV2", "TPUClusterResolver", "initialize_tpu_system"))
_COMPILES = frozenset(("compile", "function"))


def sets_up_tpu(module: ModuleInfo) -> bool:
    """Whether a module makes a TPU strategy, or what one is made of."""
    unit = module.unit
    module.reader.read_whole(module)
    return not _SETS_UP_TPU.isdisjoint(unit.calls) or any(not _SETS_UP_TPU.isdisjoint(f.calls) for f in unit.functions)


def configures(info: FunctionInfo) -> bool:
    """Whether a function compiles a Keras model or makes a `tf.function`."""
    return not _COMPILES.isdisjoint(info.ir.calls)


def check_call(frame: Frame, node: ir.Call, arguments: Arguments) -> None:
    """Report `jit_compile=True` given to `Model.compile` or `tf.function` where a TPU is set up."""
    last = node.func.name if isinstance(node.func, ir.Attr) else ""
    if last in _COMPILES and sets_up_tpu(frame.module):
        given = dict(node.keywords).get("jit_compile")
        if arguments.keywords["jit_compile"] is TRUE or (given is not None and _defaults_to_true(frame, given)):
            frame.note("XLA501", node.at, "tensorflow", f"{last}(jit_compile=True)")


def check_decorator(frame: Frame, decorator: ir.Node) -> None:
    """The same, for `@tf.function(jit_compile=True)`."""
    if isinstance(decorator, ir.Call):
        for name, node in decorator.keywords:
            if name == "jit_compile" and frame.eval(node) is TRUE:
                frame.note("XLA501", decorator.at, "tensorflow", "tf.function(jit_compile=True)")


def _defaults_to_true(frame: Frame, node: ir.Node) -> bool:
    """Whether an expression is a parameter whose default is True."""
    if not isinstance(node, ir.Name) or frame.function is None:
        return False
    defaults: tuple[Value | None, ...] = frame.interpreter.defaults(frame.function)
    return any(p.name == node.id and d is TRUE for p, d in zip(frame.function.params, defaults, strict=True))
