"""What comments silence, what they teach, and which are reported as unused."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlalint.source.suppressions import Suppressions, Unused, apply, suppressions

NAMES = {
    "XLA001": "syntax-error",
    "XLA003": "unused-suppression",
    "XLA101": "tensor-if",
    "XLA102": "tensor-while",
    "XLA201": "boolean-mask-index",
    "XLA301": "item",
}


class Place(NamedTuple):
    row: int


class Found(NamedTuple):
    code: str
    location: Place
    end_location: Place


def found(code: str, row: int, end_row: int | None = None) -> Found:
    return Found(code, Place(row), Place(end_row or row))


IF = found("XLA101", 1)


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        pytest.param("if x: ...\n", IF, id="no-comment"),
        pytest.param("if x: ...  # a noqa would help\n", IF, id="prose"),
        pytest.param("if x: ...  # noqable\n", IF, id="longer-word"),
        pytest.param("if '# noqa': ...\n", IF, id="in-a-string"),
        pytest.param("if x: ...  # noqa: E501\n", IF, id="another-tools-code"),
        pytest.param("if x: ...  # noqa: E501, F401\n", IF, id="other-tools-codes"),
        pytest.param("if x: ...  # noqa: XLA102\n", IF, id="another-code"),
        pytest.param("if x: ...  # noqa: XLA2\n", IF, id="another-prefix"),
        pytest.param("if x: ...  # noqa: because I say so\n", IF, id="noqa-without-codes-after-colon"),
        pytest.param("if x: ...  # noqa: E501 unlike XLA101\n", IF, id="code-in-the-reason"),
        pytest.param("if x: ...  # noqa:X\n", IF, id="prefix-too-short"),
        pytest.param("if x: ...  # xlalint: ignore[tensor-while]\n", IF, id="another-name"),
        pytest.param("if x: ...  # xlalint: ignore[]\n", IF, id="empty-list"),
        pytest.param("if x: ...  # xlalint: ignore[XLA10, XLA2]\n", found("XLA301", 1), id="other-prefixes"),
        pytest.param("if x: ...  # xlalint: static\n", IF, id="static-silences-nothing"),
        pytest.param("if x: ...  # xlalint: inputs(x='f32[8]')\n", IF, id="unknown-verb"),
        pytest.param("if x: ...\n# noqa\n", IF, id="noqa-below"),
        pytest.param("# noqa\nif x: ...\n", found("XLA101", 2), id="noqa-above"),
        pytest.param("if x: ...\ny = 1  # noqa\n", IF, id="next-statement"),
        pytest.param("if x: ...\n# xlalint: ignore\ny = 1\n", IF, id="own-line-is-for-below"),
        pytest.param("# xlalint: ignore\ny = 1\nif x: ...\n", found("XLA101", 3), id="own-line-is-for-one-statement"),
        pytest.param("if x:\n  y = 1  # xlalint: ignore\n", IF, id="body-is-not-the-header"),
        pytest.param("if x:  # xlalint: ignore\n  y = t.item()\n", found("XLA301", 2), id="header-is-not-the-body"),
        pytest.param("f(a,\n  b.item(),\n  c,  # noqa\n)\n", found("XLA301", 2), id="another-row-of-the-statement"),
        pytest.param("# flake8: noqa\nif x: ...\n", found("XLA101", 2), id="flake8s-own"),
        pytest.param("# ruff: noqa\nif x: ...\n", found("XLA101", 2), id="ruffs-own"),
        pytest.param("# xlalint: ignore-file[XLA2]\nif x: ...\n", found("XLA101", 2), id="file-wide-other-family"),
        pytest.param("x = 1  # xlalint: noqa\nif x: ...\n", found("XLA101", 2), id="trailing-noqa-is-not-file-wide"),
        pytest.param(
            "'''\n# xlalint: ignore-file\n'''\nif x: ...\n", found("XLA101", 4), id="file-wide-in-a-docstring"
        ),
    ],
)
def test_not_silenced(text: str, finding: Found) -> None:
    assert apply([finding], suppressions(text), NAMES)[0] == [finding]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        pytest.param("if x: ...  # noqa\n", IF, id="noqa"),
        pytest.param("if x: ...  #noqa\n", IF, id="noqa-tight"),
        pytest.param("if x: ...  # NOQA\n", IF, id="noqa-upper"),
        pytest.param("if x: ...  # NoQA: xla101\n", IF, id="noqa-case"),
        pytest.param("if x: ...  # noqa: XLA101\n", IF, id="noqa-code"),
        pytest.param("if x: ...  # noqa:E501,XLA101\n", IF, id="noqa-among-others"),
        pytest.param("if x: ...  # noqa: E501 XLA101 both\n", IF, id="noqa-by-blanks-with-reason"),
        pytest.param("if x: ...  # noqa: XLA1\n", IF, id="noqa-prefix"),
        pytest.param("if x: ...  # type: ignore  # noqa: XLA101\n", IF, id="noqa-after-another"),
        pytest.param("if x: ...  # xlalint: ignore\n", IF, id="ignore"),
        pytest.param("if x: ...  # xlalint:ignore: runs once\n", IF, id="ignore-with-reason"),
        pytest.param("if x: ...  # xlalint: ignore[XLA101]\n", IF, id="ignore-code"),
        pytest.param("if x: ...  # xlalint: ignore [ tensor-if ] why\n", IF, id="ignore-name"),
        pytest.param("if x: ...  # xlalint: ignore: XLA101\n", IF, id="ignore-colon"),
        pytest.param("if x: ...  # xlalint: noqa: XLA101\n", IF, id="own-noqa-trailing"),
        pytest.param("# xlalint: ignore[tensor-if]\nif x: ...\n", found("XLA101", 2), id="own-line"),
        pytest.param("# xlalint: ignore[tensor-if]\n# why\n\nif x: ...\n", found("XLA101", 4), id="own-line-and-more"),
        pytest.param("f(\n  # xlalint: ignore\n  t.item(),\n)\n", found("XLA301", 3), id="own-line-in-brackets"),
        pytest.param("f(a,\n  t.item(),  # noqa\n  c)\n", found("XLA301", 2), id="own-row"),
        pytest.param("f(a,\n  t.item(),\n  c)  # noqa\n", found("XLA301", 2), id="last-row"),
        pytest.param("f(a,  # noqa\n  t.item(),\n  c)\n", found("XLA301", 2), id="first-row"),
        pytest.param("x = y[\n  a,  # noqa\n]\n", found("XLA201", 1, 3), id="inside-the-expression"),
        pytest.param("x = '''\n''' + t.item()  # noqa\n", found("XLA301", 2), id="after-a-long-string"),
        pytest.param("# xlalint: ignore-file\nif x: ...\n", found("XLA101", 2), id="file-wide"),
        pytest.param("if x: ...\n\n# xlalint: ignore-file[XLA1]\n", IF, id="file-wide-at-the-end"),
        pytest.param("# xlalint: noqa: XLA101\nif x: ...\n", found("XLA101", 2), id="file-wide-noqa"),
        pytest.param("print 'x'  # xlalint: ignore-file\n", found("XLA001", 1), id="file-that-does-not-parse"),
    ],
)
def test_silenced(text: str, finding: Found) -> None:
    assert apply([finding], suppressions(text), NAMES) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x = 1  # noqa\n", id="plain-noqa-may-be-anothers"),
        pytest.param("x = 1  # noqa: E501\n", id="another-tools-code"),
        pytest.param("x = 1  # noqa: E501 is needed\n", id="with-reason"),
        pytest.param("x = 1  # noqa: it is so\n", id="no-code"),
        pytest.param("x = 1  # xlalint: static\n", id="teaching"),
        pytest.param("x = 1  # xlalint: inputs(x=1)\n", id="another-verb"),
        pytest.param("x = '# xlalint: ignore'\n", id="string"),
        pytest.param("x = 1  # xlalint: ignore[XLA301, XLA003]\n", id="itself-silenced"),
        pytest.param("x = 1  # xlalint: ignore[XLA102]\n", id="rule-that-was-not-looked-for"),
        pytest.param("x = 1  # xlalint: ignore[XLA1]\n", id="family-partly-looked-for"),
    ],
)
def test_not_called_unused(text: str) -> None:
    assert apply([], suppressions(text), NAMES, lambda code: code != "XLA102")[1] == []


@pytest.mark.parametrize(
    ("line", "fixed", "says"),
    [
        pytest.param("x = 1  # noqa: XLA101", "x = 1", "no `XLA101` here", id="noqa"),
        pytest.param("x = 1  # noqa: XLA101 as it runs once", "x = 1", "no `XLA101`", id="with-its-reason"),
        pytest.param("x = 1  # noqa: E501,XLA101", "x = 1  # noqa: E501", "no `XLA101`", id="others-stay"),
        pytest.param(
            "x = 1  # noqa: XLA101, E501 long", "x = 1  # noqa: E501 long", "no `XLA101`", id="others-and-reason-stay"
        ),
        pytest.param(
            "x = 1  # noqa: XLA101  # type: ignore", "x = 1  # type: ignore", "XLA101", id="next-comment-stays"
        ),
        pytest.param(
            "x = 1  # type: ignore  # noqa: XLA101", "x = 1  # type: ignore", "XLA101", id="comment-before-stays"
        ),
        pytest.param("x = 1  # xlalint: ignore", "x = 1", "`# xlalint: ignore` suppresses nothing", id="ignore"),
        pytest.param("x = 1  # xlalint: ignore[XLA1]", "x = 1", "no `XLA1` here", id="prefix"),
        pytest.param("x = 1  # xlalint: ignore[]", "x = 1", "names no rule", id="empty-list"),
        pytest.param("x = 1  # xlalint: ignore[tensr-if]", "x = 1", "did you mean `tensor-if`", id="unknown-name"),
        pytest.param("x = 1  # noqa: XLA110", "x = 1", "unknown rule `XLA110`, did you mean `XLA10", id="unknown-code"),
        pytest.param("# xlalint: ignore-file[item]", "", "no `item` here", id="file-wide"),
        pytest.param("# xlalint: ignore-file", "", "suppresses nothing", id="file-wide-blanket"),
    ],
)
def test_unused(line: str, fixed: str, says: str) -> None:
    text = f"a = 0\n{line}\nb = 2\n"
    kept, unused = apply([], suppressions(text), NAMES)
    assert kept == []
    [only] = unused
    assert says in only.message
    assert only.row == 2
    expected = f"a = 0\n{fixed}\nb = 2\n" if fixed else "a = 0\nb = 2\n"
    assert applied(only, text) == expected


def test_used_part_stays() -> None:
    text = "if x: ...  # xlalint: ignore[XLA301, tensor-if, XLA2]\n"
    kept, [unused] = apply([IF], suppressions(text), NAMES)
    assert kept == []
    assert "partly unused: no `XLA301` here, no `XLA2` here" in unused.message
    assert applied(unused, text) == "if x: ...  # xlalint: ignore[tensor-if]\n"


def test_misspelt_verb_has_no_fix() -> None:
    _, [unused] = apply([], suppressions("x = 1  # xlalint: ingore[XLA101]\n"), NAMES)
    assert "did you mean `ignore`" in unused.message
    assert unused.fix == ""


def test_nothing_is_unused_in_a_file_that_does_not_parse() -> None:
    error = found("XLA001", 1)
    assert apply([error], suppressions("x = (  # xlalint: ignore[XLA101]\n"), NAMES) == ([error], [])


def test_nothing_is_unused_when_that_was_not_asked_for() -> None:
    given_ = suppressions("x = 1  # xlalint: ignore[XLA101]\n")
    assert apply([], given_, NAMES, lambda code: code != "XLA003")[1] == []


@pytest.mark.parametrize(
    ("text", "taught"),
    [
        pytest.param("n = f()  # xlalint: static\n", {1: "static"}, id="assignment"),
        pytest.param("# xlalint: tensor\nx = f()\n", {2: "tensor"}, id="own-line"),
        pytest.param(
            "def f(\n  x,  # xlalint: tensor\n  n,  # xlalint:static\n): ...\n",
            {2: "tensor", 3: "static"},
            id="parameters",
        ),
        pytest.param("x = 1  # noqa  # xlalint: static\n", {1: "static"}, id="beside-another"),
        pytest.param("x = 1  # xlalint: statically\n", {}, id="another-word"),
        pytest.param("x = 1  # static\n", {}, id="prose"),
    ],
)
def test_taught(text: str, taught: dict[int, str]) -> None:
    assert {one.row: one.kind for one in suppressions(text).taught} == taught


def test_a_file_without_directives_is_falsy() -> None:
    assert not suppressions("x = 1  # fine\n")
    assert suppressions("x = 1  # noqa\n")


def test_it_survives_the_cache() -> None:
    told = suppressions(
        "# xlalint: ignore-file[XLA1]\nx = 1  # noqa: E501\ny = 2  # xlalint: static\n# xlalint: ingore\n"
    )
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(told), type=Suppressions) == told


PIECES = [
    "# noqa",
    ": XLA101",
    ",",
    "XLA9",
    " # xlalint: ",
    "ignore",
    "-file",
    "[",
    "]",
    "tensor-if",
    "static",
    "(",
    "'",
    "\n",
    "\r",
    "é",
    "x",
]


@given(st.lists(st.sampled_from(PIECES)).map("".join), st.integers(1, 5), st.integers(0, 3))
def test_any_text(text: str, row: int, more: int) -> None:
    finding = found("XLA101", row, row + more)
    kept, unused = apply([finding], suppressions(text), NAMES)
    assert kept in ([], [finding])
    for one in unused:
        if one.fix:
            again = suppressions(applied(one, text))
            assert len(again.directives) <= len(suppressions(text).directives)


@given(st.text())
def test_any_unicode(text: str) -> None:
    apply([IF], suppressions("noqa" + text), NAMES)


def applied(unused: Unused, text: str) -> str:
    """The text after the fix."""
    lines = text.splitlines(keepends=True)
    start = sum(map(len, lines[: unused.row - 1])) + unused.cut - 1
    end = sum(map(len, lines[: unused.cut_row - 1])) + unused.cut_end - 1
    return text[:start] + unused.content + text[end:]


# ------------------------------------------------------------------------------------------------ ranges

RANGE = "a\n# xlalint: disable=XLA101,item\nb\nc\n# xlalint: enable=XLA101,item\nd\n"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("a\nb\nc\nd\n", [1, 2, 3, 4], id="none"),
        pytest.param("a\n# xlalint: disable=XLA102\nc\n# xlalint: enable=XLA102\n", [1, 2, 3, 4], id="another-code"),
        pytest.param("a\n# xlalint: enable=XLA101\nc\nd\n", [1, 2, 3, 4], id="an-end-alone"),
        pytest.param("'''\n# xlalint: disable=XLA101\n'''\nd\n", [1, 2, 3, 4], id="in-a-string"),
        pytest.param(RANGE, [1, 6], id="by-code"),
        pytest.param(RANGE.replace("XLA101", "tensor-if"), [1, 6], id="by-name"),
        pytest.param(RANGE.replace("=XLA101,item", "[XLA1, XLA3]"), [1, 6], id="by-prefix-in-brackets"),
        pytest.param(RANGE.replace("=XLA101,item", ""), [1, 6], id="of-all"),
        pytest.param(RANGE.replace("enable=XLA101,item", "enable"), [1, 6], id="ended-by-one-for-all"),
        pytest.param(RANGE.replace("enable=XLA101", "enable=xla101"), [1, 6], id="another-case"),
        pytest.param(
            RANGE.replace("disable=XLA101,item", "disable=XLA101,item until it is moved"), [1, 6], id="reason"
        ),
        pytest.param("a\n# xlalint: disable=XLA101\nc\nd\n", [1], id="to-the-end"),
        pytest.param("a\nb  # xlalint: disable=XLA101\nc\n# xlalint: enable\nd\n", [1, 5], id="from-its-statement"),
        pytest.param(RANGE + RANGE, [1, 6, 7, 12], id="twice"),
    ],
)
def test_a_range_silences_what_begins_in_it(text: str, kept: list[int]) -> None:
    rows = range(1, text.count("\n") + 1)
    left, _ = apply([found("XLA101", row) for row in rows], suppressions(text), NAMES)
    assert [one.location.row for one in left] == kept


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        pytest.param(RANGE.replace(",item", ""), [], id="of-use"),
        pytest.param(RANGE, ["`# xlalint: disable=XLA101,item` is partly unused: no `item` here"], id="a-part"),
        pytest.param(
            "# xlalint: disable=XLA101\na\n",
            ["nothing ends `# xlalint: disable=XLA101`: it holds to the end"],
            id="no-end",
        ),
        pytest.param(
            "# xlalint: disable=item\na\n",
            ["`# xlalint: disable=item` suppresses nothing: no `item` here"],
            id="no-end-and-no-use",
        ),
        pytest.param(
            "# xlalint: disable=XLA101,item\na\n",
            [
                "`# xlalint: disable=XLA101,item` is partly unused: no `item` here",
                "nothing ends `# xlalint: disable=XLA101,item`: it holds to the end",
            ],
            id="no-end-and-a-part",
        ),
        pytest.param(
            "a\n# xlalint: enable=XLA101\n",
            ["`# xlalint: enable=XLA101` ends nothing that a `disable` above it begins"],
            id="no-beginning",
        ),
        pytest.param(
            "# xlalint: disable=XLA1O1\na\n# xlalint: enable=XLA1O1\n",
            ["`# xlalint: disable=XLA1O1` suppresses nothing: unknown rule `XLA1O1`, did you mean `XLA101`?"],
            id="unknown-rule",
        ),
        pytest.param(
            "# xlalint: disable=XLA101\n# xlalint: disable=XLA101\na\n# xlalint: enable=XLA101\n",
            ["`# xlalint: disable=XLA101` suppresses nothing: no `XLA101` here"],
            id="one-in-another",
        ),
        pytest.param(
            "# xlalint: disabel=XLA101\n",
            ["unknown directive `xlalint: disabel`; did you mean `disable`?"],
            id="misspelt",
        ),
    ],
)
def test_what_is_wrong_with_ranges_is_told(text: str, messages: list[str]) -> None:
    rows = range(1, text.count("\n") + 1)
    _, unused = apply([found("XLA101", row) for row in rows], suppressions(text), NAMES)
    assert [one.message for one in unused] == messages


def test_a_range_in_a_cell_ends_with_it() -> None:
    from xlalint.source.directives import shift

    told = shift(suppressions("# xlalint: disable=XLA101\na\n"), 10, 2)
    left, _ = apply([found("XLA101", row) for row in (10, 11, 12, 13)], told, NAMES)
    assert [one.location.row for one in left] == [10, 13]
