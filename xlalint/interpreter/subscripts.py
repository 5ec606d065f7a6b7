"""Indexing: what `x[i]` gives, and what a tensor inside the brackets costs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from xlalint.abstract.lattice import join, join_all, leading
from xlalint.abstract.values import (
    ARRAYS,
    HOST,
    MAX_ITEMS,
    NEVER,
    NONE,
    UNKNOWN,
    UPDATED,
    Class,
    Const,
    Function,
    Host,
    Instance,
    LibraryInstance,
    LibrarySymbol,
    Mapping,
    Method,
    Sequence,
    Tensor,
    Union,
    Value,
    field,
    host,
    kind_of_number,
    mapping,
    members,
    method,
    only_tensor,
    sequence,
    tensor,
    union,
)
from xlalint.analysis.hazard import Confidence
from xlalint.interpreter.comparisons import compares
from xlalint.interpreter.dispatch_loops import of_earlier_turn
from xlalint.interpreter.frame import body_of
from xlalint.interpreter.guards import assigned_once
from xlalint.interpreter.library_calls import module_value_of
from xlalint.interpreter.spelling import path_of, position, spelling
from xlalint.interpreter.traced_arguments import is_structure
from xlalint.lowering import ir
from xlalint.rules.codes import (
    BOOLEAN_MASK_INDEX,
    ITEM,
    MASK_ASSIGNMENT,
    SCALAR_TENSOR_INDEX,
    TENSOR_MEMBERSHIP,
    TO_HOST,
    TRACE_TIME_EFFECT,
    VALUE_SIZED_SHAPE,
)
from xlalint.rules.variants import COMPUTED

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame


# How many entries of a table of functions or classes are called for an entry that is not known.
MAX_TABLE: Final = 16
BOUND_IN_GRAPH: Final = "the bound of a slice is a constant in the graph"
_CALLABLE: Final = (Class, Function, LibrarySymbol)
# What masks are called: `mask`, `padding_mask`, `mask_m`, `mask2`; not what speaks of one (`mask_indices`, `mask_token_id`).
_NAMES_MASK: Final = re.compile(r"mask(_?[a-z0-9])?$").search
# What Python has no index for: code that indexes such a value was run on one of its alternatives.
_UNINDEXED: Final = frozenset(("iter", "set", "frozenset"))
_CHOOSING: Final = frozenset(("where", "select"))
# Operators whose result may be a mask.
_LOGICAL: Final = ("&", "|", "^")


def load_subscript(frame: Frame, node: ir.Sub, base: Value, index: Value) -> Value:
    """The value of `base[index]`."""
    loaded = members(base)
    if type(base) is Union and only_device(base):
        loaded = tuple(m for m in loaded if not (isinstance(m, Tensor) and m.framework == ARRAYS)) + tuple(
            m for m in loaded if isinstance(m, Tensor) and m.framework == ARRAYS and not _holds_tensor(frame, index)
        )
    if _is_text(index):
        loaded = tuple(
            _as_structure(frame, m) if isinstance(m, Tensor) and m.framework != ARRAYS else m for m in loaded
        )
    elif len(loaded) > 1 and _is_refused(frame, index):
        loaded = tuple(member for member in loaded if not isinstance(member, (Sequence, Mapping))) or loaded
    elif _picks_several(index) and any(isinstance(member, Tensor) for member in loaded):
        loaded = tuple(member for member in loaded if not isinstance(member, Sequence))
    loaded = tuple(member for member in loaded if member is not NONE)
    doubt = len(loaded) > 1
    frame.paths.ambiguous_callee += doubt
    results = [_load(frame, node, member, index) for member in loaded]
    frame.paths.ambiguous_callee -= doubt
    return join_all(results) if results else UNKNOWN


def _holds_tensor(frame: Frame, index: Value) -> bool:
    """Return whether an index is a tensor, or has one among its parts that no array of the host takes."""
    parts = index.items or () if isinstance(index, Sequence) else ()
    return only_tensor(index) is not None or any(_is_refused(frame, part) for part in parts)


def _as_structure(frame: Frame, value: Tensor) -> Value:
    """Read as a mapping what was taken for a tensor, and is a structure of tensors by the name under which a part of it is looked up.

    `NONE` where no tracer passes structures for tensors, and it does not stand for an object that holds tensors in host memory.
    """
    if frame.libraries.of(value.framework).replaces_arguments or (value.place == "cpu" and not value.sure):
        return mapping((), tensor(value.framework, place=value.place, sure=False))
    return NONE


def _is_text(index: Value) -> bool:
    """Return whether an index is a string.

    No tensor takes one: what is indexed holds values by name.
    """
    return (isinstance(index, Const) and isinstance(index.value, str)) or (
        isinstance(index, Host) and index.type == "str"
    )


def _is_refused(frame: Frame, index: Value) -> bool:
    """Return whether lists and dicts refuse an index: a tracer does not say which one it is, so what is indexed is something else."""
    return any(isinstance(m, Tensor) and frame.libraries.of(m.framework).raises for m in members(index))


def _picks_several(index: Value) -> bool:
    """Return whether an index is an array, and not known to be one number.

    Of what may be an array or a list, only arrays take one of one dimension or more.
    """
    return all(isinstance(member, Tensor) and member.rank != 0 for member in members(index))


def _load(frame: Frame, node: ir.Sub, base: Value, index: Value) -> Value:
    if isinstance(base, Tensor):
        return _index_tensor(frame, node, base, index, writes=False)
    if isinstance(base, Sequence):
        return _index_sequence(frame, node, base, index)
    if isinstance(base, Mapping):
        if refuses_hash(frame, index):
            # No tracer has a hash: what is only taken for one and is a key was none when the code ran.
            surely = any(type(one) is Tensor and one.sure for one in members(index))
            at_most = Confidence.CERTAIN if surely else Confidence.POSSIBLE
            frame.report(TENSOR_MEMBERSHIP, node.at, index, node.index, "needs its hash", at_most=at_most)
        if isinstance(index, Const) and isinstance(index.value, str):
            known = field(base.items, index.value)
            if known is None and base.rest is UNKNOWN:
                known = frame.interpreter.kept_item(frame, index.value)
            if known is None and UNKNOWN in members(base.rest):
                return UNKNOWN
            return known if known is not None else base.rest if base.rest is not NEVER else UNKNOWN
        if base.rest is UNKNOWN and only_tensor(index) is not None and frame.interpreter.optimizes(frame):
            return mapping((), UNKNOWN)
        return _any_item(base)
    if isinstance(base, Method) and base.name == "at" and isinstance(base.receiver, Tensor):
        _check_index(frame, node, base.receiver, index, writes=True)
        return method(base.receiver, UPDATED)
    if isinstance(base, Instance):
        return _index_object(frame, node, base, index)
    if isinstance(base, LibraryInstance):
        return _index_foreign(frame, base, index)
    masked = _told_by_mask(index) if base is UNKNOWN else None
    if masked is not None:
        return _index_tensor(frame, node, masked, index, writes=False)
    if isinstance(base, Host):
        return host("str", base.origin) if base.type == "str" else HOST if base.type else UNKNOWN
    return UNKNOWN


def _told_by_mask(index: Value) -> Tensor | None:
    """Return the tensor that something unknown is, where its index is a mask: only an array is indexed by one."""
    mask = only_tensor(index)
    if mask is None or mask.rank == 0 or mask.framework == ARRAYS:
        return None
    return tensor(mask.framework, sure=False) if mask.dtype == "b" or _is_truth(members(index)) else None


def _is_truth(found: Iterable[Value]) -> bool:
    """Return whether values are those of what is a truth of the host or else a tensor, of truths then: `known: Union[bool, Tensor]`."""
    truths = [one for one in found if not isinstance(one, Tensor) or one.dtype]
    return bool(truths) and all(kind_of_number(one) == "b" for one in truths)


def kept_under(frame: Frame, node: ir.Sub, base: Value, index: Value) -> Value:
    """Return what the dicts among a value's alternatives hold under a key that is known; never where there are none."""
    if not isinstance(index, Const) or not isinstance(index.value, str):
        return NEVER
    return join_all([_load(frame, node, member, index) for member in members(base) if isinstance(member, Mapping)])


