"""XLA405: arguments of compiled functions that are a part of the program, and others at each call.

Measured with JAX 0.10.2 and TensorFlow 2.21: JAX compiles for each value of a static argument, `tf.function` traces for each value of a
Python number and for each new object. These are arguments of calls; `jitting` finds compiled functions that are new themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from xlalint.abstract.values import (
    ARRAYS,
    UNKNOWN,
    Class,
    Const,
    Function,
    Host,
    Instance,
    LibrarySymbol,
    Mapping,
    Sequence,
    Tensor,
    Union,
    Value,
    members,
)
from xlalint.analysis.hazard import Confidence
from xlalint.frameworks.base import Reach
from xlalint.frameworks.checks.call_site import CallSite, asks_about
from xlalint.frameworks.checks.changing_shape import find_change
from xlalint.frameworks.checks.data_lengths import source_of
from xlalint.frameworks.checks.growing_tensor import growth
from xlalint.frameworks.checks.jit_per_call import FUNCTION, JIT
from xlalint.frameworks.checks.static_operands import Operand, find_declared, find_operand, is_called
from xlalint.frameworks.checks.surrounding_loops import loops_around, names_in, numbers_of_turn, whole_body_of
from xlalint.interpreter.device_loops import is_long, last_name
from xlalint.interpreter.spelling import position, spelling
from xlalint.interpreter.traced_arguments import static_places
from xlalint.interpreter.tracing import constants, hand_over
from xlalint.lowering import ir
from xlalint.program.linker import ClassInfo, FunctionInfo
from xlalint.rules.variants import AGAIN, UNHASHABLE

if TYPE_CHECKING:
    from xlalint.interpreter.frame import Frame

COMPILERS: Final = ("jit", "pjit", "pmap", "filter_jit", "function", "partial")
"""The last names of decorators that compile, or that are given what does."""
_COMPILING: Final = frozenset((*JIT, *FUNCTION))
_MAKERS: Final = frozenset(name.rpartition(".")[2] for name in _COMPILING)
FILTERS: Final = frozenset(("equinox.filter_jit", "equinox.filter_pmap"))
_UNHASHABLE: Final = ("list", "set", "dict")
_FREEZING: Final = ("freeze", "FrozenDict", "frozendict")
_ABSTRACT: Final = ("Sequence", "Collection", "Iterable")
_STATIC_OPERANDS: Final = {
    Operand.ITSELF: "is static in `{}`, which only computes with it: it is compiled for each value, and need not be",
    Operand.ENTRIES: (
        "is static in `{}`, which only computes with its entries: it is compiled for each tuple, and lists and arrays cannot be hashed"
    ),
}
# Kinds of parameters that arguments go to by their places.
_PLACED: Final = ("", "/")


class Compiled(NamedTuple):
    """How a function of the program is compiled: by which framework, which arguments are static, whether a signature says what it takes,
    whether one program may serve for all lengths of an argument, whether it is a plain `jit`, to which each object must be an array, a
    structure of arrays, or static, and whether XLA compiles what TensorFlow traces. One that `filters` takes all for static that is no
    array, numbers too."""

    framework: str
    static: tuple[object, ...] = ()
    signed: bool = False
    any_size: bool = False
    plain: bool = False
    by_xla: bool = True
    filters: bool = False


class Passed(NamedTuple):
    """An argument of a call: the parameter's place and name, the expression, its value."""

    place: int
    name: str
    node: ir.Node
    value: Value


def may_be_compiled(node: ir.Call, info: FunctionInfo) -> bool:
    """Return whether what is called may be compiled.

    Its decorators tell. One that has none may be compiled where it is called by another name than its own.
    """
    if info.ir.decorators:
        return info.decorated(*COMPILERS)
    return type(node.func) is ir.Name and node.func.id != info.name


