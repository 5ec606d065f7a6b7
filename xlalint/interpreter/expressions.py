"""Evaluation of expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from xlalint.abstract.lattice import boolean, join, join_all, leading, truth, when_truth
from xlalint.abstract.values import (
    ARRAYS,
    BOOL,
    DRAWN_BOOL,
    DUE,
    FALSE,
    HOST,
    NEVER,
    NONE,
    STR,
    TRUE,
    UNKNOWN,
    Const,
    Host,
    LibrarySymbol,
    Mapping,
    Sequence,
    Tensor,
    Union,
    Value,
    constant,
    foreign,
    function,
    host,
    is_leaf,
    is_none,
    kind_of_number,
    mapping,
    members,
    sequence,
    tensor,
)
from xlalint.analysis.hazard import Confidence
from xlalint.interpreter.builtin_calls import element_of, is_text, report_format, report_iteration, report_percent
from xlalint.interpreter.device_loops import MOVING, find_models, models_of
from xlalint.interpreter.dispatch_loops import lists_table
from xlalint.interpreter.frame import _EVAL, Frame
from xlalint.interpreter.guards import may_guard
from xlalint.interpreter.narrowing import assume
from xlalint.interpreter.paths import LOCAL, REMOTE, begins_at, prolong
from xlalint.interpreter.spelling import path_of, position
from xlalint.interpreter.subscripts import load_subscript, refuses_hash, store_subscript
from xlalint.interpreter.traced_arguments import as_recorded, is_asked_for_key, is_taken_apart
from xlalint.lowering import ir
from xlalint.program.linker import FunctionInfo, ModuleInfo
from xlalint.rules.codes import (
    ITEM,
    TENSOR_BOOL_OPERATOR,
    TENSOR_MEMBERSHIP,
    TENSOR_TERNARY,
)
from xlalint.rules.variants import ASSERT, HOST_ASSERT

__all__ = ["binary_value", "store_subscript", "test"]


def const(frame: Frame, node: ir.Const) -> Value:
    return constant(node.value)


def literal(frame: Frame, node: ir.Literal) -> Value:
    return host(node.type_name)


def name(frame: Frame, node: ir.Name) -> Value:
    if frame.interpreter.teaches:
        told = value_taught(frame, node.id)
        if told is not None:
            return told
    return frame.env.get(node.id) or frame.lookup(node.id)


def value_taught(frame: Frame, path: str) -> Value | None:
    """Return what the configuration says that a name or attribute is, or None where it says nothing."""
    kind = frame.module.taught.kind(path)
    if kind == "static":
        return HOST
    return tensor(_framework_of(frame)) if kind == "tensor" else None


def _framework_of(frame: Frame) -> str:
    """The framework of code that names one, or else the first of all."""
    return frame.interpreter.annotations.framework(frame.module) or frame.libraries.default


_OF_MASKS: Final = frozenset(("all", "any"))  # methods of an elementwise comparison


def attribute(frame: Frame, node: ir.Attr) -> Value:
    if frame.interpreter.teaches:
        path = path_of(node)
        told = value_taught(frame, path) if path else None
        if told is not None:
            return told
    if frame.scope.owners and _root_name(node) in frame.scope.owners:
        known = frame.env.get(path_of(node))
        if known is not None:
            return known
    value = frame.eval(node.value)
    if value is UNKNOWN and node.name in _OF_MASKS and _compares(node.value):
        annotations = frame.interpreter.annotations
        framework = annotations.framework(frame.module)
        if framework and annotations.has_no_arrays(frame.module):
            value = tensor(framework, "b", sure=False)
    if value is UNKNOWN and node.name == MOVING and path_of(node.value) in _name_models(frame):
        return UNKNOWN
    if value is UNKNOWN and node.name in frame.libraries.of_told_by_call:
        value = _tell_by_calls(frame, node)
    return frame.interpreter.attribute(frame, value, node.name, node.at)


def _tell_by_calls(frame: Frame, node: ir.Attr) -> Value:
    """Return what an object is that nothing tells, and that is asked for what it adds up: the code says that by what it calls of it."""
    semantics = frame.libraries.of(frame.interpreter.annotations.framework(frame.module))
    path, info = path_of(node.value), frame.function
    if not path or info is None or node.name not in semantics.adds_up:
        return UNKNOWN
    around = [info, *info.enclosing()]
    beside = around[-1].nested if path.count(".") == 0 else info.owner.own_methods if info.owner is not None else ()
    holders = [*around, *beside]
    for called, name in semantics.told_by_call.items():
        if any(called in one.ir.calls and (called, path) in one.answers(_list_called) for one in holders):
            return foreign(name)
    return UNKNOWN


def _list_called(info: FunctionInfo) -> frozenset[tuple[str, str]]:
    """List the methods that a function calls, each with the path of the object."""
    calls = [one.func for one in ir.walk(info.body) if type(one) is ir.Call]
    return frozenset([(func.name, path_of(func.value)) for func in calls if type(func) is ir.Attr])


def _name_models(frame: Frame) -> frozenset[str]:
    """Return what the code takes for models."""
    function = frame.function
    return function.answers(models_of) if function is not None else frame.module.answers(_models_of_module)


def _models_of_module(module: ModuleInfo) -> frozenset[str]:
    return find_models(module.body)


def _compares(node: ir.Node) -> bool:
    """Return whether an expression compares elementwise: numbers that are compared have no methods."""
    if type(node) is ir.Unary:
        return _compares(node.value)
    if type(node) is ir.Bin:
        return node.op in ("&", "|") and (_compares(node.left) or _compares(node.right))
    return type(node) is ir.Compare


def _root_name(node: ir.Attr) -> str:
    """`x` of `x.a.b`; "" where the chain does not begin with a name."""
    value = node.value
    while type(value) is ir.Attr:
        value = value.value
    return value.id if type(value) is ir.Name else ""


def call(frame: Frame, node: ir.Call) -> Value:
    return frame.interpreter.call(frame, node)


def subscript(frame: Frame, node: ir.Sub) -> Value:
    base = frame.eval(node.value)
    return load_subscript(frame, node, base, frame.eval(node.index))


def slice_(frame: Frame, node: ir.Slice) -> Value:
    parts = tuple(NONE if part is None else frame.eval(part) for part in (node.lower, node.upper, node.step))
    return sequence("slice", parts, NEVER)


# -------------------------------------------------------------------------------------------------- operators

_COMPARISONS: Final = frozenset(("==", "!=", "<", "<=", ">", ">="))


def binary(frame: Frame, node: ir.Bin) -> Value:
    left = frame.eval(node.left)
    right = frame.eval(node.right)
    return binary_value(frame, node.op, left, right, node.at, node.left, node.right)


def binary_value(
    frame: Frame, op: str, left: Value, right: Value, at: int, left_node: ir.Node, right_node: ir.Node
) -> Value:
    """The result of `left op right`."""
    if type(left) is not Union and type(right) is not Union:
        return _binary(frame, op, left, right, at, left_node, right_node)
    pairs = [(a, b) for a in members(left) for b in members(right)]
    if any(type(a) is Tensor and type(b) is Tensor for a, b in pairs):
        pairs = [(a, b) for a, b in pairs if not (type(a) is Sequence or type(b) is Sequence)]
    if op == "*":
        pairs = [(a, b) for a, b in pairs if not _is_refused_count(frame, a, b, left, right)] or pairs
    return join_all(_binary(frame, op, a, b, at, left_node, right_node) for a, b in pairs)


def _may_count(frame: Frame, value: Value) -> bool:
    """Return whether a value beside a list in `*` is a tensor that says how often: others multiply by the list's elements."""
    return type(value) is Tensor and value.framework != ARRAYS and not frame.libraries.of(value.framework).takes_lists


