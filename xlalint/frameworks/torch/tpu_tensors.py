"""Find out whether a tensor is surely on the device "tpu", by how the code beside it makes it.

Surely on it is what is moved there, or made there, by a device that is written out; what a module that was moved there returns or holds;
and what is computed of such a tensor. A name is one of such a tensor if all that its function, or else what is around it, binds to it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.frameworks.torch.named_device import TPU, is_kind
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.loop_names import names_bound
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from collections.abc import Callable

    from xlalint.interpreter.frame import Frame
    from xlalint.program.linker import FunctionInfo, ModuleInfo

_STEPS: Final = 8  # calls, attributes and names along which a value is followed
_DEVICE: Final = "device"
_TORCH: Final = "torch"
_MOVING: Final = frozenset(("cpu", "cuda", "to", "type", "type_as", "xpu"))
_ELSEWHERE: Final = ir.Const(None)  # what is bound otherwise than by an assignment is not followed

Bound = dict[str, tuple[ir.Node, ...]]  # what a body binds, by its names


def is_on_tpu(frame: Frame, node: ir.Node) -> bool:
    """Return whether a tensor, or a module, is surely on the TPU."""
    scopes: list[Bound] = [frame.module.answers(_bound_by_module)]
    if frame.function is not None:
        around = (frame.function, *frame.function.enclosing())
        scopes[:0] = [info.answers(_bound_by_function) for info in around]
    return _Origins(scopes).is_on_tpu(node, _STEPS)


class _Origins:
    """Follows what names stand for, by the scopes that they are looked up in."""

    def __init__(self, scopes: list[Bound]) -> None:
        self._scopes = scopes

    def is_on_tpu(self, node: ir.Node, steps: int) -> bool:
        """Return whether a value is surely on the TPU, as far as a few steps show it."""
        if not steps:
            return False
        if type(node) is ir.Name:
            return self._all(node.id, lambda value: self.is_on_tpu(value, steps - 1))
        if isinstance(node, (ir.Attr, ir.Sub, ir.Unary)):
            return self.is_on_tpu(node.value, steps - 1)
        if type(node) is ir.Bin:
            return self.is_on_tpu(node.left, steps - 1) or self.is_on_tpu(node.right, steps - 1)
        return type(node) is ir.Call and self._is_made_there(node, steps - 1)

    def _is_made_there(self, node: ir.Call, steps: int) -> bool:
        given = dict(node.keywords)
        if _DEVICE in given:
            return self._is_device(given[_DEVICE], steps)
        if type(node.func) is not ir.Attr:
            return self.is_on_tpu(node.func, steps)
        if node.func.name in _MOVING:
            return node.func.name == "to" and bool(node.args) and self._is_device(node.args[0], steps)
        if node.func.name == TPU and not node.args:
            return True
        if path_of(node.func.value) == _TORCH:
            return any(self._is_part_on_tpu(one, steps) for one in node.args)
        return self.is_on_tpu(node.func.value, steps)

    def _is_part_on_tpu(self, node: ir.Node, steps: int) -> bool:
        """Return whether what a function computes with is on the TPU, or holds what is: `torch.stack([x, y])`."""
        parts = node.items if type(node) is ir.Display else (node,)
        return any(self.is_on_tpu(one, steps) for one in parts)

    def _is_device(self, node: ir.Node, steps: int) -> bool:
        if not steps:
            return False
        if type(node) is ir.Name:
            return self._all(node.id, lambda value: self._is_device(value, steps - 1))
        if type(node) is ir.Call and last_name(node.func) == _DEVICE and node.args:
            return self._is_device(node.args[0], steps - 1)
        return is_kind(node, TPU)

    def _all(self, name: str, holds: Callable[[ir.Node], bool]) -> bool:
        """Return whether something holds of all that is bound to a name, where it is looked up first."""
        found = next((scope[name] for scope in self._scopes if name in scope), ())
        return bool(found) and all(value is not _ELSEWHERE and holds(value) for value in found)


def _bound_by_module(module: ModuleInfo) -> Bound:
    return _find_bound(module.body, ())


def _bound_by_function(info: FunctionInfo) -> Bound:
    return _find_bound(info.body, tuple(param.name for param in info.ir.params))


def _find_bound(body: tuple[ir.Statement, ...], parameters: tuple[str, ...]) -> Bound:
    """Find what a body binds to its names. A module that is moved where it stands (`model.cpu()`) is bound anew."""
    found: dict[str, list[ir.Node]] = {name: [_ELSEWHERE] for name in parameters}
    for one in ir.walk(body):
        for name, value in _bindings(one):
            found.setdefault(name, []).append(value)
    return {name: tuple(values) for name, values in found.items()}


def _bindings(one: object) -> list[tuple[str, ir.Node]]:
    if isinstance(one, (ir.Assign, ir.AnnAssign)):
        targets = one.targets if type(one) is ir.Assign else (one.target,)
        return [
            (name, one.value if type(target) is ir.Name and one.value is not None else _ELSEWHERE)
            for target in targets
            for name in names_bound(target)
        ]
    if type(one) is ir.Walrus:
        return [(one.name, one.value)]
    if type(one) is ir.For:
        return [(name, _ELSEWHERE) for name in names_bound(one.target)]
    if type(one) is ir.With:
        return [(name, _ELSEWHERE) for _, target in one.items if target is not None for name in names_bound(target)]
    moved = one.value if type(one) is ir.Eval else None
    if type(moved) is ir.Call and type(moved.func) is ir.Attr and moved.func.name in _MOVING:
        return [(path_of(moved.func.value).partition(".")[0], moved)]
    return []
