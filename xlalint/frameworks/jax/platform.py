"""Where a program of JAX runs: `frameworks/platforms.py` has the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.frameworks.base import ON_DEVICE, Platform

if TYPE_CHECKING:
    from xlalint.program.linker import ModuleInfo, Program


def platform_of(module: ModuleInfo, _program: Program, _target: str) -> Platform | None:
    """Say that a program that imports `jax` runs on an XLA device: all that JAX does is compiled by XLA."""
    return Platform("jax", f"{ON_DEVICE}it imports `jax`") if "jax" in module.packages else None
