"""XLA527: calls of torch_xla in programs for TorchTPU."""

from __future__ import annotations

import pytest

from tests.conftest import Findings
from tests.frameworks.selecting import severities_of

START = (
    "import torch\nimport torch_xla\nimport torch_xla.runtime as xr\n"
    "import torch_xla.core.xla_model as xm\n"
    "import torch_xla.distributed.parallel_loader as pl\nmodel = torch.nn.Linear(2, 2)\n"
    "opt = torch.optim.SGD(model.parameters())\n"
)

IN_ORDER = {
    "the device": 'torch.device("tpu")',
    "moved": 'model.to("tpu")',
    "a step": "opt.step()",
    "another sync": "client.sync()",
    "waiting": "torch.accelerator.synchronize()",
    "saving": 'torch.save(model, "a.pt")',
    "the host": 'model.to("cpu")',
    "a name": "model.to(device)",
    "a process group": "torch.distributed.init_process_group()",
    "of another package": "import torch_xlarge\ntorch_xlarge.sync()",
    "under a condition on the device": "if use_xla:\n    xm.mark_step()",
}
FOUND = {
    "the device": ("xm.xla_device()", "error"),
    "the device of today": ("torch_xla.device()", "error"),
    "a barrier": ("xm.mark_step()", "error"),
    "an order": ("torch_xla.sync()", "error"),
    "a step": ("xm.optimizer_step(opt)", "error"),
    "a loader": ("pl.MpDeviceLoader(loader, device)", "error"),
    "a number": ("xr.global_ordinal()", "error"),
    "saving": ('xm.save(model.state_dict(), "a.pt")', "error"),
    "by name": ('model.to("xla")', "error"),
    "processes": ("torch_xla.launch(main)", "error"),
    "what has no name here": ("xm.RateTracker()", "error"),
    "a setting of the runtime": ('xr.initialize_cache("/tmp/cache")', "error"),
    "of a module within": ("import torch_xla.debug.metrics as met\nmet.metrics_report()", "error"),
    "eager mode": ("torch_xla.experimental.eager_mode(True)", "error"),
    "a process group": ('torch.distributed.init_process_group("xla", init_method="xla://")', "error"),
}


@pytest.mark.parametrize("code", IN_ORDER.values(), ids=IN_ORDER)
def test_in_order(code: str, findings: Findings) -> None:
    assert severities_of("XLA527", findings(f"{START}{code}\n", "torch_tpu")) == []


@pytest.mark.parametrize(("code", "severity"), FOUND.values(), ids=FOUND)
def test_found(code: str, severity: str, findings: Findings) -> None:
    assert set(severities_of("XLA527", findings(f"{START}{code}\n", "torch_tpu"))) == {severity}


@pytest.mark.parametrize(("code", "severity"), FOUND.values(), ids=FOUND)
def test_other_targets_are_left_alone(code: str, severity: str, findings: Findings) -> None:
    for target in ("torch_xla", "torch_compile"):
        assert severities_of("XLA527", findings(f"{START}{code}\n", target)) == []
