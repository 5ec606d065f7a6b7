"""What a rewrite says: a `Fix`, or why there is none."""

from __future__ import annotations

from typing import Union

import msgspec

from xlalint.checks.finding import Fix


class Reason(msgspec.Struct, frozen=True):
    """Why a rewrite does not apply, in one line for the user: "it names no rule that is near"."""

    text: str


Outcome = Union[Fix, Reason]
