"""Finds what a rewrite leaves behind where something is compiled, step by step: what is said only while a function is traced, arrays that
are given away, settings. Runs in the child process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xlalint.verify.backends import GIVEN_AWAY, Content, Result
from xlalint.verify.closeness import differ
from xlalint.verify.model import Step

TRACED_ONCE = ("jax", "tensorflow")
"""The backends whose frameworks run Python only while they trace a function."""
SAID = ("printed", "standard error", "logged", "warned", "asked of the system")

_LEFT = ("settings", "arguments", GIVEN_AWAY)

Steps = Sequence[tuple[Step, Result]]


def find_left(before: Steps, after: Steps, *, gives_away: bool) -> tuple[int, str]:
    """Find in what a step leaves something else behind than it did, and its position; (0, "") if none does.

    What was said is told by its lines, and what is kept by its names, since numbers in them may be rounded in another way; both for steps
    in which nothing was compiled: what happens while a function is traced happens as often as it is. More than was said is what Python
    says, by which both are the same.

    Args:
        before, after: the steps of the two programs.
        gives_away: whether it is known that the rewrite gives arguments away.
    """
    for n, ((step, one), (other_step, other)) in enumerate(zip(before, after, strict=False)):
        left = [name for name in _LEFT if name != GIVEN_AWAY or not gives_away]
        for name in left:
            if why := differ(one.effects.get(name, Content()), other.effects.get(name, Content()), exact=True):
                return n, f"{name}: {why}"
        if step.counts.compilations or other_step.counts.compilations:
            continue
        gone = set(one.effects.get("state", Content()).paths) - set(other.effects.get("state", Content()).paths)
        if gone:
            return n, f"state: {min(gone)} only before, in a step that compiles nothing"
        for name, lines, others in _find_said(one.effects, other.effects):
            if len(others) < len(lines):
                return n, f"{name}: {len(others)} lines, {len(lines)} before, in a step that compiles nothing"
    return 0, ""


def _find_said(one: Mapping[str, Content], other: Mapping[str, Content]) -> Iterator[tuple[str, list[str], list[str]]]:
    for name in SAID:
        if name in one and name in other:
            yield name, _lines_of(one[name]), _lines_of(other[name])


def _lines_of(content: Content) -> list[str]:
    return [line for _, text in content.leaves for line in str(text).splitlines()]
