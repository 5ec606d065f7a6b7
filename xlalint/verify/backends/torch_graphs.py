"""PyTorch's programs numbered: one FX graph of ATen's operations, of the call and its gradients, for tensors of given shapes and dtypes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import make_fx

from xlalint.verify.backends import Program, torch_capture, torch_values, values
from xlalint.verify.content import take_apart
from xlalint.verify.held import held_by
from xlalint.verify.inputs.containers import nest
from xlalint.verify.numbering import CannotTraceError, Key, Numbering, Traced, parameter, plain

_aten = torch.ops.aten
_SAME = frozenset((_aten.detach, _aten.alias))
_COPIES = frozenset((_aten.clone, _aten.lift_fresh, _aten.lift_fresh_copy))
_VIEWS = frozenset((_aten.unsqueeze, _aten.squeeze, _aten.view, _aten._unsafe_view))
_COMMUTATIVE = frozenset((_aten.add.Tensor, _aten.mul.Tensor, _aten.eq.Tensor, _aten.ne.Tensor))
_TURNED = {_aten.gt.Tensor: _aten.lt.Tensor, _aten.ge.Tensor: _aten.le.Tensor}
_OF_VALUES = (torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape)


def trace(program: Program, given: Mapping[str, Any], numbering: Numbering) -> Traced:
    """Trace a program with tensors that have no values.

    Raises: CannotTraceError; whatever the program raises when it is traced.
    """
    call, build = torch_capture.make_callable(program), program.builder()
    torch_values.seed_cpu(1)
    whole = torch_capture.on_cpu(given, differentiable=True)
    names = [name for name, one in whole.items() if isinstance(one, torch.Tensor)]
    module = torch_values.module_of(call)
    parameters = [one for one in module.parameters() if one.requires_grad] if module is not None else []
    told: list[Key] = []
    shapes: list[Key] = []

    def run(tensors: Sequence[Any]) -> list[Any]:
        arguments = {**whole, **dict(zip(names, tensors, strict=True))}
        wanted = [one for one in tensors if one.requires_grad]
        own = nest({n: one.clone() if _has_gradient(one) else one for n, one in arguments.items()}, build)
        positional, named = values.order(own)
        outputs = take_apart(call(*positional, **named), torch_values.KINDS)
        if outputs.opaque:
            raise CannotTraceError(f"nothing is known of {outputs.opaque[0]}")
        behind = take_apart({"held": held_by(call), "arguments": own}, torch_values.STATE_KINDS)
        left = {p: one for p, one in zip(behind.paths, behind.items, strict=True) if isinstance(one, FakeTensor)}
        others = [None if isinstance(one, torch.Tensor) else plain(one) for one in outputs.items]
        ends = {n: one for n, one in enumerate(outputs.items) if _has_gradient(one)}
        told[:] = [outputs.parts, outputs.paths, tuple(others), tuple(left), tuple(ends)]
        results = [*(one for one in outputs.items if isinstance(one, torch.Tensor)), *left.values()]
        shapes[:] = [(tuple(one.shape), str(one.dtype), str(one.layout)) for one in results]
        return [*results, *torch_values.gradients(ends, [*wanted, *parameters])]

    held = take_apart(held_by(call), torch_values.STATE_KINDS)
    paths = {one.data_ptr(): p for p, one in zip(held.paths, held.items, strict=True) if isinstance(one, torch.Tensor)}
    with torch_capture.capturing():
        made = make_fx(run, tracing_mode="fake", _allow_non_fake_inputs=True)([whole[name] for name in names])
    found = _Numbered(made, paths, numbering)
    described = tuple((n, "tensor" if n in names else parameter(one)) for n, one in whole.items())
    count = len(shapes)
    return Traced(
        (*told, *shapes, described, *found.written, found.results[:count]), found.results[count:], frozenset(found.made)
    )


def _has_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


class _Numbered:
    """The numbers of a graph's results and gradients, of all that it computes, and, in order, of what it writes in place.

    Where it does, memory counts: operations are the same only between the same two writes, and two that are alike give two memories.
    """

    def __init__(self, made: Any, paths: Mapping[int, str], numbering: Numbering) -> None:
        self._made, self._paths, self._numbering = made, paths, numbering
        self._numbers: dict[Any, int] = {}
        self.made: set[int] = set()
        self.results: tuple[Key, ...] = ()
        nodes = list(made.graph.nodes)
        self.written: list[int] = []
        self._memory: dict[Key, int] = {}
        self._writes = any(_schema_of(node).is_mutable for node in nodes if _schema_of(node) is not None)
        self._random = given = 0
        for node in nodes:
            if node.op == "placeholder":
                self._numbers[node] = numbering.of("given", given)
                given += 1
            elif node.op == "get_attr":
                self._numbers[node] = self._constant(getattr(made, node.target))
            elif node.op == "output":
                self.results = tuple(self._key(one) for one in node.args[0])
            else:
                self._numbers[node] = self._operation(node)

    def _constant(self, value: Any) -> int:
        if not isinstance(value, torch.Tensor) or isinstance(value, FakeTensor):
            raise CannotTraceError("it holds what is no tensor")
        path = self._paths.get(value.data_ptr()) if value.numel() else None
        kind, array = torch_values.leaves([value])[0]
        return self._numbering.of("held", path) if path is not None else self._numbering.of(kind, parameter(array))

    def _operation(self, node: Any) -> int:
        target, tags = node.target, getattr(node.target, "tags", ())
        if any(tag in tags for tag in _OF_VALUES):
            raise CannotTraceError(f"{target} depends on values")
        operands, named = _plain_dimensions(node), node.kwargs
        packet = getattr(target, "overloadpacket", None)
        if packet in _SAME or (packet in _COPIES and not self._writes) or _is_whole(node):
            return self._numbers[operands[0]]
        if packet in _VIEWS:
            target, operands = "view", [operands[0], tuple(node.meta["val"].shape)]
        tensors = len(operands) == 2 and all(isinstance(one, torch.fx.Node) for one in operands)
        if target in _TURNED and tensors:
            target, operands = _TURNED[target], operands[::-1]
        numbers = [self._key(one) for one in operands]
        if target in _COMMUTATIVE and tensors and not named:
            numbers.sort(key=repr)
        extra: list[Key] = []
        if torch.Tag.nondeterministic_seeded in tags:
            self._random += 1
            extra.append(f"random {self._random}")
        key: Key = (str(target), *numbers, self._key(dict(named)), *extra)
        if self._writes:
            key = (key, len(self.written))
            self._memory[key] = self._memory.get(key, 0) + 1
            key = (key, self._memory[key])
        made = self._numbering.of(key)
        self.made.add(made)
        if (schema := _schema_of(node)) is not None and schema.is_mutable:
            self.written.append(made)
        return made

    def _key(self, value: Any) -> Key:
        if isinstance(value, torch.fx.Node):
            return self._numbers[value]
        if isinstance(value, (list, tuple)):
            return tuple(map(self._key, value))
        if isinstance(value, dict):
            return tuple((name, self._key(one)) for name, one in sorted(value.items()))
        return parameter(value)


def _schema_of(node: Any) -> Any:
    return getattr(node.target, "_schema", None) if node.op == "call_function" else None


def _is_whole(node: Any) -> bool:
    """Return whether a slice is of all elements."""
    if node.target is not _aten.slice.Tensor:
        return False
    val, given = node.meta["val"], node.args[0].meta["val"]
    step = node.args[4] if len(node.args) > 4 else 1
    return bool(step == 1 and val.shape == given.shape)


def _plain_dimensions(node: Any) -> list[Any]:
    """The operands of an operation, dimensions counted from the front."""
    operands, schema = list(node.args), _schema_of(node)
    first = operands[0].meta.get("val") if operands and isinstance(operands[0], torch.fx.Node) else None
    if schema is None or not isinstance(first, torch.Tensor) or getattr(node.target, "overloadpacket", None) in _VIEWS:
        return operands
    for position, argument in enumerate(schema.arguments[: len(operands)]):
        if argument.name in ("dim", "dims"):
            operands[position] = _from_front(operands[position], first.dim())
    return operands


def _from_front(dimension: Any, rank: int) -> Any:
    if isinstance(dimension, (list, tuple)):
        return [_from_front(one, rank) for one in dimension]
    return dimension + rank if isinstance(dimension, int) and dimension < 0 else dimension
