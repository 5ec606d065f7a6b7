"""How hypothesis runs here: without a deadline, which a busy machine would miss, not the code under test."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("xlalint", deadline=None)
settings.load_profile("xlalint")
