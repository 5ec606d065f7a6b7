"""XLA510: the Trainer's `fsdp_config`, a dict or a JSON file of the project: keys that nothing reads, and those that need another, or
exclude it (transformers 5.23, torch_xla 2.9)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from xlalint.abstract.values import FALSE, NEVER, TRUE, Const, Value, constant
from xlalint.abstract.values import Mapping as Dict
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.checks.call_site import CallSite, asks_about, asks_for_device, surely
from xlalint.frameworks.checks.library_names import TRAINING_ARGUMENTS
from xlalint.frameworks.torch.checks.trainer_xla_options import nearest
from xlalint.interpreter.context import Context, PendingHazard
from xlalint.lowering import ir
from xlalint.program.linker import ModuleInfo, Program

# What `fsdp_config` holds for XLA, and what `xla_fsdp_settings` hands to `XlaFullyShardedDataParallel`.
KEYS = ("xla", "xla_fsdp_v2", "xla_fsdp_settings", "xla_fsdp_grad_ckpt")
SETTINGS = (
    "reshard_after_forward",
    "flatten_parameters",
    "execute_sharding_on_init",
    "optimization_barrier_in_forward",
    "optimization_barrier_in_backward",
    "sync_on_finalization",
    "disable_reshard_on_root",
    "compute_dtype",
    "buffer_dtype",
    "fp32_reduce_scatter",
    "sharding_groups",
    "sharding_rank",
    "sharding_world_size",
    "shard_param_on_dim_0",
    "pin_layout_in_collective_ops",
    "reduce_scatter_bucket_size_mb",
    "coalesce_all_gather_ops",
    "param_init_fn",
)
_DTYPES = ("bfloat16", "float16", "float32", "float64", "half", "float", "double")


class Given(NamedTuple):
    """A value that is given under a key.

    `value` is None where it is not known or a mapping, whose keys are `keys`. `at` is where it stands.
    """

    value: Value | None
    keys: Mapping[str, Given]
    at: int


class Wrong(NamedTuple):
    """A key that does not do what it is there for, and why."""

    key: str
    why: str
    at: int


@asks_about("torch", *TRAINING_ARGUMENTS)
def check_sharding(call: CallSite) -> None:
    """`fsdp_config={"xla": True, …}`, `fsdp_config="fsdp.json"`."""
    config = call.value("fsdp_config")
    unsharded = call.lacks("fsdp")
    if isinstance(config, Dict):
        place = call.place("fsdp_config")
        for wrong in _wrong(_of_dict(config, place), unsharded, whole=config.rest is NEVER):
            call.report("XLA510", "torch", wrong.key, wrong.why, wrong.at)
            return
    elif isinstance(config, Const) and isinstance(config.value, str):
        module = _file(config.value, call.frame.module, call.frame.program)
        if module is not None and not asks_for_device(call.frame) and not call.frame.paths.suppressed:
            _report(call, module, list(_wrong(_of_file(module), unsharded, whole=True)))


def _wrong(given: Mapping[str, Given], unsharded: bool, *, whole: bool) -> Iterator[Wrong]:
    """Yield what is wrong of a configuration, in its order. `whole`: it holds no keys that are not seen."""
    for key, found in given.items():
        if key.startswith("xla") and key not in KEYS:
            yield Wrong(f'"{key}"', f"is not a key of `fsdp_config`{nearest(key, KEYS)}", found.at)
    settings = given.get("xla_fsdp_settings")
    xla = given.get("xla")
    off = whole and (xla is None or xla.value is FALSE)
    if settings is not None and "xla_fsdp_v2" in given and surely(given["xla_fsdp_v2"].value, TRUE):
        yield Wrong('"xla_fsdp_settings"', 'is not read where `"xla_fsdp_v2"` is true', settings.at)
    elif settings is not None:
        yield from _wrong_settings(settings.keys)
    for key in ("xla_fsdp_grad_ckpt", "xla_fsdp_v2"):
        if off and key in given and surely(given[key].value, TRUE):
            yield Wrong(f'"{key}"', 'shards and checkpoints nothing without `"xla": True`', given[key].at)
    if whole and unsharded and xla is not None and xla.value is TRUE:
        yield Wrong('"xla": True', "does nothing without `fsdp`", xla.at)


def _wrong_settings(settings: Mapping[str, Given]) -> Iterator[Wrong]:
    for key, found in settings.items():
        if key not in SETTINGS and not key.startswith("_"):
            yield Wrong(
                f'"{key}"', f"is not an argument of `XlaFullyShardedDataParallel`{nearest(key, SETTINGS)}", found.at
            )
        elif key in ("compute_dtype", "buffer_dtype") and isinstance(found.value, Const):
            word = found.value.value
            if isinstance(word, str) and word not in _DTYPES and not word.startswith("float8"):
                yield Wrong(f'"{word}"', f"is not a torch dtype{nearest(word, _DTYPES)}", found.at)


def _of_dict(config: Dict, at: int) -> Mapping[str, Given]:
    return {
        key: Given(value, _of_dict(value, at) if isinstance(value, Dict) else {}, at) for key, value in config.items
    }


# ------------------------------------------------------------------------------------------------------------ files


def _file(name: str, module: ModuleInfo, program: Program) -> ModuleInfo | None:
    """The project's file of data that a program opens by this name: beside the module, or the only one of that name below some folder."""
    beside = os.path.normpath(os.path.join(os.path.dirname(module.path), name))  # noqa: PTH118, PTH120
    ending = os.sep + os.path.normpath(name).lstrip("." + os.sep)
    found = [data for data in program.data if data.path.endswith(ending)]
    near = [data for data in found if data.path == beside]
    return (near or found)[0] if len(found) == 1 or near else None


def _of_file(module: ModuleInfo) -> Mapping[str, Given]:
    return {key.id: _read(value, key.at) for key, value, _ in module.assigned_values()}


def _read(node: ir.Node, at: int) -> Given:
    if isinstance(node, ir.DictDisplay):
        pairs = zip(node.keys, node.values, strict=True)
        return Given(None, {key.id: _read(value, key.at) for key, value in pairs if isinstance(key, ir.Name)}, at)
    return Given(constant(node.value) if isinstance(node, ir.Const) else None, {}, at)


def _report(call: CallSite, module: ModuleInfo, found: list[Wrong]) -> None:
    """Note hazards in a file that a call has read, where they stand."""
    frame = call.frame
    confidence = Confidence.LIKELY if frame.paths.branch_depth or frame.paths.ambiguous_callee else Confidence.CERTAIN
    if found:
        context = Context(None, module, ())
        context.done = True
        for wrong in found:
            place = "XLA510", wrong.at
            context.sightings[place] = PendingHazard(*place, wrong.at >> 32, "torch", confidence, wrong.key, wrong.why)
        frame.enters(context, call.node.at + frame.base)
