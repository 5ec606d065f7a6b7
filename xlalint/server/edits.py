"""Changes of texts as the protocol has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from typing import NamedTuple

from lsprotocol import types

from xlalint.diagnostics.finding import Finding
from xlalint.fixes.toolkit.edits import Span
from xlalint.report.cells import Cells, cells_of
from xlalint.server.diagnostics import Diagnostics
from xlalint.server.documents import Snapshot
from xlalint.server.places import Lined
from xlalint.source.lines import split_rows
from xlalint.source.reading import content_of, decode, text_of


class Edits(NamedTuple):
    """The edits of one document, or of one cell of a notebook."""

    uri: str
    version: int | None
    edits: list[types.TextEdit]


def workspace_edit(made: Iterable[Edits]) -> types.WorkspaceEdit:
    """The edits as one change of the workspace: valid for these versions only."""
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(one.uri, one.version), one.edits)
            for one in made
            if one.edits
        ]
    )


def of_fix(finding: Finding, diagnostics: Diagnostics, snapshot: Snapshot) -> list[Edits]:
    """A finding's fix."""
    located = Cells(lambda _: snapshot.content).locate([finding])[0]
    made: dict[int | None, list[types.TextEdit]] = {}
    for edit in located.fix.edits if located.fix is not None else ():
        lined = diagnostics.split_lines(snapshot.path, edit.cell)
        made.setdefault(edit.cell, []).append(
            types.TextEdit(lined.range(edit.location, edit.end_location), edit.content)
        )
    return [
        Edits(diagnostics.uri(snapshot.path, cell), snapshot.version if cell is None else None, edits)
        for cell, edits in made.items()
    ]


def of_spans(spans: Iterable[Span], diagnostics: Diagnostics, snapshot: Snapshot) -> list[Edits]:
    """Edits of the text that all stages speak of: of a notebook, of the module that its cells make."""
    text = text_of(snapshot.path, snapshot.content)
    after = content_of(snapshot.path, snapshot.content, text, [_trim(text, span) for span in spans])
    return between(snapshot, after, diagnostics)


def between(snapshot: Snapshot, after: bytes, diagnostics: Diagnostics) -> list[Edits]:
    """List the edits that turn one document into another."""
    if not snapshot.cells:
        edits = _changes(diagnostics.split_lines(snapshot.path), decode(after))
        return [Edits(snapshot.uri, snapshot.version, edits)] if edits else []
    new: Mapping[int, str] = cells_of(snapshot.path, after)
    found: list[Edits] = []
    for cell in snapshot.cells:
        if cell.number in new and new[cell.number] != cell.text:
            lined = diagnostics.split_lines(snapshot.path, cell.number)
            found.append(Edits(cell.uri, None, _changes(lined, new[cell.number])))
    return found


def _changes(before: Lined, after: str) -> list[types.TextEdit]:
    """The lines that differ, each stretch an edit."""
    old, new = split_rows(before.text), split_rows(after)
    starts = [0]
    for row in old:
        starts.append(starts[-1] + len(row))
    edits = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            span = _trim(before.text, Span(starts[a], starts[b], "".join(new[c:d])))
            edits.append(types.TextEdit(before.span(span.start, span.end), span.content))
    return edits


def _trim(text: str, span: Span) -> Span:
    """An edit without what it leaves as it is."""
    start, end, content = span
    while start < end and content and text[start] == content[0]:
        start, content = start + 1, content[1:]
    while end > start and content and text[end - 1] == content[-1]:
        end, content = end - 1, content[:-1]
    return Span(start, end, content)
