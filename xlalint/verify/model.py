"""The types of verification: what to run, on what inputs, what each step showed, and verdicts.

All of it crosses process borders as msgpack; arrays do not: results are compared where they were computed.
"""

from __future__ import annotations

from typing import Literal, Union

from msgspec import Struct

from xlalint.diagnostics.finding import Coverage

EventKind = Literal["compilation", "host-sync", "fallback", "graph-break", "new-shape", "narrowed", "error"]
EndKind = Literal["finished", "crashed", "timed-out", "out-of-memory"]
VerdictKind = Literal["proven", "proven-except-check", "refuted", "unverified"]
Scalar = Union[bool, int, float, str, None]


class ArraySpec(Struct, frozen=True, tag="array"):
    """An array whose values change from step to step.

    `dtype` is "bool" or one of f16 bf16 f32 f64 i8 i16 i32 i64 u8 c64; a dimension is a size, or a name whose size the request holds.
    Integers lie in `low`..`high`, both included.
    """

    dtype: str
    shape: tuple[Union[int, str], ...]
    low: int = 0
    high: int = 3


class Literally(Struct, frozen=True, tag="literal"):
    """An argument that is passed as written, in every step: the text of a Python literal."""

    text: str


class NamedFunction(Struct, frozen=True, tag="function"):
    """An argument that is a function of arrays, by its name in `inputs.functions`; each framework has its own of that name."""

    name: str


Spec = Union[ArraySpec, Literally, NamedFunction]


class Specs(Struct, frozen=True):
    """The inputs of a subject: arguments by name (those named "0", "1", … are positional), the sizes of named dimensions, and conditions
    that valid inputs fulfil.
    """

    arguments: dict[str, Spec]
    sizes: dict[str, int] = {}
    requires: tuple[str, ...] = ()


class Subject(Struct, frozen=True):
    """Something that can be called: a function, a method, or an instance of a module class.

    `file` (absolute) or, when that is "", the importable `module` holds it under the qualified `name`. `factory` is an expression in that
    module's names which makes the instance that is called, or whose method is called ("" for plain functions and for classes made without
    arguments). `text` takes the place of the file's text: a rewrite that is not written yet. `path` goes in front of `sys.path`.
    """

    module: str
    name: str
    file: str = ""
    factory: str = ""
    text: Union[str, None] = None
    path: tuple[str, ...] = ()


class Place(Struct, frozen=True):
    """A line of Python: `line` counts from 1; `function` is the code's name as a traceback shows it."""

    file: str
    line: int
    function: str = ""


class Event(Struct, frozen=True):
    """Something that cost time, or failed, at a line of the user's code.

    `what` is the framework's operation or reason ("aten::nonzero", "Data-dependent branching", "x: f32[8] was f32[6]"); `place` the
    innermost line that is not the framework's, None where the framework tells none; `count` how often in that step; `seconds` what it
    took, 0.0 where that is not known. Two cost nothing by themselves: in a "new-shape" a batch had another shape than all before it, what
    is "narrowed" is computed in a narrower dtype than it was declared in. `related` are other lines that it goes back to: of a batch, where
    its loader was made.
    """

    kind: EventKind
    what: str
    place: Union[Place, None] = None
    count: int = 1
    seconds: float = 0.0
    related: tuple[Place, ...] = ()


class Counts(Struct, frozen=True):
    """Counts of a framework's own counters: since a meter started, or in one step.

    `transfers` are device-to-host reads; `fallbacks` operations that ran on the host for want of a kernel; `graph_breaks` the places where
    `torch.compile` gave up.
    """

    compilations: int = 0
    executions: int = 0
    transfers: int = 0
    fallbacks: int = 0
    graph_breaks: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.compilations + other.compilations,
            self.executions + other.executions,
            self.transfers + other.transfers,
            self.fallbacks + other.fallbacks,
            self.graph_breaks + other.graph_breaks,
        )

    def __sub__(self, other: Counts) -> Counts:
        return Counts(
            self.compilations - other.compilations,
            self.executions - other.executions,
            self.transfers - other.transfers,
            self.fallbacks - other.fallbacks,
            self.graph_breaks - other.graph_breaks,
        )


class Step(Struct, frozen=True):
    """One call of the subject, number from 0: its counts, events, wall time in seconds, and the sizes of named dimensions.

    Of a script, whose steps are told apart by what ends them, `name` is that: a function, or the line that ends it.
    """

    number: int
    counts: Counts
    seconds: float = 0.0
    events: tuple[Event, ...] = ()
    sizes: dict[str, int] = {}
    name: str = ""


class Observation(Struct, frozen=True):
    """Records a backend's run of a subject: its steps, up to the one that raised `error`, if one did.

    `ended` is how the child process did; where it did not finish, `error` says why and, as far as is known, on which line, and
    `last_words` is the end of what it wrote to standard error. `programs` are files that hold the StableHLO of the distinct compiled
    programs, where they were asked for. `unrun` says why a program was compiled only, "" where it ran.
    """

    backend: str
    steps: tuple[Step, ...] = ()
    error: Union[Event, None] = None
    programs: tuple[str, ...] = ()
    ended: EndKind = "finished"
    last_words: str = ""
    unrun: str = ""


class Verdict(Struct, frozen=True):
    """Judges a rewrite: "proven-except-check" if all is the same but that a check of the original raises no more.

    `counterexample` is Python text that makes the inputs on which it is refuted, `reason` one line, `coverage` what a proof rests on.
    """

    kind: VerdictKind
    reason: str = ""
    counterexample: str = ""
    coverage: Union[Coverage, None] = None


Generation = Literal["v4", "v5e", "v5p", "v6e"]


class Padding(Struct, frozen=True):
    """An array that takes more memory on the TPU than its elements do, since its last dimensions are filled up to whole tiles.

    `array` is dtype and shape, `layout` as XLA writes it ("{1,0:T(8,128)}"), `role` what it is to the program; `bytes` what its elements
    take, `padded` what it takes; `what` is the operation that makes it, or the argument's name.
    """

    array: str
    layout: str
    role: Literal["argument", "output", "temporary"]
    bytes: int
    padded: int
    what: str = ""
    place: Union[Place, None] = None

    @property
    def waste(self) -> int:
        """Bytes that hold nothing."""
        return self.padded - self.bytes

    @property
    def share(self) -> float:
        """The part of its memory that holds nothing, from 0 to 1."""
        return self.waste / self.padded if self.padded else 0.0


class TpuProgram(Struct, frozen=True):
    """Describes the program that the TPU's compiler made of a StableHLO file for one generation; empty if there is an `error`.

    Sizes are bytes of HBM of one chip; `padding` is sorted by waste, the largest first, and None where jaxlib cannot read what libtpu
    made (it knows no sparse cores, which v6e uses for scatters). `seconds` is what compiling took.
    """

    file: str
    generation: Generation
    error: Union[Event, None] = None
    seconds: float = 0.0
    arguments: int = 0
    outputs: int = 0
    temporaries: int = 0
    code: int = 0
    padding: Union[tuple[Padding, ...], None] = ()
