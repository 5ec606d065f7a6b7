"""Arguments that a call is better off without."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite
from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.text import uncommented_without

ELSEWHERE = NoFix("the value comes from elsewhere: change it there")


def left_out(scene: FunctionSource, value: cst.CSTNode) -> Rewrite | NoFix:
    """`f(x, keyword=value)` → `f(x)`."""
    arg = scene.parent(value)
    holder = scene.nearest(arg, cst.Call)
    if not isinstance(arg, cst.Arg) or arg.keyword is None or holder is None:
        return ELSEWHERE
    removed = uncommented_without(scene, holder, arg)
    if removed is None:
        return NoFix(f"there is a comment next to `{arg.keyword.value}`: remove both")
    return Rewrite(f"Leave `{arg.keyword.value}` out", (removed,))
