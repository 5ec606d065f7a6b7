"""Numbers that the host draws at random within what `torch.compile` traces.

Dynamo takes such a number for a value of the graph: to take a branch by it, it must end the graph there. NumPy's are arrays to it, as
tensors are, and a call that gives a number reads it. Measured with torch 2.14.1; 2.9.1 breaks at the drawing itself in most cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.interpreter.spelling import spelling
from xlalint.rules.codes import ITEM, TENSOR_ASSERT
from xlalint.rules.variants import DRAWN

if TYPE_CHECKING:
    from xlalint.abstract.values import Value
    from xlalint.api_tables.entries import Spec
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.library_calls import LibraryCall
    from xlalint.lowering import ir

_TARGET: Final = "torch_compile"
_FRAMEWORK: Final = "torch"
_FROZEN: Final = "XLA306"  # what other tracers draw once


def check_test(frame: Frame, node: ir.Node, rule: str, at: int) -> None:
    """Report Python's test of a number that was drawn: a break of the graph. An assertion is made one of the graph."""
    if rule != TENSOR_ASSERT and _is_compiled(frame):
        frame.note(rule, at, _FRAMEWORK, spelling(node), variant=DRAWN)


def check_draw(call: LibraryCall, spec: Spec, _result: Value) -> None:
    """Report a draw of NumPy's."""
    if spec.rule == _FROZEN and call.entry.framework == "numpy" and _is_compiled(call.frame):
        call.frame.note(ITEM, call.node.at, _FRAMEWORK, spelling(call.node), variant=DRAWN)


def _is_compiled(frame: Frame) -> bool:
    """Return whether the code is judged for `torch.compile`."""
    return (
        _TARGET in frame.module.taught.targets and frame.interpreter.annotations.framework(frame.module) == _FRAMEWORK
    )
