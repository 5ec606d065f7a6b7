"""Decorators of the program: what a decorated function is when it is called.

Most decorators give back the function that they got, with something noted on it. Others give back a function of their own that calls
it: a wrapper, whose body runs at every call, with the arguments first and the result last. Which of the two a decorator does is found
by running it once, on a stand-in for the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from xlalint.lowering import ir
from xlalint.semantics.arguments import Arguments, evaluate_arguments
from xlalint.semantics.lattice import join_all
from xlalint.semantics.reads import Reads
from xlalint.semantics.values import (
    NEVER,
    UNKNOWN,
    Const,
    Foreign,
    Function,
    Sequence,
    Value,
    foreign,
    function,
    host,
    members,
    sequence,
)

if TYPE_CHECKING:
    from xlalint.semantics.context import Context
    from xlalint.semantics.frame import Frame
    from xlalint.semantics.interpreter import Interpreter
    from xlalint.semantics.program import FunctionInfo

_STAND_IN = "types.FunctionType"
_MOST = 3
# How a parameter of a kind is passed on.
_PASSED = {"/": "{0}", "": "{0}", "*": "*{0}", "k": "{0}={0}", "**": "**{0}"}


class Carried(NamedTuple):
    """What a wrapper hands all that it gets to, and its name in the wrapper's closure."""

    name: str
    func: Function


