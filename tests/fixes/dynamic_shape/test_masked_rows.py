"""Rows that a mask selects, computed by layers and put back: which are computed for all."""

from __future__ import annotations

import textwrap

import pytest

from tests.fixes.fixing import expect_settled, fixed

HEAD = '''import torch
import torch.nn.functional as F
from torch import nn

ACTIVATIONS = {"silu": nn.SiLU()}


class Norm(nn.Module):
    """Divide each row by its size."""

    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, hidden):
        """Of one tensor."""
        dtype = hidden.dtype
        hidden = hidden.to(torch.float32)
        variance = hidden.pow(2).mean(-1, keepdim=True)
        hidden = hidden * torch.rsqrt(variance + self.eps)
        return self.weight * hidden.to(dtype)


class Gated(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate = nn.Linear(width, width)
        self.up = nn.Linear(width, width)
        self.act_fn = ACTIVATIONS["silu"]

    def forward(self, x):
        return self.act_fn(self.gate(x)) * F.layer_norm(self.up(x), (4,))


class Over(nn.Module):
    """What each row gives depends on the others."""

    def forward(self, x):
        return x - x.mean(0, keepdim=True)


class Mixing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attend = nn.MultiheadAttention(width, 1)

    def forward(self, x):
        return self.attend(x, x, x)[0]


class Deciding(nn.Module):
    def forward(self, x):
        if x.shape[0] > 2:
            return x * 2
        return x


class Counting(nn.Module):
    def forward(self, x):
        return x / x.shape[0]


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.mlp = Norm(width), Gated(width)
        self.linear, self.drop = nn.Linear(width, width), nn.Dropout(0.1)
        self.over, self.mixing, self.deciding, self.counting = Over(), Mixing(width), Deciding(), Counting()
        self.batch = nn.BatchNorm1d(width)
        self.kept = None

    def forward(self, x: torch.Tensor, given: torch.Tensor, ids: torch.Tensor):
        mask = ids == 3
        x = x * 2
'''

REWRITTEN = {
    "added": (
        "rows = self.norm(x[mask])\nrows = self.mlp(rows)\nx[mask] += rows\nreturn x",
        "rows = self.norm(x)\nrows = self.mlp(rows)\nx = torch.where(mask[..., None], x + rows, x)\nreturn x",
    ),
    "put back": (
        "x[mask] = self.linear(x[mask]).to(x.dtype)\nreturn x",
        "x = torch.where(mask[..., None], self.linear(x).to(x.dtype), x)\nreturn x",
    ),
    "subtracted, by two layers": (
        "x[~mask] -= self.linear(-self.norm(x[~mask]))\nreturn x",
        "x = torch.where((~mask)[..., None], x - self.linear(-self.norm(x)), x)\nreturn x",
    ),
    "scattered": (
        "x = x.masked_scatter(mask.unsqueeze(-1), self.linear(x[mask]))\nreturn x",
        "x = torch.where(mask.unsqueeze(-1), self.linear(x), x)\nreturn x",
    ),
    "scattered over another": (
        "out = given.masked_scatter(mask[..., None], self.norm(x[mask]) * 2)\nreturn out",
        "out = torch.where(mask[..., None], self.norm(x) * 2, given)\nreturn out",
    ),
    "each of two kinds": (
        "one = self.norm(x[mask])\ntwo = self.linear(x[~mask])\nx[mask] += one\nx[~mask] += two\nreturn x",
        "one = self.norm(x)\ntwo = self.linear(x)\nx = torch.where(mask[..., None], x + one, x)\n"
        "x = torch.where((~mask)[..., None], x + two, x)\nreturn x",
    ),
    "under another condition": (
        "if ids.ndim == 1:\n    x = x + self.mlp(x)\nelse:\n    x[mask] += self.linear(x[mask])\nreturn x",
        "if ids.ndim == 1:\n    x = x + self.mlp(x)\n"
        "else:\n    x = torch.where(mask[..., None], x + self.linear(x), x)\nreturn x",
    ),
    "elements under names": (
        "flat, table = x.flatten(), given.flatten()\ninside = flat > 0\nout = torch.zeros_like(flat)\n"
        "places = flat[inside].long()\nleft = (flat[inside] - table[places + 1]).abs()\nright = flat[inside] + left\n"
        "out[inside] = left / (left + right)\nreturn out",
        "flat, table = x.flatten(), given.flatten()\ninside = flat > 0\nout = torch.zeros_like(flat)\n"
        "places = flat.long()\nleft = (flat - table[(places + 1).clamp(0, table.shape[0] - 1)]).abs()\nright = flat + left\n"
        "out = torch.where(inside, left / torch.where(inside, left + right, 1), out)\nreturn out",
    ),
}

