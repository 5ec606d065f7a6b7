"""What people and programs read."""

from __future__ import annotations

import io
import json
import textwrap
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlalint.diagnostics.finding import Edit, Finding, Fix, Location, TraceStep
from xlalint.report import Checked, View, fix_hint, fixes, render, statistics, summary
from xlalint.report.diff import diff
from xlalint.report.printable import printable
from xlalint.report.view import wants_colour, width

TEXT = "def f(mask):\n    y = 1\n    if mask.any():\n        return y\n"


def finding(row: int = 3, column: int = 8, end_row: int = 3, end_column: int = 18, **changes: Any) -> Finding:
    made = Finding(
        code="XLA101",
        name="tensor-if",
        kind="control-flow",
        severity="error",
        confidence="certain",
        message="`if` needs the value of tensor `mask`",
        filename="/p/a.py",
        cell=None,
        location=Location(row, column),
        end_location=Location(end_row, end_column),
        trace=(),
        framework="torch",
        fix=None,
        url="https://example.org",
    )
    return msgspec.structs.replace(made, **changes)


def view(texts: Mapping[str, str] | None = None, **changes: Any) -> View:
    texts = {"/p/a.py": TEXT} if texts is None else texts
    return View(folder="/p", colour=False, text_of=texts.get)._replace(**changes)


def full(made: Finding, text: str = TEXT, **changes: Any) -> str:
    return render([made], "full", view({made.filename: text}, **changes))


