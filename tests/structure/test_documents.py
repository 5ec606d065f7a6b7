"""The two documents for developers name files that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .tree import ROOT

DOCUMENTS = ("ARCHITECTURE.md", "CONTRIBUTING.md")
_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"`([\w./-]+\.(?:py|md|toml|json|jinja))`")
_FOLDER = re.compile(r"`([\w./-]+/)`")
_TOLD_OF_TRIALS = "anomaly"  # the rule that CONTRIBUTING.md adds as an example


def named(document: str, pattern: re.Pattern[str]) -> set[str]:
    """List what a document names outside of its examples."""
    prose = _FENCED.sub("", (ROOT / document).read_text(encoding="utf-8"))
    return {name for name in pattern.findall(prose) if _TOLD_OF_TRIALS not in name}


def tree() -> list[Path]:
    """List the files and folders of the checkout, below the folders that hold code, pages and tests."""
    tops = [ROOT / name for name in ("xlalint", "tests", "rules", "fixtures", "scripts", "editors", "schemas", ".ci")]
    below = (path for top in tops for path in top.rglob("*") if "node_modules" not in path.parts)
    return [path.relative_to(ROOT) for path in (*ROOT.iterdir(), *tops, *below)]


PLACES = [f"/{path.as_posix()}" for path in tree()]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_are_there(document: str) -> None:
    assert [name for name in sorted(named(document, _FILE)) if not any(p.endswith(f"/{name}") for p in PLACES)] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_folders_are_there(document: str) -> None:
    folders = sorted(name.rstrip("/") for name in named(document, _FOLDER))
    assert [name for name in folders if not any(place.endswith(f"/{name}") for place in PLACES)] == []