LEFT_ALONE = {
    "over the rows": "x[mask] += self.over(x[mask])\nreturn x",
    "attention": "x[mask] += self.mixing(x[mask])\nreturn x",
    "by their number": "x[mask] += self.deciding(x[mask])\nreturn x",
    "divided by their number": "x[mask] += self.counting(x[mask])\nreturn x",
    "statistics of the batch": "x[mask] += self.batch(x[mask])\nreturn x",
    "dropout": "x[mask] += self.drop(x[mask])\nreturn x",
    "a layer that is not known": "x[mask] += self.kept(x[mask])\nreturn x",
    "a function": "x[mask] += F.softmax(self.norm(x[mask]), 0)\nreturn x",
    "a size": "x[mask] += self.norm(x[mask]) * x[mask].shape[0]\nreturn x",
    "another mask": "x[mask] += self.norm(x[~mask])\nreturn x",
    "the mask changes": "rows = self.norm(x[mask])\nmask = ~mask\nx[mask] += rows\nreturn x",
    "the rows are returned": "rows = self.norm(x[mask])\nx[mask] += rows\nreturn x, rows",
    "the rows are read by another": "rows = self.norm(x[mask])\nx[mask] += rows\nreturn x * rows.sum()",
    "the rows are chosen from": "rows = self.norm(x[mask])\nx[mask] += rows[0]\nreturn x",
    "the rows change in place": "rows = self.norm(x[mask])\nrows += 1\nx[mask] += rows\nreturn x",
    "the rows go to a branch": "rows = self.norm(x[mask])\nif ids.ndim == 2:\n    x[mask] += rows\nreturn x",
    "the tensor is written into": "rows = self.norm(x[mask])\nx += 1\nx[mask] += rows\nreturn x",
    "the tensor is written into later": "given = given * 2\ngiven[mask] += self.norm(x[mask])\nx.mul_(2)\nreturn given, x",
    "the caller's tensor": "given[mask] += self.norm(given[mask])\nreturn given",
    "held elsewhere": "self.kept = x\nx[mask] += self.norm(x[mask])\nreturn x",
    "rows of no dimension": "flat = x.flatten()\npart = flat > 0\nflat[part] += self.linear(flat[part])\nreturn flat",
    "another name in a branch": "rows = self.norm(x[mask])\nif ids.ndim == 2:\n    rows = given\nx[mask] += rows\nreturn x",
    "a logarithm": "flat = x.flatten()\npart = flat > 0\nout = torch.zeros_like(flat)\n"
    "logs = torch.log(flat[part])\nout[part] = logs * 2\nreturn out",
    "a layer's rows divided by rows": "rows = self.norm(x[mask]) / x[mask]\nx[mask] += rows\nreturn x",
    "a table of two dimensions": "flat = x.flatten()\npart = flat > 0\nplaces = flat[part].long()\n"
    "flat[part] = given[places, 0]\nreturn flat",
    "a quotient": "x[mask] /= self.norm(x[mask])\nreturn x",
    "positions": "places = ids.argsort()\nx[places] += self.norm(x[places])\nreturn x",
    "scattered by another mask": "x = x.masked_scatter(~mask.unsqueeze(-1), self.norm(x[mask]))\nreturn x",
    "no layer, and the ranks are not known": "x[mask] += x[mask] * given[mask]\nreturn x",
}


def program(code: str) -> str:
    return HEAD + textwrap.indent(f"{code}\n", " " * 8)


@pytest.mark.parametrize(("before", "after"), REWRITTEN.values(), ids=REWRITTEN)
def test_all_rows_are_computed(before: str, after: str) -> None:
    expect_settled(program(before), program(after))
    assert fixed(program(before), unsafe=False)[0] == program(before)


@pytest.mark.parametrize("code", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(code: str) -> None:
    text, done = fixed(program(code))
    assert "torch.where(" not in text, text
    assert not done.report.failures


def test_what_is_assumed() -> None:
    """What a layer does is read; only of an activation that is looked up its name is the one sign."""
    _, done = fixed(program("x[mask] += self.norm(x[mask])\nx[~mask] += self.mlp(x[~mask])\nreturn x"), unsafe=False)
    said = {one.fix.message for one in done.report.findings if one.fix is not None}
    assert any("`self.mlp` computes each row by itself" in one for one in said)
    assert not any("`self.norm` computes" in one for one in said)
    assert all("its gradient are finite where" in one and "has one dimension more than" in one for one in said)
