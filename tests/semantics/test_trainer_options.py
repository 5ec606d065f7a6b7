"""XLA510 and XLA512: what the Trainer and torch_xla take on an XLA device, and what they do not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Findings = Callable[[str, str], list[tuple[str, str]]]
ARGUMENTS = "import torch_xla\nfrom transformers import TrainingArguments\nTrainingArguments(output_dir='out', {})\n"
CALL = (
    "import torch_xla\nimport torch_xla.core.xla_model as xm\nimport torch_xla.distributed.xla_multiprocessing as xmp\n"
    "from torch_xla.experimental import pjrt\n{}\n"
)

IN_ORDER = {
    "the default of transformers 4": "optim='adamw_torch'",
    "of torch_xla": "optim='adamw_torch_xla'",
    "on any device": "optim='adafactor'",
    "of a flag": "optim=flags.optim",
    "not tried": "optim='adamw_torch_8bit'",
    "of the enumeration": "optim=OptimizerNames.ADAMW_TORCH",
    "sharded": "optim='sgd', fsdp='full_shard', fsdp_config={'xla': True, 'xla_fsdp_grad_ckpt': True}",
    "keys of other kinds": "optim='sgd', fsdp='full_shard', fsdp_config={'min_num_params': 100, 'fsdp_version': 2}",
    "settings": "optim='sgd', fsdp='full_shard', fsdp_config={'xla': True, 'xla_fsdp_settings': {'compute_dtype': 'bfloat16'}}",
    "a file of settings": "optim='sgd', fsdp='full_shard', fsdp_config='fsdp.json'",
    "the second version": "optim='sgd', fsdp=True, fsdp_config={'xla': True, 'xla_fsdp_v2': True, 'xla_fsdp_grad_ckpt': True}",
    "settings that are not seen": "optim='sgd', fsdp=True, fsdp_config={'xla': True, 'xla_fsdp_settings': settings}",
    "a dtype by a flag": "optim='sgd', fsdp=True, fsdp_config={'xla': True, 'xla_fsdp_settings': {'compute_dtype': dtype}}",
    "more settings than are seen": "optim='sgd', fsdp_config={'xla': True, **more}, **rest",
    "another way of debugging": "optim='sgd', debug='underflow_overflow'",
    "evaluation in bfloat16": "optim='sgd', bf16_full_eval=True",
    "not compiled": "optim='sgd', torch_compile=False",
    "compiled by a flag": "optim='sgd', torch_compile=flags.fast",
    "compiled by another": "optim='sgd', torch_compile=True, torch_compile_backend='aot_eager'",
    "compiled by what a flag says": "optim='sgd', torch_compile=True, torch_compile_backend=flags.backend",
    "no number of cores": "optim='sgd', tpu_num_cores=None",
}
REFUSED = {
    "fused": ("optim='adamw_torch_fused'", "error"),
    "of Apex": ("optim='adamw_apex_fused'", "error"),
    "of bitsandbytes": ("optim='adamw_bnb_8bit'", "error"),
    "misspelt": ("optim='adamw_xla'", "error"),
    "a number of cores": ("optim='sgd', tpu_num_cores=8", "error"),
    "a misspelt key": ("optim='sgd', fsdp='full_shard', fsdp_config={'xla': True, 'xla_fsdp_grad_checkpoint': True}", "error"),
    "a misspelt setting": ("optim='sgd', fsdp='full_shard', fsdp_config={'xla': True, 'xla_fsdp_settings': {'dtype': 'f'}}", "error"),
    "checkpoints without": ("optim='sgd', fsdp='full_shard', fsdp_config={'xla_fsdp_grad_ckpt': True}", "error"),
    "checkpoints switched off": ("optim='sgd', fsdp='1', fsdp_config={'xla': False, 'xla_fsdp_grad_ckpt': True}", "error"),
    "the second version without": ("optim='sgd', fsdp='1', fsdp_config={'xla_fsdp_v2': True}", "error"),
    "settings that the second version does not read": (
        "optim='sgd', fsdp='1', fsdp_config={'xla': True, 'xla_fsdp_v2': True, 'xla_fsdp_settings': {'compute_dtype': 'half'}}", "error"),
    "no dtype": ("optim='sgd', fsdp='1', fsdp_config={'xla': True, 'xla_fsdp_settings': {'compute_dtype': 'bf16'}}", "error"),
    "sharding switched off": ("optim='sgd', fsdp_config={'xla': True}", "error"),
    "compiled": ("optim='sgd', torch_compile=True", "error"),
    "compiled by Inductor": ("optim='sgd', torch_compile=True, torch_compile_backend='inductor'", "error"),
    "by Inductor": ("optim='sgd', torch_compile_backend='inductor'", "error"),
    "debugging": ("optim='sgd', debug='tpu_metrics_debug'", "info"),
    "debugging and more": ("optim='sgd', debug='underflow_overflow tpu_metrics_debug'", "info"),
    "the default": ("bf16=True", "info"),
}  # fmt: skip

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


@pytest.mark.parametrize("options", IN_ORDER.values(), ids=IN_ORDER)
def test_options_in_order(options: str, findings: Findings) -> None:
    assert findings(ARGUMENTS.format(options), "torch_xla") == []


@pytest.mark.parametrize(("options", "severity"), REFUSED.values(), ids=REFUSED)
def test_options_refused(options: str, severity: str, findings: Findings) -> None:
    assert findings(ARGUMENTS.format(options), "torch_xla") == [("XLA510", severity)]


@pytest.mark.parametrize("code", TODAYS.values(), ids=TODAYS)
def test_todays_calls(code: str, findings: Findings) -> None:
    assert findings(CALL.format(code), "torch_xla") == []


@pytest.mark.parametrize(("code", "severity"), YESTERDAYS.values(), ids=YESTERDAYS)
def test_yesterdays_calls(code: str, severity: str, findings: Findings) -> None:
    assert findings(CALL.format(code), "torch_xla") == [("XLA512", severity)]
