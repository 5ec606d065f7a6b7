"""Findings of some rules among all that a program has."""

from __future__ import annotations

from xlalint.config import Settings
from xlalint.project import check_text


def keep_rules(found: list[tuple[str, str]], start: str) -> list[tuple[str, str]]:
    """Keep the findings whose code starts so."""
    return [one for one in found if one[0].startswith(start)]


def severities_of(rule: str, found: list[tuple[str, str]]) -> list[str]:
    """List the severities of a rule's findings."""
    return [severity for _, severity in keep_rules(found, rule)]


def list_codes(text: str, path: str) -> list[str]:
    """List the codes of what is found in a text, by the targets that it shows."""
    report = check_text(text, path, Settings(python=None))
    assert not report.failures
    return [one.code for one in report.findings]