def block(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n") + "\n"


def test_full() -> None:
    steps = (
        TraceStep("/p/a.py", 1, "Model.forward", "nn.Module.forward"),
        TraceStep("/p/a.py", 9, "compute_loss", "call"),
    )
    made = finding(
        trace=steps, confidence="likely", help="Use `torch.where`.", fix=Fix("safe", "Replace by `torch.where`", ())
    )
    assert full(made) == block(
        """
        error[XLA101] [*] tensor-if: `if` needs the value of tensor `mask`
         --> a.py:3:8
          |
        1 | def f(mask):
        2 |     y = 1
        3 |     if mask.any():
          |        ^^^^^^^^^^
        4 |         return y
          |
          = why traced: Model.forward (nn.Module.forward) → compute_loss → here
          = help: Use `torch.where`.
          = safe fix: Replace by `torch.where`
        """
    )


@pytest.mark.parametrize(
    ("text", "place", "frame"),
    [
        pytest.param("\tif é:\n", (1, 5, 1, 6), "1 |     if é:\n  |        ^", id="tab"),
        pytest.param("if 日本 and x:\n", (1, 12, 1, 13), None, id="out-of-line"),
        pytest.param("if 日本:\n", (1, 4, 1, 6), "1 | if 日本:\n  |    ^^^^", id="wide"),
        pytest.param("if e\u0301:\n", (1, 4, 1, 6), "1 | if e\u0301:\n  |    ^", id="combining"),
        pytest.param(
            "x = (\r\n  a,\r\n  b)\r\n",
            (1, 5, 3, 5),
            "1 | x = (\n  |     ^\n2 |   a,\n  |   ^^\n3 |   b)\n  |   ^^",
            id="rows",
        ),
        pytest.param(
            "x = (\n\n  b)\n", (1, 5, 3, 5), "1 | x = (\n  |     ^\n2 |\n3 |   b)\n  |   ^^", id="blank-row-inside"
        ),
        pytest.param("x = (\n", (1, 6, 1, 6), "1 | x = (\n  |      ^", id="empty-place-at-the-end"),
        pytest.param("x = 1", (1, 1, 1, 2), "1 | x = 1\n  | ^", id="no-line-end"),
        pytest.param("\n\nx\n\n\n", (3, 1, 3, 2), "  |\n3 | x\n  | ^\n  |", id="blank-context"),
        pytest.param("a\x0cb\nx\n", (2, 1, 2, 2), "1 | a␌b\n2 | x\n", id="form-feed-ends-no-row"),
        pytest.param("x = '\x1b[31m'\n", (1, 1, 1, 2), "1 | x = '␛[31m'\n", id="escape-sequence"),
        pytest.param("x = '\u202e'\n", (1, 1, 1, 2), "1 | x = '�'\n", id="bidirectional"),
    ],
)
def test_frame(text: str, place: tuple[int, int, int, int], frame: str | None) -> None:
    said = full(finding(*place), text)
    assert frame is None or frame in said


def test_a_long_line_is_shown_around_the_culprit() -> None:
    line = "x = [" + "0, " * 4000 + "mask.any(), " + "1, " * 4000 + "]"
    start = line.index("mask") + 1
    said = full(finding(1, start, 1, start + 10), line)
    assert max(map(len, said.splitlines())) < 200
    shown, marks = said.splitlines()[3:5]
    assert shown[marks.index("^") : marks.rindex("^") + 1] == "mask.any()"
    assert "…" in shown


def test_a_long_culprit_is_cut() -> None:
    text = "x = (\n" + "  a +\n" * 100 + "  b)\n"
    said = full(finding(1, 5, 102, 5), text)
    assert len(said.splitlines()) < 20
    assert "..." in said


@pytest.mark.parametrize(
    ("texts", "made"),
    [
        pytest.param({}, finding(), id="file-gone"),
        pytest.param({"/p/a.py": ""}, finding(1, 1, 1, 1), id="empty-file"),
        pytest.param({"/p/a.py": "x\n"}, finding(9, 1, 9, 2), id="row-gone"),
        pytest.param({"/p/a.py": TEXT}, finding(cell=2), id="notebook"),
    ],
)
def test_without_a_frame(texts: Mapping[str, str], made: Finding) -> None:
    said = render([made], "full", view(texts))
    assert " | " not in said
    assert "--> a.py:" in said


def test_concise_and_order() -> None:
    found = [
        finding(filename="/p/b.py"),
        finding(row=9),
        finding(),
        finding(filename="/q/c.py", message="a\n\x1bb"),
        finding(cell=3),
    ]
    assert render(found, "concise", view()) == (
        "a.py:3:8: XLA101 `if` needs the value of tensor `mask`\n"
        "a.py:9:8: XLA101 `if` needs the value of tensor `mask`\n"
        "a.py:cell 3:3:8: XLA101 `if` needs the value of tensor `mask`\n"
        "b.py:3:8: XLA101 `if` needs the value of tensor `mask`\n"
        "/q/c.py:3:8: XLA101 a␊␛b\n"
    )


def test_json_has_the_documented_fields_in_their_order() -> None:
    edit = Edit("torch.where", Location(3, 8), Location(3, 18))
    made = finding(trace=(TraceStep("/p/a.py", 3, "f", "root"),), fix=Fix("safe", "m", (edit,)))
    [entry] = json.loads(render([made], "json", view()))
    assert list(entry) == [
        "code",
        "name",
        "kind",
        "severity",
        "confidence",
        "message",
        "filename",
        "cell",
        "location",
        "end_location",
        "trace",
        "framework",
        "fix",
        "url",
        "help",
        "no_fix",
        "frequency",
        "copy_key",
        "target",
    ]
    assert entry["location"] == {"row": 3, "column": 8}
    assert entry["cell"] is None
    assert entry["filename"] == "/p/a.py"
    assert entry["trace"] == [{"filename": "/p/a.py", "row": 3, "name": "f", "why": "root"}]
    assert entry["fix"]["edits"] == [
        {"content": "torch.where", "location": {"row": 3, "column": 8}, "end_location": {"row": 3, "column": 18}}
    ]


def test_json_of_nothing_and_of_odd_names() -> None:
    assert render([], "json", view()) == "[]\n"
    odd = finding(filename="/p/\udcff.py", message="é")
    assert msgspec.json.decode(render([odd], "json", view()))[0]["filename"] == "/p/\\xff.py"
    assert msgspec.json.decode(render([odd], "json", view(ascii_only=True)))[0]["filename"] == "/p/\\xff.py"
    assert render([finding(message="é")], "json", view(ascii_only=True)).isascii()


def test_json_puts_one_finding_on_a_line() -> None:
    said = render([finding(), finding(row=9)], "json", view())
    assert len(said.splitlines()) == 4


@pytest.mark.parametrize(
    ("found", "said"),
    [
        pytest.param([], "All clear: 1,533 files checked.\n", id="none"),
        pytest.param([finding()], "Found 1 error in 1 file (1,533 checked).\n", id="one"),
        pytest.param(
            [finding(), finding(), finding(severity="warning", filename="/b"), finding(severity="info")],
            "Found 2 errors, 1 warning, 1 for information in 2 files (1,533 checked).\n",
            id="many",
        ),
    ],
)
def test_summary(found: list[Finding], said: str) -> None:
    assert summary(found, view(checked=Checked(1533))) == said


def test_statistics() -> None:
    found = [finding(code="XLA301", name="item", severity="warning"), finding(), finding()]
    assert statistics(found, "full", view()) == "2  XLA101  tensor-if  error\n1  XLA301  item       warning\n"
    assert json.loads(statistics(found, "json", view()))[0] == {
        "code": "XLA101",
        "name": "tensor-if",
        "kind": "control-flow",
        "severity": "error",
        "count": 2,
        "fixable_safe": 0,
        "fixable_unsafe": 0,
    }
    fixable = [finding(fix=Fix(how, "Use it", ())) for how in ("safe", "safe", "unsafe")]
    assert statistics([*fixable, finding()], "full", view()) == (
        "4  XLA101  tensor-if  error    [*] 2 fixable, 1 with --unsafe-fixes\n"
    )
    [entry] = json.loads(statistics(fixable, "json", view()))
    assert (entry["fixable_safe"], entry["fixable_unsafe"]) == (2, 1)
    assert statistics([], "full", view()) == ""
    assert statistics([], "json", view()) == "[]\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environ", "wanted"),
    [
        pytest.param(io.StringIO(), {}, False, id="file"),
        pytest.param(Terminal(), {"NO_COLOR": "1"}, False, id="no-color"),
        pytest.param(Terminal(), {"TERM": "dumb"}, False, id="dumb"),
        pytest.param(Terminal(), {"FORCE_COLOR": "0"}, False, id="force-0"),
        pytest.param(Terminal(), {}, True, id="terminal"),
        pytest.param(Terminal(), {"NO_COLOR": ""}, True, id="empty-no-color"),
        pytest.param(io.StringIO(), {"FORCE_COLOR": "1"}, True, id="force"),
        pytest.param(io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, id="force-over-no"),
    ],
)
def test_wants_colour(stream: io.StringIO, environ: Mapping[str, str], wanted: bool) -> None:
    assert wants_colour(stream, environ) is wanted


