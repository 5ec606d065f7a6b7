"""XLA516: settings that are made after they were read (jax 0.10.2, torch_xla 2.9.0): each was tried in a process of its own."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from xlalint.frameworks.checks.call_site import (
    CallSite,
    RuntimeStart,
    asks_about,
    asks_for_device,
    report,
    runtime_starts,
)
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame

# JAX's flags, each of which may come from the environment: when `jax` is imported, and not after.
JAX_FLAGS = frozenset(
    (
        "jax_check_tracer_leaks",
        "jax_compilation_cache_dir",
        "jax_cpu_collectives_implementation",
        "jax_cuda_visible_devices",
        "jax_debug_infs",
        "jax_debug_key_reuse",
        "jax_debug_nans",
        "jax_default_device",
        "jax_default_matmul_precision",
        "jax_default_prng_impl",
        "jax_disable_jit",
        "jax_enable_checks",
        "jax_enable_compilation_cache",
        "jax_enable_custom_prng",
        "jax_enable_x64",
        "jax_explain_cache_misses",
        "jax_log_compiles",
        "jax_num_cpu_devices",
        "jax_numpy_dtype_promotion",
        "jax_numpy_rank_promotion",
        "jax_persistent_cache_min_compile_time_secs",
        "jax_persistent_cache_min_entry_size_bytes",
        "jax_platform_name",
        "jax_platforms",
        "jax_threefry_partitionable",
        "jax_traceback_filtering",
        "jax_transfer_guard",
        "jax_use_shardy_partitioner",
    )
)
# What importing these brings in.
_WITH_JAX = frozenset(("jax", "flax", "optax", "equinox", "haiku", "chex"))
# What torch_xla reads when it is imported.
_TORCH_AT_IMPORT = frozenset(("XLA_IR_DEBUG", "XLA_HLO_DEBUG"))
# What is read as the device's client is made, and by whom.
_AT_START = {
    "XLA_FLAGS": ("torch", "jax"),
    "LIBTPU_INIT_ARGS": ("torch", "jax"),
    "PJRT_DEVICE": ("torch",),
    "CPU_NUM_DEVICES": ("torch",),
    "TPU_NUM_DEVICES": ("torch",),
    "XLA_USE_BF16": ("torch",),
    "XLA_DOWNCAST_BF16": ("torch",),
}
VARIABLES = {
    "torch": (*_TORCH_AT_IMPORT, *(name for name, readers in _AT_START.items() if "torch" in readers)),
    "jax": ("JAX_", "jax_platform", "jax_num_cpu_devices", "XLA_FLAGS", "LIBTPU_INIT_ARGS"),
}
"""Per framework: what bodies of functions are searched for."""

# What starts JAX's backend.
_STARTING = (
    *(f"jax.{name}" for name in ("devices", "local_devices", "device_count", "local_device_count", "default_backend")),
    *(f"jax.{name}" for name in ("process_index", "process_count", "device_put", "random.PRNGKey", "random.key")),
    *(f"jax.numpy.{name}" for name in ("array", "asarray", "zeros", "ones", "full", "arange", "linspace", "eye")),
)
_UPDATE = "jax.config.update"
_PLATFORM = frozenset(("jax_platforms", "jax_platform_name"))


def check_late(frame: Frame, name: str, at: int) -> None:
    """A variable of the environment is set."""
    if name.lower() in JAX_FLAGS and name.isupper():
        if _imported(frame, _WITH_JAX) and not _is_updated(frame, name.lower()):
            detail = "is set too late to have an effect: importing `jax` read it"
            report(frame, "XLA516", "jax", name, detail, at)
    elif name in _TORCH_AT_IMPORT:
        if _imported(frame, frozenset(("torch_xla",))):
            detail = "is set too late to have an effect: importing `torch_xla` read it"
            report(frame, "XLA516", "torch", name, detail, at)
    else:
        for framework in _AT_START.get(name, ()):
            touch = _find_start(frame, framework)
            if touch is not None:
                detail = f"is set too late to have an effect: it was read when `{touch.spelled}` started the runtime"
                report(frame, "XLA516", framework, name, detail, at)
                return


@asks_about("jax", *_STARTING, leads=False)
def note_start(call: CallSite) -> None:
    """`jax.devices()`."""
    if not asks_for_device(call.frame):
        call.start_runtime("jax")


@asks_about("jax", _UPDATE, methods=("update",), leads=False)
def check_update(call: CallSite) -> None:
    """`jax.config.update("jax_platforms", "tpu")` after JAX chose its platform."""
    name = call.constant("name", 0)
    touch = _find_start(call.frame, "jax")
    if touch is None or _UPDATE not in (call.name, path_of(call.node.func)):
        return
    if name in _PLATFORM:
        detail = f"is set after `{touch.spelled}` started JAX's backend, which does not change any more"
        call.report("XLA516", "jax", f'"{name}"', detail)
    elif name == "jax_num_cpu_devices":
        detail = f"is set after `{touch.spelled}` started JAX's backend: this raises an error"
        call.report("XLA516", "jax", f'"{name}"', detail, 0, "raises")


@asks_about("jax", "jax.distributed.initialize")
def check_initialize(call: CallSite) -> None:
    """`jax.distributed.initialize()` after `jax.devices()`."""
    touch = _find_start(call.frame, "jax")
    if touch is not None:
        detail = f"comes after `{touch.spelled}` started JAX's backend: this raises an error"
        call.report("XLA516", "jax", call.spelled, detail, 0, "raises")


def _is_updated(frame: Frame, flag: str) -> bool:
    """Return whether the same code gives a flag by `jax.config.update`: the variable is then for the processes that it starts."""
    flags = _PLATFORM if flag in _PLATFORM else {flag}
    body = ir.decode_body(frame.module.unit.body) if frame.function is None else frame.function.body
    calls = (one for one in ir.walk(body) if isinstance(one, ir.Call) and one.args)
    return any(path_of(call.func).endswith("config.update") and _is_one_of(call.args[0], flags) for call in calls)


def _is_one_of(node: ir.Node, flags: Set[str]) -> bool:
    return isinstance(node, ir.Const) and node.value in flags


def _find_start(frame: Frame, framework: str) -> RuntimeStart | None:
    """Return what started a framework's runtime earlier in this run of statements, or None."""
    return next((touch for touch in runtime_starts(frame) if touch.framework == framework), None)


def _imported(frame: Frame, packages: frozenset[str]) -> bool:
    """Return whether a package is surely imported by now."""
    unit = frame.module.unit
    places = [
        binding.before
        for binding in unit.imports
        if binding.module.partition(".")[0] in packages and not binding.guarded and not binding.level
    ]
    if not places:
        return False
    if frame.function is None:
        start = frame.base & 0xFFFFFFFF
        return start in unit.starts and min(places) <= unit.starts.index(start)
    earlier = ir.decode_body(unit.body)[: min(places)]
    names = (one.func for one in ir.walk(earlier) if isinstance(one, ir.Call))
    return not any(isinstance(func, ir.Name) and func.id == frame.function.name for func in names)
