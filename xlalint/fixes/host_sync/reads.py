"""XLA301: tensors that are read as Python numbers → tensors, where one does as well."""

from __future__ import annotations

import re
from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import UNKNOWN, Sequence, members
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.consumers import Consumer, consumers
from xlalint.fixes.toolkit.dataflow import bindings, leaves, reads
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.gradients import Slopes, without_gradient
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.numbers import MATH, flow, tensorflow_name
from xlalint.fixes.toolkit.operations import makes_new, operation
from xlalint.fixes.toolkit.text import argument, atom, brief, stands_alone, width_of
from xlalint.fixes.toolkit.text import call as write_call

# A comment that speaks of the method by its name.
_ITEM = re.compile(r"\bitem\b").search
# A module that may compute in half precision, in which a sum over many steps soon stops growing.
_HALF = re.compile(r"\b(?:half|use_amp|(?:use_)?b?fp?16|b?float16)\b").search
# The target that records what is to be run, until it is told to run it, or asked for a value; TorchTPU runs each operation at once.
_LAZY = "torch_xla"
# What makes it run what it has recorded.
_ORDERS = frozenset(("sync", "mark_step", "optimizer_step", "step"))


class _Read(NamedTuple):
    """The tensor that is read, and what of: "item", "float", "int", "bool", or a function of `math`."""

    tensor: cst.BaseExpression
    how: str


def number(site: Site) -> Rewrite | NoFix | None:
    """`x * t.item()` → `x * t.detach()`; `float(t)`, `int(t)`, `bool(t)` and `math.exp(t)` likewise."""
    scene, node = site.scene, site.node
    read = _read(scene, node)
    if read is None:
        return None
    assert isinstance(node, cst.Call)
    code, value = scene.code(read.tensor), scene.value(read.tensor)
    if read.how == "item" and any(_ITEM(one.value) for one in scene.descend(scene.statement(node), cst.Comment)):
        return NoFix("a comment says why the number is read")
    if not values.is_tensor(value, site.framework):
        return NoFix(f"`{code}` is not a tensor in every call")
    if _conversion(read.how, values.dtype_of(value)) == "bool" and consumers(scene, node) - {Consumer.TENSOR}:
        return NoFix(
            "Python computes with bools where tensors of bools raise an error: write the expression with tensors"
        )
    if site.target == _LAZY and _runs_the_device(scene, node):
        return NoFix("nothing else makes the device run in this loop: end each iteration with `torch_xla.sync()` first")
    imports = Imports(scene, node)
    found = flow(scene, node, site.framework, imports, _conversion(read.how, values.dtype_of(value)))
    if isinstance(found, NoFix):
        return found
    beside = _find_read_beside(site, node) if found.summed and site.framework == "torch" else ""
    if beside:
        return NoFix(f"`{beside}` waits for the device in each turn all the same: rewrite that first")
    other = _find_read_anyway(site, node, code)
    if other:
        return NoFix(f"`{other}` reads the same number all the same")
    if (found.leaves and read.how in ("float", "int", "bool")) or (found.handed and read.how == "item"):
        return NoFix(
            f"callers get what `{read.how}` makes for them: return the tensor, and read it where the number is needed"
        )
    shared = read.how not in MATH and not makes_new(scene, read.tensor)
    part = isinstance(read.tensor, (cst.Attribute, cst.Subscript))
    if shared and ((part and found.leaves) or _changed(scene, read.tensor)):
        return NoFix(f"`{code}` may be changed in place before the number is used: keep a copy of it")
    assumed = [
        *found.assumed,
        *_list_assumptions(read, code, values.rank_of(value), values.dtype_of(value), site.framework),
    ]
    text = _text(site, read, imports, carries=found.carries)
    if text is None:
        return NoFix("TensorFlow computes with one dtype: write `tf.cast(…, x.dtype)`")
    if found.summed and text.endswith(".detach()") and _HALF(scene.document.text):
        text += ".float()"
    replaced = Replacement(*scene.span(node), text)
    return Rewrite("Keep the tensor", (replaced, *found.edits, *imports.needed), all_of(assumed))


