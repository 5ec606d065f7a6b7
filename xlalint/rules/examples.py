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
