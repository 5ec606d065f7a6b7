"""XLA405: arguments that are the same from call to call, or are no part of the program."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.text import argument

_STATIC = NoFix(
    "leave it out of `static_argnums` or `static_argnames`, if nothing in the function needs a Python value"
)
_NEW = NoFix("create it once, at module level, and pass that")
_SHAPE = NoFix("pad to one length, leave the last slice out, or give an `input_signature` with `None` for that size")
_FIRST = NoFix("begin with an array of the dtype that the function returns: `jnp.zeros(())`, `jnp.asarray(…, dtype=…)`")


def stable(site: Site) -> Rewrite | NoFix | None:
    """`f(x, [4, 4])` → `f(x, (4, 4))`; `f(x, step)` → `f(x, tf.constant(step))`."""
    scene, node, variant = site.scene, site.node, site.hazard.variant
    if variant == "drift":
        return _FIRST
    if variant in ("shape", "rest"):
        return _SHAPE
    if variant == "unhashable":
        if not isinstance(node, cst.List) or not node.elements:
            return NoFix("pass something hashable: a tuple, or a frozen dataclass")
        parts = [scene.code(one.value) for one in node.elements]
        text = f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
        return Rewrite("Pass a tuple", (Replacement(*scene.span(node), text),), "the function accepts a tuple too")
    if variant != "number":
        return _STATIC if "number" in site.hazard.detail else _NEW
    if not isinstance(node, cst.BaseExpression):
        return None
    imports = Imports(scene, node)
    made = Replacement(*scene.span(node), f"{imports.name('tensorflow')}.constant({argument(scene, node)})")
    assumes = "nothing in the function needs a Python number"
    return Rewrite("Pass a tensor", (made, *imports.needed), assumes)
