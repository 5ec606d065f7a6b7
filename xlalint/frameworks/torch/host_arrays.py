"""Arrays of NumPy's within what `torch.compile` traces.

Dynamo makes them tensors of its graph, constants too, and what NumPy's functions give for Python's numbers: to read one it ends the graph.
Sizes, `len`, elements and arithmetic stay in the graph. So does a number that an elementwise function gave (`int(np.ceil(n / 2))`).
Measured with torch 2.14.1 and 2.9.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import ARRAYS, Tensor, members
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.torch.draws import is_compiled
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.spelling import spelling
from xlalint.lowering import ir
from xlalint.rules.codes import ITEM, NONZERO, UNIQUE
from xlalint.rules.policy import OF_TRUTH
from xlalint.rules.variants import ASSERT, HOST_ARRAY

if TYPE_CHECKING:
    from xlalint.abstract.values import Value
    from xlalint.api_tables.entries import Spec
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.library_calls import LibraryCall

_FRAMEWORK: Final = "torch"
_READS: Final = frozenset(("item", "tolist"))
# Functions whose result has a size that depends on values.
_SIZED: Final = {
    "argwhere": NONZERO,
    "flatnonzero": NONZERO,
    "nonzero": NONZERO,
    "unique": UNIQUE,
}


def check_read(frame: Frame, rule: str, at: int, value: Value, node: ir.Node | None, variant: str) -> None:
    """Report where Python asks an array for its truth, or a number of it: a break of the graph."""
    if node is None or not is_compiled(frame) or not _is_array(value):
        return
    if (rule in OF_TRUTH and variant != ASSERT) or (rule == ITEM and (_has_elements(value) or _is_copied(node))):
        frame.note(rule, at, _FRAMEWORK, spelling(node), variant=HOST_ARRAY)


def check_call(call: LibraryCall, _spec: Spec, _result: Value) -> None:
    """Report calls that read an array, or whose result is as large as its values say."""
    if call.entry.framework != ARRAYS or not is_compiled(call.frame):
        return
    name, node = last_name(call.node.func), call.node
    if call.receiver is not None and name in _READS:
        held = node.func.value if type(node.func) is ir.Attr else node.func
        known = name == "tolist" or _has_elements(call.receiver) or _is_copied(held)
        if known and _is_array(call.receiver):
            call.frame.note(ITEM, node.at, _FRAMEWORK, spelling(node), variant=HOST_ARRAY)
    elif name in _SIZED or (name == "where" and len(node.args) == 1 and not node.keywords):
        surely = _sureness(call)
        if surely is not None:
            rule = _SIZED.get(name, NONZERO)
            call.frame.note(rule, node.at, _FRAMEWORK, spelling(node), variant=HOST_ARRAY, confidence=surely)


def _sureness(call: LibraryCall) -> Confidence | None:
    """Return how surely a call is given an array; None where nothing says so. NumPy's functions make one of a tensor as well."""
    if call.receiver is not None:
        return Confidence.CERTAIN if _is_array(call.receiver) else None
    given = call.args[0] if call.args else call.first()
    if given is None or not any(type(one) is Tensor and one.framework == ARRAYS for one in members(given)):
        return None
    return Confidence.CERTAIN if _is_array(given) else Confidence.LIKELY


def _is_array(value: Value) -> bool:
    """Return whether a value is surely an array of NumPy's."""
    return all(type(one) is Tensor and one.framework == ARRAYS for one in members(value))


def _is_copied(node: ir.Node) -> bool:
    """Return whether an array is a tensor's, and not what a function gave for a number: `x.sum().numpy()`."""
    return type(node) is ir.Call and type(node.func) is ir.Attr and node.func.name == "numpy"


def _has_elements(value: Value) -> bool:
    """Return whether arrays are known not to be what an elementwise function gave for a number."""
    return all(type(one) is Tensor and (one.rank > 0 or one.dtype in ("i", "b")) for one in members(value))
