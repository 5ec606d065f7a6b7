"""Functions that a program calls only where something is asked for: what they cost is information, and says what asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlalint.config import Settings
from xlalint.project import check_paths
from xlalint.project.session import Session

PART = """
import torch
from torch import nn

class Loss(nn.Module):
    def forward(self, x, keep):
        return x[keep > 0].sum()

def read(y: torch.Tensor):
    return float(y.max())
"""
RUN = """
import argparse
from part import *

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--no-show", dest="show", action="store_false")
    parser.add_argument("--kind", default="l2")
    parser.add_argument("--data")
    args = parser.parse_args()
    {body}

if __name__ == "__main__":
    main()
"""
BOTH = "load(Loss(), read)"
AT_ANY_RATE: dict[str, str] = {
    "by default": f"if args.show: {BOTH}",
    "in both branches": f"if args.draw: {BOTH}\n    else: {BOTH}",
    "beside what is asked for": f"if args.draw: {BOTH}\n    {BOTH}",
    "by one of several ways": f"if args.kind == 'l1': {BOTH}",
    "by what loads it": f"if load(): {BOTH}",
    "by another name": f"from part import Loss as Other, read as take\n    if args.draw: {BOTH}\n    load(Other(), take)",
    "by one of two ways": f"if args.draw: {BOTH}\n    else: load()",
    "behind what has to be given": f"if args.data is None: return\n    {BOTH}",
    "for the steps": f"if args.draw:\n        for x in load():\n            {BOTH}.backward()\n            optimizer.step()",
}
WHERE_ASKED: dict[str, tuple[str, str]] = {
    "with an option": (f"if args.draw: {BOTH}", "with `--draw`"),
    "without what is on": (f"if not args.show: {BOTH}", "with `--no-show`"),
    "in a loop": (f"for one in load():\n        if args.draw: {BOTH}", "with `--draw`"),
    "by what is called there": (f"def more(): {BOTH}\n    if args.draw: more()", "with `--draw`"),
}


def check(folder: Path, body: str) -> set[tuple[str, str]]:
    """Check the program that does this; return the severities of what both definitions cost, and when they do."""
    (folder / "part.py").write_text(PART)
    (folder / "run.py").write_text(RUN.format(body=body))
    report = check_paths([folder], Settings(target="torch_xla", show_info=True))
    assert not report.failures
    found = [one for one in report.findings if one.filename.endswith("part.py")]
    assert len({one.code for one in found}) > 1
    return {
        (one.severity, "only" * ("only " in one.message) + one.message.partition("only")[2].rstrip(")"))
        for one in found
    }


@pytest.mark.parametrize("name", AT_ANY_RATE)
def test_what_is_named_in_each_run_costs(name: str, tmp_path: Path) -> None:
    assert {severity for severity, _ in check(tmp_path, AT_ANY_RATE[name])} == {"warning"}


@pytest.mark.parametrize("name", WHERE_ASKED)
def test_what_is_named_only_where_asked_for_is_information(name: str, tmp_path: Path) -> None:
    body, words = WHERE_ASKED[name]
    assert check(tmp_path, body) == {("info", f"only {words}")}


def test_a_body_that_names_it_elsewhere_makes_it_cost(tmp_path: Path) -> None:
    off = WHERE_ASKED["with an option"][0]
    check(tmp_path, off)
    path = tmp_path / "run.py"
    session = Session([tmp_path], Settings(target="torch_xla", show_info=True))
    session.load()
    found = []
    for body in (off, BOTH, off):
        session.change(str(path), RUN.format(body=body).encode())
        found.append({one.severity for one in session.report().findings if one.filename.endswith("part.py")})
    assert found == [{"info"}, {"warning"}, {"info"}]
