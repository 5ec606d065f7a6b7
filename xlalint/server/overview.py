"""Names the state of a document's diagnostics, and of all files' together. A client asks again and again, though most has not changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TypeAlias

from lsprotocol import types

from xlalint.diagnostics.finding import Finding
from xlalint.project.packing import encode
from xlalint.report.order import rank_files
from xlalint.server.documents import path_of
from xlalint.server.workspace import Workspace

Full: TypeAlias = types.WorkspaceFullDocumentDiagnosticReport
Unchanged: TypeAlias = types.WorkspaceUnchangedDocumentDiagnosticReport
Reports: TypeAlias = list[Full | Unchanged]


class Overview:
    """Remembers the names of what it has told. `reports` takes those that the client has, by URI."""

    def __init__(self, model: Workspace) -> None:
        self._model = model
        self._states: dict[str, tuple[Sequence[Finding], int | None, int, str]] = {}

    def state(self, path: str, findings: Sequence[Finding]) -> str:
        """Return a name for the state of a file's diagnostics."""
        snapshot = self._model.find_open(path)
        version = snapshot.version if snapshot is not None else None
        known = self._states.get(path)
        if known is not None and known[0] is findings and known[1:3] == (version, self._model.layout):
            return known[3]
        through = {path} | {step.filename for one in findings for step in one.trace}
        opened = [
            (place, one.uri, [cell.uri for cell in one.cells])
            for place in sorted(through)
            if (one := self._model.find_open(place))
        ]
        made = blake2b(encode([findings, version, opened]), digest_size=8).hexdigest()
        self._states[path] = findings, version, self._model.layout, made
        return made

    def reports(self, before: Mapping[str, str]) -> Reports:
        """Report what is new to the client in all files, and what is not, in the order in which reports for people have files.

        Files that it knows and that are gone have no diagnostics.
        """
        told: Reports = []
        known = {path_of(uri.partition("#")[0]) for uri in before} if before else set()
        diagnostics = self._model.diagnostics()
        left = set(before)
        found = self._model.everything()
        ranked = rank_files(one for findings in found.values() for one in findings)
        for path in dict.fromkeys((*ranked, *found)):
            findings = found.get(path, [])
            snapshot = self._model.find_open(path)
            if not findings and snapshot is None and path not in known:
                continue
            version, state = snapshot.version if snapshot is not None else None, self.state(path, findings)
            cells = snapshot.cells if snapshot is not None else ()
            uris = [cell.uri for cell in cells] or [diagnostics.uri(path)]
            if all(before.get(uri) == state for uri in uris):
                told += (Unchanged(uri, state, version) for uri in uris)
                left.difference_update(uris)
                continue
            for uri, items in diagnostics.of(path, findings).items():
                told.append(Full(uri, items, version, result_id=state))
                left.discard(uri)
        return [*told, *(Full(uri, []) for uri in sorted(left))]


def tells(reports: Reports) -> bool:
    """Return whether there is anything that the client does not know."""
    return any(one.kind == "full" for one in reports)
