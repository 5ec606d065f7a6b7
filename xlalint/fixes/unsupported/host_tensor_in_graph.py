"""XLA605: make a tensor on the device that was made in host memory and moved there."""

from __future__ import annotations

from typing import Final

import libcst as cst

from xlalint.fixes.model import Rewrite, Site
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.operations import MAKERS
from xlalint.fixes.toolkit.text import last_name

_MAKING: Final = MAKERS | {"eye", "logspace"}
_TPU: Final = '"tpu"'


def make_on_device(site: Site) -> Rewrite | None:
    """`torch.arange(n).to(x.device)` → `torch.arange(n, device=x.device)`."""
    move, scene = site.node, site.scene
    if not isinstance(move, cst.Call) or not isinstance(move.func, cst.Attribute):
        return None
    made, device = move.func.value, _device(scene, move)
    if not device or not isinstance(made, cst.Call) or last_name(made.func) not in _MAKING or made.lpar:
        return None
    if not made.args or any(
        one.star or (one.keyword is not None and one.keyword.value == "device") for one in made.args
    ):
        return None
    end = scene.whole(made.args[-1].value)[1]
    added = Replacement(end, end, f", device={device}")
    dropped = Replacement(scene.whole(made)[1], scene.span(move)[1], "")
    return Rewrite("Make it on the device", (added, dropped))


def _device(scene: FunctionSource, move: cst.Call) -> str:
    """The device of `.to(device)` and `.tpu()`; "" of other moves, and of what may be a dtype or a tensor."""
    if last_name(move.func) == "tpu" and not move.args:
        return _TPU
    if last_name(move.func) != "to" or len(move.args) != 1 or move.args[0].star:
        return ""
    given = move.args[0]
    code = scene.code(given.value)
    if given.keyword is not None:
        return code if given.keyword.value == "device" else ""
    named = isinstance(given.value, (cst.Attribute, cst.Name)) and "device" in last_name(given.value)
    return code if named or isinstance(given.value, cst.SimpleString) else ""