def _is_refused_count(frame: Frame, a: Value, b: Value, left: Value, right: Value) -> bool:
    """Return whether a tensor is to repeat a list where either may as well be something else: a tracer would have refused it."""
    for listed, count, lists, counts in ((a, b, left, right), (b, a, right, left)):
        if type(listed) is Sequence and type(count) is Tensor:
            either = any(type(m) is not Tensor for m in members(counts)) or any(
                type(m) is not Sequence for m in members(lists)
            )
            return either and frame.libraries.of(count.framework).raises
    return False


def _binary(frame: Frame, op: str, a: Value, b: Value, at: int, left_node: ir.Node, right_node: ir.Node) -> Value:
    if op == "%" and is_text(a):
        report_percent(frame, a, b, at, right_node)
        return STR
    if type(a) is Tensor or type(b) is Tensor:
        for sequence_side, other, other_node in ((a, b, right_node), (b, a, left_node)):
            if (
                op == "*"
                and _may_count(frame, other)
                and isinstance(sequence_side, Sequence)
                and sequence_side.kind in ("list", "tuple")
            ):
                if sequence_side.items == ():
                    return UNKNOWN  # nobody repeats what is empty: it stands for a tensor that may be there instead
                frame.report(ITEM, at, other, other_node, "repeats a list that many times")
                return sequence(sequence_side.kind, None, sequence_side.element)
        look = frame.libraries.on_operands.get(op)
        if look is not None:
            look(frame, op, at, (a, left_node), (b, right_node))
        result = tensor_result(op, *_as_operands(frame, a, b))
        return as_recorded(result, frame.interpreter.tracing) if frame.interpreter.tracing else result
    if type(a) is Sequence and type(b) is Sequence:
        return _sequences(op, a, b)
    if type(a) is Sequence and op == "*" and a.items is not None:
        count = b.value if isinstance(b, Const) and isinstance(b.value, int) else -1
        if 0 <= count * len(a.items) <= 24 and count >= 0:
            return sequence(a.kind, a.items * count, a.element)
        return sequence(a.kind, None, a.element)
    if type(b) is Sequence and op == "*" and type(a) in (Const, Host):
        return _binary(frame, op, b, a, at, right_node, left_node)
    if type(a) is Const and type(b) is Const:
        return _fold(op, a, b)
    if type(a) is Mapping and type(b) is Mapping:
        return join(a, b)
    if type(a) in (Const, Host) and type(b) in (Const, Host):
        return _hosts(op, a, b)
    overloaded = frame.interpreter.overload(frame, op, a, b, at)
    return overloaded if overloaded is not None else UNKNOWN


