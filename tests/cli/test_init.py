"""`xlalint init` and `xlalint doctor`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from xlalint.cli.doctor import EXTRAS
from xlalint.cli.starting import count_frameworks
from xlalint.config import load_settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / ".github").mkdir()
    (tmp_path / "model.py").write_text("import torch\nfrom torch import nn\n")
    (tmp_path / "other.py").write_text("    import jax.numpy as jnp\n")
    return tmp_path


def test_nothing_is_written_unasked(run: Any, repository: Path) -> None:
    for arguments in (("init",), ("init", "--dry-run"), ("init", "--dry-run", "--yes")):
        done = run(*arguments)
        assert done.code == 0
        assert "+[tool.xlalint]" not in done.out
        assert "+min-confidence" in done.out
        assert "PyTorch and JAX" in done.out
        assert not (repository / "xlalint.toml").exists()


def test_what_is_shown_is_written(run: Any, repository: Path) -> None:
    done = run("init", "--yes")
    assert (done.code, done.err) == (0, "")
    written = (repository / "xlalint.toml").read_text()
    assert "# PyTorch (files: 1), JAX (files: 1)" in written
    assert '# target = "torch_tpu"  # of PyTorch, the usual one; else torch_xla or torch_compile' in written
    assert load_settings([repository]).config_file == str(repository / "xlalint.toml")
    [repo] = yaml.safe_load((repository / ".pre-commit-config.yaml").read_text())["repos"]
    assert repo["hooks"][0]["entry"] == "xlalint check --force-exclude"
    workflow = yaml.safe_load((repository / ".github/workflows/xlalint.yml").read_text())
    assert workflow["jobs"]["xlalint"]["steps"][-1] == {"run": "xlalint check --output-format github"}
    assert run("init", "--yes").out.count("is left as it is") == 3


@pytest.mark.parametrize(
    ("text", "target"),
    [
        pytest.param("import torch\nimport torch_xla.core.xla_model as xm\n", "torch_xla", id="torch_xla"),
        pytest.param("from torch_tpu import api\nimport torch_xla\n", "torch_tpu", id="both"),
    ],
)
def test_the_target_is_the_one_that_the_code_shows(run: Any, repository: Path, text: str, target: str) -> None:
    (repository / "model.py").write_text(text)
    assert f'+# target = "{target}"  # of PyTorch, as the code shows; else ' in run("init", "--dry-run").out


def test_what_is_there_stays(run: Any, repository: Path) -> None:
    project, hooks = repository / "pyproject.toml", repository / ".pre-commit-config.yaml"
    project.write_text("[project]\nname = 'a'  # mine")
    hooks.write_text("# mine\nrepos:\n  - repo: local\n    hooks: [{id: a, name: a, entry: a, language: system}]\n")
    before = {path: path.read_text() for path in (project, hooks)}
    assert run("init", "-y").code == 0
    assert all(path.read_text().startswith(text) for path, text in before.items())
    assert tomllib.loads(project.read_text())["tool"]["xlalint"] == {"min-confidence": "likely"}
    assert [repo["hooks"][0]["id"] for repo in yaml.safe_load(hooks.read_text())["repos"]] == ["a", "xlalint"]


@pytest.mark.parametrize(
    "text", ["repos: []\nci: {}\n", "not: [ yaml", "- a\n", "ci: {}\n", "repos:\n- repo: a\nexclude: b\n"]
)
def test_hooks_that_cannot_be_added_to_are_left_alone(run: Any, repository: Path, text: str) -> None:
    hooks = repository / ".pre-commit-config.yaml"
    hooks.write_text(text)
    done = run("init", "--yes")
    assert done.code == 0
    assert "add the hook by hand" in done.out
    assert hooks.read_text() == text


def test_a_folder_that_is_no_repository_gets_a_configuration_only(run: Any, tmp_path: Path) -> None:
    assert run("init", "--yes").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["xlalint.toml"]


def test_frameworks_are_those_that_are_imported(tmp_path: Path) -> None:
    texts = (
        "import torch\nimport keras\n",
        "x = 'import jax'\n# import jax\n",
        "import torchless\n",
        "import torch.nn\n",
    )
    for i, text in enumerate(texts):
        (tmp_path / f"{i}.py").write_text(text)
    found = count_frameworks([*sorted(tmp_path.iterdir()), tmp_path / "gone.py"])
    assert found == {"torch": 2, "tensorflow": 1}


# ------------------------------------------------------------------------------------------------ doctor


def test_the_doctor_knows_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(EXTRAS) == {name for name in extras if "test" not in name}
    for name, extra in EXTRAS.items():
        assert any(one.replace("-", "_").startswith(extra.module) for one in extras[name]), name


def test_the_doctor_tells_of_installation_and_project(run: Any, tmp_path: Path) -> None:
    (tmp_path / "xlalint.toml").write_text('target = "jax"\n')
    (tmp_path / "a.py").write_text("import jax\n")
    done = run("doctor")
    assert (done.code, done.err) == (0, "")
    assert f"configuration  {tmp_path / 'xlalint.toml'}" in done.out
    assert "1; they import jax in 1" in done.out
    told = json.loads(run("doctor", "--output-format", "json").out)
    assert told["installation"]["python"] == sys.executable
    assert told["project"]["files"] == 1


def test_the_doctor_finds_a_configuration_that_cannot_be_used(run: Any, tmp_path: Path) -> None:
    (tmp_path / "xlalint.toml").write_text("devise = 1\n")
    done = run("doctor")
    assert done.code == 2
    assert "did you mean `device`?" in done.out
