"""Two programs on the same draws: what is proven, what is refuted and by which inputs, what cannot be told."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from xlalint.verify.inputs import parse_inputs
from xlalint.verify.isolation import Limits
from xlalint.verify.model import Subject, Verdict
from xlalint.verify.observing import Comparison, compare_subjects

IMPORTS = "import os, sys\nimport numpy as np\n\n\n"
INPUTS = 'x="f32[6,4]", mask="bool[6]", n=2'
FORM = "def f(x, mask, n):\n    {}\n"
Compare = Callable[..., Comparison]
Judge = Callable[[str, str], Verdict]


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
    ("(np.where(mask[:, None], x, 0).sum(0), 1)", "values: it is float32 (4,) against tuple of 2"),
    ("np.where(mask[:, None], x, 0).sum(0) if mask.any() else 1 / 0", "values: raises ZeroDivisionError"),
    ("np.where(mask[:, None], x, 0).sum(0) if len(x) else 7", "values: dtype float32 against Python int (empty)"),
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
    assert found.verdict.kind == "proven"
    assert found.verdict.reason.startswith("the same on 13 draws of 4 kinds")


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
    assert found.verdict.reason.startswith("arguments: ['x'] only before")
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
    before, after = FORM.format("return x.sum()"), FORM.format("return x[::-1].sum() * np.float32(1 + 1.2e-7)")
    assert compare(before, after).verdict.kind == "proven"
    assert compare(before, after, exact=True).verdict.kind == "refuted"


def test_edges_can_be_left_out(compare: Compare) -> None:
    after = FORM.format("return (x * mask[:, None]).sum(0)")
    assert compare(FORM.format(ORIGINAL), after, unlike=("nan",)).verdict.kind == "proven"


def test_a_rewrite_that_does_not_end_is_refuted(compare: Compare) -> None:
    after = FORM.format("while not mask.any(): pass\n    return x[mask].sum(0)")
    found = compare(FORM.format(ORIGINAL), after, limits=Limits(15))
    assert found.verdict.kind == "refuted"
    assert "TimeoutError" in found.verdict.reason


def test_a_crash_leaves_it_unverified(compare: Compare) -> None:
    found = compare(FORM.format(ORIGINAL), FORM.format("os._exit(3)"))
    assert (found.verdict.kind, found.verdict.reason) == (
        "unverified",
        "the comparison did not end: left with exit code 3",
    )


WAYS = 'x="f32[6,4]", ids="i64[6] 50000..128000"'
TOLD = """import contextvars, dataclasses, itertools, logging, random, warnings


@dataclasses.dataclass
class Out:
    loss: object


held = []
_kept = {}
mode = contextvars.ContextVar("mode")
numbers = itertools.count()
turns = (n for n in range(5000))
drawn = np.random.default_rng(0)
dice = random.Random(0)


def make(n=0):
    def step():
        nonlocal n
        n += 1

    return step


step = make()


