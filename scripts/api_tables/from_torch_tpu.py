"""What TorchTPU has no kernel for: the operators that each function, method and module of torch's own samples runs, looked up.

Its kernels are registered when it is imported, which needs no TPU. The samples run on the CPU, and what reaches the backend there is
noted: an operator is lacking where neither the TPU's key nor a composite has a kernel of it. A name is listed where every sample lacks
one. Where that hangs on an argument, the tables written by hand say on which.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import metadata
from typing import Any

from api_tables.from_torch import _fake_expecttest

SAMPLES = 8
_KEY = "PrivateUse1"
# Composites may do no more than call the overload that writes into a given result.
_WRAPPING = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
_COMPOSITES = (*_WRAPPING, "CompositeImplicitAutograd")
_NAMESPACES = ("torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special")
# Operators of the CPU's alone, in whose place a device calls another.
_OF_CPU = ("_for_cpu", "mkldnn", "_flash_attention", "_convolution_mode", "quantized", "sparse")
# Composites that compute by themselves, beside a kernel of the CPU's: they were run (torch_tpu 0.2.0 on XLA:CPU).
_COMPUTE_THEMSELVES = ("aten::addr", "aten::mvlgamma")
# What reads a value or a shape is another rule's business.
_READS = ("aten::_local_scalar_dense", "aten::item")


def generate() -> str:
    """The text of torch_tpu_generated.toml."""
    warnings.simplefilter("ignore")
    _fake_expecttest()
    import torch
    import torch_tpu

    version = metadata.version(torch_tpu.__name__)
    seen: dict[str, defaultdict[str, list[tuple[str, ...]]]] = {
        section: defaultdict(list) for section in ("functions", "methods", "calls")
    }
    for section, name, lacks in _probe(torch):
        seen[section][name].append(lacks)
    lines = [
        f"# What TorchTPU {version} has no kernel for, with torch {torch.__version__.split('+')[0]}: the call raises",
        "# Written by scripts/generate_apis.py; what hangs on an argument stands in the tables without _generated.",
        'framework = "torch"',
        f'version = "{version}"',
    ]
    for section, found in seen.items():
        lines += ["", f"[unsupported_{section}]"]
        for name, rows in sorted(found.items()):
            lacks = _always(rows)
            if lacks:
                key = name if section == "methods" else f'"{name}"'
                said = " or ".join(f"`{op}`" for op in lacks)
                lines.append(f'{key} = {{ target = "torch_tpu", rule = "XLA601", detail = "{said}" }}')
    return "\n".join(lines) + "\n"


def _always(rows: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The operators that are lacking, where some are in each sample; two at most."""
    outcomes = list(rows)
    if not outcomes or not all(outcomes):
        return ()
    return tuple(sorted({op for row in outcomes for op in row}))[:2]


def _probe(torch: Any) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db

    for op in op_db:
        names = list(_names(torch, op)) if op.supports_dtype(torch.float32, "cpu") else []
        for call in _samples(torch, op) if names else ():
            lacks = _run(torch, call)
            if lacks is not None:
                yield from ((section, name, lacks) for section, name in names)
    for info in module_db:
        if info.module_cls.__module__.startswith("torch.nn.modules"):
            for call in _modules(torch, info):
                lacks = _run(torch, call)
                if lacks is not None:
                    yield "calls", f"torch.nn.{info.module_cls.__name__}", lacks
    for name, call in _OTHERS.items():
        lacks = _run(torch, lambda call=call: call(torch, torch.rand(4, 4)))
        if lacks is not None:
            yield ("functions" if "." in name else "methods"), name, lacks