def refuses_hash(frame: Frame, value: Value) -> bool:
    """Return whether a value may be a tensor that refuses to be hashed."""
    return any(isinstance(m, Tensor) and not frame.libraries.of(m.framework).hashable for m in members(value))


def _any_item(base: Mapping) -> Value:
    """Return what a dict may hold under a key that is not known.

    That is any of a table of functions or classes, else the join of all.
    """
    values = tuple(dict.fromkeys([*(value for _, value in base.items), *members(base.rest)]))
    if not values:
        return UNKNOWN
    if len(values) <= MAX_TABLE and all(type(value) in _CALLABLE for value in values):
        return values[0] if len(values) == 1 else union(values)
    return join_all(values)


def _index_object(frame: Frame, node: ir.Sub, base: Instance, index: Value) -> Value:
    if base.fields and isinstance(index, Const) and base.klass.makes_record():
        if isinstance(index.value, str):
            return field(base.fields, index.value) or UNKNOWN
        names = frame.interpreter.tables.record_names(base.klass)
        values = [value for name in names if (value := field(base.fields, name)) not in (None, NONE)]
        if isinstance(index.value, int) and -len(values) <= index.value < len(values):
            return values[index.value]
        return join_all(values)
    info = base.klass.method("__getitem__")
    if info is not None:
        return frame.interpreter.invoke(frame, info, base, [index], (), node.at)
    return join_all(value for _, value in base.fields) if base.fields else UNKNOWN


