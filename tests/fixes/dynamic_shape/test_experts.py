"""Expert loops become static: what is rewritten, and what is left with a reason."""

from __future__ import annotations

import textwrap

import pytest

from tests.fixes.fixing import append_indented, expect_settled, fixed

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn


class Experts(nn.Module):
    def __init__(self, n: int, width: int) -> None:
        super().__init__()
        self.n = n
        self.up = nn.Parameter(torch.randn(n, width, width))
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(n))

    def forward(self, x: torch.Tensor, choice: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
"""

REWRITTEN = {
    "over the experts that were hit": (
        """
        total = torch.zeros_like(x)
        with torch.no_grad():
            mask = F.one_hot(choice, num_classes=self.n).permute(2, 1, 0)
            hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()
        for expert in hit:
            expert = expert[0]
            position, token = torch.where(mask[expert])
            out = F.linear(x[token], self.up[expert])  # all of one expert
            out = out * weights[token, position, None]
            total.index_add_(0, token, out.to(total.dtype))
        return total
        """,
        """
        total = torch.zeros_like(x)
        with torch.no_grad():
            mask = F.one_hot(choice, num_classes=self.n).permute(2, 1, 0)
        for expert in range(self.n):
            routed = mask[expert].bool()
            out = F.linear(x, self.up[expert])  # all of one expert
            weight = torch.where(routed.T, weights, 0).sum(-1, keepdim=True)
            out = out * weight
            total += torch.where(routed.any(0)[:, None], out.to(total.dtype), 0)
        return total
        """,
    ),
    "a class for what goes to no expert": (
        """
        total = torch.zeros_like(x)
        mask = F.one_hot(choice, num_classes=self.n + 1)
        mask = mask.permute(2, 1, 0)
        # only those with tokens
        hit = mask.sum(dim=(-1, -2)).nonzero()

        for expert in hit:
            expert = expert.item()
            if expert == self.n:
                continue
            position, token = torch.where(mask[expert])
            if token.numel() == 0:
                continue
            rows = x[token]
            total.index_add_(0, token, self.experts[expert](rows) * weights[token, position, None])
        return total
        """,
        """
        total = torch.zeros_like(x)
        mask = F.one_hot(choice, num_classes=self.n + 1)
        mask = mask.permute(2, 1, 0)

        for expert in range(self.n):
            routed = mask[expert].bool()
            rows = x
            weight = torch.where(routed.T, weights, 0).sum(-1, keepdim=True)
            total += torch.where(routed.any(0)[:, None], self.experts[expert](rows) * weight, 0)
        return total
        """,
    ),
    "over all experts, tokens first": (
        """
        total = torch.zeros_like(x)
        for expert in range(self.n):
            token, position = torch.where(choice == expert)
            total[token] += weights[token, position, None] * self.experts[expert](x[token])
        return total
        """,
        """
        total = torch.zeros_like(x)
        for expert in range(self.n):
            routed = choice == expert
            weight = torch.where(routed, weights, 0).sum(-1, keepdim=True)
            total += torch.where(routed.any(1)[:, None], weight * self.experts[expert](x), 0)
        return total
        """,
    ),
    "by lists, rows as vectors of one index": (
        """
        total = torch.zeros_like(x)
        mask = F.one_hot(choice, num_classes=self.n).permute(2, 1, 0)
        for expert in range(self.n):
            position, token = torch.where(mask[expert])
            if token.shape[0] == 0:
                continue
            tokens = token.tolist()
            positions = position.tolist()
            rows = x[None, tokens].reshape(-1, x.shape[-1])
            out = self.experts[expert](rows) * weights[tokens, positions, None]
            total.index_add_(0, token, out)
        return total
        """,
        """
        total = torch.zeros_like(x)
        mask = F.one_hot(choice, num_classes=self.n).permute(2, 1, 0)
        for expert in range(self.n):
            routed = mask[expert].bool()
            rows = x[None].reshape(-1, x.shape[-1])
            weight = torch.where(routed.T, weights, 0).sum(-1, keepdim=True)
            out = self.experts[expert](rows) * weight
            total += torch.where(routed.any(0)[:, None], out, 0)
        return total
        """,
    ),
}

# Rows that are made again of `x[None, token]`: they are `x` where that was made with the same size.
FLATTENED = {
    "by the size that they have": ("x = x.view(-1, width)", "x[None, token].reshape(-1, width)", "x"),
    "by a view": (
        "x = x.reshape(-1, x.shape[-1])",
        "x[None, token].view(-1, x.shape[-1])",
        "x[None].view(-1, x.shape[-1])",
    ),
    "by another size": ("x = x.view(-1, width)", "x[None, token].reshape(-1, 4)", "x[None].reshape(-1, 4)"),
    "by a size of the same name": (
        "x = x.view(-1, width)\n        width = 2 * width",
        "x[None, token].reshape(-1, width)",
        "x[None].reshape(-1, width)",
    ),
    "of what may be anything": ("pass", "x[None, token].reshape(-1, width)", "x[None].reshape(-1, width)"),
    "to more dimensions": (
        "x = x.view(-1, width)",
        "x[None, token].reshape(-1, width, 1)",
        "x[None].reshape(-1, width, 1)",
    ),
}
COMMENTED = """
        width = x.shape[-1]
        {made}
        total = torch.zeros_like(x)
        mask = F.one_hot(choice, num_classes=self.n).permute(2, 1, 0)
        for expert in range(self.n):
            {where}
            # the rows of each token, of one expert
            rows = {rows}
{sum}
        return total
"""
PICKED = """            out = self.experts[expert](rows) * weights[token, position, None]
            # `index_add_` takes no list,
            # so this is `token` itself
            total.index_add_(0, token, out)"""
MASKED = """            weight = torch.where(routed.T, weights, 0).sum(-1, keepdim=True)
            out = self.experts[expert](rows) * weight
            total += torch.where(routed.any(0)[:, None], out, 0)"""

UP_TO = """
        total = torch.zeros_like(x)
        mask = F.one_hot(choice, num_classes=self.n).permute(2, 1, 0)
        hit = mask.sum(dim=(-1, -2)).nonzero()
        for expert in hit:
            expert = expert[0]
            position, token = torch.where(mask[expert])
"""

LEFT = {
    "tokens are counted": """
            rows = x[token] / token.shape[0]
            total.index_add_(0, token, self.experts[expert](rows) * weights[token, position, None])
        return total
        """,
    "rows see each other": """
            rows = x[token]
            rows = rows - rows.mean(0)
            total.index_add_(0, token, rows * weights[token, position, None])
        return total
        """,
    "what was a copy is changed in place": """
            rows = x[token]
            rows *= 2
            total.index_add_(0, token, rows * weights[token, position, None])
        return total
        """,
    "what was a copy is changed by a method": """
            rows = x[token]
            rows.clamp_(0)
            total.index_add_(0, token, rows * weights[token, position, None])
        return total
        """,
    "nothing is added up": """
            rows = self.experts[expert](x[token]) * weights[token, position, None]
        return rows
        """,
    "the last result is read": """
            rows = self.experts[expert](x[token]) * weights[token, position, None]
            total.index_add_(0, token, rows)
        return total + rows.sum()
        """,
    "written, not added": """
            total[token] = self.experts[expert](x[token]) * weights[token, position, None]
        return total
        """,
    "another dimension": """
            rows = self.experts[expert](x[token]) * weights[token, position, None]
            total.index_add_(1, token, rows)
        return total
        """,
    "tokens are collected": """
            kept.append(token)
            total.index_add_(0, token, x[token] * weights[token, position, None])
        return total
        """,
    "the weights are picked otherwise": """
            rows = self.experts[expert](x[token]) * weights[token, position].unsqueeze(-1)
            total.index_add_(0, token, rows * weights[token, position, None])
        return total
        """,
    "the experts that were hit are used again": """
            total.index_add_(0, token, x[token] * weights[token, position, None])
        return total / hit.shape[0]
        """,
}


def program(body: str) -> str:
    return append_indented(HEAD.lstrip(), textwrap.dedent(body).strip(), 8)


@pytest.mark.parametrize("name", REWRITTEN)
def test_rewritten(name: str) -> None:
    before, after = (program(body) for body in REWRITTEN[name])
    expect_settled(before, after)


@pytest.mark.parametrize(("made", "rows", "kept"), FLATTENED.values(), ids=FLATTENED)
def test_rows_and_comments(made: str, rows: str, kept: str) -> None:
    where = "position, token = torch.where(mask[expert])"
    before = COMMENTED.format(made=made, where=where, rows=rows, sum=PICKED)
    after = COMMENTED.format(made=made, where="routed = mask[expert].bool()", rows=kept, sum=MASKED)
    assert fixed(program(before))[0] == program(after)


@pytest.mark.parametrize("name", REWRITTEN)
def test_never_safe(name: str) -> None:
    before = program(REWRITTEN[name][0])
    assert fixed(before, unsafe=False)[0] == before


@pytest.mark.parametrize("name", LEFT)
def test_left_with_a_reason(name: str) -> None:
    before = program(
        textwrap.dedent(UP_TO).strip() + "\n" + textwrap.indent(textwrap.dedent(LEFT[name]).strip("\n"), "")
    )
    text, done = fixed(before)
    assert "routed" not in text
    assert "for expert in hit:" in text
    assert any("by hand" in finding.no_fix for finding in done.report.findings if finding.code == "XLA202")
