"""Numbers that the host draws at random within what `torch.compile` traces.

Dynamo takes such a number for a value of the graph: to take a branch by it, it must end the graph there. NumPy's are arrays to it, as
tensors are: an array becomes a part of the graph, and a call that gives a number reads it. Of NumPy's functions it knows some, and ends the
graph at the others. Measured with torch 2.14.1 and 2.9.1, which breaks at the drawing itself in most cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import NONE, field, members
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.spelling import spelling
from xlalint.rules.codes import ITEM, RANDOM_STATE, TENSOR_ASSERT
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
# The functions of `numpy.random` that Dynamo puts into a graph, where they give an array: by the place of its size among the arguments.
_CAPTURED: Final = {"rand": 0, "randn": 0, "random": 0, "random_sample": 0, "randint": 2, "normal": 2, "uniform": 2}
_SHUFFLE: Final = "shuffle"


def check_test(frame: Frame, node: ir.Node, rule: str, at: int) -> None:
    """Report Python's test of a number that was drawn: a break of the graph. An assertion is made one of the graph."""
    if rule != TENSOR_ASSERT and is_compiled(frame):
        frame.note(rule, at, _FRAMEWORK, spelling(node), variant=DRAWN)


def check_draw(call: LibraryCall, spec: Spec, _result: Value) -> None:
    """Report a draw of NumPy's at which the graph ends."""
    if spec.rule == _FROZEN and call.entry.framework == "numpy" and is_compiled(call.frame):
        if _is_captured(call) or _ends_graph(call):
            return
        call.frame.note(ITEM, call.node.at, _FRAMEWORK, spelling(call.node), variant=DRAWN)


def _ends_graph(call: LibraryCall) -> bool:
    """Return whether the call was said to end the graph, whatever becomes of what it gives."""
    return (RANDOM_STATE, call.node.at + call.frame.base) in call.frame.context.sightings


def _is_captured(call: LibraryCall) -> bool:
    """Return whether a draw becomes a part of the graph: of an array, or in place."""
    name = last_name(call.node.func)
    if call.owner is not None or call.receiver is not None:
        return False
    if name not in _CAPTURED:
        return name == _SHUFFLE
    place = _CAPTURED[name]
    size = call.args[place] if len(call.args) > place else field(call.keywords, "size")
    return call.starred if size is None else NONE not in members(size)


def is_compiled(frame: Frame) -> bool:
    """Return whether the code is judged for `torch.compile`."""
    return (
        _TARGET in frame.module.taught.targets and frame.interpreter.annotations.framework(frame.module) == _FRAMEWORK
    )
