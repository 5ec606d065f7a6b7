"""XLA606: attention that TorchTPU computes without its flash kernel (torch_tpu 0.2.0).

The kernel takes heads of up to 128 elements or of a multiple of 128, float32 and bfloat16, and a mask of which no gradient is wanted; else
all scores are kept, of each query with each key. `nn.MultiheadAttention` never asks for it where it is to give its weights, as it does by
default. Measured with torch 2.14.1: what is asked for the kernel is in the compiled program, and what misses it warns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import Const, Value
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.checks.call_site import CallSite, asks_about, report
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.guards import assigned_once, attribute_assigned
from xlalint.interpreter.spelling import path_of, spelling
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.api_tables.entries import Spec
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.library_calls import LibraryCall
    from xlalint.program.linker import FunctionInfo

_TPU: Final = "torch_tpu"
_FUNCTION: Final = "torch.nn.functional.scaled_dot_product_attention"
_LANES: Final = 128  # elements of a register's row
_DIMENSIONS: Final = 4  # of queries: batch, heads, length, elements
_STEPS: Final = 8  # names, calls and attributes along which a value is followed
_WEIGHTS: Final = "need_weights"
_SHAPING: Final = frozenset(("view", "reshape", "unflatten"))
# What leaves the last dimension where it is.
_KEEPING: Final = frozenset(("contiguous", "to", "float", "bfloat16", "clone"))
_PARAMETERS: Final = frozenset(("Parameter",))
_LAYERS: Final = frozenset(("Embedding", "Linear", "Sequential"))
_CUT: Final = frozenset(("detach", "data", "shape", "size"))
_UNUSED: Final = "it gives its weights, which nothing uses here"
_TAUGHT: Final = "its mask is learned, and the kernel takes none of which a gradient is wanted"


@asks_about(
    "torch",
    "torch.nn.MultiheadAttention",
    "torch.nn.Transformer",
    "torch.nn.TransformerEncoderLayer",
    "torch.nn.TransformerDecoderLayer",
)
def check_layer(call: CallSite) -> None:
    """Report a layer whose heads the kernel does not take: `nn.TransformerEncoderLayer(320, 2)`."""
    whole = _first_of(call, "embed_dim", "d_model")
    heads = _first_of(call, "num_heads", "nhead", index=1)
    if whole is not None and heads and whole % heads == 0:
        _report_heads(call.frame, call.spelled, whole // heads, call.node.at)


def _first_of(call: CallSite, *keywords: str, index: int = 0) -> int | None:
    found = next((value for one in keywords if (value := call.constant(one, index)) is not None), None)
    return found if type(found) is int else None


def check_call(call: LibraryCall, _spec: Spec, _result: Value) -> None:
    """Look at what attention is called with, and at what is done with its weights."""
    function = call.frame.function
    if function is None or _TPU not in call.frame.module.taught.targets:
        return
    if call.name == _FUNCTION:
        _check_heads(call)
        _check_mask(call, function)
    elif _WEIGHTS in call.entry.params:
        _check_weights(call, function)


def _check_weights(call: LibraryCall, function: FunctionInfo) -> None:
    asked = call.starred or call.argument(_WEIGHTS) is not None
    if not asked and call.node.at in function.answers(_find_dropped):
        report(call.frame, "XLA606", "torch", spelling(call.node.func), _UNUSED, call.node.at)


def _check_heads(call: LibraryCall) -> None:
    node = call.node_of("query")
    size = _last_size(call.frame, node, _STEPS) if node is not None else None
    if size is not None:
        _report_heads(call.frame, spelling(call.node.func), size, call.node.at)


def _report_heads(frame: Frame, subject: str, size: int, at: int) -> None:
    if size > _LANES and size % _LANES:
        report(
            frame,
            "XLA606",
            "torch",
            subject,
            f"heads of {size} elements are more than {_LANES}, and no multiple of it",
            at,
        )


def _last_size(frame: Frame, node: ir.Node, steps: int) -> int | None:
    """Return the size of the last dimension of what is laid out by `view` and its like, None where that is not known."""
    if not steps or frame.function is None:
        return None
    if type(node) is ir.Name:
        made = assigned_once(node, frame.function.body, frame.statement)
        return _last_size(frame, made, steps - 1) if made is not node else None
    if type(node) is not ir.Call or type(node.func) is not ir.Attr:
        return None
    name = node.func.name
    if name in _SHAPING:
        return _last_of_four(frame, node)
    axes = [_number(frame, one) for one in node.args]
    last_stays = (
        name in _KEEPING or (name == "transpose" and axes == [1, 2]) or (name == "permute" and axes[-1:] == [3])
    )
    return _last_size(frame, node.func.value, steps - 1) if last_stays else None


def _last_of_four(frame: Frame, node: ir.Call) -> int | None:
    """Return the last size that a call lays out, of four; `unflatten` makes two of the last of three."""
    sizes, wanted = node.args, _DIMENSIONS
    if last_name(node.func) == "unflatten":
        sizes, wanted = node.args[1:], 2
    if len(sizes) == 1 and type(sizes[0]) is ir.Display:
        sizes = sizes[0].items
    return _number(frame, sizes[-1]) if len(sizes) == wanted else None


def _number(frame: Frame, node: ir.Node) -> int | None:
    found = frame.eval(node) if type(node) is ir.Const or path_of(node) else None
    return found.value if type(found) is Const and type(found.value) is int else None


def _check_mask(call: LibraryCall, function: FunctionInfo) -> None:
    mask = call.node_of("attn_mask")
    if mask is not None and function.owner is not None and _Method(function).is_learned(mask, _STEPS):
        report(
            call.frame, "XLA606", "torch", spelling(call.node.func), _TAUGHT, call.node.at, at_most=Confidence.LIKELY
        )


class _Method:
    """A method of a module, which knows what is computed of the module's parameters."""

    def __init__(self, function: FunctionInfo) -> None:
        self._function = function

    def is_learned(self, node: ir.Node | None, steps: int) -> bool:
        """Return whether a value is computed of a parameter, or of an embedding's, as far as a few steps show it."""
        if not steps or node is None:
            return False
        if type(node) is ir.Name:
            made = assigned_once(node, self._function.body)
            return made is not node and self.is_learned(made, steps - 1)
        if type(node) is ir.Bin:
            return self.is_learned(node.left, steps - 1) or self.is_learned(node.right, steps - 1)
        if type(node) is ir.Sub:
            return self.is_learned(node.value, steps - 1)
        if type(node) is ir.Attr:
            return node.name not in _CUT and (self._holds(node, _PARAMETERS) or self.is_learned(node.value, steps - 1))
        return type(node) is ir.Call and type(node.func) is ir.Attr and self._gives_learned(node, node.func, steps - 1)

    def _gives_learned(self, node: ir.Call, func: ir.Attr, steps: int) -> bool:
        if func.name in _CUT:
            return False
        if path_of(func.value) != self._receiver:
            return any(self.is_learned(one, steps) for one in (func.value, *node.args))
        method = self._function.owner.method(func.name) if self._function.owner is not None else None
        if method is None:
            return self._holds(func, _LAYERS)
        returns = [one.value for one in ir.walk_statements(method.body) if type(one) is ir.Return]
        return any(_Method(method).is_learned(one, steps) for one in returns)

    @property
    def _receiver(self) -> str:
        params = self._function.params
        return params[0].name if params else ""

    def _holds(self, node: ir.Attr, makers: frozenset[str]) -> bool:
        """Return whether an attribute of the receiver is what one of these makes, as the class assigns it."""
        owner = self._function.owner
        if owner is None or path_of(node.value) != self._receiver:
            return False
        assigned = (
            one
            for method in owner.all_methods()
            if node.name in method.ir.stores
            for one in attribute_assigned(method, node.name)
        )
        return any(type(one) is ir.Call and last_name(one.func) in makers for one in assigned)


def _find_dropped(function: FunctionInfo) -> frozenset[int]:
    """List where a function makes calls of whose two results it uses the first alone: `x, _ = self.attention(x, x, x)`, `…[0]`."""
    calls = (_call_of_first(one) for one in ir.walk(function.body))
    return frozenset(call.at for call in calls if type(call) is ir.Call)


def _call_of_first(node: object) -> ir.Node | None:
    if type(node) is ir.Sub:
        return node.value if node.index == ir.Const(0) else None
    return node.value if type(node) is ir.Assign and _drops(node.targets) else None


def _drops(targets: tuple[ir.Node, ...]) -> bool:
    target = targets[0]
    if len(targets) > 1 or type(target) is not ir.Display or len(target.items) != 2:
        return False
    second = target.items[1]
    return type(second) is ir.Name and second.id.startswith("_")
