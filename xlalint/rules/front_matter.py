"""Front matter → `Rule`: TOML between two `+++` lines, read fast and checked with words that help."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from xlalint.rules.model import FIXES, FRAMEWORKS, FRONT_MATTER, KINDS, SEVERITIES, TARGETS, Rule, RuleError, read_page
from xlalint.rules.policy import CODES, TRAITS

CODE = re.compile(r"[A-Z]{2,8}\d{3}")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
# One `key = value` line whose value TOML and JSON write alike; what the pages of this package consist of.
_PLAIN = re.compile(r'(?:\[(?P<table>\w+)\]|(?P<key>[\w-]+|"[^"\\]*")[ \t]*=[ \t]*(?P<value>["\[].*))[ \t]*')


def parse_page(path: Path, page: str | None = None) -> Rule:
    """Read the front matter of one page; `RuleError` says what is wrong with it."""
    match = FRONT_MATTER.match(read_page(path) if page is None else page)
    if match is None:
        raise RuleError(path, "a rule page begins with TOML front matter between two `+++` lines")
    fields = _plain_toml(match[1])
    if fields is None:
        fields = _toml(path, match[1])
    return _check(path, fields)


def _plain_toml(text: str) -> dict[str, Any] | None:
    """The fields of front matter that is written as TOML and JSON both allow, else None.

    All shipped pages are. Importing tomllib and parsing them with it takes longer than linting a small project.
    """
    fields: dict[str, Any] = {}
    table = fields
    for line in text.splitlines():
        if not line.strip():
            continue
        match = _PLAIN.fullmatch(line)
        if match is None:
            return None
        if match["table"]:
            if match["table"] in fields:
                return None
            table = fields[match["table"]] = {}
            continue
        key = match["key"].strip('"')
        try:
            value = json.loads(match["value"])
        except ValueError:
            return None
        if key in table:
            return None
        table[key] = value
    return fields


def _toml(path: Path, text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RuleError(path, f"the front matter is not TOML: {error}") from error


def _check(path: Path, fields: dict[str, Any]) -> Rule:
    known = set(Rule.__struct_fields__) - {"path"}
    for key in fields:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            raise RuleError(path, f"unknown key `{key}`" + (f"; did you mean `{near[0]}`?" if near else ""))
    for key in ("code", "name", "kind", "summary", "message", "help", "severity"):
        if key not in fields:
            raise RuleError(path, f"`{key}` is missing from the front matter")
    try:
        rule = msgspec.convert({**fields, "path": path}, Rule)
    except msgspec.ValidationError as error:
        raise RuleError(path, f"{error}") from error
    for problem in _problems(rule):
        raise RuleError(path, problem)
    return rule


def _problems(rule: Rule) -> Iterable[str]:
    if not CODE.fullmatch(rule.code):
        yield f"`code` must be letters and three digits (XLA101, ACME001), not `{rule.code}`"
    if not _NAME.fullmatch(rule.name):
        yield f"`name` must be lower-case words joined by hyphens, not `{rule.name}`"
    yield from _outside("kind", [rule.kind], KINDS)
    yield from _outside("fix", [rule.fix], FIXES)
    yield from _outside("frameworks", rule.frameworks, FRAMEWORKS)
    yield from _outside("messages", [key.split(":", 1)[0] for key in rule.messages], (*FRAMEWORKS, *TARGETS))
    yield from _outside("helps", rule.helps, (*FRAMEWORKS, *TARGETS))
    yield from _outside("severity", [key.split(":", 1)[0] for key in rule.severity], (*TARGETS, "*"))
    yield from _outside("severity", rule.severity.values(), SEVERITIES)
    yield from _outside("counts", rule.counts, (*FRAMEWORKS, "*"))
    yield from _outside("counts", rule.counts.values(), CODES)
    yield from _outside("traits", rule.traits, TRAITS)
    for template in (rule.message, *rule.messages.values()):
        yield from _template_problems(template)


def _outside(field: str, values: Iterable[str], allowed: Sequence[str]) -> Iterable[str]:
    for value in values:
        if value not in allowed:
            near = get_close_matches(value, allowed, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(allowed)}"
            yield f"`{field}` does not know `{value}`: {hint}"


def _template_problems(template: str) -> Iterable[str]:
    try:
        template.format(subject="x", detail="y", often="z")
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        yield f"a message may use {{subject}}, {{detail}} and {{often}} only (double other braces): {template!r} ({error})"
