"""Edits: which go together, what they make of a text, and where its places went."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlalint.diagnostics.finding import Edit, Finding, Fix, Location, Touches
from xlalint.fixes.toolkit.edits import Change, Offsets, Span, together

TEXT = "0123456789"


def finding(*edits: tuple[int, int, str], touches: Touches | None = None) -> Finding:
    made = tuple(Edit(content, Location(1, start + 1), Location(1, end + 1)) for start, end, content in edits)
    place = Location(1, edits[0][0] + 1)
    fix = Fix("safe", "", made, touches)
    return Finding("XLA900", "", "", "error", "certain", "", "a.py", None, place, place, (), None, fix, "")


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        pytest.param([[(2, 5, "")], [(4, 6, "")]], "0156789", id="overlap"),
        pytest.param([[(2, 8, "x")], [(3, 4, "y")]], "01x89", id="inside"),
        pytest.param([[(2, 4, "x")], [(2, 4, "x")]], "01x456789", id="the-same"),
        pytest.param([[(2, 2, "x")], [(2, 2, "y")]], "01x23456789", id="insertions-at-one-place"),
        pytest.param([[(2, 2, "x")], [(2, 4, "y")]], "01x23456789", id="insertion-where-another-begins"),
        pytest.param([[(1, 2, "x"), (8, 9, "x")], [(3, 4, "y"), (8, 9, "z")]], "0x234567x9", id="all-or-nothing"),
        pytest.param([[(2, 5, "x"), (4, 6, "y")]], TEXT, id="with-itself"),
    ],
)
def test_of_two_that_overlap_the_first_is_made(findings: list[list[tuple[int, int, str]]], expected: str) -> None:
    change = together([finding(*edits) for edits in findings], Offsets(TEXT))
    assert len(change.findings) == len(findings) - 1
    assert change.apply(TEXT) == expected


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        pytest.param([[(6, 7, "b")], [(1, 2, "a")]], "0a2345b789", id="apart"),
        pytest.param([[(2, 4, "a")], [(4, 6, "b")]], "01ab6789", id="touching"),
        pytest.param([[(1, 2, "a"), (7, 8, "b")], [(4, 5, "c")]], "0a23c56b89", id="interlaced"),
    ],
)
def test_others_are_made_at_once(findings: list[list[tuple[int, int, str]]], expected: str) -> None:
    change = together([finding(*edits) for edits in findings], Offsets(TEXT))
    assert len(change.findings) == 2
    assert change.apply(TEXT) == expected


def test_places_past_the_end_are_the_end() -> None:
    offsets = Offsets("ab\ncd")
    assert (offsets.at(Location(2, 1)), offsets.at(Location(3, 1)), offsets.at(Location(2, 9))) == (3, 5, 5)


@given(
    st.lists(st.integers(0, len(TEXT)), max_size=6, unique=True).map(sorted),
    st.lists(st.sampled_from(["", "x", "yyy"])),
)
def test_places_that_no_edit_touched_keep_their_character(bounds: list[int], contents: list[str]) -> None:
    pairs = list(zip(bounds[::2], bounds[1::2], strict=False))
    spans = tuple(Span(a, b, content) for (a, b), content in zip(pairs, contents, strict=False))
    change = Change((), spans)
    result = change.apply(TEXT)
    for offset, character in enumerate(TEXT):
        if not any(span.start <= offset < span.end for span in spans):
            assert result[change.move(offset)] == character


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        (Touches(3, ("n",), ("x",)), Touches(3, ("m",), ("n",)), False),
        (Touches(3, ("m",), ("n",)), Touches(3, ("n",), ("x",)), False),
        (Touches(3, ("n",), ()), Touches(3, ("n",), ()), False),
        (Touches(3, ("n",), ("x",)), Touches(3, ("m",), ("x",)), True),
        (Touches(3, (), ("x",)), Touches(3, (), ("x",)), True),
        (Touches(3, ("n",), ("x",)), Touches(9, ("m",), ("n",)), True),
        (Touches(3, ("n",), ("x",)), None, True),
    ],
)
def test_what_one_fix_knew_of_a_name_may_not_hold_after_another(
    first: Touches, second: Touches | None, both: bool
) -> None:
    made = [finding((1, 2, "a"), touches=first), finding((2, 3, "b"), touches=second)]
    assert len(together(made, Offsets(TEXT)).findings) == 1 + both


@pytest.mark.parametrize(
    ("edit", "span"),
    [
        pytest.param((2, 6, "2345"), Span(6, 6, ""), id="what-is-there"),
        pytest.param((2, 6, "23x45"), Span(4, 4, "x"), id="an-insertion"),
        pytest.param((2, 6, "25"), Span(3, 5, ""), id="a-removal"),
        pytest.param((2, 6, "2x5"), Span(3, 5, "x"), id="a-replacement"),
        pytest.param((2, 6, "xy"), Span(2, 6, "xy"), id="nothing-kept"),
        pytest.param((2, 3, "22"), Span(3, 3, "2"), id="a-letter-twice"),
        pytest.param((2, 6, ""), Span(2, 6, ""), id="nothing-left"),
    ],
)
def test_what_an_edit_leaves_as_it_is_at_its_ends_is_no_part_of_it(edit: tuple[int, int, str], span: Span) -> None:
    change = together([finding(edit)], Offsets(TEXT))
    assert change.spans == (span,)
    assert change.apply(TEXT) == TEXT[: edit[0]] + edit[2] + TEXT[edit[1] :]
