"""Decorators of the program: what a decorated function is when it is called.

Most decorators give back the function that they got, with something noted on it. Others give back a function of their own that calls
it: a wrapper, whose body runs at every call, with the arguments first and the result last. Which of the two a decorator does is found
by running it once, on a stand-in for the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from xlalint.abstract.lattice import join_all
from xlalint.abstract.values import (
    NEVER,
    UNKNOWN,
    Const,
    Function,
    LibraryInstance,
    Sequence,
    Value,
    foreign,
    function,
    host,
    members,
    order_of,
    order_of_all,
    order_of_pairs,
    place_of,
    sequence,
)
from xlalint.interpreter.arguments import Arguments, evaluate_arguments
from xlalint.interpreter.loop_names import names_bound, targets_of
from xlalint.lowering import ir
from xlalint.program.facts import Facts

if TYPE_CHECKING:
    from xlalint.interpreter.context import Context
    from xlalint.interpreter.frame import Frame
    from xlalint.interpreter.interpreter import Interpreter
    from xlalint.program.linker import FunctionInfo

_STAND_IN: Final = "types.FunctionType"
_MOST: Final = 3
# What may give a name another value in a way that is not looked at.
_MAY_BIND: Final = frozenset(
    (
        ir.Define,
        ir.DefineClass,
        ir.Delete,
        ir.Import,
        ir.Match,
        ir.Outer,
        ir.TooDeep,
        ir.Try,
        ir.Walrus,
        ir.With,
    )
)
# How a parameter of a kind is passed on.
_PASSED: Final = {"/": "{0}", "": "{0}", "*": "*{0}", "k": "{0}={0}", "**": "**{0}"}


class Carried(NamedTuple):
    """The function to which a wrapper hands all that it gets, and its name in the wrapper's closure."""

    name: str
    func: Function


_Given = tuple[tuple[Value, ...], tuple[tuple[str, Value], ...], Value | None, Value | None]
_Made = tuple[Function, tuple[_Given, ...]]
"""What makes a wrapper: the decorator, and the arguments that it is called with before it gets a function, if any."""


def _spell(made: _Made) -> str:
    steps = [
        f"{order_of_all(args)}{order_of_pairs(pairs)}{order_of_all([one for one in (rest, extra) if one is not None])}"
        for args, pairs, rest, extra in made[1]
    ]
    return f"{order_of(made[0])}{' '.join(steps)}"


class Decorators:
    """Applies the program's decorators to its functions; remembers what each makes."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        reader, progress = interpreter.reader, interpreter.program.progress
        self.decorated: Facts[FunctionInfo, Value] = Facts(
            reader, progress, "decorated", place_of, function, self._apply
        )
        self.wrappers: Facts[_Made, Function | None] = Facts(
            reader, progress, "wrapper", _spell, lambda key: None, self._make
        )
        self.carriers: Facts[FunctionInfo, str] = Facts(
            reader, progress, "carrier", place_of, lambda info: "", _find_delegate
        )

    def apply(self, info: FunctionInfo) -> Value:
        """A function of a module or class after its decorators, bound to nothing."""
        return self.decorated.of(info)

    def _apply(self, info: FunctionInfo) -> Value:
        with self._interpreter.apart():
            return self.applied_in(self._interpreter.module_frame(info.module), info, function(info))

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

    def find_carried(self, func: Function) -> Carried | None:
        """The function that another one calls with all that it gets, as it got it; None: it gets no arguments of unknown number."""
        params = func.info.params
        if not params or params[-1].kind not in ("*", "**"):
            return None
        carrier = self.carriers.of(func.info)
        for name, value in func.closure:
            if name == carrier and isinstance(value, Function) and value.receiver is None:
                return Carried(name, value)
        return None

    def _wrapper(self, frame: Frame, decorator: ir.Node) -> Function | None:
        """Return what a decorator puts around a function, or None where that is nothing.

        The function has a stand-in in its closure.
        """
        made = decorator.func if type(decorator) is ir.Call else decorator
        if not isinstance(made, (ir.Name, ir.Attr)):
            return None
        maker = frame.program.resolve(frame.module, made) if frame.function is None else frame.eval(made)
        if not isinstance(maker, Function):
            return None
        steps: list[Arguments] = []
        if type(decorator) is ir.Call:
            given = evaluate_arguments(frame, decorator)
            steps.append(
                Arguments(
                    [_without_texts(arg) for arg in given.args],
                    {name: _without_texts(arg) for name, arg in given.keywords.items()},
                    given.rest,
                    given.extra,
                )
            )
        return self.wrappers.of((maker, tuple([(tuple(one.args), one.pairs(), one.rest, one.extra) for one in steps])))

    def _make(self, key: _Made) -> Function | None:
        maker, steps = key
        value: Value = maker
        with self._interpreter.apart():
            for args, pairs, rest, extra in steps:
                value = self._call(maker, value, Arguments(list(args), dict(pairs), rest, extra))
            if all(isinstance(one, Function) and one.info.answers(_gives_back) for one in members(value)):
                return None
            value = self._call(maker, value, Arguments([foreign(_STAND_IN)], {}))
        return next((member for member in members(value) if isinstance(member, Function) and _wraps(member)), None)

    def _call(self, maker: Function, value: Value, arguments: Arguments) -> Value:
        called = [member for member in members(value) if isinstance(member, Function)]
        return join_all(
            self._interpreter.call_function(self._interpreter.module_frame(maker.info.module), member, arguments, 0)
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


def _find_delegate(info: FunctionInfo) -> str:
    """The free name that a function calls, wherever it does, with its own parameters in their order; "" for none."""
    whole: set[str] = set()
    other: set[str] = set()
    for node in ir.walk(info.body):
        if type(node) is ir.Call and type(node.func) is ir.Name and node.func.id in info.ir.free:
            (whole if _passes_all(info, node) else other).add(node.func.id)
    whole -= other
    return whole.pop() if len(whole) == 1 else ""


def _passes_all(info: FunctionInfo, call: ir.Call) -> bool:
    """Return whether a call passes each parameter under its own name: `func(self, *args, **kwargs)`."""
    given = [_name(arg.value, "*") if type(arg) is ir.Star else _name(arg) for arg in call.args]
    named = [_name(arg, f"{name}=" if name else "**") for name, arg in call.keywords]
    return [*given, *named] == [_PASSED[param.kind].format(param.name) for param in info.params]


def _name(node: ir.Node, prefix: str = "") -> str:
    return prefix + node.id if type(node) is ir.Name else ""


def _gives_back(info: FunctionInfo) -> bool:
    """Return whether all that a function returns is what it got first, which is told by its text: it need not be run."""
    if not info.params or info.ir.is_generator:
        return False
    name = info.params[0].name
    return all(
        type(node) not in _MAY_BIND
        and not (type(node) is ir.Return and (type(node.value) is not ir.Name or node.value.id != name))
        and all(name not in names_bound(target) for target in targets_of(node))
        for node in ir.walk(info.body)
    )


def _wraps(value: Function) -> bool:
    """Return whether a function keeps the stand-in to call it."""
    return any(_is_stand_in(held) for _, held in value.closure)


def _is_stand_in(value: Value) -> bool:
    return isinstance(value, LibraryInstance) and value.name == _STAND_IN


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
        items = tuple([_without_texts(item) for item in value.items])
        return value if items == value.items else sequence(value.kind, None, join_all(items))
    return value
