"""All frameworks together: what the stages ask of them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from xlalint.frameworks.checks import host_code
from xlalint.frameworks.registry import frameworks
from xlalint.frameworks.shared import SEMANTICS
from xlalint.interpreter.semantics import Libraries

if TYPE_CHECKING:
    from xlalint.frameworks.base import Framework, Platform, Platforms
    from xlalint.frameworks.checks.host_code import Hosts
    from xlalint.program.linker import ModuleInfo, Program


def libraries() -> Libraries:
    """Return what the frameworks and Python's own libraries add to the interpreter."""
    return _libraries(frameworks())


@cache
def _libraries(known: tuple[Framework, ...]) -> Libraries:
    return Libraries(tuple(one.semantics for one in known), SEMANTICS)


def platforms_of(module: ModuleInfo, program: Program, target: str = "") -> Platforms:
    """Find the platforms that a program started at a module runs on; `target` is the user's, "" where none is given."""
    module.reader.current.modules |= module.bit
    found: dict[str, Platform] = {}
    for framework in frameworks():
        platform = framework.platform(module, program, target) if framework.platform is not None else None
        if platform is not None:
            found[framework.name] = platform
    return found


def hosts_of(module: ModuleInfo, program: Program, platforms: Platforms) -> Hosts:
    """Find the host code to enter of a program that reaches XLA by these platforms."""
    return host_code.hosts_of(module, program, platforms)
