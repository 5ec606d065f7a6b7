"""How far a program of TensorFlow reaches XLA: `frameworks/platforms.py` has the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.frameworks.base import ON_DEVICE, Platform, Reach
from xlalint.frameworks.platforms import imported_by_script
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.program.linker import ModuleInfo, Program

_STRATEGIES: Final = frozenset(("TPUStrategy", "TPUStrategyV2", "TPUClusterResolver", "initialize_tpu_system"))
_KERAS: Final = frozenset(("tensorflow", "keras", "tf_keras", "keras_hub", "keras_nlp", "keras_cv", "transformers"))
_TENSORFLOW: Final = frozenset(("tensorflow", "keras", "tf_keras"))
_JIT: Final = b"jit_compile"


def platform_of(module: ModuleInfo, program: Program, _target: str) -> Platform | None:
    """Find how far a program that is started at a module reaches XLA."""
    on_tpu = strategy_of(module, program)
    if on_tpu:
        return Platform("tensorflow", f"{ON_DEVICE}{on_tpu}")
    if _TENSORFLOW.isdisjoint(module.packages):
        return _of_script(module, program)
    if _asks_for_jit(module):
        return Platform("tensorflow", "is compiled by XLA: it sets `jit_compile=True`", Reach.COMPILED)
    return Platform("tensorflow", "runs `tf.function`s", Reach.TRACED)


def _of_script(module: ModuleInfo, program: Program) -> Platform | None:
    """Find how far a script reaches XLA that leaves TensorFlow to the modules that it imports."""
    for source in imported_by_script(module, program):
        if not _TENSORFLOW.isdisjoint(source.packages):
            source.reader.current.modules |= source.bit
            return Platform("tensorflow", f"runs `tf.function`s: it imports `{source.name}`", Reach.TRACED)
    return None


def strategy_of(module: ModuleInfo, program: Program) -> str:
    """Return what shows that a program started at a module makes a TPU strategy; "" where nothing does."""
    called = _strategy_calls(module)
    if called:
        return f"it makes a `{max(called)}`"
    if _KERAS.isdisjoint(module.packages):
        return ""
    for binding in module.unit.imports:
        source = program.by_name.get(program.absolute(module, binding))
        if source is not None and source is not module and not source.followed and _strategy_from(source, binding.name):
            return f"it has the strategy that `{source.name}` makes"
    return ""


def _strategy_calls(module: ModuleInfo) -> frozenset[str]:
    """Return what a TPU strategy is made of, as far as a module calls it."""
    unit = module.unit
    called = _STRATEGIES.intersection(unit.calls)
    if not called and any(not _STRATEGIES.isdisjoint(f.calls) for f in unit.functions):
        module.reader.read_whole(module)
        called = _STRATEGIES.intersection(name for f in unit.functions for name in f.calls)
    return called


def _strategy_from(source: ModuleInfo, name: str) -> bool:
    """Return whether an imported name is a function that makes a strategy, or what the module's top level made of one."""
    source.reader.current.modules |= source.bit
    index = source.unit.defs.get(name)
    if index is not None and index >= 0:
        return not _STRATEGIES.isdisjoint(source.unit.functions[index].calls)
    return name in source.unit.assigned and bool(_strategy_calls(source)) and "strategy" in name.lower()


def _asks_for_jit(module: ModuleInfo) -> bool:
    """Return whether a call of the module, or a decorator, says `jit_compile=True`."""
    if _JIT in module.unit.body and _says_jit(ir.decode_body(module.unit.body)):
        return True
    module.reader.read_whole(module)
    return any(
        _says_jit(info.ir.decorators) or (_JIT in info.ir.body and _says_jit(info.body)) for info in module.functions
    )


def _says_jit(nodes: tuple[object, ...]) -> bool:
    calls = (one for one in ir.walk(nodes) if type(one) is ir.Call)
    return any((_JIT.decode(), ir.Const(True)) in call.keywords for call in calls)
