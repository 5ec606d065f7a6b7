"""Calls that only check: which go, and with what."""

from __future__ import annotations

import textwrap

import pytest

from tests.fixes.fixing import fixed

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
    return f"{HEAD.strip()}\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n"


@pytest.mark.parametrize("name", GONE)
def test_gone(name: str) -> None:
    before, after = (program(body) for body in GONE[name])
    text, done = fixed(before)
    assert text == after
    assert not done.troubles
    assert fixed(before, unsafe=False)[0] == before


@pytest.mark.parametrize("name", STAYS)
def test_stays(name: str) -> None:
    called = STAYS[name].partition("(")[0]
    assert f"    {called}(" in fixed(program(f"        {STAYS[name]}"))[0]
