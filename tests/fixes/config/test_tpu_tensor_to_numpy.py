"""XLA528: a copy before the array."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, outcome

START = 'import numpy as np\nimport torch\n\nx = torch.ones(2, device="tpu")\n'

FIXED = {
    "a name": ("x.numpy()\n", "x.cpu().numpy()\n"),
    "detached": ("x.detach().numpy()\n", "x.detach().cpu().numpy()\n"),
    "arithmetic": ("(x * 2).numpy()\n", "(x * 2).cpu().numpy()\n"),
    "given": ("np.asarray(x)\n", "np.asarray(x.cpu())\n"),
    "given with a dtype": ("np.array(x + 1, np.int32)\n", "np.array((x + 1).cpu(), np.int32)\n"),
}


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str) -> None:
    expect_fixed(outcome(START + before, "XLA528", target="torch_tpu"), START + after, "safe")
