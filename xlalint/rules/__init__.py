"""The rules: pages of Markdown under `rules/`, front matter in TOML, examples in fences.

A page is the whole rule: what `xlalint rule XLA101` prints, what the editor shows, what the tests run. Front matter is
read for every run of the linter, so it is cheap; the body and its examples are read only when somebody asks for them.
"""

from __future__ import annotations

from xlalint.rules.catalogue import find_rule, policies, rules, rules_folder, select
from xlalint.rules.front_matter import parse_page
from xlalint.rules.model import (
    FRAMEWORK_TARGETS,
    FRAMEWORKS,
    KINDS,
    SEVERITIES,
    TARGETS,
    Example,
    Rule,
    RuleError,
    UnknownRuleError,
)
from xlalint.rules.policy import NO_POLICY, Policies, Policy

__all__ = [
    "FRAMEWORKS",
    "FRAMEWORK_TARGETS",
    "KINDS",
    "NO_POLICY",
    "SEVERITIES",
    "TARGETS",
    "Example",
    "Policies",
    "Policy",
    "Rule",
    "RuleError",
    "UnknownRuleError",
    "find_rule",
    "parse_page",
    "policies",
    "rules",
    "rules_folder",
    "select",
]
