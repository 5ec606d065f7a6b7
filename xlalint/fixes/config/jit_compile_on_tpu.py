"""XLA501: `jit_compile=True` where a TPU strategy compiles anyway."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import Replacement
from xlalint.fixes.toolkit.text import without_argument

_OFF = NoFix("it is not known how the call gets `jit_compile`: leave it out under a TPU strategy")


def jit_compile(site: Site) -> Rewrite | NoFix | None:
    """`compile(…, jit_compile=True)` → `compile(…)`, `tf.function(jit_compile=True)` → `tf.function`; the assignment is of False."""
    scene, node = site.scene, site.node
    holder = scene.nearest(node, cst.Call)
    if holder is None:
        assigned = scene.nearest(node, cst.Assign)
        if assigned is None:
            return None
        return Rewrite("Set `jit_compile` to False", (Replacement(*scene.span(assigned.value), "False"),))
    named = [arg for arg in holder.args if arg.keyword is not None and arg.keyword.value == "jit_compile"]
    if len(named) != 1:
        return _OFF
    decorates = isinstance(scene.parent(holder), cst.Decorator)
    if decorates and len(holder.args) == 1:
        removed = Replacement(scene.whole(holder.func)[1], scene.span(holder)[1], "")
    else:
        removed = without_argument(scene, holder, named[0])
    text = scene.document.text
    if "#" in text[removed.start : max(removed.end, text.find("\n", removed.end))]:
        return NoFix("there is a comment next to `jit_compile`: remove both")
    return Rewrite("Leave `jit_compile` out", (removed,))
