"""Projects of a few files, some of them data, and what is found of configuration in them."""

from __future__ import annotations

import os
from pathlib import Path

from xlalint.config import Settings
from xlalint.project import check_paths


def options(folder: Path, **more: object) -> Settings:
    return Settings(root=str(folder), jobs=1, python=None, select=("XLA5",), **more)  # type: ignore[arg-type]


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def found(folder: Path, files: dict[str, str], **more: object) -> list[str]:
    report = check_paths([written(folder, files)], options(folder, **more))
    assert not report.failures
    return [
        f"{one.code} {os.path.relpath(one.filename, folder)}:{one.location.row}:{one.location.column}"
        for one in report.findings
    ]
