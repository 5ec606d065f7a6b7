"""What a run of an example returned, as plain values that two runs can be compared by."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

Leaf = tuple[str, Any]


def leaves(value: Any, to_array: Callable[[Any], Any]) -> list[Leaf]:
    """Flatten a result into (dtype, array) pairs; Python scalars have the dtype "python"."""
    if isinstance(value, Mapping):
        return [leaf for key in sorted(value, key=str) for leaf in leaves(value[key], to_array)]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item, to_array)]
    if value is None or isinstance(value, str):
        return [("none", str(value))]
    if isinstance(value, (bool, int, float, complex)):
        return [("python", np.asarray(value))]
    array = np.asarray(to_array(value))
    return [(str(array.dtype), array)]


def difference(one: list[Leaf], other: list[Leaf]) -> str | None:
    """Why two results are not equal, or None. A Python scalar equals a 0-d array of that value."""
    if len(one) != len(other):
        return f"{len(one)} values against {len(other)}"
    for (one_dtype, a), (other_dtype, b) in zip(one, other, strict=True):
        if "none" in (one_dtype, other_dtype):
            if (one_dtype, a) != (other_dtype, b):
                return f"{a} against {b}"
            continue
        if "python" not in (one_dtype, other_dtype) and one_dtype != other_dtype:
            return f"dtype {one_dtype} against {other_dtype}"
        if a.shape != b.shape:
            return f"shape {a.shape} against {b.shape}"
        if not np.allclose(a, b, rtol=2e-5, atol=2e-5, equal_nan=True):
            return f"values {a.reshape(-1)[:6]} against {b.reshape(-1)[:6]}"
    return None


def unlike(
    results: list[list[Leaf]],
    eager: list[list[Leaf]],
    happened: dict[str, Any] | None = None,
    eager_happened: dict[str, Any] | None = None,
    eager_error: str | None = None,
) -> str | None:
    """How a compiled run differs from an eager one: what it returned, printed, stored, or failed to raise."""
    if eager_error:
        return f"eager raises {eager_error}"
    for step, (a, b) in enumerate(zip(results, eager, strict=False)):
        if why := difference(a, b):
            return f"step {step}: {why}"
    if happened != eager_happened:
        return f"effects {happened} against {eager_happened}"
    return None


def brief(error: BaseException) -> str:
    """Type and first words of an exception."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


@contextlib.contextmanager
def effects(module: ModuleType) -> Any:
    """Collect what the code under test does beside returning: lines printed, module-level lists grown, counters moved."""
    seen: dict[str, Any] = {}
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            yield seen
    finally:
        seen["printed"] = len(out.getvalue().splitlines())
        seen.update(kept(module))


def kept(module: ModuleType) -> dict[str, Any]:
    """What a module's globals hold: lengths of containers, and numbers."""
    found: dict[str, Any] = {}
    for name, value in list(vars(module).items()):
        if not name.startswith("_"):
            if type(value) in (list, dict, set):
                found[name] = len(value)
            elif type(value) in (int, float):
                found[name] = value
    return found
