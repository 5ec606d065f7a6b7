"""Find where code asks for a GPU: devices that it names, and conditions on whether there is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from xlalint.frameworks.checks.call_site import XLA_DEVICES, asks_for, asks_for_device, speaks_of
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame
    from xlalint.program.linker import FunctionInfo, ModuleInfo

_CUDA: Final = "cuda"
_MODULE: Final = "torch.cuda."
_AVAILABLE: Final = f"{_MODULE}is_available"
_DEVICES: Final = ("torch.device", "device")
# What is called with a device as its first argument, and the names of arguments that are devices.
_TAKERS: Final = ("to", "device", "set_device")
_KEYWORDS: Final = ("device", "map_location")
_WORDS: Final = ("cuda", "gpu")
_DENIALS: Final = ("no", "without", "disable", "disabled", "cpu")
# What a condition speaks of that chooses among devices, in place of asking for a GPU.
_CHOICES: Final = (
    "tpu",
    "xla",
    "device",
    "accelerator",
    "neuron",
    "strategy",
    "backend",
    "is_cuda",
    "mps",
    "xpu",
    "npu",
)


def are_named(frame: Frame) -> bool:
    """Return whether what a frame runs speaks of GPUs at all: most code does not, and is asked at each assignment."""
    if frame.function is not None:
        return frame.function.answers(_names_devices)
    return _CUDA.encode() in frame.module.unit.body


def _names_devices(info: FunctionInfo) -> bool:
    return _CUDA.encode() in info.ir.body


def names_cuda(value: ir.Node) -> bool:
    """Return whether an expression holds the name of a GPU, or asks `torch.cuda` how many there are."""
    found = ir.walk((value,))
    return any(is_name(one) or counts(one) for one in found)


def is_name(node: object) -> bool:
    """Return whether an expression is "cuda", or that with a number, as it is written."""
    return isinstance(node, ir.Const) and isinstance(node.value, str) and node.value.partition(":")[0] == _CUDA


def is_formatted(node: ir.Node | None) -> bool:
    """Return whether an expression makes the name of a GPU: `f"cuda:{rank}"`, `"cuda:{}".format(rank)`, `"cuda:" + str(rank)`."""
    if isinstance(node, ir.Format):
        return node.head.partition(":")[0] == _CUDA
    if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name == "format":
        return is_name(node.func.value)
    return isinstance(node, ir.Bin) and is_name(node.left)


def is_given(frame: Frame, target: ir.Node) -> bool:
    """Return whether a name, or an attribute, is given as a device somewhere in the module: `model.to(device)`, `device=args.device`."""
    path = path_of(target)
    return bool(path) and path in frame.module.answers(_given_as_devices)


def is_named_above(frame: Frame, given: ir.Node) -> bool:
    """Return whether what is given as a device is a name that the module assigns a GPU's name to: `device = "cuda"`."""
    path = path_of(given)
    return bool(path) and path in frame.module.answers(_assigned_names)


def is_spelled(value: ir.Node) -> bool:
    """Return whether a value is a GPU's name, written or made."""
    return is_name(value) or is_formatted(value)


def _given_as_devices(module: ModuleInfo) -> frozenset[str]:
    calls = [one for one in _nodes(module) if isinstance(one, ir.Call)]
    return frozenset(path for one in calls for given in _devices_of(one) if (path := path_of(given)))


def _assigned_names(module: ModuleInfo) -> frozenset[str]:
    assigned = [one for one in _nodes(module) if isinstance(one, ir.Assign) and is_spelled(one.value)]
    return frozenset(path for one in assigned for target in one.targets if (path := path_of(target)))


def _nodes(module: ModuleInfo) -> list[object]:
    module.reader.read_whole(module)
    return ir.walk((module.body, *(info.body for info in module.functions)))


def _devices_of(call: ir.Call) -> Iterator[ir.Node]:
    yield from (value for name, value in call.keywords if name in _KEYWORDS)
    if call.args and path_of(call.func).rpartition(".")[2] in _TAKERS:
        yield call.args[0]


def is_about_name(test: ir.Node) -> bool:
    """Return whether a condition asks what a device is called: `"cuda" in device`, `device.startswith("cuda")`."""
    if isinstance(test, ir.Compare) and len(test.ops) == 1:
        sides = (test.left, test.rights[0])
        return any(map(is_name, sides)) and any(path_of(one) for one in sides)
    return isinstance(test, ir.Call) and path_of(test.func).endswith(".startswith") and any(map(is_name, test.args))


def count_in(value: ir.Node) -> ir.Call | None:
    """Return the call that counts the GPUs in a value, or in what is computed of it: `rank % torch.cuda.device_count()`."""
    if isinstance(value, ir.Bin):
        return count_in(value.left) or count_in(value.right)
    return value if isinstance(value, ir.Call) and counts(value) else None


def is_choice_of_types(value: ir.Node) -> bool:
    """Return whether a choice gives a type of tensors on a GPU: `torch.cuda.FloatTensor if cuda else torch.FloatTensor`."""
    return isinstance(value, ir.IfExp) and _is_type(path_of(value.body))


def _is_type(path: str) -> bool:
    return path.startswith(_MODULE) and path.endswith("Tensor")


def chosen_of(value: ir.Node) -> ir.IfExp | None:
    """Return the choice of `"cuda" if … else "cpu"`, which may stand in `torch.device(…)`; None of other expressions."""
    if isinstance(value, ir.Call) and len(value.args) == 1 and path_of(value.func) in _DEVICES:
        value = value.args[0]
    if not isinstance(value, ir.IfExp) or not (is_name(value.body) or is_formatted(value.body)):
        return None
    return value if isinstance(value.orelse, ir.Const) and value.orelse.value == "cpu" else None


