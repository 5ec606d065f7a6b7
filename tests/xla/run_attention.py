"""Child process: forms of attention on TorchTPU; which of them ask for its flash kernel goes out as JSON."""

from __future__ import annotations

import json
import os

from xlalint.verify import environment

os.environ.update(environment.for_torch_tpu())

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from xlalint.verify.backends import backend_of

KERNEL = "tpu_custom_call"


def attend(size: int, dtype: torch.dtype = torch.float32, mask: torch.Tensor | None = None) -> Callable[[], Any]:
    x = torch.randn(1, 2, 128, size, dtype=dtype).to("tpu")
    return lambda: functional.scaled_dot_product_attention(x, x, x, attn_mask=mask).cpu()


def attention(heads: int, **options: Any) -> Callable[[], Any]:
    x, module = torch.randn(1, 16, 320).to("tpu"), nn.MultiheadAttention(320, heads).to("tpu")
    return lambda: module(x, x, x, **options)[0].cpu()


def layer(heads: int) -> Callable[[], Any]:
    x, module = torch.randn(1, 16, 320).to("tpu"), nn.TransformerEncoderLayer(320, heads).to("tpu")
    return lambda: module(x).cpu()


def asks_for_kernel(call: Callable[[], Any]) -> str:
    try:
        call()
    except RuntimeError as error:
        return "flash" if KERNEL in str(error) else str(error)
    return "none"


if __name__ == "__main__":
    backend_of("torch_tpu")
    learned = nn.Parameter(torch.zeros(128, 128).to("tpu"))
    told = {
        "64": attend(64),
        "128": attend(128),
        "160": attend(160),
        "256": attend(256),
        "float16": attend(64, torch.float16),
        "bfloat16": attend(64, torch.bfloat16),
        "learned": attend(64, mask=learned + 0.0),
        "unlearned": attend(64, mask=learned.detach()),
        "module": attention(5),
        "module without weights": attention(5, need_weights=False),
        "module of large heads": attention(2, need_weights=False),
        "layer": layer(5),
        "layer of large heads": layer(2),
    }
    print(json.dumps({name: asks_for_kernel(call) for name, call in told.items()}))
