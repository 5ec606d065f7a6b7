"""XLA529: shards without the shape of the whole."""

from __future__ import annotations

import pytest

from tests.conftest import Findings
from tests.frameworks.selecting import severities_of

START = (
    "import torch\nfrom torch.distributed.device_mesh import init_device_mesh\n"
    "from torch.distributed.tensor import DTensor, Shard, distribute_tensor\n"
    'mesh = init_device_mesh("tpu", (4,))\nx = torch.ones(2, 4, device="tpu")\n'
)

IN_ORDER = {
    "both": "DTensor.from_local(x, mesh, [Shard(0)], shape=whole, stride=(4, 1))",
    "settings": "DTensor.from_local(x, mesh, [Shard(0)], **settings)",
    "a whole": "distribute_tensor(x, mesh, [Shard(0)])",
    "another class": "class Rows:\n    @classmethod\n    def from_local(cls, x): ...\nRows.from_local(x)",
}
FOUND = {
    "neither": "DTensor.from_local(x, mesh, [Shard(0)])",
    "none": "DTensor.from_local(x, mesh, [Shard(0)], shape=None, stride=None)",
    "in a function": "def main():\n    return DTensor.from_local(x, mesh, [Shard(0)]).to_local()",
}


@pytest.mark.parametrize("code", IN_ORDER.values(), ids=IN_ORDER)
def test_in_order(code: str, findings: Findings) -> None:
    assert severities_of("XLA529", findings(f"{START}{code}\n", "torch_tpu")) == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(code: str, findings: Findings) -> None:
    assert severities_of("XLA529", findings(f"{START}{code}\n", "torch_tpu")) == ["info"]
    assert severities_of("XLA529", findings(f"{START}{code}\n", "torch_xla")) == []
