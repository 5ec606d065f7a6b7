"""Programs that torch.compile may break, on each release that was measured: what is said of them, and what the newest release does.

`graph_breaks/outcomes.json` has what `graph_breaks/record.py` saw, without and with `fullgraph=True`. The newest release is in the
environment of TorchTPU's tests; where that cannot be had, the test says why and skips.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest

from tests.xla.graph_breaks.record import FACTS, read_programs
from tests.xla.tpu_environment import require_torch_tpu
from xlalint.config.releases import TargetVersion
from xlalint.config.settings import Settings
from xlalint.project import check_text

FOLDER = Path(__file__).with_name("graph_breaks")
OUTCOMES: dict[str, dict[str, list[str] | None]] = json.loads((FOLDER / "outcomes.json").read_text())
# Of the programs in facts.txt: without and with `fullgraph=True`, and exported (but six of torchvision on 2.6.0); null where the release
# has no such function.
# 2.10.0 to 2.12.0 ran those alone of which 2.13.0 makes a whole graph, and 2.9.1 does not.
MEASURED: dict[str, dict[str, list[str] | None]] = json.loads((FOLDER / "facts.json").read_text())
RELEASES = ("2.6.0", "2.9.1", "2.13.0", "2.14.1")
NEWEST = RELEASES[-1]
# How many of the programs that break are found: those that are missed wait for what tells them.
LEAST_FOUND = {"2.6.0": 128, "2.9.1": 126, "2.13.0": 113, "2.14.1": 109}
BROKEN = ("log_info", "time_time", "lstm", "random_choice", "np_interp", "cm_fork_rng", "disable_fn", "autograd_grad")
QUIET = ("copy_deepcopy_list", "random_random", "grucell", "cm_no_grad", "func_grad", "b_eval", "clip_grad_norm")


def loud(code: str, release: str, *, whole: bool = False) -> list[str]:
    version = cast("TargetVersion", f"torch{release.rpartition('.')[0]}")
    settings = Settings(target="torch_compile", target_version=version, python=None)
    options = ", fullgraph=True" if whole else ""
    report = check_text(f"{code}\nstep = torch.compile(f{options})\n", "program.py", settings)
    # XLA410 is about graphs that are compiled again, not about ends of them.
    return [found.code for found in report.findings if found.severity != "info" and found.code != "XLA410"]


@pytest.mark.parametrize("release", RELEASES)
def test_findings_agree_with_what_happened(release: str) -> None:
    programs = read_programs()
    assert set(programs) == set(OUTCOMES)
    known = {name: outcome for name in programs if (outcome := OUTCOMES[name][release]) is not None}
    found = {name: loud(programs[name], release) for name in known}
    assert {name: found[name] for name, outcome in known.items() if not any(outcome) and found[name]} == {}
    assert sum(bool(found[name]) for name, outcome in known.items() if any(outcome)) >= LEAST_FOUND[release]


def newly_captured(before: str, after: str) -> list[str]:
    """The programs of which one release makes no whole graph, and a later one does."""
    known = {name: (seen.get(before), seen.get(after)) for name, seen in MEASURED.items()}
    return [name for name, (old, new) in known.items() if old and new and old[1] and not new[1]]


def test_whole_graphs_end_at_values_before_they_are_captured() -> None:
    programs = read_programs(FACTS)
    assert set(programs) == set(MEASURED)
    captured = newly_captured("2.9.1", "2.13.0")
    assert len(captured) == 56
    assert sum(bool(loud(programs[name], "2.9.1", whole=True)) for name in captured) >= 51


@pytest.mark.parametrize(
    ("release", "captures", "quiet"), [("2.10.0", 50, 35), ("2.11.0", 51, 36), ("2.12.0", 56, 40), ("2.13.0", 56, 40)]
)
def test_whole_graphs_hold_what_a_release_captures(release: str, captures: int, quiet: int) -> None:
    programs = read_programs(FACTS)
    captured = newly_captured("2.9.1", release)
    assert len(captured) == captures
    assert sum(not loud(programs[name], release, whole=True) for name in captured) >= quiet


@pytest.fixture(scope="session")
def newest_torch() -> str:
    """The Python of an environment with the newest release of PyTorch that was measured: that of TorchTPU's tests."""
    return require_torch_tpu()


def test_newest_release_does_what_was_recorded(newest_torch: str) -> None:
    names = (*BROKEN, *QUIET)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run(
        [newest_torch, str(FOLDER / "record.py"), *names],
        env={**environment, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    seen: dict[str, Any] = json.loads(run.stdout)
    assert seen["torch"].startswith(NEWEST)
    assert seen["outcomes"] == {name: OUTCOMES[name][NEWEST] for name in names}
