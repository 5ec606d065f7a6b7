"""A configuration in a folder holds for its files, through every command, while all files stay one program."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.e2e.conftest import COMMAND

# One function that only the other file's trace makes a finding of, and one that is a finding by itself.
HELPERS = "def pick(x):\n    if x > 0:\n        return x\n    return -x\n"
MAIN = """\
import jax
import jax.numpy as jnp

from lib.helpers import pick


@jax.jit
def step(x: jax.Array):
    if x.sum() > 0:
        return pick(x)
    return x
"""
FIXABLE = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * x.sum().item()
"""


def xlalint(folder: Path, *arguments: str, cached: bool = False) -> subprocess.CompletedProcess[str]:
    where = ("--cache-dir", str(folder.parent / "cache")) if cached else ("--no-cache",)
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    return subprocess.run(
        [COMMAND, *arguments, *where], cwd=folder, capture_output=True, text=True, env=environment, check=False
    )


def told(done: subprocess.CompletedProcess[str]) -> list[tuple[str, str, int]]:
    """File, code and row of each finding of `check --output-format json`, run in a folder named `p`."""
    return [
        (one["filename"].rpartition("/p/")[2], one["code"], one["location"]["row"]) for one in json.loads(done.stdout)
    ]


def checked(folder: Path, *arguments: str, cached: bool = False) -> list[tuple[str, str, int]]:
    done = xlalint(folder, "check", "--output-format", "json", *arguments, cached=cached)
    assert done.returncode in (0, 1), done.stderr
    return told(done)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    root = tmp_path / "p"
    (root / "lib").mkdir(parents=True)
    (root / "xlalint.toml").write_text("")
    (root / "main.py").write_text(MAIN)
    (root / "lib/__init__.py").write_text("")
    (root / "lib/helpers.py").write_text(HELPERS)
    return root


BOTH = [("lib/helpers.py", "XLA101", 2), ("main.py", "XLA101", 9)]


@pytest.mark.parametrize(
    ("nested", "expected"),
    [
        pytest.param(None, BOTH, id="none"),
        pytest.param("", BOTH, id="empty"),
        pytest.param("ignore = ['XLA101']", BOTH[1:], id="ignore"),
        pytest.param("select = ['XLA3']", BOTH[1:], id="select"),
        pytest.param("per-file-ignores = { 'helpers.py' = ['XLA1'] }", BOTH[1:], id="per-file-ignores"),
        pytest.param("exclude = ['helpers.py']", BOTH[1:], id="exclude"),
        pytest.param("static = ['x']", BOTH[1:], id="static"),
        pytest.param("static = ['y']", BOTH, id="other-static"),
    ],
)
def test_what_it_says_is_of_its_files_alone(program: Path, nested: str | None, expected: list[object]) -> None:
    """The finding in the folder comes from a trace that begins outside of it."""
    if nested is not None:
        (program / "lib/xlalint.toml").write_text(nested)
    assert checked(program) == expected


def test_files_that_are_named_go_by_their_own_too(program: Path) -> None:
    (program / "lib/xlalint.toml").write_text("ignore = ['XLA101']")
    assert checked(program, "main.py", "lib/helpers.py") == BOTH[1:]
    assert checked(program, "--project", ".", "lib/helpers.py") == []
    assert checked(program, "--isolated") == BOTH


def test_the_target_and_the_device_of_each_file(program: Path) -> None:
    """Under torch.compile a call runs that torch_xla has no kernel for; severities are those of the file's own target."""
    code = "import torch\nfrom torch import nn\n\n\nclass M(nn.Module):\n    def forward(self, x: torch.Tensor):\n"
    code += "        if x.any():\n            return x.sum().item()\n        return x\n"
    for name in ("lib/m.py", "n.py"):
        (program / name).write_text(code)
    (program / "lib/xlalint.toml").write_text("target = 'torch_compile'")

    def severities(*arguments: str) -> dict[str, list[tuple[str, str]]]:
        done = xlalint(program, "check", "--output-format", "json", "--show-info", *arguments)
        found: dict[str, list[tuple[str, str]]] = {"lib/m.py": [], "n.py": []}
        for one in json.loads(done.stdout):
            found.get(one["filename"].rpartition("/p/")[2], []).append((one["code"], one["severity"]))
        return found

    mixed, compiled, xla = severities(), severities("--target", "torch_compile"), severities("--target", "torch_xla")
    assert compiled["n.py"] != xla["n.py"]
    assert mixed == {"lib/m.py": compiled["lib/m.py"], "n.py": xla["n.py"]}


def test_kept_results_are_of_the_configurations_as_they_are(program: Path) -> None:
    """Warm says what cold says, after each change of the nested file, in one process or many."""
    expected = {"": BOTH, "ignore = ['XLA101']": BOTH[1:], "static = ['x']": BOTH[1:]}
    for text in (*expected, ""):
        (program / "lib/xlalint.toml").write_text(text)
        assert checked(program, "-j", "3", cached=True) == expected[text]
    (program / "lib/xlalint.toml").write_text("ignore = ['XLA101']")
    assert checked(program, cached=True) == BOTH[1:]
    (program / "lib/xlalint.toml").unlink()
    assert checked(program, cached=True) == BOTH


