"""XLA513: types of tensors on a GPU, chosen by a flag → those of the host, and what they make is moved."""

from __future__ import annotations

import re
from typing import Final

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.text import last_name

_TPU: Final = "torch_tpu"
_OF_GPU: Final = ".cuda."
GPU_TENSOR: Final = re.compile(r"\bcuda\.\w*Tensor\b")
_MOVED: Final = '.to("tpu")'
_KEPT: Final = NoFix("its name is used otherwise than to make tensors: make them with `device=`")


def make_on_tpu(site: Site) -> Rewrite | NoFix | None:
    """`T = torch.cuda.FloatTensor if fast else torch.FloatTensor`, `T(3)` → `T = torch.FloatTensor`, `T(3).to("tpu")`, for TorchTPU."""
    file = site.scene.document.whole()
    if site.target != _TPU or not isinstance(site.node, cst.IfExp) or file is None:
        return None
    place = site.scene.span(site.node)
    choice = next((one for one in file.descend(file.root, cst.IfExp) if file.span(one) == place), None)
    if choice is None or not GPU_TENSOR.search(file.code(choice.body)):
        return None
    changed = _moves(file, choice)
    if changed is None:
        return _KEPT
    return Rewrite(
        "Move what it makes to the TPU", changed, "the process's XLA device is meant, and no other file uses the type"
    )


def all_are_chosen(scene: FunctionSource) -> bool:
    """Return whether a file uses types of tensors on a GPU only where a flag chooses them in ways that are rewritten here."""
    file = scene.document.whole()
    if file is None:
        return False
    chosen = [file.span(one) for one in file.descend(file.root, cst.IfExp) if _moves(file, one) is not None]
    found = GPU_TENSOR.finditer(file.document.text)
    return all(any(start <= one.start() < end for start, end in chosen) for one in found)


def _moves(file: FunctionSource, choice: cst.IfExp) -> tuple[Replacement, ...] | None:
    """Take the host's type, and move what the name makes; None if it makes nothing, or is used otherwise, too."""
    host, assign = file.code(choice.orelse), file.parent(choice)
    if file.code(choice.body).replace(_OF_GPU, ".", 1) != host or not isinstance(assign, cst.Assign):
        return None
    target = assign.targets[0].target
    if len(assign.targets) != 1 or not isinstance(target, cst.Name):
        return None
    made: list[Replacement] = [Replacement(*file.whole(choice), host)]
    for name in file.descend(file.root, cst.Name):
        if name.value != target.value or name is target or _is_part(file, name):
            continue
        call = _call_with(file, name)
        if call is None:
            return None
        end = file.span(call)[1]
        made.append(Replacement(end, end, _MOVED))
    return tuple(made) if len(made) > 1 else None


def _is_part(file: FunctionSource, name: cst.Name) -> bool:
    """Return whether a name is that of an attribute or of an argument, and no variable's."""
    holder = file.parent(name)
    return (isinstance(holder, cst.Attribute) and holder.attr is name) or (
        isinstance(holder, cst.Arg) and holder.keyword is name
    )


def _call_with(file: FunctionSource, name: cst.Name) -> cst.Call | None:
    """Return the call that makes a tensor of a type: `T(3)`, `x.type(T)`."""
    holder = file.parent(name)
    if isinstance(holder, cst.Call) and holder.func is name:
        return holder
    call = file.parent(holder) if isinstance(holder, cst.Arg) else None
    of_type = isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and last_name(call.func) == "type"
    return call if isinstance(call, cst.Call) and of_type and len(call.args) == 1 else None
