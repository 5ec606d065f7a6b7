"""The language server: what the client may ask, and the threads on which it is answered.

client ──▶ reading thread ──▶ event loop (documents, protocol) ──▶ analysis thread (workspace) ──▶ event loop ──▶ client
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.exceptions import JsonRpcContentModified, JsonRpcException
from pygls.lsp.server import LanguageServer

from xlalint import __version__
from xlalint.explain import explain_in
from xlalint.explain.place import Place, PlaceError
from xlalint.processes import isolated_command
from xlalint.report.printable import printable
from xlalint.server.actions import FIX_ALL, KINDS, NOTEBOOK_FIX_ALL, QUICK_FIX, Actions, row_in_module
from xlalint.server.analyst import Analyst, OutdatedError
from xlalint.server.diagnostics import SOURCE
from xlalint.server.documents import Documents, Folders, Snapshot, path_of, uri_of
from xlalint.server.edits import Edits, workspace_edit
from xlalint.server.framing import Stream, Writer, messages
from xlalint.server.hovers import function_at, hints, hover, lenses
from xlalint.server.liveness import watch
from xlalint.server.overview import Overview, tells
from xlalint.server.preferences import SECTION, Preferences, preferences, within
from xlalint.server.protocol import Protocol
from xlalint.server.workspace import Workspace

VERIFY, APPLY_ALL, EXPLAIN = "xlalint.verify", "xlalint.fixAll", "xlalint.explain"
_LARGEST = 256 * 1024 * 1024
_WATCHED = (
    "**/*.py",
    "**/*.ipynb",
    "**/*.yaml",
    "**/*.yml",
    "**/*.json",
    "**/pyproject.toml",
    "**/xlalint.toml",
    "**/.gitignore",
)
_PATIENCE = 5.0  # seconds for the client to say what its settings are
_HELD = 60.0  # seconds in which a client that knows all is not answered
_SERVER_CANCELLED = -32802
_logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class Server(LanguageServer):  # type: ignore[misc]
    """One conversation with one client."""

    def __init__(self) -> None:
        selector = types.NotebookDocumentFilterWithNotebook(
            notebook=types.NotebookDocumentFilterNotebookType("jupyter-notebook"),
            cells=[types.NotebookCellLanguage("python")],
        )
        super().__init__(
            "xlalint",
            __version__,
            types.TextDocumentSyncKind.Incremental,
            types.NotebookDocumentSyncOptions([selector], save=True),
            protocol_cls=Protocol,
            converter_factory=get_converter,
        )
        self.documents = Documents()
        self.analyst = Analyst(lambda: self.model.work(), self._report_crash)
        self.model = Workspace(self, self.analyst.pulse)
        self.overview = Overview(self.model)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over = asyncio.Event()
        self._settled = asyncio.Event()
        self._latest: dict[str, Snapshot] = {}
        self._given: object = None
        self._sent: object = None
        self._tasks: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self._ready = False
        self._started = asyncio.Event()

    # ----------------------------------------------------------------------------------------------- running

    def converse(self, reader: Stream, writer: BinaryIO) -> int:
        """Serve the client until it leaves; the exit code."""
        if not os.environ.get("XLALINT_DEBUG"):
            # The client is answered, or told by the log: nobody wants to read it again, with a traceback, in standard error.
            logging.getLogger("pygls").addHandler(logging.NullHandler())
        self.protocol.set_writer(Writer(writer, self.stop))
        asyncio.run(self._serve(reader))
        return int(self.protocol.returncode)

    async def _serve(self, reader: Stream) -> None:
        self._loop = asyncio.get_running_loop()
        self.analyst.start()
        threading.Thread(target=self._listen, args=(reader,), name="reading", daemon=True).start()
        await self._over.wait()
        self.analyst.end(self.model.end)

    def _listen(self, reader: Stream) -> None:
        with suppress(OSError, ValueError):  # the client is gone
            for body in messages(reader, _LARGEST):
                self._soon(lambda body=body: self.protocol.receive(body))  # type: ignore[misc]
        self._soon(self.stop)

    def stop(self) -> None:
        """End the conversation."""
        self._over.set()

    def _soon(self, act: Callable[[], object]) -> None:
        """Do something on the event loop's thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._safely, act)

    def _safely(self, act: Callable[[], object]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 - no message ends the server
            _logger.warning("%s", error)

    # ------------------------------------------------------------------------------- what the workspace tells

    def publish(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
        """These are the diagnostics of a document now."""
        params = types.PublishDiagnosticsParams(uri, diagnostics, version)
        self._soon(lambda: self.text_document_publish_diagnostics(params))

    def refresh(self, differs: bool) -> None:
        """Note that what the client has asked for may be out of date; `differs`: the diagnostics of an open document are."""
        self._soon(self._wake)
        told = self.client_capabilities.workspace
        if differs and told is not None and told.diagnostics is not None and told.diagnostics.refresh_support:
            self._soon(lambda: self.workspace_diagnostic_refresh(None))
        if told is not None and told.inlay_hint is not None and told.inlay_hint.refresh_support:
            self._soon(lambda: self.workspace_inlay_hint_refresh(None))
        if told is not None and told.code_lens is not None and told.code_lens.refresh_support:
            self._soon(lambda: self.workspace_code_lens_refresh(None))

    def _wake(self) -> None:
        self._settled.set()
        self._settled = asyncio.Event()

    def complain(self, message: str) -> None:
        """The user should know."""
        params = types.ShowMessageParams(types.MessageType.Warning, f"xlalint: {printable(message)}")
        self._soon(lambda: self.window_show_message(params))

    def report(self, message: str, kind: types.MessageType = types.MessageType.Log) -> None:
        """For the log."""
        self._soon(lambda: self.window_log_message(types.LogMessageParams(kind, message)))

    def _begin(self, title: str) -> str | None:
        """Show that something is under way which the user may end; None if the client does not show such things."""
        window = self.client_capabilities.window
        if window is None or not window.work_done_progress:
            return None
        token = f"xlalint-{next(self._numbers)}"
        self.window_work_done_progress_create(types.WorkDoneProgressCreateParams(token))
        self.work_done_progress.begin(token, types.WorkDoneProgressBegin(title, cancellable=True))
        return token

    def progress(self, title: str, done: int, total: int) -> None:
        """Something takes time; it is over when all is done."""
        window = self.client_capabilities.window
        if window is not None and window.work_done_progress:
            self._soon(lambda: self._progress(title, done, total))

    def _progress(self, title: str, done: int, total: int) -> None:
        token = self._tasks.get(title)
        share = 100 * done // max(total, 1)
        if done >= total:
            if token is not None:
                self.work_done_progress.end(token, types.WorkDoneProgressEnd())
                del self._tasks[title]
        elif token is None:
            token = self._tasks[title] = f"xlalint-{next(self._numbers)}"
            self.window_work_done_progress_create(types.WorkDoneProgressCreateParams(token))
            self.work_done_progress.begin(token, types.WorkDoneProgressBegin(title, percentage=share))
        else:
            self.work_done_progress.report(token, types.WorkDoneProgressReport(percentage=share))

    def _report_crash(self, what: str, error: Exception) -> None:
        said = "".join(traceback.format_exception(error))
        self.report(f"internal error in {what}: {said}", types.MessageType.Error)
        self.model.recover()

    def report_server_error(self, error: Exception, source: Any) -> None:  # noqa: ARG002
        """Log errors outside of requests; those of requests are in their answers."""
        self.report(f"{type(error).__name__}: {error}", types.MessageType.Error)

    # ------------------------------------------------------------------------------------- what the client does

    def take_encoding(self, encoding: str) -> None:
        """Count characters in these units."""
        self.documents.encoding = self.model.encoding = encoding

    def took(self, snapshot: Snapshot | None, *, opened: bool = False) -> None:
        """A document was opened or changed. Of changes that wait for the analysis only the last counts."""
        if snapshot is None:
            return
        self.analyst.note_change()
        waiting = snapshot.path in self._latest
        self._latest[snapshot.path] = snapshot
        if not waiting or opened:
            act = self.model.open if opened else self.model.change
            self.analyst.post(lambda: self._take(snapshot.path, act), "analysis")

    def _take(self, path: str, act: Callable[[Snapshot], None]) -> None:
        snapshot = self._latest.pop(path, None)
        if snapshot is not None:
            act(snapshot)

    def close_document(self, uri: str) -> None:
        """Take note that a document was closed."""
        snapshot = self.documents.snapshot(uri)
        self.documents.close(uri)
        if snapshot is not None and snapshot.uri == uri:
            self.analyst.note_change()
            self.analyst.post(lambda: self.model.close(snapshot.path, uri), "analysis")
            self.took(self.documents.another(snapshot.path), opened=True)

    # --------------------------------------------------------------------------------------------- configuration

    def initialize(self, params: types.InitializeParams) -> None:
        """Read the client's capabilities and preferences."""
        document = params.capabilities.text_document
        self.model.pushes = document is None or document.diagnostic is None
        self._given = params.initialization_options
        self.documents.folders = Folders(self._folders())
        if params.process_id is not None:
            watch(params.process_id, lambda: self._soon(self.stop))

    async def begin_work(self) -> None:
        """Begin to work."""
        if self._ready:
            return
        self._ready = True
        folders, told, default = await self._ask_for_settings()
        self.analyst.note_change()
        self.analyst.post(lambda: self.model.start(folders, told, default), "configuration")
        self._started.set()
        self._watch()

    async def configure(self, params: types.DidChangeConfigurationParams) -> None:
        """Take the client's changed settings: it sends them, or is asked for them."""
        self._sent = params.settings if isinstance(params.settings, dict) else None
        await self._wait_for_settings()
        _, told, default = await self._ask_for_settings()
        self.analyst.post(lambda: self.model.configure(told, default), "configuration")

    async def folders_changed(self, event: types.WorkspaceFoldersChangeEvent) -> None:
        """Folders were added or removed."""
        removed = [path_of(folder.uri) for folder in event.removed]
        added = [path_of(folder.uri) for folder in event.added]
        self.documents.folders = Folders(self._folders())
        _, told, default = await self._ask_for_settings()

        def act() -> None:
            for folder in removed:
                self.model.remove(folder)
            self.model.configure(told, default)
            for folder in added:
                self.model.add(folder)

        self.analyst.post(act, "configuration")

    def _folders(self) -> list[str]:
        workspace = self.protocol.workspace
        uris = list(workspace.folders) or ([workspace.root_uri] if workspace.root_uri else [])
        return list(dict.fromkeys(path_of(uri) for uri in uris))

    async def _ask_for_settings(self) -> tuple[list[str], dict[str, Preferences], Preferences]:
        """The folders with the client's settings for each, and those for other files."""
        folders = self._folders()
        answers: Sequence[object] = [self._sent] * (len(folders) + 1)
        told = self.client_capabilities.workspace
        if told is not None and told.configuration:
            items = [types.ConfigurationItem(uri_of(folder), SECTION) for folder in folders]
            asked = types.ConfigurationParams([*items, types.ConfigurationItem(section=SECTION)])
            with suppress(Exception):  # a client that does not answer has no settings
                answers = await asyncio.wait_for(self.workspace_configuration_async(asked), _PATIENCE)
        given = [_merge(self._given, answer) for answer in answers]
        given += [self._given] * (len(folders) + 1 - len(given))
        found = {folder: preferences(one, Path(folder)) for folder, one in zip(folders, given, strict=False)}
        return folders, found, preferences(given[-1], Path.cwd())

    def _watch(self) -> None:
        """Have the client tell of files that change on the disk."""
        told = self.client_capabilities.workspace
        registrations = []
        if told is not None and told.did_change_watched_files and told.did_change_watched_files.dynamic_registration:
            watchers = [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            registrations.append(types.Registration("xlalint-files", method, options))
        if told is not None and told.did_change_configuration and told.did_change_configuration.dynamic_registration:
            section = types.DidChangeConfigurationRegistrationOptions(section=SECTION)
            method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
            registrations.append(types.Registration("xlalint-settings", method, section))
        if registrations:
            self.client_register_capability(types.RegistrationParams(registrations))

    # --------------------------------------------------------------------------------------------------- answers

    async def about(
        self, uri: str, job: Callable[[Snapshot, int | None], Result], otherwise: Result, *, gives_way: bool = False
    ) -> Result:
        """Ask the analysis of an open document, by the URI of the document, the notebook or its cell."""
        await self._wait_for_settings()
        snapshot = self.documents.snapshot(uri)
        if snapshot is None:
            return otherwise
        cell = next((one.number for one in snapshot.cells if one.uri == uri), None)
        try:
            return await self.analyst.ask(lambda: job(snapshot, cell), gives_way=gives_way)
        except OutdatedError as error:
            raise JsonRpcContentModified(str(error)) from error

    async def _wait_for_settings(self) -> None:
        """Wait for the settings; a client that never says that it is initialized is answered without."""
        if self._started.is_set():
            return
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._started.wait(), 2 * _PATIENCE)

    async def pull(self, params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        """Return the diagnostics of one document."""
        uri = params.text_document.uri

        def job(snapshot: Snapshot, cell: int | None) -> types.DocumentDiagnosticReport:
            findings = self.model.findings(snapshot.path)
            state = self.overview.state(snapshot.path, findings)
            if state == params.previous_result_id:
                return types.RelatedUnchangedDocumentDiagnosticReport(state)
            self.model.note_told(snapshot.path, findings)
            made = self.model.diagnostics().of(snapshot.path, findings)
            return types.RelatedFullDocumentDiagnosticReport(made.get(uri, []), result_id=state)

        try:
            return await self.about(uri, job, types.RelatedFullDocumentDiagnosticReport([]))
        except JsonRpcContentModified as error:
            again = types.DiagnosticServerCancellationData(retrigger_request=True)
            raise JsonRpcException(str(error), _SERVER_CANCELLED, again) from error

    async def pull_all(self, params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
        """The diagnostics of all files, once there is nothing left to analyse. A client that knows them waits until they are others, or
        for a while: it would ask again."""
        await self._wait_for_settings()
        before = {one.uri: one.value for one in params.previous_result_ids}
        until = time.monotonic() + _HELD
        while True:
            settled = self._settled
            await self.analyst.rest()
            with suppress(OutdatedError):
                found = await self.analyst.ask(lambda: self.overview.reports(before))
                if tells(found) or not before or time.monotonic() >= until:
                    return types.WorkspaceDiagnosticReport(found)
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(settled.wait(), max(until - time.monotonic(), 0))

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """List the code actions for a range of a document."""
        only = params.context.only

        def wants(kind: str) -> bool:
            return only is None or any(kind == asked or kind.startswith(f"{asked}.") for asked in map(_text, only))

        def job(snapshot: Snapshot, cell: int | None) -> list[types.CodeAction]:
            found = self._make_actions(snapshot, cell)
            if found is None:
                return []
            trigger = params.context.trigger_kind
            by_hand = trigger != types.CodeActionTriggerKind.Automatic
            made = list(found.at(params.range, by_hand=by_hand)) if wants(QUICK_FIX) else []
            if wants(QUICK_FIX) and not made and trigger == types.CodeActionTriggerKind.Invoked:
                made += found.offer_on_request(params.range)
            for kind in (FIX_ALL, NOTEBOOK_FIX_ALL):
                # To find out whether there is anything to fix takes all of the fixing: only where it is asked for.
                if only is not None and wants(kind) and bool(snapshot.cells) >= (kind == NOTEBOOK_FIX_ALL):
                    action = found.everything(kind)
                    made += [action] if action is not None else []
            return made

        gives_way = only is not None and (wants(FIX_ALL) or wants(NOTEBOOK_FIX_ALL))
        return await self.about(params.text_document.uri, job, [], gives_way=gives_way)

    def _make_actions(self, snapshot: Snapshot, cell: int | None) -> Actions | None:
        session = self.model.session_of(snapshot.path)
        opened = self.model.find_open(snapshot.path)
        if session is None or opened is None:
            return None
        unsafe = session.settings.unsafe_fixes
        return Actions(session, opened, self.model.diagnostics(), cell, self.model.answers, unsafe=unsafe)

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """Return the hover of a position."""

        def job(snapshot: Snapshot, cell: int | None) -> types.Hover | None:
            session = self.model.session_of(snapshot.path)
            if session is None:
                return None
            question = cell, "hover", params.position.line, params.position.character
            opened = self.model.find_open(snapshot.path) or snapshot
            return self.model.answers.recall(
                session,
                opened,
                question,
                lambda: hover(session, opened, self.model.diagnostics(), cell, params.position),
            )

        return await self.about(params.text_document.uri, job, None)

    async def hint(self, params: types.InlayHintParams) -> list[types.InlayHint]:
        """Return inlay hints with what names hold, if the user wants them."""

        def job(snapshot: Snapshot, cell: int | None) -> list[types.InlayHint]:
            session = self.model.session_of(snapshot.path)
            if session is None or not self.model.preferences_of(snapshot.path).inlay_hints:
                return []
            return list(hints(session, snapshot, self.model.diagnostics(), cell, params.range))

        return await self.about(params.text_document.uri, job, [])

    async def list_lenses(self, params: types.CodeLensParams) -> list[types.CodeLens]:
        """Return the code lenses: what can be run."""

        def job(snapshot: Snapshot, cell: int | None) -> list[types.CodeLens]:
            session = self.model.session_of(snapshot.path)
            if session is None or not self.model.preferences_of(snapshot.path).code_lens:
                return []
            found = session.findings(snapshot.path)
            return list(lenses(session, snapshot, self.model.diagnostics(), found, VERIFY))

        return await self.about(params.text_document.uri, job, [])

    # -------------------------------------------------------------------------------------------------- commands

    async def verify(self, *given: Any) -> dict[str, Any]:
        """Run a function on the device, by `xlalint verify` in another process: `[uri, its qualified name or a position in it]`."""
        uri, told = _uri_and(given)
        name = told if isinstance(told, str) else await self._function_at(uri, _position(told))
        target = f"{path_of(uri)}:{name}" if name else path_of(uri)
        command = isolated_command("xlalint.start", "verify", "--", target)
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        title = f"Verifying {name or Path(path_of(uri)).name}"
        token = self._begin(title)
        if token is not None:
            self.work_done_progress.tokens[token].add_done_callback(lambda _: _end(process))
        ended = False
        try:
            output, _ = await process.communicate()
        except asyncio.CancelledError:
            _end(process)
            raise
        finally:
            if token is not None:
                ended = not self.work_done_progress.tokens.pop(token).cancel()
                self.work_done_progress.end(token, types.WorkDoneProgressEnd())
        said = output.decode(errors="replace").strip()
        self.report(said, types.MessageType.Info)
        if ended:
            return {"exitCode": process.returncode, "output": said}
        kind = types.MessageType.Info if process.returncode == 0 else types.MessageType.Warning
        last = said.splitlines()[-1] if said else f"`xlalint verify` ended with {process.returncode}"
        self.window_show_message(types.ShowMessageParams(kind, f"{title}: {last}"))
        return {"exitCode": process.returncode, "output": said}

    async def _function_at(self, uri: str, position: types.Position | None) -> str | None:
        nowhere: str | None = None
        if position is None:
            return nowhere

        def job(snapshot: Snapshot, cell: int | None) -> str | None:
            session = self.model.session_of(snapshot.path)
            if session is None or cell is not None:
                return None
            return function_at(session, snapshot.path, position.line + 1)

        return await self.about(uri, job, nowhere)

    async def fix_all(self, *given: Any) -> bool:
        """Apply all fixes to an open document: `[uri]`."""
        uri, _ = _uri_and(given)
        nothing: list[Edits] = []

        def job(snapshot: Snapshot, cell: int | None) -> list[Edits]:
            found = self._make_actions(snapshot, cell)
            return found.all_fixes() if found is not None else nothing

        edits = await self.about(uri, job, nothing, gives_way=True)
        if not edits:
            return False
        params = types.ApplyWorkspaceEditParams(workspace_edit(edits), "xlalint: fix all")
        answer = await self.workspace_apply_edit_async(params)
        return bool(answer.applied)

    async def explain(self, *given: Any) -> str:
        """Describe what the analysis believes at a position: `[uri, position]`."""
        uri, told = _uri_and(given)
        position = _position(told)
        if position is None:
            raise ValueError("`xlalint.explain` takes the URI of an open document and a position in it")

        def job(snapshot: Snapshot, cell: int | None) -> str:
            from xlalint.explain.text import render
            from xlalint.report.view import View

            session = self.model.session_of(snapshot.path)
            if session is None:
                return "xlalint does not analyse this file"
            lined = self.model.diagnostics().split_lines(snapshot.path, cell)
            place = row_in_module(session.source(snapshot.path), cell, lined.location(position))
            try:
                said = explain_in(session, Place(snapshot.path, place.row, place.column))
            except PlaceError as error:
                return str(error)
            return render(said, View(session.settings.root, colour=False, text_of=lambda _: None))

        return await self.about(uri, job, "this document is not open")


def _end(process: asyncio.subprocess.Process) -> None:
    """End a process that leads a session, with those that it has started."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGTERM)
            else:
                process.terminate()


def _uri_and(given: Sequence[Any]) -> tuple[str, Any]:
    """The arguments of a command, as a list or as one object with `uri` and the rest."""
    if given and isinstance(given[0], dict):
        table = given[0]
        return str(table.get("uri", "")), table.get("name", table.get("position"))
    if not given or not isinstance(given[0], str):
        raise ValueError("say which document: its URI")
    return given[0], given[1] if len(given) > 1 else None


def _position(told: object) -> types.Position | None:
    line, character = (told.get("line"), told.get("character")) if isinstance(told, dict) else (None, None)
    return types.Position(line, character) if isinstance(line, int) and isinstance(character, int) else None


def _merge(given: object, answer: object) -> object:
    """The settings of `initializationOptions`, with what the client answered or sent over them."""
    if not isinstance(answer, dict):
        return given
    if not isinstance(given, dict):
        return answer
    return {**within(given), **within(answer)}


def _text(kind: Any) -> str:
    return str(getattr(kind, "value", kind))


def server() -> Server:
    """A server with all that it can do."""
    made = Server()
    features: list[tuple[str, Any, Any]] = [
        (types.INITIALIZE, None, lambda params: made.initialize(params)),
        (
            types.TEXT_DOCUMENT_DIAGNOSTIC,
            types.DiagnosticOptions(True, True, SOURCE),
            _coroutine(made.pull),
        ),
        (types.WORKSPACE_DIAGNOSTIC, None, _coroutine(made.pull_all)),
        (types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=KINDS), _coroutine(made.actions)),
        (types.TEXT_DOCUMENT_HOVER, None, _coroutine(made.hover)),
        (types.TEXT_DOCUMENT_INLAY_HINT, None, _coroutine(made.hint)),
        (types.TEXT_DOCUMENT_CODE_LENS, None, _coroutine(made.list_lenses)),
        (types.INITIALIZED, None, _coroutine(lambda _: made.begin_work())),
        (types.WORKSPACE_DID_CHANGE_CONFIGURATION, None, _coroutine(made.configure)),
        (
            types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS,
            None,
            _coroutine(lambda params: made.folders_changed(params.event)),
        ),
        (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, None, lambda params: _files_changed(made, params)),
        (types.TEXT_DOCUMENT_DID_SAVE, None, lambda _: None),
        (types.NOTEBOOK_DOCUMENT_DID_SAVE, None, lambda _: None),
    ]
    for name, options, act in features:
        made.feature(name, options)(act)
    for name, act in ((VERIFY, made.verify), (APPLY_ALL, made.fix_all), (EXPLAIN, made.explain)):
        made.command(name)(_command(act))
    return made


def _files_changed(made: Server, params: types.DidChangeWatchedFilesParams) -> None:
    changes = [(made.documents.folders.place(path_of(change.uri)), change.type) for change in params.changes]
    made.analyst.note_change()
    made.analyst.post(lambda: made.model.files_changed(changes), "analysis")


def _coroutine(act: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A handler as pygls tells them apart: by being a coroutine function."""

    async def handle(params: Any) -> Any:
        return await act(params)

    return handle


def _command(act: Callable[..., Any]) -> Callable[..., Any]:
    async def run(*given: Any) -> Any:
        return await act(*given)

    return run
