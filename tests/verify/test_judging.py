"""Observations become verdicts: one line that says what hurts, and where."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from xlalint.verify.judging import judge, judged_for_tpus
from xlalint.verify.model import Counts, Event, Observation, Place, Step, TpuProgram

IF = Place("f.py", 12, "f")
ITEM = Place("f.py", 14, "f")


def line(place: Place) -> str:
    return f"line {place.line}"


def steps(
    compilations: Sequence[int] = (), events: Sequence[Event] = (), sizes: Sequence[int] = (), **counts: Sequence[int]
) -> Observation:
    """An observation of as many steps as the first of the sequences has; `events` happen in each step that counts something."""
    count = len(compilations) or len(next(iter(counts.values())))
    found = []
    for number in range(count):
        own = {name: values[number] for name, values in counts.items()}
        told = Counts(compilations=compilations[number] if compilations else 0, executions=1, **own)
        happened = tuple(events) if told.compilations or any(own.values()) else ()
        size = {"B": sizes[number]} if sizes else {}
        found.append(Step(number, told, 0.5, happened, size))
    return Observation("jax", tuple(found))


COMPILED = (Event("compilation", "new graph", IF),)
READ = (Event("host-sync", "any", IF), Event("host-sync", "item", ITEM))


@pytest.mark.parametrize(
    ("seen", "limit", "ok", "text"),
    [
        (steps([1, 0, 0, 0]), None, True, "compiles once; no host syncs"),
        (steps([0, 0, 0, 0]), None, True, "compiles nothing; no host syncs"),
        (steps([2, 1, 0, 0]), None, True, "compiles 3 times, all in the warm-up; no host syncs"),
        (steps([1, 0, 1, 1], COMPILED), None, False, "compiles in every step after the warm-up: line 12"),
        (steps([1, 0, 0, 1], COMPILED), None, False, "compiles in 1 of 2 steps after the warm-up: line 12"),
        (steps([1, 0, 0, 1]), None, False, "compiles in 1 of 2 steps after the warm-up"),
        (steps([1, 0, 0, 1], COMPILED), 2, True, "2 compilations in 4 steps, and 2 allowed; no host syncs"),
        (steps([1, 0, 1, 1], COMPILED), 2, False, "3 compilations in 4 steps, and 2 allowed: line 12"),
        (steps([1, 0, 0, 0]), 0, False, "1 compilation in 4 steps, and 0 allowed"),
        (steps([1, 0, 1, 1], sizes=[8, 8, 9, 10]), None, True, "compiles once, and for new sizes 2 times more"),
        (steps([1, 0, 1, 0], sizes=[8, 8, 9, 10]), None, True, "1 time more (1 of 2 sizes, 0.5 s each); no host syncs"),
        (steps([1, 0, 1, 1], sizes=[8, 8, 9, 9]), None, False, "compiles in 1 of 2 steps after the warm-up"),
        (
            steps(transfers=[1, 2, 1], events=READ),
            None,
            False,
            "reads values on the host in every step: line 12, line 14",
        ),
        (steps(transfers=[0, 0, 1], events=READ), None, False, "reads values on the host in 1 of 3 steps: line 12"),
        (steps(fallbacks=[1, 1]), None, False, "runs operations on the CPU in every step"),
        (steps(graph_breaks=[1, 0]), None, False, "breaks the graph in 1 of 2 steps"),
        (steps([1, 0, 1], COMPILED + READ[:1], transfers=[1, 0, 1]), None, False, "line 12; reads values on the host"),
    ],
)
def test_verdicts(seen: Observation, limit: int | None, ok: bool, text: str) -> None:
    judged = judge(seen, len(seen.steps), line, limit)
    assert (judged.ok, judged.ran) == (ok, True)
    assert text in judged.text


def test_an_error_is_told_with_its_step_and_line() -> None:
    error = Event("error", "ValueError: no", IF)
    judged = judge(Observation("jax", (Step(0, Counts()),), error), 8, line)
    assert (judged.ok, judged.ran) == (False, True)
    assert judged.text == "raises ValueError: no (in step 1 of 8, counted from 0): line 12"


def test_a_kernel_of_tpus_that_the_cpu_lacks_is_no_fault_of_the_program() -> None:
    what = "RuntimeError: failed to compile: no registered implementation for untyped custom call to tpu_custom_call for Host"
    judged = judge(Observation("torch_tpu", (), Event("error", what)), 8, str)
    assert (judged.ok, judged.ran) == (False, False)
    assert judged.text == "could not be run here: it calls a kernel that only TPUs have (tpu_custom_call)"


def test_what_did_not_end_was_not_run() -> None:
    seen = Observation("jax", (), Event("error", "did not end within 3 s"), (), "timed-out", "last words")
    judged = judge(seen, 8, line)
    assert (judged.ok, judged.ran) == (False, False)
    assert judged.text == "did not end within 3 s (in step 0 of 8, counted from 0)"


def test_causes_of_one_line_are_one_and_those_that_hurt_come_first() -> None:
    seen = steps([1, 0, 1, 1], [*COMPILED, Event("host-sync", "item", ITEM, count=2)], transfers=[2, 0, 2, 2])
    causes = judge(seen, 4, line).causes
    assert [(one.kind, one.count, one.steps, one.expected) for one in causes] == [
        ("host-sync", 6, (0, 2, 3), False),
        ("compilation", 2, (2, 3), False),
        ("compilation", 1, (0,), True),
    ]


GOOD = judge(Observation("jax", (Step(0, Counts(compilations=1)),)), 1, line)
REFUSED = Event("error", "no rule for `eig` on tpu", IF)
CALLING = Event("host-sync", "it calls Python on the host")


@pytest.mark.parametrize(
    ("errors", "ok", "ran", "text"),
    [
        ([None], True, True, "compiles once; no host syncs"),
        ([None, None], True, True, "compiles once; no host syncs"),
        ([], False, False, "nothing to compile for TPUs: jax wrote no StableHLO"),
        ([REFUSED], False, True, "does not compile for v5e: no rule for `eig` on tpu: line 12"),
        ([None, REFUSED], False, True, "does not compile for v5e: no rule for `eig` on tpu: line 12"),
        ([CALLING], False, False, "compiles once; no host syncs; not compiled for TPUs: it calls Python on the host"),
    ],
)
def test_what_tpus_refuse_is_bad_and_what_was_not_tried_was_not_run(
    errors: list[Event | None], ok: bool, ran: bool, text: str
) -> None:
    judged = judged_for_tpus(GOOD, [TpuProgram("x.mlir", "v5e", error) for error in errors], line, "jax")
    assert (judged.ok, judged.ran) == (ok, ran)
    assert judged.text.endswith(text)


def test_what_falls_back_whole_is_bad_though_nothing_is_left_to_compile() -> None:
    judged = judged_for_tpus(judge(steps(fallbacks=(1, 1)), 2, line), [], line, "torch_xla")
    assert (judged.ok, judged.ran) == (False, True)
    assert judged.text.startswith("runs operations on the CPU in every step; nothing to compile for TPUs")
