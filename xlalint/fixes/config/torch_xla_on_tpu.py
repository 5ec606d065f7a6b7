"""XLA527: calls of torch_xla → those of PyTorch that do the same on TorchTPU."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.removal import taken_out
from xlalint.fixes.toolkit.text import last_name

_OWN = "the process's TPU is meant"
_ONE = "gradients need no sum over processes, or `DistributedDataParallel` makes it"
_DEVICES = frozenset(("device", "xla_device"))
_BARRIERS = frozenset(("mark_step", "sync"))
_NOTHING = NoFix("no single call takes its place: the message says what does")
# What is called with the same arguments.
_RENAMED = {
    "get_ordinal": "torch.distributed.get_rank",
    "global_ordinal": "torch.distributed.get_rank",
    "save": "torch.save",
    "wait_device_ops": "torch.accelerator.synchronize",
    "world_size": "torch.distributed.get_world_size",
    "xrt_world_size": "torch.distributed.get_world_size",
}


def use_tpu(site: Site) -> Rewrite | NoFix | None:
    """`xm.xla_device()` → `torch.device("tpu")`; `x.to("xla")` → `x.to("tpu")`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call):
        return None
    if last_name(node.func) == "to":
        words = [one for one in scene.descend(node, cst.SimpleString) if one.raw_value.partition(":")[0] == "xla"]
        if len(words) != 1:
            return NoFix('the device is named elsewhere: name "tpu" there')
        begin = scene.span(words[0])[0] + len(words[0].prefix) + len(words[0].quote)
        named = Replacement(begin, begin + len(words[0].raw_value), "tpu")
        return Rewrite('Move it by `.to("tpu")`', (named,), _OWN)
    if last_name(node.func) not in _DEVICES:
        return None
    if node.args:
        return NoFix("it is given a number: a process has one TPU")
    imports = Imports(scene, node)
    text = f'{imports.name("torch")}.device("tpu")'
    return Rewrite('Use `torch.device("tpu")`', (Replacement(*scene.span(node), text), *imports.needed), _OWN)


def drop_barrier(site: Site) -> Rewrite | NoFix | None:
    """`torch_xla.sync()` → nothing."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or last_name(node.func) not in _BARRIERS:
        return None
    if not _is_statement(scene, node):
        return NoFix("something is made of what it returns")
    waits = any(arg.keyword is not None and arg.keyword.value == "wait" for arg in node.args)
    if waits:
        return NoFix("it waits for the device: `torch.accelerator.synchronize()` does")
    gone = taken_out(scene, scene.statement(node))
    return Rewrite("Leave it out: operations run at once", gone, "nothing but the device's work was waited for")


def step_optimizer(site: Site) -> Rewrite | NoFix | None:
    """`xm.optimizer_step(optimizer)` → `optimizer.step()`."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or last_name(node.func) != "optimizer_step":
        return None
    others = [arg for arg in node.args[1:] if arg.keyword is None or arg.keyword.value != "barrier"]
    if not node.args or node.args[0].star or node.args[0].keyword is not None or others:
        return NoFix("it is given more than the optimizer")
    optimizer = node.args[0].value
    if not isinstance(optimizer, (cst.Name, cst.Attribute, cst.Subscript)):
        return NoFix("the optimizer is the result of an expression")
    text = f"{scene.code(optimizer)}.step()"
    return Rewrite("Step the optimizer itself", (Replacement(*scene.span(node), text),), _ONE)


def rename(site: Site) -> Rewrite | NoFix | None:
    """`xm.save(state, path)` → `torch.save(state, path)`."""
    scene, node = site.scene, site.node
    new = _RENAMED.get(last_name(node.func)) if isinstance(node, cst.Call) else None
    if new is None or not isinstance(node, cst.Call):
        return _NOTHING
    if last_name(node.func) == "save" and len(node.args) != 2:
        return NoFix("`torch.save` takes the object and the path alone")
    if last_name(node.func) != "save" and node.args:
        return NoFix("its arguments have no equivalent")
    imports = Imports(scene, node)
    called = f"{imports.name('torch')}{new.removeprefix('torch')}"
    assumed = _OWN if "distributed" not in new else "the processes are joined in a process group"
    return Rewrite(f"Use `{new}`", (Replacement(*scene.span(node.func), called), *imports.needed), assumed)


def _is_statement(scene: FunctionSource, node: cst.CSTNode) -> bool:
    holder = scene.parent(node)
    line = scene.parent(holder) if isinstance(holder, cst.Expr) else None
    return isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
