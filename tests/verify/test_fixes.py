"""Fixes that are proven one by one are proved together; lines whose methods others stand for are never proven."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

from xlalint.config.settings import Settings
from xlalint.diagnostics.finding import Edit, Finding, Fix, Location
from xlalint.project.fixing import Answer, propose_fixes
from xlalint.verify.fixes import Prover
from xlalint.verify.isolation import LIMITS, Limits

HEADER = "import numpy as np\n\n\n"
COPIED = HEADER + '# xlalint: inputs(x="f32[4]")\ndef f(x):\n    y = x.copy()\n    y = y + 1\n    return y * 2\n'
METHOD = (
    HEADER
    + "from nowhere import load\n\n\nclass Model:\n    def scale(self, x):\n        return x * 2\n\n"
    + "    def forward(self, x: np.ndarray):\n        y = self.scale(x)\n        return y + y\n"
)


HANGS = (
    "import signal\nimport time\n"
    + HEADER
    + '# xlalint: inputs(x="f32[4]")\ndef f(x):\n    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})\n'
    + "    time.sleep(600)\n    return x + x\n\n\n"
    + '# xlalint: inputs(x="f32[4]")\ndef g(x):\n    return x.copy()\n'
)


class PlainProver(Prover):
    """Proves by the backend that needs no framework."""

    def _backend(self, finding: Finding) -> str:
        return "standins.plain"


def finding(path: Path, text: str, old: str, new: str) -> Finding:
    """A finding whose fix replaces a line's text."""
    row = next(n for n, line in enumerate(text.splitlines(), 1) if old in line)
    column = text.splitlines()[row - 1].index(old) + 1
    start, end = Location(row, column), Location(row, column + len(old))
    fix = Fix("safe", "", (Edit(new, start, end),))
    return Finding("XLA301", "", "", "warning", "certain", "", str(path), None, start, end, (), "torch", fix, "")


def answers(
    folder: Path, text: str, *changes: tuple[str, str], budget: float = math.inf, limits: Limits = LIMITS
) -> list[Answer]:
    pytest.importorskip("numpy")
    path = folder / "model.py"
    path.write_text(text)
    found = [finding(path, text, *change) for change in changes]
    return list(PlainProver(Settings(), budget=budget, limits=limits)(propose_fixes(str(path), text, found, found)))


def test_each_is_right_alone(tmp_path: Path, plain: str) -> None:
    for change in (("x.copy()", "x"), ("y = y + 1", "y += 1")):
        (answer,) = answers(tmp_path, COPIED, change)
        assert answer.taken and answer.proof.verdict == "proven", answer


def test_what_there_is_no_time_for_is_unverified(tmp_path: Path, plain: str) -> None:
    (answer,) = answers(tmp_path, COPIED, ("x.copy()", "x"), budget=1e-9)
    assert not answer.taken and answer.proof.verdict == "unverified"
    assert "--time-budget" in answer.proof.reason


def test_one_that_hangs_is_ended_and_the_others_go_on(tmp_path: Path, plain: str) -> None:
    hangs, other = answers(tmp_path, HANGS, ("x + x", "2 * x"), ("x.copy()", "np.array(x)"), limits=Limits(seconds=8.0))
    assert (hangs.taken, hangs.proof.verdict) == (False, "unverified")
    assert hangs.proof.reason == "the process that ran it did not get on for 8 s"
    assert other.proof.verdict == "proven", other


def test_what_is_proven_says_what_that_rests_on(tmp_path: Path, plain: str) -> None:
    (answer,) = answers(tmp_path, COPIED, ("x.copy()", "x"))
    assert answer.proof.coverage is not None and answer.proof.coverage.draws["step"] >= 8


def test_together_they_are_refuted_where_one_takes_what_the_other_rests_on(tmp_path: Path, plain: str) -> None:
    found = answers(tmp_path, COPIED, ("x.copy()", "x"), ("y = y + 1", "y += 1"))
    assert [(one.taken, one.proof.verdict) for one in found] == [(False, "refuted"), (False, "refuted")]
    assert found[0].proof.reason.startswith("together with the function's other fixes: arguments: ")
    assert "f(x=x)" in found[0].proof.counterexample


def test_together_they_are_proven_where_they_have_nothing_to_do_with_one_another(tmp_path: Path, plain: str) -> None:
    found = answers(tmp_path, COPIED, ("y = y + 1", "y += 1"), ("y * 2", "2 * y"))
    assert [(one.taken, one.proof.verdict) for one in found] == [(True, "proven"), (True, "proven")]


def test_a_fix_of_a_later_round_is_held_against_the_first_text(tmp_path: Path, plain: str) -> None:
    pytest.importorskip("numpy")
    path = tmp_path / "model.py"
    prover = PlainProver(Settings())
    # Each is within what rounding may do, not all of them.
    factors = ("2.0", "2.0000002", "2.0000005", "2.0000007", "2.000001", "2.0000012")
    text = COPIED.replace("y * 2", "y * np.float32(2.0)")
    given: list[Answer] = []
    for old, new in itertools.pairwise(factors):
        path.write_text(text)
        change = finding(path, text, f"({old})", f"({new})")
        given += prover(propose_fixes(str(path), text, [change], [change]))
        text = text.replace(f"({old})", f"({new})")
    assert given[0].taken and not given[-1].taken, given
    assert given[-1].proof.reason.startswith("together with the function's other fixes: values: "), given[-1]


def test_lines_with_a_method_that_others_stand_for_are_unverified(tmp_path: Path, plain: str) -> None:
    (answer,) = answers(tmp_path, METHOD, ("y + y", "y + 1 * y"))
    assert answer.taken and "alone" in answer.proof.reason, answer
    (answer,) = answers(tmp_path, METHOD, ("self.scale(x)", "self.scale(1 * x)"))
    assert (answer.taken, answer.proof.verdict) == (False, "unverified"), answer
    assert "`self.scale`, which others stand for" in answer.proof.reason