def _as_operands(frame: Frame, a: Value, b: Value) -> tuple[Value, Value]:
    """The operands, with an array for what is not sure to be a tensor where a device's tensors refuse the array beside them."""
    if type(a) is not Tensor or type(b) is not Tensor or a.framework == b.framework:
        return a, b
    one, other = (a, b) if b.framework == ARRAYS else (b, a)
    # A result of NumPy's of which no dimension is known may be one of its numbers, with which every tensor computes.
    is_array = other.framework == ARRAYS and (other.rank > 0 or not other.sure)
    if one.sure or not is_array or not frame.libraries.of(one.framework).refuses_arrays:
        return a, b
    meant = tensor(ARRAYS, one.dtype, one.rank, sure=False)
    return (meant, b) if one is a else (a, meant)


def _sequences(op: str, a: Sequence, b: Sequence) -> Value:
    if op != "+":
        return UNKNOWN if op != "-" else sequence("frozenset" if a.kind == "frozenset" else "set", None, a.element)
    if a.items is not None and b.items is not None:
        return sequence(a.kind, a.items + b.items, join(a.element, b.element))
    ahead = (a.items + leading(b) if a.items is not None else a.prefix) if a.kind == "tuple" else ()
    return sequence(a.kind, None, join(a.element, b.element), ahead)


def _fold(op: str, a: Const, b: Const) -> Value:
    """Arithmetic on known constants, where it is cheap and cannot fail."""
    x, y = a.value, b.value
    numbers = isinstance(x, (int, float)) and isinstance(y, (int, float)) and not isinstance(x, bool)
    if numbers and op in ("+", "-", "*") and isinstance(x, int) and isinstance(y, int) and abs(x) < 1 << 30 > abs(y):
        return constant(x + y if op == "+" else x - y if op == "-" else x * y)
    if op == "+" and isinstance(x, str) and isinstance(y, str) and len(x) + len(y) < 80:
        return constant(x + y)
    return _hosts(op, a, b)


