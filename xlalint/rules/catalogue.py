"""All pages together: where they live, and how rules are found by code, name and prefix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from xlalint.rules.front_matter import CODE, parse_page
from xlalint.rules.model import Rule, RuleError, UnknownRuleError
from xlalint.rules.policy import Policies, Policy, policy_of


def rules(extra: Sequence[Path] = ()) -> Mapping[str, Rule]:
    """All rules in order of code: the package's own and those of `extra` (folders or pages), which may replace them."""
    return _rules(tuple(extra))


def policies(extra: Sequence[Path] = ()) -> Policies:
    """The policies of all rules. A user's page that replaces one of the package's keeps the policy of that."""
    return _policies(tuple(extra))


def find_rule(code_or_name: str, extra: Sequence[Path] = ()) -> Rule:
    """The rule of that code ("XLA101") or name ("tensor-if"); `UnknownRuleError` names the nearest ones."""
    known = rules(extra)
    wanted = code_or_name.strip()
    for rule in known.values():
        if wanted.upper() == rule.code or wanted.lower() == rule.name:
            return rule
    raise UnknownRuleError(_unknown(code_or_name, known))


def select(selectors: Iterable[str], extra: Sequence[Path] = ()) -> frozenset[str]:
    """The codes that selectors mean: a code, a prefix of codes ("XLA1"), a name, or "ALL"; else `UnknownRuleError`."""
    known = rules(extra)
    chosen: set[str] = set()
    for selector in selectors:
        chosen |= _select(selector, known)
    return frozenset(chosen)


def rules_folder() -> Path:
    """Where the shipped pages are: `_rules` in an installed wheel, `rules` beside the package in a checkout.

    Not `importlib.resources`: importing it costs as much as reading every page.
    """
    package = Path(__file__).resolve().parent.parent
    shipped = package / "_rules"
    return shipped if shipped.is_dir() else package.parent / "rules"


@cache
def _rules(extra: tuple[Path, ...]) -> dict[str, Rule]:
    found = {rule.code: rule for rule in map(parse_page, _pages(rules_folder()))}
    for place in extra:
        own: dict[str, Rule] = {}
        for page in _pages(place):
            rule = parse_page(page)
            if rule.code in own:
                raise RuleError(page, f"`{rule.code}` already has a page: {own[rule.code].path}")
            own[rule.code] = rule
        found |= own
    _check_names(found)
    return dict(sorted(found.items()))


@cache
def _policies(extra: tuple[Path, ...]) -> dict[str, Policy]:
    pages = {**rules(extra), **rules()}
    return {code: policy_of(page.counts, page.traits) for code, page in pages.items()}


def _check_names(found: Mapping[str, Rule]) -> None:
    by_name: dict[str, Rule] = {}
    for rule in found.values():
        if rule.name in by_name:
            raise RuleError(rule.path, f"the name `{rule.name}` is taken by {by_name[rule.name].code}")
        by_name[rule.name] = rule


def _pages(place: Path) -> list[Path]:
    """List the pages of a folder: Markdown files named after a code.

    A file given by itself is a page whatever its name, but for an API table, which `api_tables.loading` reads.
    """
    if place.is_file():
        return [] if place.suffix == ".toml" else [place]
    if not place.is_dir():
        raise RuleError(place, "no such folder or page of rules")
    return sorted(p for p in place.iterdir() if p.suffix == ".md" and CODE.match(p.name))


def _select(selector: str, known: Mapping[str, Rule]) -> set[str]:
    wanted = selector.strip()
    if wanted == "ALL":
        return set(known)
    found = {rule.code for rule in known.values() if rule.name == wanted.lower()}
    if not found and re.fullmatch(r"[A-Za-z]{2,8}\d{0,3}", wanted):
        found = {code for code in known if code.startswith(wanted.upper())}
    if not found:
        raise UnknownRuleError(_unknown(selector, known))
    return found


def _unknown(wanted: str, known: Mapping[str, Rule]) -> str:
    names = [word for rule in known.values() for word in (rule.code, rule.name)]
    near = get_close_matches(wanted, names, n=2, cutoff=0.6) or get_close_matches(wanted.upper(), names, n=2)
    hint = f"; did you mean {' or '.join(f'`{word}`' for word in near)}?" if near else ""
    return f"no rule has the code, prefix or name `{wanted}`{hint}"
