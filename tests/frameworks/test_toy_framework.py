"""A framework is one folder and one row of the registry: that of CONTRIBUTING.md, which nothing else speaks of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from tests.frameworks.document import list_expected, list_found, read_blocks
from xlalint.config import Settings
from xlalint.config.settings import Target
from xlalint.frameworks.registry import ROWS, Row
from xlalint.project import Report, check_text

FOLDER = Path(__file__).parent / "toynp"
BLOCKS = read_blocks("A **framework of its own**")
PROGRAM = """\
import toynp


@toynp.jit
def step(x: toynp.Array, mask):
    if x.sum() > 0:                # XLA101
        x = x + 1
    rows = toynp.where(mask)       # XLA202
    return x[rows], float(x.sum())  # XLA301


def helper(x: toynp.Array):
    return x.sum().item()          # XLA301


def sampling(state):
    def inner(x):
        while x.sum() > 0:         # XLA102
            x = x - 1
        return x
    return toynp.jit(inner)(state)
"""


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(FOLDER.parent)
    row = Row("toynp", "toynp", "toynp", ("jax",), rewritten=False)
    ROWS.append(row)
    yield
    ROWS.remove(row)


def checked(program: str) -> Report:
    settings = Settings(python=None, min_confidence="possible")
    return check_text(program, "model.py", settings)


def test_nothing_is_known_without_the_row() -> None:
    assert list_found(checked(PROGRAM)) == []


@pytest.mark.usefixtures("registered")
def test_host_values_are_left_alone() -> None:
    program = "import toynp\n\n\n@toynp.jit\ndef step(x: toynp.Array):\n    return x if x.shape[0] > 1 else x + 1\n"
    assert list_found(checked(program)) == []


@pytest.mark.usefixtures("registered")
def test_the_folder_and_the_row_are_enough() -> None:
    assert list_found(checked(PROGRAM)) == list_expected(PROGRAM)


@pytest.mark.usefixtures("registered")
def test_findings_name_the_framework() -> None:
    report = checked(PROGRAM)
    assert {finding.framework for finding in report.findings} == {"toynp"}
    assert {finding.fix for finding in report.findings} == {None}


@pytest.mark.usefixtures("registered")
def test_the_other_frameworks_are_as_they_were() -> None:
    program = "import jax\n\n\n@jax.jit\ndef step(x):\n    return x if x.sum() > 0 else x + 1\n"
    assert list_found(checked(program)) == [("XLA105", 6)]


@pytest.mark.parametrize("name", ["framework.py", "toynp.toml"])
def test_the_document_shows_the_folder(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") in BLOCKS


def test_settings_know_the_targets() -> None:
    assert get_args(Target) == tuple(target for row in ROWS for target in row.targets)