class Decorators:
    """Applies the program's decorators to its functions; remembers what each makes."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._applied: dict[FunctionInfo, tuple[Value, Reads]] = {}
        self._wrappers: dict[tuple[object, ...], tuple[Function | None, Reads]] = {}
        self._names: dict[FunctionInfo, tuple[str, Reads]] = {}
        self._under_way: set[object] = set()

    def applied(self, info: FunctionInfo) -> Value:
        """A function of a module or class after its decorators, bound to nothing."""
        known = self._applied.get(info)
        if known is not None:
            self._interpreter.reader.use(known[1])
            return known[0]
        if info in self._under_way:
            return function(info)
        self._under_way.add(info)
        reads = Reads()
        with self._interpreter.reader.reading(reads), self._interpreter.apart():
            value = self.applied_in(self._interpreter.module_frame(info.module), info, function(info))
        self._under_way.discard(info)
        self._applied[info] = (value, reads)
        return value

    def applied_in(self, frame: Frame, info: FunctionInfo, value: Value) -> Value:
        """The same for a function that is defined where `frame` stands, and is `value` without its decorators."""
        wrapped = 0
        for decorator in reversed(info.ir.decorators):
            wrapper = self._wrapper(frame, decorator)
            if wrapper is not None and wrapped < _MOST:
                closure = tuple([(name, _stands_for(held, value)) for name, held in wrapper.closure])
                value = function(wrapper.info, None, closure)
                wrapped += 1
        return value

    def carried(self, func: Function) -> Carried | None:
        """The function that another one calls with all that it gets, as it got it; None: it gets no arguments of unknown number."""
        params = func.info.params
        if not params or params[-1].kind not in ("*", "**"):
            return None
        known = self._names.get(func.info)
        if known is None:
            reads = Reads()
            with self._interpreter.reader.reading(reads):
                known = self._names[func.info] = (_handed_on_to(func.info), reads)
        else:
            self._interpreter.reader.use(known[1])
        for name, value in func.closure:
            if name == known[0] and isinstance(value, Function) and value.receiver is None:
                return Carried(name, value)
        return None

    def _wrapper(self, frame: Frame, decorator: ir.Node) -> Function | None:
        """What a decorator puts around a function, in whose closure the function has a stand-in; None: nothing."""
        made = decorator.func if isinstance(decorator, ir.Call) else decorator
        if not isinstance(made, (ir.Name, ir.Attr)):
            return None
        maker = frame.program.resolve(frame.module, made) if frame.function is None else frame.eval(made)
        if not isinstance(maker, Function):
            return None
        steps: list[Arguments] = []
        if isinstance(decorator, ir.Call):
            given = evaluate_arguments(frame, decorator)
            steps.append(
                Arguments(
                    [_without_texts(arg) for arg in given.args],
                    {name: _without_texts(arg) for name, arg in given.keywords.items()},
                    given.rest,
                    given.extra,
                )
            )
        return self._made_by(frame, maker, steps)

    def _made_by(self, frame: Frame, maker: Function, steps: list[Arguments]) -> Function | None:
        key: tuple[object, ...] = (maker, *((tuple(step.args), step.pairs(), step.rest, step.extra) for step in steps))
        known = self._wrappers.get(key)
        if known is not None:
            self._interpreter.reader.use(known[1])
            return known[0]
        if key in self._under_way:
            return None
        self._under_way.add(key)
        reads = Reads()
        with self._interpreter.reader.reading(reads), self._interpreter.apart():
            value: Value = maker
            for arguments in [*steps, Arguments([foreign(_STAND_IN)], {})]:
                value = self._called(frame, value, arguments)
        self._under_way.discard(key)
        found = next((member for member in members(value) if isinstance(member, Function) and _wraps(member)), None)
        self._wrappers[key] = (found, reads)
        return found

    def _called(self, frame: Frame, value: Value, arguments: Arguments) -> Value:
        called = [member for member in members(value) if isinstance(member, Function)]
        return join_all(
            self._interpreter.call_function(self._interpreter.module_frame(frame.module), member, arguments, 0)
            for member in called
        )


def passes_on(context: Context) -> None:
    """Settle what a wrapper gives back: what it may pass on as it got it, it is taken to; and what its function stores, it stores.

    A wrapper converts results, most often, where a caller asks for it in so many words.
    """
    assert context.function is not None
    if not context.function.decorated("wraps"):
        return
    held = [value for _, value in context.key[2] if isinstance(value, Function)]  # type: ignore[attr-defined]
    functions = {value.info for value in held}
    wrapped = [called for called in context.calls if called.function in functions]
    for called in wrapped:
        for name, value in called.stores.items():
            context.stores[name] = join_all([context.stores.get(name, NEVER), value])
    passed = join_all(called.returns for called in wrapped)
    given = members(context.returns)
    if passed is not NEVER and (UNKNOWN in given or all(member in given for member in members(passed))):
        context.returns = passed


def _handed_on_to(info: FunctionInfo) -> str:
    """The free name that a function calls, wherever it does, with its own parameters in their order; "" for none."""
    whole: set[str] = set()
    other: set[str] = set()
    for node in ir.walk(info.body):
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.id in info.ir.free:
            (whole if _passes_all(info, node) else other).add(node.func.id)
    whole -= other
    return whole.pop() if len(whole) == 1 else ""


def _passes_all(info: FunctionInfo, call: ir.Call) -> bool:
    """Whether a call passes each parameter under its own name: `func(self, *args, **kwargs)`."""
    given = [_name(arg.value, "*") if isinstance(arg, ir.Star) else _name(arg) for arg in call.args]
    named = [_name(arg, f"{name}=" if name else "**") for name, arg in call.keywords]
    return [*given, *named] == [_PASSED[param.kind].format(param.name) for param in info.params]


def _name(node: ir.Node, prefix: str = "") -> str:
    return prefix + node.id if isinstance(node, ir.Name) else ""


def _wraps(value: Function) -> bool:
    """Whether a function keeps the stand-in to call it."""
    return any(_is_stand_in(held) for _, held in value.closure)


def _is_stand_in(value: Value) -> bool:
    return isinstance(value, Foreign) and value.name == _STAND_IN


def _stands_for(held: Value, actual: Value) -> Value:
    """A value of a wrapper's closure with the actual function in its stand-in's place."""
    if _is_stand_in(held):
        return actual
    if isinstance(held, Function) and held.closure:
        closure = tuple([(name, _stands_for(inner, actual)) for name, inner in held.closure])
        return function(held.info, held.receiver, closure)
    return held


def _without_texts(value: Value) -> Value:
    """An argument of a decorator without its texts: documentation differs at every use and decides nothing. Names stay."""
    if isinstance(value, Const) and isinstance(value.value, str) and not value.value.isidentifier():
        return host("str")
    if isinstance(value, Sequence) and value.items is not None:
        return sequence(value.kind, None, join_all(_without_texts(item) for item in value.items))
    return value
