"""The finding: a hazard judged by a rule for a target, as it is printed."""

from __future__ import annotations

from typing import Literal

import msgspec

Severity = Literal["error", "warning", "info"]
ConfidenceName = Literal["certain", "likely", "possible"]
FrequencyName = Literal["step", "call", "evaluation", "nth-step", "epoch", "run"]
"""How often a finding costs: at every step, of training or of an evaluation; at every n-th; once an epoch; once a run."""


class Location(msgspec.Struct, frozen=True, order=True):
    """A place in a text file; row and column count from 1, the column in code points."""

    row: int
    column: int


class TraceStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One link of the chain from a traced root to the finding; in a notebook, `row` counts within `cell`."""

    filename: str
    row: int
    name: str
    why: str
    cell: int | None = None


class Edit(msgspec.Struct, frozen=True, omit_defaults=True):
    """Replace the text from `location` to `end_location` (exclusive) by `content`; in a notebook, in the cell `cell`."""

    content: str
    location: Location
    end_location: Location
    cell: int | None = None


class Touches(msgspec.Struct, frozen=True):
    """The names of a function, told by its row, that the statements which a fix changes bind and read."""

    function: int
    binds: tuple[str, ...]
    reads: tuple[str, ...]

    def disturbs(self, other: Touches) -> bool:
        """Return whether the two fixes do not go together: what one knew of a name may not hold once the other is made."""
        if self.function != other.function:
            return False
        return not {*self.binds}.isdisjoint((*other.binds, *other.reads)) or not {*other.binds}.isdisjoint(self.reads)


class Coverage(msgspec.Struct, frozen=True):
    """Records what a proof by draws rests on.

    `draws` counts those on which the original ran, by kind; `settings` are the circumstances besides the ordinary ones. `not_varied` is
    what no draw varied, `untaken` which way conditions never went, before and after; `notes` is what a caller may have to know though it is
    no difference. `equal` says by what the two are equal for all values of the declared shapes and dtypes, where they are; draws of other
    values were not needed then.
    """

    draws: dict[str, int] = {}
    settings: tuple[str, ...] = ()
    not_varied: tuple[str, ...] = ()
    untaken: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    equal: str = ""


class Proof(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of running a fix on a device: `verdict`, one line of reason, Python text that shows a refuted one; `seconds` it took;
    `coverage` is what it rests on, where it was run on draws.

    "proven-except-check": all is the same but that a check of the code's own raises no more.
    """

    verdict: Literal["proven", "proven-except-check", "refuted", "unverified"]
    reason: str = ""
    counterexample: str = ""
    seconds: float = 0.0
    coverage: Coverage | None = None


class Fix(msgspec.Struct, frozen=True, omit_defaults=True):
    """A rewrite that removes the hazard; `safe` keeps every value, dtype, shape and gradient.

    Fixes of one file whose edits overlap, or whose `touches` disturb each other, must be made one after the other, with a check between.
    `proof` is there where the fix was run.
    """

    applicability: Literal["safe", "unsafe"]
    message: str
    edits: tuple[Edit, ...]
    touches: Touches | None = None
    proof: Proof | None = None


class Finding(msgspec.Struct, frozen=True):
    """A finding as the user sees it. Field names and order are those of `--output-format json`; `end_location` is exclusive.

    `cell` is the 1-based notebook cell that rows count within, or None outside notebooks. (Until they are shown, rows of a notebook count
    within the module that its cells make, and `cell` is None: `xlalint.report.cells`.) `no_fix` says why there is no `fix`, where
    a rewrite was tried. `frequency` is None where it is no question how often code runs: of settings, of what shapes batches. `copy_key` is
    the same for findings of one rule at one place in copies of one function, "" outside of functions. `target` is how the code reaches XLA:
    for what it is judged.
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
    frequency: FrequencyName | None = None
    copy_key: str = ""
    target: str | None = None

    def fixable(self, *, unsafe: bool) -> bool:
        """Return whether there is a fix that may be applied, where unsafe ones may or may not."""
        return self.fix is not None and (unsafe or self.fix.applicability == "safe")
