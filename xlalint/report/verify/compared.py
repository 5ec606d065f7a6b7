"""Prints for `xlalint verify NEW --against OLD`: the verdict and what it rests on, or a counterexample; or all as JSON."""

from __future__ import annotations

from typing import Any, Union

import msgspec
from msgspec import Struct

from xlalint.report.printable import printable, printable_lines
from xlalint.report.view import View
from xlalint.verify.model import Place, Verdict


class TargetComparison(Struct, frozen=True):
    """A target that was compared with another, or could not be: then `failure` says why. `kept`: an earlier run did."""

    target: str
    against: str
    place: Union[Place, None] = None
    backend: str = ""
    verdict: Union[Verdict, None] = None
    seconds: float = 0.0
    failure: str = ""
    kept: bool = False


_WORDS = {
    "proven": ("no difference found", "bold", "green"),
    "proven-except-check": ("no difference found but that a check is gone", "bold", "yellow"),
    "refuted": ("refuted", "bold", "red"),
    "unverified": ("unverified", "bold", "yellow"),
}


def render(one: TargetComparison, view: View) -> str:
    """The comparison for people."""
    head = f"{one.target} against {one.against}"
    before = " (of an earlier run: nothing has changed since)" if one.kept else ""
    if one.verdict is None:
        return f"{view.paint('could not run', 'bold', 'red')} {head}: {printable_lines(one.failure)}\n"
    word = view.paint(*_WORDS[one.verdict.kind])
    lines = [f"{head} on {one.backend}{before}", f"{word}: {printable(one.verdict.reason)}"]
    lines += [f"    {printable(line)}" for line in one.verdict.counterexample.splitlines()]
    return "\n".join(lines) + "\n"


def as_json(compared: list[TargetComparison]) -> str:
    """Comparisons as one array; of one that could not be run the verdict is "unverified"."""
    return msgspec.json.format(msgspec.json.encode([_plain(one) for one in compared]), indent=1).decode()


def _plain(one: TargetComparison) -> dict[str, Any]:
    verdict = one.verdict or Verdict("unverified", one.failure)
    return {
        "target": one.target,
        "against": one.against,
        "place": msgspec.to_builtins(one.place),
        "backend": one.backend,
        "verdict": verdict.kind,
        "reason": verdict.reason,
        "counterexample": verdict.counterexample,
        "coverage": msgspec.to_builtins(verdict.coverage),
        "seconds": one.seconds,
        "failure": one.failure or None,
        "kept": one.kept,
    }
