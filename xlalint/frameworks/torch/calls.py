"""Calls of PyTorch that API tables cannot express."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.lattice import join, join_all
from xlalint.abstract.values import (
    NEVER,
    NONE,
    TRUE,
    UNKNOWN,
    Const,
    Host,
    Mapping,
    Sequence,
    Tensor,
    Value,
    constant,
    foreign,
    host,
    mapping,
    members,
    sequence,
    tensor,
    tensors,
)
from xlalint.frameworks.torch import distributions
from xlalint.frameworks.torch.cuda_devices import lacks_one
from xlalint.frameworks.torch.shown_target import trains_by_library
from xlalint.frameworks.torch.tpu_tensors import is_on_tpu
from xlalint.interpreter.arguments import Arguments
from xlalint.interpreter.builtin_calls import element_of
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.library_calls import LibraryCall, dtype_of, kind_of_data
from xlalint.interpreter.loop_names import names_bound
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir
from xlalint.rules.codes import ITEM, TO_HOST

if TYPE_CHECKING:
    from xlalint.api_tables.entries import Spec
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.interpreter.semantics import Special
    from xlalint.program.linker import ModuleInfo


_CAPTURED: Final = (("torch_compile", "off"),)
_MOVING: Final = frozenset(("to", "type_as"))
_TPU_TARGET: Final = "torch_tpu"
_BREAKS: Final = (("torch_compile", "warning"),)


def _first(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    return arguments.args[0] if arguments.args else UNKNOWN


def _copy(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`copy.copy`: of a tensor it pickles, which goes through the host; `copy.deepcopy` and `clone` do not."""
    value = _first(interpreter, frame, arguments, node)
    if any(isinstance(member, Tensor) and member.framework == "torch" for member in members(value)):
        frame.report(TO_HOST, node.at, value, node.args[0], "`copy.copy` pickles it", severity=_BREAKS)
    return value


def check_moved(call: LibraryCall, _spec: Spec, _result: Value) -> None:
    """Report a tensor that is moved to where another one is, in host memory: `x.to(y)` copies it as `x.cpu()` does."""
    func = call.node.func
    if call.receiver is None or type(func) is not ir.Attr or func.name not in _MOVING or len(call.node.args) != 1:
        return
    other = call.argument("device")
    if type(other) is Tensor and other.framework == "torch" and other.place == "cpu" and other.sure:
        call.frame.report(TO_HOST, call.node.at, call.receiver, func.value, "the other tensor is in host memory")


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

    as_tensor = type(node.func) is ir.Attr and node.func.name in ("as_tensor", "asarray")
    device = arguments.keywords.get("device")
    on_host = device in _ON_HOST or ((device is None or device is NONE) and interpreter.makes_on_host("torch"))
    place = "cpu" if on_host and frame.module.taught.tracks_place else ""
    named = dtype_of(dtype_argument) if dtype_argument is not None else ""
    results: list[Value] = []
    for member in members(data):
        if isinstance(member, Tensor):
            kept = member.framework == "torch" and as_tensor
            results.append(
                tensor("torch", named or member.dtype, member.rank, member.place if kept and device is None else place)
            )
            continue
        dtype, rank, held = kind_of_data(member)
        written_out = bool(node.args) and type(node.args[0]) is ir.Display
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


def convert_unknown(frame: Frame, arguments: Arguments, node: ir.Call) -> Value | None:
    """Run `x.to(dtype)`, `x.type(dtype)` and `x.to("cpu")` of what is not known: in code that steps run, that is a tensor. What an object
    keeps may be a module, and so is what a class makes. What a loop over steps gives is a batch, wherever it is moved to."""
    if type(node.func) is not ir.Attr or node.func.name not in _CONVERTING or _is_made_by_class(node.func.value):
        return None
    root = path_of(node.func.value).partition(".")[0]
    if root and root == frame.scope.receiver_name:
        return None
    if frame.interpreter.annotations.framework(frame.module) != "torch":
        return None
    given = [*arguments.args[:2], *(arguments.keywords.get(name, UNKNOWN) for name in ("device", "dtype"))]
    entry = frame.apis.method("torch", node.func.name)
    if entry is None:
        return None
    if not (any(dtype_of(value) or value in _ON_HOST for value in given) or _is_of_batch(frame, node.func.value)):
        return None
    receiver = tensor("torch", sure=False)
    return LibraryCall(frame, entry, receiver, arguments.args, arguments.pairs(), node).run()


def _is_of_batch(frame: Frame, node: ir.Node) -> bool:
    """Return whether an expression is what the turns of a loop over steps bind, or an element of that."""
    while type(node) is ir.Sub:
        node = node.value
    turn = frame.loops.turn
    if turn is None or type(turn.loop) is not ir.For or not frame.context.per_turn or not frame.loops.depth:
        return False
    return type(node) is ir.Name and node.id in names_bound(turn.loop.target)


