"""XLA509: what starts the runtime before processes are launched."""

from __future__ import annotations

import pytest

from tests.conftest import Findings

START = (
    "import torch\nimport torch_xla\nimport torch_xla.core.xla_model as xm\nimport torch_xla.runtime as xr\n"
    "import torch_xla.distributed.xla_multiprocessing as xmp\nfrom accelerate import Accelerator, notebook_launcher\n"
)

IN_ORDER = {
    "in the function": "def train(i):\n    d = torch_xla.device()\ntorch_xla.launch(train)",
    "afterwards": "torch_xla.launch(train)\nd = torch_xla.device()",
    "one process": "d = torch_xla.device()\nxmp.spawn(train, nprocs=1)",
    "one process to look into": "d = torch_xla.device()\ntorch_xla.launch(train, debug_single_process=True)",
    "no launch": "d = torch_xla.device()\ntrain(0, d)",
    "a device by name": "d = torch.device('xla')\ntorch_xla.launch(train)",
    "the device's kind": "print(xr.device_type())\nxr.initialize_cache('cache')\ntorch_xla.launch(train)",
    "another function": "def one():\n    d = torch_xla.device()\ndef main():\n    torch_xla.launch(train)\nmain()",
    "one or the other, by the device": "if use_tpu:\n    torch_xla.launch(train)\nelse:\n    d = torch_xla.device()",
    "a launch of torch's": "import torch.multiprocessing as mp\nd = torch_xla.device()\nmp.spawn(train)",
    "an accelerator in the function": "def train():\n    a = Accelerator()\nnotebook_launcher(train)",
}
FOUND = {
    "a device": "d = torch_xla.device()\ntorch_xla.launch(train)",
    "a device for `spawn`": "d = torch_xla.device()\nxmp.spawn(train, args=(d,))",
    "the world": "steps = 100 // xr.world_size()\ntorch_xla.launch(train)",
    "a seed": "torch_xla.manual_seed(1)\nxmp.spawn(train, start_method='fork')",
    "in one function": "def main():\n    d = torch_xla.device()\n    torch_xla.launch(train)\nmain()",
    "where the script begins": "d = torch_xla.device()\nif __name__ == '__main__':\n    torch_xla.launch(train)",
    "an accelerator": "a = Accelerator()\nnotebook_launcher(train, args=(a,))",
}


@pytest.mark.parametrize("code", IN_ORDER.values(), ids=IN_ORDER)
def test_in_order(code: str, findings: Findings) -> None:
    assert findings(f"{START}{code}\n", "torch_xla") == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(code: str, findings: Findings) -> None:
    assert findings(f"{START}{code}\n", "torch_xla") == [("XLA509", "error")]