def _runs_the_device(scene: FunctionSource, node: cst.Call) -> bool:
    """Return whether a read is all that makes a lazy device run in a loop, over batches that the loop itself moves there without a
    barrier.
    """
    loop = scene.nearest(node, cst.For)
    if loop is None:
        return False
    batch = {name.value for name in [loop.target, *scene.descend(loop.target, cst.Name)] if isinstance(name, cst.Name)}
    calls = [call.func for call in scene.descend(loop.body, cst.Call) if isinstance(call.func, cst.Attribute)]
    moved = (func.value for func in calls if func.attr.value == "to")
    if _ORDERS & {func.attr.value for func in calls}:
        return False
    return any(isinstance(one, cst.Name) and one.value in batch for one in moved)


def _read(scene: FunctionSource, node: cst.CSTNode) -> _Read | None:
    if not isinstance(node, cst.Call):
        return None
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == "item" and not node.args:
        return _Read(node.func.value, "item")
    if len(node.args) != 1 or node.args[0].keyword is not None or node.args[0].star:
        return None
    package, _, name = values.callee(scene.value(node.func)).rpartition(".")
    if (package == "builtins" and name in ("float", "int", "bool")) or (package == "math" and name in MATH):
        return _Read(node.args[0].value, name)
    return None


def _find_read_anyway(site: Site, node: cst.Call, tensor: str) -> str:
    """Return another read of a tensor that runs whenever one does and has to stay; "" without."""
    scene = site.scene
    function = scene.function(node)
    if function is None:
        return ""
    around = {one for one in scene.above(node) if isinstance(one, _BLOCKS)}
    for call in scene.descend(function, cst.Call):
        read = None if call is node else _read(scene, call)
        if read is None or scene.code(read.tensor) != tensor or scene.function(call) is not function:
            continue
        if {one for one in scene.above(call) if isinstance(one, _BLOCKS)} == around and isinstance(
            flow(scene, call, site.framework, Imports(scene, node)), NoFix
        ):
            return brief(scene.code(call))
    return ""


def _find_read_beside(site: Site, node: cst.Call) -> str:
    """Return what reads another tensor whenever a number is added to a sum, and has to stay; "" without."""
    scene, function = site.scene, site.scene.function(node)
    around = {one for one in scene.above(node) if isinstance(one, _BLOCKS)}
    for call in scene.descend(function, cst.Call) if function is not None else ():
        read = None if call is node else _read(scene, call) or _read_copy(call)
        if read is None or scene.function(call) is not function:
            continue
        if {one for one in scene.above(call) if isinstance(one, _BLOCKS)} != around:
            continue
        surely = values.is_tensor(scene.value(read.tensor), "torch")
        if not surely and (read.how != "item" or UNKNOWN not in members(scene.value(read.tensor))):
            continue
        if read.how == "copy" or not surely:
            return brief(scene.code(call))
        if isinstance(flow(scene, call, site.framework, Imports(scene, node)), NoFix):
            return brief(scene.code(call))
    for one in scene.descend(function, cst.If) if function is not None else ():
        if {above for above in scene.above(one) if isinstance(above, _BLOCKS)} == around and values.is_tensor(
            scene.value(one.test), "torch"
        ):
            return f"if {brief(scene.code(one.test))}"
    return ""


def _read_copy(call: cst.Call) -> _Read | None:
    """The tensor that a call copies to the host: `x.cpu()`, `x.numpy()`, `x.tolist()`."""
    copies = isinstance(call.func, cst.Attribute) and call.func.attr.value in ("cpu", "numpy", "tolist")
    return _Read(call.func.value, "copy") if copies and isinstance(call.func, cst.Attribute) and not call.args else None


_BLOCKS = (cst.If, cst.IfExp, cst.For, cst.While, cst.Try, cst.With, cst.Else, cst.ExceptHandler, cst.Lambda)


def _conversion(how: str, dtype: str) -> str:
    """The Python type that a read gave: "int", "bool", "float", or "" where that is not known."""
    if how == "item":
        return {"i": "int", "b": "bool", "f": "float"}.get(dtype, "")
    return how if how in ("int", "bool") else "float"


