"""XLA201, XLA204: targets of the CTC loss that a mask packs."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import body, expect_fixed, expect_left_alone, outcome

HEAD = "m = t >= 0\n"
LOSS = "return nn.functional.ctc_loss(x, y, n, k)"
LEFT_ALONE = {
    "lengths from elsewhere": (f"{HEAD}k = n * 2\ny = t.masked_select(m)\n{LOSS}", "along each row"),
    "lengths of another mask": (f"{HEAD}k = (t > 0).sum(-1)\ny = t.masked_select(m)\n{LOSS}", "along each row"),
    "counted along columns": (f"{HEAD}k = m.sum(0)\ny = t.masked_select(m)\n{LOSS}", "along each row"),
    "a mask that changes in between": (
        f"{HEAD}k = m.sum(-1)\nm = t > 0\ny = t.masked_select(m)\n{LOSS}",
        "along each row",
    ),
    "targets that are used elsewhere": (
        f"{HEAD}k = m.sum(-1)\ny = t.masked_select(m)\nz = y * 2\nreturn nn.functional.ctc_loss(x, y, n, k), z",
        "",
    ),
    "another loss": (f"{HEAD}y = t.masked_select(m)\nreturn nn.functional.nll_loss(x, y)", ""),
}
PADDED = "y = t.gather(-1, m.int().argsort(dim=-1, descending=True, stable=True))"
UNSAFE = {
    "by a name": (
        f"{HEAD}k = m.sum(-1)\ny = t.masked_select(m)\n{LOSS}",
        f"{HEAD}k = m.sum(-1)\n{PADDED}\n{LOSS}",
    ),
    "counted afterwards": (
        f"{HEAD}y = t.masked_select(m)\nk = m.sum(dim=1)\n{LOSS}",
        f"{HEAD}{PADDED}\nk = m.sum(dim=1)\n{LOSS}",
    ),
    "by an index": (
        f"{HEAD}k = m.sum(-1)\ny = t[m]\n{LOSS}",
        f"{HEAD}k = m.sum(-1)\n{PADDED}\n{LOSS}",
    ),
}


@pytest.mark.parametrize(("code", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(code: str, why: str) -> None:
    expect_left_alone(outcome(body(code), "XLA204"), why)


@pytest.mark.parametrize(("before", "after"), UNSAFE.values(), ids=UNSAFE)
def test_unsafe(before: str, after: str) -> None:
    code = "XLA201" if "t[m]" in before else "XLA204"
    expect_fixed(outcome(body(before), code), body(after), "unsafe", "has two dimensions")
