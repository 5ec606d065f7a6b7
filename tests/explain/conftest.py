"""Explaining places in small programs that the tables of these tests write; `# <-` marks the line that is asked about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from xlalint.config import Settings
from xlalint.explain import Explanation, explain

Explain = Callable[..., Explanation]
MARK = "# <-"


@pytest.fixture
def tell(tmp_path: Path) -> Explain:
    """The explanation of the marked line (or of `row`) in a program of one or more files, the marked one first."""

    def run(
        code: str,
        *,
        column: int | None = None,
        row: int | None = None,
        files: dict[str, str] | None = None,
        **options: Any,
    ) -> Explanation:
        path = tmp_path / "model.py"
        path.write_text(dedent(code))
        for name, text in (files or {}).items():
            (tmp_path / name).write_text(dedent(text))
        lines = path.read_text().splitlines()
        at = row or next(number for number, line in enumerate(lines, 1) if MARK in line)
        place = f"{path}:{at}" + (f":{column}" if column is not None else "")
        return explain(place, [tmp_path], Settings(root=str(tmp_path), **options))

    return run
