"""Texts as the client changes them, and places in the units that it counts in."""

from __future__ import annotations

import json
import os
import re

import pytest

pytest.importorskip("pygls")

from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from xlalint.diagnostics.finding import Location
from xlalint.server.documents import Document, Documents, path_of, uri_of
from xlalint.server.places import Lined, choose_encoding, index, units

ENCODINGS = ("utf-8", "utf-16", "utf-32")
TEXTS = st.lists(st.sampled_from([*"ab \té😋\u2028\x0c\n\r", "\r\n"]), max_size=30).map("".join)


@st.composite
def places(draw: st.DrawFn, text: str, encoding: str) -> tuple[int, types.Position]:
    """An offset in a text that is not inside of a line end, and its position as a client counts."""
    offset = draw(st.integers(0, len(text)))
    if text[offset - 1 : offset + 1] == "\r\n":
        offset -= 1
    before = re.split(r"\r\n|\n|\r", text[:offset])
    width = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding]
    size = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    return offset, types.Position(len(before) - 1, len(before[-1].encode(width)) // size)


@settings(deadline=None, max_examples=300)
@given(st.data(), TEXTS, st.sampled_from(ENCODINGS))
def test_edits_leave_the_text_that_the_client_has(data: st.DataObject, text: str, encoding: str) -> None:
    document = Document("file:///m.py", "python", 1, text)
    for _ in range(data.draw(st.integers(1, 60))):
        (a, first), (b, last) = sorted(
            (data.draw(places(text, encoding)), data.draw(places(text, encoding))), key=lambda one: one[0]
        )
        new = data.draw(TEXTS)
        if data.draw(st.booleans()):
            text = text[:a] + new + text[b:]
            change = types.TextDocumentContentChangePartial(types.Range(first, last), new)
            document.change([change], encoding)
        else:
            text = new
            document.change([types.TextDocumentContentChangeWholeDocument(new)], encoding)
        assert document.text == text


@settings(deadline=None)
@given(st.data(), TEXTS, st.sampled_from(ENCODINGS))
def test_places_there_and_back(data: st.DataObject, text: str, encoding: str) -> None:
    lined = Lined(text, encoding)
    offset, position = data.draw(places(text, encoding))
    assert lined.offset(position) == offset
    assert lined.place(offset) == position
    place = lined.location(position)
    assert lined.position(place) == position
    assert place == Location(position.line + 1, len(re.split(r"\r\n|\n|\r", text[:offset])[-1]) + 1)


@pytest.mark.parametrize(
    ("place", "offset"),
    [
        pytest.param((0, 99), 2, id="behind-a-line"),
        pytest.param((9, 0), 4, id="behind-the-text"),
        pytest.param((1, 0), 3, id="the-last-line"),
    ],
)
def test_places_that_are_not_there(place: tuple[int, int], offset: int) -> None:
    assert Lined("ab\nc", "utf-16").offset(types.Position(*place)) == offset


@pytest.mark.parametrize(("encoding", "count"), [("utf-8", 2), ("utf-16", 1)])
def test_a_place_inside_of_a_character_is_its_beginning(encoding: str, count: int) -> None:
    assert index("😋b", count, encoding) == 0
    assert units("😋b", encoding) == {"utf-8": 5, "utf-16": 3}[encoding]


@pytest.mark.parametrize(
    ("offered", "taken"),
    [(None, "utf-16"), ([], "utf-16"), (["utf-7"], "utf-16"), (["utf-32", "utf-8"], "utf-32"), (["utf-8"], "utf-8")],
)
def test_the_encoding_is_the_clients_first_choice(offered: list[str] | None, taken: str) -> None:
    assert choose_encoding(offered) == taken


def test_what_is_no_python_is_no_concern() -> None:
    documents = Documents()
    assert documents.open(types.TextDocumentItem("file:///a.md", "markdown", 1, "x")) is None
    assert documents.open(types.TextDocumentItem("file:///a.ipynb", "json", 1, "{}")) is None
    snapshot = documents.open(types.TextDocumentItem("file:///a.py", "python", 1, "x = 1\n"))
    assert snapshot is not None and snapshot.content == b"x = 1\n"
    identifier = types.VersionedTextDocumentIdentifier(2, "file:///never-opened.py")
    assert documents.change(types.DidChangeTextDocumentParams(identifier, [])) is None


@pytest.mark.parametrize(
    ("text", "content"),
    [
        pytest.param("x = 'é'\n", "x = 'é'\n".encode(), id="utf-8"),
        pytest.param(
            "# coding: latin-1\nx = 'é'\n", "# coding: latin-1\nx = 'é'\n".encode("latin-1"), id="as-declared"
        ),
        pytest.param("# coding: latin-1\nx = '😋'\n", "# coding: latin-1\nx = '😋'\n".encode(), id="not-to-be-had"),
        pytest.param("# coding: nonsense\nx = 'é'\n", "# coding: nonsense\nx = 'é'\n".encode(), id="not-known"),
        pytest.param("\ufeffx = 1\n", b"\xef\xbb\xbfx = 1\n", id="marked"),
        pytest.param("x = '\ud800'\n", b"x = '\xed\xa0\x80'\n", id="half-a-pair"),
    ],
)
def test_a_text_is_what_a_file_of_it_would_hold(text: str, content: bytes) -> None:
    snapshot = Documents().open(types.TextDocumentItem("file:///a.py", "python", 1, text))
    assert snapshot is not None and snapshot.content == content


def test_a_mark_counts_where_the_client_has_it() -> None:
    lined = Lined("a😋b\nc", "utf-16", marked=True)
    for offset, place in ((0, (0, 1)), (2, (0, 4)), (4, (1, 0))):
        assert lined.place(offset) == types.Position(*place)
        assert lined.offset(types.Position(*place)) == offset
        assert lined.position(lined.location(types.Position(*place))) == types.Position(*place)
    assert lined.offset(types.Position(0, 0)) == 0


def test_notebooks_become_what_a_file_of_them_would_be() -> None:
    documents = Documents()
    code, prose = types.NotebookCellKind.Code, types.NotebookCellKind.Markup
    cells = [types.NotebookCell(prose, "c:1"), types.NotebookCell(code, "c:2"), types.NotebookCell(code, "c:3")]
    texts = [types.TextDocumentItem(f"c:{n}", "python", 1, f"x{n}\n") for n in (1, 2)]
    texts.append(types.TextDocumentItem("c:3", "sql", 1, "SELECT 1\n"))
    snapshot = documents.open_notebook(
        types.DidOpenNotebookDocumentParams(
            types.NotebookDocument("file:///n.ipynb", "jupyter-notebook", 1, cells), texts
        )
    )
    assert snapshot is not None
    assert [cell["source"] for cell in json.loads(snapshot.content)["cells"]] == ["x1\n", "x2\n", "SELECT 1\n"]
    from xlalint.source.reading import from_bytes

    assert from_bytes(snapshot.path, snapshot.content).text.strip() == "x2"
    assert documents.snapshot("c:3") == snapshot


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b%20c.py", "/a/b c.py"),
        ("untitled:Untitled-1", "/untitled/Untitled-1.py"),
        ("vscode-vfs://github/x/y.py", "/untitled/github_x_y.py"),
        ("", "/untitled/untitled.py"),
    ],
)
def test_paths_of_uris(uri: str, path: str) -> None:
    assert path_of(uri, ".py") == path


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
@pytest.mark.parametrize(
    "path", ["/p/a b.py", "/p/é.py", "/p/b\udcff.py", "/p\udc80/%41.py", "/p/\N{REPLACEMENT CHARACTER}.py"]
)
def test_the_uri_of_a_path_leads_back_to_it(path: str) -> None:
    assert uri_of(path).isascii()
    assert path_of(uri_of(path)) == path
