"""Rounds with findings made up by the test: what is taken, what waits, what is dropped and said."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec
import pytest

from xlalint.diagnostics.finding import Edit, Finding, Fix, Location
from xlalint.project.fixing import MOST_ROUNDS, Fixed, fix
from xlalint.project.report import Report
from xlalint.project.rewriting import Memory
from xlalint.source.model import SourceError
from xlalint.source.reading import read_bytes

Rewrite = Callable[[str], str]


def rule(
    pattern: str, rewrite: Rewrite, code: str = "XLA900", applicability: str = "safe"
) -> Callable[[str, str], list[Finding]]:
    """Finds what matches a pattern, and replaces it."""

    def find(path: str, text: str) -> list[Finding]:
        return [
            _finding(path, text, match, rewrite(match[0]), code, applicability) for match in re.finditer(pattern, text)
        ]

    return find


def _finding(path: str, text: str, match: re.Match[str], content: str, code: str, applicability: str) -> Finding:
    start, end = _place(text, match.start()), _place(text, match.end())
    fix = Fix(applicability, "", (Edit(content, start, end),))  # type: ignore[arg-type]
    return Finding(code, "", "", "error", "certain", "", path, None, start, end, (), None, fix, "")


def _place(text: str, offset: int) -> Location:
    before = text[:offset].split("\n")
    return Location(len(before), len(before[-1]) + 1)


def run(files: dict[str, str], *rules: Callable[[str, str], list[Finding]], unsafe: bool = False) -> Fixed:
    def check(contents: Mapping[str, bytes], memory: Memory | None) -> Report:
        texts = {path: contents.get(path, text.encode()).decode() for path, text in files.items()}
        found = [finding for path, text in texts.items() for one in rules for finding in one(path, text)]
        failures = [f"{path}: RuntimeError" for path, text in texts.items() if "boom" in text]
        return Report(found, len(files), failures)

    return fix(check, lambda path: files[path].encode(), unsafe=unsafe)


def texts(done: Fixed) -> dict[str, str]:
    return {path: after.decode() for path, (_, after) in done.files.items()}


def test_a_result_that_does_not_parse_is_dropped_and_the_others_are_made() -> None:
    done = run({"a.py": "x = a\ny = b\n"}, rule("a", lambda _: "("), rule("b", lambda _: "c"))
    assert texts(done) == {"a.py": "x = a\ny = c\n"}
    assert len(done.findings) == len(done.report.findings) == len(done.troubles) == 1
    assert "a.py:1: the fix of XLA900 was dropped: its result cannot be read: " in done.troubles[0]


def test_fixes_that_only_together_do_not_parse_are_made_one_after_the_other() -> None:
    removed = [rule(f"    {name}\n", lambda _: "", f"XLA90{n}") for n, name in enumerate("abcd")]
    done = run({"a.py": "if x:\n    a\n    b\n    c\n    d\n"}, *removed)
    assert texts(done) == {"a.py": "if x:\n    d\n"}
    [trouble] = done.troubles
    assert "a.py:2: the fix of XLA903 was dropped: its result cannot be read: " in trouble


def test_fixes_of_which_none_parses_are_dropped() -> None:
    done = run({"a.py": "f(a)(b)\n"}, rule("a", lambda _: "*"), rule("b", lambda _: "*"))
    assert texts(done) == {}
    assert len(done.troubles) == 2


@pytest.mark.parametrize("rewrite", [str, lambda found: found + found, lambda found: f" {found}"])
def test_a_result_that_still_shows_the_finding_is_dropped(rewrite: Rewrite) -> None:
    done = run(
        {"a.py": "x = 1\ny = hazard\n", "b.py": "z = good\n"}, rule("hazard", rewrite), rule("good", lambda _: "best")
    )
    assert texts(done) == {"b.py": "z = best\n"}
    assert done.troubles == ["a.py:2: the fix of XLA900 was dropped: its result still shows the finding"]


def test_what_was_dropped_stays_dropped_where_it_moves() -> None:
    source = "a = 'x'; b = hazard; c = 'y'\n"
    first, second = rule("'x'|'y'", lambda _: "'zz'", "XLA901"), rule("'zz'", lambda _: "'long'", "XLA902")
    done = run({"a.py": source}, rule("hazard", str), first, second)
    assert texts(done) == {"a.py": "a = 'long'; b = hazard; c = 'long'\n"}
    assert len(done.troubles) == 1


def test_overlapping_fixes_are_made_in_rounds() -> None:
    done = run({"a.py": "x = f(f(f(1)))\n"}, rule(r"f\((?=f)", lambda _: "g("), rule(r"f\(f\(", lambda _: "f(h("))
    assert len(done.findings) >= 2
    assert "f(f(" not in texts(done)["a.py"]
    assert done.report.findings == []


def test_a_hazard_within_what_a_fix_keeps_is_where_it_was() -> None:
    """`max(a, max(b, c))`: the fix of the outer call writes the inner one again, whose finding is no new one."""
    outer = hazard(r"(?<=    )max\(.*\)$", lambda text: f"maximum{text[3:]}", "XLA901")
    inner = hazard(r"max\([^(]*\)(?=\))", lambda text: f"maximum{text[3:]}", "XLA901")
    done = run({"a.py": "def f():\n    max(a, max(b, c))"}, outer, inner)
    assert texts(done) == {"a.py": "def f():\n    maximum(a, maximum(b, c))"}
    assert done.troubles == []


def test_an_empty_result_is_a_result() -> None:
    done = run({"a.py": "hazard"}, rule("hazard", lambda _: ""))
    assert texts(done) == {"a.py": ""}


def test_what_never_ends_is_stopped_and_said() -> None:
    done = run({"a.py": "x = 0\n"}, rule(r"\d+", lambda number: str(int(number) + 1), code=""), unsafe=True)
    assert done.troubles  # a number for a number, at the same place, is the finding again
    turn = {"a": "b", "b": "a"}
    done = run({"a.py": "x = a\n"}, rule("a", turn.__getitem__, "XLA901"), rule("b", turn.__getitem__, "XLA902"))
    assert done.troubles == [f"after {MOST_ROUNDS} rounds there is still something to fix: XLA901"]


@pytest.mark.parametrize("unsafe", [False, True])
def test_unsafe_fixes_are_made_when_asked_for(unsafe: bool) -> None:
    done = run({"a.py": "x = a\n"}, rule("a", lambda _: "b", applicability="unsafe"), unsafe=unsafe)
    assert texts(done) == ({"a.py": "x = b\n"} if unsafe else {})


def test_an_internal_error_elsewhere_keeps_nothing_from_being_fixed() -> None:
    done = run({"a.py": "x = a\n", "b.py": "boom\n"}, rule("a", lambda _: "b"))
    assert (texts(done), done.report.failures) == ({"a.py": "x = b\n"}, ["b.py: RuntimeError"])


def test_a_result_that_is_too_much_for_the_analysis_is_not_taken() -> None:
    done = run({"a.py": "x = a\n"}, rule("a", lambda _: "boom"))
    assert (texts(done), done.report.failures) == ({}, ["a.py: RuntimeError"])
    assert done.troubles == ["a.py:1: the fix of XLA900 was dropped: its result causes an internal error"]


def test_of_results_only_those_that_are_too_much_are_not_taken() -> None:
    done = run(
        {"a.py": "x = a\n", "b.py": "y = a  # b\n"}, rule(r"a(?=\n)", lambda _: "boom"), rule("a(?= )", lambda _: "c")
    )
    assert (texts(done), done.report.failures) == ({"b.py": "y = c  # b\n"}, ["a.py: RuntimeError"])


def test_nothing_to_fix() -> None:
    assert run({"a.py": "x = 1\n"}, rule("a", lambda _: "b")) == Fixed(Report([], 1, []), [], {}, [])


@pytest.mark.parametrize(
    ("chosen", "memories"),
    [pytest.param("b.py", [False], id="nothing-to-fix"), pytest.param("a.py", [False, True, True], id="something")],
)
def test_fixes_are_looked_for_where_something_is_to_be_fixed(chosen: str, memories: list[bool]) -> None:
    """Of the files of a commit most have no findings, and to find the fixes of a large program takes long."""
    look = rule("bad", lambda _: "good")
    asked: list[bool] = []

    def check(contents: Mapping[str, bytes], memory: Memory | None) -> Report:
        asked.append(memory is not None)
        return Report(look("a.py", contents.get("a.py", b"bad\n").decode()), 2, [])

    def choose(found: Sequence[Finding], _: Mapping[str, bytes]) -> list[Finding]:
        return [finding for finding in found if finding.filename == chosen]

    done = fix(check, lambda _: b"bad\n", unsafe=False, choose=choose)
    assert asked == memories
    assert texts(done) == ({"a.py": "good\n"} if len(memories) > 1 else {})


def test_a_file_that_went_away() -> None:
    def check(_: Mapping[str, bytes], memory: Memory | None) -> Report:
        return Report(rule("a", lambda _: "b")("/nowhere/gone.py", "a"), 1, [])

    with pytest.raises(SourceError):
        fix(check, read_bytes, unsafe=False)


def hazard(pattern: str, rewrite: Rewrite, code: str, *, unless: str = "\0") -> Callable[[str, str], list[Finding]]:
    """The same of a framework's tensor, found where a text does not hold something."""

    def find(path: str, text: str) -> list[Finding]:
        found = rule(pattern, rewrite, code)(path, text) if unless not in text else []
        return [msgspec.structs.replace(finding, framework="torch") for finding in found]

    return find


