"""Describes a place: of a finding, the rule's page; of any other name, what the analysis knows of it, and why. Shows the same as hints
between the characters of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lsprotocol import types

from xlalint.config import Settings
from xlalint.diagnostics.finding import Finding, Location
from xlalint.explain import explain_in
from xlalint.explain.model import Belief, Explanation
from xlalint.explain.place import Place, PlaceError, Text
from xlalint.explain.wording import Wording
from xlalint.project.session import Session
from xlalint.report.cells import Cells
from xlalint.rules import rules
from xlalint.server.actions import row_in_module
from xlalint.server.diagnostics import Diagnostics
from xlalint.server.documents import Snapshot
from xlalint.source.model import SourceError

_ORIGINS = 3
_HINTED = ("tensor", "array", "host")


def hover(
    session: Session, snapshot: Snapshot, diagnostics: Diagnostics, cell: int | None, position: types.Position
) -> types.Hover | None:
    """Describe a position."""
    path = snapshot.path
    lined = diagnostics.split_lines(path, cell)
    place = lined.location(position)
    located = Cells(lambda _: snapshot.content).locate(session.findings(path))
    here = [one for one in located if one.cell == cell and one.location <= place <= one.end_location]
    said = _explain(session, path, cell, place)
    belief = _nearest(said, row_in_module(session.source(path), cell, place)) if said is not None else None
    parts = [_write_findings(one, session.settings) for one in here]
    if said is not None and belief is not None:
        parts.insert(0, _write_beliefs(belief, said))
    if not parts:
        return None
    extent = lined.range(here[0].location, here[0].end_location) if here else None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(parts)), extent)


def _explain(session: Session, path: str, cell: int | None, place: Location) -> Explanation | None:
    asked = row_in_module(session.source(path), cell, place)
    try:
        return explain_in(session, Place(path, asked.row, asked.column))
    except PlaceError:
        return None


def _nearest(said: Explanation, place: Location) -> Belief | None:
    """Return the belief about the smallest expression at a place."""
    holding = [one for one in said.values if one.location <= place <= one.end_location]
    return min(
        holding,
        key=lambda one: (one.end_location.row - one.location.row, one.end_location.column - one.location.column),
        default=None,
    )


def _write_beliefs(belief: Belief, said: Explanation) -> str:
    lines = [f"`{belief.expression}`: **{belief.value.text}**"]
    lines += [f"{'  ' * origin.depth}- {origin.text}" for origin in belief.origins[:_ORIGINS]]
    lines += ["", f"*{'Traced' if said.traced.traced else f'`{said.function}` is not traced'}: {said.traced.reason}*"]
    return "\n".join(lines)


def _write_findings(finding: Finding, settings: Settings) -> str:
    pages = rules(tuple(Path(place) for place in settings.extend_rules))
    head = f"**{finding.code} {finding.name}** ({finding.severity}, {finding.confidence}): {finding.message}"
    fix = f"\n\nNo fix: {finding.no_fix}" if finding.no_fix else ""
    page = _small(pages[finding.code].text) if finding.code in pages else ""
    return f"{head}\n\n{finding.help}{fix}\n\n{page}".rstrip()


def _small(page: str) -> str:
    """A page with its headings no larger than its text, as there is little room."""
    lines = page.split("\n")
    fenced = False
    for number, line in enumerate(lines):
        fenced ^= line.startswith("```")
        if not fenced and line.startswith("## "):
            lines[number] = f"**{line[3:]}**"
    return "\n".join(lines)


def hints(
    session: Session, snapshot: Snapshot, diagnostics: Diagnostics, cell: int | None, extent: types.Range
) -> Iterator[types.InlayHint]:
    """Yield hints for the names that are assigned in an extent: tensors and host values that the analysis knows."""
    import ast

    try:
        text = Text(session.source(snapshot.path))
    except SourceError:
        return
    interpreter, facts = session.observe(snapshot.path)
    wording = Wording(interpreter)
    lined = diagnostics.split_lines(snapshot.path, cell)
    cells = Cells(lambda _: snapshot.content)
    for node in ast.walk(text.tree):
        if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)):
            continue
        value = facts.get((text.start(node), text.end(node)))
        end = text.location(text.end(node))
        number, row = cells.place(snapshot.path, end.row)
        if value is None or number != cell or not extent.start.line <= row - 1 <= extent.end.line:
            continue
        kind = wording.kind(value)
        if kind.kind in _HINTED:
            yield types.InlayHint(
                lined.position(Location(row, end.column)),
                f": {kind.text}",
                kind=types.InlayHintKind.Type,
                padding_left=False,
            )


def lenses(
    session: Session, snapshot: Snapshot, diagnostics: Diagnostics, findings: Sequence[Finding], command: str
) -> Iterator[types.CodeLens]:
    """`verify` above each function that holds findings, or from which they are traced."""
    if snapshot.cells:
        return
    rows = {step.row for one in findings for step in one.trace if step.filename == snapshot.path}
    lined = diagnostics.split_lines(snapshot.path)
    for name, row in session.functions(snapshot.path):
        if row in rows:
            start = lined.position(Location(row, 1))
            told = types.Command("xlalint: verify", command, arguments=[snapshot.uri, name])
            yield types.CodeLens(types.Range(start, start), command=told)


def function_at(session: Session, path: str, row: int) -> str | None:
    """The qualified name of the function around a row. Of a function inside of another it is the outer one: only that can be called."""
    import ast

    try:
        text = Text(session.source(path))
    except (SourceError, PlaceError):
        return None
    around = [
        node
        for node in ast.walk(text.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and min([node.lineno, *(one.lineno for one in node.decorator_list)]) <= row <= (node.end_lineno or row)
    ]  # as they nest, the outermost first
    names: list[str] = []
    for node in around:
        names.append(node.name)
        if not isinstance(node, ast.ClassDef):
            return ".".join(names)
    return None
