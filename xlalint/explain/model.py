"""The data of an explanation. Field names and order are those of `xlalint explain --output-format json`; they are stable: fields are
added, never renamed or taken away. Rows and columns count from 1, columns in code points, ends are exclusive.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from xlalint.diagnostics.finding import ConfidenceName, Location, Severity, TraceStep

KindName = Literal[
    "tensor", "array", "host", "none", "sequence", "mapping", "module", "config", "object", "callable", "namespace",
    "union", "unknown", "never",
]  # fmt: skip
Cause = Literal[
    "annotation",
    "call-site",
    "default",
    "use",
    "receiver",
    "api",
    "assignment",
    "attribute",
    "loop",
    "context-manager",
    "function",
    "class",
    "import",
    "builtin",
    "operation",
    "literal",
    "narrowing",
    "closure",
    "taught",
    "unknown",
]
Status = Literal[
    "fired",
    "suppressed",
    "not-selected",
    "ignored-in-file",
    "low-confidence",
    "info-hidden",
    "off",
    "superseded",
    "untraced",
    "converted",
    "excused",
]
Silence = Literal["host-value", "unknown-value", "untraced", "unreached", "no-question", "no-rule"]


class Kind(msgspec.Struct, frozen=True):
    """Describes a value, in words and in parts.

    `dtype` is bool, int, float or complex; `rank` the number of dimensions; both None where not known. `sure` is false for what was taken
    for a tensor by its use. `origin` of a host value: python, shape (of a tensor), data (read from
    a tensor), drawn (at random), counted or turn (from step to step).
    """

    kind: KindName
    text: str
    framework: str | None = None
    dtype: str | None = None
    rank: int | None = None
    sure: bool = True
    origin: str | None = None


class Origin(msgspec.Struct, frozen=True):
    """One fact that makes a value what it is. `depth` 0 is the value's own, 1 that of what it was made from, and so on. In a
    notebook, `row` counts within `cell`.
    """

    cause: Cause
    text: str
    depth: int = 0
    filename: str | None = None
    row: int | None = None
    cell: int | None = None


class Belief(msgspec.Struct, frozen=True):
    """An expression on the line, the join of what it is in all analysed calls, why, and what it is in each of them where that differs."""

    expression: str
    location: Location
    end_location: Location
    value: Kind
    origins: tuple[Origin, ...] = ()
    contexts: tuple[int, ...] = ()
    differing: tuple[Kind, ...] = ()


class Activation(msgspec.Struct, frozen=True):
    """One analysed call of the function: by whom, with which arguments, and whether it counts."""

    number: int
    caller: str
    arguments: tuple[tuple[str, Kind], ...]
    traced: bool
    filename: str | None = None
    row: int | None = None
    cell: int | None = None


class Tracedness(msgspec.Struct, frozen=True):
    """Says whether the code is traced, how sure that is, by which chain (the root first), and in words why or why not."""

    traced: bool
    confidence: Literal["certain", "likely"] | None
    reason: str
    trace: tuple[TraceStep, ...] = ()
    other_roots: int = 0


class Verdict(msgspec.Struct, frozen=True):
    """Says what became of one hazard at the place: `fired`, or why not."""

    code: str
    name: str
    status: Status
    message: str
    severity: Severity | None
    confidence: ConfidenceName
    location: Location
    end_location: Location
    reason: str = ""


class Question(msgspec.Struct, frozen=True):
    """Something on the line that would be a hazard if its value were a tensor (a condition, a size, an index), and why it is none."""

    silence: Silence
    expression: str
    location: Location
    end_location: Location
    text: str


class ProgramPart(msgspec.Struct, frozen=True):
    """Names what was analysed: the paths that make the program, and their number of files. `complete`: the roots of all of them were
    entered; else `modules` lists those that were. `checked`: the reports are what `check` gives for the same files.
    """

    paths: tuple[str, ...]
    files: int
    modules: tuple[str, ...]
    complete: bool
    checked: bool


class Explanation(msgspec.Struct, frozen=True):
    """The answer for one place. `function` is the qualified name, or "<module>"; `location` is the statement's (of a long one, the line's),
    or with a column the expression's. `source` are the lines from `first_row`. In a notebook, rows count within `cell`.
    """

    filename: str
    row: int
    column: int | None
    function: str
    location: Location
    end_location: Location
    first_row: int
    source: tuple[str, ...]
    target: str
    device: str
    traced: Tracedness
    values: tuple[Belief, ...]
    rules: tuple[Verdict, ...]
    questions: tuple[Question, ...]
    activations: tuple[Activation, ...]
    hints: tuple[str, ...]
    program: ProgramPart
    cell: int | None = None
