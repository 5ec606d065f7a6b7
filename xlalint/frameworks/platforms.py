"""On which XLA devices a program runs, and why we think so.

Rules of configuration speak only where the code runs on an XLA device: `fp16=True` is right on a GPU. A *program* is the module that is
started, with all that it calls: so the platform is asked of the module whose roots are entered, and a helper in another file is judged
by the scripts that call it. That needs no list of importers, and what is found depends on what was entered anyway.

What counts, per framework, is what the program surely does when it is started:

| framework | evidence |
| --- | --- |
| torch | the module imports `torch_xla`, `torch_tpu`, `torch_neuronx` or `libtpu`, not under `if` or `try` |
| torch | it imports, not under `if` or `try`, a module of the program that does so |
| torch | one of its functions does so, and it starts processes itself (`xmp.spawn`, `torch_xla.launch`, `notebook_launcher`) |
| torch | it sets `PJRT_DEVICE`, `TPU_NAME` or `XRT_TPU_CONFIG`, not under `if` or `try`, to something else than a GPU |
| torch | it defines `_mp_fn`, and the project holds the `xla_spawn.py` that calls it |
| torch | it imports `accelerate`, and the project holds a configuration file of Accelerate's for XLA devices, and none for others |
| torch | it is such a file |
| torch | the user gave `torch_xla` or `torch_tpu` as the target |
| tensorflow | the module makes a `TPUStrategy`, or what one is made of |
| tensorflow | it imports a function of the program that does so, or the strategy that such a module has made |
| jax | it imports `jax`: all that JAX does is compiled by XLA |

Less than that is asked for by rules of other kinds (`Reach`): what changes the shapes of a compiled step counts wherever XLA compiles one,
on a GPU by `jit_compile=True`, too; what makes a `tf.function` anew counts wherever there is TensorFlow.

An import under `try` is no evidence: that program runs elsewhere too. A strategy under `try` is: its author wants the TPU, and falls back.
Nothing but the unit's headers is read, but for a search for a few names in the encoded bodies, and functions are decoded only where those
are found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from xlalint.frameworks.torch.launch_files import is_launch_file, launched
from xlalint.lowering import ir
from xlalint.program.linker import needed_packages

if TYPE_CHECKING:
    from xlalint.program.linker import ModuleInfo, Program
    from xlalint.rules import Policy

_PACKAGES = ("torch_xla", "torch_tpu", "torch_neuronx", "libtpu")
_STRATEGIES = frozenset(("TPUStrategy", "TPUStrategyV2", "TPUClusterResolver", "initialize_tpu_system"))
_LAUNCHERS = frozenset(("spawn", "launch", "notebook_launcher"))
_VARIABLES = ("PJRT_DEVICE", "TPU_NAME", "XRT_TPU_CONFIG", "COLAB_TPU_ADDR")
_GPUS = frozenset(("CUDA", "GPU", "ROCM"))
_KERAS = frozenset(("tensorflow", "keras", "tf_keras", "keras_hub", "keras_nlp", "keras_cv", "transformers"))
_TENSORFLOW = frozenset(("tensorflow", "keras", "tf_keras"))
_JIT = b"jit_compile"
_ON_DEVICE = "runs on an XLA device: "
_XLA_TARGETS = frozenset(("torch_xla", "torch_tpu"))


class Reach(IntEnum):
    """How much of a program is XLA's: it traces functions; some of them are compiled by XLA; all runs on an XLA device."""

    TRACED = 0
    COMPILED = 1
    DEVICE = 2


class Platform(NamedTuple):
    """A framework that reaches XLA in a program, how far, and why, as a sentence without its end. `told`: nothing but the user's target
    says so."""

    framework: str
    why: str
    reach: Reach = Reach.DEVICE
    told: bool = False


Platforms = Mapping[str, Platform]
NOWHERE: Platforms = {}

# How far a program has to reach for a rule that counts in such code.
_REACHES: dict[str, Reach] = {
    "around-traced": Reach.TRACED,
    "host-traced": Reach.TRACED,
    "host-compiled": Reach.COMPILED,
    "host-device": Reach.DEVICE,
}


def needed(policy: Policy, framework: str) -> Reach | None:
    """How far a program has to reach for a rule that speaks of a framework's host code; None for the others, which speak of traced code."""
    return _REACHES.get(policy.counts_in(framework))


def around_compiled(policy: Policy, framework: str) -> bool:
    """Whether a rule speaks, for this framework, of the code around compiled functions alone: what is traced itself is one program."""
    return policy.counts_in(framework) == "around-traced"


def reaches(platforms: Platforms, framework: str, reach: Reach) -> bool:
    """Whether a program reaches XLA that far by a framework."""
    return framework in platforms and platforms[framework].reach >= reach


def platforms_of(module: ModuleInfo, program: Program, target: str = "") -> Platforms:
    """The platforms that a program started at a module runs on, by framework; `target` is the user's, "" where none is given."""
    module.reader.current.modules |= module.bit
    found: dict[str, Platform] = {}
    if is_launch_file(module):
        return {"torch": Platform("torch", f"{_ON_DEVICE}Accelerate starts it there")}
    for platform in (_torch(module, program, target), _tensorflow(module, program), _jax(module)):
        if platform is not None:
            found[platform.framework] = platform
    return found


def _torch(module: ModuleInfo, program: Program, target: str) -> Platform | None:
    variable = _variable(module)
    if variable == _GPU:
        return None
    why = _imported(module.needs) or variable or _launched(module) or _spawned(module, program)
    why = why or _told_by_another(module, program)
    if not why and (started := launched(module, program)):
        why = f"`{started}` makes Accelerate start it there"
    if not why and target in _XLA_TARGETS:
        return Platform("torch", f"{_ON_DEVICE}the target is {target}", told=True)
    return Platform("torch", _ON_DEVICE + why) if why else None