def sets_default_device(module: ModuleInfo) -> bool:
    """Return whether code of a module has tensors made on a device where nothing says where: `torch.set_default_device("cuda")`."""
    bodies = [(module.unit.calls, module.unit.body), *((info.ir.calls, info.ir.body) for info in module.functions)]
    return any(
        ("set_default_device" in calls and _sets_device(body))
        or ("set_default_tensor_type" in calls and b"cuda" in body)
        for calls, body in bodies
    )


def _sets_device(body: bytes) -> bool:
    """Return whether an encoded body sets another default device than the host's, `torch.set_default_device("cpu")`."""
    calls = [one for one in ir.walk(ir.decode_body(body)) if type(one) is ir.Call]
    setting = [one for one in calls if last_name(one.func) == "set_default_device"]
    return any(not any(type(one) is ir.Const and one.value == "cpu" for one in ir.walk(call.args)) for call in setting)


def _is_made_by_class(node: ir.Node) -> bool:
    """Return whether an expression calls what its name says to be a class: `Encoder(width)`."""
    return type(node) is ir.Call and last_name(node.func)[:1].isupper()


def withholds(call: LibraryCall, spec: Spec) -> bool:
    """Return whether a call does not do what a table says of it: the program has set it not to, or could not have run so."""
    if spec.returns.kind == "hostlike" and call.frame.module.taught.tracks_place and lacks_one(call.frame):
        return True  # nothing is on a device then
    return distributions.withholds(call, spec) or _is_refused(call, spec) or _is_in_host_memory(call, spec)


def _is_refused(call: LibraryCall, spec: Spec) -> bool:
    """Return whether a call takes a tensor for an array that is surely on a TPU: it raises, and a rule of its own says so."""
    of_array = spec.variant == "numpy" and _TPU_TARGET in call.frame.module.taught.targets
    return of_array and any(is_on_tpu(call.frame, node) for _, node in _list_converted(call))


def _is_in_host_memory(call: LibraryCall, spec: Spec) -> bool:
    """Return whether a call shows a tensor to be in host memory: on a GPU, and on a TPU, it raises without `.cpu()`.

    So it is, whatever else says what the tensor is, in a program whose steps run on a device, or which a library trains on one; and where
    nothing says it, of `x.numpy()`.
    """
    if spec.variant != "numpy":
        return False
    given = _list_converted(call)
    found = [one for value, _ in given for one in tensors(value) if one.framework == "torch"]
    drivers, module = call.frame.interpreter.drivers, call.frame.module
    unsaid = call.receiver is not None and not any(one.sure for one in found) and not drivers.names_no_device(module)
    trains = call.frame.interpreter.some_module
    if not (unsaid or drivers.names_device(module) or trains.of(trains_by_library)):
        return False
    for _, node in given:
        _keep_in_host_memory(call.frame, node)
    return bool(found)


def _list_converted(call: LibraryCall) -> list[tuple[Value, ir.Node]]:
    """List what `x.numpy()` or `np.rot90(x)` takes for an array, with its expression."""
    func = call.node.func
    if call.receiver is None:
        return list(call.select_arguments(("*",)))
    forced = call.node.args or call.node.keywords  # `force=True` copies it
    return [(call.receiver, func.value)] if type(func) is ir.Attr and func.name == "numpy" and not forced else []


def _keep_in_host_memory(frame: Frame, node: ir.Node) -> None:
    """Take a tensor for one in host memory from here on, also one of which `x.data` or `x.detach()` was shown to be there."""
    while True:
        if type(node) is ir.Attr and node.name == "data":
            node = node.value
        elif type(node) is ir.Call and type(node.func) is ir.Attr and node.func.name == "detach":
            node = node.func.value
        else:
            break
    path = path_of(node)
    if path:
        frame.refine(path, join_all([_in_host_memory(one) for one in members(frame.eval(node))]))


def _in_host_memory(value: Value) -> Value:
    if not isinstance(value, Tensor):
        return value
    return tensor(value.framework, value.dtype, value.rank, "cpu", value.sure, value.static)


def prove_by_gradient(frame: Frame, arguments: Arguments, node: ir.Call) -> Value | None:
    """Run `loss.backward()` of what is not known: behind it, that is a tensor. Engines are given the loss, and are none."""
    func = node.func
    if type(func) is not ir.Attr or func.name != "backward" or arguments.args or type(func.value) is not ir.Name:
        return None
    name = func.value.id
    if name == frame.scope.receiver_name or frame.interpreter.annotations.framework(frame.module) != "torch":
        return None
    shown = tensor("torch", "f", sure=False)
    frame.refine(name, join_all([shown if one is UNKNOWN else one for one in members(frame.lookup(name))]))
    return NONE