"""
BITING = "def f(x, ids, flip=False):\n    {}\n"
# By the numbers of arithmetic, what is returned, what is left behind, and what is said: two bodies, and in what they differ.
SAME = [
    ("return x.sum(0)", "return x[::-1].sum(0)"),
    ("return (x * 3).mean()", "return 3 * x.mean()"),
    ("return float(x.sum())", "return x.sum()"),
    ("return Out((x, 1))", "return Out((x + 0 * 1, 1)) if False else Out((x, 1))"),
    ("return {'a': x}, [x]", "return dict(a=x), [x]"),
    ("return {3, 1, 2}", "return {1, 2, 3}"),
    ("return (v for v in ids)", "return (ids[n] for n in range(len(ids)))"),
    ("held.append(1)\n    return x", "held.extend([1])\n    return x"),
    ("print('a')\n    return x", "print('a')\n    return x"),
    ("assert len(x) < 600, 'long'\n    return x", "assert len(x) < 600\n    return x"),
    ("token = mode.set(1)\n    mode.reset(token)\n    return x", "return x"),
    ("mode.set(1)\n    return x", "mode.set(1)\n    return x * 1"),
    ("return x * next(numbers) + next(turns)", "return next(numbers) * x + next(turns)"),
    ("drawn.random(), dice.random(), step()\n    return x", "step(), dice.random(), drawn.random()\n    return x"),
    ("with warnings.catch_warnings():\n        warnings.simplefilter('ignore')\n    return x", "return x"),
]
UNLIKE = [
    ("return x * np.float32(0.1)", "return x * np.float32(0.1000001)", "values"),
    ("return x - np.float32(1e-5) * x", "return x", "values"),
    ("return np.where(x > 0.5, 1, 0)", "return np.where(x >= 0.5, 1, 0)", "values"),
    ("return 1 if x.max() > 50 else 0", "return 0", "values"),
    ("return np.clip(x, -1e-7, 1e-7)", "return x * 0", "values"),
    ("return x * -1 * 0", "return abs(x) * 0", "values"),
    ("return ids + 1", "return ids", "values"),
    ("return x if len(x) < 512 else -x", "return x", "values"),
    ("return -x if flip else x", "return x", "values"),
    ("return Out(x)", "return Out(x * 2)", "values"),
    ("return Out(x)", "return x", "values"),
    ("return (x,)", "return x", "values"),
    ("return (x, 1)", "return [x, 1]", "values"),
    ("return {'a': 1, 'b': x}", "return {'b': x, 'a': 1}", "values"),
    ("return {'a': x}", "return {'b': x}", "values"),
    ("return set(ids.tolist())", "return set()", "values"),
    ("return (v for v in ids)", "return (v + 1 for v in ids)", "values"),
    ("return len(ids)", "return float(len(ids))", "values"),
    ("return x + 1", "return x.astype('f4') + 1", "values"),
    ("return x.sum(0)", "return (x + 1 - 1).sum(0)", "values"),
    ("held.append(1)\n    return x", "return x", "state"),
    ("_kept['a'] = x\n    return x", "return x", "state"),
    ("_kept['a'] = x\n    return x", "_kept['a'] = 2 * x\n    return x", "state"),
    ("f.count = 1\n    Out.seen = 1\n    return x", "return x", "state"),
    ("x[:] = 0\n    return ids", "ids[:] = 0\n    return ids * 0", "values"),
    ("mode.set(1)\n    return x", "return x", "state"),
    ("next(numbers)\n    return x", "return x", "state"),
    ("next(turns)\n    return x", "return x", "state"),
    ("drawn.random()\n    return x", "return x", "state"),
    ("dice.random()\n    return x", "return x", "state"),
    ("step()\n    return x", "return x", "state"),
    ("warnings.simplefilter('ignore')\n    return x", "return x", "warned"),
    ("np.random.rand()\n    return x", "return x", "random"),
    ("print('a')\n    return x", "print('b')\n    return x", "printed"),
    ("print('a')\n    return x", "print('a', file=sys.stderr)\n    return x", "standard error"),
    ("logging.getLogger('own').info('a')\n    return x", "return x", "logged"),
    ("warnings.warn('a')\n    return x", "return x", "warned"),
    ("os.environ['XLALINT_SEEN'] = '1'\n    return x", "return x", "asked of the system"),
    ("open(os.devnull, 'a').close()\n    return x", "return x", "asked of the system"),
    ("return x > [0.375][0]", "return x >= [0.375][0]", "values"),
    ("return x > [0.7312][0]", "return x >= [0.7312][0]", "values"),
    ("return x * 4 - 1 > 2.25", "return x * 4 - 1 >= 2.25", "values"),
    ("return np.round(x) + 0", "return np.floor(x + [0.5][0]) + 0", "values"),
]


@pytest.fixture
def judge(subject: Callable[..., Subject]) -> Judge:
    """Compares two texts in this process, on all draws and jumps, however slow the machine is."""
    pytest.importorskip("numpy")
    from xlalint.verify.backends import backend_of
    from xlalint.verify.comparison import Pair, compare
    from xlalint.verify.loading import load

    def call(before: str, after: str) -> Verdict:
        one = subject(IMPORTS + before)
        other = msgspec.structs.replace(one, text=IMPORTS + after)
        plain = backend_of("tests.verify.standins.plain")
        pair = Pair(plain, load(one), load(other), patience=5.0, mode="eager", budget=math.inf, looking=math.inf)
        return compare(pair, parse_inputs(WAYS), "f", lambda step: None, lambda step: None)

    return call


@pytest.mark.parametrize(("before", "after"), SAME, ids=[before for before, _ in SAME])
def test_what_is_the_same(judge: Judge, before: str, after: str) -> None:
    verdict = judge(TOLD + BITING.format(before), TOLD + BITING.format(after))
    assert verdict.kind == "proven", verdict
    assert verdict.coverage is not None and verdict.coverage.draws["step"] == 8


@pytest.mark.parametrize(
    ("before", "after", "respect"), UNLIKE, ids=[f"{before} | {after}" for before, after, _ in UNLIKE]
)
def test_what_is_not_the_same(judge: Judge, before: str, after: str, respect: str) -> None:
    verdict = judge(TOLD + BITING.format(before), TOLD + BITING.format(after))
    assert verdict.kind == "refuted", verdict
    assert verdict.reason.startswith(f"{respect}: "), verdict


# What no device computes with, or the original was not written for.
TOLD_ONLY = [
    ("return x * (abs(x) > np.ldexp(1.0, -127)) * np.float32(1e38)", "return x * np.float32(1e38)", "denormal"),
    ("return x.astype('f4') + 1", "return x + 1", "bf16"),
]


@pytest.mark.parametrize(("before", "after", "kind"), TOLD_ONLY, ids=[kind for _, _, kind in TOLD_ONLY])
def test_what_refutes_nothing_is_told(judge: Judge, before: str, after: str, kind: str) -> None:
    verdict = judge(BITING.format(before), BITING.format(after))
    assert verdict.kind == "proven", verdict
    assert f"{kind}: values differ" in verdict.reason


def test_a_check_that_is_gone_has_its_own_verdict(judge: Judge) -> None:
    before = BITING.format("if x.max() > 50:\n        raise ValueError('large')\n    return x")
    verdict = judge(before, BITING.format("return x"))
    assert verdict.kind == "proven-except-check", verdict
    assert "is gone: it raised ValueError: large" in verdict.reason


def test_a_jump_that_rounding_moves_is_told(judge: Judge) -> None:
    verdict = judge(BITING.format("return x.sum(0) > [0.7][0]"), BITING.format("return x[::-1].sum(0) > [0.7][0]"))
    assert verdict.kind == "proven" and "rounding takes some of them to the other side" in verdict.reason, verdict


def test_what_cannot_be_compared_is_not_proven(judge: Judge) -> None:
    body = BITING.format("return object()")
    verdict = judge(body, body)
    assert verdict.kind == "unverified" and "cannot be compared: it: a `object`" in verdict.reason, verdict


def test_what_cannot_be_looked_into_is_named_where_it_is_read(judge: Judge) -> None:
    head = "import threading\n\nlock, other = threading.Lock(), threading.Lock()\n\n\n"
    verdict = judge(*(head + BITING.format(f"assert lock\n    return {value}") for value in ("x * 2", "2 * x")))
    assert verdict.kind == "proven" and "what is in `lock`, a `lock`, was not looked at" in verdict.reason, verdict
    assert "`other`" not in verdict.reason


def test_branches_that_no_draw_took_are_named(judge: Judge) -> None:
    rare = "str(x.sum())[-3:] == {!r}"
    one_line = f"x = x + 1 if {rare.format('321')} else x\n    x.ndim < 9 or x.sort()"
    body = BITING.format(f"if {rare.format('123')}:\n        return x * 2\n    {one_line}\n    return x")
    verdict = judge(body, body)
    assert verdict.kind == "proven"
    assert f"`{rare.format('123')}` was never true" in verdict.reason
    within = (f"`{rare.format('321')}` was never true", "`x.ndim < 9` was never false")
    assert all(one in verdict.reason for one in within) or sys.version_info < (3, 11)
    assert verdict.coverage is not None and verdict.coverage.untaken


@pytest.mark.parametrize(
    ("head", "body", "named"),
    [
        ("x, ids, b=None", "x if b is None else x + b", ["`b` other than None"]),
        ("x, ids, *, b=2, mode='a'", "x * b if mode == 'a' else x", ["`b` other than 2", "`mode` other than 'a'"]),
        ("x, ids, a=None", "x", []),
        ("x, ids, flip=False, scale=1.0", "-x * scale if flip else x * scale", []),
        (
            "x, ids, a=1, b=2, c=3, d=4, e=5, f=6, g=7",
            "x * a * b * c * d * e * f * g",
            [
                *(f"`{name}` other than {n + 1}" for n, name in enumerate("abcde")),
                "2 more parameters that have a default",
            ],
        ),
    ],
)
def test_parameters_that_kept_their_default_are_named(judge: Judge, head: str, body: str, named: list[str]) -> None:
    verdict = judge(*[f"def f({head}):\n    return {body}\n"] * 2)
    assert verdict.kind == "proven" and verdict.coverage is not None, verdict
    assert [one for one in verdict.coverage.not_varied if "default" in one or "other than" in one] == named


@pytest.mark.parametrize(
    ("before", "after"),
    [("x * scale", "x"), ("np.where(x > scale, 1, 0)", "np.where(x > 1.0, 1, 0)")],
)
def test_rates_take_other_values_than_their_default(judge: Judge, before: str, after: str) -> None:
    head = "import numpy as np\ndef f(x, ids, scale=1.0):\n    return "
    verdict = judge(f"{head}{before}\n", f"{head}{after}\n")
    assert verdict.kind == "refuted" and "(options)" in verdict.reason, verdict


def test_integers_outside_of_their_range_refute_nothing_and_are_told(judge: Judge) -> None:
    verdict = judge(BITING.format("return abs(ids)"), BITING.format("return ids"))
    assert verdict.kind == "proven", verdict
    assert "integers outside 50000..128000" in verdict.reason
    assert "beyond the range: values differ" in verdict.reason


def test_kinds_on_which_the_original_does_not_end_are_named(judge: Judge) -> None:
    verdict = judge(
        "def f(x, **rest):\n    while not x.size: pass\n    return x * 2\n", "def f(x, **rest):\n    return x + x\n"
    )
    assert verdict.kind == "proven", verdict
    assert verdict.coverage is not None
    assert "empty (the original takes too long)" in verdict.coverage.not_varied
    assert not [one for one in verdict.coverage.not_varied if one.startswith(("single", "nan"))]


@pytest.mark.parametrize(
    ("edge", "usual", "patience", "seconds"),
    [
        ("step", 0.0, 5.0, 5.0),
        ("step", 2.0, 5.0, 5.0),
        ("nan", 0.0, 5.0, 1.0),
        ("nan", 0.2, 5.0, 1.0),
        ("nan", 0.5, 5.0, 2.0),
        ("empty", 2.0, 5.0, 5.0),
        ("nan", 0.0, 0.5, 0.5),
    ],
)
def test_an_original_that_is_slow_is_given_time_at_edges_too(
    edge: str, usual: float, patience: float, seconds: float
) -> None:
    from xlalint.verify.comparison import Draw, Pair, _patience

    nothing: Any = None
    pair = Pair(nothing, nothing, nothing, patience=patience, usual=usual)
    assert _patience(pair, Draw(edge, 0, {})) == seconds