def _index_foreign(frame: Frame, base: LibraryInstance, index: Value) -> Value:
    """Return what a library's object holds in a place, or under the name of one of its attributes."""
    entry = frame.apis.class_method(base.name, "__getitem__")
    if entry is None:
        return UNKNOWN
    framework = frame.apis.class_framework(base.name)
    if _is_text(index):
        key = index.value if isinstance(index, Const) else None
        known = frame.apis.class_attribute(base.name, key) if isinstance(key, str) else None
        return module_value_of(known, framework) if known is not None else UNKNOWN
    element = module_value_of(entry.cases[0].returns, framework)
    sliced = isinstance(index, Sequence) and index.kind == "slice"
    return sequence("tuple", None, element) if sliced else element


def _index_sequence(frame: Frame, node: ir.Sub, base: Sequence, index: Value) -> Value:
    if isinstance(index, Sequence) and index.kind == "slice":
        for bound in index.items or ():
            _implicit_int(frame, node, bound, VALUE_SIZED_SHAPE)
        return _slice_items(base, index)
    if base.kind not in _UNINDEXED:
        _implicit_int(frame, node, index, ITEM)
    if isinstance(index, Const) and isinstance(index.value, int):
        known = leading(base)
        if (0 if base.items is None else -len(known)) <= index.value < len(known):
            return known[index.value]
        earlier = index.value != -1
    else:
        earlier = _counts_back(frame, node.index)
    if earlier and base.kind == "list" and base.items is None and frame.loops.depth:
        return of_earlier_turn(base.element) if base.element is not NEVER else UNKNOWN
    return base.element if base.element is not NEVER else UNKNOWN


def _counts_back(frame: Frame, index: ir.Node) -> bool:
    """Return whether an index lies some turns back: `kept[step - delay]`."""
    if not frame.loops.dispatches:
        return False
    counted = assigned_once(index, body_of(frame))
    return isinstance(counted, ir.Bin) and counted.op == "-"


def _slice_items(base: Sequence, index: Sequence) -> Value:
    bounds = [item.value for item in index.items or () if isinstance(item, Const)]
    plain = [bound for bound in bounds if bound is None or isinstance(bound, int)]
    if base.items is not None and len(plain) == 3:
        items = base.items[slice(plain[0], plain[1], plain[2])]
        return sequence(base.kind, items, join_all(items))
    if base.prefix and len(plain) == 3 and plain[1] is None and plain[2] is None and (plain[0] or 0) >= 0:
        return sequence(base.kind, None, base.element, base.prefix[plain[0] or 0 :])
    if len(plain) == 3 and -MAX_ITEMS <= (plain[0] or 0) < 0 and plain[1] is None and plain[2] is None:
        # Who asks for the last six has six.
        return sequence(base.kind, (base.element,) * -(plain[0] or 0), base.element)
    return sequence(base.kind, None, base.element)


