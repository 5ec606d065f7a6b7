"""`--baseline`, `xlalint baseline update` and `--diff-base` on the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("if t:\n    pass\n")
    (tmp_path / "b.py").write_text("def f():\n    pass\nif t:\n    pass\nif t:\n    pass\n")
    return tmp_path


def test_what_was_recorded_is_not_reported(run: Any, project: Path) -> None:
    done = run("baseline", "update")
    assert (done.code, done.err) == (0, "")
    assert done.out == "xlalint-baseline.json: 3 findings in 2 files (3 new, 0 gone).\n"
    done = run("check", "--baseline", "xlalint-baseline.json")
    assert (done.code, done.err) == (0, "")
    assert done.out == "All clear: 2 files checked. 3 more findings are in the baseline.\n"
    (project / "a.py").write_text("# new\nif t:\n    pass\nif t:\n    pass\n")
    done = run("check", "--baseline", "xlalint-baseline.json", "--output-format", "concise")
    assert done.code == 1
    assert done.out.splitlines()[0].startswith("a.py:4:4")
    assert "Found 1 error in 1 file (2 checked). 3 more findings are in the baseline." in done.out


def test_what_is_gone_is_said_and_forgotten(run: Any, project: Path) -> None:
    run("baseline", "update")
    (project / "a.py").write_text("x = 1\n")
    (project / "b.py").write_text("if t:\n    pass\n")
    done = run("check", "--baseline", "xlalint-baseline.json")
    assert done.code == 0
    assert "2 findings are in the baseline and no longer found: `xlalint baseline update" in done.err
    # What was not looked for is not gone.
    assert run("check", "--baseline", "xlalint-baseline.json", "--select", "XLA3").err == ""
    assert (
        "1 finding is in the baseline and no longer found"
        in run("check", "a.py", "--baseline", "xlalint-baseline.json").err
    )
    assert "(0 new, 2 gone)" in run("baseline", "update").out
    assert run("check", "--baseline", "xlalint-baseline.json").err == ""


def test_an_update_of_one_file_keeps_the_others(run: Any, project: Path) -> None:
    run("baseline", "update")
    (project / "a.py").write_text("x = 1\n")
    (project / "b.py").write_text("x = 1\n")
    assert "2 findings in 1 file (0 new, 1 gone)" in run("baseline", "update", "a.py").out


def test_the_configured_baseline(run: Any, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "xlalint.toml").write_text('baseline = "lint/known.json"\n')
    (project / "lint").mkdir()
    done = run("check")
    assert (done.code, done.out) == (2, "")
    assert "known.json`: no such baseline; `xlalint baseline update" in done.err
    assert run("baseline", "update").out.startswith("lint/known.json: 3 findings")
    assert {entry["path"] for entry in json.loads((project / "lint/known.json").read_text())["findings"]} == {
        "../a.py",
        "../b.py",
    }
    assert run("check").code == 0
    assert run("check", "--no-baseline").code == 1
    monkeypatch.chdir(project / "lint")
    assert run("check", "..").code == 0


def test_a_baseline_that_cannot_be_read_is_written_anew(run: Any, project: Path) -> None:
    (project / "x.json").write_text("<<<<<<< ours\n")
    done = run("check", "--baseline", "x.json")
    assert (done.code, done.out) == (2, "")
    done = run("baseline", "update", "--baseline", "x.json")
    assert (done.code, "not a baseline" in done.err) == (0, True)
    assert run("check", "--baseline", "x.json").code == 0


def test_trouble_inside_leaves_the_baseline_alone(run: Any, project: Path, pipeline: Any) -> None:
    run("baseline", "update")
    before = (project / "xlalint-baseline.json").read_text()
    pipeline.failures = ["a.py: RuntimeError: no"]
    (project / "a.py").write_text("x = 1\n")
    assert run("baseline", "update").code == 2
    assert (project / "xlalint-baseline.json").read_text() == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(("--baseline", "x", "--no-baseline"), "exclude each other", id="both"),
        pytest.param(("--baseline", "gone.json"), "no such baseline", id="missing"),
        pytest.param(("--diff-base", "main"), "is not in a git repository", id="no-repository"),
    ],
)
def test_wrong_usage(
    run: Any, project: Path, arguments: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(project.parent))
    done = run("check", *arguments)
    assert (done.code, done.out) == (2, "")
    assert says in done.err


def test_of_a_project_the_named_files_are_reported(run: Any, project: Path, pipeline: Any) -> None:
    (project / "link.py").symlink_to(project / "a.py")
    for named in ("a.py", "link.py"):
        done = run("check", "--project", ".", named, "--output-format", "concise")
        assert done.out.startswith(f"{named}:1:4")
        assert "Found 1 error in 1 file" in done.out
    assert run("check", "--project", ".", "--baseline", "x.json", "a.py").code == 2
    assert "gone.py`: no such file" in run("check", "--project", "gone.py", "a.py").err
    assert "standard input is checked on its own" in run("check", "--project", ".", "-").err


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_only_changed_lines(run: Any, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], [*who, "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=project, check=True)
    assert run("check", "--diff-base", "main").code == 0
    (project / "a.py").write_text("if t:\n    pass\nif t:\n    pass\n")
    (project / "c.py").write_text("if t:\n    pass\n")
    done = run("check", "--diff-base", "HEAD", "--output-format", "concise")
    assert done.code == 1
    assert [line.split(" ")[0] for line in done.out.splitlines()[:-1]] == ["a.py:3:4:", "c.py:1:4:"]
    assert run("check", "-", "--stdin-filename", "b.py", "--diff-base", "main", stdin=b"if t:\n    pass\n").code == 0
    assert run("check", "-", "--stdin-filename", "b.py", "--diff-base", "main", stdin=b"def f():\n    if t:\n")
    done = run("check", "-", "--stdin-filename", "z.py", "--diff-base", "main", stdin=b"if t:\n    pass\n")
    assert done.code == 1


@pytest.mark.parametrize("config", ["pyproject.toml", "xlalint.toml"])
def test_a_file_of_a_program_is_judged_by_its_configuration(
    run: Any, project: Path, pipeline: Any, config: str
) -> None:
    """Whichever files a commit has, hooks say what a check of the program says."""
    told = "[tool.xlalint]\n" * (config == "pyproject.toml")
    (project / "sub").mkdir()
    (project / "sub" / "c.py").write_text("if t:\n    pass\n")
    (project / "sub" / config).write_text(f'{told}target = "jax"\n')
    (project / config).write_text(f'{told}target = "tf"\n')
    assert run("check", "--output-format", "concise", "--no-project", "sub/c.py").code == 1
    assert pipeline.calls[-1]["settings"].target == "jax"
    for arguments, where in (((), str(project)), (("--project", "."), "their program")):
        done = run("check", "--output-format", "concise", *arguments, "sub/c.py")
        assert pipeline.calls[-1]["settings"].target == "tf"
        assert done.out.splitlines()[0].startswith("sub/c.py:1:4")
        assert f"Found 1 error in 1 file (1 checked within the 3 files of {where})." in done.out
