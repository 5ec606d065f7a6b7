"""Edits of one text: where they lie, which go together, the text with them, and where its other places went."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple

from xlalint.diagnostics.finding import Edit, Finding, Location, Touches

# Lines as `xlalint.source.lines` has them.
_LINE_END = re.compile(r"\r\n|\n|\r")
_BLANK_LINES = re.compile(r"(?:[ \t]*(?:\r\n|\n|\r))*")


class Span(NamedTuple):
    """Replace the code points from `start` to `end` by `content`."""

    start: int
    end: int
    content: str


class Offsets:
    """Rows and columns of a text as offsets in code points."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        self._length = len(text)

    def at(self, place: Location) -> int:
        """Where a place is; one past the last line is the end."""
        if place.row > len(self._starts):
            return self._length
        return min(self._starts[place.row - 1] + place.column - 1, self._length)

    def span(self, edit: Edit) -> Span:
        """An edit, by offsets."""
        return Span(self.at(edit.location), self.at(edit.end_location), edit.content)


class Change(NamedTuple):
    """Some findings of a text and the edits that fix them: in order, none overlapping another."""

    findings: tuple[Finding, ...]
    spans: tuple[Span, ...]

    def apply(self, text: str) -> str:
        """The text with the edits made."""
        pieces: list[str] = []
        done = 0
        for span in self.spans:
            pieces += (text[done : span.start], span.content)
            done = span.end
        return "".join([*pieces, text[done:]])

    def move(self, offset: int) -> int:
        """Where a place of the old text is in the new one; a place that was replaced is where its replacement begins."""
        shift = 0
        for span in self.spans:
            if span.start >= offset or span.end > offset:
                return min(offset, span.start) + shift
            shift += len(span.content) - (span.end - span.start)
        return offset + shift

    def holds(self, span: Span, offset: int) -> bool:
        """Return whether a place of the new text lies within an edit."""
        start = self.move(span.start)
        return start <= offset <= start + len(span.content)


def together(findings: Iterable[Finding], offsets: Offsets) -> Change:
    """As many fixes as can be made at once, the first in the text first; one that overlaps or disturbs another waits for the next round."""
    taken: list[tuple[Finding, tuple[Span, ...]]] = []
    spans: list[Span] = []
    touched: list[Touches] = []
    for finding in sorted(findings, key=lambda finding: (finding.location, finding.end_location, finding.code)):
        assert finding.fix is not None
        own = tuple(sorted(map(offsets.span, finding.fix.edits)))
        touches = finding.fix.touches
        if _overlap(own, spans) or (touches is not None and any(map(touches.disturbs, touched))):
            continue
        taken.append((finding, own))
        spans = sorted([*spans, *own])
        touched += [touches] if touches is not None else []
    closed = _closed_up(offsets.text, spans)
    return Change(tuple(finding for finding, _ in taken), tuple([_trim(offsets.text, span) for span in closed]))


def _trim(text: str, span: Span) -> Span:
    """An edit without what it leaves as it is at its ends: places there are where they were."""
    old, new = text[span.start : span.end], span.content
    first = _alike(old, new)
    last = _alike(reversed(old[first:]), reversed(new[first:]))
    return Span(span.start + first, span.end - last, new[first : len(new) - last])


def _alike(one: Iterable[str], other: Iterable[str]) -> int:
    """How many code points two texts have in common at their beginnings."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _closed_up(text: str, spans: Sequence[Span]) -> tuple[Span, ...]:
    """The edits, and of the blank lines around adjoining removals of lines only those in front."""
    made: list[Span] = []
    first = 0  # where the removals begin that adjoin the next edit
    for n, span in enumerate(spans):
        adjoins = bool(made) and made[-1].end == span.start and not made[-1].content
        first = first if adjoins else span.start
        following = spans[n + 1].start if n + 1 < len(spans) else len(text)
        if adjoins and not span.content and text[:first].endswith(("\n\n", "\r\n\r\n", "\r\r")):
            blank = _BLANK_LINES.match(text, span.end)
            assert blank is not None
            span = span._replace(end=min(blank.end(), following))
        made.append(span)
    return tuple(made)


def _overlap(own: Sequence[Span], others: Sequence[Span]) -> bool:
    """Return whether any two of the edits cover the same text or begin at the same place. Some of them are checked already."""
    return any(
        max(a.start, b.start) < min(a.end, b.end) or a.start == b.start
        for i, a in enumerate(own)
        for b in (*own[i + 1 :], *others)
    )