def _implicit_int(frame: Frame, node: ir.Sub, value: Value, rule: str) -> None:
    if any(isinstance(member, Tensor) for member in members(value)):
        frame.report(rule, node.at, value, node.index, "Python needs its value as an index")


# ----------------------------------------------------------------------------------------------------- tensors


def parts_of(index: Value, node: ir.Node) -> list[tuple[Value, ir.Node]]:
    """The comma-separated parts of an index with their nodes."""
    if isinstance(index, Sequence) and index.kind == "tuple" and index.items is not None:
        nodes = node.items if type(node) is ir.Display and len(node.items) == len(index.items) else ()
        return [(item, nodes[i] if nodes else node) for i, item in enumerate(index.items)]
    return [(index, node)]


def _index_tensor(frame: Frame, node: ir.Sub, base: Tensor, index: Value, writes: bool) -> Value:
    if not writes and _takes_number(frame, node, base, index):
        if base.place != "cpu":
            frame.report(ITEM, node.at, base, node.value, "a number is taken from it")
        return host("", "data")
    rank, advanced = _check_index(frame, node, base, index, writes)
    sure = base.sure
    place = base.place
    for part, _ in parts_of(index, node.index):
        inner = only_tensor(part)
        if inner is not None and inner.place != place:
            place = place if base.place == "cpu" else ""
    static = base.static and not advanced
    return tensor(base.framework, base.dtype, rank, place, sure, static)


def _takes_number(frame: Frame, node: ir.Sub, base: Tensor, index: Value) -> bool:
    """Return whether an index is that of `loss.data[0]`: a number before PyTorch 0.5, which raises, and has `.item()` in its place."""
    if type(node.value) is not ir.Attr or node.value.name != "data" or type(index) is not Const or index.value != 0:
        return False
    return base.rank == 0 or (base.rank < 0 and _is_differentiated(frame, path_of(node.value.value)))


def _is_differentiated(frame: Frame, path: str) -> bool:
    """Return whether a body computes the gradients of what it calls so, without saying those of its elements: it is one number."""
    run = [one.value for one in ir.walk_statements(body_of(frame)) if type(one) is ir.Eval]
    calls = [one for one in run if type(one) is ir.Call and not one.args]
    return bool(path) and any(path_of(call.func) == f"{path}.backward" for call in calls)


def _check_index(frame: Frame, node: ir.Sub, base: Tensor, index: Value, writes: bool) -> tuple[int, bool]:
    """Report what indexing costs; returns the result's rank (-1 unknown) and whether a tensor was in the index."""
    rank = base.rank
    known = rank >= 0
    advanced = False
    index_rank = -1
    slices = 0
    parts = parts_of(index, node.index)
    by_position = any(_lists_positions(part) for part, _ in parts)
    for part, part_node in parts:
        if isinstance(part, Sequence) and part.kind == "slice":
            slices += 1
            _check_slice(frame, node, base, part, part_node, writes)
            continue
        part = _as_positions(part) if by_position else _as_mask(frame, base, part, part_node)
        _look_at_index(frame, base, part, part_node, node.at, "an index is a constant in the graph")
        culprit = only_tensor(part)
        if culprit is not None:
            _check_tensor_index(frame, node, base, part, culprit, part_node, writes, len(parts) == 1)
            if not advanced:
                index_rank = culprit.rank if culprit.dtype != "b" else 1
            else:
                index_rank = max(index_rank, culprit.rank) if culprit.rank >= 0 and index_rank >= 0 else -1
            advanced = True
            fits = culprit.rank >= 0 or (
                culprit.dtype == "b" and rank == 1
            )  # a mask over the one dimension that is left
            known = known and fits and not isinstance(part, Union)
            rank -= max(culprit.rank, 1) if culprit.dtype == "b" else 1
        elif part is NONE:
            rank += 1
        elif isinstance(part, Const) and isinstance(part.value, bool):
            known = False
        elif isinstance(part, (Const, Host)):
            if not (isinstance(part, Host) and part.type == "ellipsis"):
                rank -= 1
                known = known and (isinstance(part, Const) or part.type == "int")
        elif isinstance(part, Sequence):
            advanced, known = True, False
        else:
            known = False
    if not known or rank < slices:  # of too few dimensions for the index, it is not what it was taken for
        return -1, advanced
    if advanced:
        rank = rank + index_rank if index_rank >= 0 else -1
    return max(rank, -1), advanced


