"""Where a program of JAX runs: `frameworks/platforms.py` has the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import Class, Function, Module
from xlalint.frameworks.base import ON_DEVICE, Platform

if TYPE_CHECKING:
    from xlalint.program.linker import ModuleInfo, Program

_MAIN: Final = b"__main__"


def platform_of(module: ModuleInfo, program: Program, _target: str) -> Platform | None:
    """Say that a program that imports `jax` runs on an XLA device: all that JAX does is compiled by XLA.

    So does a script that makes an agent of another file's, which imports it.
    """
    if "jax" in module.packages:
        return Platform("jax", f"{ON_DEVICE}it imports `jax`")
    if _MAIN not in module.unit.body:
        return None
    for binding in module.unit.imports:
        held = None if binding.guarded else program.resolve_import(module, binding)
        source = held.info if isinstance(held, Module) else None
        if isinstance(held, (Class, Function)):
            source = held.info.module
        if source is not None and source is not module and not source.followed and "jax" in source.packages:
            source.reader.current.modules |= source.bit
            return Platform("jax", f"{ON_DEVICE}it imports `{source.name}`: it imports `jax`")
    return None
