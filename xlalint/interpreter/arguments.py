"""Arguments of a call, and how they bind to a function's parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xlalint.abstract.lattice import join, join_all
from xlalint.abstract.structures import map_leaves
from xlalint.abstract.values import (
    ARRAYS,
    BOOL,
    NEVER,
    NONE,
    UNKNOWN,
    Const,
    Function,
    Host,
    Instance,
    Mapping,
    Partial,
    Sequence,
    Tensor,
    Value,
    constant,
    host,
    is_leaf,
    mapping,
    members,
    only_tensor,
    sequence,
    tensor,
)
from xlalint.interpreter.spelling import path_of
from xlalint.interpreter.traced_arguments import as_known
from xlalint.lowering import ir

if TYPE_CHECKING:
    from collections.abc import Callable

    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.program.linker import FunctionInfo

_CPU: Final = constant("cpu")
_CPU_DEVICE: Final = host("device:cpu")
_DEVICE: Final = host("device")


class Arguments:
    """The arguments of a call.

    `rest` joins positional arguments of unknown number, `extra` keywords of unknown names.
    """

    __slots__ = ("args", "extra", "keywords", "rest")

    def __init__(
        self, args: list[Value], keywords: dict[str, Value], rest: Value | None = None, extra: Value | None = None
    ) -> None:
        self.args = args
        self.keywords = keywords
        self.rest = rest
        self.extra = extra

    def each(self, change: Callable[[Value], Value]) -> Arguments:
        """Return the arguments with each of them changed."""
        return Arguments(
            [change(value) for value in self.args],
            {name: change(value) for name, value in self.keywords.items()},
            None if self.rest is None else change(self.rest),
            None if self.extra is None else change(self.extra),
        )

    def pairs(self) -> tuple[tuple[str, Value], ...]:
        """The keywords as pairs."""
        return tuple(self.keywords.items())


def parameters_of(value: Value) -> tuple[ir.Param, ...] | None:
    """Return the parameters that a call of a function of the program may still pass, None where its signature is not known."""
    bound = len(value.args) if type(value) is Partial else 0
    func = value.func if type(value) is Partial else value
    if type(func) is not Function or not all(
        path_of(one).endswith("abstractmethod") for one in func.info.ir.decorators
    ):
        return None
    return func.info.params[bound + (func.receiver is not None) :]


def as_guess(value: Value) -> Value:
    """Return a value of which it is not sure that what takes it gets it."""
    return map_leaves(value, _as_likely)


def _as_likely(leaf: Value) -> Value:
    if type(leaf) is not Tensor or not leaf.sure:
        return leaf
    return tensor(leaf.framework, leaf.dtype, leaf.rank, leaf.place, False, leaf.static)


def takes(info: FunctionInfo, bound: bool, arguments: Arguments) -> bool:
    """Return whether a call's arguments fit a function's signature; `bound` says that its first parameter is given already."""
    if arguments.rest is not None or arguments.extra is not None:
        return True
    params = info.params[bound:]
    kinds = {param.kind for param in params}
    by_place = [param.name for param in params if param.kind in ("", "/")]
    if len(arguments.args) > len(by_place) and "*" not in kinds:
        return False
    given = {*by_place[: len(arguments.args)], *arguments.keywords}
    if not given.issubset([param.name for param in params]) and "**" not in kinds:
        return False
    return all(param.name in given for param in params if param.default is None and param.kind in ("", "/", "k"))


def _element(frame: Frame, value: Value) -> Value:
    from xlalint.interpreter.builtin_calls import element_of

    return element_of(frame, value)


def evaluate_arguments(frame: Frame, node: ir.Call) -> Arguments:
    """Evaluate what a call expression passes."""
    result = Arguments([], {})
    for arg in node.args:
        value = frame.eval(arg)
        if type(arg) is not ir.Star:
            result.args.append(_as_set(frame, arg, value) if value is _CPU or value is _CPU_DEVICE else value)
        elif isinstance(value, Sequence) and value.items is not None and result.rest is None:
            result.args.extend(value.items)
        else:
            result.rest = join(result.rest or NEVER, _element(frame, value))
    for name, arg in node.keywords:
        value = frame.eval(arg)
        if name:
            result.keywords[name] = _as_set(frame, arg, value) if value is _CPU or value is _CPU_DEVICE else value
        elif isinstance(value, Mapping):
            result.keywords.update(value.items)
            if value.rest is not NEVER:
                result.extra = join(result.extra or NEVER, value.rest)
        else:
            result.extra = UNKNOWN
    return result


def _as_set(frame: Frame, node: ir.Node, value: Value) -> Value:
    """Return what an expression passes that is the host's device: any, where a name stands for it that says nothing of it.

    The program has set it so, and is judged as if it had set its target's. A tensor's own device is where that is.
    """
    from xlalint.interpreter.frame import made_by

    if (
        type(node) is ir.Name
        and frame.function is not None
        and any(param.name == node.id for param in frame.function.params)
    ):
        return value
    made = made_by(frame, node)
    if type(made) is ir.Attr and made.name == "device" and type(frame.eval(made.value)) is Tensor:
        return value
    named = node.id if type(node) is ir.Name else node.name if type(node) is ir.Attr else "cpu"
    return value if "cpu" in named.lower() else _DEVICE


def bind_parameters(
    interpreter: Interpreter, info: FunctionInfo, receiver: Value | None, arguments: Arguments
) -> tuple[Value, ...]:
    """The value of each parameter for a call."""
    positional = [receiver, *arguments.args] if receiver is not None else list(arguments.args)
    keywords = dict(arguments.keywords)
    defaults = interpreter.defaults(info)
    bound: list[Value] = []
    taken = 0
    for position, param in enumerate(info.params):
        kind = param.kind
        if kind == "*":
            bound.append(_variadic(positional[taken:], arguments.rest))
            taken = len(positional)
        elif kind == "**":
            items = tuple(sorted(keywords.items(), key=lambda item: item[0]))
            bound.append(mapping(items, arguments.extra or NEVER))
        elif kind in ("", "/") and taken < len(positional):
            bound.append(_refine(interpreter, info, position, positional[taken], defaults[position]))
            taken += 1
            keywords.pop(param.name, None)
        elif param.name in keywords:
            bound.append(_refine(interpreter, info, position, keywords.pop(param.name), defaults[position]))
        else:
            bound.append(_missing(interpreter, info, position, defaults[position], arguments))
    return tuple(bound)


def _variadic(items: list[Value], rest: Value | None) -> Value:
    if rest is None:
        return sequence("tuple", tuple(items), join_all(items))
    return sequence("tuple", None, join_all([*items, rest]))


def _refine(interpreter: Interpreter, info: FunctionInfo, position: int, value: Value, default: Value | None) -> Value:
    """A passed value; where nothing is known of it, what the parameter says.

    A tensor passed for a number has no dimensions. What may be anything, a tensor too, is none where a flag is asked for. A tracer that
    runs at once what it does not trace knows the values of all that is not surely one of its own.
    """
    if value is UNKNOWN:
        said = interpreter.parameter(info, position, default)
        if (interpreter.tracing or interpreter.mapping) and type(said) is Tensor and said.framework == ARRAYS:
            return UNKNOWN  # NumPy's arrays are asked for, a tracer's are passed
        return as_known(said, interpreter.mapping) if interpreter.mapping else said
    if isinstance(value, Host) and not value.type and value.origin == "python":
        declared = interpreter.annotations.value(info.module, info.params[position].annotation)
        if declared is not None and not any(isinstance(m, Tensor) for m in members(declared)):
            return declared
    record = _record_asked(interpreter, info, position, value)
    if record is not None:
        return record
    found = only_tensor(value)
    wanted = interpreter.asked_kinds(info)[position] if found is not None else ""
    if (
        found is not None
        and wanted == "number"
        and found.rank < 0
        and interpreter.libraries.of(found.framework).passed_as_numbers
    ):
        return join_all(
            tensor(m.framework, m.dtype, 0, m.place, sure=False) if isinstance(m, Tensor) and m.rank < 0 else m
            for m in members(value)
        )
    doubtful = found is not None and not found.sure and interpreter.libraries.of(found.framework).records_known
    if wanted == "flag" and (UNKNOWN in members(value) or doubtful):
        return join_all([BOOL, *(m for m in members(value) if m is not UNKNOWN and not isinstance(m, Tensor))])
    return value


def _record_asked(interpreter: Interpreter, info: FunctionInfo, position: int, value: Value) -> Value | None:
    """Return the object of the program that a parameter asks for, where all that is known of the value is that a tracer passed it."""
    unclear = [m for m in members(value) if m is not UNKNOWN and m is not NONE]
    if not unclear or not all(isinstance(m, Tensor) and is_leaf(m) for m in unclear):
        return None
    framework = interpreter.replacing(unclear[0].framework)  # type: ignore[attr-defined]
    annotation = info.params[position].annotation
    declared = interpreter.annotations.value(info.module, annotation) if framework and annotation is not None else None
    return interpreter.as_argument(declared, framework) if isinstance(declared, Instance) else None


def _missing(
    interpreter: Interpreter, info: FunctionInfo, position: int, default: Value | None, arguments: Arguments
) -> Value:
    if arguments.rest is not None and info.params[position].kind in ("", "/"):
        # Of values that are passed in a row, which one it is, is not known; what the parameter says is.
        said = interpreter.annotations.value(info.module, info.params[position].annotation)
        if said is not None and UNKNOWN not in members(said):
            return said
        return join(arguments.rest, default) if default is not None and default is not NONE else arguments.rest
    if arguments.extra is not None:
        declared = interpreter.parameter(info, position, default)
        return declared if default is None or isinstance(default, Const) else join(declared, default)
    if default is not None:
        return default
    return interpreter.parameter(info, position, default)
