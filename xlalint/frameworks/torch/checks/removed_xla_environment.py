"""XLA507: variables of the environment that torch_xla no longer heeds, or heeds with a warning (2.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.values import Const, Mapping, Value
from xlalint.frameworks.checks.call_site import CallSite, asks_about, report
from xlalint.frameworks.checks.late_configuration import VARIABLES as LATE
from xlalint.frameworks.checks.late_configuration import check_late
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame

# Heeded still, with a warning that they will go: float32 is bfloat16 then, and says that it is float32.
HEEDED = ("XLA_USE_BF16", "XLA_DOWNCAST_BF16")
# XRT's all begin with `XRT_`.
IGNORED = ("XLA_USE_FP16", "XLA_DOWNCAST_FP16", "XLA_USE_F16")
_XRT = "XRT_"
_OF_TPU = "TORCH_TPU_"  # XLA526's
VARIABLES = {"torch": (*HEEDED, *IGNORED, _XRT, _OF_TPU, *LATE["torch"]), "jax": LATE["jax"]}
"""Per framework: what bodies of functions are searched for."""


def item_assigned(frame: Frame, target: ir.Sub, index: Value, value: Value) -> None:
    """Look at `os.environ["XLA_USE_BF16"] = "1"`."""
    if is_environment(target.value) and isinstance(index, Const) and isinstance(index.value, str):
        _check(frame, index.value, value, target.at)


@asks_about("torch", "os.putenv", methods=("setdefault",), beside="env")
def check_call(call: CallSite) -> None:
    """`os.environ.setdefault("XLA_USE_BF16", "1")`."""
    name, value = call.constant("key", 0), call.value("value", 1)
    if isinstance(name, str) and value is not None and (call.name == "os.putenv" or _of_environment(call)):
        _check(call.frame, name, value, call.node.at)


@asks_about("torch", methods=("update",), beside="environ")
def check_update(call: CallSite) -> None:
    """`os.environ.update({"XRT_TPU_CONFIG": …})`."""
    if _of_environment(call):
        given = call.arguments.args[0] if call.arguments.args else None
        items = (*(given.items if isinstance(given, Mapping) else ()), *call.arguments.keywords.items())
        for name, value in items:
            _check(call.frame, name, value, call.node.at)


@asks_about("torch", "accelerate.Accelerator", "accelerate.accelerator.Accelerator")
def check_downcast(call: CallSite) -> None:
    """`Accelerator(downcast_bf16=True)`, as Accelerate's guide has it."""
    if call.value("downcast_bf16") is not None:
        detail = "is not an argument of `Accelerator` (1.15): the call fails"
        call.report("XLA507", "torch", "downcast_bf16", detail, call.place("downcast_bf16"), "refused")


def check_magic(frame: Frame, target: ir.Attr, value: Value) -> None:
    """`%env XLA_USE_BF16=1`."""
    _check(frame, target.name, value, target.at)


def is_environment(node: ir.Node) -> bool:
    """Return whether an expression is `os.environ`."""
    return type(node) is ir.Attr and node.name == "environ" and path_of(node) == "os.environ"


def _of_environment(call: CallSite) -> bool:
    return isinstance(call.node.func, ir.Attr) and is_environment(call.node.func.value)


def _check(frame: Frame, name: str, value: Value, at: int) -> None:
    check_late(frame, name, at)
    if name in HEEDED and not (isinstance(value, Const) and value.value in ("0", "", None, 0)):
        report(
            frame,
            "XLA507",
            "torch",
            name,
            "silently stores every float32 tensor as bfloat16, and is to be removed after torch_xla 2.6",
            at,
        )
    elif name in IGNORED or name.startswith(_XRT):
        report(frame, "XLA507", "torch", name, "is ignored", at, "ignored")
