"""Calls of Python's own library that API tables cannot express."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.lattice import join, join_all
from xlalint.abstract.values import (
    HOST,
    NONE,
    STR,
    UNKNOWN,
    Class,
    Const,
    Function,
    Instance,
    LibrarySymbol,
    Mapping,
    Sequence,
    Value,
    constant,
    external,
    foreign,
    host,
    instance,
    mapping,
    members,
    partial,
    record_fields,
    sequence,
    tensors,
)
from xlalint.interpreter.arguments import Arguments, parameters_of
from xlalint.interpreter.attributes import RECORDS
from xlalint.interpreter.builtin_calls import BUILTINS, element_of
from xlalint.interpreter.paths import leads_to
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.interpreter.semantics import Special


def _partial(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    if not arguments.args:
        return UNKNOWN
    return partial(arguments.args[0], tuple(arguments.args[1:]), tuple(sorted(arguments.keywords.items())))


def _first(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    return arguments.args[0] if arguments.args else UNKNOWN


def _cast(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`typing.cast`: the value as it is known, and as the type says where it is not; None only where the type lets it be."""
    if len(arguments.args) < 2:
        return UNKNOWN
    declared = interpreter.annotations.value(frame.module, node.args[0])
    if declared is None:
        return arguments.args[1]
    known = [m for m in members(arguments.args[1]) if m is not UNKNOWN and (m is not NONE or NONE in members(declared))]
    unclear = UNKNOWN in members(arguments.args[1])
    return join_all([declared, *known] if unclear or not known else known)