def test_what_is_left_alone_is_not_fixed(program: Path) -> None:
    for name in ("lib/m.py", "m.py"):
        (program / name).write_text(FIXABLE)
    (program / "lib/xlalint.toml").write_text("ignore = ['XLA301']")
    shown = xlalint(program, "check", "--diff", "--unsafe-fixes").stdout
    assert "m.py" in shown and "lib/m.py" not in shown
    done = xlalint(program, "check", "--fix", "--unsafe-fixes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (program / "lib/m.py").read_text() == FIXABLE
    assert ".item()" not in (program / "m.py").read_text()


def test_what_is_left_alone_is_not_silenced(program: Path) -> None:
    (program / "lib/xlalint.toml").write_text("ignore = ['XLA101']")
    assert xlalint(program, "check", "--add-noqa").stdout == "Silenced 1 finding.\n"
    assert (program / "lib/helpers.py").read_text() == HELPERS
    assert (program / "main.py").read_text() != MAIN
    assert checked(program) == []


def test_a_baseline_knows_what_the_nearest_configurations_show(program: Path) -> None:
    (program / "lib/xlalint.toml").write_text("ignore = ['XLA101']")
    assert xlalint(program, "baseline", "update").returncode == 0
    assert len(json.loads((program / "xlalint-baseline.json").read_text())["findings"]) == 1
    (program / "lib/xlalint.toml").write_text("")
    found = checked(program, "--baseline", "xlalint-baseline.json")
    assert found == BOTH[:1]


def test_a_baseline_does_not_miss_what_is_not_looked_for(program: Path) -> None:
    assert xlalint(program, "baseline", "update").returncode == 0
    (program / "lib/xlalint.toml").write_text("ignore = ['XLA101']")
    done = xlalint(program, "check", "--baseline", "xlalint-baseline.json")
    assert (done.returncode, done.stderr) == (0, "")


def test_notebooks(program: Path) -> None:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": FIXABLE}]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    for name in ("lib/n.ipynb", "n.ipynb"):
        (program / name).write_text(json.dumps(notebook))
    (program / "lib/xlalint.toml").write_text("ignore = ['XLA3']")
    assert [one for one in checked(program) if one[0].endswith(".ipynb")] == [("n.ipynb", "XLA301", 7)]


def test_explain_goes_by_the_nearest(program: Path) -> None:
    (program / "lib/xlalint.toml").write_text("ignore = ['XLA101']\ndevice = 'gpu'")
    told = xlalint(program, "explain", "--project", ".", "--output-format", "json", "lib/helpers.py:2")
    assert told.returncode == 0, told.stderr
    said = msgspec.json.decode(told.stdout)
    assert said["device"] == "gpu"
    assert [(one["code"], one["status"]) for one in said["rules"]][:1] == [("XLA101", "not-selected")]
    other = msgspec.json.decode(xlalint(program, "explain", "--output-format", "json", "main.py:9").stdout)
    assert other["device"] == "tpu"
    assert [(one["code"], one["status"]) for one in other["rules"]][:1] == [("XLA101", "fired")]


def test_files_and_settings_are_shown(program: Path) -> None:
    (program / "lib/xlalint.toml").write_text("exclude = ['helpers.py']\nmin-confidence = 'possible'")
    (program / "lib/seen.py").write_text("")
    done = xlalint(program, "check", "--show-files")
    assert done.stdout.splitlines() == [str(program / name) for name in ("lib/__init__.py", "lib/seen.py", "main.py")]
    run, nested = xlalint(program, "check", "--show-settings").stdout.split("\n\n")
    assert run.startswith(f"# root: {program}\n# file: {program}/xlalint.toml\n")
    assert 'min-confidence = "likely"\n' in run and "jobs = 0" in run
    assert nested.startswith(f"# root: {program}/lib\n# file: {program}/lib/xlalint.toml\n")
    assert 'min-confidence = "possible"\n' in nested and "jobs" not in nested


def test_standard_input_goes_by_the_nearest(program: Path) -> None:
    (program / "lib/xlalint.toml").write_text("ignore = ['XLA301']")
    for name, found in (("lib/m.py", 0), ("m.py", 1)):
        command = [COMMAND, "check", "--no-cache", "--stdin-filename", name, "-"]
        done = subprocess.run(command, cwd=program, input=FIXABLE, capture_output=True, text=True, check=False)
        assert done.returncode == found, done.stdout + done.stderr


def test_a_key_of_the_run_is_warned_of_and_the_findings_stay(program: Path) -> None:
    (program / "lib/xlalint.toml").write_text("\njobs = 1\n")
    done = xlalint(program, "check", "--output-format", "json")
    assert (done.returncode, told(done)) == (1, BOTH)
    where = (
        f"{program}/lib/xlalint.toml:2: `jobs` is for the whole program, and read from `{program}/xlalint.toml` only"
    )
    assert done.stderr == f"xlalint: warning: {where}\n"


@pytest.mark.parametrize("arguments", [(), ("--show-files",), ("--output-format", "concise")])
def test_one_that_cannot_be_used_costs_nothing_but_the_exit_code(program: Path, arguments: tuple[str, ...]) -> None:
    good = xlalint(program, "check", *arguments)
    (program / "lib/xlalint.toml").write_text("ignroe = ['XLA101']\n")
    done = xlalint(program, "check", *arguments)
    assert (done.returncode, done.stdout) == (2, good.stdout)
    message = (
        f"{program}/lib/xlalint.toml:1: `ignroe`: unknown key; did you mean `ignore`? (this configuration is not used)"
    )
    assert done.stderr == f"xlalint: {message}\n"


@pytest.mark.parametrize("arguments", [("check", "--fix"), ("check", "--add-noqa"), ("baseline", "update")])
def test_nothing_is_written_by_a_configuration_that_cannot_be_used(program: Path, arguments: tuple[str, ...]) -> None:
    (program / "m.py").write_text(FIXABLE)
    (program / "lib/xlalint.toml").write_text("ignroe = ['XLA101']\n")
    before = {path: path.read_bytes() for path in program.rglob("*") if path.is_file()}
    assert xlalint(program, *arguments).returncode == 2
    assert {path: path.read_bytes() for path in program.rglob("*") if path.is_file()} == before
