"""XLA513: calls for CUDA, in programs that surely run on an XLA device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Findings
from tests.frameworks.selecting import keep_rules
from tests.frameworks.torch.configuration import find_configuration, find_in_function, find_where_a_gpu_may_be
from xlalint.config import Settings
from xlalint.project import check_paths, check_text

START = (
    "import os\nimport torch\nimport torch_xla\nfrom torch import nn\nfrom torch.utils.data import DataLoader\n"
    "import torch.utils.checkpoint as ckpt\nmodel = nn.Linear(2, 2)\n"
)

IN_ORDER = {
    "asked for": "if torch.cuda.is_available():\n    model.cuda()\n    torch.cuda.synchronize()",
    "a choice of a device where there is one": "d = torch.device('cuda') if torch.cuda.is_available() else torch.device('cpu')",
    "a choice where there is none": "d = torch.device('cpu') if not torch.cuda.is_available() else torch.device('cuda:0')",
    "a move where there is one": "net = model.cuda() if torch.cuda.is_available() else model",
    "a move by a flag": "net = model.cuda() if args.cuda else model",
    "the other branch": "if use_tpu:\n    pass\nelse:\n    model.cuda()",
    "by name": "if device.type == 'cuda':\n    torch.cuda.set_device(0)",
    "a guard": "def run():\n    if not torch.cuda.is_available():\n        return model\n    else:\n        return model.cuda()",
    "what a guard leaves over": "def run():\n    if not torch.cuda.is_available():\n        return model\n    return model.cuda()",
    "a test for GPUs": "@unittest.skipIf(not torch.cuda.is_available(), '')\ndef test_it():\n    model.cuda()",
    "a test for GPUs of pytest": "@pytest.mark.skipif(not torch.cuda.is_available(), reason='')\ndef test_it():\n    model.cuda()",
    "a test unless there is none": "@unittest.skipUnless(torch.cuda.is_available(), '')\ndef test_it():\n    model.to('cuda')",
    "a test for GPUs, among other things": "@unittest.skipIf(slow or not torch.cuda.is_available(), '')\ndef test_it():\n    model.cuda()",
    "tests for GPUs": "@unittest.skipIf(not torch.cuda.is_available(), '')\nclass T:\n    def test_it(self):\n        model.cuda()",
    "what does nothing": "torch.cuda.empty_cache()\ntorch.cuda.manual_seed_all(1)\ntorch.cuda.device_count()",
    "the device": "model.to('xla')",
    "a device by name": "model.to(device)",
    "the host": "model.to('cpu')",
    "an autocast": "with torch.autocast('xla', dtype=torch.bfloat16):\n    pass",
    "an autocast that is off": "with torch.autocast('cuda', enabled=False):\n    pass",
    "an autocast that is off, by place": "with torch.autocast('cuda', torch.float16, False):\n    pass",
    "an autocast of old that is off": "with torch.cuda.amp.autocast(False):\n    pass",
    "an autocast by the device": "with torch.autocast(device.type):\n    pass",
    "memory by a flag": "DataLoader(data, pin_memory=flags.pin)",
    "memory not pinned": "DataLoader(data, pin_memory=False)",
    "a backend": "torch.distributed.init_process_group('xla')",
    "torch_xla's checkpoint": "from torch_xla.utils.checkpoint import checkpoint\ncheckpoint(model, x)",
    "an error": "try:\n    pass\nexcept RuntimeError:\n    model.cuda()",
}
FOUND = {
    "a module": ("model.cuda()", "XLA513", "error"),
    "a tensor": ("torch.ones(2).cuda()", "XLA513", "error"),
    "by name": ("model.to('cuda')", "XLA513", "error"),
    "by number": ("model.to('cuda:0')", "XLA513", "error"),
    "a choice of something else": ("net = model.cuda() if large else model", "XLA513", "error"),
    "behind a choice": (
        "d = torch.device('cuda') if torch.cuda.is_available() else torch.device('cpu')\nmodel.cuda()",
        "XLA513",
        "error",
    ),
    "by a variable": ("device = 'cuda'\nmodel.to(device)", "XLA513", "error"),
    "made of data": ("torch.tensor([1], device='cuda')", "XLA513", "error"),
    "made as another is": ("torch.ones_like(model.weight, device='cuda')", "XLA513", "error"),
    "made by another": ("model.weight.new_zeros(2, device='cuda')", "XLA513", "error"),
    "waiting": ("torch.cuda.synchronize()", "XLA513", "error"),
    "measuring": ("torch.cuda.Event(enable_timing=True)", "XLA513", "error"),
    "processes": ("torch.distributed.init_process_group(backend='nccl')", "XLA513", "error"),
    "a checkpoint": ("ckpt.checkpoint(model, torch.ones(2), use_reentrant=False)", "XLA513", "error"),
    "an autocast": ("with torch.autocast('cuda'):\n    pass", "XLA513", "warning"),
    "an autocast that may be off": ("with torch.autocast('cuda', enabled=amp):\n    pass", "XLA513", "warning"),
    "an autocast of old": ("with torch.cuda.amp.autocast():\n    pass", "XLA513", "warning"),
    "memory": ("DataLoader(data, pin_memory=True)", "XLA513", "info"),
}  # fmt: skip


ON_TPU = START.replace("import torch_xla\n", "").replace("nn.Linear(2, 2)", "nn.Linear(2, 2).to('tpu')")
IN_ORDER_ON_TPU = {
    "the device": "model.to('tpu')",
    "the accelerator's": "torch.accelerator.synchronize()",
    "a checkpoint": "ckpt.checkpoint(model, torch.ones(2), use_reentrant=False)",
    "memory": "DataLoader(data, pin_memory=True)",
    "a time": "torch.cuda.Event(enable_timing=True)",
    "what does nothing": "torch.cuda.empty_cache()\ntorch.cuda.manual_seed_all(1)",
    "an autocast": "with torch.autocast('tpu', dtype=torch.bfloat16):\n    pass",
    "a scaler that is off": "torch.amp.GradScaler('tpu', enabled=False)",
    "a scaler of CUDA's": "torch.amp.GradScaler('cuda')",
    "a backend": "torch.distributed.init_process_group('tpu_dist')",
    "a choice of the accelerator": "device = 'tpu' if torch.accelerator.is_available() else 'cpu'",
    "a choice among three": "device = 'tpu' if there else 'cuda' if torch.cuda.is_available() else 'cpu'",
    "a choice that knows of others": "if args.device != 'tpu':\n    device = 'cuda' if torch.cuda.is_available() else 'cpu'",
    "a choice by what is no question": "device = 'cuda' if args.fast else 'cpu'",
    "what a GPU needs besides": "if torch.cuda.is_available():\n    torch.cuda.manual_seed_all(1)\n    workers = 4",
    "where there is none": "if not torch.cuda.is_available():\n    device = 'cpu'",
    "another word": "name = f'cudart:{n}'\ndevice = torch.device(name)",
    "a device by a name": "device = torch.device(args.device)",
    "an option of another default": "import argparse\nparser = argparse.ArgumentParser()\n"
    "parser.add_argument('--backend', default='gloo')\nargs = parser.parse_args()\n"
    "torch.distributed.init_process_group(args.backend)",
    "a scaler that is off, by the device": "torch.amp.GradScaler(torch.device('tpu').type, enabled=False)",
    "a choice of a number": "size = 8 if torch.cuda.is_available() else 4",
    "a branch among several": "if args.tpu:\n    pass\nelif args.cuda:\n    model.cuda()",
    "a branch by the device": "if device.type == 'cuda':\n    model.cuda()",
    "a branch by where a tensor is": "if x.is_cuda:\n    model.cuda()",
    "a branch where two are known": "if args.xla and args.gpu:\n    model.cuda()",
    "memory of what GPUs there are": "if torch.cuda.is_available():\n    torch.cuda.synchronize()",
    "a choice by another flag": "device = torch.device('cuda' if args.cuda and args.device else 'cpu')",
    "a number that is compared": "if torch.cuda.device_count() > 1:\n    pass",
    "a word that names no device": "extra = 'cuda'\nprint(extra)",
    "a name that is compared": "kind = 'cuda'\nif kind == 'cuda':\n    pass",
    "a device that others have too": "if args.tpu:\n    device = 'tpu'\nelse:\n    device = f'cuda:{rank}'\nmodel.to(device)",
    "a question what a device is called": "fast = 'cuda' in device",
    "types of tensors on the host": "kind = torch.FloatTensor if args.cuda else torch.DoubleTensor",
    "a number that nothing runs on": "count = torch.cuda.device_count()",
    "a number of others": "count = torch.accelerator.device_count()\ntorch.nn.DataParallel(model)",
    "a flag that moves nothing": "pin = torch.cuda.is_available()",
    "a flag that is told": "fast = args.fast\nif fast:\n    pass",
    "a test for GPUs by a flag": "@skipIf(not torch.cuda.is_available(), '')\ndef test_it():\n    if args.cuda:\n        model.cuda()",
    "a branch of a program for torch_xla": "import torch_xla\nif args.cuda:\n    model.cuda()",
}
FOUND_ON_TPU = {
    "a module": ("model.cuda()", "error"),
    "by name": ("model.to('cuda')", "error"),
    "waiting": ("torch.cuda.synchronize()", "error"),
    "processes": ("torch.distributed.init_process_group('nccl')", "error"),
    "an autocast": ("with torch.autocast('cuda'):\n    pass", "warning"),
    "an autocast of torch_xla's": ("with torch.autocast('xla'):\n    pass", "warning"),
    "a scaler": ("torch.amp.GradScaler('tpu')", "error"),
    "a choice": ("device = 'cuda' if torch.cuda.is_available() else 'cpu'", "warning"),
    "a choice by a flag": (
        "fast = args.fast and torch.cuda.is_available()\ndevice = torch.device('cuda' if fast else 'cpu')",
        "warning",
    ),
    "a choice by number": ("device = f'cuda:{rank}' if torch.cuda.is_available() else 'cpu'", "warning"),
    "a choice where one may be named": (
        "if args.device == 'auto':\n    args.device = 'cuda' if torch.cuda.is_available() else 'cpu'",
        "warning",
    ),
    "a question": (
        "if torch.cuda.is_available():\n    device = torch.device('cuda')\nelse:\n    device = torch.device('cpu')",
        "warning",
    ),
    "a question, of a text": ("device = 'cpu'\nif torch.cuda.is_available():\n    device = 'cuda'", "warning"),
    "a question how many": ("if torch.cuda.is_available():\n    args.devices = torch.cuda.device_count()", "warning"),
    "a device": ("device = torch.device('cuda')", "error"),
    "a device by number": ("device = torch.device(f'cuda:{rank}')", "error"),
    "a device by a format": ("device = torch.device('cuda:{:d}'.format(rank))", "error"),
    "made there": ("torch.zeros(2, device='cuda')", "error"),
    "loaded there": ("torch.load('a.pt', map_location='cuda:0')", "error"),
    "of a device": ("with torch.cuda.device(0):\n    pass", "error"),
    "a scaler by the device": ("torch.amp.GradScaler(torch.accelerator.current_accelerator().type)", "error"),
    "processes by default": (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--backend', default='nccl')\n"
        "args = parser.parse_args()\ntorch.distributed.init_process_group(args.backend)",
        "error",
    ),
    "a choice by a flag that users set": ("device = torch.device('cuda' if args.cuda else 'cpu')", "error"),
    "a number of GPUs": ("count = torch.cuda.device_count()\ntorch.nn.DataParallel(model)", "warning"),
    "a number of GPUs that divides": (
        "device = rank % torch.cuda.device_count()\ntorch.nn.DataParallel(model)",
        "warning",
    ),
    "a device that is given below": ("device = f'cuda:{rank}'\nmodel.to(device)", "error"),
    "a device that is given below by a name": ("args.device = 'cuda:0'\ntorch.zeros(2, device=args.device)", "error"),
    "what a device is called": ("kind = 'cuda' if 'cuda' in device else 'cpu'", "warning"),
    "how a device's name begins": ("kind = 'cuda' if device.startswith('cuda') else 'cpu'", "warning"),
    "a type of a device's name": ("kind = 'cuda' if device.type == 'cuda' else 'cpu'", "warning"),
    "types of tensors": ("kind = torch.cuda.FloatTensor if args.cuda else torch.FloatTensor", "warning"),
    "a table of memory": ("torch.cuda.memory_summary()", "error"),
    "a branch for GPUs": ("if args.cuda:\n    model.cuda()", "error"),
    "a branch for GPUs by number": ("if args.gpu is not None:\n    model.cuda(args.gpu)", "error"),
    "a branch for GPUs in a function": (
        "def run(use_gpu):\n    if use_gpu:\n        torch.cuda.set_device(0)\nrun(flag)",
        "error",
    ),
    "a move where there is one": ("if torch.cuda.is_available():\n    model.cuda()", "warning"),
    "a choice of devices": (
        "device = torch.device('cuda') if torch.cuda.is_available() else torch.device('cpu')",
        "warning",
    ),
    "a device that is returned": (
        "def pick():\n    if torch.cuda.is_available():\n        return torch.device('cuda')\n    return torch.device('cpu')\npick()",
        "warning",
    ),
    "a choice of a device": ("device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')", "warning"),
}


@pytest.mark.parametrize("code", IN_ORDER_ON_TPU.values(), ids=IN_ORDER_ON_TPU)
def test_in_order_on_a_tpu(code: str, findings: Findings) -> None:
    assert keep_rules(findings(f"{ON_TPU}{code}\n", "torch_tpu"), "XLA513") == []


@pytest.mark.parametrize(("code", "severity"), FOUND_ON_TPU.values(), ids=FOUND_ON_TPU)
def test_found_on_a_tpu(code: str, severity: str, findings: Findings) -> None:
    assert keep_rules(findings(f"{ON_TPU}{code}\n", "torch_tpu"), "XLA513") == [("XLA513", severity)]


def test_a_flag_is_found_with_what_it_moves(findings: Findings) -> None:
    code = "args.cuda = args.cuda and torch.cuda.is_available()\nif args.cuda:\n    model.cuda()\n"
    found = keep_rules(findings(f"{ON_TPU}{code}", "torch_tpu"), "XLA513")
    assert found == [("XLA513", "warning"), ("XLA513", "error")]


@pytest.mark.parametrize("code", IN_ORDER.values(), ids=IN_ORDER)
def test_in_order(code: str, findings: Findings) -> None:
    assert find_configuration(findings, f"{START}{code}\n") == []


@pytest.mark.parametrize(("code", "rule", "severity"), FOUND.values(), ids=FOUND)
def test_found(code: str, rule: str, severity: str, findings: Findings) -> None:
    assert find_configuration(findings, f"{START}{code}\n") == [(rule, severity)]
    assert find_in_function(findings, START, code) == [(rule, severity)]


@pytest.mark.parametrize(("code", "rule", "severity"), FOUND.values(), ids=FOUND)
def test_a_program_that_may_run_on_a_gpu_is_left_alone(code: str, rule: str, severity: str) -> None:
    assert find_where_a_gpu_may_be(START, code) == []


@pytest.mark.parametrize(
    "condition",
    ["skipIf(slow, '')", "skipIf(torch.cuda.is_available(), '')", "skipIf(slow and not torch.cuda.is_available(), '')"],
)
def test_other_tests_are_not_for_gpus(findings: Findings, condition: str) -> None:
    code = f"import unittest\n@unittest.{condition}\ndef test_it():\n    model.cuda()"
    assert find_configuration(findings, START + code) == [("XLA513", "info")]


TESTS = "import pytest\n"


@pytest.mark.parametrize(
    ("imports", "file", "severity"),
    [("", "it.py", "error"), (TESTS, "it.py", "info"), ("", "test_it.py", "info"), ("", "it_test.py", "info")],
)
def test_what_only_a_test_asks_for_is_information(imports: str, file: str, severity: str) -> None:
    text = imports + START + "def test_it():\n    model.cuda()\n"
    report = check_text(text, file, Settings(target="torch_xla", show_info=True, select=("XLA513",)))
    assert [(one.severity, "in a test" in one.message, one.frequency) for one in report.findings] == [
        (severity, severity == "info", None)
    ]


NET = "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def forward(self, x):\n        return x\n"
TRAINS = (
    "from net import Net\nnet = Net()\nfor x in load():\n    net(x.to(device)).sum().backward()\n    optimizer.step()\n"
)
TRIES = "if __name__ == '__main__':\n    net = Net().cuda()\n    print(net(torch.rand(1, 3)))\n"


@pytest.mark.parametrize(
    ("main", "other", "severity"),
    [
        (TRIES, TRAINS, "info"),
        (TRIES, TRAINS.replace("from net import Net\n", ""), "error"),
        (TRIES.replace("torch.rand(1, 3)", "read()"), TRAINS, "error"),
        (TRIES.replace("    print", "    for _ in range(9): print"), TRAINS, "error"),
        (TRIES.replace("    net =", "    args = parser.parse_args()\n    net ="), TRAINS, "error"),
        (TRIES.replace("Net()", "other.Net()").replace("    net", "    import other\n    net", 1), TRAINS, "info"),
        (TRIES.replace("Net()", "make()"), TRAINS, "error"),
        ("net = Net().cuda()\n", TRAINS, "error"),
    ],
    ids=["tried", "alone", "data", "a loop", "options", "of the same name", "of others", "at once"],
)
def test_what_a_module_tries_out_of_its_own(main: str, other: str, severity: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET + main)
    (tmp_path / "run.py").write_text(other)
    report = check_paths([tmp_path], Settings(target="torch_xla", show_info=True, select=("XLA513",)))
    assert [found.severity for found in report.findings if found.filename.endswith("net.py")] == [severity]
