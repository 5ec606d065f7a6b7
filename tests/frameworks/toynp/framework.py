"""toynp: arrays that XLA compiles, and a `jit` that replaces every argument."""

from __future__ import annotations

from xlalint.frameworks.base import Framework
from xlalint.interpreter.semantics import Semantics

FRAMEWORK = Framework(
    Semantics("toynp", tensor_class="toynp.Array", replaces_arguments=True, raises=True),
    tracers=frozenset(("jit",)),
)