def _list_assumptions(read: _Read, code: str, rank: int, dtype: str, framework: str) -> list[str]:
    assumed = [] if rank == 0 else [f"`{code}` has no dimensions"]
    if not dtype and (read.how == "float" or (read.how in MATH and framework == "tensorflow")):
        assumed.append(f"`{code}` holds floats")
    if not dtype and read.how == "item":
        assumed.append(f"`{code}` holds no bools")
    if dtype in ("f", "") and framework != "torch":
        assumed.append("a gradient may flow into it, as in a graph")
    if framework != "torch":
        assumed.append(f"what meets it has the dtype of `{code}`")
    if dtype in ("f", "") or read.how in MATH:
        assumed.append(f"the precision of `{code}` is enough")
    if not assumed:
        assumed.append("nothing needs the number itself")
    return assumed


def _text(site: Site, read: _Read, imports: Imports, *, carries: bool) -> str | None:
    """The tensor's code, of the kind that the number had; None where TensorFlow would need to be told the dtype."""
    scene, framework, tensor, node = site.scene, site.framework, read.tensor, site.node
    assert isinstance(node, cst.BaseExpression)
    dtype = values.dtype_of(scene.value(tensor))
    cut = framework == "torch" and carries and _has_gradient(scene, tensor)
    if read.how in MATH:
        if framework == "torch":
            return f"{atom(scene, tensor)}{'.detach()' if cut else ''}.{MATH[read.how]}()"
        if framework == "tensorflow":
            return (
                f"{imports.name('tensorflow')}.{tensorflow_name(MATH[read.how])}({scene.code(tensor)})"
                if dtype in ("f", "")
                else None
            )
        return f"{imports.name('jax.numpy')}.{MATH[read.how]}({scene.code(tensor)})"
    if framework == "tensorflow" and (read.how in ("int", "bool") or dtype in ("i", "b")):
        return None
    cast = _cast(read.how, dtype, framework)
    if not cut and not cast:
        alone = stands_alone(scene, node) and not isinstance(scene.parent(node), cst.Arg)
        return scene.code(tensor) if alone else atom(scene, tensor)
    if read.how == "bool":
        return f"({atom(scene, tensor)} != 0)"
    return f"{atom(scene, tensor)}{'.detach()' if cut else ''}{cast}"


def _cast(how: str, dtype: str, framework: str) -> str:
    """Return the method that makes a tensor of the kind that `float()`, `int()` and `bool()` give."""
    if how == "int" and dtype != "i":
        return ".long()" if framework == "torch" else ".astype(int)"
    if how == "float" and dtype in ("i", "b"):
        return ".float()" if framework == "torch" else ".astype(float)"
    return " != 0" if how == "bool" and dtype != "b" else ""


def _has_gradient(scene: FunctionSource, tensor: cst.BaseExpression) -> bool:
    """Return whether a gradient may flow into a tensor. None could flow into the number."""
    into = Slopes(scene, "torch").of(_find_bound(scene, tensor)).into
    return bool(into) and not without_gradient(scene, tensor)


def _find_bound(scene: FunctionSource, tensor: cst.BaseExpression) -> cst.BaseExpression:
    """Return the expression that a name stands for, if the function binds it once."""
    function = scene.function(tensor)
    if not isinstance(tensor, cst.Name) or function is None:
        return tensor
    found = bindings(scene, function, tensor.value)
    holder = scene.parent(scene.parent(found[0])) if len(found) == 1 else None
    return holder.value if isinstance(holder, cst.Assign) else tensor


def _changed(scene: FunctionSource, tensor: cst.BaseExpression) -> bool:
    """Return whether the function changes a tensor, or one that it may be a view of, in place."""
    function, root = scene.function(tensor), scene.code(_find_viewed(tensor))
    if function is None:
        return True
    owned = re.compile(rf"{re.escape(root)}(?!\w)")
    for call in scene.descend(function, cst.Call):
        changes = operation(scene, call).endswith("_") and isinstance(call.func, cst.Attribute)
        if changes and owned.match(scene.code(call.func)):
            return True
    if any(owned.match(scene.code(one.target)) for one in scene.descend(function, cst.AugAssign)):
        return True
    stores = (one.target for one in scene.descend(function, cst.AssignTarget) if not isinstance(one.target, cst.Name))
    return any(owned.match(scene.code(one)) for one in stores)


