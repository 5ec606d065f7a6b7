"""XLA602: operations that run on the CPU, and those that XLA has kernels for."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome
from tests.fixes.functions import TORCH

LEFT = {
    "edges of which nothing is known": ("return torch.searchsorted(n, x)", "not known to be a tensor"),
    "values of which nothing is known": ("return torch.searchsorted(x, unknown(y))", "not known to be a tensor"),
    "an order of its own": ("return torch.searchsorted(x, y, sorter=x.argsort())", "no kernel"),
    "a side that may be either": ("return torch.bucketize(x, y, right=n > 1)", "no kernel"),
    "another dtype": ("return torch.bucketize(x, y, out_int32=True)", "no kernel"),
    "what is drawn, and read": ("return torch.multinomial(x, 3).tolist()", "no kernel"),
    "what is read later": ("z = (x + y).median()\n    return z.item()", "computed more than once"),
    "what is read of two": ("return torch.isin(x, unknown()).tolist()", "no kernel"),
    "a median of what is long": ("return (x + y * 2).median()", "computed more than once"),
    "a cross product along any axis": ("return torch.cross(x, y)", "pass `dim`"),
    "a cross product that is long when written out": (
        "first_vectors_of_all = second_vectors_of_all = x\n    return torch.cross(first_vectors_of_all, second_vectors_of_all, dim=1)",
        "write a function",
    ),
    "a minimum that a comment explains": (
        "# fmin, since missing values are NaN\n    return torch.fmin(x, y)",
        "a comment says why",
    ),
    "a cross product of what is computed": ("return torch.linalg.cross(x + 1, y)", "computed more than once"),
    "a threshold that is not known": ("return F.huber_loss(x, y, delta=n)", "no kernel"),
    "weights": ("return F.huber_loss(x, y, weight=y)", "no kernel"),
    "a threshold in its place": ("return F.huber_loss(x, y, 'mean', 2.0)", "by keyword"),
    "half of a loss": ("return 1 - F.huber_loss(x, y, delta=0.5)", "beta=delta"),
    "what has no other form": ("return torch.fft.rfft(x)", "no kernel"),
    "a comment within": ("return torch.isin(\n        x,\n        y,  # the known ones\n    )", "no kernel"),
    "arguments from elsewhere": ("return torch.isin(*[x, y])", "no kernel"),
    "something that may be a list": ("return torch.isin(x, unknown())", "no kernel"),
}

MADE = {
    "places among edges": (
        "return torch.bucketize(x, y)",
        "return (y < x[..., None]).sum(-1)",
        "memory is enough",
    ),
    "on the right": ("return torch.bucketize(x, y, right=True)", "return (y <= x[..., None]).sum(-1)", "NaN"),
    "the right side": (
        "return torch.searchsorted(x, y, side='right')",
        "return (x[..., None, :] <= y[..., None]).sum(-1)",
        "`y` has a dimension",
    ),
    "a row of edges": (
        "edges = torch.linspace(0.0, 1.0, 9, device=x.device)\n    return torch.searchsorted(edges, y - 1)",
        "edges = torch.linspace(0.0, 1.0, 9, device=x.device)\n    return (edges < (y - 1)[..., None]).sum(-1)",
        "memory is enough",
    ),
    "the place of a number": ("return torch.searchsorted(x, 0.5)", "return (x < 0.5).sum(-1)", "NaN"),
    "membership": ("return torch.isin(x, y)", "return (x[..., None] == y.flatten()).any(-1)", "memory"),
    "no membership": (
        "return torch.isin(x, torch.arange(3), invert=True)",
        "return (x[..., None] != torch.arange(3)).all(-1)",
        "memory",
    ),
    "one number": ("return ~torch.isin(x, 3)", "return ~(x == 3)", ""),
    "the middle": (
        "return x.median()",
        "return x.flatten().kthvalue((x.numel() + 1) // 2).values",
        "equal elements",
    ),
    "the middle, which is read": (
        "y[0] = x.median().item()\n    return y",
        "y[0] = x.cpu().median().item()\n    return y",
        "",
    ),
    "the middle of a sum, as a number": (
        "y[0] = float(torch.median(x + y * 2))\n    return y",
        "y[0] = float(torch.median((x + y * 2).cpu()))\n    return y",
        "",
    ),
    "what has no other form, which is read": (
        "print(x.histc(bins=4).tolist())\n    return y",
        "print(x.cpu().histc(bins=4).tolist())\n    return y",
        "",
    ),
    "the middle of each row": (
        "return torch.median(x, -1, keepdim=True)[0]",
        "return x.kthvalue((x.shape[-1] + 1) // 2, -1, True)[0]",
        "equal elements",
    ),
    "the larger": ("return torch.fmax(x, y)", "return torch.maximum(x, y)", "NaN"),
    "the smaller": ("return x.fmin(y)", "return x.minimum(y)", "NaN"),
    "Huber's loss": ("return F.huber_loss(x, y)", "return F.smooth_l1_loss(x, y)", "`x` and `y` have one dtype"),
    "Huber's loss of one dtype": (
        "z = x.float()\n    return F.huber_loss(z, z * 2)",
        "z = x.float()\n    return F.smooth_l1_loss(z, z * 2)",
        "",
    ),
    "with a threshold of one": (
        "return F.huber_loss(x, y, reduction='none', delta=1)",
        "return F.smooth_l1_loss(x, y, reduction='none', beta=1)",
        "`x` and `y` have one dtype",
    ),
    "with another": (
        "return F.huber_loss(x, y, delta=0.5)",
        "return 0.5 * F.smooth_l1_loss(x, y, beta=0.5)",
        "last digit",
    ),
    "a cross product": (
        "return -torch.linalg.cross(x, y)",
        "return -(x.roll(-1, -1) * y.roll(-2, -1) - x.roll(-2, -1) * y.roll(-1, -1))",
        "last digit",
    ),
    "a cross product along an axis": (
        "z = torch.cross(x, y, dim=1)\n    return z",
        "z = x.roll(-1, 1) * y.roll(-2, 1) - x.roll(-2, 1) * y.roll(-1, 1)\n    return z",
        "last digit",
    ),
    "a sum without NaN": ("return x.nansum(dim=1)", "return x.masked_fill(x.isnan(), 0).sum(dim=1)", ""),
    "a sum by the function": ("return torch.nansum(x)", "return torch.sum(x.masked_fill(x.isnan(), 0))", ""),
}


@pytest.mark.parametrize("case", LEFT)
def test_left_alone(case: str) -> None:
    body, why = LEFT[case]
    expect_left_alone(outcome(TORCH.format(body=body), "XLA602"), why)


@pytest.mark.parametrize("case", MADE)
def test_rewritten(case: str) -> None:
    body, after, assumed = MADE[case]
    expect_fixed(
        outcome(TORCH.format(body=body), "XLA602"), TORCH.format(body=after), "unsafe" if assumed else "safe", assumed
    )
