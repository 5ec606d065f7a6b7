"""Structures of arrays (pytrees) that functions under JAX's transformations are passed, and what their parts are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlalint.abstract.lattice import join
from xlalint.abstract.structures import map_leaves
from xlalint.abstract.values import (
    ARRAYS,
    UNKNOWN,
    Function,
    Instance,
    LibrarySymbol,
    Tensor,
    Value,
    answer,
    instance,
    kind_of_number,
    mapping,
    method,
    tensor,
)
from xlalint.interpreter.library_calls import module_value_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.program.linker import ClassInfo, ModuleInfo, Program

STATE = "flax.training.train_state.TrainState"
# What named tuples and dataclasses have beside their fields.
_OF_RECORDS = ("_replace", "_asdict", "replace")
# Objects that hold arrays and are asked for by themselves: `if state.dynamic_scale:`.
_OF_TRAINING = ("flax.training.dynamic_scale.", "optax.GradientTransformation", "typing.Callable")
# Decorators and bases of classes of which the fields are leaves, numbers too.
_REGISTERED = ("flax.struct.", "chex.dataclass", "jax.tree_util.register_dataclass")


def part_of(interpreter: Interpreter, name: str) -> Value:
    """Return what an attribute of a traced argument is that no array has.

    Of a state of training the parts are known by their names; of other objects a part may be an array or a setting.
    """
    leaf = tensor("jax", sure=False)
    what = interpreter.apis.class_attribute(STATE, name)
    if what is not None:
        return leaf if what.kind == "tree" else module_value_of(what, "jax")
    if interpreter.apis.class_method(STATE, name) is not None or name in _OF_RECORDS:
        return answer(leaf)
    if hasattr(dict, name):
        return method(mapping((), leaf), name)
    return UNKNOWN if is_setting(interpreter, name) else join(leaf, UNKNOWN)


def is_setting(interpreter: Interpreter, name: str) -> bool:
    """Return whether a field holds no array: a state of training says so by its name, the program's classes by their declarations."""
    what = interpreter.apis.class_attribute(STATE, name)
    if what is not None and what.kind not in ("tree", "tensor"):
        return True
    return name in interpreter.program.answer(_list_settings, interpreter.program.modules[0])


def _list_settings(_: ModuleInfo, program: Program) -> frozenset[str]:
    """The names of fields that hold no array in any class of the program that declares them."""
    settings: set[str] = set()
    others: set[str] = set()
    for module in program.modules[: program.linted]:
        for field in module.answers(_declared_fields):
            if isinstance(field.target, ir.Name):
                held = _is_static(field.value) or _is_of_training(program, module, field.annotation)
                (settings if held else others).add(field.target.id)
    return frozenset(settings - others)


def _declared_fields(module: ModuleInfo) -> tuple[ir.AnnAssign, ...]:
    """The fields that the classes of a module declare."""
    statements = [one for klass in module.classes for one in ir.decode_body(klass.ir.body)]
    return tuple(one for one in statements if isinstance(one, ir.AnnAssign))


def _is_of_training(program: Program, module: ModuleInfo, annotation: ir.Node) -> bool:
    """Return whether a field is declared an object of a library that trains: a scale of losses is no array, whatever it holds."""
    resolved = [program.resolve(module, one) for one in ir.walk(annotation) if isinstance(one, (ir.Name, ir.Attr))]
    return any(isinstance(one, LibrarySymbol) and one.name.startswith(_OF_TRAINING) for one in resolved)


def of_record(interpreter: Interpreter, value: Instance) -> Value:
    """An object of a registered class as a transformation passes it: what its class does not call static are arrays, numbers too."""
    if not _is_registered(interpreter, value.klass):
        return value
    known = dict(value.fields)
    for klass in reversed(value.klass.mro):
        if isinstance(klass, str):
            continue
        body = interpreter.tables.body(klass)
        for statement in ir.decode_body(klass.ir.body):
            if isinstance(statement, ir.AnnAssign) and isinstance(statement.target, ir.Name):
                name = statement.target.id
                static = _is_static(statement.value) or _makes_static(interpreter, klass, statement.value)
                if not (static or _is_of_training(interpreter.program, klass.module, statement.annotation)):
                    known[name] = map_leaves(known.get(name, body.get(name, UNKNOWN)), _as_leaf)
    return instance(value.klass, tuple(sorted(known.items(), key=lambda item: item[0])), value.made)


def either_array() -> Value:
    """An array of JAX's or of NumPy's, as chex means it."""
    return join(tensor("jax"), tensor(ARRAYS))


def _is_registered(interpreter: Interpreter, klass: ClassInfo) -> bool:
    """Return whether JAX takes objects of a class apart, field by field."""
    for base in klass.mro:
        if isinstance(base, str):
            if interpreter.apis.canonical(base) in (STATE, "flax.struct.PyTreeNode", "typing.NamedTuple"):
                return True
            continue
        for decorator in base.ir.decorators:
            made = decorator.func if isinstance(decorator, ir.Call) else decorator
            if isinstance(made, (ir.Name, ir.Attr)):
                resolved = interpreter.program.resolve(base.module, made)
                if getattr(resolved, "name", "").startswith(_REGISTERED):
                    return True
    return False


def _is_static(default: object) -> bool:
    """Return whether a field says of itself that it is no leaf."""
    if not isinstance(default, ir.Call):
        return False
    said = dict(default.keywords)
    return said.get("pytree_node") == ir.Const(False) or said.get("static") == ir.Const(True) or "metadata" in said


def _makes_static(interpreter: Interpreter, klass: ClassInfo, default: ir.Node | None) -> bool:
    """Return whether a field is made by a function of the program's own that makes such fields."""
    if not isinstance(default, ir.Call) or not isinstance(default.func, ir.Name):
        return False
    made = interpreter.global_name(klass.module, default.func.id)
    return isinstance(made, Function) and any(map(_is_static, ir.walk(made.info.body)))


def _as_leaf(value: Value) -> Value:
    """A number, an array of NumPy's or what is not known is an array of JAX's in a leaf's place."""
    if value is UNKNOWN:
        return tensor("jax", sure=False)
    if type(value) is Tensor and value.framework == ARRAYS:
        return tensor("jax", value.dtype, value.rank, sure=value.sure)
    kind = kind_of_number(value)
    return tensor("jax", kind, 0, sure=False) if kind else value
