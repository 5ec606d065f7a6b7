"""The hazard: what the interpreter finds and every later stage speaks of."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

import msgspec

Kind = Literal["control-flow", "dynamic-shape", "host-sync", "recompile", "config", "unsupported", "tool"]


class Confidence(IntEnum):
    """How sure a hazard is; a larger value is surer."""

    POSSIBLE = 0
    LIKELY = 1
    CERTAIN = 2


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
    installed library's code where a call from here meets it.
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
