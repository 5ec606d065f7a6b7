"""XLA603: dtypes as JAX gives them."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import Replacement

NARROWER = {"float64": "float32", "double": "float32", "complex128": "complex64", "cdouble": "complex64"}
_DIGITS = NoFix("only the author knows how much precision is needed")


def narrow(site: Site) -> Rewrite | NoFix | None:
    """`x.astype(jnp.float64)` → `x.astype(jnp.float32)`, which is what it gives."""
    node = site.node
    if site.framework != "jax" or site.hazard.variant:
        return _DIGITS
    if not isinstance(node, cst.Attribute) or node.attr.value not in NARROWER:
        return NoFix("the dtype is named elsewhere: name there the one that JAX gives")
    given = NARROWER[node.attr.value]
    return Rewrite(
        f"Ask for {given}", (Replacement(*site.scene.span(node.attr), given),), "64-bit types stay switched off"
    )