READS = "def f(t):\n    x = read(t)\n    if x: pass\n\ndef g(t):\n    return read(t)\n"


def test_a_fix_that_moves_the_hazard_is_dropped() -> None:
    read, branch = hazard(r"read\(t\)", lambda _: "t", "XLA901"), hazard("if x", str, "XLA902", unless="x = read")
    done = run({"a.py": READS}, read, branch)
    assert texts(done) == {"a.py": READS.replace("return read(t)", "return t")}
    assert done.troubles[0] == "a.py:2: the fix of XLA901 was dropped: its result has as many findings, of other rules"


def test_a_fix_that_makes_another_hazard_is_dropped() -> None:
    many = hazard("bad", lambda _: "worse", "XLA901"), hazard("worse", str, "XLA902")
    assert texts(run({"a.py": "def f():\n    bad\n    fine\n"}, *many)) == {}


def test_fewer_hazards_are_progress() -> None:
    three = hazard("a", lambda _: "c", "XLA901"), hazard("[ab]+", str, "XLA902"), hazard("c", str, "XLA903", unless="d")
    assert texts(run({"a.py": "def f():\n    ab\n"}, *three)) == {"a.py": "def f():\n    cb\n"}


def test_information_that_is_fixed_beside_it_keeps_no_fix_from_leaving_information() -> None:
    """What a fix gains does not depend on which others are made in the same round."""

    def rated(severity: str, find: Callable[[str, str], list[Finding]]) -> Callable[[str, str], list[Finding]]:
        return lambda path, text: [msgspec.structs.replace(one, severity=severity) for one in find(path, text)]

    worse = hazard("bad", lambda _: "better", "XLA106")
    left = rated("info", hazard("better", str, "XLA101"))
    beside = rated("info", hazard("mask", lambda _: "whole", "XLA201"))
    alone = run({"a.py": "def f():\n    bad\n"}, worse, left)
    both = run({"a.py": "def f():\n    bad\n    mask\n"}, worse, left, beside)
    assert texts(alone) == {"a.py": "def f():\n    better\n"}
    assert texts(both) == {"a.py": "def f():\n    better\n    whole\n"}
