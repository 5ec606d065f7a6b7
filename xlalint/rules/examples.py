"""The examples of a page: fences whose info string says what they are, ```` ```python bad torch lines=9,11 ````."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from xlalint.rules.model import FRAMEWORKS, TARGETS, Example, ExampleKind, RuleError, read_page

_FENCE = re.compile(
    r"^(?P<ticks>`{3,})python (?P<info>(?:bad|good|fixed)\b[^\n]*)\n(?P<code>.*?)^(?P=ticks)[ \t]*$",
    re.DOTALL | re.MULTILINE,
)


def examples(path: Path, code: str) -> Iterable[Example]:
    """Read the examples of one page, in order; `RuleError` says what is wrong with one."""
    page = read_page(path)
    numbers: Counter[tuple[str, str]] = Counter()
    for match in _FENCE.finditer(page):
        kind, framework, options = _info(path, match["info"])
        numbers[framework, kind] += kind != "fixed"
        bad = f"{code}-{framework}-{numbers[framework, 'bad']}-bad"
        if kind == "fixed" and not numbers[framework, "bad"]:
            raise RuleError(path, f"a `fixed {framework}` example needs a `bad {framework}` one before it")
        yield Example(
            ident=f"{code}-{framework}-{numbers[framework, 'bad' if kind == 'fixed' else kind]}-{kind}",
            kind=kind,
            framework=framework,
            code=match["code"],
            lines=tuple(map(int, options["lines"])),
            targets=options["targets"],
            first_row=page.count("\n", 0, match.start("code")) + 1,
            of=bad if kind == "fixed" else "",
            unlike=options["unlike"],
        )


# The options of a fence, and what each of their values, between commas, looks like.
_OPTIONS = {
    "lines": re.compile(r"\d+"),
    "targets": re.compile(rf"(?:{'|'.join(TARGETS)})(?::.*)?"),
    "unlike": re.compile(r"[a-z]+"),
}


def _info(path: Path, info: str) -> tuple[ExampleKind, str, dict[str, tuple[str, ...]]]:
    """Split a fence's info string: `bad torch lines=9,11 targets=torch_compile`, `fixed torch unlike=empty`."""
    kind, *rest = info.split()
    framework = rest[0] if rest else ""
    if framework not in FRAMEWORKS:
        raise RuleError(path, f"example `{info}`: the second word must be one of {', '.join(FRAMEWORKS)}")
    options: dict[str, tuple[str, ...]] = dict.fromkeys(_OPTIONS, ())
    for option in rest[1:]:
        key, _, value = option.partition("=")
        values = tuple(value.split(","))
        if key not in _OPTIONS or not all(map(_OPTIONS[key].fullmatch, values)):
            raise RuleError(path, f"example `{info}`: cannot read `{option}`")
        options[key] = values
    if (kind == "bad") != bool(options["lines"]):
        raise RuleError(path, f"example `{info}`: `bad` names its lines (`lines=9,11`), the others name none")
    if options["unlike"] and kind != "fixed":
        raise RuleError(path, f"example `{info}`: only what is `fixed` may be unlike what it was")
    return cast("ExampleKind", kind), framework, options
