"""The GitHub Action and the GitLab component: valid, and what they run does what it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("ruamel.yaml")
pytest.importorskip("check_jsonschema")

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "action.yml"
COMPONENT = ROOT / "templates" / "xlalint.yml"
MODEL = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            return x
        return -x
"""


def _load(text: str) -> Any:
    return list(yaml.YAML(typ="safe").load_all(text))


def _valid(path: Path, schema: str, *arguments: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *arguments, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def _job(**given: str) -> dict[str, Any]:
    """The component's job, with its inputs put in."""
    spec, job = COMPONENT.read_text().split("\n---\n")
    [told] = _load(spec)
    inputs = {name: given.get(name, one["default"]) for name, one in told["spec"]["inputs"].items()}
    assert given.keys() <= inputs.keys()
    [made] = _load(re.sub(r"\$\[\[ inputs\.([\w-]+) \]\]", lambda match: inputs[match[1]], job))
    return dict(made)


def _script(lines: list[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run lines as runners do: each has to succeed."""
    text = "set -eo pipefail\n" + "\n".join(lines)
    return subprocess.run(["bash", "-c", text], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL)
    return folder


def test_the_action_is_valid() -> None:
    _valid(ACTION, "vendor.github-actions")


def test_the_action_takes_inputs_by_the_environment_alone() -> None:
    """What somebody else may have written, such as a branch's name, is never part of a script."""
    [action] = _load(ACTION.read_text())
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"


@pytest.mark.slow
@pytest.mark.parametrize("paths", ["model.py", "clean.py"])
def test_the_action_annotates_and_summarizes(paths: str, project: Path, tmp_path: Path) -> None:
    [action] = _load(ACTION.read_text())
    _, check = action["runs"]["steps"]
    (project / "clean.py").write_text("x = 1\n")
    told = {name: str(one["default"]) for name, one in action["inputs"].items()} | {"paths": paths}
    values = {f"${{{{ inputs.{name} }}}}": value for name, value in told.items()}
    values["${{ runner.temp }}/xlalint-cache"] = str(tmp_path / "cache")
    environment = {name: values[value] for name, value in check["env"].items()}
    bin_folder = tmp_path / "xlalint" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "xlalint").symlink_to(Path(sys.executable).parent / "xlalint")
    summary = tmp_path / "summary.md"
    told = {**os.environ, "RUNNER_TEMP": str(tmp_path), "GITHUB_STEP_SUMMARY": str(summary), **environment}
    done = _script([check["run"]], project, told)
    assert not done.stderr
    assert "stop-commands" not in done.stdout
    if paths == "model.py":
        assert done.returncode == 1
        assert done.stdout.startswith(f"::warning title=XLA101 tensor-if,file={project}/model.py,line=7,")
        assert summary.read_text().startswith("### xlalint: 1 warning in 1 file")
    else:
        assert (done.returncode, done.stdout) == (0, "")
        assert "all clear" in summary.read_text()


def test_the_action_keeps_what_reports_quote_from_the_job(tmp_path: Path) -> None:
    """Between the two lines the job takes nothing for a command; the second one is printed however the check ends."""
    [action] = _load(ACTION.read_text())
    _, check = action["runs"]["steps"]
    command = tmp_path / "xlalint" / "bin" / "xlalint"
    command.parent.mkdir(parents=True)
    command.write_text("#!/bin/sh\necho ::error::quoted; exit 1\n")
    command.chmod(0o755)
    environment = {**os.environ, **dict.fromkeys(check["env"], ""), "RUNNER_TEMP": str(tmp_path)}
    done = _script([check["run"]], tmp_path, {**environment, "XLALINT_FORMAT": "full"})
    begin, quoted, end = done.stdout.splitlines()
    assert begin.startswith("::stop-commands::") and len(begin) > len("::stop-commands::") + 16
    assert (quoted, end) == ("::error::quoted", f"::{begin.rpartition(':')[2]}::")
    assert done.returncode == 1


def test_environments_are_made_by_an_isolated_interpreter() -> None:
    [action] = _load(ACTION.read_text())
    lines = [*action["runs"]["steps"][0]["run"].splitlines(), *_job()["xlalint"]["script"]]
    assert [" -I -m venv " in line for line in lines if "-m venv" in line] == [True, True]


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_scripts_have_no_traps() -> None:
    [action] = _load(ACTION.read_text())
    scripts = [(step["run"], step["shell"]) for step in action["runs"]["steps"]]
    scripts.append(("\n".join(_job(paths="src", args="--no-cache")["xlalint"]["script"]), "sh"))
    for script, shell in scripts:
        done = subprocess.run(["shellcheck", "--shell", shell, "-"], input=script, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_the_component_is_valid(tmp_path: Path) -> None:
    [spec] = _load(COMPONENT.read_text().split("\n---\n")[0])
    assert all(one["description"] for one in spec["spec"]["inputs"].values())
    made = tmp_path / "made.yml"
    made.write_text(json.dumps(_job(args="--select XLA1", **{"job-name": "lint"})))
    _valid(made, "vendor.gitlab-ci", "--data-transform", "gitlab-ci")


@pytest.mark.skipif(shutil.which("bash") is None, reason="runners have bash")
@pytest.mark.parametrize(("args", "found"), [("", 1), ("--select XLA2 --ignore XLA208", 0)])
def test_the_component_writes_a_report(args: str, found: int, project: Path) -> None:
    job = _job(args=args)["xlalint"]
    made, *install, report, check = job["script"]
    assert "mktemp" in made
    assert all("pip" in line or "venv" in line for line in install)
    environment = {**os.environ, "CI_PROJECT_DIR": str(project), "XLALINT_VENV": str(Path(sys.executable).parents[1])}
    (project / "vendor").mkdir()
    (project / "vendor" / "model.py").write_text(MODEL)
    (project / "xlalint.toml").write_text('extend-exclude = ["vendor"]\n')
    done = _script([report, check], project, environment)
    assert done.returncode == found, done.stderr
    report = json.loads((project / job["artifacts"]["reports"]["codequality"]).read_text())
    assert [entry["location"]["path"] for entry in report] == ["model.py"] * found
    assert ("model.py:7:12: XLA101" in done.stdout) == bool(found)
