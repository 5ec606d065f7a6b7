"""XLA101: conditions that ask whether a mask masks anything."""

from __future__ import annotations

import pytest

from tests.fixes.control_flow.programs import module
from tests.fixes.fixing import expect_fixed, expect_unchanged, outcome

GUARDED = {
    "what would wait at each step": "rows = y.sum(-1) > 0\nif rows.any():\n    x[1:][rows] = 0.0\nreturn x",
    "a part of rows of any rank": "rows = x.sum(-1) > 0\nif rows.any():\n    x[rows, :2] = 0.0\nreturn x",
}
UNGUARDED = {
    "a guard around a store into rows": (
        "x = x.clone()\nrows = x.sum(-1) > 0\nif rows.any():\n    x[rows] = 0.0\nreturn x",
        "x = x.clone()\nrows = x.sum(-1) > 0\nx[rows] = 0.0\nreturn x",
    ),
    "a guard around a fill": (
        "mask = x > 0\nif mask.any():\n    x = x.masked_fill(mask, 0.0)\nreturn x",
        "mask = x > 0\nx = x.masked_fill(mask, 0.0)\nreturn x",
    ),
    "a guard of torch's own": (
        "mask = x > 0\nif torch.any(mask):\n    x = torch.where(mask, 0.0, x)\nreturn x",
        "mask = x > 0\nx = torch.where(mask, 0.0, x)\nreturn x",
    ),
    "a guard by count": (
        "mask = x > 0\nif mask.sum() > 0:\n    x = x.masked_fill(mask, 0.0)  # none left\nreturn x",
        "mask = x > 0\nx = x.masked_fill(mask, 0.0)  # none left\nreturn x",
    ),
    "a guard against all": (
        "mask = x > 0\nif not mask.all():\n    x = torch.where(mask, x, 0.0)\nreturn x",
        "mask = x > 0\nx = torch.where(mask, x, 0.0)\nreturn x",
    ),
    "a guard around a store": (
        "x = x.clone()\nif torch.isnan(x).any():\n    x[torch.isnan(x)] = 0.0\nreturn x",
        "x = x.clone()\nx[torch.isnan(x)] = 0.0\nreturn x",
    ),
    "a guard with the host's part": (
        "mask = x > 0\nif ok and mask.any():\n    x = x.masked_fill(mask, 0.0)\nreturn x",
        "mask = x > 0\nif ok:\n    x = x.masked_fill(mask, 0.0)\nreturn x",
    ),
}
UNGUARDED_UNSAFELY = {
    "what is another mask by then keeps its condition": (
        "m = y > 0\nif m.any():\n    m = y < 0\n    x = x.masked_fill(m, 0.0)\nreturn x",
        "m = y > 0\ncondition = m.any()\nm = y < 0\nx = torch.where(condition, x.masked_fill(m, 0.0), x)\nreturn x",
        "assumes",
    ),
    "a choice by a part of the mask keeps its condition": (
        "mask = x > 0\nif mask.any():\n    x = torch.where(mask[:1], 0.0, x)\nreturn x",
        "mask = x > 0\nx = torch.where(mask.any(), torch.where(mask[:1], 0.0, x), x)\nreturn x",
        "assumes",
    ),
    "a guard around a choice by the mask as rows": (
        "rows = x.sum(-1) > 0\nif rows.any():\n    x = torch.where(rows.unsqueeze(-1), 0.0, x)\nreturn x",
        "rows = x.sum(-1) > 0\nx = torch.where(rows.unsqueeze(-1), 0.0, x)\nreturn x",
        "broadcasts to the shape of `x`",
    ),
    "a guard against all around a fill of rows": (
        "rows = x.sum(-1) > 0\nif not rows.all():\n    x = x.masked_fill(~rows[..., None], 0.0)\nreturn x",
        "rows = x.sum(-1) > 0\nx = x.masked_fill(~rows[..., None], 0.0)\nreturn x",
        "broadcasts to the shape of `x`",
    ),
    "a guard whose other side has a gradient": (
        "mask = x > 0\nif not mask.all():\n    x = torch.where(mask, x, y)\nreturn x",
        "mask = x > 0\nx = torch.where(mask, x, y)\nreturn x",
        "the gradient of `y` is finite",
    ),
}


@pytest.mark.parametrize("body", GUARDED.values(), ids=GUARDED)
def test_guarded(body: str) -> None:
    expect_unchanged(module(body), "XLA101")


@pytest.mark.parametrize(("before", "after"), UNGUARDED.values(), ids=UNGUARDED)
def test_unguarded(before: str, after: str) -> None:
    expect_fixed(outcome(module(before), "XLA101"), module(after), "safe")


@pytest.mark.parametrize(("before", "after", "assumed"), UNGUARDED_UNSAFELY.values(), ids=UNGUARDED_UNSAFELY)
def test_unguarded_unsafely(before: str, after: str, assumed: str) -> None:
    expect_fixed(outcome(module(before), "XLA101"), module(after), "unsafe", assumed)
