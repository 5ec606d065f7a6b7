"""One program, one report: byte for byte, whatever is cached and however many processes work on it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from xlalint.config import load_settings
from xlalint.project import analysis, check_paths

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURES, tmp_path / "project"))


def test_cached_touched_and_changed_files(check: Callable[..., Any], project: Path) -> None:
    bare = check("--no-cache", "project")
    assert bare.code == 1
    for _ in ("cold", "warm"):
        assert check("project").text == bare.text
    file = next(path for path in sorted(project.rglob("*.py")) if str(path) in bare.text.decode())
    file.touch()
    assert check("project").text == bare.text
    before = file.read_text()
    file.write_text("# one line more\n" + before)
    changed = check("project")
    assert changed.text == check("--no-cache", "project").text != bare.text
    file.write_text(before)
    assert check("project").text == bare.text


@pytest.mark.parametrize("chunks", [1, 2, 5])
def test_the_number_of_processes_changes_nothing(project: Path, monkeypatch: pytest.MonkeyPatch, chunks: int) -> None:
    size = sum(len(file.read_bytes()) for file in project.rglob("*.py"))
    monkeypatch.setattr(analysis, "_SMALLEST_SHARED", 0)
    monkeypatch.setattr(analysis, "_CHUNK_BYTES", size // chunks + 1)
    settings = load_settings([project], isolated=True)
    reports = [check_paths([project], settings, jobs=jobs) for jobs in (1, 2, 3, 1)]
    assert reports[0].findings
    assert len({msgspec.json.encode(report.findings) for report in reports}) == 1
