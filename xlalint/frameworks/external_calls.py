"""Calls of library functions and classes by dotted name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xlalint.abstract.lattice import boolean, join, join_all, truth
from xlalint.abstract.values import (
    NEVER,
    NONE,
    STR,
    TRUE,
    UNKNOWN,
    Class,
    Const,
    Host,
    LibraryInstance,
    LibrarySymbol,
    Mapping,
    Sequence,
    Tensor,
    Value,
    constant,
    external,
    foreign,
    host,
    instance,
    mapping,
    members,
    partial,
    sequence,
    tensor,
    tensors,
)
from xlalint.frameworks.library_calls import LibraryCall
from xlalint.interpreter.arguments import Arguments
from xlalint.interpreter.attributes import RECORDS
from xlalint.interpreter.builtin_calls import BUILTINS, element_of, is_container
from xlalint.interpreter.frame import path_of
from xlalint.interpreter.paths import leads_to
from xlalint.lowering import ir
from xlalint.rules.codes import ITEM, NONZERO, TENSOR_MEMBERSHIP, TO_HOST

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.interpreter import Interpreter

# Functions that make a tensor of nothing but host values: without a device it is made in host memory.
_FACTORIES = frozenset(
    f"torch.{name}"
    for name in [
        "BoolTensor",
        "FloatTensor",
        "IntTensor",
        "LongTensor",
        "Tensor",
        "arange",
        "bartlett_window",
        "blackman_window",
        "complex",
        "empty",
        "empty_strided",
        "eye",
        "from_numpy",
        "full",
        "hamming_window",
        "hann_window",
        "kaiser_window",
        "linspace",
        "logspace",
        "normal",
        "ones",
        "polar",
        "rand",
        "randint",
        "randn",
        "randperm",
        "range",
        "scalar_tensor",
        "zeros",
    ]
)

Special = Callable[["Interpreter", "Frame", Arguments, ir.Call], Value]


def call_external(interpreter: Interpreter, frame: Frame, name: str, arguments: Arguments, node: ir.Call) -> Value:
    """Call the library's function or class of that name."""
    if name.startswith("builtins."):
        return _call_builtin(interpreter, frame, name, arguments, node)
    apis = interpreter.apis
    special = _SPECIAL.get(name) or _SPECIAL.get(apis.canonical(name))
    if special is not None:
        return special(interpreter, frame, arguments, node)
    entry = apis.function(name)
    if entry is not None:
        call = LibraryCall(
            frame, entry, None, _as_tensors(apis.canonical(name), arguments.args), arguments.pairs(), node
        )
        call.name = apis.canonical(name)
        call.makes = call.name in _FACTORIES
        return call.run()
    known = apis.type(name)
    if known is not None and known.kind == "tensor":
        return tensor(apis.framework(name) or "torch", known.dtype, known.rank)
    spec = apis.klass(name)
    if spec is not None:
        init = apis.class_method(name, "__init__")
        if init is not None:
            made = LibraryCall(frame, init, None, arguments.args, arguments.pairs(), node).run()
            if isinstance(made, LibraryInstance):
                return made
        return foreign(name)
    return UNKNOWN


# What takes nothing but tensors: an argument of which nothing else is known is one.
_OF_TENSORS = frozenset(
    f"torch.{name}" for name in ("unique", "unique_consecutive", "bincount", "nonzero", "argwhere", "equal", "allclose")
)


def _as_tensors(name: str, args: list[Value]) -> list[Value]:
    if name not in _OF_TENSORS or not args or args[0] is not UNKNOWN:
        return args
    return [tensor("torch", sure=False), *args[1:]]


def _call_builtin(interpreter: Interpreter, frame: Frame, name: str, arguments: Arguments, node: ir.Call) -> Value:
    handler = BUILTINS.get(name[9:])
    args = arguments.args if arguments.rest is None else [*arguments.args, arguments.rest]
    if name == "builtins.bool" and len(args) == 1 and is_container(args[0]):
        return boolean(truth(args[0]))
    if handler is None or name in _READERS:
        entry = interpreter.apis.function(name)
        if entry is not None and (handler is None or any(map(_holds_tensor, args))):
            call = LibraryCall(frame, entry, None, args, arguments.pairs(), node)
            if handler is None:
                return call.run()
            if name in _ORDERING and "key" in arguments.keywords:
                _order_by_key(interpreter, frame, arguments, node)
            elif (found := call.hazard()) is not None:
                return found
    return handler(frame, args, node) if handler is not None else UNKNOWN


