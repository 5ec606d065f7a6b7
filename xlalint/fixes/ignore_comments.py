"""`--add-ignore`: a `# xlalint: ignore[CODE]` behind each statement that has findings, so that a project can begin to use xlalint today.

Not `# noqa: CODE`: Ruff's RUF102 removes codes that it does not know from those.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate

from xlalint.diagnostics.finding import Finding, Location
from xlalint.diagnostics.logical_lines import logical_lines
from xlalint.fixes.toolkit.edits import Span
from xlalint.source.directives import Directive, suppressions
from xlalint.source.lines import Lines


def silencing(text: str, findings: Iterable[Finding], reason: str = "") -> list[Span]:
    """The edits of a file's text that put comments which silence these findings of it, and give the reason; a directive that is there
    already is extended."""
    data = text.encode()
    lines = Lines(data)
    extents = list(logical_lines(data))
    wanted: defaultdict[int, set[str]] = defaultdict(set)
    for finding in findings:
        wanted[_last_row(finding.location, lines, extents)].add(finding.code)
    present = {directive.at: directive for directive in suppressions(text).directives if _extends(directive)}
    ends = [*lines.starts[1:], len(data)]
    rows = [data[start:end].decode() for start, end in zip(lines.starts, ends, strict=True)]
    starts = [0, *accumulate(map(len, rows))]
    return [
        Span(starts[row - 1], starts[row], _with(rows[row - 1], sorted(codes), present.get(row), reason))
        for row, codes in sorted(wanted.items())
    ]


def _last_row(place: Location, lines: Lines, extents: list[tuple[int, int]]) -> int:
    """The row on which the statement, or the header, around a place ends."""
    offset = lines.starts[place.row - 1]
    index = bisect_right(extents, (offset, len(lines.data)))
    around = [extent for extent in extents[max(index - 1, 0) : index + 1] if extent[1] > offset]
    return lines.byte_place(around[0][1] - 1)[0] if around else place.row


def _extends(directive: Directive) -> bool:
    """Return whether codes can be added to a directive: one of ours, with codes, behind a statement."""
    return bool(directive.words) and directive.scope == "statement" and not (directive.whole or directive.shared)


def _with(row: str, codes: list[str], directive: Directive | None, reason: str) -> str:
    """A row with the codes in its directive, or in a new one at its end."""
    if directive is not None:
        at = directive.words[-1][2] - 1
        listed = {word for word, _, _ in directive.words}
        return row[:at] + "".join(f", {code}" for code in codes if code not in listed) + row[at:]
    content = row.rstrip("\r\n")
    said = f" {reason.strip()}" if reason.strip() else ""
    return f"{content.rstrip()}  # xlalint: ignore[{', '.join(codes)}]{said}{row[len(content) :]}"
