"""XLA206: loops that fill rows up to a bound."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import body, expect_fixed, outcome

UNSAFE = {
    "rows up to their lengths": (
        "x = torch.ones(4, 5)\nfor i in range(x.shape[0]):\n    x[i, : n[i]] = 0\nreturn x",
        "x = torch.ones(4, 5)\nx.masked_fill_(torch.arange(x.shape[1], device=x.device) < n[:, None], 0)\nreturn x",
        "a length for each row",
    ),
    "rows from behind their lengths": (
        "x = torch.ones(4, 5)\nfor i, k in enumerate(n):\n    x[i, k + 1 :] = 0\nreturn x",
        "x = torch.ones(4, 5)\nx.masked_fill_(torch.arange(x.shape[1], device=x.device) >= n[:, None] + 1, 0)\nreturn x",
        "a length for each row",
    ),
    "a mask that is made for it": (
        "m = torch.zeros(2, 3, dtype=torch.bool)\nfor i, k in enumerate(n):\n    m[i, :k] = True\nreturn m",
        "m = torch.arange(3) < n[:, None]\nreturn m",
        "a length for each row",
    ),
}


@pytest.mark.parametrize(("before", "after", "assumed"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str, assumed: str) -> None:
    expect_fixed(outcome(body(before), "XLA206"), body(after), "unsafe", assumed)