# Builtins of which the tables say when they read a tensor, and for which frameworks that is a hazard.
_READERS = frozenset(
    f"builtins.{name}"
    for name in (
        "int",
        "float",
        "complex",
        "bool",
        "str",
        "repr",
        "format",
        "min",
        "max",
        "sorted",
        "any",
        "all",
        "range",
    )
)
_ORDERING = frozenset(("builtins.min", "builtins.max", "builtins.sorted"))


def _order_by_key(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> None:
    """Report an order by keys that are tensors: Python compares those."""
    compared = arguments.args if len(arguments.args) > 1 else [element_of(frame, arguments.args[0])]
    key = interpreter.call_value(frame, arguments.keywords["key"], [join_all(compared)], (), node)
    if any(isinstance(member, Tensor) for member in members(key)):
        frame.report(TENSOR_MEMBERSHIP, node.at, key, node.args[0] if node.args else None, "its keys are tensors")


def _holds_tensor(value: Value) -> bool:
    return next(iter(tensors(value, 1)), None) is not None


# --------------------------------------------------------------------------------------------------- specials


def _partial(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    if not arguments.args:
        return UNKNOWN
    return partial(arguments.args[0], tuple(arguments.args[1:]), tuple(sorted(arguments.keywords.items())))


def _first(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    return arguments.args[0] if arguments.args else UNKNOWN


def _copied(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`copy.copy`: of a tensor it pickles, which goes through the host; `copy.deepcopy` and `clone` do not."""
    value = _first(interpreter, frame, arguments, node)
    if any(isinstance(member, Tensor) and member.framework == "torch" for member in members(value)):
        frame.report(TO_HOST, node.at, value, node.args[0], "`copy.copy` pickles it", severity=_BREAKS)
    return value


def _second(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    return arguments.args[1] if len(arguments.args) > 1 else UNKNOWN


def _modules(kind: str) -> Special:
    def make(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
        if arguments.rest is not None:
            return sequence(kind, None, join_all([*arguments.args, arguments.rest]))
        if len(arguments.args) == 1 and isinstance(arguments.args[0], (Sequence, Mapping)):
            source = arguments.args[0]
            if isinstance(source, Mapping):
                values = tuple(value for _, value in source.items)
                return sequence(kind, None, join(join_all(values), source.rest))
            return sequence(kind, source.items, source.element)
        if kind == "modules":
            return sequence(kind, None, element_of(frame, arguments.args[0]) if arguments.args else NEVER)
        return sequence(kind, tuple(arguments.args), join_all(arguments.args))

    return make


def _module_dict(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    return arguments.args[0] if arguments.args and isinstance(arguments.args[0], Mapping) else mapping((), UNKNOWN)


def _parameters(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    return sequence("modules", None, tensor("torch", "f"))


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
    if len(arguments.args) < 2:
        return UNKNOWN
    element = element_of(frame, arguments.args[1])
    start = join(element, arguments.args[2]) if len(arguments.args) > 2 else element
    return join(start, interpreter.call_value(frame, arguments.args[0], [start, element], (), node))


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
_RECORD = "collections.namedtuple()"


def _record(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    names = str(arguments.args[0].value).split(",") if isinstance(arguments.args[0], Const) else []
    given = dict(zip(names, arguments.args[1:], strict=False))
    missing = arguments.rest if arguments.rest is not None else UNKNOWN
    items = tuple(given.get(name) or arguments.keywords.get(name) or missing for name in names)
    return interpreter.named_tuple(tuple(names), items)


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


def _size(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`torch.Size`: a tuple of ints, whatever it is made of."""
    given = arguments.args[0] if arguments.args else sequence("tuple", (), NEVER)
    dim = host("int", "shape")
    if not isinstance(given, Sequence) or given.items is None:
        return sequence("tuple", None, dim)
    items = tuple(item if type(item) in (Const, Host) else dim for item in given.items)
    return sequence("tuple", items, join_all(items))


def _finfo(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    return host("finfo")


def _iinfo(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    return host("iinfo")


def _device(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    value = arguments.args[0] if arguments.args else UNKNOWN
    return host("device:cpu") if isinstance(value, Const) and value.value == "cpu" else host("device")


def _tensor(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`torch.tensor` and `as_tensor`: the dtype and rank of the data; what it copies from the device."""
    data = arguments.args[0] if arguments.args else arguments.keywords.get("data", UNKNOWN)
    dtype_argument = arguments.keywords.get("dtype", arguments.args[1] if len(arguments.args) > 1 else None)
    from xlalint.frameworks.library_calls import dtype_of

    as_tensor = isinstance(node.func, ir.Attr) and node.func.name in ("as_tensor", "asarray")
    device = arguments.keywords.get("device")
    place = (
        "cpu"
        if frame.module.taught.tracks_place and device in (None, NONE, constant("cpu"), host("device:cpu"))
        else ""
    )
    named = dtype_of(dtype_argument) if dtype_argument is not None else ""
    results: list[Value] = []
    for member in members(data):
        if isinstance(member, Tensor):
            kept = member.framework == "torch" and as_tensor
            results.append(
                tensor("torch", named or member.dtype, member.rank, member.place if kept and device is None else place)
            )
            continue
        dtype, rank, held = _data_kind(member)
        written_out = bool(node.args) and isinstance(node.args[0], ir.Display)
        if held is not None and (written_out or not as_tensor):
            frame.report(
                ITEM,
                node.at,
                held,
                node.args[0] if node.args else None,
                "copies it through the host",
                severity=_CAPTURED,
            )
        results.append(tensor("torch", named or dtype, rank, place))
    return join_all(results) if results else tensor("torch", named, -1, place)


def _from_numpy(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`torch.from_numpy`: the array's dtype and rank, in host memory."""
    place = "cpu" if frame.module.taught.tracks_place else ""
    found = list(members(arguments.args[0])) if arguments.args else []
    arrays = [m for m in found if isinstance(m, Tensor) and m.framework == "numpy"]
    return (
        join_all(tensor("torch", m.dtype, m.rank, place) for m in arrays) if arrays else tensor("torch", "", -1, place)
    )


def _array(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`np.array` and `np.asarray`: what tables say of them, with the dtype and rank of the data."""
    entry = interpreter.apis.function("numpy.array")
    if entry is None:
        return UNKNOWN
    made = LibraryCall(frame, entry, None, arguments.args, arguments.pairs(), node).run()
    data = arguments.args[0] if arguments.args else UNKNOWN
    if isinstance(made, Tensor) and made.framework == "numpy" and made.rank < 0:
        dtype, rank, _ = _data_kind(data)
        if isinstance(data, Tensor):
            rank = data.rank
        return tensor("numpy", made.dtype or dtype, rank)
    return made


def _registered(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`nn.Parameter` and `nn.Buffer`: a tensor that moves with its module."""
    data = arguments.args[0] if arguments.args else arguments.keywords.get("data", UNKNOWN)
    found = [m for m in members(data) if isinstance(m, Tensor)]
    if not found:
        return tensor("torch", "f")
    return join_all(tensor("torch", m.dtype, m.rank, "", True) for m in found)


_CAPTURED = (("torch_compile", "off"),)
_BREAKS = (("torch_compile", "warning"),)


def _checkify(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """A check that must be made functional: nothing to report where the module does so."""
    name = "jax.experimental.checkify.check"
    interpreter.reader.read_whole(frame.module)
    functional = frame.module.unit.functions
    if "checkify" in frame.module.unit.calls or any("checkify" in f.calls or _checkified(f) for f in functional):
        return NONE
    entry = interpreter.apis.function(name)
    return UNKNOWN if entry is None else LibraryCall(frame, entry, None, arguments.args, arguments.pairs(), node).run()


def _checkified(function: ir.Function) -> bool:
    return any(
        isinstance(node, (ir.Attr, ir.Name)) and path_of(node).endswith("checkify") for node in function.decorators
    )


def _squeeze(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """XLA's dynamic sizes are bounds: what they bound cannot be squeezed without saying which axis."""
    if node.args and isinstance(node.args[0], ir.Call) and len(arguments.args) < 2 and "axis" not in arguments.keywords:
        frame.qualify(NONZERO, node.args[0].at, "static")
    entry = interpreter.apis.function("tensorflow.squeeze")
    return UNKNOWN if entry is None else LibraryCall(frame, entry, None, arguments.args, arguments.pairs(), node).run()


def _data_kind(value: Value, depth: int = 0) -> tuple[str, int, Value | None]:
    """The dtype and rank of an array made of host data, and the device tensor that the data holds, if any."""
    if isinstance(value, Sequence) and value.element is not NEVER:
        dtype, rank, held = _data_kind(value.element, depth + 1)
        return dtype, rank + 1 if rank >= 0 else -1, held
    found = [member for member in members(value) if isinstance(member, Tensor)]
    if found:
        held = value if found[0].framework != "numpy" else None
        return found[0].dtype, -1, held
    kinds = {"int": "i", "float": "f", "bool": "b", "complex": "c"}
    if isinstance(value, Const):
        return kinds.get(type(value.value).__name__, ""), 0, None
    if isinstance(value, Host):
        return kinds.get(value.type, ""), 0 if value.type in kinds else -1, None
    return "", -1, None


def _encoder(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`nn.TransformerEncoder`: of layers that take the batch first it packs padded input, unless told not to."""
    layer = arguments.args[0] if arguments.args else arguments.keywords.get("encoder_layer", UNKNOWN)
    nesting = arguments.args[3] if len(arguments.args) > 3 else arguments.keywords.get("enable_nested_tensor", TRUE)
    if layer is foreign("torch.nn.BatchFirstEncoderLayer") and nesting is TRUE:
        return foreign("torch.nn.NestingTransformerEncoder")
    return foreign("torch.nn.TransformerEncoder")


def _joined_path(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`os.path.join`: a path that leads to where its first part does."""
    origin = leads_to(arguments.args[0]) if arguments.args else ""
    return host("str", origin) if origin else STR


_SPECIAL: dict[str, Special] = {
    "torch.nn.TransformerEncoder": _encoder,
    "functools.partial": _partial,
    "functools.wraps": lambda i, f, a, n: UNKNOWN,
    "functools.lru_cache": _first,
    "functools.reduce": _reduce,
    "copy.copy": _copied,
    "copy.deepcopy": _first,
    "typing.cast": _second,
    "torch.nn.ModuleList": _modules("modules"),
    "torch.nn.Sequential": _modules("chain"),
    "torch.nn.ModuleDict": _module_dict,
    "torch.nn.ParameterDict": lambda i, f, a, n: mapping((), tensor("torch", "f")),
    "torch.nn.ParameterList": _parameters,
    "collections.defaultdict": _default_dict,
    "collections.OrderedDict": _ordered_dict,
    "collections.deque": lambda i, f, a, n: BUILTINS["list"](f, a.args, n),
    "collections.namedtuple": _record_class,
    _RECORD: _record,
    "transformers.HfArgumentParser": _parser_of_records,
    "transformers.hf_argparser.HfArgumentParser": _parser_of_records,
    "trl.TrlParser": _parser_of_records,
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
    "torch.finfo": _finfo,
    "torch.iinfo": _iinfo,
    "torch.device": _device,
    "torch.Size": _size,
    "torch.from_numpy": _from_numpy,
    "numpy.array": _array,
    "numpy.asarray": _array,
    "tensorflow.squeeze": _squeeze,
    "jax.experimental.checkify.check": _checkify,
    "torch.tensor": _tensor,
    "torch.nn.Parameter": _registered,
    "torch.nn.Buffer": _registered,
    "torch.as_tensor": _tensor,
    "os.path.join": _joined_path,
}

__all__ = ["call_external"]
