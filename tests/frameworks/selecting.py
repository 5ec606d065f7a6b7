"""Findings of some rules among all that a program has."""

from __future__ import annotations


def keep_rules(found: list[tuple[str, str]], start: str) -> list[tuple[str, str]]:
    """Keep the findings whose code starts so."""
    return [one for one in found if one[0].startswith(start)]


def severities_of(rule: str, found: list[tuple[str, str]]) -> list[str]:
    """List the severities of a rule's findings."""
    return [severity for _, severity in keep_rules(found, rule)]
