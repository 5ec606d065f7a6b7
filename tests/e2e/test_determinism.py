"""One program, one report: byte for byte, whatever is cached and however many processes work on it."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from xlalint.config import load_settings
from xlalint.project import analysis, check_paths, judging, rewriting
from xlalint.project.rewriting import Memory

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
# Parts of packages that the tests' own needs install: large enough to be shared out, and analysed in a second or two.
PACKAGES = ("accelerate/utils", "flax/linen", "optax/_src", "torchvision/models")


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
    monkeypatch.setattr(judging, "_SMALLEST_SHARED", 0)
    monkeypatch.setattr(analysis, "_CHUNK_BYTES", size // chunks + 1)
    settings = load_settings([project], isolated=True)
    reports = [check_paths([project], settings, jobs=jobs) for jobs in (1, 2, 3, 1)]
    assert reports[0].findings
    assert len({msgspec.json.encode(report.findings) for report in reports}) == 1


def test_fixes_do_not_depend_on_the_files_whose_analysis_they_share(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings([project], isolated=True, options={"show_info": True, "min_confidence": "possible"})
    reports = []
    for together in (1, 3, 40, 1000):
        monkeypatch.setattr(rewriting, "_CHUNK", together)
        reports.append(check_paths([project], settings, fixes=Memory()))
    assert any(finding.fix is not None for finding in reports[0].findings)
    assert len({msgspec.json.encode(report.findings) for report in reports}) == 1


def folder_of(part: str) -> Path:
    """The folder of a part of an installed package, which is not imported; skips the test where it is not installed."""
    package, _, inner = part.partition("/")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    return Path(next(iter(spec.submodule_search_locations)), inner)


@pytest.mark.parametrize("part", [pytest.param("", id="fixtures"), *PACKAGES])
def test_the_way_in_which_findings_are_worked_out_changes_nothing(part: str) -> None:
    folder = folder_of(part) if part else FIXTURES
    script = [sys.executable, str(ROOT / "scripts" / "determinism.py"), "--edits", "1", str(folder)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("1", "2", "3", "reversed", "seed", "cold", "warm", "edit 1 warm", "edit 1 session"):
        assert f"{name}: " in done.stdout