def test_colours_only_where_wanted() -> None:
    for form in ("full", "concise"):
        assert "\x1b" not in render([finding()], form, view())
        assert "\x1b[" in render([finding()], form, view(colour=True))
    assert "\x1b" not in render([finding()], "json", view(colour=True))


@given(st.text(), st.integers(1, 9), st.integers(1, 30), st.integers(1, 12), st.integers(1, 30))
def test_any_text_and_place(text: str, row: int, column: int, end_row: int, end_column: int) -> None:
    made = finding(row, column, end_row, end_column, message=text, help=text)
    for form in ("full", "concise", "json"):
        said = render([made], form, view({"/p/a.py": text}))
        assert not set(said) & set("\x00\x07\x1b\x9b\u202e") or form == "json"


def test_printable_keeps_one_line() -> None:
    assert printable("a\r\nb\tc") == "a␍␊b\tc"


SAFE, UNSAFE = Fix("safe", "m", ()), Fix("unsafe", "m", ())


@pytest.mark.parametrize(
    ("made", "fixing", "unsafe", "said"),
    [
        pytest.param([None, None], False, False, "", id="none"),
        pytest.param([SAFE, None], False, False, "[*] 1 fixable with --fix.\n", id="safe"),
        pytest.param(
            [SAFE, UNSAFE], False, False, "[*] 1 fixable with --fix (1 more with --unsafe-fixes).\n", id="both"
        ),
        pytest.param([SAFE, UNSAFE], False, True, "[*] 2 fixable with --fix.\n", id="both-asked-for"),
        pytest.param([UNSAFE], False, False, "1 fixable with --fix --unsafe-fixes.\n", id="unsafe"),
        pytest.param([SAFE], True, False, "", id="dropped"),
        pytest.param([UNSAFE], True, False, "1 fixable with --fix --unsafe-fixes.\n", id="unsafe-left"),
        pytest.param([UNSAFE], True, True, "", id="unsafe-dropped"),
    ],
)
def test_what_can_be_fixed(made: list[Fix | None], fixing: bool, unsafe: bool, said: str) -> None:
    assert fix_hint([finding(fix=fix) for fix in made], fixing=fixing, unsafe=unsafe) == said


