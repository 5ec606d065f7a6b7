"""Forget what a change of some function bodies has made untrue of what an interpreter remembers.

Each thing that is remembered noted what it read (`xlalint.program.dependencies`). What read a changed body, or used what read one, is
dropped and worked out again when it is next asked for; the rest stays. Names, headers, classes and imports must be as they were.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, TypeVar

from xlalint.program.dependencies import DependencySet, stale
from xlalint.program.facts import Facts

if TYPE_CHECKING:
    from xlalint.interpreter.context import Context
    from xlalint.interpreter.interpreter import Counts, Interpreter
    from xlalint.program.linker import FunctionInfo, ModuleInfo

_Key = TypeVar("_Key", bound=Hashable)


def forget(interpreter: Interpreter, module: ModuleInfo, functions: set[FunctionInfo]) -> None:
    """Forget what the bodies of some functions made true, all of a module whose text has changed.

    Places of the module's own statements count from the file's beginning, so these are run again. What used their values may go on to.
    """
    _drop_module(interpreter, module.index)
    interpreter.switches = interpreter.switches.after(module, functions)
    if functions:
        interpreter.drivers = interpreter.drivers.after(functions)
        interpreter.occasions = interpreter.occasions.after(functions, interpreter.drivers)
    interpreter.asked_for = interpreter.asked_for.after(
        module, functions, interpreter.drivers, interpreter.occasions, interpreter.switches
    )
    if not functions:
        return
    gone = stale(_computations(interpreter), functions)
    if not gone:
        return
    _drop_contexts(interpreter._shared, gone, None)
    _drop_contexts(interpreter._loose, gone, None)
    _drop_contexts(interpreter.contexts, gone, interpreter.entered_by)
    _drop_contexts(interpreter._of_tables, gone, None)
    for index in [index for index, context in interpreter.module_contexts.items() if context in gone]:
        _drop_module(interpreter, index)
    for facts in _facts(interpreter):
        facts.forget(gone)
    tables = interpreter.tables
    for klass in [klass for klass, reads in tables._lines.items() if reads in gone]:
        del tables._lines[klass]
        for key in [key for key in tables._attributes if key[0] is klass]:
            del tables._attributes[key]
    for owner in interpreter.reader.overridden:
        for name in [name for name, (_, reads) in owner.overriding.items() if reads in gone]:
            del owner.overriding[name]


def size_of(interpreter: Interpreter) -> int:
    """How much an interpreter remembers, in contexts."""
    return len(interpreter._shared) + len(interpreter._loose) + len(interpreter._of_tables)


def _facts(interpreter: Interpreter) -> Iterator[Facts[Any, Any]]:
    tables, decorators, annotations = interpreter.tables, interpreter.decorators, interpreter.annotations
    yield from (tables.stores, tables.bodies, tables.kept_items, tables.buffers)
    yield from (decorators.decorated, decorators.wrappers, decorators.carriers)
    yield from (annotations.assigned, annotations.aliases)
    yield from (
        interpreter.compared,
        interpreter.joined,
        interpreter.handed,
        interpreter.compiled,
        interpreter.rewritten,
        interpreter.jitted,
        interpreter.kernels,
    )
    yield from (interpreter.default_values, interpreter.asked, interpreter.unmoved)
    yield from (interpreter.globals, interpreter.some_module)
    yield from (interpreter.program.names, interpreter.program.asked)


def _computations(interpreter: Interpreter) -> Iterator[DependencySet]:
    yield from interpreter._shared.values()
    yield from interpreter._loose.values()
    yield from interpreter.contexts.values()
    yield from interpreter._of_tables.values()
    yield from interpreter.module_contexts.values()
    yield from interpreter.tables._lines.values()
    for facts in _facts(interpreter):
        yield from facts.known.values()
    for klass in interpreter.reader.overridden:
        for _, reads in klass.overriding.values():
            yield reads


def _drop_contexts(contexts: MutableMapping[_Key, Context], gone: set[DependencySet], counts: Counts | None) -> None:
    for key in [key for key, context in contexts.items() if context in gone]:
        context = contexts.pop(key)
        if counts is not None:
            counts[context.group] -= 1


def _drop_module(interpreter: Interpreter, index: int) -> None:
    interpreter.globals.discard(index)
    for kept in (interpreter.module_contexts, interpreter._module_roots):
        kept.pop(index, None)
