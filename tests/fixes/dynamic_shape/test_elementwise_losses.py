"""XLA201: losses of the pairs of elements that a mask selects."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, outcome

HEAD = """import torch
import torch.nn.functional as F
from torch import nn


def f(x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor, weights: torch.Tensor, n: int) -> torch.Tensor:
    keep = y > 0
    other = x > 0
    rows = mask > 0
    held = x.view(-1, n)
    mean = nn.MSELoss()
    logits = nn.BCEWithLogitsLoss()
    total = nn.L1Loss(reduction="sum")
    each = nn.MSELoss(reduction="none")
    wide = nn.HuberLoss(delta=0.5)
    heavy = nn.BCEWithLogitsLoss(pos_weight=weights)
    between = nn.BCELoss()
    {body}
"""

CHANGED = {
    "a function": (
        "return F.mse_loss(x[keep], y[keep])",
        'return torch.where(keep, F.mse_loss(x, y, reduction="none"), 0.0).sum() / keep.sum()',
    ),
    "a sum": (
        'return F.l1_loss(x[keep], y[keep], reduction="sum")',
        'return torch.where(keep, F.l1_loss(x, y, reduction="none"), 0.0).sum()',
    ),
    "an object": (
        "return mean(x[keep], y[keep])",
        'return torch.where(keep, F.mse_loss(x, y, reduction="none"), 0.0).sum() / keep.sum()',
    ),
    "an object that sums": (
        "return total(x[keep], y[keep]) * 2",
        'return torch.where(keep, F.l1_loss(x, y, reduction="none"), 0.0).sum() * 2',
    ),
    "an object with a width": (
        "return wide(x[keep], y[keep])",
        'return torch.where(keep, F.huber_loss(x, y, delta=0.5, reduction="none"), 0.0).sum() / keep.sum()',
    ),
    "by names, converted": (
        "a = x[keep]\n    b = y[keep]\n    return logits(a, b.float())",
        "a = x\n    b = y\n    return torch.where(keep, F.binary_cross_entropy_with_logits(a, b.float(),"
        ' reduction="none"), 0.0).sum() / keep.sum()',
    ),
    "within a sum": (
        "return 1 - F.mse_loss(x[keep], y[keep])",
        'return 1 - (torch.where(keep, F.mse_loss(x, y, reduction="none"), 0.0).sum() / keep.sum())',
    ),
    "viewed alike": (
        "some = mask.view(-1, n) == 1\n    return F.mse_loss(x.view(-1, n)[some], y[some])",
        "some = mask.view(-1, n) == 1\n"
        '    return torch.where(some, F.mse_loss(x.view(-1, n), y, reduction="none"), 0.0).sum() / some.sum()',
    ),
}

LEFT = {
    "rows": "return F.mse_loss(x[rows], y[rows])",
    "another mask": "return F.mse_loss(x[keep], y[other])",
    "a mask without a name": "return F.mse_loss(x[y > 0], y[y > 0])",
    "the loss of each": 'return F.mse_loss(x[keep], y[keep], reduction="none")',
    "an object that gives each": "return each(x[keep], y[keep])",
    "weights": "return F.binary_cross_entropy_with_logits(x[keep], y[keep], weight=weights[keep])",
    "weights of an object": "return heavy(x[keep], y[keep])",
    "an old option": "return F.mse_loss(x[keep], y[keep], reduce=False)",
    "a reduction that is not known": "return F.mse_loss(x[keep], y[keep], reduction=n)",
    "defined on a part of the numbers": "return between(x[keep], y[keep])",
    "another loss": "return F.kl_div(x[keep], y[keep])",
    "one side": "return F.mse_loss(x[keep], y)",
    "another shape behind": "return F.mse_loss(x[keep].view(-1, n), y[keep].view(-1, n))",
    "something is added": "return F.mse_loss(x[keep] + 1, y[keep])",
    "read twice": "a = x[keep]\n    return F.mse_loss(a, y[keep]) + a.shape[0]",
    "changed in between": "a = x[keep]\n    x = x * 2\n    return F.mse_loss(a, y[keep])",
    "a mask that changes": "a = x[keep]\n    keep = keep & other\n    return F.mse_loss(a, y[keep])",
    "by position": "return F.mse_loss(x[keep], y[keep], None)",
}


@pytest.mark.parametrize(("before", "after"), CHANGED.values(), ids=CHANGED)
def test_changed(before: str, after: str) -> None:
    made = outcome(HEAD.replace("{body}", before), "XLA201")
    expect_fixed(made, HEAD.replace("{body}", after), "unsafe", "are finite")


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_left_alone(body: str) -> None:
    made = outcome(HEAD.replace("{body}", body), "XLA201")
    assert "Compute the loss of all" not in made.message
