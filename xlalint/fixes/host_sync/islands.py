"""XLA101 to XLA302: a function that needs values on the host again and again → one copy of each input, and all of it on the host.

Positions that follow the sizes of images, groups of equal tokens: numbers steer such a function, in each turn of a loop or as the sizes of
what it makes, and no operation of the device stands for them. Each read waits for the device. With its inputs copied once none of the
others does, and what it makes goes back at its end. Inputs that hold whole numbers are copied together: each copy waits for the device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from xlalint.abstract.values import Const, Host, Tensor, Value, members
from xlalint.fixes.model import NoFix, Rewrite, Site, all_of
from xlalint.fixes.toolkit import values
from xlalint.fixes.toolkit.dataflow import bindings, binds, reads, uses
from xlalint.fixes.toolkit.function_source import FunctionSource, Replacement
from xlalint.fixes.toolkit.imports import Imports
from xlalint.fixes.toolkit.operations import MAKERS, READS, arguments_of, operation
from xlalint.fixes.toolkit.self_contained import find_hindrance
from xlalint.fixes.toolkit.shared_functions import share
from xlalint.fixes.toolkit.text import atom, width_of
from xlalint.fixes.toolkit.text import call as write_call

_TENSOR = re.compile(r"(?:Optional\[)?torch\.\w*Tensor(?:\]|\s*\|\s*None)?")
_WHOLE = re.compile(r"\btorch\.(?:Bool|Byte|Char|Int|Long|Short)Tensor\b").search
_LEAST_READS = 2
_PLAIN = ("bool", "float", "int", "str")
_PLACES = ("", "device")  # types of values that may say where a tensor lies


_COPY_TOGETHER = '''(*tensors):
    """Copy tensors of whole numbers to the host together: each copy waits for the device. None stays None."""
    given = [one for one in tensors if one is not None]
    copied = {torch}.cat([one.flatten().long() for one in given]).cpu()
    parts = iter(copied.split([one.numel() for one in given]))
    return [None if one is None else next(parts).view(one.shape).to(dtype=one.dtype) for one in tensors]
'''


class _Input(NamedTuple):
    """A parameter that holds a tensor, and whether it may be None."""

    param: cst.Param
    optional: bool

    @property
    def name(self) -> str:
        """Return its name."""
        return self.param.name.value


class _Island(NamedTuple):
    """A function to compute on the host: its inputs, the statement in front of which they are copied, and the tensors that it returns."""

    function: cst.FunctionDef
    inputs: tuple[_Input, ...]
    first: cst.BaseStatement
    returned: tuple[cst.BaseExpression, ...]


def compute_on_host(site: Site) -> Rewrite | NoFix | None:
    """Copy the inputs of a function once: `x = x.cpu()` in front, `return y.to(device)` at its end."""
    scene = site.scene
    function = scene.function(site.node)
    if site.framework != "torch" or site.target == "torch_compile" or function is None:
        return None
    inputs, unknown = _find_inputs(scene, function)
    if not inputs or inputs[0].optional or not (_needs_host(scene, function) or _is_sized(scene, function, inputs)):
        return None
    first = _find_first(scene, function, inputs)
    if (
        first is None
        or _is_bound_before(scene, function, inputs, first)
        or not scene.span(first)[0] <= scene.span(site.node)[0]
        or any(
            scene.span(use)[0] >= scene.span(first)[0] for name in unknown for use in uses(scene, function.body, name)
        )
    ):
        return None
    region = _Region(scene, function, scene.span(first)[0])
    if region.holds_earlier_tensors() or find_hindrance(scene, region.statements, {one.name for one in inputs}):
        return None
    returned = region.find_returned()
    if returned is None:
        return None
    return _rewrite(site, _Island(function, inputs, first, returned))


def _find_inputs(scene: FunctionSource, function: cst.FunctionDef) -> tuple[tuple[_Input, ...], list[str]]:
    """The parameters that hold tensors and are read, those first that are never None; and those that may be tensors or something else."""
    found, unknown = [], []
    params = function.params
    for param in (*params.posonly_params, *params.params, *params.kwonly_params):
        read = uses(scene, function.body, param.name.value)
        if not read or param.name.value == "self":
            continue
        kind = _classify(scene, param, read)
        if kind is None:
            unknown.append(param.name.value)
        elif kind:
            found.append(_Input(param, kind == "optional"))
    unknown += [star.name.value for star in (params.star_arg, params.star_kwarg) if isinstance(star, cst.Param)]
    return tuple(sorted(found, key=lambda one: one.optional)), unknown


def _classify(scene: FunctionSource, param: cst.Param, read: list[cst.Name]) -> str | None:
    """Return "tensor", "optional" for a tensor or None, "" for a value of the host's; None if it is not known."""
    annotated = scene.code(param.annotation.annotation) if param.annotation is not None else ""
    if _TENSOR.fullmatch(annotated):
        return (
            "optional"
            if "None" in annotated or annotated.startswith("Optional") or _may_be_none(scene, param)
            else "tensor"
        )
    if annotated in _PLAIN:
        return ""
    found = {one for name in read for one in members(scene.value(name))}
    if values.are_on_device(found):
        return "optional" if _may_be_none(scene, param) else "tensor"
    kinds = {type(one) for one in found}
    plain = (
        bool(kinds) and kinds <= {Host, Const} and not any(type(one) is Host and one.type in _PLACES for one in found)
    )
    return "" if plain and param.name.value != "device" else None


