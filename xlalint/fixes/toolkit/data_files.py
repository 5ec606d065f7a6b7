"""Files of data that say how programs run (`xlalint.source.data_files`): what is written in the place of a word."""

from __future__ import annotations

from typing import NamedTuple

from xlalint.analysis.hazard import Hazard
from xlalint.diagnostics.finding import Edit, Fix, Location
from xlalint.fixes.config.trainer_xla_options import NEAREST
from xlalint.fixes.model import FixResult, NoFix
from xlalint.source.lines import Lines


class _Word(NamedTuple):
    old: str
    new: str
    assumes: str = ""


_WORDS = {
    "XLA506": _Word(
        "fp16", "bf16", "bfloat16's eight bits of precision are enough, where everything was computed in float32"
    ),
    "XLA512": _Word("TPU", "XLA"),
}
_NEEDED = NoFix("leave it out, or give what it needs: which of the two is the author's choice")
_BY_OPTION = NoFix("the option of `accelerate launch` that switches it on is given where programs are started")


def rewrite(hazard: Hazard, lines: Lines) -> FixResult:
    """`mixed_precision: fp16` → `bf16`; `distributed_type: TPU` → `XLA`; a misspelt key is spelt as the nearest known one."""
    word = _WORDS.get(hazard.rule) or _nearest(hazard)
    old = lines.data[hazard.start : hazard.end].decode(errors="replace")
    if word is None or word.old not in old:
        return _NEEDED if hazard.rule == "XLA510" else _BY_OPTION
    start, end = Location(*lines.place(hazard.start)), Location(*lines.place(hazard.end))
    new = word.new.strip('"')
    message = f"Use `{new}` (assumes that {word.assumes})" if word.assumes else f"Use `{new}`"
    return Fix("unsafe" if word.assumes else "safe", message, (Edit(old.replace(word.old, word.new, 1), start, end),))


def _nearest(hazard: Hazard) -> _Word | None:
    found = NEAREST.search(hazard.detail)
    return _Word(hazard.subject, f'"{found[1]}"', f"`{found[1]}` is meant") if found is not None else None
