"""Tracers that a jitted function keeps: what reads them after the tracing raises `UnexpectedTracerError` (JAX 0.10.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.values import Tensor, Value
from xlalint.interpreter.spelling import path_of, position
from xlalint.interpreter.traced_arguments import static_places
from xlalint.lowering import ir
from xlalint.rules.codes import TRACE_TIME_EFFECT
from xlalint.rules.variants import LEAK

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame

_FRAMEWORK = "jax"


def check_kept(frame: Frame, node: ir.Assign, value: Value) -> None:
    """Report a tracer that becomes an attribute of a static `self`, or a global, in a function that is jitted by a decorator."""
    for target in node.targets:
        _check(frame, target, value)


def check_added(frame: Frame, target: ir.Node, _old: Value, added: Value) -> None:
    """Report what grows by a tracer, and was a number or an array of the host before: `self.total += x.sum()`."""
    _check(frame, target, added)


def _check(frame: Frame, target: ir.Node, value: Value) -> None:
    if isinstance(value, Tensor) and value.framework == _FRAMEWORK and not value.static and _outlives(frame, target):
        frame.report(TRACE_TIME_EFFECT, position(target), value, target, variant=LEAK)


def _outlives(frame: Frame, target: ir.Node) -> bool:
    """Return whether what is assigned to stays when the tracing is over."""
    info = frame.function
    if info is None or not info.ir.decorators:
        return False
    given = [one for one in frame.interpreter.handed.of(info) if one is not None and one.tracer.framework == _FRAMEWORK]
    if not given:
        return False
    if isinstance(target, ir.Name):
        return info.ir.outer < 0 and target.id in frame.scope.outer_names
    own = isinstance(target, ir.Attr) and path_of(target.value) == frame.scope.receiver_name != ""
    return own and any(0 in static_places(info, one.static) for one in given)
