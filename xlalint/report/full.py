"""The form for people: message, source frame with the culprit underlined, why the code is traced, the way out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from xlalint.report.copies import Folded, describe_copies, fold_copies
from xlalint.report.frame import frame
from xlalint.report.printable import printable
from xlalint.report.view import SEVERITY_STYLE, View
from xlalint.report.wrapping import wrap_words

if TYPE_CHECKING:
    from xlalint.diagnostics.finding import Finding

_HANGING = 4  # blanks before what goes on in another line
_LINE_END = re.compile(r"\r\n?|\n")


def render(findings: Sequence[Finding], view: View) -> str:
    """All findings, an empty line between; those in copies of one function in one entry, unless the view shows them all."""
    read: dict[tuple[str, int | None], list[str] | None] = {}  # in order of cost, files come again and again
    blocks: list[str] = []
    entries = [Folded(finding, []) for finding in findings] if view.show_copies else fold_copies(findings)
    for entry in entries:
        place = entry.finding.filename, entry.finding.cell
        if place not in read:
            read[place] = _lines(*place, view)
        blocks.append("\n".join(_block(entry, read[place], view)))
    return "".join(f"{block}\n\n" for block in blocks)


def _lines(filename: str, cell: int | None, view: View) -> list[str] | None:
    text = view.text_of(filename) if cell is None else view.cells_of(filename).get(cell)
    return _LINE_END.split(text) if text is not None else None


def _block(entry: Folded, lines: Sequence[str] | None, view: View) -> Iterator[str]:
    finding = entry.finding
    style = SEVERITY_STYLE[finding.severity]
    head = view.link(view.paint(f"{finding.severity}[{finding.code}]", *style), finding.url)
    marked = 4 if view.mark(finding) else 0
    taken = len(f"{finding.severity}[{finding.code}] {finding.name}: ") + marked
    first, *more = wrap_words(printable(finding.message), view.columns, taken, _HANGING)
    yield f"{head} {view.mark(finding)}{view.paint(finding.name, 'bold')}: {first}"
    yield from more
    shown = frame(finding, lines, view) if lines is not None else None
    margin = " " * (shown.margin if shown else 1)
    yield f"{margin}{view.paint('-->', 'blue')} {view.place(finding)}"
    if shown:
        yield from shown.lines
    copies = [("copies", describe_copies(entry.copies, view))] if entry.copies else []
    for label, said in (*copies, *notes(finding, view)):
        indent = len(margin) + len(" = ")
        first, *more = wrap_words(printable(said), view.columns, indent + len(f"{label}: "), indent + _HANGING)
        yield f"{margin} {view.paint('=', 'blue')} {view.paint(f'{label}:', 'bold')} {first}"
        yield from more


def notes(finding: Finding, view: View) -> Iterator[tuple[str, str]]:
    """Yield the notes below a finding's message, each with its label; its confidence where that is not the usual one of the report."""
    if finding.trace:
        yield "why traced", chain(finding)
    if finding.confidence != view.usual_confidence:
        yield "confidence", finding.confidence
    if finding.help:
        yield "help", finding.help
    if finding.fix is not None:
        yield f"{finding.fix.applicability} fix", finding.fix.message
        if finding.fix.proof is not None:
            yield finding.fix.proof.verdict, finding.fix.proof.reason
    if finding.no_fix:
        yield "no fix", finding.no_fix


def chain(finding: Finding) -> str:
    """`Model.forward (nn.Module.forward) → compute_loss → here`; the last step is the function that holds the finding."""
    root, *others = finding.trace
    first = f"{root.name} ({root.why})" if root.why else root.name
    return " → ".join([first, *(step.name for step in others), "here"])
