"""The other commands, and what importing the command line costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import xlalint


def test_version(run: Any) -> None:
    assert run("--version").out == f"xlalint {xlalint.__version__}\n"


def test_help_lists_the_commands(run: Any) -> None:
    out = run("--help").out
    for command in ("check", "rule", "rules", "clean"):
        assert f"\n  {command}  " in out


@pytest.mark.parametrize("word", ["XLA101", "xla101", "tensor-if", "Tensor-If"])
def test_rule(run: Any, word: str) -> None:
    done = run("rule", word)
    assert done.code == 0
    assert done.out.startswith("# tensor-if (XLA101)\n")
    assert "## What it does" in done.out


def test_rule_as_json(run: Any) -> None:
    [entry] = json.loads(run("rule", "item", "--output-format", "json").out)
    assert entry["code"] == "XLA301"
    assert "## What it does" in entry["text"]


def test_rule_in_colour(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in run("rule", "XLA101").out


def test_rules(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    lines = run("rules").out.splitlines()
    assert lines[1].startswith("XLA001  syntax-error")
    assert max(map(len, lines)) <= 90
    entries = json.loads(run("rules", "--output-format", "json").out)
    assert [entry["code"] for entry in entries] == sorted(entry["code"] for entry in entries)
    assert entries[0]["kind"] == "tool"


def test_clean(run: Any, tmp_path: Path) -> None:
    Path("a.py").touch()
    run("check")
    folder = tmp_path / ".xlalint_cache"
    assert folder.is_dir()
    assert run("clean").out == f"Removed {folder}\n"
    assert not folder.exists()
    assert run("clean").out == f"No cache at {folder}\n"
    run("check", "--cache-dir", "c")
    assert run("clean", "--cache-dir", "c").code == 0
    assert not Path("c").exists()


LIGHT = """
import sys
from xlalint.cli import main
main(["--version"])
print(sorted({"libcst", "rich", "msgspec", "sqlite3", "pathspec", "ast"} & set(sys.modules)))
"""


def test_version_imports_little() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] in ("[]", "['ast']")  # some versions of click import ast
