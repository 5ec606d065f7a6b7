"""What holds for all tests: hypothesis has no deadline, which a busy machine would miss, not the code under test, and no environment
that happens to be active has its packages followed."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("xlalint", deadline=None)
settings.load_profile("xlalint")
for _variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
    os.environ.pop(_variable, None)
