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
from xlalint.checks.finding import Finding
from xlalint.config import Settings
from xlalint.fixes.edits import Offsets, together
from xlalint.fixes.rewrites import REWRITES
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