def test_a_fix_is_marked_where_it_may_be_applied() -> None:
    assert render([finding(fix=SAFE)], "concise", view()).startswith("a.py:3:8: XLA101 [*] `if`")
    assert render([finding(fix=UNSAFE)], "concise", view()).startswith("a.py:3:8: XLA101 `if`")
    assert render([finding(fix=UNSAFE)], "concise", view(unsafe_fixes=True)).startswith("a.py:3:8: XLA101 [*] `if`")


def test_why_there_is_no_fix() -> None:
    assert "  = no fix: `y` is used after the branch\n" in full(finding(no_fix="`y` is used after the branch"))


def test_what_was_fixed() -> None:
    made = [finding(), finding(filename="/q/b.py", severity="warning")]
    assert fixes([], "Fixed", view(), listed=True) == "Nothing to fix.\n"
    assert fixes(made, "Would fix", view(), listed=False) == "Would fix 1 error, 1 warning.\n"
    assert fixes(made, "Fixed", view(), listed=True) == (
        "Fixed 1 error, 1 warning:\n- a.py:\n    1 × XLA101 (tensor-if)\n- /q/b.py:\n    1 × XLA101 (tensor-if)\n"
    )


def test_diff() -> None:
    assert diff("/p/a.py", TEXT, TEXT, view()) == ""
    assert diff("/p/a.py", "x\r\ny", "x\r\nz", view()) == (
        "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n x\r\n-y\n\\ No newline at end of file\n+z\n\\ No newline at end of file\n"
    )
    assert diff("/p/a.py", "\x1b]0;\r\n", "\t\n", view(colour=True)) == (
        "\x1b[1m--- a.py\x1b[0m\n\x1b[1m+++ a.py\x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n"
        "\x1b[31m-␛]0;\x1b[0m\n\x1b[32m+    \x1b[0m\n"
    )


@pytest.mark.parametrize("columns", [1, 20, 33, 40, 60, 80, 100, 200])
def test_prose_is_broken_at_words_at_any_width(columns: int) -> None:
    steps = (TraceStep("/p/a.py", 1, "Model.forward", "nn.Module.forward"), TraceStep("/p/a.py", 2, "loss", ""))
    made = finding(
        trace=steps,
        help="Keep the full shape: `torch.where(mask, x, 0)`, then divide. 幅の広い文字もここに入ります。 end",
    )
    plain, wrapped = full(made), full(made, columns=columns)
    assert " ".join(wrapped.split()) == " ".join(plain.split())
    prose = [line for line in wrapped.splitlines() if "|" not in line and "-->" not in line]
    # Only a word that does not fit by itself goes past the edge.
    assert all(width(line) <= columns or len(line.split()) <= 5 for line in prose)
    if columns >= 60:
        assert all(width(line) <= columns for line in prose)


def test_what_fits_is_not_broken() -> None:
    made = finding(help="Use `where`.")
    assert full(made, columns=200) == full(made)