def _lists_positions(part: Value) -> bool:
    """Return whether an index lists numbers: `range(n)`."""
    return isinstance(part, Sequence) and part.kind != "slice" and kind_of_number(part.element) == "i"


def _as_positions(part: Value) -> Value:
    """The index beside listed positions: what is only taken for a mask is none, since of one so many values would have to be true."""
    mask = only_tensor(part)
    guessed = mask is not None and mask.dtype == "b" and not mask.sure
    return tensor(mask.framework, place=mask.place, sure=False) if mask is not None and guessed else part


def _look_at_index(frame: Frame, base: Tensor, part: Value, node: ir.Node, at: int, detail: str) -> None:
    for look in frame.libraries.of(base.framework).indexed:
        look(frame, base, part, node, at, detail)


def _as_mask(frame: Frame, base: Tensor, part: Value, node: ir.Node) -> Value:
    """The index, taken for a mask where its name says so, or that it is the outcome of a comparison, and nothing else is known of it."""
    found = [m for m in members(part) if m is not NONE]
    told = any(m is not UNKNOWN and not (isinstance(m, Tensor) and not m.dtype and m.rank < 0) for m in found)
    if _is_truth(found) and only_tensor(part) is not None and base.framework != ARRAYS:
        return tensor(base.framework, "b", sure=False)
    if told or base.framework == ARRAYS:
        return part
    given = only_tensor(part)
    if given is not None and given.framework == ARRAYS and frame.libraries.of(base.framework).records_known:
        return part  # the tracer takes the host's masks for the positions, which it knows
    named = bool(_NAMES_MASK(_last_word(node))) and not _would_fail(frame, base, found)
    if not named and not _compares(frame, node):
        return part
    if type(node) is ir.Name and node.id in frame.closure and frame.interpreter.replacing(base.framework):
        return part  # made before the tracing began, as far as is known
    return part if _chooses_numbers(frame, node) else tensor(base.framework, "b", sure=False)


def _would_fail(frame: Frame, base: Tensor, index: list[Value]) -> bool:
    """Return whether a tracer is at work that refuses masks: what is only called one holds positions then, or the code never ran.

    One that runs at once what it does not map refuses those that it maps.
    """
    if not frame.libraries.of(base.framework).replaces_arguments:
        return False
    mapped = bool(frame.interpreter.mapping) and any(type(one) is Tensor and not one.static for one in index)
    return bool(frame.interpreter.tracing) or mapped


def _chooses_numbers(frame: Frame, node: ir.Node) -> bool:
    """Return whether an index is one of two things of which one is a number: `where(free, position, -1)` gives positions."""
    call = assigned_once(node, frame.function.body) if frame.function is not None else node
    if type(call) is not ir.Call or len(call.args) != 3 or not isinstance(call.func, (ir.Name, ir.Attr)):
        return False
    if path_of(call.func).rpartition(".")[2] not in _CHOOSING:
        return False
    return any(kind_of_number(frame.eval(one)) in ("i", "f") for one in call.args[1:])


def _compares(frame: Frame, node: ir.Node) -> bool:
    """Return whether an expression gives the outcome of comparisons: who indexes with it has compared tensors."""
    if type(node) is ir.Name:
        return frame.function is not None and node.id in frame.interpreter.compared.of(frame.function)
    return compares(node, frozenset())


_POSITIONS: Final = frozenset(
    ("idx", "idxs", "index", "indexes", "indices", "inds", "ids", "perm", "order", "positions")
)


def _names_positions(node: ir.Node) -> bool:
    """Return whether a name says that an index is one: `idx`, `node_index`, `ids[0]`."""
    while type(node) is ir.Sub:
        node = node.value
    return _last_word(node).lower().rpartition("_")[2] in _POSITIONS


