"""Programs made by chance from real ones, and what must hold of every program: no internal error, and fixes that do what they say.

Random Python seldom holds a tensor. So the programs that this makes are the fixtures and the examples of the rule pages with some of their
parts replaced, moved, doubled or left out; how the rest is written stays.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from xlalint.config import Settings, load_settings
from xlalint.diagnostics import Finding
from xlalint.project import Report, check_text
from xlalint.project.fixing import Fixed, fix
from xlalint.project.rewriting import Memory
from xlalint.report import FORMATS, Checked, View, render
from xlalint.report.diff import diff
from xlalint.rules import rules
from xlalint.rules.examples import examples
from xlalint.source.model import SourceError
from xlalint.source.reading import decode
from xlalint.source.syntax import parse

NAME = "m.py"
_ROOT = Path(__file__).parents[2]
_MOST_LINES = 250
_COMPARISONS = (
    "<",
    "<=",
    ">",
    ">=",
    "==",
    "!=",
    " is ",
    " in ",
    " and ",
    " or ",
    "+",
    "-",
    "*",
    "@",
    "//",
    "%",
    "&",
    "|",
)
_CONSTANTS = (
    "0",
    "1",
    "-1",
    "2.5",
    "None",
    "True",
    "False",
    "'a'",
    "b''",
    "...",
    "1j",
    "()",
    "[]",
    "{}",
    "10**40",
    "f'{x}'",
)
_HEADS = (
    "if {}:",
    "while {}:",
    "for i in {}:",
    "for x, y in {}:",
    "with {}:",
    "try:",
    "if not {}:",
    "def inner(x, *y, **z):",
    "async def inner(x=None, /, *, y=0):",
    "class Inner:",
    "else_ = lambda: 0\nif {}:",
    "for x in range(len({})):",
)


class Pool(NamedTuple):
    """What programs are made of: whole programs, and the texts of statements and expressions in them."""

    programs: list[str]
    statements: list[str]
    expressions: list[str]


@cache
def pool() -> Pool:
    """The fixtures and the examples of all rule pages, in parts."""
    programs = [path.read_text() for path in sorted(_ROOT.glob("fixtures/*/*.py"))]
    for code, rule in sorted(rules().items()):
        programs += [one.code for one in examples(rule.path, code)]
    statements: dict[str, None] = {}
    expressions: dict[str, None] = {}
    for program in programs:
        for node in ast.walk(ast.parse(program)):
            if isinstance(node, ast.stmt):
                statements[ast.unparse(node)] = None
            elif isinstance(node, ast.expr) and not isinstance(node, (ast.Starred, ast.Slice, ast.JoinedStr)):
                expressions[ast.unparse(node)] = None
    short = [text for text in statements if text.count("\n") < 8]
    return Pool(programs, short, [text for text in expressions if len(text) < 120])


def program(random: Random) -> str:
    """A program made by chance; it is Python."""
    parts = pool()
    text = random.choice(parts.programs)
    if random.random() < 0.2:
        text += "\n\n" + random.choice(parts.programs)
    if text.count("\n") > _MOST_LINES:
        text = random.choice(parts.programs[20:])
    for _ in range(random.choice((1, 1, 2, 3, 4, 6, 9))):
        changed = random.choice(_MUTATIONS)(text, random)
        if _parses(changed):
            text = changed
    spelled = random.choice(_SPELLINGS)(text) if random.random() < 0.1 else text
    return spelled if _parses(spelled) else text


def _parses(text: str) -> bool:
    try:
        parse(text)
    except SourceError:
        return False
    return True


# ------------------------------------------------------------------------------------------------------- mutations


class _Text:
    """A text with the extents of its nodes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line))

    def _offset(self, row: int, column: int) -> int:
        line = self.lines[row - 1] if row <= len(self.lines) else ""
        return self._starts[row - 1] + len(line.encode()[:column].decode(errors="ignore"))

    def extent(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def replaced(self, node: ast.expr | ast.stmt, new: str) -> str:
        start, end = self.extent(node)
        return self.text[:start] + new + self.text[end:]

    def expressions(self) -> list[ast.expr]:
        """Those whose extents can be trusted: not what stands in f-strings."""
        return [node for node in _outside_of_fstrings(ast.parse(self.text)) if isinstance(node, ast.expr)]

    def statements(self) -> list[ast.stmt]:
        """Those that begin a line."""
        found = [node for node in ast.walk(ast.parse(self.text)) if isinstance(node, ast.stmt)]
        return [node for node in found if not self.lines[node.lineno - 1][: node.col_offset].strip()]


def _outside_of_fstrings(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, ast.JoinedStr):
        for child in ast.iter_child_nodes(node):
            yield from _outside_of_fstrings(child)


def _other_expression(text: str, random: Random) -> str:
    held = _Text(text)
    found = held.expressions()
    return held.replaced(random.choice(found), f"({random.choice(pool().expressions)})") if found else text


def _own_expression(text: str, random: Random) -> str:
    held = _Text(text)
    found = held.expressions()
    if not found:
        return text
    start, end = held.extent(random.choice(found))
    return held.replaced(random.choice(found), f"({text[start:end]})")


def _name(text: str, random: Random) -> str:
    held = _Text(text)
    names = [node for node in held.expressions() if isinstance(node, ast.Name)]
    return held.replaced(random.choice(names), random.choice(names).id) if names else text


def _constant(text: str, random: Random) -> str:
    held = _Text(text)
    found = [node for node in held.expressions() if isinstance(node, ast.Constant)]
    return held.replaced(random.choice(found), random.choice(_CONSTANTS)) if found else text


def _operator(text: str, random: Random) -> str:
    found = [match for one in _COMPARISONS for match in re.finditer(re.escape(one), text)]
    if not found:
        return text
    match = random.choice(found)
    return text[: match.start()] + random.choice(_COMPARISONS) + text[match.end() :]


def _inserted(text: str, random: Random) -> str:
    return _around(text, random, lambda own: f"{random.choice(pool().statements)}\n{own}")


def _appended(text: str, random: Random) -> str:
    return _around(text, random, lambda own: f"{own}\n{random.choice(pool().statements)}")


def _doubled(text: str, random: Random) -> str:
    return _around(text, random, lambda own: f"{own}\n{own}")


def _removed(text: str, random: Random) -> str:
    return _around(text, random, lambda own: "pass")


def _wrapped(text: str, random: Random) -> str:
    head = random.choice(_HEADS).format(random.choice(pool().expressions))
    tail = "\nexcept Exception as e:\n    pass" if head == "try:" else ""
    return _around(text, random, lambda own: f"{head}\n{textwrap.indent(own, '    ')}{tail}")


def _around(text: str, random: Random, made: object) -> str:
    """A text with what `made` makes of one of its statements, indented as that was."""
    held = _Text(text)
    found = held.statements()
    if not found:
        return text
    node = random.choice(found)
    start, end = held.extent(node)
    indent = " " * node.col_offset
    own = textwrap.dedent(indent + text[start:end])
    return text[:start] + textwrap.indent(made(own), indent).lstrip(" ") + text[end:]  # type: ignore[operator]


def _moved(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    first, second = random.randrange(len(lines)), random.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return "".join(lines)


def _commented(text: str, random: Random) -> str:
    lines = text.splitlines()
    at = random.randrange(len(lines))
    lines[at] += random.choice(
        ("  # noqa: XLA101", "  # ü", "  # xlalint: static", "  # type: ignore", " ;", "  # noqa")
    )
    return "\n".join(lines) + "\n"


_MUTATIONS = (
    *(_other_expression, _other_expression, _own_expression, _own_expression, _name, _name, _constant, _operator),
    *(_inserted, _inserted, _appended, _doubled, _removed, _wrapped, _wrapped, _moved, _commented),
)
_SPELLINGS = (
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.rstrip("\n"),
    lambda text: "\ufeff" + text,
    lambda text: text.replace("    ", "\t"),
    lambda text: re.sub(r"\bx\b", "ñ", text),
    lambda text: text.replace(", ", ",\\\n "),
    lambda text: "\x0c" + text,
)


# ---------------------------------------------------------------------------------------------------- what must hold


class Tried(NamedTuple):
    """What came of a program: how many findings and fixes, fixes that were dropped by rule, and what is wrong, a line each."""

    findings: int
    fixes: int
    dropped: Counter[str]
    wrong: list[str]


@cache
def everything() -> Settings:
    """Settings that hide no finding."""
    return load_settings([], isolated=True, options={"show_info": True, "min_confidence": "possible"})


def looked_at(text: str) -> Tried:
    """Check a program, fix it by safe fixes and by all, and tell of it in every format."""
    dropped: Counter[str] = Counter()
    report = _check(text, Memory())
    wrong = [f"check: {line}" for line in report.failures]
    wrong += list(_ill_placed(text, report.findings))
    if report.findings:
        wrong += list(_ill_told(text, report))
    fixes = 0
    for unsafe in (False, True):
        if not any(finding.fixable(unsafe=unsafe) for finding in report.findings):
            continue
        done = _fixed(text, unsafe=unsafe)
        fixes += len(done.findings)
        kind = "unsafe" if unsafe else "safe"
        wrong += [f"{kind} fix: {line}" for line in done.report.failures]
        for trouble in done.troubles:
            code, _, why = trouble.partition(" the fix of ")[2].partition(" was dropped: ")
            dropped[f"{code}: {why.partition(':')[0]}" if why else trouble] += 1
        if NAME in done.files:
            wrong += [f"{kind} fix: {line}" for line in _ill_fixed(text, decode(done.files[NAME].after), unsafe)]
    return Tried(len(report.findings), fixes, dropped, wrong)


def _check(text: str, memory: Memory | None) -> Report:
    return check_text(text, NAME, everything(), fixes=memory)


def _fixed(text: str, *, unsafe: bool) -> Fixed:
    raw = text.encode()

    def check(contents: Mapping[str, bytes], memory: Memory | None) -> Report:
        return _check(decode(contents.get(NAME, raw)), memory)

    return fix(check, lambda _: raw, unsafe=unsafe)


def _ill_placed(text: str, findings: list[Finding]) -> Iterator[str]:
    lines = re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))
    for finding in findings:
        for place in (finding.location, finding.end_location):
            if not (1 <= place.row <= len(lines) and 1 <= place.column <= len(lines[place.row - 1]) + 1):
                yield f"check: {finding.code} lies outside of the text, at {place.row}:{place.column}"


