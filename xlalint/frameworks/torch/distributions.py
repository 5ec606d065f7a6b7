"""Distributions that a program defines: what their arguments are, and that their construction checks them on the host.

`Distribution.__init__` reads each parameter that `arg_constraints` names unless it is told `validate_args=False`; a constraint that depends
on other parameters cannot be checked and is passed over (torch/distributions/distribution.py of PyTorch 2.9.1).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from xlalint.abstract.values import (
    FALSE,
    TRUE,
    UNKNOWN,
    Instance,
    LibraryInstance,
    Value,
    foreign,
    kind_of_number,
    method,
    tensor,
)
from xlalint.interpreter.frame import body_of
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir
from xlalint.program.linker import ClassInfo

if TYPE_CHECKING:
    from xlalint.api_tables.entries import Spec
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.interpreter.library_calls import LibraryCall
    from xlalint.program.linker import FunctionInfo, ModuleInfo

_BASE = "torch.distributions.Distribution"
_CONSTRAINTS = "arg_constraints"
_DEPENDENT = "dependent"
_SWITCH = "validate_args"
# Distributions without constraints of their own: what derives from them says what is checked.
_PLAIN = frozenset(
    f"torch.distributions.{name}"
    for name in ("Distribution", "ExponentialFamily", "Independent", "MixtureSameFamily", "TransformedDistribution")
)
_CAPTURED = (("torch_compile", "off"),)
_DENSITY = "log_prob"
# What is asked of an object of which nothing is known, and of distributions alone.
OF_UNKNOWN: dict[str, Callable[[], Value]] = {
    name: partial(method, foreign(_BASE), name) for name in (_DENSITY, "_validate_sample", "entropy", "rsample")
}
_OF_MODELS = frozenset(
    ("train", "eval", "parameters", "named_parameters", "state_dict", "load_state_dict", "zero_grad", "cuda")
)
# The methods that are asked about points of the sample space, by whatever name they call them.
_OF_VALUES = frozenset((_DENSITY, "cdf", "icdf", "_validate_sample"))


def parameter_of(interpreter: Interpreter, info: FunctionInfo, name: str) -> Value | None:
    """Return what a parameter of a distribution's method is: a constrained argument, or points of the sample space.

    None where the class says nothing of it.
    """
    owner = info.owner
    if owner is None or interpreter.tables.kind(owner) != "distribution":
        return None
    if info.name == "__init__":
        told = name in (_constraints(interpreter, owner) or ())
    else:
        told = info.name in _OF_VALUES and [param.name for param in info.params[1:2]] == [name]
    return tensor("torch", sure=False) if told else None


def check_construction(call: LibraryCall, _spec: Spec, _result: Value) -> None:
    """Report `super().__init__(…)` of a distribution that has arguments to check."""
    owner, func = call.owner, call.node.func
    if not isinstance(owner, LibraryInstance) or not isinstance(func, ir.Attr) or func.name != "__init__":
        return
    spec = call.frame.apis.klass(owner.name)
    if spec is None or spec.base != "distribution" or call.argument(_SWITCH) is FALSE or _is_off(call):
        return
    klass = _find_class(call)
    named = _list_checked(call, klass) if klass is not None else []
    checked = next((name for name in named if not kind_of_number(call.frame.env.get(name, UNKNOWN))), None)
    if checked is not None:  # of numbers, PyTorch makes tensors in host memory, and checks them there
        value, node = tensor("torch", sure=False), ir.Name(checked, call.node.at)
        detail = "checks its arguments on the host; pass `validate_args=False`"
        call.frame.report("XLA305", call.node.at, value, node, detail, severity=_CAPTURED)


def check_values(call: LibraryCall, spec: Spec, _result: Value) -> None:
    """Report `log_prob` and the like of a distribution for a value of which nothing is known: they take nothing but tensors."""
    if (
        spec.rule == "XLA305"
        and spec.subject == "value"
        and call.argument("value") is UNKNOWN
        and not withholds(call, spec)
    ):
        value = tensor("torch", sure=False)
        call.frame.report("XLA305", call.node.at, value, call.node_of("value"), spec.detail, severity=_CAPTURED)


def withholds(call: LibraryCall, spec: Spec) -> bool:
    """Return whether a call makes no check: the program has switched it off, or means no distribution of PyTorch's."""
    if spec.rule != "XLA305" or _SWITCH not in spec.detail:
        return False
    return _is_off(call) or _is_held_unchecked(call) or _is_given_more(call) or _is_of_model(call)


def _is_held_unchecked(call: LibraryCall) -> bool:
    """Return whether the checks of this very distribution are switched off, here or, of one that an object holds, by a method of its class:
    `self.base._validate_args = False`."""
    func, frame = call.node.func, call.frame
    holder = path_of(func.value) if isinstance(func, ir.Attr) else ""
    if not holder or call.argument(_SWITCH) is TRUE:
        return False
    bodies = [body_of(frame)]
    owner = frame.function.owner if frame.function is not None else None
    if owner is not None and holder.startswith(f"{frame.scope.receiver_name}."):
        bodies += [method.body for method in owner.all_methods()]
    switch = f"{holder}._{_SWITCH}"
    return any(_sets_false(one, switch) for body in bodies for one in ir.walk_statements(body))


def _sets_false(statement: object, path: str) -> bool:
    return isinstance(statement, ir.Assign) and _is_false(statement.value) and path in map(path_of, statement.targets)