@asks_about("jax", *JIT, reach=Reach.TRACED)
def check_static_arrays(call: CallSite) -> None:
    """`jax.jit(f, static_argnums=1)` of a function whose second parameter is declared an array: whatever calls it, no array has a hash."""
    func = call.arguments.args[0] if call.arguments.args else None
    given = [node for name, node in call.node.keywords if name in ("static_argnums", "static_argnames")]
    if not given or type(func) is not Function or func.receiver is not None:
        return
    info = func.info
    places = static_places(info, tuple(item for node in given for item in constants(call.frame.eval(node))))
    for place in sorted(places):
        param = info.params[place]
        declared = call.frame.interpreter.annotations.value(info.module, param.annotation)
        if type(declared) is Tensor and declared.framework == "jax":
            detail = f"is declared an array and static in `{info.name}`: arrays cannot be hashed, and its calls fail"
            call.report("XLA405", "jax", param.name, detail, call.node.at, UNHASHABLE, (), Confidence.LIKELY)
        elif param.default is None and (operand := _find_static_operand(call, info, param.name, places)):
            detail = _STATIC_OPERANDS[operand].format(info.name)
            call.report("XLA405", "jax", param.name, detail, call.node.at, "", (), Confidence.LIKELY)


def _find_static_operand(call: CallSite, info: FunctionInfo, name: str, places: frozenset[int]) -> Operand | None:
    """Return how a function computes with a static parameter, where it does nothing else with it.

    Who calls what a module keeps under a name says how many values there are: of what nothing in the module calls, as many as users like.
    """
    kept = [one for one in whole_body_of(call.frame) if isinstance(one, ir.Assign) and one.value == call.node]
    names = {target.id for one in kept for target in one.targets if isinstance(target, ir.Name)}
    if call.frame.function is not None or not names or any(is_called(call.frame.module, one) for one in names):
        return None
    static = {info.params[place].name for place in places}
    arrays = find_declared(info, call.frame.interpreter.annotations, "jax") - static
    return find_operand(info, name, arrays)


def check_compiled_call(call: CallSite) -> None:
    """`step(state, number)` of a compiled `step`."""
    callee = call.callee
    compiled = _find_compiler(call, callee) if isinstance(callee, Function) else None
    if compiled is None or not isinstance(callee, Function):
        return
    if compiled.framework == "jax" and _is_compiled(call.frame):
        return  # the compiled function around the call is one program with what it calls, whoever calls that
    if type(callee.receiver) is Instance and compiled.framework == "jax":
        _check_receiver(call, callee.info, callee.receiver.klass, compiled)
    changing = _changing(call) if call.frame.loops.depth else set()
    for passed in _passed_arguments(call, callee):
        if call.frame.loops.depth and _check_growth(call, passed, compiled):
            continue
        if compiled.framework == "tensorflow":
            _check_traced(call, passed, callee.info, compiled, changing)
        elif passed.place in static_places(callee.info, compiled.static):
            _check_static(call, passed, callee.info, changing)
        elif compiled.filters and _check_number(call, passed, callee.info, changing):
            continue
        elif call.frame.loops.depth and not _check_shape(call, passed, callee.info, compiled):
            _check_drift(call, passed, callee.info)


def _is_compiled(frame: Frame) -> bool:
    """Return whether JAX compiles the function that the frame runs, by a decorator."""
    return frame.function is not None and frame.interpreter.compiled.of(frame.function) == "jax"


def _check_receiver(call: CallSite, info: FunctionInfo, klass: ClassInfo, compiled: Compiled) -> None:
    """`thing.step(x)` of a method that is compiled: `self` is an argument like any other."""
    func = call.node.func
    if type(func) is not ir.Attr or not info.params or not compiled.plain:
        return
    name = info.params[0].name
    if 0 not in static_places(info, compiled.static):
        if not _may_be_structure(klass):
            detail = f"is an object of `{klass.name}`, no array or structure of arrays, and not static in `{info.name}`: the call fails"
            call.report("XLA405", "jax", name, detail, call.node.at, UNHASHABLE)
    elif fresh := _fresh(call.frame, Passed(0, name, func.value, UNKNOWN)):
        detail = f"is {fresh} and static in `{info.name}`, which is compiled again each time"
        _report_again(call, "jax", spelling(func.value), detail, call.node.at)


