"""Messages of checks: which are made only where the check fails."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import append_indented, expect_settled, fixed

HEAD = '''import torch


def check(ok, text, error=ValueError):
    """Raise unless a condition holds."""
    if not callable(text):

        def message():
            return text

    else:
        message = text
    if isinstance(ok, torch.Tensor):
        torch._check_tensor_all_with(error, ok, message)
    elif not ok:
        raise error(message())


def verify(ok, text, *, detail=""):
    message = text if callable(text) else lambda: text
    if not ok:
        raise ValueError(message() + detail)


def told_at_once(ok, text):
    text = text() if callable(text) else text
    if not ok:
        raise ValueError(text)


def of_text(ok, text):
    torch._check_tensor_all_with(ValueError, ok, lambda: text)


def strict(ok, text):
    if callable(text):
        raise TypeError("a text, please")
    torch._check_tensor_all_with(ValueError, ok, lambda: text)


def recorded(ok, text):
    print(ok)
    if callable(text):
        text = text()
    return text


class Checker:
    def check(self, ok, text):
        message = text if callable(text) else lambda: text
        torch._check_tensor_all_with(ValueError, ok, message)


@torch.compile
def f(x: torch.Tensor, mask: torch.Tensor, rows: torch.Tensor, given: list) -> torch.Tensor:
    count = mask.sum()
'''
END = "\nreturn x.masked_scatter(mask, rows)"

LAZY = {
    "an f-string": (
        'check(count == rows.numel(), f"{count} of {rows.shape[0]}")',
        'check(count == rows.numel(), lambda: f"{count} of {rows.shape[0]}")',
    ),
    "by keyword": (
        'check(ok=count == rows.numel(), text=f"{count}")',
        'check(ok=count == rows.numel(), text=lambda: f"{count}")',
    ),
    "in several strings": (
        'check(\n    count == rows.numel(),\n    "rows and places differ: "\n    f"{count}",\n)',
        'check(\n    count == rows.numel(),\n    lambda: "rows and places differ: "\n    f"{count}",\n)',
    ),
    "in parentheses": (
        'check(count == rows.numel(), (f"{count}"), KeyError)',
        'check(count == rows.numel(), lambda: (f"{count}"), KeyError)',
    ),
    "a check that asks in an expression": (
        'verify(rows.ndim == 2, f"{count}")',
        'verify(rows.ndim == 2, lambda: f"{count}")',
    ),
}

LEFT_ALONE = {
    "a check that makes the text at once": 'told_at_once(count == rows.numel(), f"{count}")',
    "a read by name": 'check(rows.ndim == 2, f"{count.item()}")',
    "a check of texts": 'of_text(count == rows.numel(), f"{count}")',
    "a check that refuses functions": 'strict(count == rows.numel(), f"{count}")',
    "what does more than check": 'recorded(count == rows.numel(), f"{count}")',
    "what is not known": 'unknown(count == rows.numel(), f"{count}")',
    "a method": 'Checker().check(count == rows.numel(), f"{count}")',
    "a parameter that is no message": 'verify(rows.ndim == 2, "no", detail=f"{count}")',
    "the condition": 'check(f"{count}" == "3", "no")',
    "a call that makes the text": "check(rows.ndim == 2, str(count))",
    "a sum of texts": 'check(rows.ndim == 2, "found " + f"{count}")',
    "what changes something": 'check(rows.ndim == 2, f"{count} {given.pop()}")',
    "what draws": 'check(rows.ndim == 2, f"{count} {torch.rand(1)}")',
    "what writes": 'check(rows.ndim == 2, f"{count.add_(1)}")',
    "what binds a name": 'check(rows.ndim == 2, f"{(total := count)}")',
    "what reads the variables": 'check(rows.ndim == 2, f"{count} {locals()}")',
    "packed arguments": 'check(*given, f"{count}")',
    "made already": 'check(count == rows.numel(), lambda: f"{count}")',
    "nothing of a tensor": 'check(count == rows.numel(), f"{rows.shape[0]}")',
}


def program(code: str) -> str:
    return append_indented(HEAD, f"{code}{END}")


@pytest.mark.parametrize(("before", "after"), LAZY.values(), ids=LAZY)
def test_the_message_is_made_where_the_check_fails(before: str, after: str) -> None:
    expect_settled(program(before), program(after), unsafe=False)


@pytest.mark.parametrize("code", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(code: str) -> None:
    assert code in fixed(program(code), unsafe=False)[0]