def _names(torch: Any, op: Any) -> Iterator[tuple[str, str]]:
    """How users write what the samples are of."""
    for name in (op.name, *(alias.name for alias in op.aliases)):
        plain = name.removeprefix("torch.")
        home, _, last = f"torch.{plain}".rpartition(".")
        if home in _NAMESPACES and not last.startswith("_") and hasattr(sys.modules.get(home, torch), last):
            yield "functions", f"torch.{plain}"
        method = plain.removeprefix("special.").removeprefix("linalg.")
        if "." not in method and not method.startswith("_"):
            for spelt in (method, f"{method}_"):
                if hasattr(torch.Tensor, spelt) and (op.method_variant is not None or spelt.endswith("_")):
                    yield "methods", spelt


def _samples(torch: Any, op: Any) -> Iterator[Callable[[], Any]]:
    for _, sample in zip(range(SAMPLES), op.sample_inputs("cpu", torch.float32, requires_grad=False), strict=False):
        yield lambda sample=sample: op.op(sample.input, *sample.args, **sample.kwargs)


def _modules(torch: Any, info: Any) -> Iterator[Callable[[], Any]]:
    for training in (False, True):
        inputs = info.module_inputs_func(
            info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
        )
        for sample in inputs:
            made, given = sample.constructor_input, sample.forward_input
            module = info.module_cls(*made.args, **made.kwargs).train(training)
            yield lambda module=module, given=given: module(*given.args, **given.kwargs)


# What torch has no samples of.
_OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    "torch.poisson": lambda torch, x: torch.poisson(x),
    "torch.binomial": lambda torch, x: torch.binomial(x * 4, x),
    "torch.nn.functional.rrelu_": lambda torch, x: torch.nn.functional.rrelu_(x, training=True),
    "geometric_": lambda _, x: x.geometric_(0.5),
    "log_normal_": lambda _, x: x.log_normal_(),
    "cauchy_": lambda _, x: x.cauchy_(),
    "exponential_": lambda _, x: x.exponential_(),
}


def _run(torch: Any, call: Callable[[], Any]) -> tuple[str, ...] | None:
    """The operators that a call runs and TorchTPU lacks; None where the call fails."""
    from torch.utils._python_dispatch import TorchDispatchMode

    ran: set[str] = set()

    class Noting(TorchDispatchMode):
        """Note the operators that reach the backend."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            ran.add(func._name if hasattr(func, "_name") else str(func))
            return func(*args, **(kwargs or {}))

    try:
        with Noting(), torch.no_grad():
            call()
    except Exception:  # noqa: BLE001 (a sample that torch refuses)
        return None
    return tuple(sorted({name.split("::")[1].split(".")[0] for name in ran if _is_lacking(name)}))


@cache
def _is_lacking(name: str) -> bool:
    """Return whether nothing implements an operator on the TPU."""
    import torch

    if not name.startswith("aten::") or name in _READS or any(word in name for word in _OF_CPU):
        return False
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    if has(name, _KEY) or name in _COMPUTE_THEMSELVES:
        return False
    written = _out_overloads(torch, name) if any(has(name, key) for key in _WRAPPING) else []
    if written:
        return not any(has(one, _KEY) for one in written)
    return not any(has(name, composite) for composite in _COMPOSITES)


def _out_overloads(torch: Any, name: str) -> list[str]:
    """The overloads with a kernel on the CPU that take the same arguments as an operator, and write into a given result.

    Where there is none, what computes the result is the composite itself.
    """
    packet, _, overload = name.removeprefix("aten::").partition(".")
    own = getattr(getattr(torch.ops.aten, packet), overload or "default")
    asked = [one.name for one in own._schema.arguments]
    found = getattr(torch.ops.aten, packet.rstrip("_"), None)
    outs = []
    for one in found.overloads() if found is not None else ():
        arguments = getattr(found, one)._schema.arguments
        if any(each.is_out for each in arguments) and [each.name for each in arguments if not each.is_out] == asked:
            outs.append(f"aten::{packet.rstrip('_')}.{one}")
    return [one for one in outs if torch._C._dispatch_has_kernel_for_dispatch_key(one, "CPU")]
