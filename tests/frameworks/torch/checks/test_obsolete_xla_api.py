"""XLA512: calls of torch_xla that its releases replaced."""

from __future__ import annotations

import pytest

from tests.conftest import Findings

CALL = (
    "import torch_xla\nimport torch_xla.core.xla_model as xm\nimport torch_xla.distributed.xla_multiprocessing as xmp\n"
    "from torch_xla.experimental import pjrt\n{}\n"
)


TODAYS = {
    "a device": "torch_xla.device()",
    "a step": "torch_xla.sync()",
    "an ordinal": "xm.get_local_ordinal()",
    "the master": "xm.is_master_ordinal()",
    "a step of an optimizer": "xm.optimizer_step(optimizer)",
    "all processes": "xmp.spawn(train, args=())",
    "one process": "xmp.spawn(train, args=(), nprocs=1)",
    "processes by a flag": "xmp.spawn(train, args=(), nprocs=flags.cores)",
    "any number, said outright": "xmp.spawn(train, args=(), nprocs=None)",
    "a notebook's processes": "from accelerate import notebook_launcher\nnotebook_launcher(train)",
    "a notebook's, by a flag": "from accelerate import notebook_launcher\nnotebook_launcher(train, num_processes=flags.n)",
    "another's": "import other\nother.xla_device()\nother.mark_step()",
    "processes of torch": "import torch.multiprocessing as mp\nmp.spawn(train, nprocs=8)",
}
YESTERDAYS = {
    "a device": ("xm.xla_device()", "info"),
    "a step": ("xm.mark_step()", "info"),
    "by name": ("from torch_xla.core.xla_model import xrt_world_size as size\nsize()", "error"),
    "the world": ("xm.xrt_world_size()", "error"),
    "the ordinal": ("xm.get_ordinal()", "error"),
    "of PJRT's first days": ("pjrt.world_size()", "error"),
    "a notebook's eight processes": (
        "from accelerate import notebook_launcher\nnotebook_launcher(train, num_processes=8)",
        "info",
    ),
    "eight processes": ("xmp.spawn(train, args=(), nprocs=8)", "error"),
    "eight processes, by a variable": ("cores = 8\nxmp.spawn(train, (), cores)", "error"),
}


@pytest.mark.parametrize("code", TODAYS.values(), ids=TODAYS)
def test_todays_calls(code: str, findings: Findings) -> None:
    assert findings(CALL.format(code), "torch_xla") == []


@pytest.mark.parametrize(("code", "severity"), YESTERDAYS.values(), ids=YESTERDAYS)
def test_yesterdays_calls(code: str, severity: str, findings: Findings) -> None:
    assert findings(CALL.format(code), "torch_xla") == [("XLA512", severity)]
