"""Asks of layers whether they compute each row by itself, so that rows which nobody wants may be computed and left out afterwards.

A layer of the program is read: what its constructor makes, and what its `forward` does with the one tensor that it takes.
"""

from __future__ import annotations

from enum import Enum

from xlalint.abstract.values import Instance, LibraryInstance, Value, members
from xlalint.fixes.toolkit.operations import AS_FIRST_IF_FLOAT, AS_FIRST_OF_NUMBERS, BOOLEAN, CASTS, JOINED, names
from xlalint.lowering import ir
from xlalint.program.linker import ClassInfo, FunctionInfo

LAYERS = names("ELU GELU Identity LayerNorm LeakyReLU Linear Mish RMSNorm ReLU ReLU6 SiLU Sigmoid Softplus Tanh")
"""Layers of torch.nn that compute each row by itself."""

ELEMENTWISE = (
    (AS_FIRST_IF_FLOAT - names("log_softmax softmax"))
    | AS_FIRST_OF_NUMBERS
    | BOOLEAN
    | frozenset(CASTS)
    | JOINED
    | names("clone contiguous detach nan_to_num pow relu")
)
"""Operations that compute each element by itself, of operands that broadcast."""

_OVER_ROW = names("amax amin mean norm std sum var")
_FUNCTIONS = names("layer_norm linear rms_norm")
_MODULES = ("torch", "F")
_ABOUT_TENSORS = ("device", "dtype")


class Rows(Enum):
    """How a layer is known to compute rows: `ASSUMED` where it calls an activation that a name alone tells."""

    APART = "each row by itself"
    ASSUMED = "each row by itself, it seems"
    JOINED = "not known"


def rows_of(layer: Value) -> Rows:
    """Read how a layer computes the rows that it is called with."""
    found = {_rows_of(one) for one in members(layer)}
    if not found or Rows.JOINED in found:
        return Rows.JOINED
    return Rows.ASSUMED if Rows.ASSUMED in found else Rows.APART


def _rows_of(layer: Value) -> Rows:
    if type(layer) is LibraryInstance:
        package, _, name = layer.name.rpartition(".")
        return Rows.APART if package.startswith("torch.nn") and name in LAYERS else Rows.JOINED
    return _read_class(layer.klass) if type(layer) is Instance else Rows.JOINED


def _read_class(klass: ClassInfo) -> Rows:
    forward, init = klass.method("forward"), klass.method("__init__")
    if forward is None or forward.ir.decorators or klass.method("__call__") is not None:
        return Rows.JOINED
    if forward.ir.is_generator or len(forward.params) != 2 or any(one.kind not in ("", "/") for one in forward.params):
        return Rows.JOINED
    return _Forward(forward, {} if init is None else _list_made(init)).outcome()


def _list_made(init: FunctionInfo) -> dict[str, str]:
    """List what a constructor gives its attributes, by the last name of what it calls; "" for what is told twice."""
    made: dict[str, str] = {}
    own = init.params[0].name if init.params else ""
    for node in ir.walk(init.body):
        if not isinstance(node, ir.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ir.Attr) and isinstance(target.value, ir.Name) and target.value.id == own:
                kind = _last_name(node.value.func) if isinstance(node.value, ir.Call) else ""
                made[target.name] = kind if target.name not in made else ""
    return made


def _last_name(node: ir.Node) -> str:
    if isinstance(node, ir.Attr):
        return node.name
    return node.id if isinstance(node, ir.Name) else ""


class _Forward:
    """The `forward` of a layer: which of its names hold rows of the tensor that it takes, one for each."""

    def __init__(self, forward: FunctionInfo, made: dict[str, str]) -> None:
        self._body = forward.body
        self._own = forward.params[0].name
        self._made = made
        self._rows = {forward.params[1].name: True}
        self._assumed = False

    def outcome(self) -> Rows:
        """Read the statements in order, of which only the last one returns."""
        for line in self._body:
            if isinstance(line, ir.Return):
                apart = line is self._body[-1] and line.value is not None and self._are_rows(line.value) is True
                return (Rows.ASSUMED if self._assumed else Rows.APART) if apart else Rows.JOINED
            if isinstance(line, ir.Eval) and isinstance(line.value, (ir.Const, ir.Literal)):
                continue
            if not isinstance(line, ir.Assign) or len(line.targets) != 1 or not isinstance(line.targets[0], ir.Name):
                return Rows.JOINED
            rows = self._are_rows(line.value)
            if rows is None:
                return Rows.JOINED
            self._rows[line.targets[0].id] = rows
        return Rows.JOINED

    def _are_rows(self, node: ir.Node) -> bool | None:
        """Return whether an expression gives a row for each of the tensor's; False for what is not made of them, None if unknown."""
        if isinstance(node, (ir.Const, ir.Literal)):
            return False
        if isinstance(node, ir.Name):
            return self._rows.get(node.id)
        if isinstance(node, ir.Attr):
            return self._is_attribute_of_rows(node)
        if isinstance(node, ir.Unary):
            return self._are_rows(node.value)
        if isinstance(node, ir.Bin):
            return None if node.op == "@" else self._join(node.left, node.right)
        return self._is_call_of_rows(node) if isinstance(node, ir.Call) else None

    def _is_attribute_of_rows(self, node: ir.Attr) -> bool | None:
        if isinstance(node.value, ir.Name) and node.value.id in (self._own, *_MODULES):
            return False
        return False if node.name in _ABOUT_TENSORS and self._are_rows(node.value) is not None else None

    def _join(self, *nodes: ir.Node) -> bool | None:
        found = [self._are_rows(one) for one in nodes]
        return None if None in found else any(found)

    def _is_call_of_rows(self, call: ir.Call) -> bool | None:
        if not isinstance(call.func, ir.Attr):
            return None
        given, name, holder = [*call.args, *(one for _, one in call.keywords)], call.func.name, call.func.value
        if isinstance(holder, ir.Name) and holder.id == self._own:
            return self._calls_layer(name) and len(given) == 1 and self._are_rows(given[0])
        of_module = isinstance(holder, ir.Name) and holder.id in _MODULES
        operands = given if of_module else [holder, *given]
        if not operands or self._are_rows(operands[0]) is not True:
            return None
        if name in ELEMENTWISE:
            return self._join(*operands)
        if of_module and name in _FUNCTIONS:
            return None if any(map(self._are_rows, operands[1:])) else True
        return True if name in _OVER_ROW and _is_over_row(call, of_module) else None

    def _calls_layer(self, name: str) -> bool | None:
        """Return whether an attribute is a layer that computes each row by itself; None where it is another."""
        if self._made.get(name) in LAYERS:
            return True
        if name.startswith("act") and name in self._made:
            self._assumed = True
            return True
        return None


def _is_over_row(call: ir.Call, of_module: bool) -> bool:
    """Return whether a reduction is one of the last dimension, which stays."""
    named = dict(call.keywords)
    axis = named.get("dim", call.args[of_module] if len(call.args) > of_module else None)
    return axis == ir.Const(-1) and named.get("keepdim") == ir.Const(True)
