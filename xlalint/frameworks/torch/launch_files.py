"""Accelerate's configuration files, as `accelerate config` writes them: on what they start a program, and what of them an XLA device does
not take (run with Accelerate 1.15).

`accelerate launch` starts a TPU's processes by itself, and hands on less than to those of a GPU: no `mixed_precision` but `bf16`. What an
option of the command line sets by its presence it never takes from the file: `downcast_bf16`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from xlalint.analysis.hazard import Confidence
from xlalint.interpreter.context import HOST_TIER, Context, PendingHazard, RootContext
from xlalint.lowering import ir
from xlalint.source.data_files import names_data

if TYPE_CHECKING:
    from xlalint.program.linker import ModuleInfo, Program

_KIND = "distributed_type"
_OLD = "TPU"
_XLA = frozenset(("XLA", _OLD))
_ANYWHERE = frozenset(("NO", None))
_PACKAGE = "accelerate"
_SWITCHED_ON = (True, "yes", "true", "True", "1", 1)
_ON_TPU = (("torch_xla:gpu", "off"),)


class Said(NamedTuple):
    """A value that a file of data has under a key, and its byte extent."""

    value: bool | int | float | str | None
    at: int


def values_of(module: ModuleInfo) -> Mapping[str, Said]:
    """The keys of a file of data whose values are no mappings."""
    return {key.id: Said(value.value, at) for key, value, at in module.assigned_values() if isinstance(value, ir.Const)}


def find_launch_file(module: ModuleInfo, program: Program) -> str:
    """The name of the file by which Accelerate starts a program on XLA devices, if the project's configuration files say nothing else."""
    if _PACKAGE not in module.needs:
        return ""
    kinds = {source: values_of(source)[_KIND].value for source in program.data if _KIND in source.assigned}
    started = [source for source, kind in kinds.items() if kind in _XLA]
    if not started or any(kind not in _XLA and kind not in _ANYWHERE for kind in kinds.values()):
        return ""
    return started[0].path.rpartition("/")[2]


def is_launch_file(module: ModuleInfo) -> bool:
    """Return whether a module is a configuration file that starts programs on XLA devices."""
    return names_data(module.name) and _KIND in module.assigned and values_of(module)[_KIND].value in _XLA


def launch_root(module: ModuleInfo) -> RootContext | None:
    """Say what there is to say of such a file, as of code that it would be; None of others."""
    if not is_launch_file(module):
        return None
    context = Context(None, module, ())
    context.done = True
    keys = values_of(module)
    if keys[_KIND].value == _OLD:
        detail = "is not a kind that Accelerate (1.15) still knows: `XLA` is"
        _note(context, "XLA512", keys[_KIND], f"{_KIND}: {_OLD}", detail)
    precision = keys.get("mixed_precision")
    if precision is not None and precision.value == "fp16":
        detail = (
            "`accelerate launch` passes nothing but `bf16` to the processes of a TPU: everything is computed in float32"
        )
        _note(context, "XLA506", precision, "mixed_precision: fp16", detail, "silent", _ON_TPU)
    downcast = keys.get("downcast_bf16")
    if downcast is not None and downcast.value in _SWITCHED_ON:
        detail = "is not read from the file (Accelerate 1.15), only from `accelerate launch --downcast_bf16`"
        _note(context, "XLA507", downcast, "downcast_bf16", detail, "ignored")
    return RootContext(context, f"starts programs on XLA devices: `{_KIND}` says so", HOST_TIER)


def _note(
    context: Context,
    rule: str,
    found: Said,
    subject: str,
    detail: str,
    variant: str = "",
    severity: tuple[tuple[str, str], ...] = (),
) -> None:
    at, sure = found.at, Confidence.CERTAIN
    context.sightings[rule, at] = PendingHazard(rule, at, at >> 32, "torch", sure, subject, detail, variant, severity)