def _hosts(op: str, a: Value, b: Value) -> Value:
    types = [type(v.value).__name__ if isinstance(v, Const) else v.type if isinstance(v, Host) else "" for v in (a, b)]
    origins = {v.origin for v in (a, b) if isinstance(v, Host)}
    origin = next((one for one in ("data", "drawn", "counted", "turn", "shape") if one in origins), "python")
    if "str" in types or "bytes" in types:
        return host("str", origin if origin != "python" or op != "+" else prolong(a))
    if op == "/":
        return host("float", origin)
    if types[0] == types[1]:
        return host("int" if types[0] == "bool" else types[0], origin)
    return host("float" if "float" in types else "", origin)


def tensor_result(op: str, a: Value, b: Value) -> Value:
    """The tensor that an operator gives when one side is a tensor."""
    first = a if type(a) is Tensor else b
    assert isinstance(first, Tensor)
    second = b if first is a else a
    if isinstance(second, Tensor):
        if second.framework == ARRAYS != first.framework:
            second_like, base = second, first
        elif first.framework == ARRAYS != second.framework:
            second_like, base = first, second
        else:
            second_like, base = second, first
        dtype = _promote(op, base.dtype, second_like.dtype, number=False)
        rank = max(base.rank, second_like.rank)
        if rank <= 1 and (base.rank < 0 or second_like.rank < 0):
            rank = -1
        if op == "@":
            rank = -1
        place = base.place if base.place == second_like.place or second_like.framework == ARRAYS else ""
        # Whether more than shapes goes into it is as sure as what is computed with them.
        unsettled = base.static is not second_like.static and not (base.sure and second_like.sure)
        by_array = second_like.framework == ARRAYS != base.framework  # which says nothing of the other
        sure = (base.sure or (second_like.sure and not by_array)) and not unsettled
        return tensor(base.framework, dtype, rank, place, sure, base.static and second_like.static)
    dtype = _promote(op, first.dtype, kind_of_number(second), number=True)
    # What is computed with an array of the host, or with one element, is a number where it is not known: a setting.
    # What is computed with an array of dimensions has seldom more.
    number = second is UNKNOWN and (first.framework == ARRAYS or first.rank == 0 or first.rank > 0)
    rank = first.rank if number or isinstance(second, (Const, Host)) else -1
    static = first.static and (second is UNKNOWN or isinstance(second, (Const, Host, LibrarySymbol)))
    return tensor(first.framework, dtype, rank, first.place, first.sure, static)


def _promote(op: str, a: str, b: str, number: bool) -> str:
    if op in _COMPARISONS:
        return "b"
    if op == "/":
        return "c" if "c" in (a, b) else "f" if a or b else ""
    if op in ("&", "|", "^", "<<", ">>") or a == b:
        return a if a == b else a if number else ""
    for kind in ("c", "f"):
        if kind in (a, b):
            return kind
    if not a or not b:
        return ""
    return "i" if "i" in (a, b) else a


def unary(frame: Frame, node: ir.Unary) -> Value:
    return join_all(_unary(node.op, member) for member in members(frame.eval(node.value)))


def _unary(op: str, value: Value) -> Value:
    if isinstance(value, Const) and isinstance(value.value, (int, float)) and op == "-":
        return constant(-value.value)
    if type(value) in (Tensor, Host):
        return value
    return host() if isinstance(value, Const) else UNKNOWN


def compare(frame: Frame, node: ir.Compare) -> Value:
    left_node, left = node.left, frame.eval(node.left)
    results: list[Value] = []
    for position_, (op, right_node) in enumerate(zip(node.ops, node.rights, strict=True)):
        right = frame.eval(right_node)
        result = _compare(frame, op, left, right, node, left_node, right_node)
        if position_ + 1 < len(node.ops):
            frame.needs_bool(result, node, TENSOR_BOOL_OPERATOR, at=node.at)
        results.append(result)
        left_node, left = right_node, right
    if len(results) > 1:
        return join_all(results)
    if results[0] is BOOL and type(node.left) is ir.Bin and node.left.op == "%" and frame.is_due(node):
        return DUE
    return results[0]


def _compare(
    frame: Frame, op: str, left: Value, right: Value, node: ir.Compare, left_node: ir.Node, right_node: ir.Node
) -> Value:
    if op in ("is", "is not"):
        return _identity(op, left, right)
    if op in ("in", "not in"):
        return _membership(frame, left, right, node, left_node, right_node)
    results = [_compare_values(frame, op, a, b, node) for a in members(left) for b in members(right)]
    return join_all(results)