def _last_word(node: ir.Node) -> str:
    """The name that an expression ends in: "mask" of `mask`, `self.mask` and `batch["mask"]`."""
    if type(node) is ir.Sub:
        return node.index.value if type(node.index) is ir.Const and isinstance(node.index.value, str) else ""
    return node.id if type(node) is ir.Name else node.name if type(node) is ir.Attr else ""


def _check_slice(frame: Frame, node: ir.Sub, base: Tensor, part: Sequence, part_node: ir.Node, writes: bool) -> None:
    bounds = (part_node.lower, part_node.upper, part_node.step) if type(part_node) is ir.Slice else (None,) * 3
    for bound, bound_node in zip(part.items or (), bounds, strict=False):
        detail = BOUND_IN_GRAPH
        _look_at_index(frame, base, bound, bound_node or node, node.at, detail)
        if not any(isinstance(member, Tensor) for member in members(bound)):
            continue
        semantics = frame.libraries.of(base.framework)
        if (
            base.place == "cpu" and semantics.host_memory and not writes
        ):  # the host waits, but no graph has the bound in it
            frame.report(ITEM, node.at, bound, bound_node, "bounds a slice of host memory")
            continue
        severity = semantics.slice_severity
        frame.report(VALUE_SIZED_SHAPE, node.at, bound, bound_node, "bounds a slice", severity=severity)


def _check_tensor_index(
    frame: Frame,
    node: ir.Sub,
    base: Tensor,
    part: Value,
    culprit: Tensor,
    part_node: ir.Node,
    writes: bool,
    alone: bool,
) -> None:
    if base.framework == ARRAYS and culprit.framework != ARRAYS:
        if not (frame.libraries.of(culprit.framework).records_known and _is_declared(frame, node.value)):
            frame.report(TO_HOST, node.at, part, part_node, "indexes a host array")
    elif culprit.dtype == "b":
        # A mask of host memory gives positions, of which there are as many as it says: that is a shape on the device as well.
        # A tracer that records operations takes the host's mask for the positions, which it knows.
        on_device = not base.place and not culprit.place
        subject = part if on_device or frame.libraries.of(base.framework).records_known else base
        if writes:
            frame.report(MASK_ASSIGNMENT, node.at, subject, node.value)
        else:
            frame.report(BOOLEAN_MASK_INDEX, node.at, subject, node)
    elif culprit.rank == 0 and frame.libraries.of(base.framework).reads_scalar_index:
        variant = COMPUTED if is_computed(frame, part_node) else ""
        frame.report(SCALAR_TENSOR_INDEX, node.at, part, part_node, variant=variant)
    elif not culprit.dtype and culprit.rank < 0 and alone and frame.libraries.of(base.framework).unclear_masks:
        _check_mask_or_positions(frame, node, base, part, writes)


def _is_declared(frame: Frame, node: ir.Node) -> bool:
    """Return whether an array may be NumPy's for being declared one alone: as a parameter, of the function around too, or as a field.

    Code that tracers run as well declares so what may be either.
    """
    if isinstance(node, ir.Attr):
        owners = [one for one in members(frame.eval(node.value)) if isinstance(one, Instance)]
        unknown = [one.klass for one in owners if not one.fields or field(one.fields, node.name) is None]
        return any(node.name in frame.interpreter.tables.record_names(one) for one in unknown)
    around = frame.function
    while isinstance(node, ir.Name) and around is not None:
        found = next((param for param in around.params if param.name == node.id), None)
        if found is not None:
            return found.annotation is not None
        around = frame.module.functions[around.ir.outer] if around.ir.outer >= 0 else None
    return False


def is_computed(frame: Frame, node: ir.Node) -> bool:
    """Return whether a number or an index is made of tensors by the code itself: what is passed to it, or kept by an object, is none."""
    function = frame.function
    if type(node) is ir.Name and function is not None:
        made = assigned_once(node, function.body)
        if made is node:
            return all(param.name != node.id for param in function.params)
        node = made
    if type(node) is ir.Sub:
        return any(isinstance(member, Tensor) for member in members(frame.eval(node.value)))
    return isinstance(node, (ir.Bin, ir.Unary, ir.Call))


