"""What was answered about a document is kept until something changes that it depends on; what takes long makes way."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from xlalint.config import Settings
from xlalint.project.session import Session
from xlalint.server.analyst import Analyst
from xlalint.server.answers import Answers
from xlalint.server.documents import Snapshot

MODEL = "import torch\nfrom other import same\n\n\ndef f(x: torch.Tensor):\n    return same(x).item()\n"
OTHER = "def same(x):\n    return x\n"


class Asked:
    """One document of a program, and how often the same question about it had to be worked out."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "model.py")
        self.other = str(folder / "other.py")
        Path(self.path).write_text(MODEL)
        Path(self.other).write_text(OTHER)
        self.session = Session([folder], Settings(python=None))
        self.session.load()
        self.snapshot = Snapshot(self.path, f"file://{self.path}", 1, MODEL.encode())
        self.answers = Answers()
        self.times = 0

    def ask(self, question: str = "") -> int:
        def work_out() -> int:
            self.times += 1
            return self.times

        return self.answers.recall(self.session, self.snapshot, question, work_out)

    def write(self, text: str, version: int) -> None:
        self.snapshot = self.snapshot._replace(content=text.encode(), version=version)
        self.session.change(self.path, text.encode())


def test_a_question_is_worked_out_once(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    while asked.session.work():
        pass
    assert [asked.ask(), asked.ask(), asked.ask("another"), asked.ask()] == [1, 1, 2, 1]


@pytest.mark.parametrize("change", ["text", "version", "other", "session", "closed"])
def test_what_the_answer_depends_on_makes_it_worked_out_anew(tmp_path: Path, change: str) -> None:
    asked = Asked(tmp_path)
    while asked.session.work():
        pass
    assert asked.ask() == 1
    if change == "text":
        asked.write(f"{MODEL}\n\nx = 1\n", 2)
    elif change == "version":  # edits name the version that they are made for
        asked.write(MODEL, 2)
    elif change == "other":
        asked.session.change(asked.other, OTHER.replace("x\n", "x + 1\n").encode())
    elif change == "session":
        asked.session = Session([tmp_path], Settings(python=None))
        asked.session.load()
    else:
        asked.answers.forget(asked.path)
    assert [asked.ask(), asked.ask()] == [2, 2]


def test_a_text_of_another_file_that_is_changed_back_has_its_answers(tmp_path: Path) -> None:
    """To work out all fixes changes texts for a while."""
    asked = Asked(tmp_path)
    while asked.session.work():
        pass
    assert asked.ask() == 1
    for text in (OTHER.replace("x\n", "x + 1\n"), OTHER):
        asked.session.change(asked.other, text.encode())
        while asked.session.work():
            pass
    assert asked.ask() == 1


def test_an_answer_that_takes_long_makes_way_and_is_begun_anew() -> None:
    begun = threading.Event()
    order: list[str] = []
    analyst = Analyst(lambda: False, lambda what, error: None)

    def work_long() -> str:
        order.append("long")
        begun.set()
        while "quick" not in order:
            analyst.pulse()
        return "done"

    async def ask() -> None:
        long = asyncio.create_task(analyst.ask(work_long, gives_way=True))
        assert await asyncio.to_thread(begun.wait, 10)
        await analyst.ask(lambda: order.append("quick"))
        assert await long == "done"

    analyst.start()
    asyncio.run(ask())
    assert order == ["long", "quick", "long"]
    analyst.end()


def test_other_answers_do_not_make_way_to_questions() -> None:
    begun, go_on = threading.Event(), threading.Event()
    order: list[str] = []
    analyst = Analyst(lambda: False, lambda what, error: None)

    def work() -> None:
        begun.set()
        go_on.wait(10)
        analyst.pulse()
        order.append("first")

    async def ask() -> None:
        first = asyncio.create_task(analyst.ask(work))
        assert await asyncio.to_thread(begun.wait, 10)
        second = asyncio.create_task(analyst.ask(lambda: order.append("second")))
        await asyncio.sleep(0.2)  # longer than others have to wait before something gives way
        go_on.set()
        await first
        await second

    analyst.start()
    asyncio.run(ask())
    assert order == ["first", "second"]
    analyst.end()
