"""Edits made by chance: after each the server has the text that the client has, and again and again its diagnostics are those of a check of
the same texts from nothing.

The workspace is driven as the server drives it, in one process and thread: which piece of work is done when is drawn as the edits are.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import msgspec
import pytest

pytest.importorskip("pygls")

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from lsprotocol import types

from xlalint.config import load_settings
from xlalint.diagnostics.finding import Finding
from xlalint.project import check_paths
from xlalint.project.analysis import Interrupted
from xlalint.project.lowered import lower_bytes
from xlalint.server.diagnostics import Diagnostics
from xlalint.server.documents import Documents
from xlalint.server.preferences import Preferences
from xlalint.server.workspace import Workspace

FILES = {
    "base.py": """
        import torch
        from torch import nn

        LIMIT = 3
        table = {"a": 1}


        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = 2.0
                self.table = table

            def limit(self, x):
                return LIMIT

            def hook(self, x):
                raise NotImplementedError

            def tail(self, x):
                if self.hook(x) > 1:
                    return x
                return -x
        """,
    "help.py": """
        import torch


        def shrink(x):
            return x.shape[0]


        def grow(x):
            return x + 1


        def decide(x):
            if x > 1:
                return 1
            return 0


        def passing(fn):
            def wrapper(self, *args, **kwargs):
                return fn(self, *args, **kwargs)

            return wrapper
        """,
    "model.py": """
        import torch

        from base import Base
        from help import decide, grow, passing, shrink
        from parts import Layer


        class Model(Base):
            def __init__(self):
                super().__init__()
                self.layer = Layer()

            @passing
            def forward(self, x: torch.Tensor):
                mask = x > 0  # 😋
                if shrink(x) > 2:
                    return self.scale * x
                if self.limit(x):
                    return x[mask]
                if decide(grow(x)):
                    return self.tail(x)
                return self.layer(x)

            def hook(self, x):
                return x.item()
        """,
    "parts/__init__.py": """
        from .layer import *
        """,
    "parts/layer.py": """
        from torch import nn

        import help

        __all__ = ["Layer"]


        class Layer(nn.Module):
            def forward(self, x):
                if help.decide(x):
                    return x.nonzero()
                return help.grow(x)
        """,
    "steps.py": """
        import jax
        import jax.numpy as jnp

        from help import *


        @jax.jit
        def step(x, n):
            for i in range(n):
                x = jnp.sin(x)
            if grow(x).sum() > 0:
                return x
            return decide(x)
        """,
}
NAMES = [*FILES, "new.py", "parts/more.py"]
NOTEBOOK = "book.ipynb"
CELLS = (
    "import torch\nfrom help import decide, grow\n",
    "def f(x: torch.Tensor):\n    '😋'; return grow(x).item() + decide(x)\n",
)
OPTIONS = {"show_info": True, "min_confidence": "possible", "python": ""}
ENCODINGS = ("utf-8", "utf-16", "utf-32")
WIDTHS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}

STATEMENTS = [
    "return x.item()",
    "if x.sum() > 0: x = -x",
    "y = '😋é', x.tolist()",
    "x = grow(x)",
    "x = x[x > 0]",
    "for i in range(shrink(x)): x = x + i",
    "while mask.any(): x = x + 1",
    "n = int(x)",
    "print(x)",
    "x = self.hook(x)",
    "return self.limit(x) if x.any() else x",
    "pass",
    "x = x.nonzero()  # noqa",
    "mask = x  # xlalint: static",
    "x = (lambda y: y.sum())(x)",
    "table = {}",
    "self.scale = x.mean()",
    "if decide(x): return x",
    "return self.layer(x)",
    "x = help.decide(x)",
]
BLOCKS = [
    "import torch\n",
    "from help import *\n",
    "from help import shrink as grow\n",
    "from parts import Layer as Base\n",
    "from new import *\n",
    "from .more import Layer\n",
    "from model import Model\n",
    "import base, help\n",
    "def grow(x):\n    return x.shape[0]\n",
    "def shrink(x):\n    return x.sum()\n",
    "def decide(x):\n    return x.any() and 1\n",
    "def passing(fn):\n    return fn\n",
    "class Base:\n    def limit(self, x):\n        return x.sum() > 0\n",
    "class Other(Model):\n    def hook(self, x):\n        return x.shape\n",
    "@torch.compile\ndef run(x):\n    if x.sum() > 0:\n        return x\n    return shrink(x)\n",
    "LIMIT = 4\n",
    "table = grow\n",
    "# xlalint: disable-file\n",
    "'''\n",
    "x = torch.ones(3).item()\n",
]
PIECES = [
    "",
    "x",
    " ",
    "    ",
    "\n",
    "\r\n",
    "\r",
    "😋",
    "é\u2028",
    "(",
    ")",
    ":",
    "#",
    "'",
    "\t",
    "\x0c",
    "self.",
    "\\\n",
]


class Edit(NamedTuple):
    """What the client does next. The numbers choose among what there is then."""

    kind: str
    file: int
    a: int
    b: int
    c: int
    work: int


_NUMBER = st.integers(0, 9999)
_KINDS = (
    ["look"]
    + ["statement"] * 6
    + ["block"] * 4
    + ["piece"] * 3
    + ["undo"] * 3
    + ["cut", "cut-lines", "drop-block", "rename", "several", "whole", "empty", "line-ends"]
    + ["save", "reopen", "on-disk", "delete", "restore"]
)
EDITS = st.builds(
    Edit, st.sampled_from(_KINDS), st.integers(0, 10), _NUMBER, _NUMBER, _NUMBER, st.sampled_from([0, 0, 0, 1, 2, 5])
)


class Outlet:
    """What the client was told. Nothing may go wrong."""

    def __init__(self) -> None:
        self.shown: dict[str, list[types.Diagnostic]] = {}

    def publish(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
        self.shown[uri] = diagnostics

    def refresh(self, differs: bool) -> None: ...

    def complain(self, message: str) -> None:
        raise AssertionError(message)

    def report(self, message: str) -> None:
        raise AssertionError(message)

    def progress(self, title: str, done: int, total: int) -> None: ...


class Text:
    """A text as the client has it, with those that it was."""

    def __init__(self, uri: str, text: str) -> None:
        self.uri = uri
        self.text = text
        self.version = 1
        self.past: list[str] = []


class Client:
    """An editor with a folder: what it shows, and what the server was told of it."""

    def __init__(self, folder: Path, encoding: str) -> None:
        self.folder = folder
        self.encoding = encoding
        self.outlet = Outlet()
        self.documents = Documents()
        self.workspace = Workspace(self.outlet, self.pulse)
        self.fuse = 0
        self.documents.encoding = self.workspace.encoding = encoding
        self.texts: dict[str, Text] = {}
        self.cells: list[Text] = []
        self.numbers = 0
        self.book_version = 1
        self.good: dict[str, bytes] = {}
        self.broken: set[str] = set()
        for name, text in FILES.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(dedent(text).lstrip())
        self.workspace.start([str(folder)], {}, Preferences(OPTIONS))
        self.work(1000)
        self.learn()
        for name in ("help.py", "model.py", "parts/layer.py"):
            self.open(name)
        self.open_book()

    # -------------------------------------------------------------------------------------------------- the server

    def work(self, most: int, fuse: int = 0) -> None:
        """Do some pieces of what is left; the first ends in the middle of it if there is a fuse."""
        for _ in range(most):
            self.fuse = fuse
            try:
                if not self.workspace.work():
                    break
            except Interrupted:
                pass
            finally:
                fuse = self.fuse = 0

    def pulse(self) -> None:
        if self.fuse:
            self.fuse -= 1
            if not self.fuse:
                raise Interrupted

    def open(self, name: str) -> None:
        path = self.folder / name
        shown = path.read_bytes().decode() if path.exists() else ""
        text = self.texts[name] = Text(path.as_uri(), shown)
        snapshot = self.documents.open(types.TextDocumentItem(text.uri, "python", 1, text.text))
        assert snapshot is not None
        self.workspace.open(snapshot)

    def close(self, name: str) -> None:
        text = self.texts.pop(name)
        self.documents.close(text.uri)
        self.workspace.close(str(self.folder / name), text.uri)

    def change(self, text: Text, *changes: tuple[int, int, str] | str) -> None:
        """Change a text or a cell, by extents or as a whole, in one message."""
        text.past.append(text.text)
        given: list[Any] = []
        for one in changes:
            if isinstance(one, str):
                given.append(types.TextDocumentContentChangeWholeDocument(one))
                text.text = one
            else:
                start, end, new = one
                extent = types.Range(self.position(text.text, start), self.position(text.text, end))
                given.append(types.TextDocumentContentChangePartial(extent, new))
                text.text = text.text[:start] + new + text.text[end:]
        text.version += 1
        if text in self.cells:
            changed = types.VersionedTextDocumentIdentifier(text.version, text.uri)
            self.change_book(text_content=[types.NotebookDocumentCellContentChanges(changed, given)])
            return
        identifier = types.VersionedTextDocumentIdentifier(text.version, text.uri)
        snapshot = self.documents.change(types.DidChangeTextDocumentParams(identifier, given))
        assert snapshot is not None
        assert snapshot.content.decode() == text.text
        self.workspace.change(snapshot)

    def position(self, text: str, offset: int) -> types.Position:
        codec, width = WIDTHS[self.encoding]
        rows = re.split(r"\r\n|\n|\r", text[:offset])
        return types.Position(len(rows) - 1, len(rows[-1].encode(codec)) // width)

    def disk(self, name: str, kind: types.FileChangeType) -> None:
        self.workspace.files_changed([(str(self.folder / name), kind)])

    # ------------------------------------------------------------------------------------------------ the notebook

    @property
    def book(self) -> str:
        return (self.folder / NOTEBOOK).as_uri()

    def open_book(self) -> None:
        self.cells = [self.cell(text) for text in CELLS]
        listed = [types.NotebookCell(types.NotebookCellKind.Code, cell.uri) for cell in self.cells]
        items = [types.TextDocumentItem(cell.uri, "python", 1, cell.text) for cell in self.cells]
        document = types.NotebookDocument(self.book, "jupyter-notebook", 1, listed)
        snapshot = self.documents.open_notebook(types.DidOpenNotebookDocumentParams(document, items))
        assert snapshot is not None
        self.workspace.open(snapshot)

    def cell(self, text: str) -> Text:
        self.numbers += 1
        return Text(f"{self.book}#{self.numbers}", text)

    def change_book(self, **cells: Any) -> None:
        self.book_version += 1
        identifier = types.VersionedNotebookDocumentIdentifier(self.book_version, self.book)
        event = types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(**cells))
        snapshot = self.documents.change_notebook(types.DidChangeNotebookDocumentParams(identifier, event))
        assert snapshot is not None
        written = json.loads(snapshot.content)["cells"]
        assert [cell["source"] for cell in written] == [cell.text for cell in self.cells]
        self.workspace.change(snapshot)

    def splice(self, start: int, count: int, *texts: str) -> None:
        """Cells come and go."""
        gone, come = self.cells[start : start + count], [self.cell(text) for text in texts]
        self.cells[start : start + count] = come
        listed = [types.NotebookCell(types.NotebookCellKind.Code, cell.uri) for cell in come]
        structure = types.NotebookDocumentCellChangeStructure(
            types.NotebookCellArrayChange(start, count, listed),
            did_open=[types.TextDocumentItem(cell.uri, "python", 1, cell.text) for cell in come],
            did_close=[types.TextDocumentIdentifier(cell.uri) for cell in gone],
        )
        self.change_book(structure=structure)

    # --------------------------------------------------------------------------------------------------- the truth

    def contents(self) -> dict[str, bytes]:
        """What each file is read as."""
        found = {self.name(path): path.read_bytes() for path in self.folder.rglob("*.py")}
        found |= {name: text.text.encode() for name, text in self.texts.items()}
        snapshot = self.documents.snapshot(self.book)
        return found if snapshot is None else {**found, NOTEBOOK: snapshot.content}

    def name(self, path: str | Path) -> str:
        return Path(path).relative_to(self.folder).as_posix()

    def learn(self) -> set[str]:
        """Note what parses: to other files, a text that does not is what it last was when it did. The names of those that do not."""
        now = self.contents()
        broken = set()
        for name, content in now.items():
            if lower_bytes(str(self.folder / name), content).error is None:
                self.good[name] = content
            else:
                broken.add(name)
        for name in self.good.keys() - now.keys():
            del self.good[name]
        self.broken = broken
        return broken

    def expected(self, broken: set[str]) -> dict[str, list[Finding]]:
        """What checks from nothing find: in what parses, by what all files are to each other; in the rest, that it does not."""
        now = self.contents()
        seen = {name: self.good[name] for name in now if name in self.good}
        found = {name: of for name, of in self.checked(seen).items() if name not in broken}
        found |= {name: of for name, of in self.checked(now).items() if name in broken} if broken else {}
        return found

    def checked(self, contents: dict[str, bytes]) -> dict[str, list[Finding]]:
        fresh = self.folder.parent / "fresh" / self.folder.name
        if fresh.exists():
            shutil.rmtree(fresh)
        for name, content in contents.items():
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            (fresh / name).write_bytes(content)
        report = check_paths([fresh], load_settings([fresh], isolated=True, options=OPTIONS))
        assert not report.failures
        found: dict[str, list[Finding]] = {name: [] for name in contents}
        for one in report.findings:
            found[Path(one.filename).relative_to(fresh).as_posix()].append(self.here(one, fresh))
        return found

    def here(self, finding: Finding, fresh: Path) -> Finding:
        """A finding as one in the client's folder; without its fix, which diagnostics do not show."""
        plain = {"fix": None, "no_fix": ""} if finding.framework else {}
        text = msgspec.json.encode(msgspec.structs.replace(finding, **plain))
        told = text.replace(f"{fresh}{os.sep}".encode(), f"{self.folder}{os.sep}".encode())
        return msgspec.json.decode(told, type=Finding)

    def compare(self) -> None:
        """See to it that what is shown is what a check from nothing finds."""
        expected = self.expected(self.learn())
        self.work(10_000)
        found = {self.name(path): of for path, of in self.workspace.everything().items()}
        assert found == expected
        for name in (*self.texts, NOTEBOOK):
            path = str(self.folder / name)
            made = Diagnostics(self.encoding, self.workspace._read, self.workspace.find_open).of(path, expected[name])
            for uri, diagnostics in made.items():
                assert self.outlet.shown[uri] == diagnostics, uri

    # ------------------------------------------------------------------------------------------------------- edits

    def do(self, edit: Edit) -> None:
        """Make an edit."""
        name = NAMES[edit.file % len(NAMES)]
        if edit.kind == "look":
            self.workspace.findings(str(self.folder / name))
        elif edit.kind in ("save", "reopen", "on-disk", "delete", "restore"):
            self.store(edit.kind, name, edit)
        elif edit.file > len(NAMES):
            self.in_book(edit)
        else:
            if name not in self.texts:
                self.open(name)
            if name in self.broken and edit.c % 3:
                self.change(self.texts[name], self.good.get(name, b"").decode())
            else:
                self.typed(self.texts[name], edit)
        self.learn()
        self.work(edit.work, edit.c % 12)

    def store(self, kind: str, name: str, edit: Edit) -> None:
        path = self.folder / name
        created = types.FileChangeType.Changed if path.exists() else types.FileChangeType.Created
        if kind == "save" and name in self.texts:
            path.write_bytes(self.texts[name].text.encode())
            self.disk(name, created)
        elif kind == "reopen" and name in self.texts:
            self.close(name)
        elif kind == "reopen":
            self.open(name)
        elif kind == "on-disk":
            path.write_text(BLOCKS[edit.a % len(BLOCKS)] + BLOCKS[edit.b % len(BLOCKS)])
            self.disk(name, created)
        elif kind == "delete" and path.exists():
            if path.name == "__init__.py" and name in self.texts:  # which folders are packages, the disk says
                self.close(name)
            path.unlink()
            self.disk(name, types.FileChangeType.Deleted)
        elif kind == "restore" and name in FILES:
            path.write_text(dedent(FILES[name]).lstrip())
            self.disk(name, created)

    def in_book(self, edit: Edit) -> None:
        at = edit.a % (len(self.cells) + 1)
        if edit.kind == "drop-block":
            self.splice(at, 1 if at < len(self.cells) else 0)
        elif edit.kind == "block" or not self.cells:
            self.splice(at, 0, BLOCKS[edit.b % len(BLOCKS)])
        elif edit.kind == "several":
            self.splice(at, len(self.cells[at : at + 2]), *(cell.text for cell in reversed(self.cells[at : at + 2])))
        else:
            self.typed(self.cells[at % len(self.cells)], edit)

    def typed(self, text: Text, edit: Edit) -> None:
        kind, a, b, c = edit.kind, edit.a, edit.b, edit.c
        now = text.text
        rows = _rows(now)
        starts = [0]
        for row in rows:
            starts.append(starts[-1] + len(row))
        row = a % len(rows) if rows else 0
        if kind == "statement" and rows:
            indent = re.match(r"[ \t]*", rows[row])[0]  # type: ignore[index]
            new = f"{indent}{STATEMENTS[b % len(STATEMENTS)]}\n"
            self.change(text, (starts[row], starts[row + c % 2], new))
        elif kind == "block":
            tops = [0, *(start for start, row in zip(starts, rows, strict=False) if row[:1].isalpha()), len(now)]
            at = tops[a % len(tops)]
            self.change(text, (at, at, BLOCKS[b % len(BLOCKS)]))
        elif kind == "undo" and text.past:
            back = text.past[-1 - a % min(len(text.past), 4)]
            self.change(text, back if c % 2 else (0, len(now), back))
        elif kind == "cut":
            start, end = sorted((_outside(now, a % (len(now) + 1)), _outside(now, b % (len(now) + 1))))
            self.change(text, (start, min(end, _outside(now, start + c % 40)), ""))
        elif kind == "cut-lines" and rows:
            self.change(text, (starts[row], starts[min(row + 1 + b % 3, len(rows))], ""))
        elif kind == "drop-block":
            tops = [0, *(start for start, row in zip(starts, rows, strict=False) if row[:1].isalpha()), len(now)]
            at = a % (len(tops) - 1)
            self.change(text, (tops[at], tops[at + 1], ""))
        elif kind == "rename":
            words = ["grow", "shrink", "x", "mask", "Base", "Model", "forward", "hook", "torch", "limit"]
            self.change(text, re.sub(rf"\b{words[b % len(words)]}\b", words[c % len(words)], now))
        elif kind == "several" and rows:
            below = starts[min(row + 1, len(rows))]
            self.change(text, (below, below, PIECES[b % len(PIECES)]), (starts[row], starts[row], "# 😋 \n"))
        elif kind == "whole":
            self.change(text, "".join(BLOCKS[number % len(BLOCKS)] for number in (a, b, c)))
        elif kind == "empty":
            self.change(text, "" if c % 2 else (0, len(now), ""))
        elif kind == "line-ends":
            end = ["\n", "\r\n", "\r"][c % 3]
            self.change(text, re.sub(r"\r\n|\n|\r", lambda _: end, now))
        else:
            at = _outside(now, a % (len(now) + 1))
            self.change(text, (at, _outside(now, min(at + c % 3, len(now))), PIECES[b % len(PIECES)]))


