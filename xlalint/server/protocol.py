"""The protocol as pygls has it, with what it leaves open: texts are kept by `Documents`, every request is answered whatever it holds and
whenever it comes, and the exit code tells whether `shutdown` came before `exit`."""

from __future__ import annotations

import json
from typing import Any

from lsprotocol import types
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

from xlalint.server.places import choose_encoding

_NOT_INITIALIZED = -32002
_INVALID_REQUEST = -32600
_INVALID_PARAMS = -32602
_PARSE_ERROR = -32700
_BEFORE = (types.INITIALIZE, types.EXIT)


class Protocol(LanguageServerProtocol):  # type: ignore[misc]
    """Adds to pygls what is said above."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.returncode = 1
        self._begun = False

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A message as an object. One that does not fit its type becomes a complaint, answered in its turn."""
        if "jsonrpc" not in data:
            return data
        if "method" in data:
            data.setdefault("params", None)  # which the protocol lets a client leave out
        try:
            return super().structure_message(data)
        except Exception as error:  # noqa: BLE001 - whatever a client may send
            return _Misfit(data, error)

    def handle_message(self, message: Any) -> None:
        """Act on a message."""
        ident = getattr(message, "id", None)
        method = getattr(message, "method", "")
        if isinstance(message, _Misfit):
            self._refuse(message.ident, _INVALID_PARAMS, f"the message does not fit `{message.method}`: {message.why}")
        elif not hasattr(message, "jsonrpc"):
            self._refuse(_ident(message), _INVALID_REQUEST, "this is not a JSON-RPC message")
        elif method and not self._begun and method not in _BEFORE:
            if ident is not None:
                self._refuse(ident, _NOT_INITIALIZED, f"`{method}` came before `initialize`")
        elif method == types.INITIALIZE and self._begun:
            self._refuse(ident, _INVALID_REQUEST, "the server is initialized already")
        elif method and method != types.EXIT and self._shutdown:
            if ident is not None:
                self._refuse(ident, _INVALID_REQUEST, "the server was shut down")
        else:
            self._begun |= method == types.INITIALIZE
            super().handle_message(message)

    def receive(self, body: bytes | ValueError) -> None:
        """Act on what came: a message, several in a list, or what cannot be read."""
        if isinstance(body, ValueError):
            self.unreadable(body)
            return
        try:
            message = json.loads(body, object_hook=self.structure_message)
        except (ValueError, RecursionError) as error:
            self.unreadable(error)
            return
        for one in message if isinstance(message, list) else [message]:
            try:
                self.handle_message(one)
            except Exception as error:  # noqa: BLE001 - no message ends the server
                self._server.report(f"a message could not be handled: {type(error).__name__}: {error}")

    def unreadable(self, error: Exception) -> None:
        """Answer a message that is no JSON."""
        self._refuse(None, _PARSE_ERROR, f"the message cannot be read: {error}")

    def _refuse(self, ident: Any, code: int, why: str) -> None:
        self._send_data({"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": why}})

    @lsp_method(types.INITIALIZE)  # type: ignore[untyped-decorator]
    def lsp_initialize(self, params: types.InitializeParams) -> Any:
        """Agree on the encoding of positions first: the client's first choice."""
        general = params.capabilities.general
        offered = general.position_encodings if general is not None else None
        self._server.take_encoding(choose_encoding(offered))
        result = yield from super().lsp_initialize(params)
        result.capabilities.position_encoding = choose_encoding(offered) if offered else None
        return result

    @lsp_method(types.SHUTDOWN)  # type: ignore[untyped-decorator]
    def lsp_shutdown(self, *_: Any) -> None:
        """End the requests that wait; pygls itself stumbles over those that leave its list as they end."""
        for ident, future in list(self._request_futures.items()):
            if ident != self.msg_id:
                future.cancel()
        self._shutdown = True

    @lsp_method(types.EXIT)  # type: ignore[untyped-decorator]
    def lsp_exit(self, *_: Any) -> None:
        """End: with 0 after a shutdown, with 1 without."""
        self.returncode = 0 if self._shutdown else 1
        self._server.stop()

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)  # type: ignore[untyped-decorator]
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        self._server.took(self._server.documents.open(params.text_document), opened=True)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)  # type: ignore[untyped-decorator]
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        self._server.took(self._server.documents.change(params))

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)  # type: ignore[untyped-decorator]
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._server.close_document(params.text_document.uri)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)  # type: ignore[untyped-decorator]
    def lsp_notebook_document__did_open(self, params: types.DidOpenNotebookDocumentParams) -> None:
        self._server.took(self._server.documents.open_notebook(params), opened=True)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)  # type: ignore[untyped-decorator]
    def lsp_notebook_document__did_change(self, params: types.DidChangeNotebookDocumentParams) -> None:
        self._server.took(self._server.documents.change_notebook(params))

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)  # type: ignore[untyped-decorator]
    def lsp_notebook_document__did_close(self, params: types.DidCloseNotebookDocumentParams) -> None:
        self._server.close_document(params.notebook_document.uri)


class _Misfit:
    """A message that does not fit the type of its method."""

    def __init__(self, data: dict[str, Any], error: Exception) -> None:
        self.ident = _ident(data)
        self.method = data.get("method", "")
        cause = error.__cause__ or error
        self.why = f"{type(cause).__name__}: {cause}".splitlines()[0]


def _ident(data: object) -> Any:
    found = data.get("id") if isinstance(data, dict) else None
    return found if isinstance(found, (str, int)) else None
