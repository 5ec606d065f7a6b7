"""The rules: pages of Markdown under `rules/`, front matter in TOML, examples in fences.

A page is the whole rule: what `xlalint rule XLA101` prints, what the editor shows, what the tests run. Front matter is
read for every run of the linter, so it is cheap; the body and its examples are read only when somebody asks for them.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

ExampleKind = Literal["bad", "good", "fixed"]
TARGETS = ("torch_xla", "torch_tpu", "torch_compile", "tf", "jax")
FRAMEWORKS = ("torch", "tensorflow", "jax")
FRAMEWORK_TARGETS = {"torch": ("torch_xla", "torch_tpu", "torch_compile"), "tensorflow": ("tf",), "jax": ("jax",)}
KINDS = ("tool", "control-flow", "dynamic-shape", "host-sync", "recompile", "config", "unsupported")
FIXES = ("none", "safe", "unsafe", "sometimes")
SEVERITIES = ("error", "warning", "info")

_FRONT = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*\n", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"[A-Z]{2,8}\d{3}")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_FENCE = re.compile(
    r"^(?P<ticks>`{3,})python (?P<info>(?:bad|good|fixed)\b[^\n]*)\n(?P<code>.*?)^(?P=ticks)[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
# One `key = value` line whose value TOML and JSON write alike; what the pages of this package consist of.
_PLAIN = re.compile(r'(?:\[(?P<table>\w+)\]|(?P<key>[\w-]+|"[^"\\]*")[ \t]*=[ \t]*(?P<value>["\[].*))[ \t]*')


class RuleError(Exception):
    """A rule page that cannot be used; the message names the page and what is wrong with it."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path


class UnknownRuleError(LookupError):
    """A code, name or prefix that no rule has; the message names the nearest ones."""

    def __str__(self) -> str:
        return str(self.args[0])


class Example(msgspec.Struct, frozen=True):
    """One fenced program of a page: complete, importable, run on real XLA by the tests.

    `lines` are the 1-based lines of `code` with the hazard (`bad` only). `targets` are those it is proved on ("tf:no-autograph"
    with variant): empty means all for which the rule has a severity. `first_row` is the row of the page on which `code` begins. `ident` is
    unique ("XLA101-torch-2-bad"); `of` is the `ident` of the `bad` example that a `fixed` one repairs.
    """

    ident: str
    kind: ExampleKind
    framework: str
    code: str
    lines: tuple[int, ...]
    targets: tuple[str, ...]
    first_row: int
    of: str = ""


class Rule(msgspec.Struct, frozen=True, dict=True):
    """The front matter of one page; `text` and `examples` read the body on first use.

    `severity` maps a target, or "target:variant", to a severity; a target left out means that the rule does not hold
    there. The key "*" holds for every target and for files of no framework (the tool's own rules).
    """

    code: str
    name: str
    kind: str
    summary: str
    message: str
    help: str
    path: Path
    frameworks: tuple[str, ...] = ()
    fix: str = "none"
    since: str = ""
    messages: dict[str, str] = {}
    helps: dict[str, str] = {}
    severity: dict[str, str] = {}

    @cached_property
    def text(self) -> str:
        """The page's Markdown, without the front matter."""
        page = _read(self.path)
        match = _FRONT.match(page)
        return page[match.end() :].lstrip("\n") if match else page

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        """The page's examples, in order."""
        return tuple(_examples(self.path, self.code))

    def severity_for(self, target: str, variant: str = "") -> str | None:
        """How bad the rule is on a target; None where it does not hold."""
        for key in ((f"{target}:{variant}", f"*:{variant}") if variant else ()) + (target, "*"):
            if key in self.severity:
                return self.severity[key]
        return None

    def message_for(self, framework: str | None) -> str:
        """The message template, with `{subject}` and `{detail}` still to fill."""
        return self.messages.get(framework or "", self.message)

    def help_for(self, framework: str | None) -> str:
        """The way out, in one sentence."""
        return self.helps.get(framework or "", self.help)


def rules(extra: Sequence[Path] = ()) -> Mapping[str, Rule]:
    """All rules in order of code: the package's own and those of `extra` (folders or pages), which may replace them."""
    return _rules(tuple(extra))


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
        chosen |= _selected(selector, known)
    return frozenset(chosen)


def rules_folder() -> Path:
    """Where the shipped pages are: `_rules` in an installed wheel, `rules` beside the package in a checkout.

    Not `importlib.resources`: importing it costs as much as reading every page.
    """
    package = Path(__file__).resolve().parent
    shipped = package / "_rules"
    return shipped if shipped.is_dir() else package.parent / "rules"


