"""Which differences between a screen and what was printed count."""

from __future__ import annotations

import pytest

from tests.screens import shows

PRINTED = "  v5e  0  1.5 KiB  2.58 s\nwhy: a → b\nok: compiles once\n"


@pytest.mark.parametrize(
    "screen",
    [
        pytest.param("  v5e  1  1.5 KiB  2.58 s\nwhy: a → b\nok: compiles once\n", id="count"),
        pytest.param("...\nok: compiles twice\n", id="word"),
        pytest.param("...\nwhy: a → b\n", id="less"),
        pytest.param("why: a → b\nok: compiles once\n", id="later"),
        pytest.param("...\nwhy: ...c\n...\n", id="end-of-line"),
    ],
)
def test_a_screen_that_shows_something_else(screen: str) -> None:
    assert not shows(screen, PRINTED)


@pytest.mark.parametrize(
    "screen",
    [
        pytest.param(PRINTED, id="the-same"),
        pytest.param("   v5e  0   15 MiB  5 ms\nwhy: a → b\nok: compiles once\n", id="other-times-and-sizes"),
        pytest.param("...\nok: compiles once\n", id="lines-before"),
        pytest.param("...\nwhy: ... b\n...\n", id="words-between"),
    ],
)
def test_a_screen_that_shows_it(screen: str) -> None:
    assert shows(screen, PRINTED)
