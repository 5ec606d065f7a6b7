"""The analysis thread outlives what goes wrong on it, and a workspace reads anew what may have been left half done."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

from lsprotocol import types

from xlalint.project.session import Session
from xlalint.server.actions import Actions
from xlalint.server.analyst import Analyst, OutdatedError
from xlalint.server.documents import Documents, Snapshot
from xlalint.server.edits import Edits
from xlalint.server.preferences import Preferences, preferences
from xlalint.server.workspace import Workspace

MODEL = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.item()\n"
FILLS = "import torch, torch_xla\n\n\ndef f(x: torch.Tensor):\n    x = x * 2\n    x[x > 1] = 0.0\n    return x\n"


def test_what_fails_is_told_and_the_next_job_is_done() -> None:
    told: list[str] = []
    done = threading.Event()
    analyst = Analyst(lambda: False, lambda what, error: told.append(f"{what}: {error}"))
    analyst.start()
    analyst.post(lambda: 1 / 0, "a job")
    analyst.post(done.set, "another")
    assert done.wait(10)
    assert told == ["a job: division by zero"]
    analyst.end()


def test_background_work_that_fails_is_not_tried_again_at_once() -> None:
    calls: list[int] = []
    told = threading.Event()

    def idle() -> bool:
        calls.append(1)
        raise ValueError("broken")

    analyst = Analyst(idle, lambda what, error: told.set())
    analyst.start()
    assert told.wait(10)
    done = threading.Event()
    analyst.post(done.set, "a job")
    assert done.wait(10)
    assert len(calls) <= 2
    analyst.end()


def test_what_nobody_waits_for_any_more_is_not_begun() -> None:
    analyst = Analyst(lambda: False, lambda what, error: None)
    analyst.start()
    begun: list[str] = []

    async def ask() -> None:
        hold = threading.Event()
        first = asyncio.create_task(analyst.ask(lambda: hold.wait(10)))
        second = asyncio.create_task(analyst.ask(lambda: begun.append("second")))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        await asyncio.sleep(0)  # the thread's future hears of it in the loop's next turn
        hold.set()
        assert await first
        await analyst.ask(lambda: None)

    asyncio.run(ask())
    assert begun == []
    analyst.end()


def test_what_is_done_while_nobody_waits_gives_way() -> None:
    begun, calls = threading.Event(), []

    def idle() -> bool:
        calls.append(1)
        begun.set()
        while len(calls) == 1:
            analyst.pulse()
        return False

    analyst = Analyst(idle, lambda what, error: None)
    analyst.start()
    assert begun.wait(10)
    done = threading.Event()
    analyst.post(done.set, "a job")
    assert done.wait(10)
    asyncio.run(analyst.rest())
    assert len(calls) > 1
    analyst.end()


@pytest.mark.parametrize("dropped", [True, False])
def test_an_answer_that_takes_long_gives_way_to_a_change(dropped: bool) -> None:
    begun, ended = threading.Event(), threading.Event()

    def job() -> None:
        begun.set()
        try:
            while True:
                analyst.pulse()
        finally:
            ended.set()

    async def ask() -> None:
        asked = asyncio.create_task(analyst.ask(job))
        assert await asyncio.to_thread(begun.wait, 10)
        if dropped:
            asked.cancel()
        else:
            analyst.note_change()
        with pytest.raises(asyncio.CancelledError if dropped else OutdatedError):
            await asked

    analyst = Analyst(lambda: False, lambda what, error: None)
    analyst.start()
    asyncio.run(ask())
    assert ended.wait(10)
    analyst.end()


class Outlet:
    """Remembers what was told."""

    def __init__(self) -> None:
        self.published: list[tuple[str, int | None, list[Any]]] = []

    def publish(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
        self.published.append((uri, version, [one.code for one in diagnostics]))

    def refresh(self, differs: bool) -> None: ...
    def complain(self, message: str) -> None: ...
    def report(self, message: str) -> None: ...
    def progress(self, title: str, done: int, total: int) -> None: ...


def test_after_a_crash_the_program_is_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    uri = (tmp_path / "model.py").as_uri()
    outlet = Outlet()
    workspace, documents = Workspace(outlet), Documents()
    workspace.start([str(tmp_path)], {}, Preferences({"python": ""}))
    opened = documents.open(types.TextDocumentItem(uri, "python", 1, MODEL))
    assert opened is not None
    workspace.open(opened)
    assert outlet.published[-1] == (uri, 1, ["XLA301"])
    with monkeypatch.context() as broken:
        broken.setattr(Session, "change", lambda *_: 1 / 0)
        changed = documents.open(types.TextDocumentItem(uri, "python", 2, MODEL.replace("item", "tolist")))
        assert changed is not None
        with pytest.raises(ZeroDivisionError):
            workspace.change(changed)
    workspace.recover()
    workspace.change(changed)
    assert outlet.published[-1] == (uri, 2, ["XLA302"])
    workspace.end()


def test_what_fixes_all_is_ready_before_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where another file leads to the document's findings, and after the document was changed; and it is worked out once."""
    (tmp_path / "model.py").write_text(FILLS)
    (tmp_path / "other.py").write_text(
        "import torch\nfrom model import f\n\n\ndef g(x: torch.Tensor):\n    return f(x)\n"
    )
    uri = (tmp_path / "model.py").as_uri()
    workspace, documents = Workspace(Outlet()), Documents()
    workspace.start([str(tmp_path)], {}, Preferences({"python": ""}))

    def all_fixes(snapshot: Snapshot) -> list[Edits]:
        session = workspace.session_of(snapshot.path)
        assert session is not None
        return Actions(
            session, snapshot, workspace.diagnostics(), None, workspace.answers, unsafe=session.settings.unsafe_fixes
        ).all_fixes()

    for version, text in enumerate((FILLS, FILLS.replace("x * 2", "x * 3")), 1):
        opened = documents.open(types.TextDocumentItem(uri, "python", version, text))
        assert opened is not None
        workspace.open(opened)
        while workspace.work():
            pass
        with monkeypatch.context() as asked:
            asked.setattr(Actions, "_fix_everything", lambda _: pytest.fail("was not ready"))
            assert len(all_fixes(opened)) == 1
            assert not workspace.work()
    workspace.end()


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param(None, Preferences(), id="nothing"),
        pytest.param([1], Preferences(), id="nonsense"),
        pytest.param({"minConfidence": "possible"}, Preferences({"min_confidence": "possible"}), id="camel"),
        pytest.param({"show-info": True}, Preferences({"show_info": True}), id="kebab"),
        pytest.param({"settings": {"inlayHints": True}}, Preferences(inlay_hints=True), id="within-settings"),
        pytest.param({"xlalint": {"codeLens": False}}, Preferences(code_lens=False), id="within-a-section"),
        pytest.param({"configuration": "lint/x.toml"}, Preferences(config="/root/lint/x.toml"), id="a-file"),
        pytest.param({"python": ".venv"}, Preferences({"python": "/root/.venv"}), id="a-path"),
        pytest.param({"python": ""}, Preferences({"python": ""}), id="no-path"),
        pytest.param({"nonsense": 1, "select": None}, Preferences(unknown=("nonsense",)), id="unknown"),
    ],
)
def test_preferences(told: object, expected: Preferences) -> None:
    assert preferences(told, Path("/root")) == expected
