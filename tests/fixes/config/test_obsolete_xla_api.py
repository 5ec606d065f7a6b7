"""XLA512: calls under the names of today."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = "import torch_xla\nimport torch_xla.core.xla_model as xm\n"
MP = "import torch_xla.distributed.xla_multiprocessing as xmp\n"

LEFT_ALONE = {
    "nothing in its place": ("XLA512", "xm.parse_xla_device('xla:0')", "nothing replaced"),
    "by another name": ("XLA512", "from torch_xla.core.xla_model import mark_step as step\nstep()", "another name"),
    "a kind of device": ("XLA512", "xm.xla_device(devkind='TPU')", "the index alone"),
    "a default": ("XLA512", "xm.xrt_world_size(1)", "its argument"),
    "processes in a row": ("XLA512", f"{MP}xmp.spawn(train, (), 8)", "positional arguments"),
}
FIXED = {
    "a device": ("XLA512", "device = xm.xla_device()", "device = torch_xla.device()", "safe"),
    "a numbered device": ("XLA512", "device = xm.xla_device(1)", "device = torch_xla.device(1)", "safe"),
    "a step": ("XLA512", "xm.mark_step(wait=True)", "torch_xla.sync(wait=True)", "safe"),
    "eight processes": ("XLA512", f"{MP}xmp.spawn(train, nprocs=8, args=())", f"{MP}xmp.spawn(train, args=())", "safe"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(code: str, text: str, why: str) -> None:
    expect_left_alone(outcome(f"{START}{text}\n", code), why)


@pytest.mark.parametrize(("code", "text", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(code: str, text: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(f"{START}{text}\n", code), f"{START}{after}\n", applicability)