def _check_mask_or_positions(frame: Frame, node: ir.Sub, base: Tensor, part: Value, writes: bool) -> None:
    """Report an index of which nothing is known: a mask likely where a value is given through it, possibly where it is read.

    Of the indices read in published packages that are left unknown here a third are masks or 0-d.
    """
    index = node.index
    if type(index) is ir.Sub and type(index.index) is ir.Const and index.index.value is None:
        return  # `x[n[None]]`: positions made of one number; a mask with one more axis fits nothing
    if type(index) is ir.Bin and index.op not in _LOGICAL:
        return  # arithmetic makes no mask
    if writes and (base.dtype == "b" or _names_positions(index)):
        return  # a mask is made of positions; masks are joined by operators
    if writes:
        frame.report(
            MASK_ASSIGNMENT, node.at, base if base.place else tensor(base.framework, "b", sure=False), node.value
        )
    else:
        most = Confidence.LIKELY if _is_joined(frame, index) else Confidence.POSSIBLE
        frame.report(BOOLEAN_MASK_INDEX, node.at, part if not base.place else base, node, at_most=most)


def _is_joined(frame: Frame, node: ir.Node) -> bool:
    """Return whether the function joins a name with the outcomes of comparisons elsewhere: it holds bools."""
    return (
        type(node) is ir.Name and frame.function is not None and node.id in frame.interpreter.joined.of(frame.function)
    )


def _is_read_elsewhere(frame: Frame, target: ir.Sub) -> bool:
    """Return whether a function uses an entry beside where it counts it up: what is counted alone never enters the graph."""
    body = frame.function.body if frame.function is not None else ()
    shown = spelling(target)
    return any(type(one) is ir.Sub and one.at != target.at and spelling(one) == shown for one in ir.walk(body))


def store_subscript(frame: Frame, target: ir.Sub, base: Value, index: Value, value: Value, reads: bool) -> None:
    """`base[index] = value`; `reads` for an augmented assignment."""
    for look in frame.libraries.on_item:
        look(frame, target, index, value)
    if type(target.value) is ir.Name and frame.is_outer(target.value.id) and frame.paths.remembers != target.value.id:
        variant = "" if reads and _is_read_elsewhere(frame, target) else "effect"
        frame.note(TRACE_TIME_EFFECT, target.at, "", spelling(target), "happens once, while tracing", variant)
    for member in members(base):
        masked = _told_by_mask(index) if member is UNKNOWN else None
        if masked is not None and not frame.libraries.of(masked.framework).immutable:
            member = masked
        if isinstance(member, Tensor) and member.framework != ARRAYS and _is_text(index):
            structure = _as_structure(frame, member)
            member = structure if structure is not NONE else member
        if isinstance(member, Tensor):
            immutable = member.sure and frame.libraries.of(member.framework).immutable
            held = any(type(other) in (Sequence, Mapping) for other in members(base))  # code assigns to what lets it
            if immutable and (held or _is_text(index) or not _is_surely_array(frame, member, target.value)):
                continue
            if immutable:
                frame.report(MASK_ASSIGNMENT, target.at, member, target.value, variant="immutable")
                continue
            _index_tensor(frame, target, member, index, writes=True)
            if reads or _is_packed(member, index, value):
                frame.qualify(MASK_ASSIGNMENT, target.at, "augmented" if reads else "values")
            if member.framework == ARRAYS and only_device(value) and not _must_be_on_host(frame, target, base, value):
                frame.report(TO_HOST, position(target), value, target, "is copied into a host array")
            elif member.place == "cpu" and only_device(value) and _is_made_here(frame, target.value):
                frame.report(TO_HOST, position(target), value, None, "is copied into a tensor in host memory")
        elif isinstance(member, Sequence) and member.kind == "list":
            _implicit_int(frame, target, index, ITEM)
            rebind(frame, target.value, _with_element(member, index, value))
        elif isinstance(member, Mapping):
            if isinstance(index, Const) and isinstance(index.value, str):
                items = frame.context.items
                items[index.value] = join(items.get(index.value, NEVER), value)
            rebind(frame, target.value, with_item(member, index, value))
        elif isinstance(member, Instance):
            info = member.klass.method("__setitem__")
            if info is not None:
                frame.interpreter.invoke(frame, info, member, [index, value], (), target.at)