def _refuses(frame: Frame, value: Value, other: Value) -> bool:
    """Return whether a tensor leaves a comparison of equality to the other side.

    Python then finds the two to be different things.
    """
    if type(value) is not Tensor or not isinstance(other, (Sequence, Mapping)):
        return False
    return frame.libraries.of(value.framework).defers_equality


def _identity(op: str, left: Value, right: Value) -> Value:
    known: bool | None = None
    if right is NONE:
        known = is_none(left)
    elif left is NONE:
        known = is_none(right)
    elif isinstance(left, Const) and isinstance(right, Const) and isinstance(left.value, bool):
        known = left.value is right.value
    elif isinstance(right, Const) and isinstance(right.value, bool) and isinstance(left, Tensor):
        known = False
    if known is None:
        return BOOL
    return TRUE if known == (op == "is") else FALSE


def _membership(
    frame: Frame, left: Value, right: Value, node: ir.Compare, left_node: ir.Node, right_node: ir.Node
) -> Value:
    for container in members(right):
        if isinstance(container, Tensor):
            if any(type(other) is Mapping for other in members(right)):
                continue  # it may as well be a dict: who asks for a key has one
            if not (host_text(left) or _may_be_key(frame, container, left)):
                # A part of what a tracer was passed is a dict more often than an array: few look for a value in an array.
                part = (
                    type(right_node) is ir.Sub
                    and is_leaf(container)
                    and frame.interpreter.replacing(container.framework)
                )
                asked = frame.function is not None and (
                    is_taken_apart(frame.function, right_node)
                    or (not container.sure and is_asked_for_key(frame.function, right_node, left_node))
                )
                at_most = Confidence.POSSIBLE if part or asked else Confidence.CERTAIN
                frame.report(TENSOR_MEMBERSHIP, node.at, container, right_node, at_most=at_most)
        elif isinstance(container, Sequence) and container.kind in ("list", "tuple", "iter") and not host_text(left):
            if any(isinstance(m, Tensor) for m in members(left)):
                numbers = container.items is not None and all(isinstance(item, Const) for item in container.items)
                frame.report(TENSOR_MEMBERSHIP, node.at, left, left_node, variant="captured" if numbers else "")
            elif left is not NONE and any(isinstance(m, Tensor) for m in members(container.element)):
                frame.report(TENSOR_MEMBERSHIP, node.at, container.element, right_node)
    known = right.items if isinstance(right, Sequence) and isinstance(left, (Const, Host)) else None
    if known and all(_never_xla(frame, left, item) for item in known):
        return boolean(node.ops[0] == "not in")
    known = known if isinstance(left, Const) else None
    if known is not None and all(isinstance(item, Const) for item in known):
        return boolean((left in known) is (node.ops[0] == "in"))
    return BOOL


def _may_be_key(frame: Frame, container: Tensor, wanted: Value) -> bool:
    """Return whether what was taken for a tensor may be a structure, which is asked for a key that is not known."""
    if container.sure or not frame.libraries.of(container.framework).replaces_arguments:
        return False
    return not any(isinstance(m, Tensor) or (isinstance(m, Const) and m is not NONE) for m in members(wanted))


def _may_be_key_of(value: Value, other: Value) -> bool:
    """Return whether what was taken for a tensor is compared with something of the host's that is no number, as keys of dicts are."""
    return type(value) is Tensor and not value.sure and type(other) is Host and not other.type


