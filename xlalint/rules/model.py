"""Define rules, examples and the error of a page that cannot be used."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from xlalint.frameworks.registry import ROWS
from xlalint.source.files import read_text

ExampleKind = Literal["bad", "good", "fixed"]
FRAMEWORK_TARGETS = {row.name: row.targets for row in ROWS}
FRAMEWORKS = tuple(FRAMEWORK_TARGETS)
TARGETS = tuple(target for row in ROWS for target in row.targets)
KINDS = ("tool", "control-flow", "dynamic-shape", "host-sync", "recompile", "config", "unsupported", "graph-break")
FIXES = ("none", "safe", "unsafe", "sometimes")
SEVERITIES = ("error", "warning", "info")

FRONT_MATTER = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*\n", re.DOTALL | re.MULTILINE)


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
    unique ("XLA101-torch-2-bad"); `of` is the `ident` of the `bad` example that a `fixed` one repairs, and `unlike` where the two are not
    alike since an unsafe fix assumes something: on which inputs ("empty", "nan") or in what comes of them ("gradients").
    """

    ident: str
    kind: ExampleKind
    framework: str
    code: str
    lines: tuple[int, ...]
    targets: tuple[str, ...]
    first_row: int
    of: str = ""
    unlike: tuple[str, ...] = ()


class Rule(msgspec.Struct, frozen=True, dict=True):
    """The front matter of one page; `text` and `examples` read the body on first use.

    `severity` maps a target, or "target:variant", to a severity; a target left out means that the rule does not hold
    there. The key "*" holds for every target and for files of no framework (the tool's own rules). `counts` and `traits` are the rule's
    policy (`xlalint.rules.policy`): the code in which it counts, by framework or "*", and what the analysis asks of it.
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
    counts: dict[str, str] = {}
    traits: tuple[str, ...] = ()

    @cached_property
    def text(self) -> str:
        """The page's Markdown, without the front matter."""
        page = read_page(self.path)
        match = FRONT_MATTER.match(page)
        return page[match.end() :].lstrip("\n") if match else page

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        """The page's examples, in order."""
        from xlalint.rules.examples import examples

        return tuple(examples(self.path, self.code))

    def severity_for(self, target: str, variant: str = "") -> str | None:
        """How bad the rule is on a target; None where it does not hold."""
        for key in ((f"{target}:{variant}", f"*:{variant}") if variant else ()) + (target, "*"):
            if key in self.severity:
                return self.severity[key]
        return None

    def message_for(self, framework: str | None, variant: str = "", target: str = "") -> str:
        """The message template, with `{subject}`, `{detail}` and `{often}` (how often it costs) still to fill.

        What is said of the target comes before what is said of the framework, and the variant before the rest.
        """
        keys = ((f"{target}:{variant}", f"{framework}:{variant}") if variant else ()) + (target, framework or "")
        return next((self.messages[key] for key in keys if key in self.messages), self.message)

    def help_for(self, framework: str | None, target: str = "") -> str:
        """The way out, in one sentence."""
        return next((self.helps[key] for key in (target, framework or "") if key in self.helps), self.help)


def read_page(path: Path) -> str:
    """The text of a page, whatever its line endings."""
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(path, f"cannot be read: {error}") from error
