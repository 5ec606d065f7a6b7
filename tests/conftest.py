"""Settings and fixtures of all tests.

Hypothesis has no deadline: a busy machine would miss it, not the code under test. No environment that happens to be active has its
packages followed, and caches are not keyed by the user's home.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import settings

settings.register_profile("xlalint", deadline=None)
settings.load_profile("xlalint")
for _variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
    os.environ.pop(_variable, None)
os.environ["XLALINT_CACHE_KEY"] = "tests"

Findings = Callable[[str, str], list[tuple[str, str]]]
Loud = Callable[[str, str], list[str]]


_LONG = ("xla", "integrations", "server", "guides", "project", "e2e", "verify")
"""The folders with files that take more than half a minute, those of the longest first: no process is left alone with one at the end."""


def pytest_configure(config: pytest.Config) -> None:
    """Let pytest-xdist, where it is there, take the files in this order, not those of the most tests first."""
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bring what takes long to the front; the rest stays in its order."""
    here = Path(__file__).parent
    rank = {folder: number for number, folder in enumerate(_LONG)}
    items.sort(key=lambda item: rank.get(item.path.relative_to(here).parts[0], len(rank)))


@pytest.fixture
def heeds_signals() -> Iterator[None]:
    """Handle signals as a shell leaves them: whoever runs the tests may have them ignored, which children inherit."""
    before = {one: signal.signal(one, signal.SIG_DFL) for one in (signal.SIGHUP, signal.SIGTERM)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for one, handler in before.items():
        signal.signal(one, handler)


@pytest.fixture
def findings() -> Findings:
    """List (code, severity) of each finding in some code for a target, in order of place; information included."""
    from xlalint.config import Settings
    from xlalint.project import check_text

    def lint(code: str, target: str) -> list[tuple[str, str]]:
        report = check_text(dedent(code), "example.py", Settings(target=target, show_info=True))  # type: ignore[arg-type]
        assert not report.failures
        return [(finding.code, finding.severity) for finding in report.findings]

    return lint


@pytest.fixture
def loud(findings: Findings) -> Loud:
    """List the codes of the findings that are warnings or errors."""
    return lambda code, target: [rule for rule, severity in findings(code, target) if severity != "info"]
