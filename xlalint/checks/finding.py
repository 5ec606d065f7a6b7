"""The finding: a hazard judged by a rule for a target, as it is printed."""

from __future__ import annotations

from typing import Literal

import msgspec

Severity = Literal["error", "warning", "info"]
ConfidenceName = Literal["certain", "likely", "possible"]


class Location(msgspec.Struct, frozen=True, order=True):
    """A place in a text file; row and column count from 1, the column in code points."""

    row: int
    column: int


class TraceStep(msgspec.Struct, frozen=True):
    """One link of the chain from a traced root to the finding."""

    filename: str
    row: int
    name: str
    why: str


class Edit(msgspec.Struct, frozen=True):
    """Replace the text from `location` to `end_location` (exclusive) by `content`."""

    content: str
    location: Location
    end_location: Location


class Fix(msgspec.Struct, frozen=True):
    """A rewrite that removes the hazard; `safe` keeps every value, dtype, shape and gradient."""

    applicability: Literal["safe", "unsafe"]
    message: str
    edits: tuple[Edit, ...]


class Finding(msgspec.Struct, frozen=True):
    """What the user sees. Field names and order are those of `--output-format json`; `end_location` is exclusive.

    `cell` is the 1-based notebook cell that rows count within, or None outside notebooks. `no_fix` says why there is no `fix`, where
    a rewrite was tried.
    """

    code: str
    name: str
    kind: str
    severity: Severity
    confidence: ConfidenceName
    message: str
    filename: str
    cell: int | None
    location: Location
    end_location: Location
    trace: tuple[TraceStep, ...]
    framework: str | None
    fix: Fix | None
    url: str
    help: str = ""
    no_fix: str = ""

    def fixable(self, *, unsafe: bool) -> bool:
        """Whether there is a fix that may be applied, where unsafe ones may or may not."""
        return self.fix is not None and (unsafe or self.fix.applicability == "safe")