def _may_be_structure(klass: ClassInfo) -> bool:
    """Return whether JAX may take objects of a class apart: by a decorator, a base of a library, or a call that registers it."""
    if klass.library_bases() or _is_decorated(klass):
        return True
    module = klass.module.unit
    called = [*module.calls, *(name for function in module.functions for name in function.calls)]
    hooks = ("tree_flatten", "__jax_array__", "__init_subclass__")
    return any(map(_registers, called)) or any(klass.method(name) is not None for name in hooks)


def _registers(name: str) -> bool:
    return name.startswith("register")


def _find_compiler(call: CallSite, callee: Function) -> Compiled | None:
    frame, info = call.frame, callee.info
    nested = info.ir.outer >= 0
    handed = [hand_over(frame, one) for one in info.ir.decorators] if nested else frame.interpreter.handed.of(info)
    for decorator, given in zip(info.ir.decorators, handed, strict=True):
        if given is not None and given.name in _COMPILING:
            keywords = decorator.keywords if type(decorator) is ir.Call else ()
            return _of(given.name, given.static, keywords)
    if _MAKERS.isdisjoint(frame.module.unit.calls) and (
        frame.function is None or _MAKERS.isdisjoint(frame.function.ir.calls)
    ):
        return None
    made = source_of(frame, call.node.func) if type(call.node.func) is ir.Name else None
    if type(made) is ir.Call and not info.ir.decorators:
        maker = frame.eval(made.func)
        if isinstance(maker, LibrarySymbol) and maker.name in _COMPILING:
            statics = [
                frame.eval(node) for name, node in made.keywords if name in ("static_argnums", "static_argnames")
            ]
            bound = callee.receiver is not None  # what is bound is not counted
            static = [one + bound if type(one) is int and one >= 0 else one for v in statics for one in constants(v)]
            return _of(maker.name, tuple(static), made.keywords)
    return None


def _of(name: str, static: tuple[object, ...], keywords: tuple[tuple[str, ir.Node], ...]) -> Compiled:
    given = dict(keywords)
    signed = "input_signature" in given or "reduce_retracing" in given
    by_xla = name not in FUNCTION or given.get("jit_compile") == ir.Const(True)
    any_size = signed and not by_xla  # TensorFlow's own graph knows unknown sizes
    framework = "tensorflow" if name in FUNCTION else "jax"
    return Compiled(framework, static, signed, any_size, name.startswith("jax."), by_xla, name in FILTERS)


def _passed_arguments(call: CallSite, callee: Function) -> Iterator[Passed]:
    """The arguments that are written out, by the parameters that get them."""
    params = callee.info.params
    first = int(callee.receiver is not None)
    if call.arguments.rest is not None or any(type(node) is ir.Star for node in call.node.args):
        return
    placed = takewhile(lambda param: param.kind in _PLACED, params[first:])
    for place, (param, node, value) in enumerate(zip(placed, call.node.args, call.arguments.args, strict=False), first):
        yield Passed(place, param.name, node, value)
    names = [param.name for param in params]
    for name, node in call.node.keywords:
        if name in names and name in call.arguments.keywords:
            yield Passed(names.index(name), name, node, call.arguments.keywords[name])


def _changing(call: CallSite) -> set[str]:
    """The names that number the turns of the long loops around a call, and those that are computed of these or of themselves."""
    return {name for loop in loops_around(call.frame, call.node) if is_long(loop) for name in numbers_of_turn(loop)}


def _check_static(call: CallSite, passed: Passed, info: FunctionInfo, changing: set[str]) -> None:
    at = position(passed.node) or call.node.at
    shown = spelling(passed.node)
    if _is_guessed(call.frame, passed) or _is_frozen(call.frame, passed.node):
        return
    if all(_unhashable(member, passed.node) for member in members(passed.value)):
        detail = f"is static in `{info.name}` and cannot be hashed: the call fails"
        call.report("XLA405", "jax", shown, detail, at, UNHASHABLE)
    elif fresh := _fresh(call.frame, passed):
        detail = f"is {fresh} and static in `{info.name}`, which is compiled again each time"
        _report_again(call, "jax", shown if shown != "…" else passed.name, detail, at)
    elif names_in(passed.node) & changing and not (_is_condition(call.frame, passed) or _is_entry(passed)):
        detail = f"is a different number at each call and static in `{info.name}`, which is compiled again for each"
        call.report("XLA405", "jax", shown, detail, at)


