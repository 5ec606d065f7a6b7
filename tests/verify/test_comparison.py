"""Two programs on the same draws: what is proven, what is refuted and by which inputs, what cannot be told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from xlalint.verify.inputs import parse_inputs
from xlalint.verify.isolation import Limits
from xlalint.verify.model import Subject
from xlalint.verify.observing import Comparison, compare_subjects

IMPORTS = "import os\nimport numpy as np\n\n\n"
INPUTS = 'x="f32[6,4]", mask="bool[6]", n=2'
FORM = "def f(x, mask, n):\n    {}\n"
Compare = Callable[..., Comparison]


@pytest.fixture
def compare(subject: Callable[..., Subject], plain: str) -> Compare:
    def call(before: str, after: str, inputs: str = INPUTS, **told: Any) -> Comparison:
        one = subject(IMPORTS + before)
        other = msgspec.structs.replace(one, text=IMPORTS + after)
        return compare_subjects(one, other, parse_inputs(inputs), plain, **told)

    return call


ORIGINAL = "return x[mask].sum(0)"
# Each with what the reason begins with; "" where it is proven.
REWRITES = [
    ("np.where(mask[:, None], x, 0).sum(0)", ""),
    ("np.where(mask[:, None], x, np.float32(0)).sum(0)", ""),
    (
        "(x * mask[:, None]).sum(0)",
        "values: at (0,), (1,), (2,), (3,): 0.0, 0.0, 0.0, 0.0 against nan, nan, nan, nan (nan)",
    ),
    ("np.where(~mask[:, None], x, 0).sum(0)", "values: at (2,), (3,): 0.0, 0.0 against 2.0, 3.0 (single)"),
    ("np.where(mask[:, None], x, 0).mean(0)", "values: at (0,)"),
    ("np.where(mask[:, None], x, 0).sum(0).astype('f8')", "values: dtype float32 against float64"),
    ("np.where(mask[:, None], x, 0).sum(0, keepdims=True)", "values: shape (4,) against (1, 4)"),
    ("(np.where(mask[:, None], x, 0).sum(0), 1)", "values: 1 values against 2"),
    ("np.where(mask[:, None], x, 0).sum(0) if mask.any() else 1 / 0", "values: raises ZeroDivisionError"),
    ("np.where(mask[:, None], x, 0).sum(0) if len(x) else 7", "values: shape (4,) against ()"),
]


@pytest.mark.parametrize(("rewrite", "reason"), REWRITES, ids=[rewrite for rewrite, _ in REWRITES])
def test_rewrites(compare: Compare, rewrite: str, reason: str) -> None:
    verdict, before, after = compare(FORM.format(ORIGINAL), FORM.format(f"return {rewrite}"))
    assert verdict.kind == ("refuted" if reason else "proven"), verdict
    assert verdict.reason.startswith(reason or "the same on 17 draws")
    assert bool(verdict.counterexample) == bool(reason)
    assert len(before) == len(after) == 8 or "ZeroDivisionError" in reason


def test_a_counterexample_shows_the_difference_when_it_is_pasted(compare: Compare) -> None:
    numpy = pytest.importorskip("numpy")
    after = "return (x * mask[:, None]).sum(0)"
    text = compare(FORM.format(ORIGINAL), FORM.format(after)).verdict.counterexample
    results = []
    for body in (ORIGINAL, after):
        names: dict[str, Any] = {"np": numpy}
        exec(FORM.format(body), names)
        exec(text.replace("f(x=", "result = f(x="), names)
        results.append(names["result"])
    assert text.endswith("f(x=x, mask=mask, n=2)\n")
    assert names["x"].shape == (1, 4)
    assert not numpy.array_equal(*results, equal_nan=True)


def test_a_large_counterexample_says_how_to_draw_it(compare: Compare) -> None:
    numpy = pytest.importorskip("numpy")
    inputs = 'x="f32[3,200]", n="i64[] 1..5"'
    form = "def f(x, n):\n    assert x.shape[1] == 200\n    return {}\n"
    text = compare(form.format("x.sum(1)"), form.format("x[:, :-1].sum(1)"), inputs).verdict.counterexample
    called: list[Any] = []
    exec(text, {"f": lambda **given: called.append(given)})
    assert called[0]["x"].shape[1] == 200
    assert called[0]["n"].dtype == numpy.int64


def test_inputs_on_which_the_original_raises_promise_nothing(compare: Compare) -> None:
    before = FORM.format("return x.sum() if np.isfinite(x).all() and len(x) else 1 / 0")
    found = compare(before, FORM.format("return np.nan_to_num(x).sum()"))
    assert (found.verdict.kind, found.verdict.reason) == ("proven", "the same on 13 draws")


def test_an_original_that_does_not_run_proves_nothing(compare: Compare) -> None:
    found = compare(FORM.format("return x.no_such"), FORM.format("return x"))
    assert found.verdict.kind == "unverified"
    assert "ran on 0 of 17 draws: AttributeError" in found.verdict.reason


def test_few_draws_prove_nothing_but_refute(compare: Compare) -> None:
    before = FORM.format("return 1 / 0 if len(x) else x.sum()")
    same = compare(before, FORM.format("return x.sum()")).verdict
    assert (same.kind, same.reason) == (
        "unverified",
        "the original ran on 1 of 17 draws: ZeroDivisionError: division by zero",
    )
    other = compare(before, FORM.format("return x.sum() + 1")).verdict
    assert (other.kind, other.reason) == ("refuted", "values: 0.0 against 1.0 (empty)")


def test_what_is_written_into_arguments_counts(compare: Compare) -> None:
    found = compare(FORM.format("x[~mask] = 0\n    return x"), FORM.format("return np.where(mask[:, None], x, 0)"))
    assert found.verdict.reason.startswith("arguments: at ")
    found = compare(
        FORM.format("x[~mask] = 0\n    return x"),
        FORM.format("return np.where(mask[:, None], x, 0)"),
        unlike=("arguments",),
    )
    assert found.verdict.kind == "proven"


def test_what_is_kept_from_call_to_call_counts(compare: Compare) -> None:
    before = "held = []\n\n\n" + FORM.format("held.append(1)\n    return x.sum() * len(held)")
    assert compare(before, before.replace("len(held)", "float(len(held))")).verdict.kind == "proven"
    found = compare(before, before.replace("len(held)", "1"))
    assert found.verdict.kind == "refuted"
    assert "calls that keep something from one to the next" in found.verdict.reason


def test_exactly_or_as_far_as_the_dtype_goes(compare: Compare) -> None:
    before, after = FORM.format("return x.sum()"), FORM.format("return x[::-1].sum() * np.float32(1 + 1e-6)")
    assert compare(before, after).verdict.kind == "proven"
    assert compare(before, after, exact=True).verdict.kind == "refuted"


def test_edges_can_be_left_out(compare: Compare) -> None:
    after = FORM.format("return (x * mask[:, None]).sum(0)")
    assert compare(FORM.format(ORIGINAL), after, unlike=("nan",)).verdict.kind == "proven"


def test_a_rewrite_that_does_not_end_is_refuted(compare: Compare) -> None:
    after = FORM.format("while not mask.any(): pass\n    return x[mask].sum(0)")
    found = compare(FORM.format(ORIGINAL), after, limits=Limits(30))
    assert found.verdict.kind == "refuted"
    assert "TimeoutError" in found.verdict.reason


def test_a_crash_leaves_it_unverified(compare: Compare) -> None:
    found = compare(FORM.format(ORIGINAL), FORM.format("os._exit(3)"))
    assert (found.verdict.kind, found.verdict.reason) == (
        "unverified",
        "the comparison did not end: left with exit code 3",
    )
