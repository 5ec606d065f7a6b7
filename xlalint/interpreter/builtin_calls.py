"""Python's own callables: builtins and the methods of lists, dicts and strings, on abstract values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from xlalint.abstract.lattice import boolean, join, join_all, leading, truth
from xlalint.abstract.values import (
    ARRAYS,
    BOOL,
    HOST,
    INT,
    NEVER,
    NONE,
    STR,
    TRUE,
    UNKNOWN,
    Class,
    Const,
    Function,
    Host,
    Instance,
    LibraryInstance,
    LibrarySymbol,
    Mapping,
    Method,
    Partial,
    Sequence,
    Tensor,
    Union,
    Value,
    class_value,
    constant,
    external,
    field,
    host,
    is_leaf,
    mapping,
    members,
    sequence,
    super_value,
    tensor,
    tensors,
)
from xlalint.interpreter.dispatch_loops import of_earlier_turn
from xlalint.interpreter.narrowing import describe, is_instance
from xlalint.interpreter.spelling import path_of, position, spelling
from xlalint.interpreter.subscripts import rebind, with_item
from xlalint.interpreter.text_formats import brace_fields, percent_numbers
from xlalint.lowering import ir
from xlalint.rules.codes import (
    AUTOGRAPH_UNSUPPORTED,
    PRINT_TENSOR,
    TENSOR_LOOP_BOUND,
    TENSOR_MEMBERSHIP,
    TENSOR_TERNARY,
    TRACE_TIME_EFFECT,
)

if TYPE_CHECKING:
    from xlalint.interpreter.arguments import Arguments as CallArguments
    from xlalint.interpreter.frame import Frame

Arguments = list[Value]


def element_of(frame: Frame, value: Value, at: int = 0) -> Value:
    """Return what iterating over the value gives."""
    if isinstance(value, Union):
        return join_all(element_of(frame, member, at) for member in value.members if member is not NONE)
    if isinstance(value, Sequence):
        return value.element if value.element is not NEVER else UNKNOWN
    if isinstance(value, Tensor):
        if is_leaf(value) and value.place and frame.interpreter.replacing(value.framework):
            return UNKNOWN  # a compiled function gave it, which may be a dict with its keys as well
        rank = value.rank - 1 if value.rank > 0 else -1
        sure = value.sure and (rank >= 0 or value.framework != ARRAYS)  # of the host's arrays it may be a number
        return tensor(value.framework, value.dtype, rank, value.place, sure, value.static)
    if isinstance(value, Mapping):
        return STR if value.rest is NEVER else UNKNOWN if not value.items else HOST
    if isinstance(value, Host):
        return host("str") if value.type == "str" else host("", value.origin) if value.origin != "python" else UNKNOWN
    if isinstance(value, Instance):
        return frame.interpreter.iterate(frame, value, at)
    return UNKNOWN


def is_staged(frame: Frame, value: Value | None) -> bool:
    """Return whether the value is a tensor over which loops become loops of the graph.

    Its own value is not known while tracing.
    """
    return isinstance(value, Tensor) and not value.static and frame.libraries.of(value.framework).stages_loops


def _surely_staged(frame: Frame, value: Value) -> bool:
    return isinstance(value, Tensor) and value.sure and is_staged(frame, value)


def report_iteration(frame: Frame, value: Value, node: ir.Node, at: int = 0) -> None:
    """Report Python's own iteration over a tensor that only a loop of the graph can go over."""
    if _surely_staged(frame, value):
        frame.report(AUTOGRAPH_UNSUPPORTED, at or getattr(node, "at", 0), value, node)


def _report_summed(frame: Frame, node: ir.Node) -> None:
    """Report an iteration whose elements are summed: it goes over a tensor, since the keys of a dict have no sum."""
    if type(node) is not ir.Comprehension:
        return  # a list of tensors has a sum as well
    generator = node.generators[0]
    names = {one.id for one in _operands(node.element) if type(one) is ir.Name}
    target = generator.target
    if len(node.generators) > 1 or type(target) is not ir.Name or target.id not in names:
        return
    over = generator.iterable
    value = frame.eval(over) if isinstance(over, (ir.Name, ir.Attr)) else UNKNOWN
    if is_staged(frame, value):
        frame.report(AUTOGRAPH_UNSUPPORTED, position(over), value, over)