def _is_entry(passed: Passed) -> bool:
    """Return whether what is passed is an entry of something that the loop goes over, and not known to be a number: `layers[i]`."""
    numbers = all(isinstance(one, (Host, Const)) and _is_number(one) for one in members(passed.value))
    return type(passed.node) is ir.Sub and not numbers


def _is_condition(frame: Frame, passed: Passed) -> bool:
    """Return whether what is passed is true or false, or stands for a condition: `logs = verbose and step == last`."""
    if all(map(_is_truth, members(passed.value))):
        return True
    made = source_of(frame, passed.node)
    parts = made.values if isinstance(made, ir.Bool) else (made,)
    return any(isinstance(source_of(frame, one), (ir.Compare, ir.Not, ir.Bool)) for one in parts)


def _is_truth(value: Value) -> bool:
    """Return whether a value is true or false: of these there are two, and so are the programs."""
    found = value.value if type(value) is Const else None
    return isinstance(found, bool) or (isinstance(value, Host) and value.type == "bool")


def _is_frozen(frame: Frame, node: ir.Node) -> bool:
    """Return whether what is passed is a dict that can be hashed: `options = freeze(options)`."""
    made = source_of(frame, node)
    return type(made) is ir.Call and last_name(made.func) in _FREEZING


def _check_number(call: CallSite, passed: Passed, info: FunctionInfo, changing: set[str]) -> bool:
    """Report `step(model, 0.1 / (i + 1))` of a function that is compiled for the numbers of the host, as for all that is no array."""
    numbers = all(isinstance(one, (Host, Const)) and _is_number(one) for one in members(passed.value))
    if not numbers or not names_in(passed.node) & changing:
        return False
    detail = f"is a different Python number at each call, and static in `{info.name}`, which is compiled again for each"
    call.report("XLA405", "jax", spelling(passed.node), detail, position(passed.node) or call.node.at)
    return True


def _check_traced(call: CallSite, passed: Passed, info: FunctionInfo, compiled: Compiled, changing: set[str]) -> None:
    if _check_shape(call, passed, info, compiled) or compiled.signed:
        return
    at = position(passed.node) or call.node.at
    shown = spelling(passed.node)
    found = members(passed.value)
    drawn = call.frame.loops.depth and any(isinstance(one, Host) and one.origin == "drawn" for one in found)
    number = all(isinstance(one, (Host, Const)) and _is_number(one) for one in found)
    if number and (drawn or names_in(passed.node) & changing):
        detail = f"is a different Python number at each call: `{info.name}` is traced again for each"
        call.report("XLA405", "tensorflow", shown, detail, at, "number")
    elif fresh := _fresh(call.frame, passed):
        detail = f"is {fresh}: `{info.name}` is traced again each time"
        _report_again(call, "tensorflow", shown if shown != "…" else passed.name, detail, at)


def _check_shape(call: CallSite, passed: Passed, info: FunctionInfo, compiled: Compiled) -> bool:
    """`for s in rows: step(tf.constant(s))`, `for i in range(0, n, size): step(x[i:i + size])`."""
    found = None if compiled.any_size else find_change(call.frame, call.node, passed.node)
    if found is None:
        return False
    detail = found.detail.format(info.name)
    surely = found.sure or (compiled.by_xla and compiled.framework == "tensorflow")
    variant = "shape" if surely else "rest"
    at = position(passed.node) or call.node.at
    shown = spelling(passed.node)
    call.report("XLA405", compiled.framework, shown if shown != "…" else spelling(found.part), detail, at, variant)
    return True


def _check_growth(call: CallSite, passed: Passed, compiled: Compiled) -> bool:
    """`x = step(x)` beside `x = jnp.concatenate([x, y])` in a loop."""
    found = None if compiled.any_size else growth(call.frame, call.node, passed.node)
    if found is not None:
        call.report("XLA406", compiled.framework, found.name, "", found.at)
    return found is not None


