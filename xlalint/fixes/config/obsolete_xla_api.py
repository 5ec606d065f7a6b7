"""XLA512: what torch_xla calls today what it called otherwise before."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.arguments import left_out
from xlalint.fixes.toolkit.function_source import Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.text import last_name, uncommented_without
from xlalint.frameworks.torch.checks.obsolete_xla_api import DEPRECATED, REMOVED

_BY_LAST_NAME = {name.rpartition(".")[2]: new for name, new in (*REMOVED.items(), *DEPRECATED.items())}
_NOTHING = NoFix("nothing replaced it: do what it was for in another way, or not at all")


def rename(site: Site) -> Rewrite | NoFix | None:
    """`xm.xla_device()` → `torch_xla.device()`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or not site.hazard.detail.startswith("is ") or "nprocs" in site.hazard.subject:
        return None
    func = node.func
    last = last_name(func)
    new = _BY_LAST_NAME.get(last)
    if not new:
        return _NOTHING if new == "" else NoFix("it is called under another name here: " + site.hazard.detail)
    if last == "xla_device" and (len(node.args) > 1 or any(arg.keyword is not None or arg.star for arg in node.args)):
        return NoFix("of its arguments, `torch_xla.device` takes the index alone")
    if last in ("xrt_world_size", "get_ordinal") and node.args:
        return NoFix("its argument, what to return without a device, has no equivalent in `torch_xla.runtime`")
    imports = Imports(scene, node)
    module, _, name = new.rpartition(".")
    called = f"{imports.name(module)}.{name}"
    return Rewrite(f"Use `{new}`", (Replacement(*scene.span(func), called), *imports.needed))


def all_devices(site: Site) -> Rewrite | NoFix | None:
    """`xmp.spawn(fn, nprocs=8)` → `xmp.spawn(fn)`, which takes all devices."""
    scene = site.scene
    if site.hazard.variant == "unread":
        return NoFix("on other devices the number matters")
    holder = scene.nearest(site.node, cst.Call)
    named = (
        [a for a in holder.args if a.keyword is not None and a.keyword.value == "nprocs"] if holder is not None else []
    )
    if holder is None or len(named) != 1:
        return NoFix("the number of processes is one of several positional arguments: pass none, or 1")
    removed = uncommented_without(scene, holder, named[0])
    if removed is None:
        return NoFix("there is a comment next to `nprocs`: remove both")
    return Rewrite("Start a process for every device", (removed,))


def no_downcast(site: Site) -> Rewrite | NoFix | None:
    """`Accelerator(downcast_bf16=True)` → `Accelerator()`."""
    if site.hazard.variant != "refused":
        return NoFix("only its author knows which part of the model should compute in bfloat16")
    return left_out(site.scene, site.node)
