"""A tracer asks after each line of the user's."""

from __future__ import annotations

import sys

import pytest

from xlalint.verify.meters.lines import LineTracer


class Tally:
    """A counter that the traced code moves, and the lines that moved it."""

    def __init__(self) -> None:
        self.count = self.known = 0
        self.lines: list[int] = []
        self.tracer = LineTracer(self.settle)

    def settle(self) -> None:
        if self.count != self.known:
            self.known = self.count
            assert self.tracer.here is not None
            self.lines.append(self.tracer.here.line - self.first)

    def run(self, function: object) -> list[int]:
        assert callable(function)
        self.first = function.__code__.co_firstlineno
        if not self.tracer.start():
            pytest.skip("something else traces, such as a coverage tool")
        try:
            function()
        finally:
            self.tracer.stop()
        return self.lines


@pytest.fixture
def tally() -> Tally:
    return Tally()


def test_lines(tally: Tally) -> None:
    def move() -> None:
        x = 1
        tally.count += x
        [x for _ in range(3)]
        (
            x,
            setattr(tally, "count", 7),
        )

    assert tally.run(move) == [2, 6]


def test_a_line_that_calls_is_not_blamed_for_what_it_called(tally: Tally) -> None:
    def move() -> None:
        def inner() -> int:
            tally.count += 1
            return 1

        tally.count = inner() + tally.count
        inner()

    assert tally.run(move) == [2, 5, 2]


def test_an_error_passes(tally: Tally) -> None:
    def move() -> None:
        try:
            tally.count += 1
            raise ValueError
        except ValueError:
            tally.count += 1

    assert tally.run(move) == [2, 5]
    assert sys.gettrace() is None


def test_nothing_is_traced_twice(tally: Tally) -> None:
    other = LineTracer(lambda: None)
    if not other.start():
        pytest.skip("something else traces, such as a coverage tool")
    try:
        assert not tally.tracer.start()
    finally:
        other.stop()
    assert sys.gettrace() is None
