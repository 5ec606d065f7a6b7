"""Calls that only check: which go, and with what."""

from __future__ import annotations

import textwrap

import pytest

from tests.fixes.fixing import append_indented, expect_settled, fixed

HEAD = """
import os

import torch


def check(condition, message, error=ValueError):
    \"\"\"Raise unless a condition holds.\"\"\"
    if os.getenv("UNCHECKED"):
        return
    if callable(condition):
        condition = condition()
    if isinstance(condition, torch.Tensor):
        torch._check_tensor_all_with(error, condition, lambda: message)
    elif not condition:
        raise error(message)


def nested(condition):
    check(condition, "no")


def checked(condition, x):
    if not condition:
        raise ValueError
    return x


def counted(condition):
    global failures
    failures += not condition
    if failures > 3:
        raise ValueError


def told(condition):
    print(condition)


@torch.compile
def f(x: torch.Tensor, mask: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
"""

GONE = {
    "with what was computed for it alone": (
        """
        count = mask.sum()
        wanted = y.shape[0]
        check(x[mask].shape[0] == wanted, f"{count} of {wanted}")
        return x * 2
        """,
        """
        return x * 2
        """,
    ),
    "not what is used elsewhere": (
        """
        count = mask.sum()
        check(x[mask].numel() == y.numel(), f"{count}")
        return x * count
        """,
        """
        count = mask.sum()
        return x * count
        """,
    ),
    "in a branch": (
        """
        if y.ndim == 2:
            check(torch.unique(y).numel() == 1, "one")
        return x
        """,
        """
        return x
        """,
    ),
}

STAYS = {
    "its result is used": "x = checked(x[mask].sum() > 0, x)\n        return x",
    "it changes something": "counted(x[mask].shape[0] == 3)\n        return x",
    "it tells": "told(x[mask].shape[0] == 3)\n        return x",
    "it is not known": "verify(x[mask].shape[0] == 3)\n        return x",
    "it names something": "check((n := x[mask].shape[0]) == 3, 'no')\n        return x * n",
    "the finding is elsewhere": "check(x.ndim == 3, 'no')\n        return x[mask]",
}


def program(body: str) -> str:
    return append_indented(HEAD.lstrip(), textwrap.dedent(body).strip())


@pytest.mark.parametrize("name", GONE)
def test_gone(name: str) -> None:
    before, after = (program(body) for body in GONE[name])
    expect_settled(before, after)
    assert fixed(before, unsafe=False)[0] == before


@pytest.mark.parametrize("name", STAYS)
def test_stays(name: str) -> None:
    called = STAYS[name].partition("(")[0]
    assert f"    {called}(" in fixed(program(f"        {STAYS[name]}"))[0]


ON_THE_HOST = {
    "a shape": 'check(x.shape[0] == y.shape[0], f"{mask.sum()} of {y.shape[0]}")',
    "a shape of what is computed": 'check(x.view(2, -1).shape[0] == 3, f"{mask.sum()}")',
    "a length": 'check(len(x) == len(y), f"{x.max()}")',
    "a number of dimensions": 'check(x.ndim == 2 and y.dim() == x.dim(), f"{mask.sum()}")',
    "a flag": 'check(torch.is_grad_enabled(), f"{mask.sum()}")',
    "a dtype": 'check(x.dtype == y.dtype, f"{x} {y}")',
}


@pytest.mark.parametrize("called", ON_THE_HOST.values(), ids=ON_THE_HOST)
def test_a_check_of_the_host_stays(called: str) -> None:
    """What formats a tensor for the case that it fails is no reason to lose it."""
    before = program(f"        {called}")
    text, done = fixed(before)
    assert called in text
    reasons = [one.no_fix for one in done.report.findings if one.code == "XLA303"]
    assert any("the host can check" in one for one in reasons), reasons


FOR_IT_ALONE = {
    "a method of what is not known": "count = given.sum()",
    "several": "count = (given == 7).unsqueeze(-1).expand_as(x).sum()",
    "what is read": "count = given.sum().item()",
}

KEPT = {
    "a function that is not known": "count = g(x)",
    "a method that may do anything": "count = given.pop()",
    "a change in place": "count = given.add_(1).sum()",
    "random numbers": "count = torch.rand_like(x).sum()",
    "an attribute's method": "count = self.seen.update(given)",
}


@pytest.mark.parametrize("line", FOR_IT_ALONE.values(), ids=FOR_IT_ALONE)
def test_what_was_computed_for_it_alone_goes(line: str) -> None:
    text, _ = fixed(program(f'        {line}\n        check(mask.sum() == count, f"{{mask.sum()}}")\n        return x'))
    assert "count" not in text.partition("def f(")[2]
    assert "check(" not in text.partition("def f(")[2]


@pytest.mark.parametrize("line", KEPT.values(), ids=KEPT)
def test_what_does_more_stays(line: str) -> None:
    text, _ = fixed(program(f'        {line}\n        check(mask.sum() == count, f"{{mask.sum()}}")\n        return x'))
    assert line in text
    assert "check(" not in text.partition("def f(")[2]
