"""The hazard: what the interpreter finds and every later stage speaks of."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

import msgspec

Kind = Literal[
    "control-flow", "dynamic-shape", "host-sync", "recompile", "config", "unsupported", "graph-break", "tool"
]


DRIVES_STEPS = "steps an XLA device in a loop"
"""Why a function is a root that holds a training loop: the first link of chains that begin there says so."""

TAKES_STEP = "takes a training step"
"""Why one is a root that is called for each step."""

EVALUATES = "evaluates a model in a loop"
"""Why one is a root that runs a model over data, as an evaluation or a test does."""

TAKES_TENSORS = "takes tensors"
"""Why one is a root that anyone may call, as often as they please."""


class Confidence(IntEnum):
    """How sure a hazard is; a larger value is surer."""

    POSSIBLE = 0
    LIKELY = 1
    CERTAIN = 2


class Frequency(IntEnum):
    """How often code runs, in a program that trains or infers; of two the larger is the more frequent, and their join."""

    ONCE = 0
    """Once a run, or once each time that somebody calls it."""
    EPOCH = 1
    """Once an epoch: beside the loop over steps, in the one around it."""
    NTH_STEP = 2
    """At every n-th step, n being ten or more, or not known."""
    FEW_STEPS = 3
    """At every n-th step, n being less than ten: reading a value every fourth step was measured to cost."""
    EVALUATION = 4
    """At every step of an evaluation."""
    CALL = 5
    """At each call of a function that may be called at every step, or once: the program does not say."""
    STEP = 6


class Step(msgspec.Struct, frozen=True, array_like=True):
    """One link of the chain that makes code traced: a function, where it stands, and why it is reached."""

    path: str
    row: int
    name: str
    why: str


class Inside(msgspec.Struct, frozen=True, array_like=True):
    """A place in an installed library: a byte offset into the text of a file, which `file` names as from the folder of packages, and the
    dotted name of the function there."""

    path: str
    file: str
    name: str
    start: int


class Hazard(msgspec.Struct, frozen=True, array_like=True):
    """A place where a tensor's value reaches the host program, or where the graph changes between steps.

    `start` and `end` are byte offsets into the file's text as UTF-8 (see `SourceFile.text`), end exclusive: the
    offending expression. `statement` is the byte offset at which the statement that holds the expression begins.
    `subject` is the source-like name of the tensor ("mask", "x.max()"); `detail` completes the message where
    the rule's own words do not ("read by `torch.equal`"). `variant` selects among a rule's severities (say "no-autograph").
    `severity` overrides the rule's, per target, where the called API knows better; an empty tuple overrides nothing.
    `function` is the qualified name of the function that holds the hazard; `trace` leads from a root to it. `inside` is the place in an
    installed library's code where a call from here meets it. `frequency` is how often it costs, None where that is no question (a setting);
    `looped` says that there, it costs many times: a loop of its own repeats it. `copy_key` is the same for one rule at one place in copies
    of one function, "" outside of functions. `target` is the one for which the file is judged, where the user does not say, "" for the
    usual one. `only` says in words where the code runs at all, "" if in every run of the program.
    `elsewhere`: only XLA minds it, and only another module asks for that.
    """

    path: str
    start: int
    end: int
    statement: int
    rule: str
    framework: str
    confidence: Confidence
    subject: str
    detail: str = ""
    variant: str = ""
    severity: tuple[tuple[str, str], ...] = ()
    function: str = ""
    trace: tuple[Step, ...] = ()
    inside: Inside | None = None
    frequency: Frequency | None = None
    looped: bool = False
    copy_key: str = ""
    target: str = ""
    only: str = ""
    elsewhere: bool = False
