"""A run, told in text and on a page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from xlalint.diagnostics.finding import Finding, Location
from xlalint.report.run import duration, text
from xlalint.report.view import View
from xlalint.verify.joined import Joined, join
from xlalint.verify.model import Counts, Event, Place, Step
from xlalint.verify.recording import Recording

TEXT = (
    "import torch\n\nfor batch in batches:\n    loss = step(batch)\n    print(loss.item(), '</script>')\n    other()\n"
)
VIEW = View("/work", False, lambda file: TEXT)


def finding(code: str, name: str, row: int, message: str) -> Finding:
    place = Location(row, 5)
    return Finding(
        code, name, "host-sync", "warning", "certain", message, "/work/train.py", None, place, place, (), None, None, ""
    )


def run(steps: int) -> Joined:
    """Every step reads a value, every other one compiles."""
    done = []
    for number in range(steps):
        events = [Event("host-sync", "Tensor.item", Place("/work/train.py", 5, "<module>"), seconds=0.001)]
        if number % 2 == 0:
            what = f"x: f32[{number},4] was f32[8,4] <b>"
            events.append(Event("compilation", what, Place("/work/model.py", 12, "forward"), seconds=1.5))
        counts = Counts(compilations=len(events) - 1, transfers=1)
        done.append(Step(number, counts, 1.5 if number % 2 == 0 else 0.004, tuple(events), name="train.py:4"))
    recording = Recording(
        "/work/train.py", 0, 12.0, tuple(done), Step(steps, Counts()), ("torch_xla",), ("/work/train.py",), ended=True
    )
    predicted = [finding("XLA301", "item", 5, "`item()` reads"), finding("XLA302", "to-host", 6, "`other` reads <i>")]
    return join(recording, predicted, 2, VIEW.text_of)


def test_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setattr("os.getcwd", lambda: "/work")
    assert text.render(run(6), "train.py", VIEW) == (
        "train.py ran 6 steps under torch_xla in 12.0 s, exit code 0.\n"
        "After the warm-up (2 steps of each kind), in 4 steps: 2 compilations, 4 host syncs, which cost 3.0 s.\n"
        "\n"
        "Predicted and observed\n"
        "train.py:5  4 host syncs  4.0 ms  Tensor.item\n"
        "                                  XLA301 item\n"
        "\n"
        "Observed only: the analysis missed these\n"
        "model.py:12 in forward  2 compilations  3.0 s  x: f32[2,4] was f32[8,4] <b> (and 1 reason alike)\n"
        "\n"
        "Predicted only: nothing of it was seen in this run\n"
        "train.py:6  XLA302 to-host  `other` reads <i>\n"
    )


def test_text_of_a_run_without_steps() -> None:
    recording = Recording("/work/train.py", -9, 2.0, (), None, (), (), ended=False)
    said = text.render(join(recording, (), 2, VIEW.text_of), "train.py", VIEW)
    assert said.splitlines()[0] == "train.py ran 0 steps in 2.0 s, was killed by signal 9."
    assert said.splitlines()[1] == "No step was noticed, so all of this counts as warm-up: nothing was compiled."


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0004, "0.4 ms"), (0.0123, "12 ms"), (0.5, "500 ms"), (1.25, "1.2 s"), (75, "1 min 15 s")],
)
def test_duration(seconds: float, said: str) -> None:
    assert duration(seconds) == said


class Page(HTMLParser):
    """Tags that are not closed in order, all that the page refers to, and the bars with their titles."""

    VOID = ("meta", "line", "rect", "br")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        self.tags.append(tag)
        self.ids |= {value for name, value in attrs if name == "id"}
        self.links += [value for name, value in attrs if name in ("href", "src")]
        if tag not in ("meta", "br", "!doctype"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("steps", [0, 1, 6, 1000])
def test_page_is_whole_and_stands_alone(steps: int) -> None:
    page = pytest.importorskip("xlalint.report.run.page", exc_type=ImportError).render(
        run(steps), "train.py", VIEW.text_of
    )
    read = Page(page)
    assert not read.open
    assert "script" not in read.tags and "link" not in read.tags and "img" not in read.tags
    assert all(link.startswith("#") for link in read.links)
    assert not re.search(r"https?://|@import|url\(", page)
    assert "</script>" not in page and "<b> (" not in page and "reads <i>" not in page
    assert read.tags.count("rect") <= 3 * 400


def test_page_tells_lines_costs_and_source() -> None:
    page = pytest.importorskip("xlalint.report.run.page", exc_type=ImportError).render(run(6), "train.py", VIEW.text_of)
    visible = re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL))
    assert (
        "After the warm-up (2 steps of each kind), in 4 steps: 2 compilations, 4 host syncs, which cost 3.0 s."
        in visible
    )
    assert "step 2, train.py:4: 1 compilations" in visible
    assert "step 0, train.py:4 (warm-up): 1.5 s" in visible
    assert "XLA302 to-host : `other` reads &lt;i&gt;" in visible
    assert "4 host syncs in 4 steps : Tensor.item" in visible