def _is_whole(scene: FunctionSource, function: cst.FunctionDef, param: cst.Param) -> str:
    """Return "surely" for an input that is known to hold whole numbers or truths, "likely" where it is taken for truths, else ""."""
    if param.annotation is not None and _WHOLE(scene.code(param.annotation.annotation)):
        return "surely"
    read = uses(scene, function.body, param.name.value)
    dtypes = {one.dtype for name in read for one in members(scene.value(name)) if type(one) is Tensor}
    if dtypes and dtypes <= {"b", "i"}:
        return "surely"
    return "likely" if dtypes <= {""} and any(_is_asked(scene, name) for name in read) else ""


def _is_asked(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether truths are made of a tensor or of a row of it: `x.bool()`, `x[i] == 1`."""
    holder = scene.parent(node)
    if isinstance(holder, cst.Subscript) and holder.value is node:
        return _is_asked(scene, holder)
    if isinstance(holder, cst.Attribute):
        return holder.attr.value == "bool" and isinstance(scene.parent(holder), cst.Call)
    if not isinstance(holder, cst.Comparison) or len(holder.comparisons) != 1:
        return False
    (asked,) = holder.comparisons
    return isinstance(asked.operator, (cst.Equal, cst.NotEqual)) and isinstance(asked.comparator, cst.Integer)


def _may_be_none(scene: FunctionSource, param: cst.Param) -> bool:
    return param.default is not None and scene.code(param.default) == "None"


def _needs_host(scene: FunctionSource, function: cst.FunctionDef) -> bool:
    """Return whether numbers that are read in each turn of a loop steer a loop in it, and more is read there."""
    inner = [one for one in scene.descend(function.body, cst.For) if _reads(scene, one.iter)]
    outer = {scene.nearest(scene.parent(one), cst.For, cst.FunctionDef) for one in inner}
    return any(isinstance(one, cst.For) and len(list(_all_reads(scene, one))) >= _LEAST_READS for one in outer)


def _is_sized(scene: FunctionSource, function: cst.FunctionDef, inputs: tuple[_Input, ...]) -> bool:
    """Return whether each input gives the sizes of several things that are made: `repeat_interleave(x, counts)`, `arange(counts.sum())`.

    What is large is data that is repeated or picked, and gives no sizes.
    """
    sizes = [size for call in scene.descend(function.body, cst.Call) for size in _value_sizes(scene, call)]
    if len(sizes) < _LEAST_READS or any(scene.descend(function.body, cst.For, cst.While)):
        return False
    names = {name for size in sizes for name in reads(scene, size)}
    made = [(binds(scene, one), reads(scene, one.value)) for one in scene.descend(function.body, cst.Assign)]
    while more := {name for bound, read in made if bound & names for name in read} - names:
        names |= more
    return all(one.name in names for one in inputs)


def _value_sizes(scene: FunctionSource, call: cst.Call) -> Iterator[cst.BaseExpression]:
    """Yield the tensors whose values decide the size of what a call makes."""
    name = operation(scene, call)
    if name == "repeat_interleave":
        named = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
        given = [*arguments_of(scene, call)[1:2], *(named[one] for one in ("repeats",) if one in named)]
        yield from (one for one in given if "output_size" not in named and _on_device(scene.value(one)))
    elif name in MAKERS:
        yield from (one for one in arguments_of(scene, call) if _on_device(scene.value(one)))


def _all_reads(scene: FunctionSource, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield what reads values in a node, or has a shape that depends on them."""
    for call in scene.descend(node, cst.Call):
        if operation(scene, call) in READS | {"tolist", "item"}:
            yield call
    for part in scene.descend(node, cst.Index):
        if any(type(one) is Tensor and one.dtype == "b" and not one.place for one in members(scene.value(part.value))):
            yield part


def _reads(scene: FunctionSource, node: cst.BaseExpression) -> bool:
    """Return whether an iterable is made of numbers that were read from a tensor."""
    calls = (call for call in scene.descend(node, cst.Call) if isinstance(call.func, cst.Attribute))
    return any(
        call.func.attr.value == "tolist" and _on_device(scene.value(call.func.value))
        for call in calls
        if isinstance(call.func, cst.Attribute)
    )


def _on_device(value: Value) -> bool:
    return any(type(one) is Tensor and one.framework == "torch" and not one.place for one in members(value))


def _find_first(
    scene: FunctionSource, function: cst.FunctionDef, inputs: tuple[_Input, ...]
) -> cst.BaseStatement | None:
    """The first statement of a function that reads one of its inputs."""
    for line in function.body.body:
        if any(uses(scene, line, one.name) for one in inputs):
            return line if isinstance(line, cst.BaseStatement) else None
    return None


def _is_bound_before(
    scene: FunctionSource, function: cst.FunctionDef, inputs: tuple[_Input, ...], first: cst.BaseStatement
) -> bool:
    """Return whether an input is bound anew in front of a statement."""
    start = scene.span(first)[0]
    return any(scene.span(one)[0] < start for each in inputs for one in bindings(scene, function.body, each.name))


class _Region:
    """The statements of a function from one on: what is computed on the host."""

    def __init__(self, scene: FunctionSource, function: cst.FunctionDef, start: int) -> None:
        self._scene = scene
        self._function = function
        self.statements = [line for line in function.body.body if scene.span(line)[0] >= start]

    def holds_earlier_tensors(self) -> bool:
        """Return whether a tensor, or a device, is made in front of the statements and read in them."""
        scene, start = self._scene, self._scene.span(self.statements[0])[0]
        for name in {one for line in self.statements for one in reads(scene, line)}:
            for bound in bindings(scene, self._function.body, name):
                kept = members(scene.value(bound)) if scene.span(bound)[0] < start else ()
                if any(type(one) is Tensor or (type(one) is Host and one.type in _PLACES) for one in kept):
                    return True
        return False

    def find_returned(self) -> tuple[cst.BaseExpression, ...] | None:
        """The tensors that are returned; None where it is not known of all that is returned what it is."""
        found: list[cst.BaseExpression] = []
        for line in self.statements:
            for one in self._scene.descend(line, cst.Return):
                if self._scene.function(one) is not self._function or one.value is None:
                    continue
                parts = (
                    [element.value for element in one.value.elements]
                    if isinstance(one.value, cst.Tuple)
                    else [one.value]
                )
                for part in parts:
                    value = self._scene.value(part)
                    if values.is_tensor(value, "torch"):
                        found.append(part)
                    elif not values.is_number(value) and not values.is_none(value):
                        return None
        return tuple(found) if found else None


def _rewrite(site: Site, island: _Island) -> Rewrite:
    scene = site.scene
    device = _name_device(scene)
    indent = scene.indent(island.first)
    kinds = {one.name: _is_whole(scene, island.function, one.param) for one in island.inputs}
    whole = [one for one in island.inputs if kinds[one.name]]
    torch = Imports(scene, site.node).find_name("torch")
    together = whole if len(whole) > 1 and torch is not None else []
    lines = [f"{device} = {island.inputs[0].name}.device"]
    edits: list[Replacement] = []
    if together and torch is not None:
        line, edits = _copy_together(scene, [one.name for one in together], torch, indent)
        lines.append(line)
    for one in island.inputs:
        name, copied = one.name, f"{one.name}.cpu()"
        if one not in together:
            lines.append(f"{name} = {copied} if {name} is not None else None" if one.optional else f"{name} = {copied}")
    start = scene.span(island.first)[0]
    front = Replacement(start, start, "".join(f"{line}\n{indent}" for line in lines))
    back = [_back(scene, part, device) for part in island.returned]
    names = ", ".join(f"`{one.name}`" for one in island.inputs)
    assumed = [f"{names} lie on one device, and what is returned is wanted there"]
    assumed += [f"`{one.name}` holds whole numbers" for one in together if kinds[one.name] == "likely"]
    assumed.append("nothing else that the function reads is a tensor")
    assumed.append("nobody writes into a tensor that is both given and returned")
    return Rewrite("Copy the inputs once, and compute on the host", (*edits, front, *back), all_of(assumed))


def _copy_together(scene: FunctionSource, names: list[str], torch: str, indent: str) -> tuple[str, list[Replacement]]:
    """The line that copies several inputs at once, and what brings the function that it calls into the file."""
    copy, edits = share(scene, "copy_to_host", _COPY_TOGETHER.format(torch=torch))
    bound = f"{', '.join(names)} = "
    called = write_call(copy, names, len(indent) + len(bound), indent, width=width_of(scene))
    return f"{bound}{called}", edits


def _name_device(scene: FunctionSource) -> str:
    """A name for the inputs' device; names of attributes and arguments do not count."""
    if "device" in reads(scene, scene.root) | binds(scene, scene.root) or any(
        one.name.value == "device" for one in scene.descend(scene.root, cst.Param)
    ):
        return scene.fresh("original_device")
    scene.introduced.add("device")
    return "device"


def _back(scene: FunctionSource, node: cst.BaseExpression, device: str) -> Replacement:
    start, end = scene.whole(node)
    return Replacement(start, end, f"{atom(scene, node)}.to({device})")
