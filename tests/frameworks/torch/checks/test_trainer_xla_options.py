"""XLA510: options that the Trainer takes on an XLA device, and those that it refuses."""

from __future__ import annotations

import pytest

from tests.conftest import Findings

ARGUMENTS = "import torch_xla\nfrom transformers import TrainingArguments\nTrainingArguments(output_dir='out', {})\n"

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


@pytest.mark.parametrize("options", IN_ORDER.values(), ids=IN_ORDER)
def test_options_in_order(options: str, findings: Findings) -> None:
    assert findings(ARGUMENTS.format(options), "torch_xla") == []


@pytest.mark.parametrize(("options", "severity"), REFUSED.values(), ids=REFUSED)
def test_options_refused(options: str, severity: str, findings: Findings) -> None:
    assert findings(ARGUMENTS.format(options), "torch_xla") == [("XLA510", severity)]
