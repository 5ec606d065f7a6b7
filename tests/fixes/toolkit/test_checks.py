"""Checks of values: which may be dropped, and which have to stay."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import append_indented, expect_fixed, expect_left_alone, outcome

TRACED = "import torch\n\n\n@torch.compile\ndef f(x: torch.Tensor, image_shape: torch.Tensor) -> torch.Tensor:\n"
HOST = "import torch\n\n\ndef f(x: torch.Tensor) -> torch.Tensor:\n"
CONSTRUCTOR = (
    "import torch\n\n\nclass Box:\n    def __init__(self, weight: torch.Tensor) -> None:\n{check}"
    "        self.weight = weight\n\n\n@torch.compile\ndef f(x: torch.Tensor) -> torch.Tensor:\n    return Box(x).weight\n"
)

KEPT = {
    "in a constructor": (
        CONSTRUCTOR.format(check="        assert (weight > 0).all()\n"),
        "where the object is made",
    ),
    "in a constructor, raising": (
        CONSTRUCTOR.format(check="        if (weight < 0).any():\n            raise ValueError\n"),
        "where the object is made",
    ),
    "at a function's entry": (
        append_indented(HOST, "assert (x > 0).all()\nreturn x * 2"),
        "not known to run in traced code",
    ),
    "at a function's entry, raising": (
        append_indented(HOST, "if (x < 0).any():\n    raise ValueError\nreturn x * 2"),
        "not known to run in traced code",
    ),
    "of a shape that is annotated as a tensor": (
        append_indented(TRACED, "assert image_shape[0] == 3\nreturn x * 2"),
        "may be a shape",
    ),
    "of a shape, raising": (
        append_indented(TRACED, "if image_shape[0] > x.shape[0]:\n    raise ValueError\nreturn x * 2"),
        "may be a shape",
    ),
    "in front of a line that waits": (
        append_indented(TRACED, "assert (x > 0).all()\ny = x.nonzero()\nreturn y"),
        "waits for the device anyway",
    ),
    "in front of a condition": (
        append_indented(TRACED, "assert (x > 0).all()\nif x.sum() > 1:\n    x = x * 2\nreturn x"),
        "waits for the device anyway",
    ),
}
DROPPED = {
    "in traced code": (
        append_indented(TRACED, "assert (x > 0).all()\nreturn x * 2"),
        append_indented(TRACED, "return x * 2"),
    ),
    "of values beside a tensor's shape": (
        append_indented(TRACED, "assert x.max() < x.shape[0]\nreturn x * 2"),
        append_indented(TRACED, "return x * 2"),
    ),
    "raising": (
        append_indented(TRACED, "if (x < 0).any():\n    raise ValueError\nreturn x * 2"),
        append_indented(TRACED, "return x * 2"),
    ),
}


@pytest.mark.parametrize(("before", "why"), KEPT.values(), ids=KEPT)
def test_a_check_that_stays(before: str, why: str) -> None:
    expect_left_alone(outcome(before, "XLA103"), why)


@pytest.mark.parametrize(("before", "after"), DROPPED.values(), ids=DROPPED)
def test_a_check_that_goes(before: str, after: str) -> None:
    expect_fixed(outcome(before, "XLA103"), after, "unsafe", "nothing checks any more")
