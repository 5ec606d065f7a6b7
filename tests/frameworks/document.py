"""Programs of CONTRIBUTING.md, whose comments name what is found in them."""

from __future__ import annotations

import re
from pathlib import Path

from xlalint.project import Report

_DOCUMENT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def read_blocks(title: str) -> list[str]:
    """Read the tables and programs that stand behind some words, to the end of the section."""
    section = _DOCUMENT.partition(title)[2].partition("\n## ")[0]
    return re.findall(r"^```(?:toml|python)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


def list_expected(program: str) -> list[tuple[str, int]]:
    """List the codes that comments of a program name, each with its line."""
    lines = enumerate(program.splitlines(), 1)
    return [(code, row) for row, line in lines for code in re.findall(r"# (XLA\d{3})", line)]


def list_found(report: Report) -> list[tuple[str, int]]:
    """List the codes of what a report finds, each with its line."""
    assert not report.failures
    return [(finding.code, finding.location.row) for finding in report.findings]
