"""Watching the interpreter: what each expression was believed to be, for those who ask why (`xlalint explain`).

A run that nobody watches pays nothing for it: the handlers of expressions and statements are reached through two tables, and `observe`
puts watching ones in their place. Three rare events (a call judged by an API table, a hazard held back, a context entered) are told to
`Interpreter.observer`, where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from xlalint.abstract.lattice import join
from xlalint.abstract.values import Value
from xlalint.interpreter.frame import _EVAL, _EXEC, Frame
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.api_tables.entries import Entry, Spec
    from xlalint.interpreter.context import Context
    from xlalint.interpreter.library_calls import LibraryCall
    from xlalint.program.linker import FunctionInfo


class Applied(NamedTuple):
    """The entry of an API table that a call met, and the case of it that was chosen, None where none applies."""

    entry: Entry
    spec: Spec | None


class Withheld(NamedTuple):
    """A hazard that was met and is not one: the rule, where, of which value, and which fact excuses it."""

    rule: str
    at: int
    value: Value
    excuse: str


class Sight:
    """A record of what was seen while one context was analysed.

    `values` maps the place of an expression, or of a name that is assigned, to the join of all that it was; places are as `ir` packs
    them, in functions counted from the function's start. `ran` are the offsets of statements that were reached, `called` the
    contexts that a call at a place went into.
    """

    __slots__ = ("applied", "called", "ran", "values", "withheld")

    def __init__(self) -> None:
        self.values: dict[int, Value] = {}
        self.ran: set[int] = set()
        self.applied: dict[int, list[Applied]] = {}
        self.withheld: dict[tuple[str, int], Withheld] = {}
        self.called: dict[int, list[Context]] = {}


class Recorder:
    """Keeps what was seen in some modules, given by index. `cut_short` are functions, by path and name, that an internal error ended."""

    def __init__(self, modules: frozenset[int]) -> None:
        self.modules = modules
        self.cut_short: set[tuple[str, str]] = set()
        self.sights: dict[Context, Sight] = {}
        self._turns: dict[tuple[Context, int], ir.Node] = {}

    def sight(self, context: Context) -> Sight:
        """Return the record of what was seen in a context, made when it is first asked for."""
        found = self.sights.get(context)
        if found is None:
            found = self.sights[context] = Sight()
        return found

    def note_value(self, frame: Frame, at: int, value: Value) -> None:
        """An expression was worked out."""
        at += frame.base
        values = self.sight(frame.context).values
        known = values.get(at)
        if known is not value:
            values[at] = value if known is None else join(known, value)

    def note_statement(self, frame: Frame, at: int) -> None:
        """A statement is about to run."""
        at += frame.base & 0xFFFFFFFF
        self.sight(frame.context).ran.add(at)
        target = self._turns.get((frame.context, at))
        if target is not None:
            self.note_binding(frame, target)

    def turns(self, frame: Frame, node: ir.For) -> None:
        """A loop is about to run: what its target holds is seen as its body begins."""
        first = getattr(node.body[0], "at", 0) if node.body else 0
        self._turns[frame.context, first + (frame.base & 0xFFFFFFFF)] = node.target

    def note_binding(self, frame: Frame, target: ir.Node) -> None:
        """A target was assigned: its names hold what they hold now."""
        if isinstance(target, ir.Name):
            value = frame.env.get(target.id)
            if value is not None:
                self.note_value(frame, target.at, value)
        elif isinstance(target, ir.Star):
            self.note_binding(frame, target.value)
        elif isinstance(target, ir.Display):
            for item in target.items:
                self.note_binding(frame, item)
        elif isinstance(target, ir.Attr):
            value = frame.env.get(path_of(target))
            if value is not None:
                self.note_value(frame, target.at, value)

    def note_judged(self, call: LibraryCall, spec: Spec | None) -> None:
        """An API table judged a call."""
        if call.frame.module.index in self.modules:
            found = self.sight(call.frame.context).applied.setdefault(call.node.at + call.frame.base, [])
            if all(known.entry is not call.entry or known.spec is not spec for known in found):
                found.append(Applied(call.entry, spec))

    def withheld(self, frame: Frame, rule: str, at: int, value: Value, excuse: str) -> None:
        """A rule was met by a value, or at a place, of which it does not speak."""
        if frame.module.index in self.modules:
            self.sight(frame.context).withheld.setdefault((rule, at), Withheld(rule, at, value, excuse))

    def note_entered(self, frame: Frame, context: Context, at: int) -> None:
        """A call leads into a context."""
        if frame.module.index in self.modules:
            found = self.sight(frame.context).called.setdefault(at + frame.base, [])
            if context not in found:
                found.append(context)


@contextmanager
def observe(recorder: Recorder) -> Iterator[None]:
    """Let a recorder see what the interpreter does inside of the `with` block."""
    evaluation, execution = dict(_EVAL), dict(_EXEC)
    _EVAL.update((kind, _evaluating(handler, recorder)) for kind, handler in evaluation.items() if _has_place(kind))
    _EXEC.update((kind, _executing(handler, recorder)) for kind, handler in execution.items() if _has_place(kind))
    try:
        yield
    finally:
        _EVAL.update(evaluation)
        _EXEC.update(execution)


def _has_place(kind: type[Any]) -> bool:
    return "at" in kind.__struct_fields__


def _evaluating(handler: Callable[[Frame, Any], Value], recorder: Recorder) -> Callable[[Frame, Any], Value]:
    modules = recorder.modules

    def evaluate(frame: Frame, node: Any) -> Value:
        value = handler(frame, node)
        if frame.module.index in modules:
            recorder.note_value(frame, node.at, value)
        return value

    return evaluate


def _executing(handler: Callable[[Frame, Any], bool], recorder: Recorder) -> Callable[[Frame, Any], bool]:
    modules = recorder.modules

    def execute(frame: Frame, node: Any) -> bool:
        if frame.module.index not in modules:
            return handler(frame, node)
        recorder.note_statement(frame, node.at)
        if isinstance(node, ir.For):
            recorder.turns(frame, node)
        falls = handler(frame, node)
        for target in _targets(node):
            recorder.note_binding(frame, target)
        return falls

    return execute


def _targets(node: Any) -> tuple[ir.Node, ...]:
    if isinstance(node, ir.Assign):
        return node.targets
    if isinstance(node, (ir.AugAssign, ir.AnnAssign)):
        return (node.target,)
    if isinstance(node, ir.With):
        return tuple(target for _, target in node.items if target is not None)
    return ()


def start_of(function: FunctionInfo | None) -> int:
    """Return what places in a function count from, packed as they are.

    Those of module level are those of the file.
    """
    return 0 if function is None else function.ir.start << 32 | function.ir.start


__all__ = ["Applied", "Recorder", "Sight", "Withheld", "observe", "start_of"]
