"""How code hands a function to a tracer: decorators, and their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from xlalint.abstract.values import FALSE, NONE, TRUE, Const, LibrarySymbol, Sequence, Value
from xlalint.interpreter.tracer import HandOver, Runner, Tracer
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.api_tables.entries import Entry
    from xlalint.interpreter.frame import Frame


_STATIC = ("static_argnums", "static_broadcasted_argnums", "static_argnames")
# What says where each argument is; an argument of which it says None is passed as it is, by the second if the tracer records nothing else.
_PLACES = "in_specs"
_AXES = "in_axes"
_TOLD = frozenset((*_STATIC, _PLACES, _AXES, "autograph", "fullgraph", "jit_compile"))


def hand_over(frame: Frame, decorator: ir.Node) -> HandOver | None:
    """Return what a decorator says of tracing: `@jit`, `@jit(...)`, `@partial(jit, ...)`."""
    keywords: tuple[tuple[str, ir.Node], ...] = ()
    if isinstance(decorator, ir.Call):
        value, keywords = _decorating(frame, decorator.func), decorator.keywords
        if isinstance(value, LibrarySymbol) and value.name == "functools.partial" and decorator.args:
            value = _decorating(frame, decorator.args[0])
    else:
        value = _decorating(frame, decorator)
    if not isinstance(value, LibrarySymbol):
        return None
    entry = frame.apis.function(value.name)
    if entry is None or not any(callback.traced for callback in entry.calls):
        return None
    # What a signature is made of may be what the module computes with the function.
    given = {name: frame.eval(node) for name, node in keywords if name in _TOLD}
    eager = value.name in frame.libraries.of(entry.framework).runs_known
    unmapped = numbers_of_none(given.get(_AXES)) if eager else ()
    return HandOver(
        value.name,
        tracer_of(frame, value.name, entry, given),
        (
            *(one for name in _STATIC for one in constants(given.get(name))),
            *numbers_of_none(given.get(_PLACES)),
            *unmapped,
        ),
    )


def tracer_of(frame: Frame, name: str, entry: Entry, given: Mapping[str, Value | None]) -> Tracer:
    """The tracer that the arguments of a call of that name ask for."""
    framework, compiled = entry.framework, given.get("jit_compile")
    semantics = frame.libraries.of(framework)
    runner: Runner = "compiler"
    if semantics.compiles_if_asked and compiled in (None, NONE, FALSE):
        runner = "replicas" if any(callback.apart for callback in entry.calls) else "framework"
        if name in semantics.layers:
            runner = "training"
    whole = semantics.whole_graph(frame.module, given.get("fullgraph")) if semantics.whole_graph is not None else ()
    refuses = semantics.refuses_copies is not None and semantics.refuses_copies(frame.module, name)
    return Tracer(
        framework,
        given.get("autograph") is not FALSE,
        compiled is TRUE,
        runner,
        name in semantics.concrete,
        whole,
        refuses,
    )


def _decorating(frame: Frame, node: ir.Node) -> Value | None:
    if not isinstance(node, (ir.Name, ir.Attr)):
        return None
    return frame.program.resolve(frame.module, node) if frame.function is None else frame.eval(node)


def numbers_of_none(value: Value | None) -> tuple[int, ...]:
    """Number the items of a tuple that are None."""
    items = value.items if isinstance(value, Sequence) else None
    return tuple(number for number, item in enumerate(items or ()) if item is NONE)


def constants(value: Value | None) -> tuple[object, ...]:
    """The known constants that a value is or lists."""
    if isinstance(value, Const):
        return (value.value,) if value.value is not None else ()
    if isinstance(value, Sequence) and value.items is not None:
        return tuple(item.value for item in value.items if isinstance(item, Const))
    return ()
