"""Subjects are observed in a child: what each step showed, and what became of children that did not finish."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from xlalint.verify.backends import MissingPackageError
from xlalint.verify.inputs import SpecError, parse_inputs
from xlalint.verify.isolation import Limits
from xlalint.verify.model import Observation, Step, Subject
from xlalint.verify.observing import CannotRunError, observe

IMPORTS = "import os, sys, time, signal\nimport numpy as np\nfrom standins.plain import hazard\n\n\n"
X = parse_inputs('x="f32[8]"')


def compilations(seen: Observation) -> list[int]:
    return [step.counts.compilations for step in seen.steps]


def test_steps_are_told_with_their_counts_and_lines(subject: Callable[..., Subject], plain: str) -> None:
    body = "def f(x, mask):\n    if mask.any():\n        hazard('host-sync', 'any')\n    return x.sum()\n"
    told: list[Step] = []
    specs = parse_inputs('x="f32[8]", mask="bool[8]"')
    seen = observe(one := subject(IMPORTS + body), specs, plain, steps=5, on_step=told.append)
    assert (seen.error, seen.ended, seen.backend) == (None, "finished", plain)
    assert compilations(seen) == [1, 0, 0, 0, 0]
    assert [step.counts.transfers for step in seen.steps] == [1, 1, 1, 0, 1]
    event = seen.steps[0].events[0]
    assert (event.what, event.place and (event.place.file, event.place.line, event.place.function)) == (
        "any",
        (one.file, 8, "f"),
    )
    assert tuple(told) == seen.steps


def test_lines_of_a_text_are_told_in_its_file(subject: Callable[..., Subject], plain: str) -> None:
    one = subject("old = 1\n")
    text = IMPORTS + "def f(x):\n    hazard('host-sync')\n    if x[0] > 1: raise ValueError('above')\n    return x\n"
    seen = observe(Subject("", "f", one.file, text=text), X, plain)
    assert seen.error is not None and seen.error.place is not None
    assert (seen.error.what, seen.error.place.file, seen.error.place.line) == ("ValueError: above", one.file, 8)
    assert {event.place.file for step in seen.steps for event in step.events if event.place} <= {one.file}
    assert Path(one.file).read_text() == "old = 1\n"


def test_named_dimensions_vary_after_the_warm_up(subject: Callable[..., Subject], plain: str) -> None:
    one = subject(IMPORTS + "def f(x, y): return x.shape[0]\n")
    specs = parse_inputs('x="f32[B,4]", y="i32[B=3]"')
    seen = observe(one, specs, plain, steps=5, vary=("B",))
    assert [step.sizes for step in seen.steps] == [{"B": size} for size in (3, 3, 4, 5, 6)]
    assert compilations(seen) == [1, 0, 1, 1, 1]
    with pytest.raises(SpecError, match="no dimension `C` to vary; the named ones are B"):
        observe(one, specs, plain, vary=("C",))
    with pytest.raises(SpecError, match="name them in the inputs"):
        observe(one, X, plain, vary=("B",))


@pytest.mark.parametrize(
    ("line", "what", "ended"),
    [
        ("raise ValueError('no')", "ValueError: no", "finished"),
        ("sys.exit(3)", "SystemExit: 3", "finished"),
        ("input()", "EOFError: EOF when reading a line", "finished"),
        ("os._exit(3)", "left with exit code 3", "crashed"),
        ("os._exit(0)", "left with exit code 0 before it was done", "crashed"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "was killed by SIGSEGV", "crashed"),
        ("while True: pass", "did not end within 8 s", "timed-out"),
    ],
)
def test_what_stops_it_is_told_with_its_line(
    subject: Callable[..., Subject], plain: str, line: str, what: str, ended: str
) -> None:
    one = subject(f"{IMPORTS}calls = []\n\n\ndef f(x):\n    calls.append(1)\n    if len(calls) == 3:\n        {line}\n")
    seen = observe(one, X, plain, limits=Limits(8 if ended == "timed-out" else 60))
    assert len(seen.steps) == 2
    assert seen.error is not None
    assert (seen.error.what, seen.ended) == (what, ended)
    if "os._exit" not in line:
        assert seen.error.place is not None
        assert (seen.error.place.file, seen.error.place.line) == (one.file, 12)


def test_a_fork_of_the_child_does_not_speak_for_it(subject: Callable[..., Subject], plain: str) -> None:
    one = subject(IMPORTS + "def f(x):\n    os.fork()\n    return x\n")
    assert len(observe(one, X, plain, steps=3).steps) == 3


def test_what_it_prints_is_not_taken_for_a_message(subject: Callable[..., Subject], plain: str) -> None:
    one = subject(IMPORTS + "def f(x):\n    print('x' * 1000000)\n    os.write(2, b'y' * 1000000)\n")
    seen = observe(one, X, plain, steps=3)
    assert (len(seen.steps), seen.error) == (3, None)


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("import no_such_package\n", "raises ModuleNotFoundError: No module named 'no_such_package'", 1),
        ("\n\n1 / 0\n", "raises ZeroDivisionError", 3),
        ("def ff(x): pass\n", "no `f` in .*under_test.py; did you mean `ff`", None),
    ],
)
def test_what_cannot_be_loaded(
    subject: Callable[..., Subject], plain: str, text: str, message: str, line: int | None
) -> None:
    with pytest.raises(CannotRunError, match=message) as caught:
        observe(subject(text), X, plain)
    assert (caught.value.place and caught.value.place.line) == line


def test_a_backend_that_does_not_start(subject: Callable[..., Subject], plain: str) -> None:
    with pytest.raises(CannotRunError, match=r"backend standins\.none does not start: ModuleNotFoundError"):
        observe(subject("def f(x): pass\n"), X, "standins.none")


def test_a_missing_package_says_the_one_command(
    subject: Callable[..., Subject], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xlalint.verify.backends.find_spec", lambda name: None if name == "torch_xla" else name)
    with pytest.raises(MissingPackageError) as caught:
        observe(subject(""), X, "torch_xla")
    said = "backend torch_xla: `torch_xla` is not installed here; install: pip install 'xlalint[torch-xla]'"
    assert str(caught.value) == said
