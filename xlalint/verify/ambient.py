"""Keeps settings of the whole process as they were: a program that sets a default dtype must not change what the next one does."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

# Module, and the names in it of what reads a setting and of what writes it.
_SETTINGS = (
    ("torch", "get_default_dtype", "set_default_dtype"),
    ("torch", "is_grad_enabled", "set_grad_enabled"),
    ("torch", "are_deterministic_algorithms_enabled", "use_deterministic_algorithms"),
    ("torch", "get_float32_matmul_precision", "set_float32_matmul_precision"),
    ("torch", "get_num_threads", "set_num_threads"),
    ("numpy", "geterr", "seterr"),
    ("numpy", "get_printoptions", "set_printoptions"),
    ("tensorflow", "config.functions_run_eagerly", "config.run_functions_eagerly"),
    ("keras", "config.floatx", "config.set_floatx"),
    ("keras", "config.dtype_policy", "config.set_dtype_policy"),
)
# Module, and the attribute of it that is a setting.
_ATTRIBUTES = (
    ("torch", "backends.cudnn", "enabled"),
    ("torch", "backends.cudnn", "benchmark"),
    ("torch", "backends.cudnn", "deterministic"),
)
_FLAGS = (
    "jax_enable_x64",
    "jax_debug_nans",
    "jax_debug_infs",
    "jax_default_matmul_precision",
    "jax_default_prng_impl",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
)


class _Setting(NamedTuple):
    """A setting of a framework that is imported: its name, what it is now, and what sets it to that."""

    name: str
    value: object
    restore: Callable[[], object]


def read_settings() -> dict[str, str]:
    """Return what holds for the whole process now."""
    return {one.name: str(one.value) for one in _find_settings()}


@contextmanager
def keep_settings() -> Iterator[None]:
    """Restore at the end of the `with` block what its code set for the whole process."""
    known, environment, filters = list(_find_settings()), dict(os.environ), list(warnings.filters)
    try:
        yield
    finally:
        now = read_settings()
        for one in known:
            if now.get(one.name) != str(one.value):
                one.restore()
        warnings.filters[:] = filters  # type: ignore[index]
        for name in {*os.environ, *environment}:
            if (value := environment.get(name)) is None:
                del os.environ[name]
            elif os.environ.get(name) != value:
                os.environ[name] = value


def _find_settings() -> Iterator[_Setting]:
    for module, reads, writes in _SETTINGS:
        reader, writer = _find(module, reads), _find(module, writes)
        if reader is not None and writer is not None:
            value = reader()
            restore = partial(writer, **value) if isinstance(value, dict) else partial(writer, value)
            yield _Setting(f"{module}.{writes}", value, restore)
    for module, path, name in _ATTRIBUTES:
        holder = _find(module, path)
        if holder is not None:
            value = getattr(holder, name)
            yield _Setting(f"{module}.{path}.{name}", value, partial(setattr, holder, name, value))
    config = _find("jax", "config")
    for flag in _FLAGS if config is not None else ():
        value = getattr(config, flag)
        yield _Setting(flag, value, partial(config.update, flag, value))


def _find(module: str, path: str) -> Any:
    found: Any = sys.modules.get(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    return found
