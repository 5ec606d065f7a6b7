"""Where a program of JAX runs: `frameworks/platforms.py` has the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.frameworks.base import ON_DEVICE, Platform
from xlalint.frameworks.platforms import imported_by_script

if TYPE_CHECKING:
    from xlalint.program.linker import ModuleInfo, Program


def platform_of(module: ModuleInfo, program: Program, _target: str) -> Platform | None:
    """Say that a program that imports `jax` runs on an XLA device: all that JAX does is compiled by XLA.

    So does a script that makes an agent of another file's, which imports it.
    """
    if "jax" in module.packages:
        return Platform("jax", f"{ON_DEVICE}it imports `jax`")
    for source in imported_by_script(module, program):
        if "jax" in source.packages:
            source.reader.current.modules |= source.bit
            return Platform("jax", f"{ON_DEVICE}it imports `{source.name}`: it imports `jax`")
    return None
