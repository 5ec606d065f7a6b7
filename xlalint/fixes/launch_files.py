"""Accelerate's configuration files (`xlalint.semantics.launch_files`): what is written in a value's place."""

from __future__ import annotations

from typing import NamedTuple

from xlalint.checks.finding import Edit, Fix, Location
from xlalint.fixes.model import Outcome, Reason
from xlalint.semantics.hazard import Hazard
from xlalint.source.lines import Lines


class _Word(NamedTuple):
    old: str
    new: str
    assumes: str = ""


_WORDS = {
    "XLA506": _Word("fp16", "bf16", "bfloat16's eight digits of precision do, where all was computed in float32"),
    "XLA512": _Word("TPU", "XLA"),
}
_BY_OPTION = Reason("the option of `accelerate launch` that switches it on is given where programs are started")


def rewritten(hazard: Hazard, lines: Lines) -> Outcome:
    """`mixed_precision: fp16` → `bf16`; `distributed_type: TPU` → `XLA`."""
    word = _WORDS.get(hazard.rule)
    old = lines.data[hazard.start : hazard.end].decode(errors="replace")
    if word is None or word.old not in old:
        return _BY_OPTION
    start, end = Location(*lines.place(hazard.start)), Location(*lines.place(hazard.end))
    message = f'Use "{word.new}"' + (f" (assumes that {word.assumes})" if word.assumes else "")
    return Fix("unsafe" if word.assumes else "safe", message, (Edit(old.replace(word.old, word.new, 1), start, end),))
