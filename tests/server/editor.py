"""An editor that talks to the installed server, through pytest-lsp's client."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lsprotocol import types
from pytest_lsp import LanguageClient
from pytest_lsp.client import make_test_lsp_client

COMMAND = (sys.executable, "-m", "xlalint", "server")
PATIENCE = 20.0


def plain_capabilities() -> types.ClientCapabilities:
    """A client that wants diagnostics unasked, and can do what most can."""
    return types.ClientCapabilities(
        workspace=types.WorkspaceClientCapabilities(
            configuration=True,
            workspace_folders=True,
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
        ),
        text_document=types.TextDocumentClientCapabilities(
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(version_support=True)
        ),
        notebook_document=types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities()),
        window=types.WindowClientCapabilities(work_done_progress=True),
    )


class Editor:
    """A client with some documents open. `versions` are those of the diagnostics that came last, by URI."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.versions: dict[str, int | None] = {}
        self.registered: list[str] = []
        self._opened: dict[str, int] = {}

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str | None = None) -> str:
        """Open a file, as it is on the disk or with another text."""
        uri = self.uri(name)
        self._opened[uri] = 1
        shown = (self.folder / name).read_text() if text is None else text
        item = types.TextDocumentItem(uri, "python", 1, shown)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, name: str, *changes: Any) -> None:
        """Change an open document: by new texts, or by (range, text)."""
        uri = self.uri(name)
        self._opened[uri] += 1
        given = [
            types.TextDocumentContentChangeWholeDocument(one)
            if isinstance(one, str)
            else types.TextDocumentContentChangePartial(*one)
            for one in changes
        ]
        identifier = types.VersionedTextDocumentIdentifier(self._opened[uri], uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, given))

    def close(self, name: str) -> None:
        document = types.TextDocumentIdentifier(self.uri(name))
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    def codes(self, name: str) -> list[tuple[str, int]] | None:
        """What is shown in a document: codes with lines, from 1. None where nothing was said of it yet."""
        return told(self.client.diagnostics.get(self.uri(name)))

    async def shows(self, name: str, *expected: tuple[str, int]) -> None:
        """Wait until just this is shown in a document."""
        await self.until(lambda: self.codes(name) == list(expected), lambda: f"{name} shows {self.codes(name)}")

    async def until(self, holds: Callable[[], object], otherwise: Callable[[], str] = lambda: "it never was") -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline, otherwise()
            await asyncio.sleep(0.01)

    async def actions(self, name: str, line: int, column: int = 0, **context: Any) -> list[types.CodeAction]:
        """What is offered at a place; lines count from 1."""
        return await self.actions_in(self.uri(name), line, column, **context)

    async def actions_in(self, uri: str, line: int, column: int = 0, **context: Any) -> list[types.CodeAction]:
        place = types.Position(line - 1, column)
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(uri), types.Range(place, place), types.CodeActionContext([], **context)
        )
        return list(await self.client.text_document_code_action_async(params) or [])  # type: ignore[arg-type]

    async def hover(self, name: str, line: int, column: int) -> str:
        params = types.HoverParams(types.TextDocumentIdentifier(self.uri(name)), types.Position(line - 1, column))
        found = await self.client.text_document_hover_async(params)
        return found.contents.value if found is not None else ""  # type: ignore[union-attr]


def told(diagnostics: Any) -> list[tuple[str, int]] | None:
    if diagnostics is None:
        return None
    return sorted(((one.code, one.range.start.line + 1) for one in diagnostics), key=lambda one: (one[1], one[0]))


def converse(
    folder: Path,
    talk: Callable[[Editor], Awaitable[None]],
    capabilities: types.ClientCapabilities | None = None,
    options: Mapping[str, Any] | None = None,
    configuration: Mapping[str, Any] | None = None,
    folders: tuple[Path, ...] | None = None,
    command: Sequence[str] = COMMAND,
    **process: Any,
) -> None:
    """Start the server, talk to it, and end it as the protocol has it. `process` says how it is started: where, in which environment."""

    async def run() -> None:
        client = make_test_lsp_client()
        editor = Editor(client, folder)
        client.set_configuration(dict(configuration or {}), section="xlalint")

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def registered(params: types.RegistrationParams) -> None:
            editor.registered += [one.method for one in params.registrations]

        await client.start_io(*command, **process)
        roots = [folder] if folders is None else folders
        await client.initialize_session(
            types.InitializeParams(
                capabilities=capabilities or plain_capabilities(),
                root_uri=None,
                workspace_folders=[types.WorkspaceFolder(root.as_uri(), root.name) for root in roots],
                initialization_options=options,
            )
        )
        try:
            await talk(editor)
        finally:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(client.shutdown_session(), 20)

    asyncio.run(run())


def applied(text: str, edits: list[types.TextEdit]) -> str:
    """A text with edits made, as an editor makes them; it has no characters that count double."""
    lines = text.splitlines(keepends=True)

    def offset(place: types.Position) -> int:
        return sum(map(len, lines[: place.line])) + place.character

    for edit in sorted(edits, key=lambda one: (one.range.start.line, one.range.start.character), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


def edits_of(action: types.CodeAction) -> list[types.TextEdit]:
    """The edits of an action that changes one document."""
    assert action.edit is not None and action.edit.document_changes is not None
    (change,) = action.edit.document_changes
    assert isinstance(change, types.TextDocumentEdit)
    return [edit for edit in change.edits if isinstance(edit, types.TextEdit)]


__all__ = ["Editor", "applied", "converse", "edits_of", "plain_capabilities", "told"]
