"""XLA201: the cross entropy of what a mask selects."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_unchanged, outcome

HEAD = """import torch
import torch.nn.functional as F
from torch import nn


def f(logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor, n: int) -> torch.Tensor:
    keep = mask > 0
    loss = nn.CrossEntropyLoss()
    flat = labels.view(-1)
    {body}
"""

CHANGED = {
    "rows of any dimensions": (
        "return F.cross_entropy(logits[keep], labels[keep])",
        "return F.cross_entropy(logits.flatten(0, -2), torch.where(keep, labels, -100).flatten())",
    ),
    "rows of one dimension": (
        "return F.cross_entropy(logits.view(-1, n)[keep], flat[keep])",
        "return F.cross_entropy(logits.view(-1, n), torch.where(keep, flat, -100))",
    ),
    "made flat behind": (
        "return loss(logits[keep].view(-1, n), labels[keep].view(-1))",
        "return loss(logits.view(-1, n), torch.where(keep, labels, -100).view(-1))",
    ),
    "another label is ignored": (
        'return F.cross_entropy(logits[keep].view(-1, n), labels[keep].view(-1), ignore_index=0, reduction="sum")',
        "return F.cross_entropy(logits.view(-1, n), torch.where(keep, labels, 0).view(-1), ignore_index=0,"
        ' reduction="sum")',
    ),
    "by names": (
        "rows = logits.view(-1, n)[keep]\n    wanted = labels.view(-1)[keep]\n    return loss(rows, wanted)",
        "rows = logits.view(-1, n)\n    wanted = torch.where(keep, labels.view(-1), -100)\n    return loss(rows, wanted)",
    ),
    "made where it is called": (
        "return nn.CrossEntropyLoss(ignore_index=-1)(logits.view(-1, n)[keep], labels.view(-1)[keep])",
        "return nn.CrossEntropyLoss(ignore_index=-1)(logits.view(-1, n), torch.where(keep, labels.view(-1), -1))",
    ),
}
LEFT = {
    "the loss of each row": 'return F.cross_entropy(logits[keep], labels[keep], reduction="none")',
    "the loss of each row, by the class": 'return nn.CrossEntropyLoss(reduction="none")(logits[keep], labels[keep])',
    "another mask": "return F.cross_entropy(logits[keep], labels[mask > 1])",
    "only the logits": "return F.cross_entropy(logits[keep], labels)",
    "probabilities": "return F.cross_entropy(logits[keep], labels.float()[keep])",
    "rows are used again": "rows = logits[keep]\n    return F.cross_entropy(rows, labels[keep]) + rows.std()",
    "the mask changes": (
        "rows = logits[keep]\n    keep = mask > 1\n    wanted = labels[keep]\n    return F.cross_entropy(rows, wanted)"
    ),
    "an unknown label is ignored": "return F.cross_entropy(logits[keep], labels[keep], ignore_index=n)",
    "another loss": "return F.nll_loss(logits[keep], labels[keep])",
    "unknown options": "return F.cross_entropy(logits[keep], labels[keep], size_average=False)",
    "something between": "return F.cross_entropy(logits[keep].softmax(0), labels[keep])",
}


@pytest.mark.parametrize(("before", "after"), CHANGED.values(), ids=CHANGED)
def test_changed(before: str, after: str) -> None:
    expect_fixed(outcome(HEAD.format(body=before), "XLA201"), HEAD.format(body=after), "unsafe")


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_left_alone(body: str) -> None:
    expect_unchanged(HEAD.format(body=body), "XLA201")


HELD = """import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
        self.other = nn.NLLLoss()

    def forward(self, logits: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor, n: int):
        keep = mask > 0
        rows = logits.view(-1, n)
        flat = labels.view(-1)
        return {body}
"""


def test_a_criterion_that_an_object_holds() -> None:
    expect_fixed(
        outcome(HELD.replace("{body}", "self.criterion(rows[keep], flat[keep])"), "XLA201"),
        HELD.replace("{body}", "self.criterion(rows, torch.where(keep, flat, self.criterion.ignore_index))"),
        "unsafe",
        "`self.criterion` gives a mean or a sum",
    )


@pytest.mark.parametrize("body", ["self.other(rows[keep], flat[keep])", "self.criterion(rows[keep], flat)"])
def test_other_criteria_are_left_alone(body: str) -> None:
    assert "Ignore what" not in outcome(HELD.replace("{body}", body), "XLA201").message
