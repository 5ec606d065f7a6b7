"""The command line, run in this process with a pipeline that finds what the test tells it to."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from xlalint import project
from xlalint.cli import main
from xlalint.diagnostics.finding import Finding, Location
from xlalint.project.report import Report
from xlalint.source.discovery import discover


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


class Pipeline(ModuleType):
    """Stands for `xlalint.project`: finds a tensor `if` wherever a line begins with `if t:`."""

    def __init__(self) -> None:
        super().__init__("xlalint.project")
        self.__path__ = project.__path__  # its modules are the real ones
        self.failures: list[str] = []
        self.raises: BaseException | None = None
        self.calls: list[dict[str, Any]] = []

    def check_paths(self, paths: Sequence[Path], settings: Any, **told: Any) -> Any:
        self.calls.append({"settings": settings, **told})
        if self.raises is not None:
            raise self.raises
        files = told.get("found") or discover(paths, settings)
        unsaved = {Path(path): content.decode() for path, content in told.get("contents", {}).items()}
        found = [
            f
            for i, path in enumerate(files)
            for f in self._look(str(path), unsaved.get(path) or path.read_text(), told["progress"](i, len(files)))
        ]
        return self._report(found, len(files))

    def check_text(self, text: str, filename: str, settings: Any, **_: Any) -> Any:
        self.calls.append({"settings": settings, "filename": filename})
        return self._report(list(self._look(filename, text, None)), 1)

    def _look(self, filename: str, text: str, _: object) -> list[Finding]:
        rows = [i for i, line in enumerate(text.splitlines(), 1) if line.startswith("if t:")]
        return [
            Finding(
                "XLA101",
                "tensor-if",
                "control-flow",
                "error",
                "certain",
                "`if` needs `t`",
                filename,
                None,
                Location(row, 4),
                Location(row, 5),
                (),
                "torch",
                None,
                "",
                "Use `where`.",
            )
            for row in rows
        ]

    def _report(self, findings: list[Finding], files: int) -> Report:
        return Report(findings, files, self.failures)


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    fake = Pipeline()
    monkeypatch.setitem(sys.modules, "xlalint.project", fake)
    return fake


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pipeline: Pipeline, capsys: pytest.CaptureFixture[str]) -> Run:
    for name in ("NO_COLOR", "FORCE_COLOR", "XLALINT_CACHE_DIR", "XLALINT_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(arguments)
        told = capsys.readouterr()
        return Done(code, told.out, told.err)

    return call
