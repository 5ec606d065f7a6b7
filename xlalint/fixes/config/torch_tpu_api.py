"""XLA522: functions of `torch.tpu` → those of `torch.accelerator`; collectives → those that TorchTPU has."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.text import last_name
from xlalint.frameworks.torch.checks.torch_tpu_api import COLLECTIVES, INTERNAL, MISSING

_KNOWN = {**INTERNAL, **MISSING, **COLLECTIVES}
_REDUCE = "reduce"
_PLACES = ("tensor", "dst", "op", "group", "async_op")  # the parameters of `torch.distributed.reduce`


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
    if last in COLLECTIVES:
        return _call_in_place(site, func, last, new)
    imports = Imports(scene, node)
    called = f"{imports.name('torch')}{new.removeprefix('torch')}"
    return Rewrite(f"Use `{new}`", (Replacement(*scene.span(func), called), *imports.needed))


def _call_in_place(site: Site, func: cst.BaseExpression, last: str, new: str) -> Rewrite | NoFix:
    """`dist.reduce(loss, dst=0)` → `dist.all_reduce(loss)`: all processes get the sum."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call) or not isinstance(func, cst.Attribute):
        return NoFix("it is called under another name here")
    args = node.args
    if last != _REDUCE:
        args = ()  # a time limit and what to do with it
    elif any(arg.star for arg in args):
        return NoFix("its arguments cannot be told apart")
    else:
        given = zip(_PLACES, args, strict=False)
        places = [(name if arg.keyword is None else arg.keyword.value, arg) for name, arg in given]
        args = tuple(arg for name, arg in places if name == "tensor") + tuple(
            arg.with_changes(keyword=cst.Name(name), equal=_TIGHT)
            for name, arg in places
            if name not in ("tensor", "dst")
        )
    kept = [arg.with_changes(comma=cst.MaybeSentinel.DEFAULT) for arg in args]
    called = cst.Call(func.with_changes(attr=cst.Name(new.rpartition(".")[2])), kept)
    text = cst.Module([]).code_for_node(called)
    return Rewrite(f"Use `{new}`", (Replacement(*scene.span(node), text),))


_TIGHT = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