def _ill_told(text: str, report: Report) -> Iterator[str]:
    # A page with all that rules say takes longer than all else together.
    forms = [form for form in FORMATS if form != "html" or len(text) % 20 == 0]
    for form in forms:
        for colour in (False, True) if form in ("full", "concise") else (False,):
            view = View("/", colour, lambda _: text, checked=Checked(1, rules=rules))
            try:
                if not render(report.findings, form, view):
                    yield f"{form}: nothing is told"
            except Exception as error:  # noqa: BLE001 - that is what is looked for
                yield f"{form}: {type(error).__name__}: {error}"


def _ill_fixed(before: str, after: str, unsafe: bool) -> Iterator[str]:
    try:
        parse(after)
    except SourceError as error:
        yield f"the result is not Python: {error.message}"
        return
    again = _fixed(after, unsafe=unsafe)
    if again.files:
        codes = sorted({finding.code for finding in again.findings})
        yield f"a second run changes the result again: {', '.join(codes)}"
    before = before.removeprefix("\ufeff")
    patch = diff(NAME, before, after.removeprefix("\ufeff"), View("/", False, lambda _: None))
    if applied(before, patch) != after.removeprefix("\ufeff"):
        yield "the diff does not make of the text what the fixes do"


def applied(text: str, patch: str) -> str:
    """A text after a unified diff of it."""
    old = re.findall(r"[^\n]*\n|[^\n]+", text)
    new: list[str] = []
    at = 0
    lines = re.findall(r"[^\n]*\n|[^\n]+", patch)
    for number, line in enumerate(lines):
        head = re.match(r"@@ -(\d+)(?:,(\d+))? ", line)
        ends = number + 1 < len(lines) and lines[number + 1].startswith("\\")
        held = line[1:-1] if ends else line[1:]
        if number < 2 or line.startswith("\\"):
            continue
        if head is not None:
            first = int(head[1]) - (head[2] != "0")
            new += old[at:first]
            at = first
        elif line[0] == "+":
            new.append(held)
        else:
            if old[at] != held:
                raise ValueError(f"line {at + 1} is not what the patch says")
            if line[0] == " ":
                new.append(held)
            at += 1
    return "".join(new + old[at:])
