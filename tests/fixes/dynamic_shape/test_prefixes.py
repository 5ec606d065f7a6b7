"""XLA206: loops that fill rows up to a bound."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import body, expect_fixed, outcome

UNSAFE = {
    "rows up to their lengths": (
        "x = torch.ones(4, 5, device=n.device)\nfor i in range(x.shape[0]):\n    x[i, : n[i]] = 0\nreturn x",
        "x = torch.ones(4, 5, device=n.device)\nx.masked_fill_(torch.arange(x.shape[1], device=x.device) < n[:, None], 0)\nreturn x",
        "a length for each row",
    ),
    "rows from behind their lengths": (
        "x = torch.ones(4, 5, device=n.device)\nfor i, k in enumerate(n):\n    x[i, k + 1 :] = 0\nreturn x",
        "x = torch.ones(4, 5, device=n.device)\nx.masked_fill_(torch.arange(x.shape[1], device=x.device) >= n[:, None] + 1, 0)\nreturn x",
        "a length for each row",
    ),
    "a mask that is made for it": (
        "m = torch.zeros(2, 3, dtype=torch.bool, device=n.device)\nfor i, k in enumerate(n):\n    m[i, :k] = True\nreturn m",
        "m = torch.arange(3, device=n.device) < n[:, None]\nreturn m",
        "a length for each row",
    ),
    "six rows of as many": (
        "x = torch.ones(6, 5, device=n.device)\nfor i in range(6):\n    x[i, : n[i]] = 0\nreturn x",
        "x = torch.ones(6, 5, device=n.device)\nx.masked_fill_(torch.arange(x.shape[1], device=x.device) < n[:6, None], 0)\nreturn x",
        "a length for each row of `x`",
    ),
    "three rows of six": (
        "x = torch.ones(6, 5, device=n.device)\nfor i in range(3):\n    x[i, n[i] :] = 0\nreturn x",
        "x = torch.ones(6, 5, device=n.device)\nx[:3].masked_fill_(torch.arange(x.shape[1], device=x.device) >= n[:3, None], 0)\nreturn x",
        "a length for each row of `x[:3]`",
    ),
    "as many rows as another has": (
        "x = torch.ones(6, 5, device=n.device)\nb = t.shape[0]\nfor i in range(b):\n    x[i, : n[i]] = 0\nreturn x",
        "x = torch.ones(6, 5, device=n.device)\nb = t.shape[0]\n"
        "x[:b].masked_fill_(torch.arange(x.shape[1], device=x.device) < n[:b, None], 0)\nreturn x",
        "a length for each row of `x[:b]`",
    ),
    "all rows, by the number that they were made with": (
        "b, k = t.shape\nx = torch.ones(b, k, device=n.device)\nfor i in range(b):\n    x[i, : n[i]] = 0\nreturn x",
        "b, k = t.shape\nx = torch.ones(b, k, device=n.device)\n"
        "x.masked_fill_(torch.arange(x.shape[1], device=x.device) < n[:, None], 0)\nreturn x",
        "a length for each row of `x`",
    ),
    "all rows, by a name for their number": (
        "x = t.float().view(4, 5)\nb, _ = x.size()\nfor i in range(b):\n    x[i, : n[i]] = 0\nreturn x",
        "x = t.float().view(4, 5)\nb, _ = x.size()\n"
        "x.masked_fill_(torch.arange(x.shape[1], device=x.device) < n[:, None], 0)\nreturn x",
        "a length for each row of `x`",
    ),
    "a mask of more rows than are filled": (
        "m = torch.zeros(6, 3, dtype=torch.bool, device=n.device)\nfor i in range(2):\n    m[i, : n[i]] = True\nreturn m",
        "m = torch.zeros(6, 3, dtype=torch.bool, device=n.device)\n"
        "m[:2].masked_fill_(torch.arange(m.shape[1], device=m.device) < n[:2, None], True)\nreturn m",
        "a length for each row of `m[:2]`",
    ),
}


@pytest.mark.parametrize(("before", "after", "assumed"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str, assumed: str) -> None:
    expect_fixed(outcome(body(before), "XLA206"), body(after), "unsafe", assumed)
