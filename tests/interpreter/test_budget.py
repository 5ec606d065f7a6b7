"""XLA005: a function that takes more than its share of the analysis is cut off, and told, the same whatever happened before."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from xlalint.cache import Cache
from xlalint.config import Settings
from xlalint.interpreter import budget
from xlalint.project import Report, analysis, check_paths, check_text
from xlalint.rules.codes import ANALYSIS_CUT_OFF

SETTINGS = Settings(python=None, show_info=True, min_confidence="possible")
HEAD = "import torch\nfrom torch import nn\n\n\n"


def model(name: str, *lines: str) -> str:
    """A module whose `forward` has these lines for a body."""
    body = "".join(f"        {line}\n" for line in lines)
    return f"{HEAD}class {name}(nn.Module):\n    def forward(self, x: torch.Tensor):\n{body}"


def handing_on(depth: int, over: str) -> tuple[str, ...]:
    """Loops within each other, each of which hands on a part of what the one around it computed."""
    lines = [f"v{i} = 0" for i in range(depth + 2)]
    for i in range(depth):
        lines.append(f"{' ' * i}for i{i} in {over}:")
        lines.append(f"{' ' * (i + 1)}v{i + 1}, v{i + 2} = v{i}, [v{i + 1}]")
    return (*lines, "return v3")


LONG = handing_on(14, "((1, 2), (3, 4), (5, 6), (7, 8))")


def cut_off(report: Report) -> list[tuple[str, int, str]]:
    """What was cut off: the file's name, the row, and the message's beginning."""
    assert not report.failures
    found = [finding for finding in report.findings if finding.code == ANALYSIS_CUT_OFF]
    return [(Path(one.filename).name, one.location.row, one.message.partition(" was not")[0]) for one in found]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(model("M", *handing_on(4, "range(9)")), id="loops-as-people-write-them"),
        pytest.param(model("M", *(f"x = x + {i}" for i in range(3_000)), "return x"), id="a-long-function"),
        pytest.param(model("M", "for i in range(9):", *(f"    x = x + {i}" for i in range(999))), id="a-long-loop"),
        pytest.param(HEAD + "for i in range(9):\n    for j in range(9):\n        a = i\n", id="a-script"),
    ],
)
def test_what_takes_its_share_only(text: str) -> None:
    assert cut_off(check_text(text, "/p/m.py", SETTINGS)) == []


DEEP = " + ".join("x" * 4_000)
BRANCH = "    def forward(self, x: torch.Tensor):\n        if x > 0:\n            return x\n        return -x\n"


def test_an_expression_of_thousands_of_links_does_not_look_clean() -> None:
    """Compiled, more of it can be followed: then what comes after it is found."""
    text = model("Model", f"y = {DEEP}", "return y[y > 0]") + "\n\n" + model("Other", "return x[x > 0]")
    report = check_text(text, "/p/m.py", SETTINGS)
    followed = [one.code for one in report.findings].count("XLA201") == 2
    assert followed or cut_off(report) == [("m.py", 6, "`Model.forward`")]
    assert followed or "nested too deeply" in next(o.message for o in report.findings if o.code == ANALYSIS_CUT_OFF)
    assert "XLA201" in [one.code for one in report.findings]


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(f"{HEAD}z = {DEEP}\n\n\nclass M(nn.Module):\n", id="at-module-level"),
        pytest.param(f"{HEAD}class M(nn.Module):\n    z = {DEEP}\n\n", id="in-a-class"),
    ],
)
def test_what_stands_beside_such_an_expression_is_analysed(before: str) -> None:
    report = check_text(before.replace("x", "1") + BRANCH, "/p/m.py", SETTINGS)
    assert [one.code for one in report.findings] == ["XLA101"]


def test_loops_within_loops() -> None:
    report = check_text(model("Model", *LONG), "/p/m.py", SETTINGS)
    assert cut_off(report) == [("m.py", 6, "`Model.forward`")]
    finding = next(one for one in report.findings if one.code == ANALYSIS_CUT_OFF)
    assert (finding.severity, finding.confidence, finding.framework) == ("warning", "certain", None)
    assert finding.end_location.column > finding.location.column == 5


def test_what_it_gives_is_unknown() -> None:
    lines = [*LONG[:-1], "return x"]
    text = (
        model("Model", *lines)
        + "\n    def run(self, x: torch.Tensor):\n        if self.forward(x):\n            pass\n"
    )
    report = check_text(text, "/p/m.py", SETTINGS)
    assert [one.code for one in report.findings] == [ANALYSIS_CUT_OFF]
    short = text.replace("\n".join(f"        {line}" for line in LONG[:-1]), "        pass")
    assert "XLA101" in {one.code for one in check_text(short, "/p/m.py", SETTINGS).findings}


def test_calls_with_ever_other_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each root of a module is followed some way all the same: what it does itself is seen."""
    monkeypatch.setattr(budget, "MAX_CUT", 20)
    monkeypatch.setattr(budget, "LEAST", 1)
    text = f"{HEAD}def inner(x, n):\n    return x + n\n\n\n"
    text += "".join(f"def outer{i}(x):\n    return inner(x, {i})\n\n\n" for i in range(320))
    calls = [f"x = outer{i}(x)" for i in range(320)]
    text += model("Model", *calls, "return x[x > 0]").removeprefix(HEAD)
    report = check_text(text, "/p/m.py", SETTINGS)
    assert [name for *_, name in cut_off(report)] == ["`Model.forward`"]
    assert "XLA201" in {one.code for one in report.findings}


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_neither_processes_nor_what_was_analysed_before_change_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    (tmp_path / "long.py").write_text(model("Long", *LONG))
    (tmp_path / "user.py").write_text(
        f"{HEAD}from long import Long\n\n\nclass User(Long):\n    def forward(self, x: torch.Tensor):\n"
        "        return super().forward(x)\n"
    )
    alone = check_paths([tmp_path], SETTINGS)
    assert ("long.py", 6, "`Long.forward`") in cut_off(alone)
    monkeypatch.setattr(analysis, "_SMALLEST_SHARED", 0)
    monkeypatch.setattr(analysis, "_CHUNK_BYTES", 1)
    again = check_paths([tmp_path], SETTINGS, jobs=jobs)
    assert msgspec.json.encode(again.findings) == msgspec.json.encode(alone.findings)


def test_it_is_told_from_the_cache_too(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(model("Long", *LONG))
    reports = []
    for text in ("", "", "# another line\n"):
        (tmp_path / "other.py").write_text(text)
        with Cache(tmp_path / "cache") as cache:
            reports.append(check_paths([tmp_path], SETTINGS, cache=cache))
    assert [cut_off(report) for report in reports] == [[("long.py", 6, "`Long.forward`")]] * 3
