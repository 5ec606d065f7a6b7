"""A program and its repair, run eagerly on the CPU on the same inputs: in what do they differ?

A backend runs a program once; this module chooses the inputs and compares. A run that the original does not survive compares nothing.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
from children import marked
from outcomes import Leaf, brief

from xlalint.verify.inputs.draws import edges


class Seen(NamedTuple):
    """What came of a run. `results` has one leaf per value that was returned; from the positions `differentiable` gradients flow.

    `arguments` are the inputs as they were left, `state` what the module and its globals hold, `random` the generators' states.
    `gradients` are those of the inputs, then of the parameters, for the given positions; None where there was none.
    """

    results: list[Leaf]
    differentiable: list[int]
    arguments: list[Leaf]
    state: list[Leaf]
    random: list[Leaf]
    printed: str
    gradients: Callable[[Sequence[int]], list[Leaf]]


Run = Callable[[dict[str, Any], dict[str, Any], bool], Seen]
"""Runs a program on some inputs, and says whether these are to have gradients."""


LONGEST = 5  # seconds that a run may take; a loop that waits for a NaN to become small never ends


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise `TimeoutError` in code that takes longer."""

    def stop(signal_number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"not done within {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def cotangent(position: int, shape: tuple[int, ...]) -> Any:
    """The gradient that comes back to a result: one that no two elements share."""
    return np.random.default_rng(position).uniform(0.5, 1.5, shape)


def differences(run: Run, question: dict[str, Any]) -> list[str]:
    """How `after` differs from `before`, a line for each kind of inputs and each respect."""
    before, after = ({**question, "code": question[which]} for which in ("before", "after"))
    _, wanted = marked(before["code"])
    found: dict[tuple[str, str], str] = {}
    for edge, values in edges(wanted):
        if edge not in question["unlike"]:
            for respect, why in _differing(run, before, after, values, question["exact"]):
                if respect not in question["unlike"]:
                    found.setdefault((edge, respect), f"{edge}: {respect}: {why}")
    return list(found.values())


def _differing(
    run: Run, before: dict[str, Any], after: dict[str, Any], values: dict[str, Any], exact: bool
) -> list[tuple[str, str]]:
    grad, one = _first(run, before, values)
    if one is None:
        return []
    try:
        with limited(2 * LONGEST):
            other = run(after, values, grad)
    except Exception as error:  # noqa: BLE001 (whatever it is, the original did not raise it)
        return [("values", f"raises {brief(error)}")]
    found = [("values", difference(one.results, other.results, exact))]
    found += [(name, difference(getattr(one, name), getattr(other, name), exact)) for name in ("arguments", "state")]
    found.append(("random", difference(one.random, other.random, exact)))
    found.append(("printed", None if one.printed == other.printed else f"{one.printed!r} against {other.printed!r}"))
    if grad and not found[0][1]:
        found.append(("gradients", _gradients(one, other, exact)))
    return [(respect, why) for respect, why in found if why]


def _first(run: Run, program: dict[str, Any], values: dict[str, Any]) -> tuple[bool, Seen | None]:
    """The original's run, with gradients if it can be run so."""
    for grad in (True, False):
        try:
            with limited(LONGEST):
                return grad, run(program, values, grad)
        except Exception:  # noqa: BLE001 (where the original does not run, nothing is promised)
            continue
    return False, None


def _gradients(one: Seen, other: Seen, exact: bool) -> str | None:
    """Of the results that had gradients before; those that only now have some change no training that was."""
    try:
        expected = one.gradients(one.differentiable)
    except Exception:  # noqa: BLE001 (a result that cannot be differentiated)
        return None
    try:
        return difference(expected, other.gradients(one.differentiable), exact)
    except Exception as error:  # noqa: BLE001
        return f"raises {brief(error)}"


_TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2}
_TOLERANCE = 2e-5


def difference(one: list[Leaf], other: list[Leaf], exact: bool) -> str | None:
    """Why two lists of values are not the same, or None: exactly, or within what the dtype can hold, a Python number being as good as
    a tensor of no dimensions."""
    if len(one) != len(other):
        return f"{len(one)} values against {len(other)}"
    for (kind, a), (other_kind, b) in zip(one, other, strict=True):
        if "none" in (kind, other_kind):
            if (kind, a) != (other_kind, b):
                return f"{a} against {b}"
        elif kind != other_kind and (exact or "python" not in (kind, other_kind)):
            return f"dtype {kind} against {other_kind}"
        elif a.shape != b.shape:
            return f"shape {a.shape} against {b.shape}"
        elif not (
            close := _close(a, b, 0.0 if exact else max(_TOLERANCES.get(k, _TOLERANCE) for k in (kind, other_kind)))
        ).all():
            other_than = np.argwhere(~close)[:4].tolist()
            return f"at {other_than}: {[a[(*i,)] for i in other_than]} against {[b[(*i,)] for i in other_than]}"
    return None


def _close(a: Any, b: Any, tolerance: float) -> Any:
    if a.dtype.kind in "fciub" and b.dtype.kind in "fciub":
        return np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
    return np.asarray(a == b)
