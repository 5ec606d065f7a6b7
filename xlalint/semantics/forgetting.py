"""What an interpreter remembers, and how it forgets what a change of some function bodies has made untrue.

Each thing that is remembered noted what it read (`xlalint.semantics.reads`). What read a changed body, or used what read one, is
dropped and worked out again when it is next asked for; the rest stays. Names, headers, classes and imports must be as they were.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, TypeVar

from xlalint.semantics.driving import Drivers
from xlalint.semantics.reads import Reads, stale

if TYPE_CHECKING:
    from xlalint.semantics.context import Context
    from xlalint.semantics.interpreter import Counts, Interpreter
    from xlalint.semantics.program import FunctionInfo, ModuleInfo

_Key = TypeVar("_Key", bound=Hashable)


def forget(interpreter: Interpreter, module: ModuleInfo, functions: set[FunctionInfo]) -> None:
    """Forget what the bodies of some functions made true, all of a module whose text has changed.

    Places of the module's own statements count from the file's beginning, so these are run again. What used their values may go on to.
    """
    _drop_module(interpreter, module.index)
    if not functions:
        return
    interpreter.drivers = Drivers()
    gone = stale(_computations(interpreter), functions)
    if not gone:
        return
    _drop_contexts(interpreter._shared, gone, None)
    _drop_contexts(interpreter.contexts, gone, interpreter.entered_by)
    _drop_contexts(interpreter._table_contexts, gone, interpreter._table_counts)
    for index in [index for index, context in interpreter.module_contexts.items() if context in gone]:
        _drop_module(interpreter, index)
    for table in _tables(interpreter):
        for key in [key for key, (_, reads) in table.items() if reads in gone]:
            del table[key]
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
    return len(interpreter._shared) + len(interpreter._table_contexts)


def _tables(interpreter: Interpreter) -> Iterator[MutableMapping[Any, tuple[Any, Reads]]]:
    """What is remembered with what it read."""
    tables, decorators, annotations = interpreter.tables, interpreter.decorators, interpreter.annotations
    yield from (tables._stored, tables._body, tables._items)
    yield from (decorators._applied, decorators._wrappers, decorators._names)
    yield from (annotations._assigned, annotations._aliases)
    yield from (interpreter._defaults, interpreter._asked, interpreter.program.names)


def _computations(interpreter: Interpreter) -> Iterator[Reads]:
    yield from interpreter._shared.values()
    yield from interpreter.contexts.values()
    yield from interpreter._table_contexts.values()
    yield from interpreter.module_contexts.values()
    yield from interpreter.tables._lines.values()
    for table in _tables(interpreter):
        for _, reads in table.values():
            yield reads
    for klass in interpreter.reader.overridden:
        for _, reads in klass.overriding.values():
            yield reads


def _drop_contexts(contexts: MutableMapping[_Key, Context], gone: set[Reads], counts: Counts | None) -> None:
    for key in [key for key, context in contexts.items() if context in gone]:
        context = contexts.pop(key)
        if counts is not None:
            counts[context.group] -= 1


def _drop_module(interpreter: Interpreter, index: int) -> None:
    for kept in (interpreter.module_contexts, interpreter.globals, interpreter._module_roots):
        kept.pop(index, None)