def _default_dict(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    made = arguments.args[0] if arguments.args else NONE
    if made is NONE:
        return mapping((), UNKNOWN)
    return mapping((), interpreter.call_value(frame, made, [], (), node))


def _ordered_dict(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    return BUILTINS["dict"](frame, arguments.args, node)


def _chain(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    sources = [*arguments.args, *([arguments.rest] if arguments.rest is not None else [])]
    return sequence("iter", None, join_all(element_of(frame, source) for source in sources))


def _chain_from(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    inner = element_of(frame, arguments.args[0]) if arguments.args else UNKNOWN
    return sequence("iter", None, element_of(frame, inner))


def _product(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    elements = tuple(element_of(frame, source) for source in arguments.args)
    return sequence("iter", None, sequence("tuple", elements, join_all(elements)))


def _pick(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    return sequence("iter", None, element_of(frame, arguments.args[0]) if arguments.args else UNKNOWN)


def _accumulate(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    element = element_of(frame, arguments.args[0]) if arguments.args else UNKNOWN
    return sequence("iter", None, element)


def _reduce(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`functools.reduce`: the first call gets what it is given to start with, else an element; later calls get what it gave."""
    if len(arguments.args) < 2:
        return UNKNOWN
    element = element_of(frame, arguments.args[1])
    start = arguments.args[2] if len(arguments.args) > 2 else element
    made = interpreter.call_value(frame, arguments.args[0], [start, element], (), node)
    so_far = join(start, made)
    if so_far is start:
        return start
    return join(so_far, interpreter.call_value(frame, arguments.args[0], [so_far, element], (), node))


def _group_by(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    element = element_of(frame, arguments.args[0]) if arguments.args else UNKNOWN
    key = element
    if len(arguments.args) > 1:
        key = interpreter.call_value(frame, arguments.args[1], [element], (), node)
    pair = (key, sequence("iter", None, element))
    return sequence("iter", None, sequence("tuple", pair, join_all(pair)))


def _record_class(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`collections.namedtuple`: a class whose instances are tuples with names."""
    listed = arguments.args[1] if len(arguments.args) > 1 else arguments.keywords.get("field_names", UNKNOWN)
    names = [listed] if isinstance(listed, Const) else list(listed.items or ()) if isinstance(listed, Sequence) else []
    fields = [part for name in names if isinstance(name, Const) for part in str(name.value).replace(",", " ").split()]
    return partial(external(_RECORD), (constant(",".join(fields)),), ()) if fields else UNKNOWN


# What calling a class made by `collections.namedtuple` stands for; its first argument is the names.
_RECORD: Final = "collections.namedtuple()"


def _record(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    names = str(arguments.args[0].value).split(",") if isinstance(arguments.args[0], Const) else []
    given = dict(zip(names, arguments.args[1:], strict=False))
    missing = arguments.rest if arguments.rest is not None else UNKNOWN
    items = tuple(given.get(name) or arguments.keywords.get(name) or missing for name in names)
    return interpreter.named_tuple(tuple(names), items)


def _copy_record(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`dataclasses.replace(record, name=value)`: a record of the same class, with these values for those of its fields."""
    return join_all(_with_fields(one, arguments) for one in members(arguments.args[0])) if arguments.args else UNKNOWN


def _with_fields(record: Value, arguments: Arguments) -> Value:
    if not isinstance(record, Instance):
        return UNKNOWN
    kept = () if arguments.extra is not None else record.fields
    return instance(record.klass, record_fields({**dict(kept), **arguments.keywords}), record.made)


def _signature(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`inspect.signature`: of a function of the program the names of its parameters are known."""
    return _list_parameters(interpreter, arguments, "parameters", "tuple")


def _full_signature(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`inspect.getfullargspec`."""
    return _list_parameters(interpreter, arguments, "args", "list")


def _list_parameters(interpreter: Interpreter, arguments: Arguments, attribute: str, kind: str) -> Value:
    params = parameters_of(arguments.args[0]) if arguments.args else None
    if params is None:
        return HOST
    names = tuple(constant(param.name) for param in params)
    return interpreter.named_tuple((attribute,), (sequence(kind, names, STR),))


def _parser_of_records(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`HfArgumentParser((ModelArguments, TrainingArguments))`: what it parses are instances of these."""
    listed = arguments.args[0] if arguments.args else arguments.keywords.get("dataclass_types", UNKNOWN)
    types = listed.items if isinstance(listed, Sequence) and listed.items is not None else (listed,)
    made = [_instance_of(one) for one in types]
    return partial(external(RECORDS), (sequence("tuple", tuple(made), join_all(made)),), ())


def _instance_of(klass: Value) -> Value:
    if isinstance(klass, Class):
        return instance(klass.info)
    return foreign(klass.name) if isinstance(klass, LibrarySymbol) else UNKNOWN


def _join_path(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`os.path.join`: a path that leads to where its first part does."""
    origin = leads_to(arguments.args[0]) if arguments.args else ""
    return host("str", origin) if origin else STR


_SHOWING: Final = frozenset(("set_postfix", "add_scalar", "add_scalars", "add_histogram", "log_metric", "scalar"))


def show_progress(frame: Frame, node: ir.Call, callees: tuple[Value, ...], arguments: Arguments) -> None:
    """Note what a progress bar or a writer of summaries makes a text or a number of in each turn: the host waits for that.

    `tqdm(data)` stands for what it goes over, of which its own methods are unknown. A writer that is handed around is of no known class.
    A method of the program's says itself what it does.
    """
    func = node.func
    if not frame.loops.dispatches or type(func) is not ir.Attr or func.name not in _SHOWING:
        return
    if any(type(callee) is Function for callee in callees):
        return
    shown = list(zip(node.args, arguments.args, strict=False))
    shown += [(part, arguments.keywords[name]) for name, part in node.keywords if name in arguments.keywords]
    for part, value in shown:
        for one in tensors(value):
            frame.read_in_turn(node.at, one, _entry_read(part, value))


def _entry_read(node: ir.Node, value: Value) -> ir.Node:
    """Return the entry of a dict that is written out which holds a tensor; anything else as it is."""
    if type(node) is not ir.DictDisplay or type(value) is not Mapping:
        return node
    held = {name for name, item in value.items if any(tensors(item))}
    entries = zip(node.keys, node.values, strict=True)
    return next((entry for key, entry in entries if type(key) is ir.Const and key.value in held), node)


FUNCTIONS: Final[dict[str, Special]] = {
    "functools.partial": _partial,
    "functools.wraps": lambda i, f, a, n: UNKNOWN,
    "functools.lru_cache": _first,
    "functools.reduce": _reduce,
    "copy.deepcopy": _first,
    "copy.replace": _copy_record,
    "dataclasses.replace": _copy_record,
    "typing.cast": _cast,
    "collections.defaultdict": _default_dict,
    "collections.OrderedDict": _ordered_dict,
    "collections.deque": lambda i, f, a, n: BUILTINS["list"](f, a.args, n),
    "collections.namedtuple": _record_class,
    _RECORD: _record,
    "transformers.HfArgumentParser": _parser_of_records,
    "transformers.hf_argparser.HfArgumentParser": _parser_of_records,
    "trl.TrlParser": _parser_of_records,
    "inspect.signature": _signature,
    "inspect.getfullargspec": _full_signature,
    "itertools.chain": _chain,
    "itertools.chain.from_iterable": _chain_from,
    "itertools.product": _product,
    "itertools.zip_longest": lambda i, f, a, n: BUILTINS["zip"](f, a.args, n),
    "itertools.islice": _pick,
    "itertools.cycle": _pick,
    "itertools.repeat": lambda i, f, a, n: sequence("iter", None, a.args[0] if a.args else UNKNOWN),
    "itertools.count": lambda i, f, a, n: sequence("iter", None, host("int")),
    "itertools.accumulate": _accumulate,
    "itertools.groupby": _group_by,
    "os.path.join": _join_path,
}