def _find_viewed(tensor: cst.BaseExpression) -> cst.BaseExpression:
    """The variable that a tensor may be a view of."""
    while True:
        if isinstance(tensor, cst.Subscript):
            tensor = tensor.value
        elif isinstance(tensor, cst.Call) and isinstance(tensor.func, cst.Attribute):
            tensor = tensor.func.value
        else:
            return tensor


# -------------------------------------------------------------------------------------- where PyTorch wants a number


def wanted_number(site: Site) -> Rewrite | NoFix | None:
    """`y.fill_(t)` → `y.copy_(t)`, `torch.add(x, y, alpha=t)` → `torch.add(x, y * t)`, `torch.tensor([s, t])` → `torch.stack([s, t])`."""
    scene, node = site.scene, site.node
    if site.framework != "torch" or not isinstance(node, cst.Call):
        return None
    write = {
        "fill_": _rewrite_fill,
        "add": _rewrite_scale,
        "sub": _rewrite_scale,
        "tensor": _rewrite_stack,
        "as_tensor": _rewrite_stack,
    }.get(operation(scene, node))
    return write(scene, node) if write is not None else None


def _rewrite_fill(scene: FunctionSource, node: cst.Call) -> Rewrite | None:
    if len(node.args) != 1 or not isinstance(node.func, cst.Attribute) or not _is_torch(scene, node.args[0].value):
        return None
    tensor = node.args[0].value
    assumed = "" if values.rank_of(scene.value(tensor)) == 0 else f"`{scene.code(tensor)}` has no dimensions"
    return Rewrite("Use `copy_`", (Replacement(*scene.span(node.func.attr), "copy_"),), assumed)


def _rewrite_scale(scene: FunctionSource, node: cst.Call) -> Rewrite | NoFix | None:
    alpha = next((arg for arg in node.args if arg.keyword is not None and arg.keyword.value == "alpha"), None)
    plain = [arg for arg in node.args if arg.keyword is None and not arg.star]
    if alpha is None or len(plain) + 1 != len(node.args) or not plain or alpha is not node.args[-1]:
        return None
    tensor, operand = alpha.value, plain[-1].value
    if not _is_torch(scene, tensor) or not _is_torch(scene, operand):
        return None
    factor = f"{atom(scene, tensor)}.detach()" if _has_gradient(scene, tensor) else atom(scene, tensor)
    text = f"{atom(scene, operand)} * {factor}"
    start, end = scene.whole(operand)[0], scene.whole(alpha.value)[1]
    assumed = [f"`{scene.code(tensor)}` has no dimensions"] if values.rank_of(scene.value(tensor)) != 0 else []
    assumed.append("all have one dtype, and one more rounding does not matter")
    return Rewrite("Multiply by the tensor", (Replacement(start, end, text),), all_of(assumed))


def _rewrite_stack(scene: FunctionSource, node: cst.Call) -> Rewrite | NoFix | None:
    """`torch.tensor([s, t])` of tensors, each of which is read for it."""
    if not node.args or node.args[0].keyword is not None or not isinstance(node.func, cst.Attribute):
        return None
    listed = node.args[0].value
    value = scene.value(listed)
    if type(value) is not Sequence or value.kind not in ("list", "tuple"):
        return None
    code = scene.code(listed)
    held = value.items or (value.element,)
    if not all(values.is_tensor(one, "torch") for one in held):
        return NoFix(f"not all that `{code}` holds are known to be tensors: stack those that are")
    if _asks_for_length(scene, node, listed) or _may_stay_empty(scene, listed):
        return NoFix(f"`{code}` may be empty there, which cannot be stacked")
    if any(values.rank_of(one) > 0 for one in held):
        return NoFix(
            f"a tensor that `{code}` holds has dimensions, which `torch.stack` keeps: use `torch.cat` or `reshape`"
        )
    given = {arg.keyword.value: scene.code(arg.value) for arg in node.args[1:] if arg.keyword is not None}
    if len(given) != len(node.args) - 1 or not set(given) <= {"device", "dtype"}:
        return NoFix("stack the tensors with `torch.stack`, and apply the call's options to the result")
    kept = values.dtype_of(value.element) in ("i", "b") or without_gradient(scene, node)
    cut = "" if kept else ".detach()"
    to = f".to({', '.join(given.values() if len(given) == 1 else map('='.join, given.items()))})" if given else ""
    again = _find_repeated(scene, listed)
    if again is not None:
        return _rewrite_repeated(scene, node, again, f"{cut}{to}", flat=values.rank_of(value.element) == 0)
    start, end = scene.span(node)
    before, line_end = start - scene.document.text.rfind("\n", 0, start) - 1, scene.document.text.find("\n", end)
    tail = len(cut) + len(to) + max(line_end - end, 0)
    stack, width = f"{scene.code(node.func.value)}.stack", width_of(scene)
    text = f"{write_call(stack, [argument(scene, listed)], before, scene.indent(node), tail, width)}{cut}{to}"
    assumed = [] if value.items else [f"`{code}` is not empty"]
    assumed += [] if all(values.rank_of(one) == 0 for one in held) else ["its tensors have no dimensions"]
    assumed.append("its tensors are of one dtype, on the device where they are needed")
    return Rewrite("Use `torch.stack`", (Replacement(*scene.span(node), text),), all_of(assumed))


