"""What holds for all tests: hypothesis has no deadline, which a busy machine would miss, not the code under test, and no environment
that happens to be active has its packages followed, and the key of caches is not the one of the user's home."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("xlalint", deadline=None)
settings.load_profile("xlalint")
for _variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
    os.environ.pop(_variable, None)
os.environ["XLALINT_CACHE_KEY"] = "tests"


@pytest.fixture
def heeds_signals() -> Iterator[None]:
    """Signals as a shell leaves them: whoever runs the tests may have them ignored, which children inherit."""
    before = {one: signal.signal(one, signal.SIG_DFL) for one in (signal.SIGHUP, signal.SIGTERM)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for one, handler in before.items():
        signal.signal(one, handler)
