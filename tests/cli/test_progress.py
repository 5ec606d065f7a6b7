"""The progress bar: nothing for short runs or without a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest

from xlalint.cli import progress
from xlalint.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "patience"),
    [pytest.param(io.StringIO(), 0.0, id="no-terminal"), pytest.param(Terminal(), 60.0, id="short-run")],
)
def test_nothing_is_shown(stream: io.StringIO, patience: float, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    with Progress(stream) as bar:
        for i in range(5):
            bar(i, 5)
    assert capsys.readouterr() == ("", "")


def test_a_long_run_shows_how_far_it_is(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_REDRAW", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Progress(Terminal()) as bar:
        bar(1, 4)
        bar(4, 4)
    assert "4/4" in capsys.readouterr().err
