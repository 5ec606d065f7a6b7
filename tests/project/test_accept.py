"""Fixes that are judged before they are applied: what is taken, what is withheld, and what is told of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from xlalint.config import Settings
from xlalint.diagnostics.finding import Proof
from xlalint.project import Report, check_text
from xlalint.project.fixing import Answer, Fixed, Proposed, fix
from xlalint.project.rewriting import Memory
from xlalint.source.reading import decode

PATH = "/project/module.py"
TEXT = """import torch


def f(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    total = x[mask].sum()
    return total


def g(x: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[x > 1] = 0.0
    return x
"""


class Judge:
    """Takes the fixes of some codes, and remembers what it was asked."""

    def __init__(self, *codes: str) -> None:
        self.codes = codes
        self.asked: list[Proposed] = []

    def __call__(self, asked: Sequence[Proposed]) -> list[Answer]:
        self.asked += asked
        return [
            Answer(taken := one.finding.code in self.codes, Proof("proven" if taken else "refuted", "so it is"))
            for one in asked
        ]


def fixed(judge: Judge) -> Fixed:
    def check(contents: Mapping[str, bytes], memory: Memory) -> Report:
        given = contents.get(PATH)
        return check_text(
            TEXT if given is None else decode(given), PATH, Settings(python=None, target="torch_xla"), fixes=memory
        )

    return fix(check, lambda _: TEXT.encode(), unsafe=True, accept=judge)


def test_each_fix_is_proposed_alone() -> None:
    judge = Judge()
    fixed(judge)
    assert sorted(one.finding.code for one in judge.asked) == ["XLA201", "XLA205"]
    for one in judge.asked:
        kept = "x[x > 1] = 0.0" if one.finding.code == "XLA201" else "x[mask].sum()"
        assert kept in one.after
        assert len(one.others) == 1


@pytest.mark.parametrize(("taken", "left"), [("XLA201", "XLA205"), ("XLA205", "XLA201")])
def test_only_what_is_taken_is_applied(taken: str, left: str) -> None:
    done = fixed(Judge(taken))
    assert [(one.code, one.fix and one.fix.proof and one.fix.proof.verdict) for one in done.findings] == [
        (taken, "proven")
    ]
    told = [(one.code, one.fix and one.fix.proof and one.fix.proof.verdict) for one in done.report.findings]
    assert told == [(left, "refuted")]


def test_what_is_withheld_is_asked_once_and_is_no_trouble() -> None:
    judge = Judge()
    done = fixed(judge)
    assert (len(judge.asked), done.files, done.troubles) == (2, {}, [])
