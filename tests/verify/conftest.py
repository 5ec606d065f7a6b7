"""What the tests of verification share: subjects as files, run by a backend that needs no framework."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from xlalint.verify.model import Subject

HERE = Path(__file__).parent
PLAIN = "standins.plain"


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a backend without a framework, which children can import."""
    for package in ("numpy", "psutil", "ml_dtypes"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    given = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", f"{HERE}{os.pathsep}{given}" if given else str(HERE))
    return PLAIN


@pytest.fixture
def subject(tmp_path: Path) -> Callable[..., Subject]:
    """Makes a subject of a module's text, by default its function `f`."""

    def make(text: str, name: str = "f", factory: str = "") -> Subject:
        file = tmp_path / "under_test.py"
        file.write_text(text)
        return Subject("", name, str(file), factory)

    return make
