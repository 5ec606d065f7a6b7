"""On which devices a program of torch runs: `frameworks/platforms.py` has the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from xlalint.frameworks.base import ON_DEVICE, Platform
from xlalint.frameworks.torch.launch_files import find_launch_file, is_launch_file
from xlalint.frameworks.torch.shown_target import find_tpu
from xlalint.lowering import ir
from xlalint.program.linker import needed_packages

if TYPE_CHECKING:
    from xlalint.program.linker import ModuleInfo, Program

_PACKAGES: Final = ("torch_xla", "torch_tpu", "torch_neuronx", "libtpu")
_LAUNCHERS: Final = frozenset(("spawn", "launch", "notebook_launcher"))
_VARIABLES: Final = ("PJRT_DEVICE", "TPU_NAME", "XRT_TPU_CONFIG", "COLAB_TPU_ADDR")
_GPUS: Final = frozenset(("CUDA", "GPU", "ROCM"))
_TPU: Final = "torch_tpu"
_XLA_TARGETS: Final = frozenset(("torch_xla", _TPU))
_GPU: Final = "a GPU"


def platform_of(module: ModuleInfo, program: Program, target: str) -> Platform | None:
    """Find the XLA device of a program that is started at a module; `target` is the user's, "" where none is given."""
    if is_launch_file(module):
        return Platform("torch", f"{ON_DEVICE}Accelerate starts it there")
    variable = _variable(module)
    if variable == _GPU:
        return None
    why = (
        _say_import(module.needs) or _say_tpu(module) or variable or _say_launch(module) or _say_spawn(module, program)
    )
    why = why or _say_import_elsewhere(module, program)
    if not why and (started := find_launch_file(module, program)):
        why = f"`{started}` makes Accelerate start it there"
    if not why and target in _XLA_TARGETS:
        return Platform("torch", f"{ON_DEVICE}the target is {target}", told=True)
    return Platform("torch", ON_DEVICE + why) if why else None


def _say_import(packages: Iterable[str]) -> str:
    """Return which package of an XLA device is among those that are surely imported."""
    return next((f"it imports `{package}`" for package in packages if package in _PACKAGES), "")


def _say_tpu(module: ModuleInfo) -> str:
    """Say what shows TorchTPU in a module for which it was found when targets were chosen; every result depends on that choice."""
    return find_tpu(module) if _TPU in module.shown_targets else ""


def _say_import_elsewhere(module: ModuleInfo, program: Program) -> str:
    """Return which module of the program that a module surely imports brings such a package in: `from setup import device`."""
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
                if why := _say_import(source.needs) or _say_tpu(source):
                    return f"it imports `{source.name}`: {why}"
    return ""


def _say_launch(module: ModuleInfo) -> str:
    """The same, of the functions of a module that starts processes itself: they must not touch the device before."""
    unit = module.unit
    if _LAUNCHERS.isdisjoint(unit.calls) and not any(not _LAUNCHERS.isdisjoint(f.calls) for f in unit.functions):
        return ""
    module.reader.read_whole(module)
    for info in module.functions:
        if any(package.encode() in info.ir.body for package in _PACKAGES):
            for statement in info.body:
                why = _say_import(needed_packages(statement.bindings)) if type(statement) is ir.Import else ""
                if why:
                    return why
    return ""


def _variable(module: ModuleInfo) -> str:
    """Return which variable of the runtime's environment the module sets as it starts; `_GPU` where it asks for one."""
    if any(name.encode() in module.unit.body for name in _VARIABLES):
        for name, value in _variables_set(ir.decode_body(module.unit.body)):
            if name in _VARIABLES:
                asked = value.value if type(value) is ir.Const else value.id if type(value) is ir.Name else ""
                return _GPU if asked in _GPUS else f"it sets `{name}`"
    return ""


def _variables_set(statements: tuple[ir.Statement, ...]) -> Iterator[tuple[str, ir.Node]]:
    """Elements that statements assign, and what a notebook's `%env NAME=VALUE` sets (`xlalint.source.magics`)."""
    for statement in statements:
        if type(statement) is not ir.Assign:
            continue
        for target in statement.targets:
            if type(target) is ir.Sub and type(target.index) is ir.Const:
                yield str(target.index.value), statement.value
            elif type(target) is ir.Attr and type(target.value) is ir.Name and is_magic(target.value.id):
                yield target.name, statement.value


def is_magic(name: str) -> bool:
    """Return whether a name is what a notebook's `%env NAME=VALUE` becomes an attribute of."""
    return name.startswith("_") and name.strip("_") in ("env", "set_env")


def _say_spawn(module: ModuleInfo, program: Program) -> str:
    """Return whether `xla_spawn.py`, which is part of the project, starts the module."""
    if "_mp_fn" not in module.unit.defs:
        return ""
    spawner = next((name for name in program.by_name if name.rpartition(".")[2] == "xla_spawn"), "")
    return "`xla_spawn.py` starts it" if spawner else ""
