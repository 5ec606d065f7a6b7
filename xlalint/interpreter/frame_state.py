"""Parts of a frame's state, each named for what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from xlalint.interpreter.device_loops import last_name
from xlalint.interpreter.dispatch_loops import lists_table
from xlalint.interpreter.rates import ALWAYS
from xlalint.interpreter.spelling import path_of
from xlalint.lowering import ir

if TYPE_CHECKING:
    from xlalint.abstract.values import Value
    from xlalint.interpreter.context import Context, PendingHazard

LoopKind = Literal["", "for", "while", "endless"]
"""The kind of a loop on host values; "endless" is `while` on what is known to be true."""


class Scope:
    """Facts about the names of a frame.

    `owners` are the names `x` of which the environment ever had a key "x.attr". `declared` holds the annotations of names, which say what
    they are where a new value is not known. `outer_names` are declared `global` or `nonlocal`.
    """

    __slots__ = ("declared", "outer_names", "owners", "receiver_name")

    def __init__(self) -> None:
        self.receiver_name = ""
        self.owners: set[str] = set()
        self.declared: dict[str, ir.Node] = {}
        self.outer_names: frozenset[str] = frozenset()


class LoopTurns:
    """Keeps what is seen of the turns of one lasting loop.

    `tests_before` counts the tests around the loop, `is_innermost` says that no lasting loop stands in it. `reads` are what the host reads
    at each turn, `aside` those of them that no state is computed with, `plays` says that a simulation of the host's needs another one to go
    on, `called` are the functions that it calls at each, with the places of the calls; `dispatches` says that a turn has the device
    compute something, `takes_many` that the device takes many steps at each by itself. `added` are the names that it adds to, `calls` the
    last names of what it calls, once somebody asked. `around` is the lasting loop around it. `joined` are tensors that a turn makes longer,
    by place, each with the statement and the name; `lengthened` are those of a framework that compiles each operation by itself.
    """

    __slots__ = (
        "added",
        "around",
        "aside",
        "called",
        "calls",
        "dispatches",
        "is_innermost",
        "joined",
        "lengthened",
        "loop",
        "plays",
        "reads",
        "takes_many",
        "tests_before",
    )

    def __init__(
        self, loop: ir.For | ir.While, tests_before: int, is_innermost: bool, around: LoopTurns | None
    ) -> None:
        self.loop = loop
        self.around = around
        self.tests_before = tests_before
        self.is_innermost = is_innermost
        self.reads: list[PendingHazard] = []
        self.aside: list[PendingHazard] = []
        self.called: dict[Context, int] = {}
        self.joined: dict[int, tuple[int, Value, ir.Node]] = {}
        self.lengthened: dict[int, tuple[int, Value, ir.Node]] = {}
        self.dispatches = self.takes_many = self.plays = False
        self.added: frozenset[str] | None = None
        self.calls: frozenset[str] | None = None

    def list_calls(self) -> frozenset[str]:
        """The last names of what the outermost loop around calls in its turns, but for what tables and progress bars are told."""
        outer = self
        while outer.around is not None:
            outer = outer.around
        if outer.calls is None:
            called = [one for one in ir.walk(outer.loop.body) if isinstance(one, ir.Call)]
            tables = {path_of(one.func.value) for one in called if isinstance(one.func, ir.Attr) and lists_table(one)}
            outer.calls = frozenset([last_name(one.func) for one in called if not _tells_of(one, tables)])
        return outer.calls


def _tells_of(call: ir.Call, tables: set[str]) -> bool:
    """Return whether a call gives a table more entries, or says how far a loop is: `losses.update(more)`, `bar.update(1)`."""
    if not isinstance(call.func, ir.Attr) or call.func.name != "update":
        return False
    return path_of(call.func.value) in tables - {""} or all(isinstance(arg, ir.Const) for arg in call.args)


class Loops:
    """The loops around the code under way.

    `break_envs` and `continue_envs` collect the environments that leave or repeat the innermost loop. `kind` is that of the innermost loop
    on host values, `names_before` are the names that were set before the innermost loop on a symbolic tensor.

    `depth` counts the loops (in code that drives a device: those whose turns are its steps), `lasting` those of more than a few turns;
    `step_depth` is what `depth` was where the innermost loop began that drives the device, 0 without one. `rate` is how often the code
    under way runs, `counters` are the names that the loops which drive the device bind at each turn, `counted` those that all loops do.
    `dispatches` says that results of compiled functions are marked in them. `turn` is what is known of the innermost lasting loop.
    `stepping` is the last loop that called a compiled function by itself which trains.
    """

    __slots__ = (
        "break_envs",
        "continue_envs",
        "counted",
        "counters",
        "depth",
        "dispatches",
        "kind",
        "lasting",
        "names_before",
        "rate",
        "step_depth",
        "stepping",
        "turn",
    )

    def __init__(self) -> None:
        self.break_envs: list[dict[str, Value]] = []
        self.continue_envs: list[dict[str, Value]] = []
        self.kind: LoopKind = ""
        self.names_before: frozenset[str] = frozenset()
        self.depth = 0
        self.lasting = 0
        self.dispatches = False
        self.turn: LoopTurns | None = None
        self.stepping: ir.For | ir.While | None = None
        self.step_depth = 0
        self.rate = ALWAYS
        self.counters: frozenset[str] = frozenset()
        self.counted: frozenset[str] = frozenset()

    def follow_step(self) -> bool:
        """Return whether the innermost lasting loop takes a step in each turn: what the device is asked for there waits for that."""
        return self.turn is not None and self.stepping is self.turn.loop


class Paths:
    """How the code under way is reached, as counts of what stands around it.

    `suppressed`: error paths, whose hazards do not count. `separate_graph`: blocks that fill a graph of their own. `tapes`: gradient tapes.
    `try_depth`: `try` blocks that catch what tracers raise. `branch_depth`: branches that may not be taken. `ambiguous_callee`: calls and
    indices of what may be something else. `overridden`: calls of what one of several subclasses makes of an abstract method;
    `left_open` are the places where one is got.

    `tests` are the conditions of branches of which it is not known whether they are taken, `choices` those of conditional expressions,
    `remembers` is the table that the branch fills in once per key.
    """

    __slots__ = (
        "ambiguous_callee",
        "branch_depth",
        "choices",
        "left_open",
        "overridden",
        "remembers",
        "separate_graph",
        "suppressed",
        "tapes",
        "tests",
        "try_depth",
    )

    def __init__(self) -> None:
        self.suppressed = 0
        self.separate_graph = 0
        self.tapes = 0
        self.try_depth = 0
        self.branch_depth = 0
        self.ambiguous_callee = 0
        self.overridden = 0
        self.left_open: set[int] = set()
        self.tests: list[ir.Node] = []
        self.choices: list[ir.Node] = []
        self.remembers = ""
