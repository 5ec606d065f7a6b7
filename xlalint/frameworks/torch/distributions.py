"""Distributions that a program defines: what their arguments are, and that their construction checks them on the host.

`Distribution.__init__` reads each parameter that `arg_constraints` names unless it is told `validate_args=False`; a constraint that depends
on other parameters cannot be checked and is passed over (torch/distributions/distribution.py of PyTorch 2.9.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.values import FALSE, Instance, LibraryInstance, Value, tensor
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir
from xlalint.program.linker import ClassInfo

if TYPE_CHECKING:
    from xlalint.api_tables.entries import Spec
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.interpreter.library_calls import LibraryCall
    from xlalint.program.linker import FunctionInfo

_BASE = "torch.distributions.Distribution"
_CONSTRAINTS = "arg_constraints"
_DEPENDENT = "dependent"
# The methods that are asked about points of the sample space, by whatever name they call them.
_OF_VALUES = frozenset(("log_prob", "cdf", "icdf", "_validate_sample"))


def parameter_of(interpreter: Interpreter, info: FunctionInfo, name: str) -> Value | None:
    """Return what a parameter of a distribution's method is: a constrained argument, or points of the sample space.

    None where the class says nothing of it.
    """
    owner = info.owner
    if owner is None or interpreter.tables.kind(owner) != "distribution":
        return None
    if info.name == "__init__":
        told = name in _constraints(interpreter, owner)
    else:
        told = info.name in _OF_VALUES and [param.name for param in info.params[1:2]] == [name]
    return tensor("torch", sure=False) if told else None


def check_construction(call: LibraryCall, _spec: Spec, _result: Value) -> None:
    """Report `super().__init__(batch_shape, event_shape)` of a distribution that has arguments to check."""
    apis = call.frame.apis
    owner, func = call.owner, call.node.func
    if not isinstance(owner, LibraryInstance) or not isinstance(func, ir.Attr) or func.name != "__init__":
        return
    if call.entry is not apis.class_method(_BASE, "__init__") or call.argument("validate_args") is FALSE:
        return
    klass = _find_class(call)
    checked = (
        next((name for name, sure in _constraints(call.frame.interpreter, klass).items() if sure), "") if klass else ""
    )
    if checked:
        value, node = tensor("torch", sure=False), ir.Name(checked, call.node.at)
        detail = "checks its arguments on the host; pass `validate_args=False`"
        call.frame.report("XLA305", call.node.at, value, node, detail, severity=(("torch_compile", "off"),))


def _find_class(call: LibraryCall) -> ClassInfo | None:
    """The class whose object a constructor of its own, or of a base of it, makes."""
    info = call.frame.function
    if info is None or info.owner is None:
        return None
    receiver = call.frame.env.get(info.params[0].name) if info.params else None
    return receiver.klass if isinstance(receiver, Instance) else info.owner


def _constraints(interpreter: Interpreter, klass: ClassInfo) -> dict[str, bool]:
    """The constrained parameters of a class of the program, and of each whether the constraint can be checked by itself."""
    for base in klass.mro:
        if not isinstance(base, ClassInfo):
            continue
        interpreter.reader.current.modules |= base.module.bit
        for statement in ir.decode_body(base.ir.body):
            if isinstance(statement, ir.Assign) and _CONSTRAINTS in map(path_of, statement.targets):
                return _list_constraints(statement.value)
    return {}


def _list_constraints(node: ir.Node) -> dict[str, bool]:
    if not isinstance(node, ir.DictDisplay):
        return {}
    keys = (key.value if isinstance(key, ir.Const) else None for key in node.keys)
    return {key: not _depends(value) for key, value in zip(keys, node.values, strict=True) if isinstance(key, str)}


def _depends(constraint: ir.Node) -> bool:
    func = constraint.func if isinstance(constraint, ir.Call) else constraint
    return path_of(func).rpartition(".")[2].startswith(_DEPENDENT)


__all__ = ["check_construction", "parameter_of"]