def _check_drift(call: CallSite, passed: Passed, info: FunctionInfo) -> None:
    """`total = 0.0`, then `total = step(total)` in a loop."""
    if type(passed.node) is not ir.Name or not isinstance(passed.value, Union):
        return
    found = passed.value.members
    number = any(isinstance(one, Const) and type(one.value) in (int, float) for one in found)
    if number and any(isinstance(one, Tensor) and one.framework == "jax" for one in found):
        detail = (
            f"is a Python number in the first call of `{info.name}` and an array in later ones: it is compiled for both"
        )
        call.report("XLA405", "jax", passed.node.id, detail, passed.node.at, "drift", (), Confidence.LIKELY)


def _report_again(call: CallSite, framework: str, subject: str, detail: str, at: int) -> None:
    """Report what costs each time that the code runs: surely in a loop, else where the function is called in one."""
    variant = "" if call.frame.loops.depth else AGAIN
    if call.frame.loops.depth or call.frame.function is not None:
        call.report("XLA405", framework, subject, detail, at, variant)


def _fresh(frame: Frame, passed: Passed) -> str:
    """Say what of an argument is new at each call; return "" where nothing is known to be."""
    node = passed.node
    if type(node) is ir.Lambda:
        return "a new lambda at each call"
    if type(node) is not ir.Call:
        return ""
    func = frame.eval(node.func)
    if isinstance(func, LibrarySymbol) and func.name == "functools.partial":
        return "a new partial at each call"
    if isinstance(func, Class) and not func.info.library_bases() and not _is_decorated(func.info):
        equals = any(func.info.method(name) is not None for name in ("__eq__", "__hash__"))
        return "" if equals else "a new object at each call, equal to no other"
    return ""


def _is_decorated(klass: ClassInfo) -> bool:
    """Return whether a decorator may give a class, or one that it extends, an equality of its own."""
    return any(base.ir.decorators for base in klass.mro if not isinstance(base, str))


def _is_guessed(frame: Frame, passed: Passed) -> bool:
    """Return whether nothing is known of what is passed but how it is used: a bare parameter without an annotation, or one that is declared
    a sequence, which a tuple is too, or a field that is."""
    node, info = passed.node, frame.function
    listed = type(passed.value) is Sequence and passed.value.items is None
    if listed and type(node) is ir.Attr and type(node.value) is ir.Name:
        owner = frame.eval(node.value)
        bases = owner.klass.mro if type(owner) is Instance else ()
        return any(_is_abstract(_find_annotation(base, node.name)) for base in bases if not isinstance(base, str))
    if info is None or type(node) is not ir.Name:
        return False
    found = next((param for param in info.params if param.name == node.id), None)
    return found is not None and (found.annotation is None or (listed and _is_abstract(found.annotation)))


def _find_annotation(klass: ClassInfo, name: str) -> ir.Node | None:
    """Return what the body of a class declares a field to be."""
    for one in ir.decode_body(klass.ir.body):
        if isinstance(one, ir.AnnAssign) and isinstance(one.target, ir.Name) and one.target.id == name:
            return one.annotation
    return None


def _is_abstract(annotation: ir.Node | None) -> bool:
    """Return whether an annotation names what lists and tuples have in common."""
    named = annotation.value if isinstance(annotation, ir.Sub) else annotation
    return named is not None and last_name(named) in _ABSTRACT


def _unhashable(value: Value, node: ir.Node) -> bool:
    """Return whether a value cannot be hashed: the numbers in an array of the host's can be, and an entry may be one."""
    if isinstance(value, Sequence):
        return value.kind in _UNHASHABLE
    if isinstance(value, Tensor) and value.framework == ARRAYS:
        return value.sure and (value.rank > 0 or (value.rank < 0 and not isinstance(node, ir.Sub)))
    return isinstance(value, Mapping) or (isinstance(value, Tensor) and value.framework == "jax")


def _is_number(value: Host | Const) -> bool:
    if isinstance(value, Const):
        return type(value.value) in (int, float)
    return value.type in ("int", "float")
