"""What holds of every text: no crash, findings that lie in the file, and findings that unrelated code does not move."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xlalint.config import Settings, load_settings
from xlalint.diagnostics import Finding
from xlalint.project import check_paths, check_text
from xlalint.source.model import SourceError
from xlalint.source.syntax import parse

from .programs import functions, modules

FIXTURES = Path(__file__).parents[2] / "fixtures"
TEXTS = [path.read_text() for path in sorted(FIXTURES.rglob("*.py"))]
UNHURRIED = settings(deadline=None, max_examples=8, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def everything() -> Settings:
    """Settings that hide no finding."""
    return load_settings([], isolated=True, options={"show_info": True, "min_confidence": "possible"})


def checked(text: str, everything: Settings) -> list[Finding]:
    """The findings in a text, each of which must lie in it; an internal error fails the test."""
    report = check_text(text, "m.py", everything)
    assert report.failures == []
    lines = re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))
    for finding in report.findings:
        start, end = finding.location, finding.end_location
        assert start <= end
        for place in (start, end):
            assert 1 <= place.row <= len(lines)
            assert 1 <= place.column <= len(lines[place.row - 1]) + 1
        assert finding.code < "XLA1" or start < end
    return report.findings


@UNHURRIED
@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_any_text(everything: Settings, text: str) -> None:
    checked(text, everything)


@UNHURRIED
@given(st.lists(st.sampled_from(re.findall(r"\w+|\s+|[^\w\s]+", "".join(TEXTS))), max_size=80).map("".join))
def test_any_order_of_words(everything: Settings, text: str) -> None:
    checked(text, everything)


@st.composite
def spoiled(draw: st.DrawFn) -> str:
    """A real program some of whose lines are gone, doubled or swapped."""
    lines = draw(st.sampled_from(TEXTS)).splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 5))):
        at, other = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines) - 1))
        lines[at] = draw(st.sampled_from(["", lines[at] * 2, lines[other], lines[at].replace("x", "self"), "\n"]))
    return "".join(lines)


@UNHURRIED
@given(spoiled())
def test_any_spoiled_program(everything: Settings, text: str) -> None:
    checked(text, everything)


@UNHURRIED
@given(modules())
def test_any_program(everything: Settings, text: str) -> None:
    checked(text, everything)


@UNHURRIED
@given(st.sampled_from(TEXTS), functions("unrelated_and_never_called"))
def test_a_new_function_changes_no_other_finding(everything: Settings, text: str, more: str) -> None:
    rows = text.count("\n")
    try:
        parse(more)
    except SourceError:
        return
    found = checked(text + more, everything)
    assert [f for f in found if f.location.row <= rows] == checked(text, everything)


@UNHURRIED
@given(st.sampled_from(range(len(TEXTS))), modules())
def test_a_new_file_changes_no_other_finding(
    everything: Settings, tmp_path_factory: pytest.TempPathFactory, index: int, more: str
) -> None:
    folder = tmp_path_factory.mktemp("project")
    (folder / "a.py").write_text(TEXTS[index])
    before = check_paths([folder], everything).findings
    for name in ("_unrelated.py", "unrelated.py"):
        (folder / name).write_text(more)
    report = check_paths([folder], everything)
    assert report.failures == []
    assert [f for f in report.findings if f.filename.endswith("a.py")] == before