def _operands(node: ir.Node) -> tuple[ir.Node, ...]:
    """The operands of arithmetic, or the node itself."""
    if type(node) is ir.Bin:
        return (*_operands(node.left), *_operands(node.right))
    return _operands(node.value) if type(node) is ir.Unary else (node,)


# ---------------------------------------------------------------------------------------------------- builtins


def _isinstance(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    return boolean(is_instance(frame, args[0], args[1])) if len(args) == 2 else BOOL


def _len(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    if args and isinstance(args[0], Sequence) and args[0].items is not None and args[0].kind == "tuple":
        return constant(len(args[0].items))
    if args and isinstance(args[0], Instance):
        info = args[0].klass.method("__len__")
        if info is not None:
            return frame.interpreter.invoke(frame, info, args[0], [], (), node.at)
    return host("int", "shape")


def _collector(kind: str) -> Callable[[Frame, Arguments, ir.Call], Value]:
    def collect(frame: Frame, args: Arguments, node: ir.Call) -> Value:
        if not args:
            return sequence(kind, () if kind in ("list", "tuple") else None, NEVER)
        source = args[0]
        report_iteration(frame, source, node.args[0], node.at)
        items = source.items if isinstance(source, Sequence) and "set" not in kind else None
        return sequence(kind, items, element_of(frame, source, node.at))

    return collect


def _dict(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    items = {name: frame.eval(value) for name, value in node.keywords if name}
    rest: Value = UNKNOWN if any(not name for name, _ in node.keywords) else NEVER
    for source in args[:1]:
        if isinstance(source, Mapping):
            items = {**dict(source.items), **items}
            rest = join(rest, source.rest)
        else:
            element = element_of(frame, source)
            pair = element.items if isinstance(element, Sequence) else None
            rest = join(rest, pair[1] if pair is not None and len(pair) == 2 else UNKNOWN)
    return mapping(tuple(sorted(items.items(), key=lambda item: item[0])), rest)


def _enumerate(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    if args:
        report_iteration(frame, args[0], node.args[0], node.at)
    element = element_of(frame, args[0], node.at) if args else UNKNOWN
    pair = sequence("tuple", (INT, element), join(INT, element))
    return sequence("iter", None, pair)


def _zip(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    if any(type(arg) is ir.Star for arg in node.args):
        inner = element_of(frame, args[0]) if args else UNKNOWN
        return sequence("iter", None, sequence("tuple", None, element_of(frame, inner)))
    exact = [arg.items for arg in args if isinstance(arg, Sequence) and arg.items is not None]
    if args and len(exact) == len(args) and min(len(items) for items in exact) <= 8:
        rows = tuple(sequence("tuple", row, join_all(row)) for row in zip(*exact, strict=False))
        return sequence("iter", rows, join_all(rows))
    for arg, arg_node in zip(args, node.args, strict=False):
        report_iteration(frame, arg, arg_node, node.at)
    elements = tuple(element_of(frame, arg, node.at) for arg in args)
    return sequence("iter", None, sequence("tuple", elements, join_all(elements)))


def _reverse(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    source = args[0] if args else UNKNOWN
    items = source.items[::-1] if isinstance(source, Sequence) and source.items is not None else None
    return sequence("iter", items, element_of(frame, source, node.at))


def _iter(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    source = args[0] if args else UNKNOWN
    element = element_of(frame, source, node.at)
    if element is UNKNOWN and type(source) is LibraryInstance:
        return source
    return sequence("iter", source.items if isinstance(source, Sequence) else None, element)


def _next(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    found = element_of(frame, args[0], node.at) if args else UNKNOWN
    if found is UNKNOWN and args and type(args[0]) is LibraryInstance:
        found = _next_batch(frame, args[0], node)
    return join(found, args[1]) if len(args) > 1 else found


def _next_batch(frame: Frame, loader: Value, node: ir.Call) -> Value:
    """Return what `batch = next(batches)` gives, as a loop over the same would bind it."""
    from xlalint.interpreter.frame import body_of

    walked = ir.walk(body_of(frame))
    for one in walked:
        if type(one) is ir.Assign and one.value is node and type(one.targets[0]) is ir.Name:
            rest = tuple([later for later in walked if isinstance(later, _USING) and later.at > one.at])
            name, turn = one.targets[0].id, ir.For(one.targets[0], node.args[0], rest, (), one.at)
            found = [find(frame, turn, loader, False).get(name, UNKNOWN) for find in frame.libraries.batches]
            return next((value for value in found if value is not UNKNOWN), UNKNOWN)
    return UNKNOWN


def _map(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    elements = [element_of(frame, arg, node.at) for arg in args[1:]]
    result = frame.interpreter.call_value(frame, args[0], elements, (), node) if args else UNKNOWN
    return sequence("iter", None, result)


def _filter(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    if len(args) < 2:
        return UNKNOWN
    element = element_of(frame, args[1], node.at)
    verdict = element if args[0] is NONE else frame.interpreter.call_value(frame, args[0], [element], (), node)
    frame.needs_bool(verdict, node.args[0], TENSOR_TERNARY, at=node.at)
    return sequence("iter", None, element)


def _range(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    for arg, arg_node in zip(args, node.args, strict=False):
        if isinstance(arg, Host) and arg.origin == "data":
            frame.explain(TENSOR_LOOP_BOUND, node.at, arg_node)
    return sequence("iter", None, INT)


def _getattr(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    if len(args) < 2:
        return UNKNOWN
    name = args[1]
    if isinstance(name, Const) and isinstance(name.value, str):
        found = frame.interpreter.attribute(frame, args[0], name.value, node.at)
        return join(found, args[2]) if len(args) > 2 and found is not UNKNOWN else found
    return UNKNOWN


def _hasattr(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    if len(args) == 2 and isinstance(args[0], Tensor) and isinstance(args[1], Const) and isinstance(args[1].value, str):
        name = args[1].value
        apis, framework = frame.apis, args[0].framework
        if apis.method(framework, name) is not None or apis.attribute(framework, name) is not None:
            return TRUE
    return BOOL


def _setattr(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    if len(args) == 3 and isinstance(args[1], Const) and isinstance(args[1].value, str):
        frame.interpreter.store_attribute(frame, node.args[0], args[1].value, args[2])
    elif len(args) == 3 and _is_on_device(args[2]):  # an object that makes tensors of its arrays, whatever their names
        for name, value in list(frame.context.stores.items()):
            if type(value) is Tensor and value.framework == ARRAYS:
                frame.interpreter.store_attribute(frame, node.args[0], name, args[2])
    return NONE


def _is_on_device(value: Value) -> bool:
    return type(value) is Tensor and value.framework != ARRAYS


def _super(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    info = frame.function
    while info is not None and info.owner is None and info.ir.outer >= 0:
        info = info.module.functions[info.ir.outer]
    if info is None or info.owner is None:
        return UNKNOWN
    name = info.params[0].name if info.params else "self"
    receiver = frame.env.get(frame.scope.receiver_name or name) or frame.closure.get(name) or UNKNOWN
    return super_value(info.owner, receiver)


def _type(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    found = [_class_of(frame, member) for member in members(args[0])] if len(args) == 1 else []
    return join_all(kind if kind is not None else host("type") for kind in found) if found else host("type")


def _class_of(frame: Frame, value: Value) -> Value | None:
    """The class of a value, where it is known to the name."""
    if isinstance(value, Instance):
        return class_value(value.klass)
    if isinstance(value, Tensor):
        name = frame.libraries.of(value.framework).tensor_class
        return external(name) if name else None
    if isinstance(value, Sequence) and value.kind in ("list", "tuple", "set", "frozenset"):
        return external(f"builtins.{value.kind}")
    return external("builtins.dict") if isinstance(value, Mapping) else None


def _issubclass(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    if len(args) != 2 or not isinstance(args[0], (Class, LibrarySymbol)):
        return BOOL
    example = describe(frame, args[0])
    return boolean(is_instance(frame, example, args[1])) if example is not UNKNOWN else BOOL


def _callable(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    if args and isinstance(args[0], (Function, Class, Partial, Method)):
        return TRUE
    if args and isinstance(args[0], (Tensor, Const, Host)):
        return boolean(False)
    return BOOL


def _int_like(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    name = node.func.id if type(node.func) is ir.Name else "int"
    if not args:
        return host(name)
    if type(args[0]) is Const:
        known = args[0].value
        if name == "int" and isinstance(known, int):
            return args[0]
        if name == "float" and isinstance(known, (int, float, str)):
            return _float_of(known)
    return host(name, args[0].origin if isinstance(args[0], Host) else "python")


def _float_of(known: float | str) -> Value:
    try:
        return constant(float(known))
    except (ValueError, OverflowError):  # a call that raises an exception gives nothing
        return host("float")


def _bool(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    return boolean(truth(args[0]) if args else False)


def _str(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    for value in tensors(args[0]) if args else ():
        frame.read_in_turn(node.at, value, node.args[0] if node.args else None)
    return STR


def _sum(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    element = element_of(frame, args[0], node.at) if args else UNKNOWN
    if isinstance(element, Tensor) and not element.sure:
        _report_summed(frame, node.args[0])
    if isinstance(element, Const):
        return INT
    if type(element) is Tensor and element.dtype == "b":  # `0 + x`, and so on: truths are counted
        element = tensor(element.framework, "i", element.rank, element.place, element.sure, element.static)
    return join(element, args[1]) if len(args) > 1 and not isinstance(element, Tensor) else element


def _extreme(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    """`min`, `max`: compare their arguments, or the elements of one."""
    single = len(args) == 1
    if single and any(type(arg) is ir.Star for arg in node.args):
        compared = args
    elif single:
        source = args[0]
        items = source.items if isinstance(source, Sequence) else None
        if items is not None and len(items) == 1:
            return items[0]
        compared = list(items) if items else [element_of(frame, source, node.at)]
    else:
        compared = args
    return join_all(compared)


def _sort(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    element = element_of(frame, args[0], node.at) if args else UNKNOWN
    return sequence("list", None, element)


def _any_all(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    return BOOL


def _numeric(frame: Frame, args: Arguments, node: ir.Call) -> Value:
    """`abs`, `round`, `pow`, `divmod`: a tensor stays one."""
    for arg in args:
        if isinstance(arg, (Tensor, Union)):
            return arg
    return args[0] if args and isinstance(args[0], Host) else HOST


BUILTINS: Final[dict[str, Callable[[Frame, Arguments, ir.Call], Value]]] = {
    "isinstance": _isinstance,
    "issubclass": _issubclass,
    "len": _len,
    "list": _collector("list"),
    "tuple": _collector("tuple"),
    "set": _collector("set"),
    "frozenset": _collector("frozenset"),
    "dict": _dict,
    "enumerate": _enumerate,
    "zip": _zip,
    "reversed": _reverse,
    "iter": _iter,
    "next": _next,
    "map": _map,
    "filter": _filter,
    "range": _range,
    "getattr": _getattr,
    "hasattr": _hasattr,
    "setattr": _setattr,
    "super": _super,
    "type": _type,
    "callable": _callable,
    "int": _int_like,
    "float": _int_like,
    "complex": _int_like,
    "bool": _bool,
    "str": _str,
    "repr": _str,
    "format": _str,
    "sum": _sum,
    "min": _extreme,
    "max": _extreme,
    "sorted": _sort,
    "any": _any_all,
    "all": _any_all,
    "abs": _numeric,
    "round": _numeric,
    "pow": _numeric,
    "divmod": _numeric,
    "id": lambda frame, args, node: INT,
    "hash": lambda frame, args, node: INT,
    "ord": lambda frame, args, node: INT,
    "chr": lambda frame, args, node: STR,
    "vars": lambda frame, args, node: mapping((), UNKNOWN),
    "locals": lambda frame, args, node: mapping((), UNKNOWN),
    "globals": lambda frame, args, node: mapping((), UNKNOWN),
    "input": lambda frame, args, node: STR,
    "open": lambda frame, args, node: host("file"),
}

# --------------------------------------------------------------------------------------------------------- text

_USING: Final = (ir.Eval, ir.Assign, ir.AugAssign, ir.Return, ir.If)  # statements that may say what a name stands for
_PRINTED: Final = frozenset(("list", "tuple", "set", "frozenset", "dict"))


def is_text(value: Value) -> bool:
    """Return whether a value is surely a string."""
    return (type(value) is Const and isinstance(value.value, str)) or (type(value) is Host and value.type == "str")


def report_format(frame: Frame, value: Value, node: ir.Node, at: int, specified: bool) -> None:
    """Report a tensor that becomes text, by itself or in a container: that of its elements, unless the framework says what else."""
    for member in members(value):
        if isinstance(member, Tensor):
            _report_tensor(frame, member, value, node, at, specified)
        elif isinstance(member, Mapping) or (isinstance(member, Sequence) and member.kind in _PRINTED):
            element = member.element if isinstance(member, Sequence) else UNKNOWN
            for held in tensors(member):  # one of several alternatives is less sure
                _report_tensor(frame, held, element if held in members(element) else held, node, at, False)


def _report_tensor(frame: Frame, one: Tensor, value: Value, node: ir.Node, at: int, specified: bool) -> None:
    told = frame.libraries.of(one.framework).formatted
    if told is not None:
        told(frame, value, node, at, specified)
    else:
        frame.report(PRINT_TENSOR, at, value, node)


def report_percent(frame: Frame, text: Value, value: Value, at: int, node: ir.Node) -> None:
    """Report tensors among what `text % value` puts into a text: the elements of a tuple, those of a dict, or the value itself."""
    numbers = percent_numbers(text.value) if type(text) is Const and isinstance(text.value, str) else ()
    if isinstance(value, Mapping):
        values = [*(item for _, item in value.items), value.rest]
        _report_values(frame, [(one, node, any(numbers)) for one in values], at)
    elif isinstance(value, Sequence) and value.kind == "tuple" and value.items is not None:
        nodes = node.items if type(node) is ir.Display and len(node.items) == len(value.items) else ()
        asked = numbers if len(numbers) == len(value.items) else (False,) * len(value.items)
        parts = nodes or (node,) * len(value.items)
        _report_values(frame, list(zip(value.items, parts, asked, strict=True)), at)
    else:
        _report_values(frame, [(value, node, numbers == (True,))], at)


def report_braces(frame: Frame, text: Value, given: CallArguments, node: ir.Call) -> None:
    """Report tensors among what `text.format(…)` puts into a text."""
    fields = brace_fields(text.value) if type(text) is Const and isinstance(text.value, str) else []
    asked = {one.argument: one.asked for one in sorted(fields, key=lambda one: one.asked)}
    inside = {one.argument for one in fields if one.attributes} - {one.argument for one in fields if not one.attributes}
    named = dict(node.keywords)
    given_here = [(str(n), value, node.args[n] if n < len(node.args) else node) for n, value in enumerate(given.args)]
    given_here += [(name, value, named.get(name, node)) for name, value in given.keywords.items()]
    values = [(value, part, asked.get(name, False)) for name, value, part in given_here if name not in inside]
    values += [(value, node, False) for value in (given.rest, given.extra) if value is not None]
    nodes = {name: part for name, _, part in given_here}
    for one in fields:
        if one.attributes and path_of(nodes.get(one.argument, node)):
            read = nodes[one.argument]
            for name in one.attributes:
                read = ir.Attr(read, name, node.at)
            values.append((frame.eval(read), read, one.asked))
    _report_values(frame, values, node.at)


def _report_values(frame: Frame, values: list[tuple[Value, ir.Node, bool]], at: int) -> None:
    """Report at one place the tensors among values, those of which numbers are asked first."""
    for wanted in (True, False):
        for value, node, specified in values:
            if specified is wanted:
                report_format(frame, value, node, at, specified)


# --------------------------------------------------------------------------------------------- container methods


def container_method(frame: Frame, receiver: Value, name: str, args: Arguments, node: ir.Call) -> Value:
    """A call of a method of a list, tuple, set, dict or string."""
    if isinstance(receiver, Sequence):
        return _sequence_method(frame, receiver, name, args, node)
    if isinstance(receiver, Mapping):
        return _mapping_method(frame, receiver, name, args, node)
    return _STRING_RESULTS.get(name, STR)


_STRING_RESULTS: Final[dict[str, Value]] = {
    "split": sequence("list", None, STR),
    "rsplit": sequence("list", None, STR),
    "splitlines": sequence("list", None, STR),
    "partition": sequence("tuple", (STR, STR, STR), STR),
    "rpartition": sequence("tuple", (STR, STR, STR), STR),
    **dict.fromkeys(("startswith", "endswith", "isdigit", "isalpha", "isupper", "islower", "isnumeric"), BOOL),
    **dict.fromkeys(("count", "index", "find", "rfind", "rindex"), INT),
    "encode": host("bytes"),
}


def _check_append(frame: Frame, target: ir.Node | None, value: Value, node: ir.Call) -> None:
    """Report a tensor that a graph loop puts into a Python list from outside of the loop."""
    if type(target) is ir.Name and target.id in frame.loops.names_before and _surely_staged(frame, value):
        argument = node.args[0] if node.args else None
        frame.report(AUTOGRAPH_UNSUPPORTED, node.at, value, argument, "it does not leave the graph loop")


def _receiver_node(node: ir.Call) -> ir.Node | None:
    return node.func.value if type(node.func) is ir.Attr else None


def _sequence_method(frame: Frame, receiver: Sequence, name: str, args: Arguments, node: ir.Call) -> Value:
    target = _receiver_node(node)
    if name in ("append", "add", "appendleft") and args:
        if type(target) is ir.Name and frame.is_outer(target.id):
            frame.note(TRACE_TIME_EFFECT, node.at, "", spelling(node.func), "happens once, while tracing", "effect")
        if frame.loops.names_before:
            _check_append(frame, target, args[0], node)
        if target is not None:
            rebind(frame, target, sequence(receiver.kind, None, join(receiver.element, args[0])))
        return NONE
    if name in ("extend", "update", "extendleft") and args:
        if target is not None:
            rebind(frame, target, sequence(receiver.kind, None, join(receiver.element, element_of(frame, args[0]))))
        return NONE
    if name == "insert" and len(args) == 2:
        if target is not None:
            rebind(frame, target, sequence(receiver.kind, None, join(receiver.element, args[1])))
        return NONE
    if name in ("pop", "popleft"):
        if target is not None:
            rebind(frame, target, sequence(receiver.kind, None, receiver.element))
        if receiver.element is NEVER:
            return UNKNOWN
        first = name == "popleft" or (len(args) == 1 and args[0] is constant(0))
        return of_earlier_turn(receiver.element) if first else receiver.element  # what has waited longest in a queue
    if name in ("index", "count", "remove") and _is_told_apart(args[:1]):
        return INT
    if name in ("index", "count", "remove"):
        for value in (*args[:1], receiver.element):
            if any(isinstance(member, Tensor) for member in members(value)):
                frame.report(TENSOR_MEMBERSHIP, node.at, value, node.args[0] if node.args else None)
                break
        return INT
    if name in ("copy", "union", "intersection", "difference", "sorted"):
        return receiver
    if name == "numel":
        return host("int", "shape")
    if name in ("sort", "reverse", "clear", "discard"):
        compared = _first_compared(receiver.element) if name == "sort" and not node.keywords else UNKNOWN
        if any(isinstance(m, Tensor) for m in members(compared)):
            frame.report(TENSOR_MEMBERSHIP, node.at, compared, target)
        if target is not None and name != "clear":
            rebind(frame, target, sequence(receiver.kind, None, receiver.element))
        return NONE
    return UNKNOWN


def _is_told_apart(sought: list[Value]) -> bool:
    """Return whether what is looked for among tensors is None, or a text: no tensor answers that it equals such a thing."""
    return all(one is NONE or (type(one) is Const and isinstance(one.value, str)) for one in sought) and bool(sought)


def _first_compared(element: Value) -> Value:
    """Return what of the elements of a list decides on their order: of tuples the first item."""
    return join_all(
        leading(m)[0] if isinstance(m, Sequence) and m.kind == "tuple" and leading(m) else m for m in members(element)
    )


def _values_of(receiver: Mapping) -> Value:
    found = join_all([receiver.rest, *(value for _, value in receiver.items)])
    return found if found is not NEVER else UNKNOWN


def _mapping_method(frame: Frame, receiver: Mapping, name: str, args: Arguments, node: ir.Call) -> Value:
    target = _receiver_node(node)
    key = args[0] if args else UNKNOWN
    known = field(receiver.items, key.value) if isinstance(key, Const) and isinstance(key.value, str) else None
    default = args[1] if len(args) > 1 else NONE
    if name == "items":
        if receiver.rest is NEVER and 0 < len(receiver.items) <= 8:
            pairs = tuple(sequence("tuple", (constant(k), v), join(STR, v)) for k, v in receiver.items)
            return sequence("iter", pairs, join_all(pairs))
        value = _values_of(receiver)
        keys = STR if receiver.rest is NEVER else HOST
        return sequence("iter", None, sequence("tuple", (keys, value), join(keys, value)))
    if name == "values":
        return sequence("iter", None, _values_of(receiver))
    if name == "keys":
        return sequence("iter", None, STR if receiver.rest is NEVER else HOST)
    if name in ("get", "pop"):
        if known is not None:
            return known
        found = receiver.rest if isinstance(key, Const) else _values_of(receiver)
        plain = isinstance(default, Const) and isinstance(default.value, (bool, int, float, str))
        if plain or isinstance(default, (Sequence, Mapping)):
            # Who asks with a flag, a number, a name or a list for want of the item expects such: the dict's other values say nothing of it.
            found = join_all(m for m in members(found) if not isinstance(m, Tensor))
        return join(found if found is not NEVER else default, default) if name == "get" or len(args) > 1 else found
    if name == "setdefault" and len(args) == 2:
        if target is not None:
            rebind(frame, target, with_item(receiver, key, join(known or NEVER, args[1])))
        return join(known if known is not None else receiver.rest, args[1])
    if name == "update":
        if target is not None:
            added = args[0] if args else mapping((), NEVER)
            named = tuple(sorted((k, frame.eval(v)) for k, v in node.keywords if k))
            merged = dict(receiver.items)
            if isinstance(added, Mapping):
                merged.update(added.items)
            merged.update(named)
            rest = join(receiver.rest, added.rest if isinstance(added, Mapping) else UNKNOWN)
            rebind(frame, target, mapping(tuple(sorted(merged.items(), key=lambda item: item[0])), rest))
        return NONE
    if name == "copy":
        return receiver
    return NONE if name in ("clear", "move_to_end") else UNKNOWN


def is_container(value: Value) -> bool:
    """Return whether methods of the value are Python's own."""
    if isinstance(value, (Sequence, Mapping)):
        return True
    text = (isinstance(value, Const) and isinstance(value.value, str)) or (
        isinstance(value, Host) and value.type == "str"
    )
    return text and not isinstance(value, LibrarySymbol)
