"""Follow gradients into expressions, as the source of its function has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.values import LibrarySymbol, Method
from xlalint.frameworks.checks.data_lengths import source_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame

# Last names of functions through which no gradient flows (measured with JAX 0.10.2).
_STOPS = frozenset(
    ("stop_gradient", "round", "rint", "floor", "ceil", "sign", "argmax", "argmin", "argsort", "isnan", "isfinite")
)
_STEPS = 6


def may_flow(frame: Frame, node: ir.Node | None, steps: int = _STEPS) -> bool:
    """Return False for what is made of constants, shapes and comparisons alone, or behind `stop_gradient`."""
    if node is None:
        return True
    if isinstance(node, (ir.Const, ir.Compare, ir.Not)):
        return False
    if not steps:
        return True
    if isinstance(node, ir.Name):
        source = source_of(frame, node)
        return source is None or may_flow(frame, source, steps - 1)
    if isinstance(node, ir.Attr):
        return node.name not in ("shape", "dtype", "size", "ndim") and may_flow(frame, node.value, steps - 1)
    if isinstance(node, ir.Call):
        return _through_call(frame, node, steps)
    if isinstance(node, ir.Display):
        return any(may_flow(frame, item, steps - 1) for item in node.items)
    if isinstance(node, ir.Bin):
        return may_flow(frame, node.left, steps - 1) or may_flow(frame, node.right, steps - 1)
    return True


def _through_call(frame: Frame, node: ir.Call, steps: int) -> bool:
    given = [*node.args, *(value for _, value in node.keywords)]
    func = frame.eval(node.func) if isinstance(node.func, (ir.Name, ir.Attr)) else None
    if isinstance(func, LibrarySymbol):
        stops = func.name.rpartition(".")[2] in _STOPS
        return not stops and any(may_flow(frame, one, steps - 1) for one in given)
    if isinstance(func, Method) and isinstance(node.func, ir.Attr):
        return any(may_flow(frame, one, steps - 1) for one in (node.func.value, *given))
    return True
