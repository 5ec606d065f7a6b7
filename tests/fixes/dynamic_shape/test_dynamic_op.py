"""XLA209: operations without a rewrite, which say why."""

from __future__ import annotations

from tests.fixes.fixing import outcome

TEXT = "import torch\n\n\ndef f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:\n    return torch.combinations(y)\n"


def test_left_with_a_reason() -> None:
    made = outcome(TEXT, "XLA209")
    assert made.text == TEXT
    assert made.reason
