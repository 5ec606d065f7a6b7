"""A limit on the seconds that code takes holds wherever the code is when they are over."""

from __future__ import annotations

import gc
import signal
import sys

import pytest

from xlalint.verify import alarms
from xlalint.verify.alarms import alarm


def wait() -> None:
    while True:
        signal.pause()


def test_what_takes_longer_is_ended() -> None:
    with pytest.raises(TimeoutError, match=r"^not done within 0\.01 s$"), alarm(0.01):
        wait()


def test_what_is_done_in_time_is_left_alone() -> None:
    before = signal.getsignal(signal.SIGALRM), sys.unraisablehook
    with alarm(60):
        done = 1 + 1
    assert done == 2
    assert (signal.getsignal(signal.SIGALRM), sys.unraisablehook) == before


def test_no_limit_sets_nothing() -> None:
    with alarm(0.0):
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_where_nothing_can_be_raised_it_rings_again(capfd: pytest.CaptureFixture[str]) -> None:
    collected: list[str] = []

    def collect(phase: str, told: dict[str, int]) -> None:
        if not collected:
            collected.append(phase)
            signal.pause()  # what the alarm raises here, nobody gets

    gc.callbacks.append(collect)
    try:
        with pytest.raises(TimeoutError), alarm(0.01):
            gc.collect()
            wait()
    finally:
        gc.callbacks.remove(collect)
    assert collected
    assert capfd.readouterr() == ("", "")


def test_an_error_that_is_raised_for_it_does_not_hide_it() -> None:
    def trace() -> None:
        try:
            signal.pause()
        except TimeoutError as error:
            raise RuntimeError("tracing failed") from error

    with pytest.raises(TimeoutError, match=r"^not done within 0\.01 s$"), alarm(0.01):
        trace()


def test_another_error_stays_what_it_is() -> None:
    with pytest.raises(RuntimeError, match=r"^its own$"), alarm(60):
        raise RuntimeError("its own") from TimeoutError("of the program")


def test_code_that_catches_it_and_goes_on_hears_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alarms, "_EVERY", 0.01)
    caught: list[TimeoutError] = []

    def look_up() -> None:
        try:
            signal.pause()
        except TimeoutError as error:  # as a cache does that takes any error for a miss
            caught.append(error)

    with pytest.raises(TimeoutError), alarm(0.01):
        look_up()
        wait()
    assert caught


def test_an_error_that_has_just_its_text_does_not_hide_it() -> None:
    def compare() -> None:
        try:
            signal.pause()
        except TimeoutError as error:
            told = str(error)
        raise ValueError(f"keys should be comparable: {told}")

    with pytest.raises(TimeoutError, match=r"^not done within 0\.01 s$"), alarm(0.01):
        compare()
