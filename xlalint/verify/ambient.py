"""Keeps what holds for a whole process as it was: a program that sets a default dtype must not change what the next one does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

# Module, and the names in it of what reads a setting and of what writes it.
_SETTINGS = (
    ("torch", "get_default_dtype", "set_default_dtype"),
    ("torch", "is_grad_enabled", "set_grad_enabled"),
    ("torch", "are_deterministic_algorithms_enabled", "use_deterministic_algorithms"),
    ("torch", "get_float32_matmul_precision", "set_float32_matmul_precision"),
    ("keras", "config.floatx", "config.set_floatx"),
    ("keras", "config.dtype_policy", "config.set_dtype_policy"),
)
_FLAGS = ("jax_enable_x64", "jax_debug_nans", "jax_default_matmul_precision")


@contextmanager
def kept_settings() -> Iterator[None]:
    """Restore at the end of the `with` block what its code set for the whole process."""
    restore = list(_find_settings())
    try:
        yield
    finally:
        for one in restore:
            one()


def _find_settings() -> Iterator[Callable[[], object]]:
    """Yield what sets each setting of the frameworks that are imported to what it is now."""
    for module, reads, writes in _SETTINGS:
        reader, writer = _find(module, reads), _find(module, writes)
        if reader is not None and writer is not None:
            yield partial(writer, reader())
    config = _find("jax", "config")
    for flag in _FLAGS if config is not None else ():
        yield partial(config.update, flag, getattr(config, flag))


def _find(module: str, path: str) -> Any:
    found: Any = sys.modules.get(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    return found
