"""The order of findings, the words that go without saying, and what a training step costs."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest

from tests.report.test_report import finding, view
from xlalint.analysis.hazard import DRIVES_STEPS
from xlalint.diagnostics.finding import Finding, Fix, TraceStep
from xlalint.report import render, summary
from xlalint.report.order import find_usual_confidence, rank_files, sort_findings


def made(place: str, **told: Any) -> Finding:
    """Make a finding at the row of a file: `a.py:3`."""
    filename, row = place.split(":")
    return finding(int(row), 1, int(row), 2, filename=f"/p/{filename}", **told)


def shown(findings: list[Finding], order: str) -> list[str]:
    return [f"{one.filename[3:]}:{one.location.row}" for one in sort_findings(findings, order)]  # type: ignore[arg-type]


BY_COST = [
    made("z.py:9", severity="error", kind="host-sync", frequency="nth-step"),
    made("y.py:9", severity="warning", kind="recompile", frequency="step"),
    made("y.py:8", severity="warning", kind="dynamic-shape", frequency="step"),
    made("y.py:7", severity="warning", kind="control-flow", frequency="step"),
    made("b.py:2", severity="warning", kind="host-sync", frequency="step"),
    made("b.py:3", severity="warning", kind="host-sync", frequency="step"),
    made("c.py:1", severity="warning", kind="host-sync", frequency="step"),
    made("a.py:1", severity="warning", kind="config", frequency=None),
    made("a.py:2", severity="warning", kind="dynamic-shape", frequency="evaluation"),
    made("a.py:3", severity="warning", kind="host-sync", frequency="nth-step"),
    made("a.py:4", severity="info", kind="host-sync", frequency="nth-step"),
    made("a.py:5", severity="info", kind="host-sync", frequency="epoch"),
]


@pytest.mark.parametrize("seed", range(5))
def test_what_costs_most_comes_first_in_whatever_order_it_was_found(seed: int) -> None:
    found = Random(seed).sample(BY_COST, len(BY_COST))
    assert sort_findings(found, "cost") == BY_COST
    assert shown(found, "file") == sorted(shown(found, "file"))


def test_the_frames_of_a_file_that_comes_twice_are_right() -> None:
    texts = {"/p/a.py": "first\nsecond\n", "/p/b.py": "third\n"}
    found = [
        made("a.py:1", severity="info"),
        made("a.py:2", severity="error"),
        made("b.py:1", severity="warning"),
    ]
    blocks = render(found, "full", view(texts, order="cost")).split("\n\n")
    assert [block.partition("[")[0] for block in blocks[:3]] == ["error", "warning", "info"]
    assert ["second" in block for block in blocks[:3]] == [True, False, True]
    assert ["third" in block for block in blocks[:3]] == [False, True, False]


USUAL = {
    "of one": (["likely"], "likely"),
    "of none": ([], "certain"),
    "of most": (["likely", "certain", "likely"], "likely"),
    "of as many": (["likely", "certain"], "certain"),
    "of the least sure": (["possible", "possible", "certain"], "possible"),
}


@pytest.mark.parametrize("name", USUAL)
def test_the_usual_confidence(name: str) -> None:
    found, usual = USUAL[name]
    assert find_usual_confidence([finding(confidence=one) for one in found]) == usual


@pytest.mark.parametrize("form", ["full", "markdown", "junit", "html"])
@pytest.mark.parametrize("usual", ["certain", "likely"])
def test_a_confidence_is_told_where_it_differs_from_the_rest(form: str, usual: str) -> None:
    texts = {"/p/a.py": "a\nb\nc\n"}
    pytest.importorskip("jinja2")
    rare = "likely" if usual == "certain" else "certain"
    alike = [made("a.py:1", confidence=usual), made("a.py:2", confidence=usual)]
    assert "confidence" not in _told(render(alike, form, view(texts)))
    mixed = _told(render([*alike, made("a.py:3", confidence=rare)], form, view(texts)))
    assert re.findall(r"confidence\W+(?:</?[\w =\"]+>\W*)*(certain|likely)", mixed) == [rare]


def _told(text: str) -> str:
    """A report without what a page lets choose from, and without attributes of its findings."""
    return re.sub(r' data-\w+="[^"]*"', "", re.sub(r"<form.*?</form>", "", text, flags=re.DOTALL))


def driven(place: str, kind: str, row: int = 5, **told: Any) -> Finding:
    """Make a finding that a training loop leads to."""
    trace = (TraceStep("/p/train.py", row, "train", DRIVES_STEPS),)
    return made(place, kind=kind, severity="warning", trace=trace, **{"frequency": "step", **told})


STEPS = {
    "nothing that costs at every step": ([driven("a.py:1", "host-sync", frequency="nth-step")], ""),
    "nothing but information": ([driven("a.py:1", "host-sync"), made("a.py:2", severity="info")][1:], ""),
    "no step of training": ([made("a.py:1", kind="host-sync", severity="warning", frequency="step")], ""),
    "one read": ([driven("a.py:1", "host-sync")], "Per training step: 1 read.\n"),
    "all kinds": (
        [
            driven("a.py:1", "host-sync"),
            driven("a.py:2", "host-sync"),
            driven("a.py:3", "dynamic-shape"),
            driven("a.py:4", "control-flow"),
            driven("a.py:5", "recompile"),
            driven("a.py:6", "config", frequency=None),
        ],
        "Per training step: 1 recompilation, 1 shape that changes, 1 branch on a value, 2 reads.\n",
    ),
    "what a model does in it": (
        [driven("a.py:1", "host-sync"), made("m.py:1", kind="dynamic-shape", severity="warning", frequency="step")],
        "Per training step: 1 shape that changes, 1 read.\n",
    ),
    "several loops": (
        [driven("a.py:1", "host-sync"), driven("b.py:1", "host-sync", row=9)],
        "In the training steps of 2 functions: 2 reads.\n",
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_the_summary_says_what_a_step_costs(name: str) -> None:
    found, said = STEPS[name]
    assert summary(found, view()).partition("\n")[2] == said


HELD = (TraceStep("/p/a.py", 1, "Model.forward", ""),)
START = {
    "one finding": ([made("a.py:1")], ""),
    "one that costs": ([made("a.py:1", severity="info"), made("a.py:2")], ""),
    "the worst": ([made("a.py:1", severity="warning"), made("b.py:2", code="XLA104")], "b.py:2 (XLA104 tensor-if)."),
    "the most frequent": (
        [made("a.py:1", frequency="epoch"), made("a.py:2", frequency="step")],
        "a.py:2 (XLA101 tensor-if, at every step).",
    ),
    "at some steps": (
        [made("a.py:1", frequency="nth-step"), made("a.py:2", frequency="run")],
        "a.py:1 (XLA101 tensor-if, at every n-th step).",
    ),
    "where much is": (
        [made("a.py:1", trace=HELD), made("a.py:2", trace=HELD), made("b.py:3")],
        "a.py:1 (XLA101 tensor-if); 2 of the findings are in Model.forward.",
    ),
    "all in one place": (
        [made("a.py:1", trace=HELD), made("a.py:2", trace=HELD)],
        "a.py:1 (XLA101 tensor-if).",
    ),
    "what can be mended": (
        [made("a.py:1", fix=Fix("safe", "m", ())), made("a.py:2")],
        "a.py:1 (XLA101 tensor-if); --fix mends it.",
    ),
    "what is mended at a risk": (
        [made("a.py:1", fix=Fix("unsafe", "m", ())), made("a.py:2")],
        "a.py:1 (XLA101 tensor-if).",
    ),
}


@pytest.mark.parametrize("name", START)
def test_the_summary_says_where_to_start(name: str) -> None:
    found, said = START[name]
    lines = summary(found, view(), "full").splitlines()[1:]
    assert lines == ([f"Start with {said}"] if said else [])
    assert "Start" not in summary(found, view(), "concise")


# ------------------------------------------------------------------------------------------------------------ copies


COPIES = [made(f"{name}.py:{row}", copy_key="k") for row, name in enumerate("abcde", 1)]


def test_copies_are_one_entry() -> None:
    said = render(COPIES, "full", view())
    assert said.count("error[XLA101]") == 1
    assert " --> a.py:1:1" in said
    assert "= copies: 4 more, in copies of the function: b.py:2, c.py:3, d.py:4, …" in said
    assert render(COPIES[:2], "full", view()).count("= copies: 1 more, in a copy of the function: b.py:2\n") == 1
    assert "(0 checked). 4 are in copies of functions: --show-copies shows them." in summary(COPIES, view(), "full")
    assert "(0 checked). 1 is in a copy of a function: --show-copies shows it." in summary(COPIES[:2], view(), "full")


def test_copies_are_shown_one_by_one_on_demand() -> None:
    each = view(show_copies=True)
    assert render(COPIES, "full", each).count("error[XLA101]") == 5
    assert "copies" not in render(COPIES, "full", each) + summary(COPIES, each, "full")


@pytest.mark.parametrize("form", ["concise", "json", "sarif", "github", "markdown"])
def test_other_formats_have_every_copy(form: str) -> None:
    said = render(COPIES, form, view())
    assert all(f"{name}.py" in said for name in "abcde")
    assert "copies" not in summary(COPIES, view(), form)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({}, id="no-key"),
        pytest.param({"copy_key": "l"}, id="another-place"),
        pytest.param({"copy_key": "k", "severity": "warning"}, id="not-as-bad"),
        pytest.param({"copy_key": "k", "frequency": "epoch"}, id="not-as-often"),
    ],
)
def test_what_is_no_copy_is_shown(other: dict[str, Any]) -> None:
    assert render([COPIES[0], made("z.py:9", **other)], "full", view()).count("[XLA101]") == 2


# -------------------------------------------------------------------------------------------------- one order of files

RANKED = [
    made("a.py:1", severity="info"),
    made("b.py:1", severity="warning", frequency="step"),
    made("c.py:1", severity="warning"),
    made("c.py:2", severity="warning"),
    made("d.py:1", severity="error"),
]
WORST_FIRST = ["d.py", "b.py", "c.py", "a.py"]


@pytest.mark.parametrize("seed", range(3))
def test_files_have_one_order_in_text_markdown_pages_and_overviews(seed: int) -> None:
    found = Random(seed).sample(RANKED, len(RANKED))
    looked = view({f"/p/{name}": "x\ny\n" for name in WORST_FIRST}, order="cost")
    assert [name.removeprefix("/p/") for name in rank_files(found)] == WORST_FIRST
    assert re.findall(r"#### `(.+?)`", render(found, "markdown", looked)) == WORST_FIRST
    text = re.findall(r"--> (\w\.py)", render(found, "full", looked))
    assert list(dict.fromkeys(text)) == WORST_FIRST
    pytest.importorskip("jinja2")
    assert re.findall(r'data-path="(.*?)"', render(found, "html", looked._replace(order="file"))) == WORST_FIRST


def test_rules_that_are_errors_come_first_in_markdown() -> None:
    table = re.findall(r"\| (error|warning|info) \|", render(RANKED, "markdown", view()))
    assert table == ["error", "warning", "info"]
