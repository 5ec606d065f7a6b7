"""Lines of findings behind a head that many programs share."""

from __future__ import annotations

from textwrap import dedent

from xlalint.config import Settings
from xlalint.diagnostics.finding import Finding
from xlalint.project import check_text


def find(text: str, head: str, rule: str) -> list[Finding]:
    """Find what a rule says of a text behind a head, information included."""
    report = check_text(head + dedent(text), "script.py", Settings(python=None, show_info=True, select=(rule,)))
    assert not report.failures
    return list(report.findings)


def find_rows(text: str, head: str, rule: str) -> list[int]:
    """Find the lines, counted behind the head, to which a rule applies."""
    return [one.location.row - head.count("\n") for one in find(text, head, rule)]
