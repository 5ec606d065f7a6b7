"""XLA527: torch_xla's loader, which moves batches → the loader itself, and a move at the head of each loop over it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.text import last_name

_LOADER = "MpDeviceLoader"
_MOVED = "what the loops take of each batch are tensors"
_ELSEWHERE = NoFix('the loader is handed on: move each batch by `.to("tpu")` where it is taken')
_SHAPE = NoFix('the loop takes a batch whole: move what is in it by `.to("tpu")`')
# What gives the same batches.
_WRAPPERS = frozenset(("enumerate", "islice", "tqdm"))
_DEPTH = 2  # functions that a loader is handed through


def move_batches(site: Site) -> Rewrite | NoFix | None:
    """`loader = pl.MpDeviceLoader(loader, device)` → `loader`, and `x, y = x.to("tpu"), y.to("tpu")` in the loops over it."""
    node = site.node
    if not isinstance(node, cst.Call) or last_name(node.func) != _LOADER:
        return None
    if not node.args or node.args[0].star or node.args[0].keyword is not None:
        return NoFix("it is given no loader")
    file = site.scene.document.whole()
    if file is None:
        return _ELSEWHERE
    here = next(one for one in file.descend(file.root, cst.Call) if file.span(one) == site.scene.span(node))
    loops = _loops_of(file, here)
    if isinstance(loops, NoFix):
        return loops
    edits = [_move_in(file, one) for one in loops]
    wrong = next((one for one in edits if isinstance(one, NoFix)), None)
    if wrong is not None or not edits:
        return wrong or _ELSEWHERE
    own = Replacement(*site.scene.span(node), site.scene.code(node.args[0].value))
    moves = [one for one in edits if isinstance(one, Replacement)]
    return Rewrite("Move each batch in the loops over it", (own, *moves), _MOVED)


def _loops_of(file: FunctionSource, node: cst.BaseExpression, depth: int = 0) -> list[cst.For] | NoFix:
    """List the loops over what an expression gives, a loader or its batches; why not, where it goes elsewhere too."""
    holder = file.parent(node)
    if isinstance(holder, cst.For):
        return [holder]
    if isinstance(holder, cst.Assign) and len(holder.targets) == 1:
        return _loops_over(file, file.root, holder.targets[0].target, depth)
    call = file.parent(holder)
    if not isinstance(holder, cst.Arg) or not isinstance(call, cst.Call) or holder.keyword is not None:
        return _ELSEWHERE
    index = call.args.index(holder)
    if last_name(call.func) == "len":
        return []
    if last_name(call.func) in _WRAPPERS:
        bound = file.parent(call)
        again = isinstance(bound, cst.Assign) and file.code(bound.targets[0].target) == file.code(node)
        return [] if again else _loops_of(file, call, depth)
    called = [one for one in file.descend(file.root, cst.FunctionDef) if one.name.value == last_name(call.func)]
    if len(called) != 1 or depth == _DEPTH:
        return _ELSEWHERE
    own = called[0].params.params
    parameters = own[1:] if own and own[0].name.value == "self" else own
    return (
        _loops_over(file, called[0].body, parameters[index].name, depth + 1) if index < len(parameters) else _ELSEWHERE
    )


def _loops_over(file: FunctionSource, within: cst.CSTNode, path: cst.CSTNode, depth: int) -> list[cst.For] | NoFix:
    """List the loops over what a name or an attribute stands for."""
    found: list[cst.For] = []
    for use in _uses(file, within, file.code(path)):
        loops = _loops_of(file, use, depth)
        if isinstance(loops, NoFix):
            return loops
        found += [one for one in loops if one not in found]
    return found


def _uses(file: FunctionSource, within: cst.CSTNode, path: str) -> Iterator[cst.BaseExpression]:
    kinds: tuple[type[cst.BaseExpression], ...] = (cst.Name, cst.Attribute)
    for kind in kinds:
        for one in file.descend(within, kind):
            holder = file.parent(one)
            if (
                not isinstance(holder, (cst.AssignTarget, cst.Param))
                and file.code(one) == path
                and not _is_part(holder, one)
            ):
                yield one


def _is_part(holder: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Return whether a name is that of an attribute or of a keyword, and reads nothing by itself."""
    return (isinstance(holder, cst.Attribute) and holder.attr is node) or (
        isinstance(holder, cst.Arg) and holder.keyword is node
    )


def _move_in(file: FunctionSource, loop: cst.For) -> Replacement | NoFix:
    """Move what a loop takes of a batch, at its head."""
    target: cst.BaseExpression = loop.target
    if isinstance(loop.iter, cst.Call) and last_name(loop.iter.func) == "enumerate":
        if not isinstance(target, cst.Tuple) or len(target.elements) != len(("index", "batch")):
            return _SHAPE
        target = target.elements[1].value
    if not isinstance(target, cst.Tuple) or not isinstance(loop.body, cst.IndentedBlock):
        return _SHAPE
    names = [one.value.value for one in target.elements if isinstance(one.value, cst.Name)]
    taken = [one for one in names if one != "_"]
    if len(names) != len(target.elements) or not taken:
        return _SHAPE
    moved = [f'{one}.to("tpu")' for one in taken]
    text = f"{', '.join(taken)} = {', '.join(moved)}"
    first = loop.body.body[0]
    start = file.span(first)[0]
    if file.code(first).strip() == text:
        return Replacement(start, start, "")
    return Replacement(start, start, f"{text}{file.document.newline}{file.indent(first)}")