def _is_given_more(call: LibraryCall) -> bool:
    """Return whether a method is given more than the points that PyTorch's distributions take: a flow's density has a condition too."""
    if call.owner is not foreign(_BASE) or call.starred:
        return False
    return len(call.args) > len(call.entry.params) or any(name not in call.entry.params for name, _ in call.keywords)


def _is_of_model(call: LibraryCall) -> bool:
    """Return whether a method of what is not known may be that of a model, or of another class of the program: these have such, and no
    class of it is a distribution."""
    func = call.node.func
    if call.owner is not foreign(_BASE) or not isinstance(func, ir.Attr):
        return False
    holder = path_of(func.value)
    if holder and call.frame.eval(func.value) is call.owner:
        return False  # something says that it is one: an annotation, say
    if holder and any(_is_asked_as_model(one, holder) for one in ir.walk(body_of(call.frame))):
        return True
    asked = call.frame.interpreter.some_module
    return asked.of(_has_density) and not asked.of(_has_distribution)


def _is_asked_as_model(node: object, holder: str) -> bool:
    """Return whether a call is one of a method that models have, and distributions do not: `flow.train()`."""
    func = node.func if isinstance(node, ir.Call) else None
    return isinstance(func, ir.Attr) and func.name in _OF_MODELS and path_of(func.value) == holder


def _has_density(module: ModuleInfo) -> bool:
    """Return whether a class of a module has a density of its own, and is no distribution of PyTorch's."""
    return any(_DENSITY in klass.ir.methods and not _derives(klass, "torch.distributions") for klass in module.classes)


def _has_distribution(module: ModuleInfo) -> bool:
    return any(_derives(klass, "torch.distributions") for klass in module.classes)


def _derives(klass: ClassInfo, package: str) -> bool:
    return any(base.startswith(f"{package}.") for base in klass.library_bases())


def _is_off(call: LibraryCall) -> bool:
    """Return whether a module of the program switches the checks of all distributions off, and the call does not ask for them."""
    return call.argument(_SWITCH) is not TRUE and call.frame.interpreter.some_module.of(_switches_off)


def _switches_off(module: ModuleInfo) -> bool:
    """Return whether statements at module level switch the checks of all distributions off."""
    body = module.unit.body
    return _SWITCH.encode() in body and any(map(_is_switch, ir.decode_body(body)))


def _is_switch(statement: ir.Statement) -> bool:
    """Return whether a statement is `Distribution.set_default_validate_args(False)` or `Distribution._validate_args = False`."""
    if isinstance(statement, ir.Eval) and isinstance(statement.value, ir.Call):
        call = statement.value
        named = path_of(call.func).rpartition(".")[2] == f"set_default_{_SWITCH}"
        return named and len(call.args) == 1 and _is_false(call.args[0])
    if isinstance(statement, ir.Assign) and _is_false(statement.value):
        return any(path_of(one).endswith(f"Distribution._{_SWITCH}") for one in statement.targets)
    return False


def _is_false(node: ir.Node) -> bool:
    return isinstance(node, ir.Const) and node.value is False


def _list_checked(call: LibraryCall, klass: ClassInfo) -> list[str]:
    """The arguments that constructing an object of a class checks, in order."""
    constraints = _constraints(call.frame.interpreter, klass)
    if constraints is not None:
        return [name for name, sure in constraints.items() if sure]
    apis, info = call.frame.apis, call.frame.function
    specs = [(apis.canonical(base), apis.klass(base)) for base in klass.library_bases()]
    if info is None or all(spec is None or spec.base != "distribution" or base in _PLAIN for base, spec in specs):
        return []
    if _is_given_numbers(call):
        return []
    return [param.name for param in info.params[1:] if param.name != _SWITCH]


def _is_given_numbers(call: LibraryCall) -> bool:
    """Return whether all that a constructor is given, but itself and whether to check, is numbers."""
    given = [value for value in call.args if not isinstance(value, Instance)]
    given += [value for name, value in call.keywords if name != _SWITCH]
    return bool(given) and not call.starred and all(map(kind_of_number, given))


def _find_class(call: LibraryCall) -> ClassInfo | None:
    """The class whose object a constructor of its own, or of a base of it, makes."""
    info = call.frame.function
    if info is None or info.owner is None:
        return None
    receiver = call.frame.env.get(info.params[0].name) if info.params else None
    return receiver.klass if isinstance(receiver, Instance) else info.owner


def _constraints(interpreter: Interpreter, klass: ClassInfo) -> dict[str, bool] | None:
    """The constrained parameters of a class of the program, and of each whether the constraint can be checked by itself.

    None where neither it nor a class of the program that it derives from says which they are.
    """
    for base in klass.mro:
        if not isinstance(base, ClassInfo):
            continue
        interpreter.reader.current.modules |= base.module.bit
        for statement in ir.decode_body(base.ir.body):
            if isinstance(statement, ir.Assign) and _CONSTRAINTS in map(path_of, statement.targets):
                return _list_constraints(statement.value)
    return None


def _list_constraints(node: ir.Node) -> dict[str, bool]:
    if not isinstance(node, ir.DictDisplay):
        return {}
    keys = (key.value if isinstance(key, ir.Const) else None for key in node.keys)
    return {key: not _depends(value) for key, value in zip(keys, node.values, strict=True) if isinstance(key, str)}


def _depends(constraint: ir.Node) -> bool:
    func = constraint.func if isinstance(constraint, ir.Call) else constraint
    return path_of(func).rpartition(".")[2].startswith(_DEPENDENT)


__all__ = ["OF_UNKNOWN", "check_construction", "check_values", "parameter_of", "withholds"]
