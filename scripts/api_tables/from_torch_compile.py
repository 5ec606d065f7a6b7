"""Generate the table of NumPy's functions for which torch.compile has no counterpart, from Dynamo's own map of those for which it has."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType

HEAD = """# Functions of NumPy that torch.compile has no counterpart for: the graph ends at the call
# Written by scripts/generate_apis.py; what hangs on an argument stands in the tables without _generated.
framework = "torch"
version = "{version}"

[graph_breaks]
"""
# Classes that are called as functions are.
CLASSES = ("matrix", "memmap", "ndenumerate", "ndindex", "nditer", "poly1d", "vectorize")
# What nobody calls while computing.
ABOUT_NUMPY = ("info", "show_config", "show_runtime", "test")
CODE = "GB0294"


def generate() -> str:
    """The table, for the releases of torch and NumPy that are installed."""
    import numpy as np
    import torch
    from torch._dynamo.variables.misc import get_np_to_tnp_map

    known = set(map(id, get_np_to_tnp_map()))
    modules = (np, np.linalg, np.fft, np.random)
    names = sorted({name for module in modules for name in _lacking(module, known)})
    lines = (f'"{name}" = {{ rule = "{_rule_of(name)}", detail = "{CODE}" }}\n' for name in names)
    return HEAD.format(version=torch.__version__.partition("+")[0]) + "".join(lines)


def _lacking(module: ModuleType, known: set[int]) -> Iterator[str]:
    for name in dir(module):
        value = getattr(module, name)
        called = callable(value) and (not inspect.isclass(value) or name in CLASSES)
        if called and not name.startswith("_") and name not in ABOUT_NUMPY and id(value) not in known:
            yield f"{module.__name__}.{name}"


def _rule_of(name: str) -> str:
    return "XLA708" if name.startswith("numpy.random.") else "XLA704"
