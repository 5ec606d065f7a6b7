"""A library on a framework that is known needs an API table and nothing else: the table and the program of CONTRIBUTING.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frameworks.document import list_expected, list_found, read_blocks
from xlalint.config import Settings
from xlalint.project import check_text

TABLE, PROGRAM = read_blocks("## Add a framework")[:2]
EXPECTED = list_expected(PROGRAM)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "toynp.toml").write_text(TABLE)
    return tmp_path


def found(program: str, folder: Path, *tables: str) -> list[tuple[str, int]]:
    settings = Settings(extend_rules=tables, roots=("model.sampling",), python=None, min_confidence="possible")
    report = check_text(program, str(folder / "model.py"), settings)
    return list_found(report)


def test_the_document_expects_findings() -> None:
    assert {code for code, _ in EXPECTED} == {"XLA101", "XLA202", "XLA301"}


def test_nothing_is_known_without_the_table(folder: Path) -> None:
    assert found(PROGRAM, folder) == []


def test_host_values_of_the_library_are_left_alone(folder: Path) -> None:
    program = "import toynp\n\n\n@toynp.jit\ndef step(x: toynp.Array):\n    return x if x.shape[0] > 1 else x + 1\n"
    assert found(program, folder, str(folder / "tables")) == []


def test_the_table_is_enough(folder: Path) -> None:
    assert found(PROGRAM, folder, str(folder / "tables")) == EXPECTED
