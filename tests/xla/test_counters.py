"""xlalint's counts of compilations, reads, fallbacks and graph breaks, against the frameworks' own counters."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.xla.tpu_environment import require_torch_tpu

SCRIPT: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "score_counters.py"))
TARGETS, ask, compared, hurts = (SCRIPT[name] for name in ("TARGETS", "ask", "compared", "hurts"))
MARKS = {"torch_xla": "torch_xla", "torch_compile": "torch_xla", "torch_export": "torch_xla"}
QUIET = [[1, 0, 0, 0], *[[0, 0, 0, 0]] * 7]
UNKNOWN = [[1, -1, -1, -1], *[[0, -1, -1, -1]] * 7]
# A read of a number compiles a program that TorchTPU's cache of operations does not hold, and its plugin sees.
MISSED = {"torch_programs:logged"}


@pytest.mark.parametrize(
    "backend",
    [pytest.param(one, marks=getattr(pytest.mark, MARKS.get(one, one))) for one in TARGETS if one != "torch_tpu"],
)
def test_counts_agree_with_the_frameworks_own(backend: str) -> None:
    own, others = ask(backend, "xlalint"), ask(backend, "framework")
    told = judged(own, others)
    assert {name: said for name, said in told.items() if said != "agree"} == {}
    assert len(own) >= 20
    assert len([one for one in own.values() if not hurts(one)]) >= 7
    assert len([one for one in own.values() if hurts(one)]) >= 2


def test_counts_agree_with_the_plugins_of_torch_tpu() -> None:
    own, others = (ask("torch_tpu", side, python=require_torch_tpu()) for side in ("xlalint", "framework"))
    told = judged(own, others)
    assert {name: said for name, said in told.items() if said != "agree"} == dict.fromkeys(MISSED, "disagree")
    assert len(own) >= 20


def judged(own: dict[str, Any], others: dict[str, Any]) -> dict[str, str]:
    return {name: compared(one, others[name]) for name, one in own.items()}


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (QUIET, QUIET, "agree"),
        (QUIET, UNKNOWN, "agree"),
        ([], [], "agree"),
        ([[2, 0, 0, 0], *QUIET[1:]], QUIET, "disagree"),
        (QUIET[:3], QUIET[:2], "disagree"),
        (QUIET, QUIET[:2], "wrong"),
        (QUIET, [*QUIET[:7], [1, 0, 0, 0]], "wrong"),
        (QUIET, [*QUIET[:7], [0, 1, 0, 0]], "wrong"),
    ],
)
def test_what_agreement_is(one: list[list[int]], other: list[list[int]], said: str) -> None:
    assert compared(one, other) == said