def _rows(text: str) -> list[str]:
    return re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$", text)


def _outside(text: str, offset: int) -> int:
    """An offset that is not inside of a line end."""
    return offset - 1 if text[offset - 1 : offset + 1] == "\r\n" else offset


# Ten thousand edits are 280 examples and take ten minutes; what is set here are others each time.
EXAMPLES = int(os.environ.get("XLALINT_EDIT_EXAMPLES", "0"))
USUAL, EACH, BATCH = 20, 40, 14


def test_edits_made_by_chance(tmp_path: Path) -> None:
    made = 0

    @settings(
        max_examples=EXAMPLES or USUAL,
        derandomize=not EXAMPLES,
        phases=list(Phase) if EXAMPLES else [Phase.generate],  # to make a failing list shorter takes minutes
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(EDITS, min_size=EACH, max_size=EACH), st.sampled_from(ENCODINGS))
    def edits(done: Sequence[Edit], encoding: str) -> None:
        nonlocal made
        folder = tmp_path / "folder"
        folder.mkdir()
        client = Client(folder, encoding)
        try:
            for number, edit in enumerate(done, 1):
                client.do(edit)
                made += edit.kind != "look"
                if number % BATCH == 0:
                    client.compare()
            client.compare()
        finally:
            client.workspace.end()
            shutil.rmtree(folder)

    edits()
    assert made >= (EXAMPLES or USUAL) * EACH * 4 // 5  # the others only look
