"""What the tests of verification share: subjects as files, run by a backend that needs no framework, and one to watch that is made of a
few lines.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.verify import framework
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


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Makes `fakexla` importable, and all other frameworks unwatched; not imported yet."""
    folder = tmp_path / "frameworks"
    folder.mkdir()
    (folder / "fakexla.py").write_text(framework.SOURCE)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setitem(sys.modules, "xlalint.verify.meters.fake", framework)
    for module in ("xlalint.verify.meters", "xlalint.verify.instruments"):
        monkeypatch.setattr(importlib.import_module(module), "METERS", {"fakexla": "fake"})
    instruments = importlib.import_module("xlalint.verify.instruments")
    fresh = instruments.Instruments()
    for module in ("xlalint.verify.instruments", "xlalint.verify.watch"):
        monkeypatch.setattr(importlib.import_module(module), "INSTRUMENTS", fresh)
    monkeypatch.setattr(instruments, "countable", lambda: None)
    framework.METERS.clear()
    yield
    sys.modules.pop("fakexla", None)
    if fresh._arrivals in sys.meta_path:  # a decorated function stays watched
        sys.meta_path.remove(fresh._arrivals)


@pytest.fixture
def fakexla(install: object) -> Any:
    """The framework, imported."""
    return importlib.import_module("fakexla")
