"""`xlalint.watch` counts what happens inside it, in whatever way it is nested, and holds its limits."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import xlalint
from tests.verify import framework
from xlalint.verify.model import Counts

# ------------------------------------------------------------------------------------------------ around a block


def test_counts_only_what_happens_inside(fakexla: Any) -> None:
    fakexla.compile()
    with xlalint.watch() as seen:
        fakexla.compile()
        fakexla.item()
        fakexla.item()
    fakexla.compile()
    assert (seen.compilations, seen.syncs, seen.fallbacks, seen.graph_breaks) == (1, 2, 0, 0)
    assert seen.frameworks == ("fakexla",)


def test_causes_have_the_line_of_the_user(fakexla: Any) -> None:
    with xlalint.watch() as seen:
        fakexla.compile("x: f32[6] was f32[8]")
    [event] = seen.events
    assert (event.kind, event.what) == ("compilation", "x: f32[6] was f32[8]")
    assert event.place.file == __file__
    assert event.place.function == "test_causes_have_the_line_of_the_user"


def test_a_count_can_be_read_inside(fakexla: Any) -> None:
    with xlalint.watch() as seen:
        assert seen.compilations == 0
        fakexla.compile()
        assert (seen.compilations, len(seen.events)) == (1, 1)
        fakexla.compile()
        assert (seen.compilations, len(seen.events)) == (2, 2)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_compiles": 1}, "2 compilations, at most 1 allowed\n  {here}: 2 times a graph"),
        ({"max_syncs": 0}, "1 host sync, at most 0 allowed\n  {here}: aten::item"),
        ({"max_compiles": 2, "max_syncs": 1}, None),
        ({}, None),
    ],
    ids=["compilations", "syncs", "within", "none"],
)
def test_limits(fakexla: Any, limits: dict[str, int], message: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def steps() -> None:
        with xlalint.watch(**limits):
            for _ in range(2):
                fakexla.compile()
            fakexla.item()

    if message is None:
        steps()
        return
    with pytest.raises(xlalint.LimitExceededError) as raised:
        steps()
    line = steps.__code__.co_firstlineno + (3 if "max_compiles" in limits else 4)
    assert message.format(here=f"{xlalint.verify.seen.shorten_path(__file__)}:{line} in steps") in str(raised.value)
    assert isinstance(raised.value, AssertionError)
    assert raised.value.counts == Counts(2, 0, 1)


def test_what_has_no_line_is_told_so(fakexla: Any) -> None:
    with (
        pytest.raises(xlalint.LimitExceededError, match="  1 at lines that the framework does not report"),
        xlalint.watch(max_compiles=0),
    ):
        fakexla.compilations += 1


def test_an_error_of_the_block_goes_before_limits(fakexla: Any) -> None:
    with pytest.raises(ZeroDivisionError), xlalint.watch(max_compiles=0):
        fakexla.compile()
        raise ZeroDivisionError
    assert not framework.METERS[-1].running


@pytest.mark.parametrize("limits", [{"max_compiles": -1}, {"max_syncs": 1.5}, {"warmup": True}, {"max_compiles": "1"}])
def test_limits_are_counts(limits: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must be a whole number from 0"):
        xlalint.watch(**limits)


# ------------------------------------------------------------------------------------------------ warm-up


def test_the_warm_up_does_not_count(fakexla: Any) -> None:
    with xlalint.watch(max_compiles=0, warmup=2) as seen:
        for step in range(5):
            if step < 2:
                fakexla.compile()
            fakexla.item()
            seen.step()
    assert (seen.warmup.compilations, seen.warmup.transfers) == (2, 2)
    assert (seen.compilations, seen.syncs, len(seen.events), seen.steps) == (0, 3, 3, 5)


def test_a_warm_up_without_steps_is_warned_of(fakexla: Any) -> None:
    message = r"saw 0 steps, so no limit was checked: call `seen.step\(\)`"
    with pytest.warns(UserWarning, match=message), xlalint.watch(max_compiles=0, warmup=2):
        fakexla.compile()


# ------------------------------------------------------------------------------------------------ frameworks


def test_no_framework_is_warned_of(install: object) -> None:
    with pytest.warns(UserWarning, match="no XLA framework was imported"), xlalint.watch(max_compiles=0) as seen:
        pass
    assert (seen.counts, seen.frameworks) == (Counts(), ())


def test_a_framework_that_is_imported_inside(install: object) -> None:
    with xlalint.watch() as seen:
        import fakexla

        fakexla.compile()
    assert seen.compilations == 1
    assert fakexla.__loader__.get_source("fakexla") == framework.SOURCE
    assert not any(type(finder).__name__ == "Arrivals" for finder in sys.meta_path)


def test_a_framework_that_fails_to_be_imported(install: object, tmp_path: Any) -> None:
    (tmp_path / "frameworks" / "fakexla.py").write_text("raise ImportError('no device')")
    with (
        pytest.warns(UserWarning, match="no XLA framework"),
        xlalint.watch(),
        pytest.raises(ImportError, match="no device"),
    ):
        import fakexla  # noqa: F401


@pytest.mark.parametrize("early", [True, False])
def test_a_meter_that_fails_is_warned_of(install: object, monkeypatch: pytest.MonkeyPatch, early: bool) -> None:
    monkeypatch.delattr(framework.FakeMeter, "start")
    if early:
        importlib.import_module("fakexla")
    with pytest.warns(UserWarning) as warned, xlalint.watch():
        importlib.import_module("fakexla").compile()
    assert [str(one.message).split(":")[0] for one in warned] == [
        "xlalint cannot watch fakexla",
        "xlalint.watch counted nothing",
    ]


# ------------------------------------------------------------------------------------------------ nesting and threads


def test_nested_watches_count_each_for_itself(fakexla: Any) -> None:
    with xlalint.watch() as outer:
        fakexla.compile("one")
        with xlalint.watch() as inner:
            fakexla.compile("two")
        fakexla.compile("three")
    assert [event.what for event in outer.events] == ["one", "two", "three"]
    assert [event.what for event in inner.events] == ["two"]
    assert (outer.compilations, inner.compilations) == (3, 1)
    assert [meter.running for meter in framework.METERS] == [False], "one meter served both"


def test_threads_share_what_the_process_does(fakexla: Any) -> None:
    inside, done = threading.Barrier(2), threading.Barrier(2)
    seen = []

    def work() -> None:
        with xlalint.watch() as mine:
            inside.wait()
            fakexla.compile()
            done.wait()
        seen.append(mine.compilations)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [2, 2]
    assert not framework.METERS[-1].running


def test_a_watch_is_open_once(fakexla: Any) -> None:
    watch = xlalint.watch()
    with watch, pytest.raises(RuntimeError, match="open already"):
        watch.__enter__()
    with watch as seen:
        fakexla.compile()
    assert seen.compilations == 1


# ------------------------------------------------------------------------------------------------ decorator


def test_a_function_is_watched_over_all_its_calls(fakexla: Any) -> None:
    @xlalint.watch(max_compiles=1)
    def step(new: bool) -> str:
        if new:
            fakexla.compile()
        return "done"

    assert step(True) == "done"
    fakexla.compile()  # between the calls
    assert step(False) == "done"
    with pytest.raises(xlalint.LimitExceededError, match="2 compilations, at most 1 allowed"):
        step(True)
    assert step(False) == "done", "this call added nothing"
    assert (step.seen.compilations, step.seen.steps, len(step.seen.events)) == (2, 4, 2)
    assert step.__name__ == "step"


def test_calls_do_not_wait_for_the_device(fakexla: Any) -> None:
    @xlalint.watch(max_compiles=0)
    def step() -> None:
        pass

    step()
    before = framework.METERS[-1].waits
    step()
    assert framework.METERS[-1].waits == before


def test_the_first_calls_are_the_warm_up(fakexla: Any) -> None:
    @xlalint.watch(max_compiles=0, warmup=2)
    def step(new: bool) -> None:
        if new:
            fakexla.compile()

    step(True)
    step(True)
    step(False)
    with pytest.raises(xlalint.LimitExceededError, match="1 compilation, at most 0"):
        step(True)
    assert step.seen.warmup.compilations == 2


def test_a_function_that_calls_itself_counts_once(fakexla: Any) -> None:
    @xlalint.watch()
    def down(depth: int) -> None:
        fakexla.compile()
        if depth:
            down(depth - 1)

    down(2)
    assert (down.seen.compilations, len(down.seen.events)) == (3, 3)


async def _coroutine() -> None: ...
def _generator() -> Any:
    yield


async def _both() -> Any:
    yield


@pytest.mark.parametrize("function", [_coroutine, _generator, _both], ids=["async", "generator", "async generator"])
def test_functions_that_run_later_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="runs after the call has returned: use `with"):
        xlalint.watch()(function)


def test_classes_are_refused() -> None:
    with pytest.raises(TypeError, match="decorates functions"):
        xlalint.watch()(int)


# ------------------------------------------------------------------------------------------------ cost


def test_importing_xlalint_imports_nothing_of_it() -> None:
    code = "import sys, xlalint; print([m for m in sys.modules if m.startswith('xlalint.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
