"""Say what torch.compile makes of a tensor where a function takes a number: a size, an axis, a bound.

Of an argument of the graph Dynamo knows the number, where it is a whole one. At one that the graph computes it ends the graph; told to
make one graph of all, it takes some into the graph and raises at the others. The tables name both (`graph_arguments`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from xlalint.abstract.values import Tensor, members
from xlalint.api_tables.cases import holds
from xlalint.frameworks.torch.draws import is_compiled
from xlalint.interpreter.subscripts import is_computed
from xlalint.rules.codes import SCALAR_TENSOR_INDEX, VALUE_SIZED_SHAPE
from xlalint.rules.variants import COMPUTED, REFUSED

if TYPE_CHECKING:
    from xlalint.abstract.values import Value
    from xlalint.api_tables.entries import Spec
    from xlalint.interpreter.library_calls import LibraryCall
    from xlalint.lowering import ir

_TARGET: Final = "torch_compile"
_OFF: Final = (_TARGET, "off")


def of_argument(call: LibraryCall, spec: Spec, node: ir.Node) -> Spec:
    """Return a case as it is for the expression that is passed for a number."""
    reads = [case for case in call.entry.reads if case.when.tensor == spec.when.tensor]
    if not reads or not is_compiled(call.frame):
        return spec
    others = tuple([said for said in spec.severity if said[0] != _TARGET])
    if not (reads[0].variant or is_computed(call.frame, node) or _is_fraction(call.frame.eval(node))):
        return msgspec.structs.replace(spec, severity=(*others, _OFF))
    if spec.rule == SCALAR_TENSOR_INDEX:
        return msgspec.structs.replace(spec, variant=COMPUTED)
    if spec.rule != VALUE_SIZED_SHAPE:
        return msgspec.structs.replace(spec, severity=(*others, (_TARGET, "warning")))
    raises = any(holds(case.when, call, call.frame.module.taught.targets) for case in reads)
    return msgspec.structs.replace(spec, variant=REFUSED) if raises else spec


def _is_fraction(value: Value) -> bool:
    return any(type(member) is Tensor and member.dtype == "f" for member in members(value))
