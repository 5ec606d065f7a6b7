"""XLA106: the builtins `max` and `min` over tensors → the tensors' own."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import Value
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.aliasing import copy_shows
from xlalint.fixes.toolkit.dataflow import uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.gradients import FLAT, Slopes, without_gradient
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.selection import assigned_name
from xlalint.fixes.toolkit.shapes import SCALAR, Types
from xlalint.fixes.toolkit.text import argument, atom, brief, call_at

_BOUND = {"max": "min", "min": "max"}  # `max(x, 0)` is `x.clamp(min=0)`
_MODULES = {"torch": "torch", "tensorflow": "tensorflow", "jax": "jax.numpy"}


class _Call(NamedTuple):
    """A call of `max` or `min`: which, and its operands in order, by what they are."""

    node: cst.Call
    name: str
    tensors: list[cst.BaseExpression]
    numbers: list[cst.BaseExpression]

    @property
    def number_first(self) -> bool:
        return bool(self.numbers) and self.node.args[0].value in self.numbers


def extremum(site: Site) -> Rewrite | NoFix | None:
    """`max(a, b)` → `torch.maximum(a, b)`, `max(x, 1)` → `x.clamp(min=1)`, `max(row)` → `row.max()`; `min` alike."""
    scene, node = site.scene, site.node
    if not isinstance(node, cst.Call):
        return None
    name = values.callee(scene.value(node.func))
    if name not in ("builtins.max", "builtins.min"):
        return None
    short = name.removeprefix("builtins.")
    if any(arg.star or arg.keyword is not None for arg in node.args):
        return NoFix(
            f"`{short}` with `key`, `default` or `*`: stack the tensors, and take the maximum or minimum of that"
        )
    if any(scene.descend(node, cst.Comment)):
        return NoFix(f"there is a comment inside the call: write `{short}imum` of the tensors")
    if len(node.args) == 1:
        return _of_elements(site, node, short)
    tensors, numbers = [], []
    for arg in node.args:
        value = scene.value(arg.value)
        if values.is_number(value):
            numbers.append(arg.value)
        elif _is_surely_tensor(value, site.framework) and values.dtype_of(value) not in ("b", "c"):
            tensors.append(arg.value)
        else:
            return NoFix(f"`{scene.code(arg.value)}` is not known to be a tensor or a number in every call")
    if numbers and _becomes_a_size(scene, node):
        return NoFix(
            "the code that uses the result needs a number and reads it anyway: bound what is computed from it instead"
        )
    return _among(site, _Call(node, short, tensors, numbers))


def _is_surely_tensor(value: Value, framework: str) -> bool:
    return values.is_tensor(value, framework) and all(one.sure for one in values.tensors_only(value))


def _becomes_a_size(scene: FunctionSource, node: cst.CSTNode) -> bool:
    """Return whether the result is an argument or bounds a slice, there or by its name. So far it was mostly a number."""
    holder = scene.parent(node)
    if isinstance(holder, (cst.Arg, cst.Slice)):
        return True
    function = scene.function(node)
    if not isinstance(holder, cst.Assign) or function is None:
        return False
    names = [one.target.value for one in holder.targets if isinstance(one.target, cst.Name)]
    return any(scene.nearest(use, cst.Slice) is not None for name in names for use in uses(scene, function, name))


def _of_elements(site: Site, node: cst.Call, short: str) -> Rewrite | NoFix:
    """`max(row)`, which goes through the elements."""
    scene, row = site.scene, node.args[0].value
    value = scene.value(row)
    if not values.is_tensor(value, site.framework):
        return NoFix(f"`{scene.code(row)}` holds tensors: stack them, and take the {short}imum of the stack")
    assumed = [] if values.rank_of(value) == 1 else [f"`{scene.code(row)}` has one dimension"]
    if values.dtype_of(value) != "i":
        assumed += ["no element is NaN", "no gradient is taken where elements are equal"]
    imports = Imports(scene, node)
    if site.framework == "tensorflow":
        function = f"{imports.name('tensorflow')}.reduce_{short}"
        text, used = f"{function}({argument(scene, row)})", function
    else:
        text, used = f"{atom(scene, row)}.{short}()", f".{short}()"
    return Rewrite(f"Use `{used}`", (Replacement(*scene.span(node), text), *imports.needed), all_of(assumed))


def _among(site: Site, call: _Call) -> Rewrite:
    """`max` of some tensors and numbers: the numbers among themselves on the host, the rest on the device."""
    scene = site.scene
    imports = Imports(scene, call.node)
    module = imports.name(_MODULES[site.framework])
    function, used = f"{module}.{call.name}imum", []
    bound = ", ".join(argument(scene, one) for one in call.numbers)
    if len(call.numbers) > 1:
        bound = f"{call.name}({bound})"
    operands = [argument(scene, one) for one in call.tensors]
    clamps = bool(call.numbers) and site.framework == "torch"
    if call.numbers and not clamps:
        operands.insert(0 if call.number_first else len(operands), bound)
    text = operands[0]
    for index, operand in enumerate(operands[1:], 2):
        last = index == len(operands) and not clamps
        text = call_at(scene, call.node, function, (text, operand)) if last else f"{function}({text}, {operand})"
        used.append(function)
    if clamps:
        whole = atom(scene, call.tensors[0]) if len(call.tensors) == 1 else text
        text = f"{whole}.clamp({_BOUND[call.name]}={bound})"
        used.append("clamp")
    message = "Use " + " and ".join(f"`{one}`" for one in dict.fromkeys(used))
    return Rewrite(message, (Replacement(*scene.span(call.node), text), *imports.needed), _word_assumption(site, call))


def _word_assumption(site: Site, call: _Call) -> str:
    scene = site.scene
    types = [Types(scene, site.framework).of(one) for one in call.tensors]
    said = []
    whole_numbers = all(one.kind == "i" for one in types)
    keeps_first = len(call.tensors) == 1 and not call.number_first and site.framework != "jax"
    if not whole_numbers and not keeps_first:
        said += ["none of them is NaN", "no gradient is taken where they are equal"]
    if len({one.shape for one in types}) > 1 or (types[0].shape != SCALAR and (call.numbers or not types[0].shape)):
        said.append("the tensors have no dimensions")
    if len({one.dtype or index for index, one in enumerate(types)}) > 1:
        said.append("the tensors have one dtype")
    floats = any(not _is_whole(site, one) for one in call.numbers)
    for one, known in zip(call.tensors, types, strict=True):
        if call.numbers and not (known.kind == "f" or (known.kind == "i" and not floats)):
            said.append(f"`{scene.code(one)}` holds {'floats' if floats else 'numbers'}")
    if call.numbers:
        said += _number_assumptions(site, call, types[0].kind)
    if site.framework == "torch":
        result = assigned_name(scene, call.node) or call.node
        said += copy_shows(scene, scene.statement(call.node), result, call.tensors)
    return all_of(said)


def _number_assumptions(site: Site, call: _Call, kind: str) -> list[str]:
    """List what must hold for nobody to see that what was the number is a tensor of the same value, with a gradient of zeros."""
    scene = site.scene
    said = []
    if not _takes_as_number(scene, call.node, kind):
        dtype = scene.code(call.tensors[0])
        said.append(f"a tensor of the dtype of `{brief(dtype)}` works where this was a Python number")
    if not without_gradient(scene, call.node):
        slopes = Slopes(scene, site.framework)
        learned = next((one for one in call.tensors if slopes.of(one) != FLAT), None)
        if learned is not None:
            zeros = "" if site.framework == "jax" else ", and may be zero in place of None"
            said.append(f"the gradient of `{scene.code(learned)}` is finite where the number is taken{zeros}")
    return said


def _takes_as_number(scene: FunctionSource, node: cst.Call, kind: str) -> bool:
    """Return whether a result meets a tensor with dimensions, of a dtype that a tensor of the kind without dimensions leaves as it is."""
    holder = scene.parent(node)
    if not isinstance(holder, cst.BinaryOperation):
        return False
    value = scene.value(holder.right if holder.left is node else holder.left)
    met = values.dtype_of(value)
    if kind == "i":
        divided = isinstance(holder.operator, cst.Divide) and bool(values.tensors_only(value))
        return divided or met == "f" or (met == "i" and values.rank_of(value) > 0)
    return met == "f" and values.rank_of(value) > 0


def _is_whole(site: Site, number: cst.BaseExpression) -> bool:
    return Types(site.scene, site.framework).of(number).kind in ("b", "i")
