"""Which rules are wanted where, and what makes cached findings stale."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from xlalint.config import Settings


@pytest.mark.parametrize(
    ("settings", "code", "wanted"),
    [
        pytest.param(Settings(), "XLA101", True, id="everything-by-default"),
        pytest.param(Settings(), "ACME001", True, id="users-rules-too"),
        pytest.param(Settings(select=("XLA2",)), "XLA101", False, id="not-selected"),
        pytest.param(Settings(select=("XLA1",)), "XLA101", True, id="selected-by-prefix"),
        pytest.param(Settings(select=("XLA2",), extend_select=("XLA101",)), "XLA101", True, id="extended"),
        pytest.param(Settings(select=()), "XLA101", False, id="nothing-selected"),
        pytest.param(Settings(ignore=("XLA1",)), "XLA101", False, id="ignored-by-prefix"),
        pytest.param(Settings(ignore=("",)), "XLA101", False, id="all-ignored"),
        pytest.param(Settings(select=("XLA101",), ignore=("XLA1",)), "XLA101", True, id="longer-select-wins"),
        pytest.param(Settings(select=("XLA1",), ignore=("XLA101",)), "XLA101", False, id="longer-ignore-wins"),
        pytest.param(Settings(select=("XLA101",), ignore=("XLA101",)), "XLA101", False, id="ignore-wins-a-tie"),
        pytest.param(Settings(select=("XLA1",)), "XLA001", True, id="syntax-errors-always"),
        pytest.param(Settings(select=()), "XLA002", True, id="unreadable-always"),
        pytest.param(Settings(ignore=("XLA001",)), "XLA001", False, id="unless-ignored"),
        pytest.param(Settings(select=("XLA1",)), "XLA003", False, id="unused-suppressions-as-others"),
    ],
)
def test_enabled(settings: Settings, code: str, wanted: bool) -> None:
    assert settings.enabled(code) is wanted


@pytest.mark.parametrize(
    ("pattern", "path", "wanted"),
    [
        pytest.param("tests/*", "/p/src/a.py", True, id="elsewhere"),
        pytest.param("tests/*", "/p/tests/a.py", False, id="below"),
        pytest.param("!src/**", "/p/src/a.py", True, id="negated-inside"),
        pytest.param("!src/**", "/p/tests/a.py", False, id="negated-outside"),
        pytest.param("__init__.py", "/p/x/y/__init__.py", False, id="by-name"),
    ],
)
def test_per_file_ignores(pattern: str, path: str, wanted: bool) -> None:
    settings = Settings(root="/p", per_file_ignores=((pattern, ("XLA1",)),))
    assert settings.enabled("XLA101", path) is wanted
    assert settings.enabled("XLA201", path)
    assert settings.enabled("XLA101")


@pytest.mark.parametrize(
    "change",
    [
        {"root": "/elsewhere"},
        {"jobs": 3},
        {"exclude": ()},
        {"cache_dir": "/c"},
        {"python": "/env"},
        {"config_file": "/x.toml"},
        {"respect_gitignore": False},
    ],
    ids=lambda change: next(iter(change)),
)
def test_fingerprint_stays(change: dict[str, object]) -> None:
    assert msgspec.structs.replace(Settings(), **change).fingerprint() == Settings().fingerprint()


@pytest.mark.parametrize(
    "change",
    [
        {"select": ("XLA1",)},
        {"ignore": ("XLA1",)},
        {"target": "tf"},
        {"device": "gpu"},
        {"min_confidence": "certain"},
        {"show_info": True},
        {"roots": ("a.*",)},
        {"static": ("n",)},
        {"tensor": ("x",)},
        {"per_file_ignores": (("a", ("XLA1",)),)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_fingerprint_changes(change: dict[str, object]) -> None:
    assert msgspec.structs.replace(Settings(), **change).fingerprint() != Settings().fingerprint()


def test_fingerprint_follows_the_content_of_own_rules(tmp_path: Path) -> None:
    page = tmp_path / "ACME001-x.md"
    page.write_text("one")
    settings = Settings(extend_rules=(str(tmp_path),))
    before = settings.fingerprint()
    page.write_text("two")
    assert settings.fingerprint() != before
