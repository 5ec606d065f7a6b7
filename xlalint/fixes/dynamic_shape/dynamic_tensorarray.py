"""XLA210: a `TensorArray` that grows in a counted loop → one of as many elements as the loop has turns."""

from __future__ import annotations

import libcst as cst

from xlalint.fixes.model import NoFix, Rewrite, Site
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import reads, unchanged
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.text import call_at

_READS = frozenset(("concat", "gather", "read", "stack", "unstack"))
_RANGES = frozenset(("builtins.range", "tensorflow.range"))


def give_size(site: Site) -> Rewrite | NoFix:
    """`tf.TensorArray(dtype, size=0, dynamic_size=True)` → `tf.TensorArray(dtype, size=n)`."""
    scene, node = site.scene, site.node
    assign = scene.parent(node)
    target = assign.targets[0].target if isinstance(assign, cst.Assign) and len(assign.targets) == 1 else None
    if not isinstance(node, cst.Call) or not isinstance(target, cst.Name):
        return NoFix("it is not known how often it is written; give `size=`, the largest possible number")
    turns = _turns(scene, node, target)
    if turns is None:
        return NoFix(
            f"it is not known how often `{target.value}` is written; give `size=`, the largest possible number"
        )
    since = scene.span(node)[0]
    if not all(unchanged(scene, name, since, turns) for name in reads(scene, turns)):
        return NoFix(f"`{scene.code(turns)}`, which says how often `{target.value}` is written, is computed later")
    given = [scene.code(arg).rstrip(", ") for arg in node.args if not _sizes(node, arg)]
    text = call_at(scene, node, scene.code(node.func), [*given, f"size={scene.code(turns)}"])
    return Rewrite("Give the size", (Replacement(*scene.span(node), text),))


def _sizes(node: cst.Call, arg: cst.Arg) -> bool:
    if arg.keyword is not None:
        return arg.keyword.value in ("size", "dynamic_size")
    return node.args.index(arg) > 0


def _turns(scene: FunctionSource, node: cst.Call, target: cst.Name) -> cst.BaseExpression | None:
    """The number of turns of the one loop that writes each element in each turn, all else being reads behind it."""
    function = scene.function(node)
    if function is None:
        return None
    writes: list[cst.Call] = []
    reading: list[cst.Name] = []
    for name in scene.descend(function, cst.Name):
        if name.value != target.value or name is target or isinstance(scene.parent(name), cst.AssignTarget):
            continue
        called = scene.parent(scene.parent(name))
        if not isinstance(scene.parent(name), cst.Attribute) or not isinstance(called, cst.Call):
            return None
        method = _method(called)
        if method == "write":
            writes.append(called)
        elif method in _READS:
            reading.append(name)
        else:
            return None
    loop = _loop(scene, writes[0], target.value) if len(writes) == 1 else None
    if loop is None or not isinstance(loop.iter, cst.Call) or scene.nearest(node, cst.For, cst.While) is not None:
        return None
    end, given = scene.span(loop)[1], loop.iter.args
    ranged = values.callee(scene.value(loop.iter.func)) in _RANGES and len(given) == 1 and given[0].keyword is None
    return given[0].value if ranged and all(scene.span(one)[0] > end for one in reading) else None


def _method(node: cst.Call) -> str:
    """The method's name that a call calls."""
    return node.func.attr.value if isinstance(node.func, cst.Attribute) else ""


def _loop(scene: FunctionSource, write: cst.Call, name: str) -> cst.For | None:
    """The loop whose body holds `name = name.write(turn, …)` as a statement of its own, and is not left early."""
    line = scene.statement(write)
    loop = scene.nearest(line, cst.For)
    assign = scene.parent(write)
    if loop is None or line not in loop.body.body or not isinstance(loop.target, cst.Name) or loop.orelse is not None:
        return None
    alone = isinstance(assign, cst.Assign) and [scene.code(one.target) for one in assign.targets] == [name]
    turn = [scene.code(arg.value) for arg in write.args[:1]] == [loop.target.value]
    rebound = sum(
        one.value == loop.target.value for one in scene.descend(loop.body, cst.Name) if _is_target(scene, one)
    )
    left = [*scene.descend(loop, cst.Break), *scene.descend(loop, cst.Continue), *scene.descend(loop, cst.Return)]
    return loop if alone and turn and not left and not rebound else None


def _is_target(scene: FunctionSource, name: cst.Name) -> bool:
    return isinstance(scene.parent(name), (cst.AssignTarget, cst.AugAssign))