def _compare_values(frame: Frame, op: str, a: Value, b: Value, node: ir.Compare) -> Value:
    if type(a) is Tensor or type(b) is Tensor:
        if a is NONE or b is NONE or host_text(a) or host_text(b):
            return FALSE if op == "==" else TRUE
        if op in ("==", "!=") and (_refuses(frame, a, b) or _refuses(frame, b, a)):
            return boolean(op == "!=")
        if type(a) is Mapping or type(b) is Mapping:
            return BOOL  # what is compared with a dict is one
        result = tensor_result(op, *_as_operands(frame, a, b))
        if op in ("==", "!=") and (_may_be_key_of(a, b) or _may_be_key_of(b, a)):
            return join(result, BOOL)
        return as_recorded(result, frame.interpreter.tracing) if frame.interpreter.tracing else result
    if isinstance(a, Const) and isinstance(b, Const):
        return _fold_comparison(op, a.value, b.value)
    drawn = _is_drawn(a) or _is_drawn(b)
    if drawn:
        frame.drawn = node
    if op in ("==", "!=") and (_never_xla(frame, a, b) or _never_xla(frame, b, a)):
        return boolean(op == "!=")
    if op in ("==", "!=") and isinstance(a, Host) and isinstance(b, Host):
        same = _same_dtype(a.type, b.type)
        if same is not None:
            return boolean(same is (op == "=="))
    if type(a) is Sequence and type(b) is Sequence and op in ("==", "!="):
        if a.items == () or b.items == ():
            return BOOL  # lengths come before elements
        if a.items is not None and b.items is not None and len(a.items) != len(b.items):
            return boolean(op == "!=")
        for side in (a, b):
            if side.kind in ("list", "tuple") and any(isinstance(m, Tensor) for m in members(side.element)):
                frame.report(TENSOR_MEMBERSHIP, node.at, side.element, node.left)
        return BOOL
    overloaded = frame.interpreter.overload(frame, op, a, b, node.at)
    if overloaded is not None:
        return overloaded
    return DRAWN_BOOL if drawn else BOOL if UNKNOWN not in (a, b) else UNKNOWN


def _is_drawn(value: Value) -> bool:
    """Return whether a value is a number that the host draws at random."""
    return type(value) is Host and value.origin == "drawn"


def _same_dtype(a: str, b: str) -> bool | None:
    """Return whether two dtypes are one, by their kinds.

    Return None where they are no dtypes or may be of different widths.
    """
    if not (a.startswith("dtype:") and b.startswith("dtype:")):
        return None
    return False if a != b else True if a == "dtype:b" else None


# What a device that XLA compiles for is not called.
_OTHER_DEVICES: Final = frozenset(("mps", "npu", "hpu", "xpu", "mlu", "musa", "vulkan"))


def _never_xla(frame: Frame, kind: Value, name: Value) -> bool:
    """Return whether the type of an accelerator is compared with that of a device which XLA does not drive.

    CUDA's and the CPU's are `torch.compile`'s as well.
    """
    if not (isinstance(kind, Host) and kind.type == "accelerator" and isinstance(name, Const)):
        return False
    return name.value in _OTHER_DEVICES or (name.value in ("cuda", "cpu") and frame.module.taught.tracks_place)


def host_text(value: Value) -> bool:
    """Return whether the value is a string."""
    return (isinstance(value, Const) and isinstance(value.value, str)) or (
        isinstance(value, Host) and value.type == "str"
    )


