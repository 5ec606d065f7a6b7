"""XLA209: operations without a rewrite, which say why."""

from __future__ import annotations

from tests.fixes.fixing import expect_unchanged

TEXT = "import torch\n\n\ndef f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:\n    return torch.combinations(y)\n"


def test_left_with_a_reason() -> None:
    expect_unchanged(TEXT, "XLA209")
