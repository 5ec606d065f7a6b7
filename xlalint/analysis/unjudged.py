"""Training code that nothing judged: it is said, since silence would be taken for an answer."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xlalint.analysis.chains import Key
    from xlalint.analysis.collection import ModuleResult
    from xlalint.interpreter.drivers import Drivers
    from xlalint.program.linker import FunctionInfo, Program


def list_unjudged(harvests: Iterable[ModuleResult], program: Program, drivers: Drivers) -> list[tuple[str, int]]:
    """Return where functions stand that train and that no root leads to: path and row. What tests train is no program's."""
    judged = {key for harvest in harvests for key in (*harvest.called, *harvest.entered)}
    return [
        (module.path, info.ir.row)
        for module in program.modules[: program.linted]
        if drivers.may_drive(module) and not module.testing
        for info in module.functions
        if drivers.trains(info) and not _is_judged(info, judged)
    ]


def _is_judged(info: FunctionInfo, judged: Container[Key]) -> bool:
    """Return whether a function, or one around it, is part of what was judged: a closure that an optimizer calls, say."""
    return any(one.key in judged for one in (info, *info.enclosing()))
