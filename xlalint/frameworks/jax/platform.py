"""Where a program of JAX runs: `frameworks/platforms.py` has the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.frameworks.base import ON_DEVICE, Platform, Reach
from xlalint.frameworks.platforms import imported_by_script
from xlalint.interpreter.device_loops import last_name
from xlalint.lowering import ir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xlalint.program.linker import ModuleInfo, Program

_CHOICES: Final = frozenset(("JAX_PLATFORMS", "JAX_PLATFORM_NAME", "jax_platforms", "jax_platform_name"))
_SETTING: Final = frozenset(("setdefault", "update"))
_CPU: Final = "cpu"


def platform_of(module: ModuleInfo, program: Program, _target: str) -> Platform | None:
    """Say that a program that imports `jax` runs on an XLA device: all that JAX does is compiled by XLA.

    So does a script that makes an agent of another file's, which imports it. One that chooses the CPU as it starts is compiled for that.
    """
    if "jax" in module.packages:
        return _at(module, "it imports `jax`")
    for source in imported_by_script(module, program):
        if "jax" in source.packages:
            source.reader.current.modules |= source.bit
            return _at(module, f"it imports `{source.name}`: it imports `jax`")
    return None


def _at(module: ModuleInfo, why: str) -> Platform:
    if _chooses_cpu(module):
        return Platform("jax", f"is compiled by XLA: {why}", Reach.COMPILED, at_hand=True)
    return Platform("jax", f"{ON_DEVICE}{why}")


def _chooses_cpu(module: ModuleInfo) -> bool:
    """Return whether a module, as it starts, has JAX compute on the CPU, whatever else is there."""
    body = module.unit.body
    if not any(name.encode() in body for name in _CHOICES):
        return False
    chosen = [value for name, value in _list_settings(ir.decode_body(body)) if name in _CHOICES]
    return bool(chosen) and chosen[-1] == _CPU


def _list_settings(statements: tuple[ir.Statement, ...]) -> Iterator[tuple[object, object]]:
    """List what statements, not under `if` or `try`, set by name: `os.environ["A"] = "b"`, `config.update("a", "b")`."""
    for one in statements:
        if type(one) is ir.Assign:
            for target in one.targets:
                if type(target) is ir.Sub and type(target.index) is ir.Const:
                    yield target.index.value, one.value.value if type(one.value) is ir.Const else None
        elif type(one) is ir.Eval and type(one.value) is ir.Call and last_name(one.value.func) in _SETTING:
            given = [arg.value if type(arg) is ir.Const else None for arg in one.value.args]
            if len(given) == 2:
                yield given[0], given[1]
