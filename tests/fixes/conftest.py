"""Failures of what `fixing` asserts show the compared values, as those of the tests themselves do."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.fixes.fixing")
