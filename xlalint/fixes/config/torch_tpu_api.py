"""XLA522: functions of `torch.tpu` → those of `torch.accelerator`."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.text import last_name
from xlalint.frameworks.torch.checks.torch_tpu_api import INTERNAL, MISSING

_KNOWN = {**INTERNAL, **MISSING}


def use_accelerator(site: Site) -> Rewrite | NoFix | None:
    """`torch.tpu.synchronize()` → `torch.accelerator.synchronize()`."""
    scene, node = site.scene, site.node
    func = node.func if isinstance(node, cst.Call) else None
    last = last_name(func) if func is not None else ""
    if func is None or last not in _KNOWN:
        return NoFix("it is called under another name here")
    new = _KNOWN[last]
    if not new:
        return NoFix("nothing takes its place")
    imports = Imports(scene, node)
    called = f"{imports.name('torch')}{new.removeprefix('torch')}"
    return Rewrite(f"Use `{new}`", (Replacement(*scene.span(func), called), *imports.needed))