class _Repeated(NamedTuple):
    """A tensor that a list holds as many times as `times` says: `[t for _ in range(n)]`."""

    tensor: cst.BaseExpression
    times: cst.BaseExpression


def _find_repeated(scene: FunctionSource, listed: cst.BaseExpression) -> _Repeated | None:
    """The tensor of which a list consists, if it is the same in each turn, and only read: `[t for _ in range(n)]`, `[t] * n`."""
    found = None
    if isinstance(listed, cst.BinaryOperation) and isinstance(listed.left, (cst.List, cst.Tuple)):
        held = listed.left.elements
        if isinstance(listed.operator, cst.Multiply) and len(held) == 1:
            found = _Repeated(held[0].value, listed.right)
    elif isinstance(listed, cst.ListComp) and not listed.for_in.ifs and listed.for_in.inner_for_in is None:
        turns, target = listed.for_in.iter, listed.for_in.target
        counted = isinstance(turns, cst.Call) and scene.code(turns.func) == "range" and len(turns.args) == 1
        same = isinstance(target, cst.Name) and target.value not in reads(scene, listed.elt)
        if isinstance(turns, cst.Call) and counted and same:
            found = _Repeated(listed.elt, turns.args[0].value)
    return found if found is not None and isinstance(found.tensor, (cst.Attribute, cst.Name)) else None


def _rewrite_repeated(scene: FunctionSource, node: cst.Call, again: _Repeated, tail: str, *, flat: bool) -> Rewrite:
    text = f"{scene.code(again.tensor)}.repeat({argument(scene, again.times)}){tail}"
    assumed = [] if flat else [f"`{scene.code(again.tensor)}` has no dimensions"]
    assumed.append("it is on the device where it is needed")
    return Rewrite("Use `repeat`", (Replacement(*scene.span(node), text),), all_of(assumed))


def _asks_for_length(scene: FunctionSource, node: cst.Call, listed: cst.BaseExpression) -> bool:
    """Return whether a condition that tests the argument of a call decides that it runs: around it, or in front of it and leaving."""
    if not isinstance(listed, cst.Name):
        return False
    tests = [one.test for one in scene.above(node) if isinstance(one, (cst.If, cst.IfExp))]
    for one in scene.above(node):
        if isinstance(one, cst.BaseStatement):
            siblings, index = scene.siblings(one)
            tests += [each.test for each in siblings[:index] if isinstance(each, cst.If) and leaves(each.body)]
        if isinstance(one, cst.FunctionDef):
            break
    return any(listed.value in reads(scene, test) for test in tests)


def _may_stay_empty(scene: FunctionSource, listed: cst.BaseExpression) -> bool:
    """Return whether a list is filled only where a condition holds. A loop over what there is mostly runs at least once."""
    function = scene.function(listed)
    if not isinstance(listed, cst.Name) or function is None:
        return False
    filled = [
        one
        for one in scene.descend(function, cst.Call)
        if isinstance(one.func, cst.Attribute) and scene.code(one.func) == f"{listed.value}.append"
    ]
    around = set(scene.above(listed))
    return bool(filled) and all(
        any(isinstance(holder, (cst.If, cst.Try, cst.While)) for holder in scene.above(one) if holder not in around)
        for one in filled
    )


def _is_torch(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    return values.is_tensor(scene.value(node), "torch")
