"""Keeps the texts and notebooks that the client has open, applies its changes, and gives snapshots to the analysis that never change."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import quote, unquote_to_bytes, urlsplit

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from xlalint.server.places import UTF16, Lined
from xlalint.source.reading import as_bytes

_CODE = types.NotebookCellKind.Code
_UNSAVED = "untitled"


class CellText(NamedTuple):
    """A cell of a notebook: its number among all cells, from 1, and the text that its document has."""

    number: int
    uri: str
    text: str


class Snapshot(NamedTuple):
    """A text or notebook at one time. `content` are the bytes that a file of it would have."""

    path: str
    uri: str
    version: int | None
    content: bytes
    cells: tuple[CellText, ...] = ()

    @property
    def is_notebook(self) -> bool:
        return self.path.endswith(".ipynb")


class Document:
    """One open text. `path` is where it lies, as its program calls the place."""

    def __init__(self, uri: str, language: str, version: int | None, text: str, path: str = "") -> None:
        self.uri = uri
        self.path = path or path_of(uri, ".py")
        self.language = language
        self.version = version
        self.text = text

    def change(self, changes: Iterable[Any], encoding: str) -> None:
        """Take the client's changes, in order."""
        for one in changes:
            span = getattr(one, "range", None)
            if span is None:
                self.text = one.text
            else:
                lined = Lined(self.text, encoding)
                start, end = lined.offset(span.start), lined.offset(span.end)
                self.text = f"{self.text[:start]}{one.text}{self.text[max(start, end) :]}"