def _imported(packages: Iterable[str]) -> str:
    """Which package of an XLA device is among those that are surely imported."""
    return next((f"it imports `{package}`" for package in packages if package in _PACKAGES), "")


def _told_by_another(module: ModuleInfo, program: Program) -> str:
    """Which module of the program that a module surely imports brings such a package in: `from setup import device`."""
    for binding in module.unit.imports:
        if binding.guarded:
            continue
        name = program.absolute(module, binding)
        for source in (
            program.by_name.get(f"{name}.{binding.name}") if binding.name else None,
            program.by_name.get(name),
        ):
            if source is not None and source is not module and not source.followed:
                source.reader.current.modules |= source.bit
                if why := _imported(source.needs):
                    return f"it imports `{source.name}`: {why}"
    return ""


def _launched(module: ModuleInfo) -> str:
    """The same, of the functions of a module that starts processes itself: they must not touch the device before."""
    unit = module.unit
    if _LAUNCHERS.isdisjoint(unit.calls) and not any(not _LAUNCHERS.isdisjoint(f.calls) for f in unit.functions):
        return ""
    module.reader.read_whole(module)
    for info in module.functions:
        if any(package.encode() in info.ir.body for package in _PACKAGES):
            for statement in info.body:
                why = _imported(needed_packages(statement.bindings)) if isinstance(statement, ir.Import) else ""
                if why:
                    return why
    return ""


_GPU = "a GPU"


def _variable(module: ModuleInfo) -> str:
    """Which variable of the runtime's environment the module sets as it starts; `_GPU` where it asks for one."""
    if any(name.encode() in module.unit.body for name in _VARIABLES):
        for name, value in _variables_set(ir.decode_body(module.unit.body)):
            if name in _VARIABLES:
                asked = value.value if isinstance(value, ir.Const) else value.id if isinstance(value, ir.Name) else ""
                return _GPU if asked in _GPUS else f"it sets `{name}`"
    return ""


def _variables_set(statements: tuple[ir.Statement, ...]) -> Iterator[tuple[str, ir.Node]]:
    """Elements that statements assign, and what a notebook's `%env NAME=VALUE` sets (`xlalint.source.magics`)."""
    for statement in statements:
        if not isinstance(statement, ir.Assign):
            continue
        for target in statement.targets:
            if isinstance(target, ir.Sub) and isinstance(target.index, ir.Const):
                yield str(target.index.value), statement.value
            elif isinstance(target, ir.Attr) and isinstance(target.value, ir.Name) and is_magic(target.value.id):
                yield target.name, statement.value


def is_magic(name: str) -> bool:
    """Whether a name is what a notebook's `%env NAME=VALUE` becomes an attribute of."""
    return name.startswith("_") and name.strip("_") in ("env", "set_env")


def _spawned(module: ModuleInfo, program: Program) -> str:
    """Whether `xla_spawn.py`, which is part of the project, starts the module."""
    if "_mp_fn" not in module.unit.defs:
        return ""
    spawner = next((name for name in program.by_name if name.rpartition(".")[2] == "xla_spawn"), "")
    return "`xla_spawn.py` starts it" if spawner else ""


def _tensorflow(module: ModuleInfo, program: Program) -> Platform | None:
    on_tpu = strategy_of(module, program)
    if on_tpu:
        return Platform("tensorflow", f"{_ON_DEVICE}{on_tpu}")
    if _TENSORFLOW.isdisjoint(module.packages):
        return None
    if _asks_for_jit(module):
        return Platform("tensorflow", "is compiled by XLA: it sets `jit_compile=True`", Reach.COMPILED)
    return Platform("tensorflow", "runs `tf.function`s", Reach.TRACED)


def strategy_of(module: ModuleInfo, program: Program) -> str:
    """What shows that a program started at a module makes a TPU strategy; "" where nothing does."""
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
    """What a TPU strategy is made of, as far as a module calls it."""
    unit = module.unit
    called = _STRATEGIES.intersection(unit.calls)
    if not called and any(not _STRATEGIES.isdisjoint(f.calls) for f in unit.functions):
        module.reader.read_whole(module)
        called = _STRATEGIES.intersection(name for f in unit.functions for name in f.calls)
    return called


def _strategy_from(source: ModuleInfo, name: str) -> bool:
    """Whether a name that is imported from a module is a function that makes a strategy, or what the module's top level made of one."""
    source.reader.current.modules |= source.bit
    index = source.unit.defs.get(name)
    if index is not None and index >= 0:
        return not _STRATEGIES.isdisjoint(source.unit.functions[index].calls)
    return name in source.unit.assigned and bool(_strategy_calls(source)) and "strategy" in name.lower()


def _asks_for_jit(module: ModuleInfo) -> bool:
    """Whether a call of the module, or a decorator, says `jit_compile=True`."""
    if _JIT in module.unit.body and _says_jit(ir.decode_body(module.unit.body)):
        return True
    module.reader.read_whole(module)
    return any(
        _says_jit(info.ir.decorators) or (_JIT in info.ir.body and _says_jit(info.body)) for info in module.functions
    )


def _says_jit(nodes: tuple[object, ...]) -> bool:
    calls = (one for one in ir.walk(nodes) if isinstance(one, ir.Call))
    return any((_JIT.decode(), ir.Const(True)) in call.keywords for call in calls)


def _jax(module: ModuleInfo) -> Platform | None:
    return Platform("jax", f"{_ON_DEVICE}it imports `jax`") if "jax" in module.packages else None