def _must_be_on_host(frame: Frame, target: ir.Sub, base: Value, value: Value) -> bool:
    """Return whether what fills a part of an array can only be in host memory: nothing proves it a tensor, and in a program that drives a
    device one of that device could not be copied so. A single element may be one number, which can. Where the array may be a tensor as
    well, there is one for each kind of value."""
    if only_device(base):
        return True
    found = [one for one in members(value) if isinstance(one, Tensor)]
    if any(one.sure or not frame.libraries.of(one.framework).refuses_arrays for one in found):
        return False
    index = target.index.items if type(target.index) is ir.Display else (target.index,)
    return any(type(one) is ir.Slice for one in index) and frame.interpreter.drivers.names_device(frame.module)


def _is_packed(base: Tensor, index: Value, value: Value) -> bool:
    """Return whether what is assigned through a mask surely has one entry for each true element: it has too many dimensions for a row."""
    mask, given = only_tensor(index), only_tensor(value)
    if mask is None or given is None or min(base.rank, mask.rank, given.rank) < 0:
        return False
    return given.rank > base.rank - mask.rank


def _is_surely_array(frame: Frame, base: Tensor, node: ir.Node) -> bool:
    """Return whether an annotation is not all that calls it an array: it is made here, or a tracer passes it.

    Code that assigns elements of anything else was run on what allows that, as the references of a kernel do.
    """
    info = frame.function
    if info is None:
        return True
    if type(node) is not ir.Name or node.id not in frame.env:
        return False
    if all(param.name != node.id for param in info.params):
        return True
    if is_structure(info, node.id):
        return False
    if _writes_kernels(frame, frame.libraries.of(base.framework).kernels):
        return False
    return info in frame.interpreter.staged or any(frame.interpreter.handed.of(info))


def _writes_kernels(frame: Frame, packages: tuple[str, ...]) -> bool:
    """Return whether a module imports what runs kernels: loops of theirs are traced as others are, and pass references on."""
    imported = (f"{one.module}.{one.name}." for one in frame.module.unit.imports if not one.level)
    return any(name.startswith(f"{package}.") for name in imported for package in packages)


def _is_made_here(frame: Frame, node: ir.Node) -> bool:
    """Return whether a name is a variable of the function's own: of what is passed to it, callers may say where it lives."""
    info = frame.function
    return type(node) is ir.Name and (info is None or all(param.name != node.id for param in info.params))


def only_device(value: Value) -> bool:
    """Return whether the value may be a tensor of a framework, not numpy's."""
    return any(isinstance(member, Tensor) and member.framework != ARRAYS for member in members(value))


def _with_element(old: Sequence, index: Value, value: Value) -> Value:
    """The list with another element: the one that a number names, else any."""
    number = index.value if isinstance(index, Const) else None
    if old.items is None or type(number) is not int or not -len(old.items) <= number < len(old.items):
        return sequence("list", None, join(old.element, value))
    items = list(old.items)
    items[number] = join(items[number], value)
    return sequence("list", tuple(items), join(old.element, value))


def with_item(old: Mapping, key: Value, value: Value) -> Value:
    """The mapping with one more item."""
    if isinstance(key, Const) and isinstance(key.value, str):
        items = dict(old.items)
        items[key.value] = value
        return mapping(tuple(sorted(items.items(), key=lambda item: item[0])), old.rest)
    return mapping(old.items, join(old.rest, value))


def rebind(frame: Frame, node: ir.Node, value: Value) -> None:
    """Give the container written as `node` a new abstract content."""
    if type(node) is ir.Name:
        frame.env[node.id] = value
    elif path_of(node):
        frame.refine(path_of(node), value)
        if type(node) is ir.Attr and type(node.value) is ir.Name and node.value.id == frame.scope.receiver_name:
            frame.store(node.name, value)
    elif type(node) is ir.Sub and isinstance(node.value, (ir.Name, ir.Attr)):
        holder = frame.eval(node.value)
        if isinstance(holder, Mapping):
            rebind(frame, node.value, with_item(holder, frame.eval(node.index), value))
        elif isinstance(holder, Sequence) and holder.kind == "list":
            rebind(frame, node.value, sequence("list", None, join(holder.element, value)))
