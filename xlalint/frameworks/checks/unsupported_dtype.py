"""XLA603: dtypes that a TPU computes by other means, or that the framework takes for narrower ones.

Seen with libtpu 0.0.51 (v5e), torch_xla 2.9.0, tensorflow-tpu 2.20 and JAX 0.10.2: the page says what each costs. Strings are XLA601's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.values import Tensor, Value, tensor
from xlalint.analysis.hazard import Confidence
from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.frame import device_tensor
from xlalint.interpreter.spelling import position
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.api_tables.entries import Spec
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.library_calls import LibraryCall
    from xlalint.program.linker import FunctionInfo, ModuleInfo

_WIDE: Final = {"float64": "float64", "double": "float64", "complex128": "complex128", "cdouble": "complex128"}
_BYTES: Final = tuple(word.encode() for word in _WIDE)
_CASTS: Final = frozenset(("double", "cdouble"))
_SWITCH: Final = ("jax_enable_x64", "enable_x64", "JAX_ENABLE_X64")
_PRODUCTS: Final = frozenset(("addmm", "addmv", "baddbmm", "bmm", "dot", "inner", "matmul", "mm", "mv"))
_FACTORS: Final = 2
_SETTERS: Final = ("update", "setdefault", "putenv")
# What holds of TPUs alone.
_ON_TPU: Final = tuple((f"{target}:{device}", "off") for target in ("torch_xla", "tf") for device in ("gpu", "cpu"))
_EMULATED: Final = (*_ON_TPU, ("jax:gpu", "off"), ("jax:cpu", "off"))


def names_wide(info: FunctionInfo) -> bool:
    """Return whether a function's body may name such a dtype."""
    return any(word in info.ir.body for word in _BYTES)


def check_dtype(call: LibraryCall, _spec: Spec, result: Value) -> None:
    """Report a call that asks for a wide dtype, where what it gives is on the device."""
    frame = call.frame
    framework = call.entry.framework
    if frame.function is None or framework not in frame.libraries.names or not frame.function.answers(names_wide):
        return
    found = _find_dtype(call)
    made = device_tensor(result)
    if found is None or made is None or made.framework != framework:
        return
    word, node = found
    at = (position(node) if node is not None else 0) or call.node.at
    dtype = _WIDE[word]
    variant, severity, at_most = "", _EMULATED, Confidence.LIKELY
    if framework == "jax":
        enabled = _enables(frame.module)
        variant, severity = ("emulated", _EMULATED) if enabled else ("", ())
    elif dtype == "complex128":
        variant, at_most = "complex", Confidence.CERTAIN
        result = tensor(framework, "c")  # whatever is cast: the dtype is written out
    frame.report("XLA603", at, result, None, dtype, variant, severity, at_most)


def check_product(frame: Frame, _op: str, at: int, left: tuple[Value, ir.Node], right: tuple[Value, ir.Node]) -> None:
    """Report a matrix product of integers, for which TorchTPU has no kernel."""
    _check_integers(frame, at, [left[0], right[0]])


def check_product_call(call: LibraryCall, _spec: Spec, _result: Value) -> None:
    """Report the same of a function or a method: `torch.bmm(a, b)`, `a.matmul(b)`."""
    if last_name(call.node.func) in _PRODUCTS and call.entry.framework == "torch":
        given = [call.receiver, *call.all()] if call.receiver is not None else call.all()
        _check_integers(call.frame, call.node.at, given)


def _check_integers(frame: Frame, at: int, given: list[Value]) -> None:
    """Report a product of which the factors are all integers, and on the device."""
    factors = [value for value in given if isinstance(value, Tensor)]
    whole = [value for value in factors if value.dtype == "i" and value.framework == "torch" and value.place != "cpu"]
    if len(whole) >= _FACTORS and len(whole) == len(factors):
        severity = (("torch_xla", "off"), ("torch_compile", "off"))
        at_most = Confidence.CERTAIN if all(value.sure for value in whole) else Confidence.LIKELY
        frame.report("XLA603", at, whole[0], None, "products of integers", "integer", severity, at_most)


def _find_dtype(call: LibraryCall) -> tuple[str, ir.Node | None] | None:
    """The dtype that a call's arguments name, with its expression; that of `x.double()`, without one."""
    func = call.node.func
    if call.receiver is not None and type(func) is ir.Attr and func.name in _CASTS:
        return func.name, None
    positional = [] if call.receiver is None and not call.entry.params else list(call.node.args)
    for node in (*positional, *(value for name, value in call.node.keywords if name in ("dtype", "type", ""))):
        word = _word(node)
        if word in _WIDE:
            return word, node
    return None


def _word(node: ir.Node) -> str:
    if type(node) is ir.Attr:
        return node.name
    if type(node) is ir.Name:
        return node.id
    return node.value if type(node) is ir.Const and isinstance(node.value, str) else ""


def _enables(module: ModuleInfo) -> bool:
    """Return whether a module switches 64-bit types on; that it asks whether they are does not."""
    bodies = [info.body for info in module.functions if _names_switch(info.ir.body)]
    if _names_switch(module.unit.body):
        bodies.append(ir.decode_body(module.unit.body))
    return any(_switches(node) for body in bodies for node in ir.walk(body))


def _names_switch(body: bytes) -> bool:
    return any(word.encode() in body for word in _SWITCH)


def _switches(node: object) -> bool:
    if type(node) is ir.Call:
        named = node.args[0] if node.args else None
        return _word(node.func) == "enable_x64" or (_word(node.func) in _SETTERS and _names(named))
    if type(node) is ir.Assign:
        return any(_names(target.index if type(target) is ir.Sub else target) for target in node.targets)
    return False


def _names(node: ir.Node | None) -> bool:
    return node is not None and _word(node) in _SWITCH
