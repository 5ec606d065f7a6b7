"""The values that options take."""

from __future__ import annotations

import pytest

from xlalint.config.options import OPTIONS


@pytest.mark.parametrize(
    ("written", "size"),
    [
        (1, 1),
        ("12", 12),
        ("9b", 9),
        ("5MB", 5_000_000),
        ("1.5 mb", 1_500_000),
        ("2 MiB", 2 << 20),
        ("3k", 3000),
        ("1GB", 10**9),
    ],
)
def test_sizes(written: object, size: int) -> None:
    assert OPTIONS["max_file_size"](written) == size