class Notebook:
    """One open notebook: its cells in order, and the documents that hold their texts."""

    def __init__(self, notebook: types.NotebookDocument, texts: Iterable[types.TextDocumentItem], path: str) -> None:
        self.uri = notebook.uri
        self.path = path
        self.version = notebook.version
        self.metadata = notebook.metadata
        self.cells = list(notebook.cells)
        self.texts = {text.uri: _document(text) for text in texts}

    def change(self, version: int, event: types.NotebookDocumentChangeEvent, encoding: str) -> None:
        """Take the client's changes."""
        self.version = version
        if event.metadata is not None:
            self.metadata = event.metadata
        if event.cells is None:
            return
        structure = event.cells.structure
        if structure is not None:
            first, count = structure.array.start, structure.array.delete_count
            self.cells[first : first + count] = structure.array.cells or ()
            self.texts.update((text.uri, _document(text)) for text in structure.did_open or ())
            for closed in structure.did_close or ():
                self.texts.pop(closed.uri, None)
        for cell in event.cells.data or ():
            self.cells = [cell if cell.document == known.document else known for known in self.cells]
        for changed in event.cells.text_content or ():
            document = self.texts.get(changed.document.uri)
            if document is not None:
                document.version = changed.document.version
                document.change(changed.changes, encoding)

    def snapshot(self) -> Snapshot:
        """The notebook as a file of it would be."""
        cells = [CellText(number, cell.document, self._text(cell)) for number, cell in enumerate(self.cells, 1)]
        written = [self._write(cell, one.text) for cell, one in zip(self.cells, cells, strict=True)]
        metadata = _plain(self.metadata)
        whole = {"cells": written, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
        return Snapshot(self.path, self.uri, self.version, json.dumps(whole).encode(), tuple(cells))

    def _text(self, cell: types.NotebookCell) -> str:
        document = self.texts.get(cell.document)
        return document.text if document is not None else ""

    def _write(self, cell: types.NotebookCell, text: str) -> dict[str, Any]:
        if cell.kind != _CODE:
            return {"cell_type": "markdown", "id": "", "metadata": {}, "source": text}
        document = self.texts.get(cell.document)
        language = {"vscode": {"languageId": document.language}} if document is not None else {}
        return {
            "cell_type": "code",
            "execution_count": None,
            "id": "",
            "metadata": language,
            "outputs": [],
            "source": text,
        }


class Documents:
    """All that is open, by URI. `encoding` is that of positions, `folders` those of the workspace."""

    def __init__(self) -> None:
        self.encoding = UTF16
        self.folders = Folders(())
        self._texts: dict[str, Document] = {}
        self._notebooks: dict[str, Notebook] = {}

    def open(self, item: types.TextDocumentItem) -> Snapshot | None:
        """Take a text that was opened; None for what is not for us."""
        self._texts[item.uri] = _document(item, self.folders.place(path_of(item.uri, ".py")))
        return self.snapshot(item.uri)

    def change(self, params: types.DidChangeTextDocumentParams) -> Snapshot | None:
        """Take changes of an open text."""
        document = self._texts.get(params.text_document.uri)
        if document is None:
            return None
        document.change(params.content_changes, self.encoding)
        document.version = params.text_document.version
        return self.snapshot(document.uri)

    def close(self, uri: str) -> None:
        """Forget a text or notebook."""
        self._texts.pop(uri, None)
        self._notebooks.pop(uri, None)

    def open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> Snapshot | None:
        """Take a notebook that was opened."""
        found = params.notebook_document
        path = self.folders.place(path_of(found.uri, ".ipynb"))
        self._notebooks[found.uri] = Notebook(found, params.cell_text_documents, path)
        return self.snapshot(found.uri)

    def change_notebook(self, params: types.DidChangeNotebookDocumentParams) -> Snapshot | None:
        """Take changes of an open notebook."""
        notebook = self._notebooks.get(params.notebook_document.uri)
        if notebook is None:
            return None
        notebook.change(params.notebook_document.version, params.change, self.encoding)
        return self.snapshot(notebook.uri)

    def snapshot(self, uri: str) -> Snapshot | None:
        """Return what is open under a URI: a Python text, or the notebook with that URI or with a cell of it."""
        notebook = self._notebooks.get(uri) or next((n for n in self._notebooks.values() if uri in n.texts), None)
        if notebook is not None:
            return notebook.snapshot()
        document = self._texts.get(uri)
        if document is None or document.uri.endswith(".ipynb") or document.language not in ("python", ""):
            return None
        return Snapshot(document.path, uri, document.version, as_bytes(document.text))

    def another(self, path: str) -> Snapshot | None:
        """Return what is open at a path, under any of the URIs that lead there."""
        uris = [document.uri for document in self._texts.values() if document.path == path]
        uris += [notebook.uri for notebook in self._notebooks.values() if notebook.path == path]
        found = map(self.snapshot, uris)
        return next((one for one in found if one is not None), None)

    @property
    def uris(self) -> Sequence[str]:
        return [*self._texts, *self._notebooks]


class Folders:
    """The workspace's folders. A file that is reached through a link is called what it is called below its folder, so that a program
    knows it by one path whichever way it is opened."""

    def __init__(self, folders: Iterable[str]) -> None:
        known = [(os.path.realpath(folder), folder) for folder in folders if "\0" not in folder]
        self._known = sorted(known, key=lambda one: -len(one[0]))

    def place(self, path: str) -> str:
        """The path of a file below the innermost folder that it lies in; the same path where it lies in none."""
        if "\0" in path:  # which no file's name has
            return path
        real = os.path.realpath(path)
        for root, folder in self._known:
            if real.startswith(os.path.join(root, "")):  # noqa: PTH118
                return os.path.join(folder, os.path.relpath(real, root))  # noqa: PTH118
        return path


def path_of(uri: str, ending: str = "") -> str:
    """The absolute path of a URI; of what is no file, such as a text that was never saved, a path that no file has."""
    uri = uri.encode(errors="backslashreplace").decode()  # JSON can hold halves of characters, which no path can
    path: str | None = None
    if uri.startswith("file:"):
        with suppress(ValueError):  # it is no URI
            path = to_fs_path(uri)
    if path:
        if "\N{REPLACEMENT CHARACTER}" in path and os.name != "nt":  # what stands for a byte that is not UTF-8
            path = os.fsdecode(unquote_to_bytes(urlsplit(uri).path))
        return os.path.abspath(path)  # noqa: PTH100
    name = uri.partition(":")[2].strip("/").replace("/", "_") or _UNSAVED
    return os.path.abspath(os.path.join(os.sep, _UNSAVED, name + ("" if name.endswith(ending) else ending)))  # noqa: PTH100, PTH118


def uri_of(path: str) -> str:
    """The URI of an absolute path, whose names need not be UTF-8."""
    try:
        return from_fs_path(path) or path
    except UnicodeEncodeError:
        return f"file://{quote(os.fsencode(path))}"


def _document(item: types.TextDocumentItem, path: str = "") -> Document:
    return Document(item.uri, item.language_id, item.version, item.text, path)


def _plain(metadata: Any) -> dict[str, Any]:
    """Return what a notebook says of its language."""
    found = metadata if isinstance(metadata, dict) else getattr(metadata, "__dict__", {})
    return {key: value for key in ("language_info", "kernelspec") if isinstance(value := found.get(key), dict)}