def parse_page(path: Path, page: str | None = None) -> Rule:
    """Read the front matter of one page; `RuleError` says what is wrong with it."""
    match = _FRONT.match(_read(path) if page is None else page)
    if match is None:
        raise RuleError(path, "a rule page begins with TOML front matter between two `+++` lines")
    fields = _plain_toml(match[1])
    if fields is None:
        fields = _toml(path, match[1])
    return _checked(path, fields)


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


def _check_names(found: Mapping[str, Rule]) -> None:
    by_name: dict[str, Rule] = {}
    for rule in found.values():
        if rule.name in by_name:
            raise RuleError(rule.path, f"the name `{rule.name}` is taken by {by_name[rule.name].code}")
        by_name[rule.name] = rule


def _pages(place: Path) -> list[Path]:
    """The pages of a folder: Markdown files named after a code. A file given by itself is a page whatever its name."""
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise RuleError(place, "no such folder or page of rules")
    return sorted(p for p in place.iterdir() if p.suffix == ".md" and _CODE.match(p.name))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(path, f"cannot be read: {error}") from error


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


def _checked(path: Path, fields: dict[str, Any]) -> Rule:
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
    if not _CODE.fullmatch(rule.code):
        yield f"`code` must be letters and three digits (XLA101, ACME001), not `{rule.code}`"
    if not _NAME.fullmatch(rule.name):
        yield f"`name` must be lower-case words joined by hyphens, not `{rule.name}`"
    yield from _outside("kind", [rule.kind], KINDS)
    yield from _outside("fix", [rule.fix], FIXES)
    yield from _outside("frameworks", rule.frameworks, FRAMEWORKS)
    yield from _outside("messages", rule.messages, FRAMEWORKS)
    yield from _outside("helps", rule.helps, FRAMEWORKS)
    yield from _outside("severity", [key.split(":", 1)[0] for key in rule.severity], (*TARGETS, "*"))
    yield from _outside("severity", rule.severity.values(), SEVERITIES)
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
        template.format(subject="x", detail="y")
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        yield f"a message may use {{subject}} and {{detail}} only (double other braces): {template!r} ({error})"


def _examples(path: Path, code: str) -> Iterable[Example]:
    page = _read(path)
    numbers: Counter[tuple[str, str]] = Counter()
    for match in _FENCE.finditer(page):
        kind, framework, lines, targets = _info(path, match["info"])
        numbers[framework, kind] += kind != "fixed"
        bad = f"{code}-{framework}-{numbers[framework, 'bad']}-bad"
        if kind == "fixed" and not numbers[framework, "bad"]:
            raise RuleError(path, f"a `fixed {framework}` example needs a `bad {framework}` one before it")
        yield Example(
            ident=f"{code}-{framework}-{numbers[framework, 'bad' if kind == 'fixed' else kind]}-{kind}",
            kind=kind,
            framework=framework,
            code=match["code"],
            lines=lines,
            targets=targets,
            first_row=page.count("\n", 0, match.start("code")) + 1,
            of=bad if kind == "fixed" else "",
        )


def _info(path: Path, info: str) -> tuple[ExampleKind, str, tuple[int, ...], tuple[str, ...]]:
    """Split a fence's info string: `bad torch lines=9,11 targets=torch_compile`."""
    kind, *rest = info.split()
    framework = rest[0] if rest else ""
    if framework not in FRAMEWORKS:
        raise RuleError(path, f"example `{info}`: the second word must be one of {', '.join(FRAMEWORKS)}")
    lines: tuple[int, ...] = ()
    targets: tuple[str, ...] = ()
    for option in rest[1:]:
        key, _, value = option.partition("=")
        if key == "lines" and re.fullmatch(r"\d+(,\d+)*", value):
            lines = tuple(map(int, value.split(",")))
        elif key == "targets" and {target.split(":")[0] for target in value.split(",")} <= set(TARGETS):
            targets = tuple(value.split(","))
        else:
            raise RuleError(path, f"example `{info}`: cannot read `{option}`")
    if (kind == "bad") != bool(lines):
        raise RuleError(path, f"example `{info}`: `bad` names its lines (`lines=9,11`), the others name none")
    return cast("ExampleKind", kind), framework, lines, targets


def _selected(selector: str, known: Mapping[str, Rule]) -> set[str]:
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
