"""Functions whose compilations, reads, fallbacks and graph breaks are counted: by xlalint, and by the frameworks themselves."""

import torch
from torch import nn
from torch.nn import functional


# xlalint: inputs(x="f32[4,8]")
def plain(x):
    return functional.gelu(x) * 2


# xlalint: inputs(x="f32[4,8]")
def item_of_sum(x):
    return x * x.sum().item()


# xlalint: inputs(x="f32[4,8]")
def branch_on_value(x):
    if x.mean() > 0:
        return x * 2
    return x - 1


# xlalint: inputs(x="f32[4,8]", mask="bool[4,8]")
def masked_values(x, mask):
    return x[mask].sum()


# xlalint: inputs(x="f32[4,8]", mask="bool[4,8]")
def where_of_mask(x, mask):
    return torch.where(mask, x, 0.0).sum()


# xlalint: inputs(x="f32[4,8]", lengths="i64[4] 1..8")
def longest(x, lengths):
    return x[:, : int(lengths.max())].sum(1)


# xlalint: inputs(x="f32[4,8]", lengths="i64[4] 1..8")
def masked_lengths(x, lengths):
    return torch.where(torch.arange(8, device=x.device) < lengths[:, None], x, 0.0).sum(1)


# xlalint: inputs(x="i64[16] 0..5")
def distinct(x):
    return torch.unique(x)


# xlalint: inputs(x="f32[16]")
def positions(x):
    return torch.nonzero(x > 0)


# xlalint: inputs(x="f32[4,4]")
def loop_until_small(x):
    while x.abs().max() > 1:
        x = x / 2
    return x


# xlalint: inputs(x="f32[4,4]")
def unrolled(x):
    for _ in range(4):
        x = torch.tanh(x @ x)
    return x


# xlalint: inputs(x="f32[4,8]", n="i64[] 1..6")
def size_of_value(x, n):
    return torch.ones(int(n), device=x.device)


# xlalint: inputs(q="f32[2,6,8]", k="f32[2,6,8]", v="f32[2,6,8]")
def attention(q, k, v):
    return functional.scaled_dot_product_attention(q, k, v)


# xlalint: inputs(x="f32[8]")
def printed(x):
    total = x.sum()
    print(float(total))
    return total * 2


# xlalint: inputs(x="f32[8]")
def listed(x):
    return torch.tensor(sorted(x.tolist()), device=x.device)


# xlalint: inputs(x="f32[8]", boxes="f32[8,4]")
def sorted_scores(x, boxes):
    return boxes[torch.argsort(x, descending=True)]


# xlalint: inputs(x="i64[4,8] 0..9")
def one_hot_of_unknown(x):
    return functional.one_hot(x).float().sum()


# xlalint: inputs(x="i64[4,8] 0..9")
def one_hot_of_known(x):
    return functional.one_hot(x, 10).float().sum()


# xlalint: inputs(x="f32[4,8]")
def checked(x):
    assert not torch.isnan(x).any()
    return x.log1p()


# xlalint: inputs(x="f32[4,8]")
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.linear(x).relu()
