"""What `--watch` checks again for, where folders have configurations of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlalint.cli.watching import _Relevant
from xlalint.config import load_configuration


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("a/m.py", "a/gen.py", "b/m.py", "b/gen.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "xlalint.toml").write_text("")
    (tmp_path / "a/xlalint.toml").write_text("exclude = ['gen.py']\n")
    return tmp_path


@pytest.mark.parametrize(
    ("named", "path", "counts"),
    [
        pytest.param([""], "a/m.py", True, id="checked"),
        pytest.param([""], "a/gen.py", False, id="excluded-by-the-nearest"),
        pytest.param([""], "b/gen.py", True, id="excluded-elsewhere"),
        pytest.param([""], "a/xlalint.toml", True, id="nested-configuration"),
        pytest.param([""], "b/pyproject.toml", True, id="one-that-may-become-one"),
        pytest.param(["a/m.py", "b/m.py"], "a/xlalint.toml", True, id="of-a-file-that-is-named"),
        pytest.param(["a/m.py", "b/m.py"], "a/gen.py", False, id="beside-a-file-that-is-named"),
    ],
)
def test_what_counts(root: Path, named: list[str], path: str, counts: bool) -> None:
    paths = [root / name for name in named]
    settings = load_configuration(paths).survey(paths).settings
    assert _Relevant(paths, settings)(str(root / path)) is counts
