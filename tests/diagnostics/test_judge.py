"""A hazard becomes a finding as its rule, the target and the settings say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from xlalint.analysis.hazard import Confidence, Hazard, Step
from xlalint.config import Settings
from xlalint.diagnostics import Finding, check, judge, visible
from xlalint.project import check_text
from xlalint.rules import Rule
from xlalint.source.model import SourceFile

TEXT = "def f(x, mask):\n    é = x[mask]\n    if x.any():\n        pass\n"
RULE = Rule(
    code="XLA101",
    name="tensor-if",
    kind="control-flow",
    summary="",
    message="`if` needs `{subject}` {detail}",
    messages={"jax": "`{subject}` is traced"},
    help="use where",
    path=Path("/rules/XLA101-tensor-if.md"),
    severity={
        "torch_tpu": "error",
        "torch_compile": "info",
        "tf:no-autograph": "error",
        "tf": "info",
        "jax:tpu": "warning",
    },
)
RULES = {
    "XLA101": RULE,
    "XLA201": msgspec.structs.replace(RULE, code="XLA201", name="boolean-mask-index", severity={"*": "warning"}),
    "XLA601": msgspec.structs.replace(RULE, code="XLA601", name="no-kernel", kind="unsupported"),
    "XLA511": msgspec.structs.replace(RULE, code="XLA511", name="missing-sync", kind="configuration"),
}


def _hazard(text: str = "x.any()", **changes: Any) -> Hazard:
    start = len(TEXT[: TEXT.index(text)].encode())
    line = TEXT.rfind("\n", 0, TEXT.index(text)) + 1
    hazard = Hazard(
        path="/p/m.py",
        start=start,
        end=start + len(text.encode()),
        statement=len((TEXT[:line] + "    ").encode()),
        rule="XLA101",
        framework="torch",
        confidence=Confidence.CERTAIN,
        subject="x",
    )
    return msgspec.structs.replace(hazard, **changes)


def _check(*hazards: Hazard, **settings: Any) -> list[Finding]:
    source = SourceFile("/p/m.py", "m", False, TEXT, "digest")
    return check(hazards, {"/p/m.py": source}, RULES, Settings(**settings))


def test_everything_that_is_printed() -> None:
    (finding,) = _check(_hazard(trace=(Step("/p/m.py", 1, "f", "torch.compile"),), detail="on the host"))
    assert msgspec.to_builtins(finding) == {
        "code": "XLA101",
        "name": "tensor-if",
        "kind": "control-flow",
        "severity": "error",
        "confidence": "certain",
        "message": "`if` needs `x` on the host",
        "filename": "/p/m.py",
        "cell": None,
        "location": {"row": 3, "column": 8},
        "end_location": {"row": 3, "column": 15},
        "trace": ({"filename": "/p/m.py", "row": 1, "name": "f", "why": "torch.compile"},),
        "framework": "torch",
        "fix": None,
        "url": "file:///rules/XLA101-tensor-if.md",
        "help": "use where",
        "no_fix": "",
        "frequency": None,
        "copy_key": "",
        "target": "torch_tpu",
    }


def test_columns_count_code_points() -> None:
    (finding,) = _check(_hazard("x[mask]", rule="XLA201"))
    assert (finding.location.row, finding.location.column, finding.end_location.column) == (2, 9, 16)


SEVERITIES = {
    "torch-means-torch_tpu": ({}, {}, "error"),
    "another-torch-target": ({}, {"target": "torch_compile"}, "info"),
    "target-without-the-rule": ({}, {"target": "torch_xla"}, None),
    "target-of-another-framework": ({}, {"target": "jax"}, "error"),
    "framework": ({"framework": "tensorflow"}, {}, "info"),
    "variant": ({"framework": "tensorflow", "variant": "no-autograph"}, {}, "error"),
    "unknown-variant": ({"framework": "tensorflow", "variant": "keras"}, {}, "info"),
    "device": ({"framework": "jax"}, {}, "warning"),
    "another-device": ({"framework": "jax"}, {"device": "cpu"}, None),
    "a-value-that-may-be-none": ({"confidence": Confidence.LIKELY}, {}, "warning"),
    "one-that-a-tracer-refuses": ({"framework": "jax", "confidence": Confidence.LIKELY}, {}, "warning"),
    "one-that-a-graph-refuses": (
        {"framework": "tensorflow", "variant": "no-autograph", "confidence": Confidence.LIKELY},
        {},
        "warning",
    ),
    "one-that-a-graph-surely-refuses": ({"framework": "tensorflow", "variant": "no-autograph"}, {}, "error"),
    "a-kernel-that-may-not-be-asked-for": ({"rule": "XLA601", "confidence": Confidence.LIKELY}, {}, "warning"),
    "a-kernel-that-is-asked-for": ({"rule": "XLA601"}, {}, "error"),
    "a-setting": ({"rule": "XLA511", "confidence": Confidence.LIKELY}, {}, "error"),
    "the-call-knows-better": ({"severity": (("torch_tpu", "info"),)}, {}, "info"),
    "the-call-is-clean": ({"severity": (("torch_tpu", "off"),)}, {}, None),
    "the-call-speaks-of-another-target": ({"severity": (("torch_compile", "off"),)}, {}, "error"),
}


@pytest.mark.parametrize(("hazard", "settings", "expected"), SEVERITIES.values(), ids=SEVERITIES)
def test_severity(hazard: dict[str, Any], settings: dict[str, Any], expected: str | None) -> None:
    found = _check(_hazard(**hazard), show_info=True, **settings)
    assert [finding.severity for finding in found] == ([expected] if expected else [])


HIDDEN = {
    "info": ({"severity": (("torch_tpu", "info"),)}, {}),
    "possible": ({"confidence": Confidence.POSSIBLE}, {}),
    "likely-where-certain-is-asked": ({"confidence": Confidence.LIKELY}, {"min_confidence": "certain"}),
    "ignored": ({}, {"ignore": ("XLA1",)}),
    "not-selected": ({}, {"select": ("XLA2",)}),
    "ignored-in-the-file": ({}, {"per_file_ignores": (("m.py", ("XLA101",)),)}),
}


@pytest.mark.parametrize(("hazard", "settings"), HIDDEN.values(), ids=HIDDEN)
def test_not_shown(hazard: dict[str, Any], settings: dict[str, Any]) -> None:
    assert _check(_hazard(**hazard), root="/p", **settings) == []


SHOWN = {
    "info-asked-for": ({"severity": (("torch_tpu", "info"),)}, {"show_info": True}),
    "possible-asked-for": ({"confidence": Confidence.POSSIBLE}, {"min_confidence": "possible"}),
    "likely": ({"confidence": Confidence.LIKELY}, {}),
    "longer-selector-wins": ({}, {"ignore": ("XLA",), "select": ("XLA101",)}),
    "ignored-in-another-file": ({}, {"per_file_ignores": (("n.py", ("XLA101",)),)}),
}


@pytest.mark.parametrize(("hazard", "settings"), SHOWN.values(), ids=SHOWN)
def test_shown(hazard: dict[str, Any], settings: dict[str, Any]) -> None:
    assert [finding.code for finding in _check(_hazard(**hazard), root="/p", **settings)] == ["XLA101"]


def test_the_surest_of_several_stays() -> None:
    likely, certain = _hazard(confidence=Confidence.LIKELY, subject="y"), _hazard()
    assert [finding.confidence for finding in _check(likely, certain, likely)] == ["certain"]


def test_several_rules_at_one_place_stay_and_all_are_in_order() -> None:
    found = _check(_hazard(), _hazard(rule="XLA201"), _hazard("x[mask]", rule="XLA201"))
    assert [(finding.location.row, finding.code) for finding in found] == [(2, "XLA201"), (3, "XLA101"), (3, "XLA201")]


MESSAGES = {
    "of-the-framework": ({"framework": "jax"}, "`x` is traced"),
    "without-detail": ({}, "`if` needs `x`"),
    "without-subject": ({"subject": ""}, "`if` needs `x.any()`"),
    "braces-in-the-subject": ({"subject": "x[{0}]"}, "`if` needs `x[{0}]`"),
    "several-lines": ({"subject": "f(\n    x)"}, "`if` needs `f( x)`"),
    "long": ({"subject": "x + " * 40}, f"`if` needs `{('x + ' * 40)[:59]}…`"),
}


@pytest.mark.parametrize(("hazard", "message"), MESSAGES.values(), ids=MESSAGES)
def test_message(hazard: dict[str, Any], message: str) -> None:
    assert [finding.message for finding in _check(_hazard(**hazard))] == [message]


def test_what_cannot_be_anchored_is_shown_and_said() -> None:
    source = SourceFile("/p/m.py", "m", False, TEXT, "digest")
    hazard = _hazard("x.any()")
    broken = msgspec.structs.replace(hazard, start=hazard.start + 1)
    judged = judge([hazard, broken], {"/p/m.py": source}, RULES, Settings())
    assert len(judged.findings) == 2
    assert judged.failures == ["/p/m.py:3: XLA101 could not be anchored"]


def test_a_hazard_without_a_rule_is_said() -> None:
    judged = judge([_hazard(rule="XLA999")], {}, RULES, Settings())
    assert judged.failures == ["XLA999: a hazard of a rule without a page"]


def test_hidden_findings_are_kept_for_suppressions() -> None:
    source = SourceFile("/p/m.py", "m", False, TEXT, "digest")
    judged = judge([_hazard(confidence=Confidence.POSSIBLE)], {"/p/m.py": source}, RULES, Settings())
    assert len(judged.findings) == 1
    assert visible(judged.findings, Settings()) == []


@pytest.mark.parametrize("text", ["{x, y}", "a {x , y}", "{ x,} {y}", "{x, y!r}", "{(x, y):>9}", "{x, y:>9}"])
def test_tuples_of_formatted_strings_are_anchored(text: str) -> None:
    code = f"import jax\n\n@jax.jit\ndef f(x):\n    y = x * 2\n    print(f'{text}')\n    return y\n"
    report = check_text(code, "a.py", Settings(python=None, show_info=True, select=("XLA303",)))
    assert not report.failures
    assert report.findings[0].code == "XLA303"
