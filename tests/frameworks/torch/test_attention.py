"""XLA606: attention that misses TorchTPU's flash kernel."""

from __future__ import annotations

import pytest

from tests.conftest import Findings
from tests.frameworks.selecting import severities_of

START = """\
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide, self.narrow = 160, 64
        self.bias = nn.Parameter(torch.zeros(4, 8, 8))
        self.places = nn.Embedding(64, 4)
        self.register_buffer("index", torch.zeros(8, 8, dtype=torch.long))
        self.attention = nn.MultiheadAttention(256, 4)
        self.project = nn.Linear(8, 8)

    def offsets(self):
        return self.bias[self.index].permute(2, 0, 1)

    def seen(self):
        return self.index > 2

    def forward(self, x, mask=None):
        b, t, c = x.shape
"""
END = """

def main(batches):
    model = Block().to("tpu")
    for x in batches:
        model(x.to("tpu"))
"""
CALL = "return F.scaled_dot_product_attention(q, x, x{})"

QUIET = {
    "heads of 64": f"q = x.view(b, t, 5, 64).transpose(1, 2)\n{CALL.format('')}",
    "heads of 128": f"q = x.view(b, t, 5, 128).transpose(1, 2)\n{CALL.format('')}",
    "heads of 256": f"q = x.view(b, t, 5, 256).transpose(1, 2)\n{CALL.format('')}",
    "heads by an attribute": f"q = x.view(b, t, 5, self.narrow).transpose(1, 2)\n{CALL.format('')}",
    "heads that are not known": f"q = x.view(b, t, 2, -1).transpose(1, 2)\n{CALL.format('')}",
    "the last dimension moves": f"q = x.view(b, t, 160).transpose(1, 2)\n{CALL.format('')}",
    "permuted": f"q = x.view(b, 160, t, 2).permute(0, 3, 2, 1)\n{CALL.format('')}",
    "assigned twice": f"q = x.view(b, t, 2, 160)\nif t > 2:\n    q = x.view(b, t, 5, 64)\n{CALL.format('')}",
    "a mask that is given": f"q = x\n{CALL.format(', attn_mask=mask')}",
    "a mask of a buffer": f"q = x\n{CALL.format(', attn_mask=self.index > 2')}",
    "a mask of a method": f"q = x\n{CALL.format(', attn_mask=self.seen()')}",
    "a mask that is cut off": f"q = x\n{CALL.format(', attn_mask=self.bias.detach()')}",
    "a mask of the parameter's size": f"q = x\nseen = torch.ones(self.bias.shape)\n{CALL.format(', attn_mask=seen')}",
    "causal": f"q = x\n{CALL.format(', is_causal=True')}",
    "weights that are used": "y, weights = self.attention(x, x, x)\nreturn y * weights.sum()",
    "weights that are returned": "return self.attention(x, x, x)",
    "weights that are not wanted": "y, _ = self.attention(x, x, x, need_weights=False)\nreturn y",
    "the second": "return self.attention(x, x, x)[1]",
    "another module": "return self.project(x)[0]",
    "layers with heads of 64": "return nn.TransformerEncoderLayer(256, 4)(x)",
    "layers with heads of 128": "return nn.TransformerDecoderLayer(d_model=512, nhead=4)(x, x)",
    "layers of sizes that are not known": "return nn.TransformerEncoderLayer(c, 2)(x)",
    "a layer that raises": "return nn.MultiheadAttention(321, 2)",
}
FOUND = {
    "heads of 160": f"q = x.view(b, t, 2, 160).transpose(1, 2)\n{CALL.format('')}",
    "in one expression": "return F.scaled_dot_product_attention(x.reshape(b, t, 2, 192).permute(0, 2, 1, 3), x, x)",
    "heads by an attribute": f"q = x.view(b, t, 2, self.wide).transpose(1, 2).contiguous()\n{CALL.format('')}",
    "heads in a tuple": f"q = x.view((b, t, 2, 160))\n{CALL.format('')}",
    "by unflatten": f"q = x.unflatten(-1, (2, 160)).transpose(1, 2)\n{CALL.format('')}",
    "a parameter": f"q = x\n{CALL.format(', attn_mask=self.bias')}",
    "of a parameter": f"q = x\nseen = self.bias[:, :t].unsqueeze(0) + mask\n{CALL.format(', attn_mask=seen')}",
    "of an embedding": f"q = x\nseen = self.places(self.index).permute(2, 0, 1)\n{CALL.format(', attn_mask=seen')}",
    "by a method": f"q = x\n{CALL.format(', attn_mask=self.offsets()')}",
    "by place": "return F.scaled_dot_product_attention(x, x, x, self.bias)",
    "weights that nothing uses": "y, _ = self.attention(x, x, x, attn_mask=mask)\nreturn y",
    "the first": "return self.attention(x, x, x)[0]",
    "layers": "return nn.TransformerEncoderLayer(320, 2)(x)",
    "layers by name": "return nn.TransformerDecoderLayer(nhead=2, d_model=320)(x, x)",
    "heads of attention": "return nn.MultiheadAttention(320, 2)",
}


def text_of(code: str) -> str:
    return START + "".join(f"        {line}\n" for line in code.split("\n")) + END


@pytest.mark.parametrize("code", QUIET.values(), ids=QUIET)
def test_quiet(code: str, findings: Findings) -> None:
    assert severities_of("XLA606", findings(text_of(code), "torch_tpu")) == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(code: str, findings: Findings) -> None:
    assert severities_of("XLA606", findings(text_of(code), "torch_tpu")) == ["info"]


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_other_targets_are_left_alone(code: str, findings: Findings) -> None:
    for target in ("torch_xla", "torch_compile"):
        assert severities_of("XLA606", findings(text_of(code), target)) == []
