"""Slices with tensors as bounds, and loops that fill rows up to a bound."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import body, expect_fixed, expect_left_alone, outcome

LEFT_ALONE = {
    "a slice by itself": ("return x[:, :n]", "depends on the value"),
    "a maximum up to a bound": ("return x[:, :n].max()", "depends on the value"),
    "a sum over another dimension": ("return x[:, :n].sum(0)", "depends on the value"),
    "a sum over two": ("return x[:, :n].sum((0, 1))", "depends on the value"),
    "a cumulative sum": ("return x[:, :n].cumsum(1)", "depends on the value"),
    "any of numbers": ("return x[..., :n].any()", "compare first"),
    "a width from a tensor": ("return x[:, n : n + t[1]]", "depends on the value"),
    "a window beside what is cut there": (
        "return torch.cat((x[:, n : n + 1] * 2, x[:, :n], x[:, n + 1 :]), 1)",
        "beside it reads the same number",
    ),
    "another start": ("return x[:, n : t + 4]", "depends on the value"),
    "a difference": ("return x[:, n : n - 4]", "depends on the value"),
    "a step": ("return x[:, n : n + 4 : 2]", "depends on the value"),
    "a window that is added to": ("x[:, n : n + 4] += 1\nreturn x", "changed in place"),
    "a window that is changed by a method": ("x[:, n : n + 4].zero_()\nreturn x", "changed in place"),
    "a window that is filled with a number": ("x[:, n : n + 4] = 0\nreturn x", "both ends vary"),
    "a tensor of the slice's length": ("x[0, :n] = t[:n]\nreturn x", "length of the slice"),
    "a row by a tensor, which is a copy": ("x[t[0], :n] = 0\nreturn x", "no whole dimensions or Python numbers"),
    "rows by a mask": ("x[t > 0, :n] = 0\nreturn x", "no whole dimensions or Python numbers"),
    "every second row": ("x[::2, :n] = 0\nreturn x", "no whole dimensions or Python numbers"),
    "dimensions that are not known": ("return x[:n].sum()", "how many dimensions"),
    "dimensions that are not known, filled": ("x[0, :n] = 0\nreturn x", "how many dimensions"),
    "a size": ("return torch.zeros(n)", "must be a number of the program"),
    "a count of places": ("return torch.arange(n)", "must be a number of the program"),
    "sizes of parts": ("return torch.split(x, n.tolist())[0]", "must be a number of the program"),
}

UNSAFE = {
    "a window": (
        "return x[:, n : n + 4]",
        "return x.index_select(1, n + torch.arange(4, device=x.device))",
        "lies within `x`",
    ),
    "a window of one": (
        "return x[n : n + 1, ...] * 2",
        "return x.index_select(0, n.reshape(1)) * 2",
        "lies within `x`",
    ),
    "a window told the other way": (
        "return x[n : 4 + n]",
        "return x.index_select(0, n + torch.arange(4, device=x.device))",
        "lies within `x`",
    ),
    "a window of the last dimension": (
        "return x[..., n : n + x.shape[0]]",
        "return x.index_select(-1, n + torch.arange(x.shape[0], device=x.device))",
        "`n` has no dimensions",
    ),
    "windows beside each other": (
        "return x[n : n + 1] * x[n : n + 1]",
        "return x.index_select(0, n.reshape(1)) * x.index_select(0, n.reshape(1))",
        "lies within `x`",
    ),
    "a window beside what another bound cuts": (
        "return x[n : n + 1] * t[: x.shape[0]]",
        "return x.index_select(0, n.reshape(1)) * t[: x.shape[0]]",
        "lies within `x`",
    ),
    "a window that is written": (
        "x[:, n : n + 4] = t\nreturn x",
        "x.index_copy_(1, n + torch.arange(4, device=x.device), t)\nreturn x",
        "`t` has the shape and dtype of the window",
    ),
    "a window that may be changed": (
        "w = x[:, n : n + 4]\nw += 1\nreturn w",
        "w = x.index_select(1, n + torch.arange(4, device=x.device))\nw += 1\nreturn w",
        "nothing else holds the tensor `w`, which is changed in place afterwards",
    ),
    "a sum": (
        "return x[..., :n].sum()",
        "return torch.where(torch.arange(x.shape[-1], device=x.device) < n, x, 0).sum()",
        "not negative",
    ),
    "a sum from a bound on": (
        "x = torch.ones(4, 5, device=t.device)\nreturn x[:, n:].sum(dim=1)",
        "x = torch.ones(4, 5, device=t.device)\n"
        "return torch.where(torch.arange(x.shape[1], device=x.device) >= n, x, 0).sum(dim=1)",
        "not negative",
    ),
    "a fill": (
        "x = torch.ones(4, 5)\nx[0, :n] = 0\nreturn x",
        "x = torch.ones(4, 5)\nx[0].masked_fill_(torch.arange(x.shape[1], device=x.device) < n, 0)\nreturn x",
        "not negative",
    ),
    "a fill of a column": (
        "x = torch.ones(4, 5)\nx[n:, 0] = 0.5\nreturn x",
        "x = torch.ones(4, 5)\nx[:, 0].masked_fill_(torch.arange(x.shape[0], device=x.device) >= n, 0.5)\nreturn x",
        "not negative",
    ),
    "a loop that does more": (
        "x = torch.ones(4, 5)\nfor i in range(2):\n    x[i, : n[i]] = 0\n    x[i] += 1\nreturn x",
        "x = torch.ones(4, 5)\nfor i in range(2):\n"
        "    x[i].masked_fill_(torch.arange(x.shape[1], device=x.device) < n[i], 0)\n    x[i] += 1\nreturn x",
        "not negative",
    ),
    "a row that is read behind the loop": (
        "x = torch.ones(4, 5)\nfor i in range(2):\n    x[i, : n[i]] = 0\nreturn x + i",
        "x = torch.ones(4, 5)\nfor i in range(2):\n"
        "    x[i].masked_fill_(torch.arange(x.shape[1], device=x.device) < n[i], 0)\nreturn x + i",
        "not negative",
    ),
}


@pytest.mark.parametrize(("before", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(before: str, why: str) -> None:
    expect_left_alone(outcome(body(before), "XLA206"), why)


@pytest.mark.parametrize(("before", "after", "assumed"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str, assumed: str) -> None:
    expect_fixed(outcome(body(before), "XLA206"), body(after), "unsafe", assumed)
