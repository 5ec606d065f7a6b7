"""Findings as the protocol has them."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Sequence

from lsprotocol import types

from xlalint.diagnostics.finding import Finding
from xlalint.report.cells import Cells
from xlalint.server.documents import Snapshot, uri_of
from xlalint.server.places import Lined
from xlalint.source.model import SourceError
from xlalint.source.reading import decode

SOURCE = "xlalint"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}
_IDLE = "XLA003"

Read = Callable[[str], bytes]


class Diagnostics:
    """Makes diagnostics. `read` gives what files are read as, `opened` what is open under a path."""

    def __init__(self, encoding: str, read: Read, opened: Callable[[str], Snapshot | None]) -> None:
        self._encoding = encoding
        self._read = read
        self._opened = opened
        self._texts: dict[str, Lined] = {}

    def of(self, path: str, findings: Sequence[Finding]) -> dict[str, list[types.Diagnostic]]:
        """The diagnostics of a file by the URI of its document; of a notebook, of each of its cells."""
        snapshot = self._opened(path)
        uris = [cell.uri for cell in snapshot.cells] if snapshot is not None and snapshot.cells else [self.uri(path)]
        made: dict[str, list[types.Diagnostic]] = {uri: [] for uri in uris}
        for finding in Cells(self._read).locate(findings):
            uri = self.uri(path, finding.cell)
            made.setdefault(uri, []).append(self.one(finding))
        return made

    def one(self, finding: Finding) -> types.Diagnostic:
        """One finding, given in its cell."""
        lined = self.split_lines(finding.filename, finding.cell)
        return types.Diagnostic(
            range=lined.range(finding.location, finding.end_location),
            message=finding.message,
            severity=_SEVERITIES[finding.severity],
            code=finding.code,
            code_description=types.CodeDescription(finding.url) if finding.url else None,
            source=SOURCE,
            tags=[types.DiagnosticTag.Unnecessary] if finding.code == _IDLE else None,
            related_information=list(self._chain(finding)) or None,
            data={"name": finding.name, "confidence": finding.confidence, "help": finding.help},
        )

    def _chain(self, finding: Finding) -> Iterable[types.DiagnosticRelatedInformation]:
        """Why the code is traced: the functions that lead there, the root first."""
        for number, step in enumerate(finding.trace):
            place = types.Position(max(step.row - 1, 0), 0)
            location = types.Location(self.uri(step.filename, step.cell), types.Range(place, place))
            yield types.DiagnosticRelatedInformation(
                location, f"{'why traced: ' * (not number)}{step.name} ({step.why})"
            )

    def uri(self, path: str, cell: int | None = None) -> str:
        """The URI by which the client knows a file, or a cell of a notebook."""
        snapshot = self._opened(path)
        if snapshot is None:
            return uri_of(path)
        if cell is not None and cell <= len(snapshot.cells):
            return snapshot.cells[cell - 1].uri
        return snapshot.uri

    def split_lines(self, path: str, cell: int | None = None) -> Lined:
        """Split the text of a file, or of a cell of a notebook, into lines."""
        key = f"{path}\0{cell}"
        if key not in self._texts:
            marked = cell is None and self._opened(path) is not None and self._read(path).startswith(BOM_UTF8)
            self._texts[key] = Lined(self._text(path, cell), self._encoding, marked=marked)
        return self._texts[key]

    def _text(self, path: str, cell: int | None) -> str:
        snapshot = self._opened(path)
        if cell is not None and snapshot is not None and cell <= len(snapshot.cells):
            return snapshot.cells[cell - 1].text
        try:
            raw = self._read(path)
            if cell is not None:
                from xlalint.report.cells import cells_of

                return cells_of(path, raw).get(cell, "")
            return decode(raw)
        except SourceError:
            return ""
