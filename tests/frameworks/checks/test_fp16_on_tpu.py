"""XLA506: float16 where bfloat16 belongs."""

from __future__ import annotations

import pytest

from tests.conftest import Findings
from tests.frameworks.selecting import keep_rules

TORCH = (
    "import torch\nimport torch_xla\nfrom accelerate import Accelerator\nfrom transformers import TrainingArguments\n"
)
KERAS = "import keras\nimport tensorflow as tf\nstrategy = tf.distribute.TPUStrategy(resolver)\n"

SILENT = {
    "bfloat16": f"{TORCH}TrainingArguments('out', bf16=True, optim='sgd')",
    "by a flag": f"{TORCH}TrainingArguments('out', fp16=flags.half, optim='sgd')",
    "where there is a GPU": f"{TORCH}TrainingArguments('out', fp16=torch.cuda.is_available(), optim='sgd')",
    "Accelerate's bfloat16": f"{TORCH}Accelerator(mixed_precision='bf16')",
    "an autocast": f"{TORCH}with torch.autocast('xla', dtype=torch.bfloat16):\n    pass",
    "Keras' bfloat16": f"{KERAS}keras.config.set_dtype_policy('mixed_bfloat16')",
    "Keras' policy, asked for": f"{KERAS}if flags.fp16:\n    keras.config.set_dtype_policy('mixed_float16')",
    "Keras' policy, chosen by the device": (
        f"{KERAS}def choose(on_tpu=False):\n    policy = 'mixed_bfloat16' if on_tpu else 'mixed_float16'\n"
        "    keras.config.set_dtype_policy(policy)\n\nchoose()"
    ),
    "Keras' policy on a GPU": "import keras\nkeras.config.set_dtype_policy('mixed_float16')",
}
FOUND = {
    "the Trainer's": (f"{TORCH}TrainingArguments('out', fp16=True, optim='sgd')", "error"),
    "the Trainer's evaluation": (f"{TORCH}TrainingArguments('out', fp16_full_eval=True, optim='sgd')", "error"),
    "Accelerate's": (f"{TORCH}Accelerator(mixed_precision='fp16')", "error"),
    "an autocast": (f"{TORCH}with torch.autocast('xla', dtype=torch.float16):\n    pass", "warning"),
    "Keras' policy": (f"{KERAS}keras.config.set_dtype_policy('mixed_float16')", "warning"),
    "a policy object": (f"{KERAS}keras.DTypePolicy('mixed_float16')", "warning"),
}


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(code: str, findings: Findings) -> None:
    assert keep_rules(findings(f"{code}\n", ""), "XLA506") == []


@pytest.mark.parametrize(("code", "severity"), FOUND.values(), ids=FOUND)
def test_found(code: str, severity: str, findings: Findings) -> None:
    assert keep_rules(findings(f"{code}\n", ""), "XLA506") == [("XLA506", severity)]


TPU = "import torch\nmodel = torch.nn.Linear(2, 2).to('tpu')\n"
SILENT_ON_TPU = {
    "bfloat16": "torch.autocast('tpu', dtype=torch.bfloat16)",
    "bfloat16 by place": "torch.autocast('tpu', torch.bfloat16)",
    "off": "torch.autocast('tpu', enabled=False)",
    "a dtype from elsewhere": "torch.autocast('tpu', dtype=flags.dtype)",
    "by options": "torch.autocast('tpu', **options)",
    "another device's": "torch.autocast('cpu')",
    "by the device": "torch.autocast(model.device.type)",
    "a tensor in float16": "torch.ones(2, device='tpu').half()",
    "something in float16": "make().half()",
    "a model in bfloat16": "model.bfloat16()",
    "a method of the program's own": "class M(torch.nn.Module):\n    def half(self):\n        return 1\nM().to('tpu').half()",
    "a model, by the device": "if device.type == 'cuda':\n    model.half()",
}
FOUND_ON_TPU = {
    "none": "torch.autocast('tpu')",
    "float16": "torch.autocast('tpu', dtype=torch.float16)",
    "half": "torch.amp.autocast('tpu', torch.half)",
    "by a variable": "kind = 'tpu'\nwith torch.autocast(kind):\n    pass",
    "a model": "model.half()",
    "a model of its own": "class M(torch.nn.Module):\n    pass\nm = M().to('tpu').half()",
    "a container": "torch.nn.Sequential(model).half()",
}


@pytest.mark.parametrize("code", SILENT_ON_TPU.values(), ids=SILENT_ON_TPU)
def test_silent_on_torchtpu(code: str, findings: Findings) -> None:
    assert keep_rules(findings(f"{TPU}{code}\n", ""), "XLA506") == []


@pytest.mark.parametrize("code", FOUND_ON_TPU.values(), ids=FOUND_ON_TPU)
def test_found_on_torchtpu(code: str, findings: Findings) -> None:
    assert keep_rules(findings(f"{TPU}{code}\n", ""), "XLA506") == [("XLA506", "warning")]
