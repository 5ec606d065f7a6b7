"""Words that select rules (codes, prefixes, names, `ALL`) → prefixes of codes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xlalint.config.settings import EVERY_RULE, ConfigError


def resolve(value: Any, extra: tuple[str, ...], where: str) -> Any:
    """Turn the words of a selection, or of each entry of `per-file-ignores`, into prefixes; complain of unknown ones."""
    if value and isinstance(value[0], tuple):
        return tuple((pattern, resolve(words, extra, where)) for pattern, words in value)
    return tuple(_prefix(word.strip(), extra, where) for word in value)


def _prefix(word: str, extra: tuple[str, ...], where: str) -> str:
    from xlalint import rules

    try:
        codes = rules.select([word], tuple(map(Path, extra)))
    except (rules.UnknownRuleError, rules.RuleError) as error:
        raise ConfigError(f"{where}: {error}") from error
    if word == "ALL":
        return ""
    prefix = word.upper()
    return prefix if all(code.startswith(prefix) for code in codes) else min(codes)


def merged_selection(in_file: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The command line over the file: `--select` and `--fixable` start afresh; the others add, and win over what the file says of the same
    codes."""
    fresh = "select" in given
    base: Mapping[str, Any] = {} if fresh else in_file
    ignore, extend = given.get("ignore", ()), given.get("extend_select", ())
    return {
        "select": given["select"] if fresh else _outside(base.get("select", EVERY_RULE), ignore),
        "extend_select": (*_outside(base.get("extend_select", ()), ignore), *extend),
        "ignore": (*_outside(base.get("ignore", ()), extend), *ignore),
        "fixable": given.get("fixable", in_file.get("fixable", EVERY_RULE)),
        "unfixable": (*_outside(in_file.get("unfixable", ()), given.get("fixable", ())), *given.get("unfixable", ())),
    }


def _outside(prefixes: tuple[str, ...], stronger: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(p for p in prefixes if not (stronger and p.startswith(stronger)))
