"""XLA513: what is CUDA's alone → what an XLA device has."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.arguments import left_out
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.text import uncommented_without

_TPU = "torch_tpu"
_DIGITS = "bfloat16's eight bits of precision are enough, where everything was computed in float32"
_MEANT = "the process's XLA device is meant"
# Functions of `torch.cuda`, and those of `torch.accelerator` that do the same.
_OF_ACCELERATOR = {
    "current_device": "current_device_index",
    "mem_get_info": "get_memory_info",
    "reset_peak_memory_stats": "reset_peak_memory_stats",
    "set_device": "set_device_index",
    "synchronize": "synchronize",
}


def use_accelerator(site: Site) -> Rewrite | NoFix | None:
    """`torch.cuda.synchronize()` → `torch.accelerator.synchronize()`, for TorchTPU."""
    scene, node = site.scene, site.node
    if site.target != _TPU or not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    name = _OF_ACCELERATOR.get(node.func.attr.value)
    of_cuda = isinstance(node.func.value, cst.Attribute) and node.func.value.attr.value == "cuda"
    if name is None or not of_cuda:
        return None
    imports = Imports(scene, node)
    called = f"{imports.name('torch')}.accelerator.{name}"
    changed = Replacement(*scene.span(node.func), called)
    return Rewrite(f"Use `torch.accelerator.{name}`", (changed, *imports.needed), _MEANT)


def choose_tpu(site: Site) -> Rewrite | NoFix | None:
    """`"cuda" if torch.cuda.is_available() else "cpu"` → `"tpu"`, for TorchTPU."""
    if site.target != _TPU or not isinstance(site.node, cst.IfExp):
        return None
    words = [one for one in (site.node.body, site.node.orelse) if isinstance(one, cst.SimpleString)]
    if len(words) != len((site.node.body, site.node.orelse)):
        return None
    quote = words[0].quote
    named = Replacement(*site.scene.span(site.node), f"{quote}tpu{quote}")
    return Rewrite('Name "tpu"', (named,), _MEANT)


def default_backend(site: Site) -> Rewrite | NoFix | None:
    """`init_process_group("nccl")` → `init_process_group()`, for TorchTPU: the device says which backend it is."""
    scene, node = site.scene, site.node
    if site.target != _TPU or "nccl" not in site.hazard.subject or not isinstance(node, cst.Call):
        return None
    named = [arg for arg in node.args if isinstance(arg.value, cst.SimpleString) and arg.value.raw_value == "nccl"]
    if len(named) != 1 or (named[0].keyword is None and len(node.args) > 1 and node.args[1].keyword is None):
        return NoFix("the backend is named elsewhere: leave it out, or name `tpu_dist`")
    removed = uncommented_without(scene, node, named[0])
    if removed is None:
        return NoFix("there is a comment next to the backend: remove both")
    return Rewrite("Leave the backend to the device", (removed,), _MEANT)


def move_to_xla(site: Site) -> Rewrite | NoFix | None:
    """`x.cuda()` → `x.to("xla")`, `x.to("cuda")` → `x.to("xla")`; with TorchTPU the device is "tpu"."""
    scene, node = site.scene, site.node
    device = _device_of(site)
    if (
        not site.hazard.subject.startswith(".")
        or not isinstance(node, cst.Call)
        or not isinstance(node.func, cst.Attribute)
    ):
        return None
    if node.func.attr.value == "cuda":
        if node.args:
            return NoFix("the device is given by its number among the GPUs")
        text = f'{scene.code(node.func.value)}.to("{device}")'
        return Rewrite(f'Move it by `.to("{device}")`', (Replacement(*scene.span(node), text),), _MEANT)
    words = [
        arg.value
        for arg in node.args
        if isinstance(arg.value, cst.SimpleString) and arg.value.raw_value.startswith("cuda")
    ]
    if len(words) != 1:
        return NoFix(f"the device is named elsewhere: name `{device}` there")
    begin = scene.span(words[0])[0] + len(words[0].prefix) + len(words[0].quote)
    named = Replacement(begin, begin + len(words[0].raw_value), device)
    return Rewrite(f'Move it by `.to("{device}")`', (named,), _MEANT)


def _device_of(site: Site) -> str:
    return "tpu" if site.target == _TPU else "xla"


def autocast(site: Site) -> Rewrite | NoFix | None:
    """`torch.autocast("cuda")` → `torch.autocast("xla")`, where no dtype is asked for."""
    scene, node = site.scene, site.node
    if site.hazard.variant != "silent" or not isinstance(node, cst.Call):
        return None
    if site.target == _TPU:
        return _autocast_on_tpu(scene, node)
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
        _DIGITS,
    )


def _autocast_on_tpu(scene: FunctionSource, node: cst.Call) -> Rewrite | NoFix:
    """`torch.autocast("cuda")` → `torch.autocast("tpu", dtype=torch.bfloat16)`."""
    imports = Imports(scene, node)
    half = f"dtype={imports.name('torch')}.bfloat16"
    kept = [arg for arg in node.args if arg.keyword is not None and arg.keyword.value not in ("dtype", "device_type")]
    first = node.args[0] if node.args else None
    named = first is not None and isinstance(first.value, cst.SimpleString)
    alone = not node.args or (named and all(arg.keyword is not None for arg in node.args[1:]))
    if not alone or any(arg.star for arg in node.args):
        return NoFix('use `torch.autocast("tpu", dtype=torch.bfloat16)`')
    given = ", ".join(['"tpu"', half, *map(scene.code, kept)])
    text = f"{imports.name('torch')}.autocast({given})"
    return Rewrite('Use `torch.autocast("tpu")`', (Replacement(*scene.span(node), text), *imports.needed), _DIGITS)


def drop_pinning(site: Site) -> Rewrite | NoFix | None:
    """`DataLoader(…, pin_memory=True)` → `DataLoader(…)`."""
    if site.hazard.variant != "idle":
        return NoFix("its replacement depends on what it is used for")
    return left_out(site.scene, site.node)
