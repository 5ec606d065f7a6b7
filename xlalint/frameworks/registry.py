"""The frameworks, in order. Adding one is a folder with a `framework.py`, and a row here.

A row is all that is known of a framework until code is interpreted: reading settings and pages imports no framework.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from xlalint.frameworks.base import Framework, Platform, Platforms
    from xlalint.frameworks.checks.host_code import Hosts
    from xlalint.interpreter.semantics import Libraries
    from xlalint.program.linker import ModuleInfo, Program


class Row(NamedTuple):
    """A framework's name, the module that holds its `FRAMEWORK`, and the targets by which its code reaches XLA, the usual one first.

    `rewritten`: the rewriters know its operations.
    """

    name: str
    module: str
    targets: tuple[str, ...]
    rewritten: bool = True


ROWS: list[Row] = [
    Row("torch", "xlalint.frameworks.torch.framework", ("torch_xla", "torch_tpu", "torch_compile")),
    Row("tensorflow", "xlalint.frameworks.tensorflow.framework", ("tf",)),
    Row("jax", "xlalint.frameworks.jax.framework", ("jax",)),
]


def row_of(name: str) -> Row:
    """Return the row of a framework."""
    return next(row for row in ROWS if row.name == name)


def names() -> tuple[str, ...]:
    """List the names of the frameworks, in order."""
    return tuple(row.name for row in ROWS)


def frameworks() -> tuple[Framework, ...]:
    """Import the frameworks, in order."""
    return _frameworks(tuple(ROWS))


@cache
def _frameworks(rows: tuple[Row, ...]) -> tuple[Framework, ...]:
    return tuple(import_module(row.module).FRAMEWORK for row in rows)


def libraries() -> Libraries:
    """Return what the frameworks and Python's own libraries add to the interpreter."""
    return _libraries(frameworks())


@cache
def _libraries(known: tuple[Framework, ...]) -> Libraries:
    from xlalint.frameworks.shared import SEMANTICS
    from xlalint.interpreter.semantics import Libraries

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
    from xlalint.frameworks.checks import host_code

    return host_code.hosts_of(module, program, platforms)
