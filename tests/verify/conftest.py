"""Watching a framework that is made of a few lines."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.verify import framework


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
    framework.METERS.clear()
    yield
    sys.modules.pop("fakexla", None)
    if fresh._arrivals in sys.meta_path:  # a decorated function stays watched
        sys.meta_path.remove(fresh._arrivals)


@pytest.fixture
def fakexla(install: object) -> Any:
    """The framework, imported."""
    return importlib.import_module("fakexla")
