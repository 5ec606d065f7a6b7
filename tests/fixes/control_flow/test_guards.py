"""XLA101: conditions that ask whether a mask masks anything."""

from __future__ import annotations

import pytest

from tests.fixes.control_flow.programs import module
from tests.fixes.fixing import append_indented, expect_fixed, outcome


def program(code: str) -> str:
    return append_indented(
        "import torch\n\nSEEN = []\n\n\n@torch.compile\n"
        "def run(x: torch.Tensor, mask: torch.Tensor, n: int = 6) -> torch.Tensor | None:\n",
        code,
    )


RETURNED = {
    "the mask": ("if mask.all():\n    return None\nreturn mask", "return mask"),
    "a part of it": (
        "if torch.all(mask == 1):\n    return None\nreturn mask[:, -n:].contiguous()",
        "return mask[:, -n:].contiguous()",
    ),
    "with what the host knows": ("if n > 1 and mask.all():\n    return None\nreturn mask.bool()", "return mask.bool()"),
    "code in front": ("mask = mask > 0\nif mask.all():\n    return None\nreturn mask", "mask = mask > 0\nreturn mask"),
}

LEFT_ALONE = {
    "another mask": "if (x > 0).all():\n    return None\nreturn mask",
    "a part that is asked": "if mask[:, -1].all():\n    return None\nreturn mask",
    "any": "if mask.any():\n    return None\nreturn mask",
    "not all": "if not mask.all():\n    return None\nreturn mask",
    "along a dimension": "if mask.all(0).any():\n    return None\nreturn mask",
    "something else than None": "if mask.all():\n    return x\nreturn mask",
    "something made of it": "if mask.all():\n    return None\nreturn x * mask",
    "its count": "if mask.all():\n    return None\nreturn mask.sum()",
    "the mask turned": "if mask.all():\n    return None\nreturn ~mask",
    "no mask": "if x.all():\n    return None\nreturn x",
    "code behind": "if mask.all():\n    return None\nmask = mask * 2\nreturn mask",
    "nothing behind": "if mask.all():\n    return None",
    "an else": "if mask.all():\n    return None\nelse:\n    mask = mask * 2\nreturn mask",
    "more than a return": "if mask.all():\n    SEEN.append(1)\n    return None\nreturn mask",
    "or what the host knows": "if n > 1 or mask.all():\n    return None\nreturn mask",
}


@pytest.mark.parametrize(("before", "after"), RETURNED.values(), ids=RETURNED)
def test_the_mask_is_returned(before: str, after: str) -> None:
    expect_fixed(
        outcome(program(before), "XLA101"),
        program(after),
        "unsafe",
        "the caller treats `mask` that is true everywhere like None",
    )


@pytest.mark.parametrize("before", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(before: str) -> None:
    assert "Return `mask`" not in outcome(program(before), "XLA101").message


def test_what_the_host_knows_beside_a_tensor() -> None:
    code = "if n > 1 and (n < 4 or mask.all()):\n    x = x * 2\nreturn x"
    made = outcome(program(code), "XLA101")
    assert "the host knows `n < 4`, and a tensor decides as well" in made.reason


UNGUARDED = {
    "a guard around a store into rows": (
        "x = x.clone()\nrows = x.sum(-1) > 0\nif rows.any():\n    x[rows, :2] = 0.0\nreturn x",
        "x = x.clone()\nrows = x.sum(-1) > 0\nx[rows, :2] = 0.0\nreturn x",
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
    "a guard whose other side has a gradient": (
        "mask = x > 0\nif not mask.all():\n    x = torch.where(mask, x, y)\nreturn x",
        "mask = x > 0\nx = torch.where(mask, x, y)\nreturn x",
        "the gradient of `y` is finite",
    ),
}


@pytest.mark.parametrize(("before", "after"), UNGUARDED.values(), ids=UNGUARDED)
def test_unguarded(before: str, after: str) -> None:
    expect_fixed(outcome(module(before), "XLA101"), module(after), "safe")


@pytest.mark.parametrize(("before", "after", "assumed"), UNGUARDED_UNSAFELY.values(), ids=UNGUARDED_UNSAFELY)
def test_unguarded_unsafely(before: str, after: str, assumed: str) -> None:
    expect_fixed(outcome(module(before), "XLA101"), module(after), "unsafe", assumed)


def test_a_mask_that_masks_nothing_is_kept() -> None:
    body = "mask = x > 0\nif ok and mask.all():\n    mask = None\nreturn x, mask"
    expect_fixed(
        outcome(module(body), "XLA101"), module("mask = x > 0\nreturn x, mask"), "unsafe", "gives what None gives"
    )
