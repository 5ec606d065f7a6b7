"""XLA508: models that forked processes build for themselves."""

from __future__ import annotations

import pytest

from tests.conftest import Findings
from tests.frameworks.selecting import keep_rules

START = """\
import torch
import torch_xla
import torch_xla.distributed.xla_multiprocessing as xmp
import torchvision
from accelerate import Accelerator, notebook_launcher
from transformers import AutoConfig, AutoModel, AutoTokenizer


class Net(torch.nn.Module):
    pass


"""
TRAIN = "def train(*args):\n    {}\n    print(args)\n\n\n"

IN_ORDER = {
    "passed": f"{TRAIN.format('pass')}model = AutoModel.from_pretrained('bert')\nnotebook_launcher(train, (model,))",
    "a tokenizer": f"{TRAIN.format('t = AutoTokenizer.from_pretrained(chr(98))')}notebook_launcher(train)",
    "a configuration": f"{TRAIN.format('c = AutoConfig.from_pretrained(chr(98))')}notebook_launcher(train)",
    "an accelerator": f"{TRAIN.format('a = Accelerator()')}notebook_launcher(train)",
    "spawned": f"{TRAIN.format('model = Net()')}torch_xla.launch(train)",
    "spawned by name": f"{TRAIN.format('model = Net()')}xmp.spawn(train, start_method='spawn')",
    "one process": f"{TRAIN.format('model = Net()')}xmp.spawn(train, nprocs=1, start_method='fork')",
    "not launched": f"{TRAIN.format('model = Net()')}train(0)",
    "a criterion": f"{TRAIN.format('loss = torch.nn.CrossEntropyLoss()')}notebook_launcher(train)",
    "any function": "notebook_launcher(start)",
}
FOUND = {
    "loaded": f"{TRAIN.format('model = AutoModel.from_pretrained(chr(98))')}notebook_launcher(train)",
    "of the program": f"{TRAIN.format('model = Net()')}notebook_launcher(train, num_processes=8)",
    "of torchvision": f"{TRAIN.format('model = torchvision.models.resnet50()')}notebook_launcher(train, ())",
    "forked": f"{TRAIN.format('model = Net()')}xmp.spawn(train, start_method='fork')",
    "launched": f"{TRAIN.format('model = Net()')}torch_xla.launch(train, start_method='fork')",
}


@pytest.mark.parametrize("code", IN_ORDER.values(), ids=IN_ORDER)
def test_in_order(code: str, findings: Findings) -> None:
    assert keep_rules(findings(f"{START}{code}\n", "torch_xla"), "XLA508") == []


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_found(code: str, findings: Findings) -> None:
    assert keep_rules(findings(f"{START}{code}\n", "torch_xla"), "XLA508") == [("XLA508", "info")]