def _fold_comparison(op: str, x: Any, y: Any) -> Value:
    if op == "==":
        return boolean(x == y)
    if op == "!=":
        return boolean(x != y)
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        return boolean({"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[op])
    return BOOL


# ------------------------------------------------------------------------------------------------------ tests


def test(frame: Frame, node: ir.Node, rule: str, variant: str = "") -> bool | None:
    """Evaluate a condition where Python needs a bool; report tensors under `rule`. Leaves the environment as it was."""
    if type(node) is ir.Not:
        inner = test(frame, node.value, rule, HOST_ASSERT if variant == ASSERT else variant)
        return None if inner is None else not inner
    if type(node) is ir.Bool:
        return _test_chain(frame, node, rule, variant)
    value = frame.eval(node)
    frame.needs_bool(value, node, rule, variant=variant)
    return truth(value)


def _test_chain(frame: Frame, node: ir.Bool, rule: str, variant: str) -> bool | None:
    outcome: bool | None = node.is_and
    saved, rate = frame.env, frame.loops.rate
    frame.env = dict(saved)
    last = node.values[-1]
    for operand in node.values:
        result = test(frame, operand, rule, HOST_ASSERT if variant == ASSERT and operand is not last else variant)
        if result is not None and result is not node.is_and:
            outcome = result
            break
        if result is None:
            outcome = None
            if operand is not last:
                frame.loops.rate = frame.rates_unless_off(operand)[not node.is_and]
        assume(frame, operand, node.is_and)
    walrus = {key: value for key, value in frame.env.items() if key not in saved}
    frame.env, frame.loops.rate = saved, rate
    saved.update({key: value for key, value in walrus.items() if "." not in key})
    return outcome


def not_(frame: Frame, node: ir.Not) -> Value:
    value = frame.eval(node.value)
    frame.needs_bool(value, node.value, TENSOR_BOOL_OPERATOR, at=position(node.value) or node.at)
    known = truth(value)
    return boolean(None if known is None else not known)


def bool_(frame: Frame, node: ir.Bool) -> Value:
    saved, rate = frame.env, frame.loops.rate
    tests = len(frame.paths.tests)
    frame.env = dict(saved)
    result: Value = NEVER
    for position_, operand in enumerate(node.values):
        value = frame.eval(operand)
        last = position_ == len(node.values) - 1
        if last:
            result = join(result, value)
            break
        frame.needs_bool(value, operand, TENSOR_BOOL_OPERATOR)
        known = truth(value)
        if known is not None and known is not node.is_and:
            result = join(result, value)
            break
        if known is None:
            result = join(result, when_truth(value, not node.is_and))
            frame.loops.rate = frame.rates_unless_off(operand)[not node.is_and]
        _add_guard(frame, operand, node.is_and)
        assume(frame, operand, node.is_and)
    frame.env, frame.loops.rate = saved, rate
    del frame.paths.tests[tests:]
    return result


def _add_guard(frame: Frame, asked: ir.Node, outcome: bool) -> None:
    """Note that what follows in an expression runs with this outcome alone, where a loop's turns may differ in it."""
    if frame.loops.lasting and may_guard(asked):
        frame.paths.tests.append(asked if outcome else ir.Not(asked, position(asked)))


def ternary(frame: Frame, node: ir.IfExp) -> Value:
    known = test(frame, node.test, TENSOR_TERNARY)
    saved, rate = frame.env, frame.loops.rate
    reached = frame.rates_of(node.test) if known is not None else frame.rates_unless_off(node.test)
    result: Value = NEVER
    choices = frame.paths.choices
    mine, tests = len(choices), len(frame.paths.tests)
    for wanted, branch in ((True, node.body), (False, node.orelse)):
        if known is None or known is wanted:
            frame.env = dict(saved)
            assume(frame, node.test, wanted)
            if known is None:
                choices.append(node.test)
            _add_guard(frame, node.test, wanted)
            frame.loops.rate = reached[not wanted]
            result = join(result, frame.eval(branch))
            frame.loops.rate = rate
            del choices[mine:], frame.paths.tests[tests:]
    frame.env = saved
    return result


# ------------------------------------------------------------------------------------------------- containers


def display(frame: Frame, node: ir.Display) -> Value:
    items: list[Value] = []
    exact = True
    for item in node.items:
        if type(item) is ir.Star:
            inner = frame.eval(item.value)
            if isinstance(inner, Sequence) and inner.items is not None:
                items.extend(inner.items)
            else:
                items.append(element_of(frame, inner))
                exact = False
        else:
            items.append(frame.eval(item))
    if node.kind == "set":
        for item_node, value in zip(node.items, items, strict=False):
            report_hash(frame, value, item_node)
        return sequence("set", None, join_all(items))
    return sequence(node.kind, tuple(items) if exact else None, join_all(items))


def report_hash(frame: Frame, value: Value, node: ir.Node) -> None:
    """Report a tracer that is asked for its hash."""
    if refuses_hash(frame, value):
        frame.report(TENSOR_MEMBERSHIP, position(node), value, node, "needs its hash")


def dict_display(frame: Frame, node: ir.DictDisplay) -> Value:
    known: dict[str, Value] = {}
    rest: Value = NEVER
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        value = frame.eval(value_node)
        if key_node is None:
            if isinstance(value, Mapping):
                known.update(value.items)
                rest = join(rest, value.rest)
            else:
                rest = join(rest, UNKNOWN)
            continue
        key = frame.eval(key_node)
        report_hash(frame, key, key_node)
        if isinstance(key, Const) and isinstance(key.value, str):
            known[key.value] = value
        else:
            rest = join(rest, value)
    return mapping(tuple(sorted(known.items(), key=lambda item: item[0])), rest)


def comprehension(frame: Frame, node: ir.Comprehension) -> Value:
    saved = frame.env
    frame.env = dict(saved)
    exact: tuple[Value, ...] | None = None
    for generator in node.generators:
        iterable = frame.eval(generator.iterable)
        report_iteration(frame, iterable, generator.iterable)
        exact = iterable.items if isinstance(iterable, Sequence) else None
        frame.interpreter.bind(frame, generator.target, element_of(frame, iterable, position(generator.iterable)))
        for condition in generator.conditions:
            test(frame, condition, TENSOR_TERNARY)
            assume(frame, condition, True)
    rate = frame.loops.rate
    if not all(type(one.iterable) is ir.Display or goes_over_written(frame, one.iterable) for one in node.generators):
        frame.loops.rate = rate.in_loop()
    key = frame.eval(node.key) if node.key is not None else None
    element = frame.eval(node.element)
    single = len(node.generators) == 1 and not node.generators[0].conditions
    items: tuple[Value, ...] | None = None
    if single and exact is not None and node.key is None and len(exact) <= 8:
        parts = []
        for value in exact:
            frame.interpreter.bind(frame, node.generators[0].target, value)
            parts.append(frame.eval(node.element))
        items = tuple(parts)
    frame.env, frame.loops.rate = saved, rate
    if key is not None:
        return mapping((), element)
    kind = "iter" if node.kind == "generator" else node.kind
    return sequence(kind, items if kind != "set" else None, join_all(items) if items else element)


def goes_over_written(frame: Frame, over: ir.Node) -> bool:
    """Return whether something goes over a table whose keys the program writes out, as a few metrics: `totals.items()`."""
    if type(over) is not ir.Call or type(over.func) is not ir.Attr or not lists_table(over):
        return False
    table = frame.eval(over.func.value)
    return type(table) is Mapping and bool(table.items) and table.rest is NEVER


def lambda_(frame: Frame, node: ir.Lambda) -> Value:
    from xlalint.interpreter.statements import closure_of

    info = frame.inner(node.function)
    return function(info, None, closure_of(frame, info.ir.free))


def format_(frame: Frame, node: ir.Format) -> Value:
    origin = begins_at(node.head)
    for part in node.values:
        value = frame.eval(part)
        report_format(frame, value, part, position(part) or node.at, node.specified)
        if not node.head and part is node.values[0]:
            origin = prolong(value)
    return host("str", origin) if origin in (LOCAL, REMOTE) else STR


def star(frame: Frame, node: ir.Star) -> Value:
    return frame.eval(node.value)


def yield_(frame: Frame, node: ir.Yield) -> Value:
    value = NONE if node.value is None else frame.eval(node.value)
    if node.delegates:
        value = element_of(frame, value)
    frame.context.yields = join(frame.context.yields, value)
    return UNKNOWN


def await_(frame: Frame, node: ir.Await) -> Value:
    return frame.eval(node.value)


def walrus(frame: Frame, node: ir.Walrus) -> Value:
    value = frame.eval(node.value)
    frame.bind(node.name, value)
    return value


def evaluate_hint(frame: Frame, node: ir.Hinted) -> Value:
    value = frame.eval(node.value)
    if node.kind == "static":
        return HOST if any(isinstance(member, Tensor) for member in members(value)) or value is UNKNOWN else value
    for member in members(value):
        if isinstance(member, Tensor):
            return member
    return tensor(_framework_of(frame))


_HANDLERS: Final[dict[type[ir.Expr], Callable[[Frame, Any], Value]]] = {
    ir.Const: const,
    ir.Literal: literal,
    ir.Name: name,
    ir.Attr: attribute,
    ir.Call: call,
    ir.Sub: subscript,
    ir.Slice: slice_,
    ir.Bin: binary,
    ir.Unary: unary,
    ir.Not: not_,
    ir.Bool: bool_,
    ir.Compare: compare,
    ir.IfExp: ternary,
    ir.Display: display,
    ir.DictDisplay: dict_display,
    ir.Comprehension: comprehension,
    ir.Lambda: lambda_,
    ir.Format: format_,
    ir.Star: star,
    ir.Yield: yield_,
    ir.Await: await_,
    ir.Walrus: walrus,
    ir.Hinted: evaluate_hint,
}
_EVAL.update(_HANDLERS)
