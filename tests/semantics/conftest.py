"""Linting a few lines, as the tables of these tests write them."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from xlalint.config import Settings
from xlalint.project import check_text

Findings = Callable[[str, str], list[tuple[str, str]]]


@pytest.fixture
def findings() -> Findings:
    """(code, severity) of each finding in some code for a target, in order of place; information included."""

    def lint(code: str, target: str) -> list[tuple[str, str]]:
        settings = Settings(target=target, show_info=True)  # type: ignore[arg-type]
        report = check_text(dedent(code), "example.py", settings)
        assert not report.failures
        return [(finding.code, finding.severity) for finding in report.findings]

    return lint


@pytest.fixture
def loud(findings: Findings) -> Callable[[str, str], list[str]]:
    """The codes of the findings that are warnings or errors."""
    return lambda code, target: [rule for rule, severity in findings(code, target) if severity != "info"]
