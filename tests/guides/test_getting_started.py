"""The pages "getting started": their commands, typed one after another, print what the pages show and leave the code that they show."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.screens import shows
from xlalint.verify.backends import NEEDS, SHARED

DOCS = Path(__file__).parents[2] / "docs"
BACKENDS = {"pytorch": "torch_xla", "jax": "jax", "keras": "tensorflow"}
_BLOCK = re.compile(r"^```(python|console)(?: (\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def _blocks(page: str) -> list[tuple[str, str, str]]:
    """The language, the file's name and the text of each block."""
    return _BLOCK.findall((DOCS / f"start-{page}.md").read_text())


def _type(command: str, folder: Path) -> str:
    arguments = shlex.split(command)
    assert arguments[0] == "xlalint"
    program = Path(sys.executable).parent / "xlalint"
    done = subprocess.run([program, *arguments[1:]], cwd=folder, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.mark.parametrize("page", BACKENDS)
def test_what_a_page_installs_runs_its_commands(page: str) -> None:
    assert f"pip install 'xlalint[{NEEDS[BACKENDS[page]].extra},tpu]'" in (DOCS / f"start-{page}.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        pytest.param("pytorch", marks=pytest.mark.torch_xla),
        pytest.param("jax", marks=pytest.mark.jax),
        pytest.param("keras", marks=pytest.mark.tensorflow),
    ],
)
def test_the_commands_of_a_page_do_what_it_shows(page: str, tmp_path: Path) -> None:
    missing = [name for name in (*NEEDS[BACKENDS[page]].packages, "libtpu", *SHARED) if find_spec(name) is None]
    if missing:
        pytest.skip(f"{missing[0]} is not installed")
    file, compared = tmp_path / "none", 0
    for language, name, text in _blocks(page):
        if language == "console":
            command, _, screen = text.partition("\n")
            printed = _type(command.removeprefix("$ "), tmp_path)
            assert shows(screen, printed), printed
            compared += 1
        elif name:
            file = tmp_path / name
            file.write_text(text)
        else:
            assert set(text.splitlines()) <= set(file.read_text().splitlines())
    assert compared >= 4
