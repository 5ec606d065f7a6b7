"""XLA528: copy a tensor of the TPU to the host before NumPy reads it."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import Rewrite, Site
from xlalint.fixes.toolkit.function_source import Replacement
from xlalint.fixes.toolkit.text import atom


def copied_first(site: Site) -> Rewrite | None:
    """`x.numpy()` → `x.cpu().numpy()`, `np.asarray(x)` → `np.asarray(x.cpu())`."""
    call = site.node
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    scene = site.scene
    tensor = call.args[0].value if call.args else call.func.value
    copied = Replacement(*scene.whole(tensor), f"{atom(scene, tensor)}.cpu()")
    return Rewrite("Copy it to the host", (copied,))
