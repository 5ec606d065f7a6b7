"""XLA513: what is CUDA's alone → what an XLA device has."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.arguments import left_out
from xlalint.fixes.toolkit.function_source import Replacement

_MEANT = "the process's XLA device is meant"


def move_to_xla(site: Site) -> Rewrite | NoFix | None:
    """`x.cuda()` → `x.to("xla")`, `x.to("cuda")` → `x.to("xla")`."""
    scene, node = site.scene, site.node
    if (
        not site.hazard.subject.startswith(".")
        or not isinstance(node, cst.Call)
        or not isinstance(node.func, cst.Attribute)
    ):
        return None
    if node.func.attr.value == "cuda":
        if node.args:
            return NoFix("the device is given by its number among the GPUs")
        text = f'{scene.code(node.func.value)}.to("xla")'
        return Rewrite('Move it by `.to("xla")`', (Replacement(*scene.span(node), text),), _MEANT)
    words = [
        arg.value
        for arg in node.args
        if isinstance(arg.value, cst.SimpleString) and arg.value.raw_value.startswith("cuda")
    ]
    if len(words) != 1:
        return NoFix("the device is named elsewhere: name `xla` there")
    begin = scene.span(words[0])[0] + len(words[0].prefix) + len(words[0].quote)
    named = Replacement(begin, begin + len(words[0].raw_value), "xla")
    return Rewrite('Move it by `.to("xla")`', (named,), _MEANT)


def autocast(site: Site) -> Rewrite | NoFix | None:
    """`torch.autocast("cuda")` → `torch.autocast("xla")`, where no dtype is asked for."""
    scene, node = site.scene, site.node
    if site.hazard.variant != "silent" or not isinstance(node, cst.Call):
        return None
    first = node.args[0] if node.args else None
    if first is None or not isinstance(first.value, cst.SimpleString) or first.value.raw_value != "cuda":
        return NoFix('use `torch.autocast("xla", dtype=torch.bfloat16)`')
    if any(arg.keyword is not None and arg.keyword.value == "dtype" for arg in node.args) or len(node.args) > 1:
        return NoFix('the only other argument that `torch.autocast("xla")` takes is a dtype of bfloat16')
    begin = scene.span(first.value)[0] + len(first.value.prefix) + len(first.value.quote)
    named = Replacement(begin, begin + len("cuda"), "xla")
    return Rewrite(
        'Use `torch.autocast("xla")`',
        (named,),
        "bfloat16's eight bits of precision are enough, where everything was computed in float32",
    )


def drop_pinning(site: Site) -> Rewrite | NoFix | None:
    """`DataLoader(…, pin_memory=True)` → `DataLoader(…)`."""
    if site.hazard.variant != "idle":
        return NoFix("its replacement depends on what it is used for")
    return left_out(site.scene, site.node)
