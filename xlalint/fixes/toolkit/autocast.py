"""Finds code under torch's autocast, which gives some operations another dtype than their operands have.

Of these, `exp`, `softmax`, `sum` and others give float32 on one device and keep the dtype on another; `matmul` and its like lower it. What
only takes the widest dtype of what it gets (`where`, `cat`, `addcmul`) does that without autocast as well.
"""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.toolkit.function_source import FunctionSource
from xlalint.fixes.toolkit.operations import names

# What autocast runs in float32, on CUDA, the CPU or XLA, of the operations whose dtype would else be that of their first operand.
WIDENED = names(
    "acos asin cosh cumprod cumsum erfinv exp expm1 layer_norm log log10 log1p log2 log_softmax logsumexp norm pow prod reciprocal rsqrt"
    " sinh softmax softmin softplus sum tan"
)


def autocasts(scene: FunctionSource, node: cst.CSTNode) -> bool:
    """Return whether a node stands in a `with torch.autocast(...)`, or in a function that is decorated so."""
    below = node
    for holder in scene.above(node):
        if isinstance(holder, cst.With) and below is holder.body:
            states = [state for item in holder.items if (state := _state(scene, item.item)) is not None]
        elif isinstance(holder, cst.FunctionDef):
            states = [state for one in holder.decorators if (state := _state(scene, one.decorator)) is not None]
        else:
            states = []
        if states:
            return states[-1]
        below = holder
    return False


def _state(scene: FunctionSource, node: cst.BaseExpression) -> bool | None:
    """Read a context manager or decorator: autocast may be on (True), is off (False), or is not mentioned (None)."""
    named = node.func if isinstance(node, cst.Call) else node
    last = scene.code(named).rpartition(".")[2]
    if "autocast" not in last and last != "custom_fwd":
        return None
    options = node.args if isinstance(node, cst.Call) else ()
    return not any(
        arg.keyword is not None and arg.keyword.value == "enabled" and scene.code(arg.value) == "False"
        for arg in options
    )
