"""What every fix keeps, whatever it rewrites: Python that parses, comments outside of its edits, line ends, other alphabets."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fixes.fixing import PATH, fixed
from tests.xla.grammars import Grammar, grammars, programs
from xlalint.config import Settings
from xlalint.diagnostics.finding import Finding
from xlalint.fixes.registry import REWRITES
from xlalint.fixes.toolkit.edits import Offsets, together
from xlalint.project import check_text
from xlalint.project.rewriting import Memory
from xlalint.rules import rules
from xlalint.source.syntax import parse

FIXTURES = Path(__file__).parents[2] / "fixtures"
TARGETS = {"torch": "torch_xla", "tensorflow": "tf", "jax": "jax"}
TEXTS = [
    *(
        pytest.param(path.read_text(encoding="utf-8"), TARGETS[path.parent.name], id=path.stem)
        for path in sorted(FIXTURES.rglob("*.py"))
        if path.parent.name in TARGETS
    ),
    *(
        pytest.param(example.code, TARGETS[example.framework], id=example.ident)
        for rule in rules().values()
        for example in rule.examples
        if example.kind == "bad" and rule.code in REWRITES
    ),
]


def commented(text: str) -> str:
    """The text with comments, of letters that take two and four bytes, at the end of every line that can have one."""
    numbers = iter(range(10**6))
    ends = {token.start[0] for token in _tokens(text) if token.type in (tokenize.NEWLINE, tokenize.NL)}
    lines = text.split("\n")
    for row in sorted(ends):
        if lines[row - 1].strip() and "#" not in lines[row - 1]:
            lines[row - 1] += f"  # é𝔸 {next(numbers)}"
    return "\n".join(lines)


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(text).readline))


def comments(text: str) -> list[str]:
    return [token.string for token in _tokens(text.replace("\r\n", "\n")) if token.type == tokenize.COMMENT]


def keeps_what_it_does_not_touch(text: str, finding: Finding) -> None:
    """One fix by itself."""
    offsets = Offsets(text)
    assert finding.fix is not None
    after = together([finding], offsets).apply(text)
    parse(after)
    kept = comments(text)
    for edit in finding.fix.edits:
        touched = text[offsets.at(edit.location) : offsets.at(edit.end_location)]
        kept = [comment for comment in kept if comment not in touched]
    left = iter(comments(after))
    assert all(comment in left for comment in kept), f"a comment is lost or moved:\n{after}"
    assert after.count("\r\n") == after.count("\n") or "\r\n" not in text
    assert "\r" not in after or "\r\n" in text


def keeps_texts(text: str, target: str) -> None:
    """All fixes of a text, each by itself and then together."""
    report = check_text(text, PATH, Settings(target=target, python=None, show_info=True), fixes=Memory())
    assert not report.failures
    for finding in report.findings:
        if finding.fix is not None:
            keeps_what_it_does_not_touch(text, finding)
    after, done = fixed(text, target=target)
    parse(after)
    assert not done.report.failures
    assert after.count("\r\n") == after.count("\n") or "\r\n" not in text
    assert fixed(after, target=target)[0] == after


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize(("text", "target"), TEXTS)
def test_known_texts(text: str, target: str, newline: str) -> None:
    keeps_texts(commented(text).replace("\n", newline), target)


@pytest.mark.parametrize(
    "grammar",
    [pytest.param(g, id=f"{g.framework}-{g.name}") for g in grammars() if set(g.codes) & set(REWRITES)],
)
def test_generated_texts(grammar: Grammar) -> None:
    @settings(max_examples=8, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(programs(grammar), st.booleans(), st.booleans())
    def check(text: str, with_comments: bool, crlf: bool) -> None:
        text = commented(text) if with_comments else text
        keeps_texts(text.replace("\n", "\r\n") if crlf else text, grammar.target or TARGETS[grammar.framework])

    check()


FUNCTION = """\
import torch


class Model(torch.nn.Module):
    # what it does
    def forward(self, x):
        if x.any():
            return x
        return x + 1


def scale(x: torch.Tensor):
    \'\'\'A
    docstring.\'\'\'
    y = x
    # why
    if y.sum() > 0:
        y = -y
    return y
"""


@pytest.mark.parametrize("end", ["\r", "\r\n"], ids=["cr", "crlf"])
def test_line_ends_make_no_difference(end: str) -> None:
    text, done = fixed(FUNCTION)
    other, as_well = fixed(FUNCTION.replace("\n", end))
    assert text != FUNCTION
    assert other == text.replace("\n", end)
    assert len(as_well.findings) == len(done.findings) == 2


def test_of_a_file_with_returns_alone_only_a_function_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is parsed grows with the file, not with its square."""
    from xlalint.fixes.toolkit import function_source

    parsed: list[int] = []

    def counted(text: str) -> object:
        parsed.append(len(text))
        return parse_concrete(text)

    parse_concrete = function_source.parse_concrete
    monkeypatch.setattr(function_source, "parse_concrete", counted)
    for number in (1, 20):
        one = "def f{}(x: torch.Tensor):\r    if x.any():\r        return x\r    return x + 1\r\r\r"
        text = "import torch\r\r\r" + "".join(one.format(n) for n in range(number))
        parsed.clear()
        assert len(fixed(text)[1].findings) == number
        assert max(parsed) < 100
        assert len(parsed) <= number


FORM_FEEDS = {
    "line": FUNCTION.replace("\ndef scale", "\n\f\ndef scale"),
    "before-def": FUNCTION.replace("\ndef scale", "\n\fdef scale"),
    "blanks-before-it": FUNCTION.replace("\ndef scale", "\n  \fdef scale"),
    "two": FUNCTION.replace("\ndef scale", "\n\f\fdef scale"),
    "before-method": FUNCTION.replace("\n    def forward", "\n\f    def forward"),
    "within": FUNCTION.replace("\n    # why", "\n\f\n    # why"),
    "before-statement": FUNCTION.replace("\n    y = x\n", "\n\f    y = x\n"),
}


@pytest.mark.parametrize("text", FORM_FEEDS.values(), ids=FORM_FEEDS)
def test_a_form_feed_costs_no_fix(text: str) -> None:
    assert ast_of(fixed(text)[0]) == ast_of(fixed(FUNCTION)[0])


def ast_of(text: str) -> str:
    import ast

    return ast.dump(ast.parse(text))
