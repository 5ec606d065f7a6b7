"""Where a program of JAX runs: `frameworks/platforms.py` has the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.frameworks.base import ON_DEVICE, Platform
from xlalint.frameworks.platforms import imported_by_script
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.program.linker import ModuleInfo, Program

_CHOICES: Final = frozenset(("JAX_PLATFORMS", "JAX_PLATFORM_NAME", "jax_platforms", "jax_platform_name"))
_CPU: Final = "cpu"


def platform_of(module: ModuleInfo, program: Program, _target: str) -> Platform | None:
    """Say that a program that imports `jax` runs on an XLA device: all that JAX does is compiled by XLA.

    So does a script that makes an agent of another file's, which imports it. Where one chooses the CPU as it starts, results are at hand.
    """
    if "jax" in module.packages:
        return _at(module, "it imports `jax`")
    for source in imported_by_script(module, program):
        if "jax" in source.packages:
            source.reader.current.modules |= source.bit
            return _at(module, f"it imports `{source.name}`: it imports `jax`")
    return None


def _at(module: ModuleInfo, why: str) -> Platform:
    return Platform("jax", f"{ON_DEVICE}{why}", at_hand=_chooses_cpu(module))


def _chooses_cpu(module: ModuleInfo) -> bool:
    """Return whether a module, as it starts, means JAX to compute on the CPU, whatever else is there."""
    body = module.unit.body
    if not any(name.encode() in body for name in _CHOICES):
        return False
    settings = map(_setting_of, ir.decode_body(body))
    chosen = [value for name, value in settings if name in _CHOICES]
    return bool(chosen) and chosen[-1] == _CPU


def _setting_of(statement: ir.Statement) -> tuple[object, object]:
    """The name and value of `os.environ["A"] = "b"`, `os.environ.setdefault("A", "b")`, `config.update("a", "b")`; None of others."""
    given: tuple[ir.Node, ...] = ()
    if type(statement) is ir.Assign and type(statement.targets[0]) is ir.Sub:
        given = (statement.targets[0].index, statement.value)
    elif type(statement) is ir.Eval and type(statement.value) is ir.Call:
        given = statement.value.args
    if len(given) != 2 or type(given[0]) is not ir.Const:
        return None, None
    return given[0].value, given[1].value if type(given[1]) is ir.Const else None
