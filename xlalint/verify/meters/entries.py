"""The Python calls through which a torch_xla program reads values on the host or ends a step, wrapped while a meter runs.

A wrapped call on a tensor that is not on an XLA device costs well under a microsecond more. Under torch.compile the original is traced.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
import torch_xla
import torch_xla.core.xla_model as xm

from xlalint.verify.meters.patches import Patches

# Tensor methods whose result is a value on the host.
_READS = (
    *("item", "tolist", "numpy", "cpu", "equal", "is_nonzero"),
    *("__bool__", "__int__", "__float__", "__complex__", "__index__"),
    *("__repr__", "__format__", "__array__", "__reduce_ex__"),
)
# Those that compute too, and read to do so.
_COMPUTE_AND_READ = (
    *("allclose", "nonzero", "argwhere", "masked_select", "unique", "unique_consecutive", "bincount"),
    *("repeat_interleave", "__contains__"),
)
_READABLE = {
    "__bool__": "bool()",
    "__int__": "int()",
    "__float__": "float()",
    "__complex__": "complex()",
    "__index__": "use as an index",
    "__repr__": "print",
    "__format__": "format",
    "__array__": "NumPy array",
    "__contains__": "in",
    "__reduce_ex__": "pickle",
    "__getitem__": "index by a tensor",
    "__setitem__": "assignment to an index",
}


class Charges(Protocol):
    """Receives what the wrapped calls report to a meter."""

    def charging(self, what: str, copies: bool = True) -> Any: ...

    def ending_step(self, end: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...

    def clearing(self, clear: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...

    def after_step(self, closures: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...


def wrap_entries(meter: Charges) -> Patches:
    """Wrap those that read or end a step for a meter, until the patches are undone. What another version lacks is left out."""
    made = Patches()
    _wrap_methods(made, meter, _READS)
    _wrap(made, xm, "_maybe_convert_to_cpu", _reading(meter, "xm.save", lambda *args, **kwargs: True))
    _wrap(made, torch_xla._XLAC, "_xla_step_marker", lambda end: functools.partial(meter.ending_step, end))
    for name in ("_clear_xla_counters", "_clear_xla_metrics"):
        _wrap(made, torch_xla._XLAC, name, lambda clear: functools.partial(meter.clearing, clear))
    _wrap(made, xm, "_run_step_closures", _closures(meter))
    return made


def wrap_computing(meter: Charges) -> Patches:
    """Wrap those too that compute on the device. In the graphs that XLA writes, what these compute then lies on no line of the
    user's, since the innermost Python frame is the wrapper's.
    """
    made, tensor = Patches(), torch.Tensor
    _wrap_methods(made, meter, _COMPUTE_AND_READ)
    _wrap(made, tensor, "to", _reading(meter, "Tensor.to", _to_host))
    _wrap(made, tensor, "copy_", _reading(meter, "Tensor.copy_", _copy_to_host))
    _wrap(made, tensor, "__getitem__", _reading(meter, _READABLE["__getitem__"], _has_tensor_index, False))
    _wrap(made, tensor, "__setitem__", _reading(meter, _READABLE["__setitem__"], _has_tensor_index, False))
    _wrap(made, tensor, "__setitem__", _reading(meter, _READABLE["__setitem__"], _assigns_to_host))
    return made


def _wrap_methods(made: Patches, meter: Charges, names: Sequence[str]) -> None:
    for name in names:
        _wrap(made, torch.Tensor, name, _reading(meter, _READABLE.get(name, f"Tensor.{name}")))
        if not name.startswith("__"):
            _wrap(made, torch, name, _reading(meter, f"torch.{name}"))


def _wrap(made: Patches, owner: Any, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    if hasattr(owner, name):
        made.replace(owner, name, wrapper)


def _closures(meter: Charges) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Those that run in a thread of their own (`run_async=True`) are wrapped one by one."""

    def wrap(run: Callable[..., Any]) -> Callable[..., Any]:
        def run_closures(*args: Any, **kwargs: Any) -> Any:
            context = xm._get_device_context()
            waiting = getattr(context, "async_step_closures", None)
            if waiting:
                context.async_step_closures = [functools.partial(meter.after_step, closure) for closure in waiting]
            if not getattr(context, "step_closures", None):
                return run(*args, **kwargs)
            return meter.after_step(run, *args, **kwargs)

        return run_closures

    return wrap


def _reading(
    meter: Charges, what: str, applies: Callable[..., bool] | None = None, copies: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def charge(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():
                return original(*args, **kwargs)
            if not (applies(*args, **kwargs) if applies else args and getattr(args[0], "is_xla", False)):
                return original(*args, **kwargs)
            with meter.charging(what, copies):
                return original(*args, **kwargs)

        return charge

    return wrap


def _to_host(tensor: Any, *args: Any, **kwargs: Any) -> bool:
    return bool(tensor.is_xla) and any(_names_host(one) for one in (*args, *kwargs.values()))


def _names_host(value: Any) -> bool:
    if isinstance(value, torch.device):
        return str(value.type) == "cpu"
    return value == "cpu" if isinstance(value, str) else isinstance(value, torch.Tensor) and not value.is_xla


def _copy_to_host(tensor: Any, source: Any, *args: Any, **kwargs: Any) -> bool:
    return not tensor.is_xla and isinstance(source, torch.Tensor) and bool(source.is_xla)


def _has_tensor_index(tensor: Any, index: Any, *value: Any) -> bool:
    return bool(tensor.is_xla) and any(_reads_index(one) for one in (index if isinstance(index, tuple) else (index,)))


def _assigns_to_host(tensor: Any, index: Any, value: Any) -> bool:
    return _copy_to_host(tensor, value)


def _reads_index(index: Any) -> bool:
    """Return whether an index is read on the host. Positions in a tensor are not; a mask or a number in one is."""
    if isinstance(index, slice):
        return any(isinstance(bound, torch.Tensor) for bound in (index.start, index.stop, index.step))
    return isinstance(index, torch.Tensor) and (index.dtype in (torch.bool, torch.uint8) or index.dim() == 0)
