"""What configuration and options say reaches the command, standard input, the cache and the editor alike."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import COMMAND

MODEL = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            x = x + 1
        return x * x.max().item()  # xlalint: ignore[XLA301] once
"""


def run(folder: Path, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, "check", *arguments], cwd=folder, input=text, capture_output=True, text=True, check=False
    )


def findings(folder: Path, *arguments: str, text: str | None = None) -> list[dict[str, Any]]:
    done = run(folder, "--output-format", "json", *arguments, text=text)
    assert done.returncode in (0, 1), done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "xlalint.toml").write_text("")
    (tmp_path / "serve").mkdir()
    (tmp_path / "train").mkdir()
    for name in ("serve", "train"):
        (tmp_path / name / f"{name}_model.py").write_text(MODEL)
    return tmp_path


def severities(found: list[dict[str, Any]]) -> dict[str, str]:
    return {Path(one["filename"]).parent.name: one["severity"] for one in found if one["code"] == "XLA101"}


def test_a_file_has_a_target_of_its_own_and_the_cache_tells_them_apart(project: Path) -> None:
    said = ["--per-file-target", "serve/*:torch_compile"]
    for _ in range(2):  # from nothing, and from the cache
        plain, with_target = severities(findings(project)), severities(findings(project, *said))
        assert plain["serve"] == plain["train"] == with_target["train"]
        assert with_target["serve"] == "error"


def test_a_file_with_a_target_of_its_own_is_analysed_for_it(project: Path) -> None:
    """What the code shows chooses where the user says nothing: a device of torch_xla, which TorchTPU does not know."""
    text = "import torch\nimport torch_xla.core.xla_model as xm\n\ndevice = xm.xla_device()\n"
    for name in ("serve", "train"):
        (project / name / f"{name}_model.py").write_text(text)
    asked = run(project, "--per-file-target", "serve/*:torch_tpu", "--output-format", "concise")
    places = [line.partition(":")[0] for line in asked.stdout.splitlines() if "XLA527" in line]
    assert places == ["serve/serve_model.py"]
    assert "Judged for torch_xla, as the code shows" in asked.stdout
    asked = run(project, "--per-file-target", "*:torch_tpu", "--output-format", "concise")
    assert "Judged for" not in asked.stdout


def test_the_configuration_says_targets_by_pattern_also_to_standard_input(project: Path) -> None:
    (project / "xlalint.toml").write_text('[per-file-target]\n"serve/*" = "torch_compile"\n')
    for name, severity in (("serve", "error"), ("train", "warning")):
        found = findings(project, "--stdin-filename", f"{name}/new_model.py", "-", text=MODEL)
        assert severities(found) == {name: severity}


def test_what_comments_silence_is_reported_where_that_is_asked_for(project: Path) -> None:
    for _ in range(2):
        assert [one["code"] for one in findings(project, "train")] == ["XLA101"]
        assert [one["code"] for one in findings(project, "--ignore-noqa", "train")] == ["XLA101", "XLA301"]
    (project / "xlalint.toml").write_text("ignore-noqa = true\n")
    assert len(findings(project, "train")) == 2


def test_rules_that_are_not_to_be_fixed_are_not_fixed(project: Path) -> None:
    before = (project / "train/train_model.py").read_text()
    shown = findings(project, "--unfixable", "XLA1", "--show-fixes", "train")
    assert shown[0]["fix"] is None
    assert "unfixable" in shown[0]["no_fix"]
    run(project, "--fix", "--unsafe-fixes", "--config", 'unfixable = ["XLA101"]', "train")
    assert (project / "train/train_model.py").read_text() == before
    run(project, "--fix", "--unsafe-fixes", "--fixable", "XLA1", "train")
    assert "torch.where" in (project / "train/train_model.py").read_text()


def test_the_configuration_allows_unsafe_fixes(project: Path) -> None:
    (project / "train/train_model.py").write_text(MODEL.replace("x + 1", "x.clamp(min=2)"))
    asked = run(project, "--diff", "--config", "unsafe-fixes = true", "train").stdout
    assert asked == run(project, "--diff", "--unsafe-fixes", "train").stdout
    assert asked.startswith("---")


def test_inline_settings_go_over_the_file_and_options_of_their_own_over_these(project: Path) -> None:
    (project / "xlalint.toml").write_text('select = ["XLA3"]\n')
    assert findings(project, "train") == []
    assert len(findings(project, "--config", 'select = ["XLA1"]', "train")) == 1
    assert findings(project, "--config", 'select = ["XLA1"]', "--select", "XLA2", "train") == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["--config", "devise = 1"], "did you mean `device`?", id="key"),
        pytest.param(["--config", "a.toml", "--config", "b.toml"], "names two files", id="two-files"),
        pytest.param(["--per-file-target", "serve/*"], "`serve/*` is not PATTERN:TARGET", id="no-target"),
        pytest.param(["--per-file-target", "serve/*:jaxx"], "did you mean `jax`?", id="unknown-target"),
        pytest.param(["--unfixable", "XLA999"], "--unfixable: no rule", id="rule"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(project: Path, arguments: list[str], says: str) -> None:
    done = run(project, *arguments, "train")
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