def is_for_gpus(frame: Frame) -> bool:
    """Return whether what runs stands in a branch for GPUs, in a module that knows of no other device: `if args.cuda:`."""
    return asks_for_device(frame) and not asks_for(frame, _CHOICES) and frame.module.packages.isdisjoint(XLA_DEVICES)


def is_flag(test: ir.Node) -> bool:
    """Return whether a condition is what users say of GPUs alone: `args.cuda`."""
    return speaks_of((test,), _WORDS) and not speaks_of((test,), _CHOICES)


def counts(value: object) -> bool:
    """Return whether a value is the number of GPUs."""
    return isinstance(value, ir.Call) and path_of(value.func) == f"{_MODULE}device_count"


def asks_whether_there_is_one(frame: Frame) -> bool:
    """Return whether a branch around what runs asks `torch.cuda.is_available()` itself."""
    around = (*frame.paths.tests, *frame.paths.choices)
    return any(isinstance(one, ir.Call) and path_of(one.func) == _AVAILABLE for one in ir.walk(around))


def lacks_one(frame: Frame) -> bool:
    """Return whether what runs is left out where there is a GPU: it stands in the other branch of `if use_cuda:`."""
    if not frame.paths.tests or not _may_ask(frame) or not frame.module.packages.isdisjoint(XLA_DEVICES):
        return False
    return any(type(one) is ir.Not and _is_question(frame, one.value) for one in frame.paths.tests)


def wants_one(frame: Frame, test: ir.Node) -> bool:
    """Return whether a condition holds where there is a GPU, as far as that decides: `if use_cuda:`."""
    return _may_ask(frame) and _is_question(frame, test)


def _may_ask(frame: Frame) -> bool:
    """Return whether what a frame runs, or its module, has a word for GPUs: most code has none, and each read of a tensor asks."""
    own = frame.function is not None and frame.function.answers(_says_gpu)
    return own or frame.module.answers(_begins_with_gpu)


def _begins_with_gpu(module: ModuleInfo) -> bool:
    return _has_word(module.unit.body)


def _says_gpu(info: FunctionInfo) -> bool:
    return _has_word(info.ir.body)


def _has_word(text: bytes) -> bool:
    text = text.lower()
    return any(word.encode() in text for word in _WORDS)


def _is_question(frame: Frame, test: ir.Node) -> bool:
    """Return whether a condition asks for a GPU and nothing else, by what users say too: `not no_cuda and torch.cuda.is_available()`."""
    if type(test) is ir.Bool:
        return test.is_and and all(_is_question(frame, one) for one in test.values)
    if type(test) is ir.Not:
        return is_flag(test.value) and speaks_of((test.value,), _DENIALS)
    if type(test) is ir.Attr and test.name == "is_cuda":
        return True
    return asks(frame, test) or (bool(path_of(test)) and is_flag(test) and not speaks_of((test,), _DENIALS))


def question_of(value: ir.Node) -> ir.Call | None:
    """Return the call that asks for a GPU in what sets a flag: `not args.no_cuda and torch.cuda.is_available()`; None of other values."""
    if isinstance(value, ir.Bool):
        return next((found for one in value.values if (found := question_of(one)) is not None), None)
    if isinstance(value, ir.IfExp) and value.body == ir.Const(True) and value.orelse == ir.Const(False):
        return question_of(value.test)
    return value if isinstance(value, ir.Call) and path_of(value.func) == _AVAILABLE else None


def is_skipped(frame: Frame) -> bool:
    """Return whether what a frame runs is a test that is left out without a GPU: `@skipIf(not torch.cuda.is_available())`."""
    return frame.function is not None and frame.function.answers(_is_skipped)


def _is_skipped(info: FunctionInfo) -> bool:
    around = [info, *info.enclosing()]
    decorators = [
        one for each in around for one in (*each.ir.decorators, *(each.owner.ir.decorators if each.owner else ()))
    ]
    return any(isinstance(one, ir.Call) and _skips(one) for one in decorators)


def _skips(decorator: ir.Call) -> bool:
    condition = next(iter(decorator.args), dict(decorator.keywords).get("condition"))
    name = path_of(decorator.func).rpartition(".")[2].lower()
    if name == "skipunless":
        return condition is not None and _asks(condition)
    return name == "skipif" and condition is not None and _lacks(condition)


def _lacks(test: ir.Node) -> bool:
    """Return whether a condition holds wherever there is no GPU."""
    if isinstance(test, ir.Bool):
        return not test.is_and and any(map(_lacks, test.values))
    return isinstance(test, ir.Not) and _asks(test.value)


def asks(frame: Frame, test: ir.Node) -> bool:
    """Return whether a condition holds only where there is a GPU: it asks for one, or is a flag that was set by asking."""
    if _asks(test):
        return True
    name = path_of(test)
    if not name:
        return False
    own = frame.function is not None and name in frame.function.answers(_name_flags)
    return own or name in frame.module.answers(_name_flags_of_module)


def _asks(test: ir.Node) -> bool:
    if isinstance(test, ir.Bool):
        return test.is_and and any(map(_asks, test.values))
    return isinstance(test, ir.Call) and path_of(test.func) == _AVAILABLE


def _name_flags(info: FunctionInfo) -> frozenset[str]:
    return _set_by_asking(info.body)


def _name_flags_of_module(module: ModuleInfo) -> frozenset[str]:
    return _set_by_asking(module.body)


def _set_by_asking(body: tuple[ir.Statement, ...]) -> frozenset[str]:
    """The flags that a body sets to the answer of who asks for a GPU."""
    found = [one for one in ir.walk(body) if type(one) is ir.Assign and _asks(one.value)]
    return frozenset([path_of(target) for one in found for target in one.targets])