def write_summary(frame: Frame, arguments: Arguments, node: ir.Call) -> Value | None:
    """Run `writer.add_scalar(tag, x)` of what is not known: a writer of summaries, PyTorch's own or tensorboardX's."""
    func = node.func
    if type(func) is not ir.Attr or func.name not in _WRITING:
        return None
    entry = frame.apis.class_method("torch.utils.tensorboard.SummaryWriter", func.name)
    if entry is None or frame.interpreter.annotations.framework(frame.module) != "torch":
        return None
    frame.paths.ambiguous_callee += 1
    written = LibraryCall(frame, entry, None, arguments.args, arguments.pairs(), node).run()
    frame.paths.ambiguous_callee -= 1
    return written


_WRITING: Final = frozenset(("add_scalar", "add_scalars", "add_histogram", "add_image"))
_ON_HOST: Final = (constant("cpu"), host("device:cpu"))
_CONVERTING: Final = ("to", "type")


def _from_numpy(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`torch.from_numpy`: the array's dtype and rank, in host memory."""
    place = "cpu" if frame.module.taught.tracks_place else ""
    found = list(members(arguments.args[0])) if arguments.args else []
    arrays = [m for m in found if isinstance(m, Tensor) and m.framework == "numpy"]
    return (
        join_all(tensor("torch", m.dtype, m.rank, place) for m in arrays) if arrays else tensor("torch", "", -1, place)
    )


def _register(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`nn.Parameter` and `nn.Buffer`: a tensor that moves with its module."""
    data = arguments.args[0] if arguments.args else arguments.keywords.get("data", UNKNOWN)
    found = [m for m in members(data) if isinstance(m, Tensor)]
    if not found:
        return tensor("torch", "f")
    return join_all(tensor("torch", m.dtype, m.rank, "", True) for m in found)


def _encoder(interpreter: Interpreter, frame: Frame, arguments: Arguments, node: ir.Call) -> Value:
    """`nn.TransformerEncoder`: of layers that take the batch first it packs padded input, unless told not to."""
    layer = arguments.args[0] if arguments.args else arguments.keywords.get("encoder_layer", UNKNOWN)
    nesting = arguments.args[3] if len(arguments.args) > 3 else arguments.keywords.get("enable_nested_tensor", TRUE)
    if layer is foreign("torch.nn.BatchFirstEncoderLayer") and nesting is TRUE:
        return foreign("torch.nn.NestingTransformerEncoder")
    return foreign("torch.nn.TransformerEncoder")


# Functions that make a tensor of nothing but host values: without a device it is made in host memory.
FACTORIES: Final = frozenset(
    f"torch.{name}"
    for name in [
        "BoolTensor",
        "ByteTensor",
        "CharTensor",
        "DoubleTensor",
        "FloatTensor",
        "HalfTensor",
        "IntTensor",
        "LongTensor",
        "ShortTensor",
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
# What makes a tensor, on a device that it is told: those, what copies data, and what takes its shape of another tensor.
MAKERS: Final = FACTORIES | {
    f"torch.{name}"
    for name in (
        "as_tensor",
        "asarray",
        "empty_like",
        "full_like",
        "ones_like",
        "rand_like",
        "randint_like",
        "randn_like",
        "tensor",
        "zeros_like",
    )
}
MAKING_METHODS: Final = ("new_empty", "new_full", "new_ones", "new_tensor", "new_zeros")
# What takes nothing but tensors: an argument of which nothing else is known is one; of integers, where nothing else will do.
OF_TENSORS: Final = {
    f"torch.{name}": "i" if name in ("bincount", "nn.functional.one_hot") else ""
    for name in (
        "unique",
        "unique_consecutive",
        "bincount",
        "nonzero",
        "argwhere",
        "equal",
        "allclose",
        "autograd.grad",
        "inverse",
        "linalg.cholesky",
        "linalg.inv",
        "linalg.ldl_factor",
        "linalg.lu_factor",
        "linalg.solve",
        "linalg.tensorinv",
        "linalg.tensorsolve",
        "masked_select",
        "nn.functional.one_hot",
    )
}

FUNCTIONS: Final[dict[str, Special]] = {
    "torch.nn.TransformerEncoder": _encoder,
    "copy.copy": _copy,
    "torch.nn.ModuleList": _modules("modules"),
    "torch.nn.Sequential": _modules("chain"),
    "torch.nn.ModuleDict": _module_dict,
    "torch.nn.ParameterDict": lambda i, f, a, n: mapping((), tensor("torch", "f")),
    "torch.nn.ParameterList": _parameters,
    "torch.finfo": _finfo,
    "torch.iinfo": _iinfo,
    "torch.device": _device,
    "torch.Size": _size,
    "torch.from_numpy": _from_numpy,
    "torch.tensor": _tensor,
    "torch.nn.Parameter": _register,
    "torch.nn.Buffer": _register,
    "torch.as_tensor": _tensor,
}


def of_any_module(arguments: Arguments) -> Value:
    """Return what a module of which no more is known makes of tensors: most often a tensor."""
    given = arguments.args[0] if arguments.args else None
    if isinstance(given, Tensor) and given.framework == "torch":
        return tensor("torch", sure=False)
    return UNKNOWN
