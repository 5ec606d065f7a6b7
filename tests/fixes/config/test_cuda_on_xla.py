"""XLA513: calls for CUDA become calls for an XLA device."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import expect_fixed, expect_left_alone, outcome

START = "import torch\nimport torch_xla\nfrom torch.utils.data import DataLoader\n\nmodel = torch.nn.Linear(2, 2)\n"

LEFT_ALONE = {
    "a GPU by its number": ("model.cuda(1)\n", "by its number"),
    "a device by a name": ("device = 'cuda'\nmodel.to(device)\n", "named elsewhere"),
    "an autocast with a dtype": ("with torch.autocast('cuda', dtype=torch.float16):\n    pass\n", "bfloat16"),
    "a call of which the purpose is not known": ("torch.cuda.synchronize()\n", "what it is used for"),
}
FIXED = {
    "a module": ("model.cuda()\n", 'model.to("xla")\n', "unsafe"),
    "by name": ("model.to('cuda:0')\n", "model.to('xla')\n", "unsafe"),
    "an autocast": ("with torch.autocast('cuda'):\n    pass\n", "with torch.autocast('xla'):\n    pass\n", "unsafe"),
    "pinned memory": ("DataLoader(data, 8, pin_memory=True)\n", "DataLoader(data, 8)\n", "safe"),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone_with_a_reason(text: str, why: str) -> None:
    expect_left_alone(outcome(START + text, "XLA513"), why)


@pytest.mark.parametrize(("before", "after", "applicability"), FIXED.values(), ids=FIXED)
def test_fixed(before: str, after: str, applicability: str) -> None:
    expect_fixed(outcome(START + before, "XLA513"), START + after, applicability)


TPU = "import torch\n\nmodel = torch.nn.Linear(2, 2)\n"
LEFT_ALONE_ON_TPU = {
    "a GPU by its number": ("model.cuda(1)\n", "by its number"),
    "a stream": ("torch.cuda.Stream()\n", "what it is used for"),
    "an autocast of CUDA's own, by place": ("with torch.cuda.amp.autocast(True):\n    pass\n", "bfloat16"),
    "an autocast by place": ("with torch.autocast('cuda', torch.float16):\n    pass\n", "bfloat16"),
    "a backend by an option": (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--backend', default='nccl')\n"
        "args = parser.parse_args()\ntorch.distributed.init_process_group(args.backend)\n",
        "named elsewhere",
    ),
    "a device by a name that is handed on": (
        "def f(kind):\n    torch.zeros(2, device=kind)\nf('cuda')\n",
        "named elsewhere",
    ),
    "a scaler by place": ("torch.amp.GradScaler('tpu', 2.0**10)\n", "enabled=False"),
    "a flag": ("fast = torch.cuda.is_available()\nif fast:\n    device = 'cuda'\n", "asked elsewhere"),
    "a question about CUDA's own": (
        "if torch.cuda.is_available():\n    device = 'cuda'\n    torch.cuda.set_stream(stream)\n",
        "only CUDA has",
    ),
    "where another tensor is, or as it was made": (
        "def f(x, y, z):\n    return x.cuda() if y.is_cuda else z\nf(torch.ones(1), torch.ones(1), torch.ones(1))\n",
        "`device`",
    ),
    "a choice of types of tensors": (
        "kind = torch.cuda.FloatTensor if args.cuda else torch.FloatTensor\nmodel.to('tpu')\n",
        "otherwise",
    ),
    "a flag that chooses types of tensors": (
        "fast = torch.cuda.is_available()\nkind = torch.cuda.FloatTensor if fast else torch.FloatTensor\n"
        "if fast:\n    model.cuda()\n",
        "`device=`",
    ),
    "a GPU by its number, and a flag": ("model.cuda(1, True)\n", "by its number"),
    "a GPU by a name, and a flag by place": ("model.cuda(rank, True)\n", "by `.to"),
    "arguments by a mapping": ("model.cuda(**how)\n", "by `.to"),
    "a backend by a name that is assigned again": (
        "kind = 'nccl'\nif many:\n    kind = 'nccl'\ntorch.distributed.init_process_group(kind)\n",
        "elsewhere",
    ),
    "a backend among other arguments": (
        "torch.distributed.init_process_group('nccl', method)\n",
        "leave it out",
    ),
}
FIXED_ON_TPU = {
    "a module": ("model.cuda()\n", 'model.to("tpu")\n'),
    "by name": ("model.to('cuda:0')\n", "model.to('tpu')\n"),
    "an autocast": (
        "with torch.autocast('cuda', dtype=torch.float16):\n    pass\n",
        'with torch.autocast("tpu", dtype=torch.bfloat16):\n    pass\n',
    ),
    "an autocast of CUDA's own, by a flag": (
        "with torch.cuda.amp.autocast(enabled=flags.half):\n    pass\n",
        'with torch.autocast("tpu", dtype=torch.bfloat16, enabled=flags.half):\n    pass\n',
    ),
    "an autocast by a keyword": (
        "with torch.autocast(device_type='cuda', dtype=torch.float16):\n    pass\n",
        'with torch.autocast("tpu", dtype=torch.bfloat16):\n    pass\n',
    ),
    "what memory is used": ("print(torch.cuda.memory_summary())\n", "print(torch.accelerator.memory_stats())\n"),
    "waiting": ("torch.cuda.synchronize()\n", "torch.accelerator.synchronize()\n"),
    "processes by an attribute": (
        "def start(args):\n    args.kind = 'nccl'\n    torch.distributed.init_process_group(backend=args.kind, rank=3)\nstart(found)\n",
        "def start(args):\n    args.kind = 'tpu_dist'\n    torch.distributed.init_process_group(backend=args.kind, rank=3)\nstart(found)\n",
    ),
    "processes by a name": (
        "kind = 'nccl'\ntorch.distributed.init_process_group(kind)\n",
        "kind = 'tpu_dist'\ntorch.distributed.init_process_group(kind)\n",
    ),
    "processes": ("torch.distributed.init_process_group('nccl')\n", "torch.distributed.init_process_group()\n"),
    "processes by keyword": (
        "torch.distributed.init_process_group(backend='nccl', world_size=4)\n",
        "torch.distributed.init_process_group(world_size=4)\n",
    ),
    "a device": ("device = torch.device('cuda')\n", 'device = torch.device("tpu")\n'),
    "a device by number": ("device = torch.device(f'cuda:{rank}')\n", 'device = torch.device("tpu")\n'),
    "a scaler": ("torch.amp.GradScaler('tpu')\n", "torch.amp.GradScaler('tpu', enabled=False)\n"),
    "a scaler by a flag": (
        "torch.amp.GradScaler('tpu', enabled=flags.half)\n",
        "torch.amp.GradScaler('tpu', enabled=False)\n",
    ),
    "made there": ("torch.zeros(2, device='cuda')\n", 'torch.zeros(2, device="tpu")\n'),
    "loaded there": ("torch.load('a.pt', map_location='cuda:0')\n", "torch.load('a.pt', map_location=\"tpu\")\n"),
    "a question": (
        "if torch.cuda.is_available():\n    device = torch.device('cuda:0')\n    torch.cuda.manual_seed(1)\n"
        "else:\n    device = torch.device('cpu')\n",
        "if torch.accelerator.is_available():\n    device = torch.device('tpu')\n    torch.manual_seed(1)\n"
        "else:\n    device = torch.device('cpu')\n",
    ),
    "a question, and a move": (
        "if torch.cuda.is_available():\n    device = 'cuda'\n    model.cuda()\n",
        "if torch.accelerator.is_available():\n    device = 'tpu'\n    model.to(\"tpu\")\n",
    ),
    "a move where there is one": (
        "if torch.cuda.is_available():\n    model = model.cuda(non_blocking=True)\n",
        'if torch.accelerator.is_available():\n    model = model.to("tpu", non_blocking=True)\n',
    ),
    "a seed that is set already": (
        "torch.manual_seed(1)\nif torch.cuda.is_available():\n    torch.cuda.manual_seed(1)\n    device = 'cuda'\n",
        "torch.manual_seed(1)\nif torch.accelerator.is_available():\n    device = 'tpu'\n",
    ),
    "a seed that is another": (
        "torch.manual_seed(1)\nif torch.cuda.is_available():\n    torch.cuda.manual_seed(2)\n    device = 'cuda'\n",
        "torch.manual_seed(1)\nif torch.accelerator.is_available():\n    torch.manual_seed(2)\n    device = 'tpu'\n",
    ),
    "a branch for GPUs": ("if args.cuda:\n    model.cuda()\n", 'if args.cuda:\n    model.to("tpu")\n'),
    "a flag and what it is for": (
        "fast = args.gpu and torch.cuda.is_available()\nif fast:\n    pass\nmodel = model.cuda() if fast else model\n",
        "fast = args.gpu and torch.accelerator.is_available()\nif fast:\n    pass\n"
        'model = model.to("tpu") if fast else model\n',
    ),
    "by a name": ("model.cuda(args.gpu, non_blocking=True)\n", 'model.to("tpu", non_blocking=True)\n'),
    "a device where there is one": (
        "device = torch.device('cuda') if torch.cuda.is_available() else torch.device('cpu')\n",
        "device = torch.device('tpu') if torch.accelerator.is_available() else torch.device('cpu')\n",
    ),
    "a move in an expression where there is one": (
        "model = model.cuda() if torch.cuda.is_available() else model\n",
        'model = model.to("tpu") if torch.accelerator.is_available() else model\n',
    ),
    "a flag by a choice": (
        "fast = True if torch.cuda.is_available() else False\nif fast:\n    model.cuda()\n",
        'fast = True if torch.accelerator.is_available() else False\nif fast:\n    model.to("tpu")\n',
    ),
    "what ends the function without one": (
        "def f(x):\n    if not torch.cuda.is_available():\n        return x\n    return x.cuda()\n",
        'def f(x):\n    if not torch.accelerator.is_available():\n        return x\n    return x.to("tpu")\n',
    ),
    "what ends the program without one": (
        "import sys\nif not torch.cuda.is_available():\n    print('none')\n    sys.exit(1)\nif args.both:\n    model.cuda()\n",
        "import sys\nif not torch.accelerator.is_available():\n    print('none')\n    sys.exit(1)\nif args.both:\n"
        '    model.to("tpu")\n',
    ),
    "an assertion": (
        "assert torch.cuda.is_available(), 'none'\ntorch.cuda.set_device(rank)\n",
        "assert torch.accelerator.is_available(), 'none'\n",
    ),
    "an assertion of something else": (
        "assert torch.cuda.device_count() > 1\nif rank:\n    raise ValueError\nmodel.cuda()\n",
        'assert torch.cuda.device_count() > 1\nif rank:\n    raise ValueError\nmodel.to("tpu")\n',
    ),
    "a branch that goes on": (
        "if not torch.cuda.is_available():\n    print('none')\nmodel.cuda()\n",
        "if not torch.cuda.is_available():\n    print('none')\nmodel.to(\"tpu\")\n",
    ),
    "a device by a flag that was set by asking": (
        "fast = args.cuda and torch.cuda.is_available()\nif fast:\n    device = torch.device('cuda')\n"
        "else:\n    device = torch.device('cpu')\n",
        'fast = args.cuda and torch.accelerator.is_available()\nif fast:\n    device = torch.device("tpu")\n'
        "else:\n    device = torch.device('cpu')\n",
    ),
    "a device by a flag that was set otherwise": (
        "fast = args.cuda\nif fast:\n    device = torch.device('cuda')\n",
        'fast = args.cuda\nif fast:\n    device = torch.device("tpu")\n',
    ),
    "a question, and a device by a format": (
        "if torch.cuda.is_available():\n    device = torch.device('cuda:{}'.format(args.rank))\n",
        "if torch.accelerator.is_available():\n    device = torch.device('tpu')\n",
    ),
    "a choice that users have": (
        "device = torch.device('cuda' if args.backend == 'gpu' and torch.cuda.is_available() else 'cpu')\n",
        "device = torch.device('tpu' if args.backend == 'gpu' and torch.accelerator.is_available() else 'cpu')\n",
    ),
    "a choice by a flag that users set": (
        "device = torch.device('cuda' if args.cuda else 'cpu')\n",
        "device = torch.device('tpu' if args.cuda else 'cpu')\n",
    ),
    "a number of GPUs": (
        "count = torch.cuda.device_count()\ntorch.nn.DataParallel(model)\n",
        "count = torch.accelerator.device_count()\ntorch.nn.DataParallel(model)\n",
    ),
    "a model in parallel": (
        "model = torch.nn.DataParallel(model).cuda()\n",
        'model = torch.nn.DataParallel(model).to("tpu")\n',
    ),
    "a batch of which the model is handed the rest": (
        "wide = torch.nn.DataParallel(model)\nwide.eval()\nfor i, (x, y, path) in enumerate(loader):\n    y = y.cuda()\n"
        "    print(path, wide(x) - y)\n",
        "wide = torch.nn.DataParallel(model)\nwide.eval()\nfor i, (x, y, path) in enumerate(loader):\n"
        '    x = x.to("tpu")\n    y = y.to("tpu")\n    print(path, wide(x) - y)\n',
    ),
    "a batch that is made anew": (
        "wide = torch.nn.DataParallel(model)\nwide.eval()\nfor x, y in loader:\n    y = y.cuda()\n    x = mix(x)\n    wide(x)\n",
        "wide = torch.nn.DataParallel(model)\nwide.eval()\nfor x, y in loader:\n"
        '    y = y.to("tpu")\n    x = mix(x)\n    wide(x)\n',
    ),
    "a batch whose model moves nothing": (
        "model.eval()\nfor x, y in loader:\n    y = y.cuda()\n    model(x)\n",
        'model.eval()\nfor x, y in loader:\n    y = y.to("tpu")\n    model(x)\n',
    ),
    "where another tensor is": (
        "def f(x, y):\n    return x.cuda() if y.is_cuda else x\nf(torch.ones(1), torch.ones(1))\n",
        "def f(x, y):\n    return x.to(y.device)\nf(torch.ones(1), torch.ones(1))\n",
    ),
    "a device by the number of them": (
        "def f(rank):\n    torch.cuda.set_device(rank % torch.cuda.device_count())\n    return model\n",
        "def f(rank):\n    return model\n",
    ),
    "a choice of a device that is all of a branch": (
        "def f(rank, both):\n    if both:\n        torch.cuda.set_device(rank)\nf(0, True)\n",
        "def f(rank, both):\n    if both:\n        pass\nf(0, True)\n",
    ),
    "a number computed of the number of them": (
        "device = rank % torch.cuda.device_count()\ntorch.nn.DataParallel(model).to(device)\n",
        "device = rank % torch.accelerator.device_count()\ntorch.nn.DataParallel(model).to(device)\n",
    ),
    "a device by its name, for what is moved below": (
        "device = 'cuda'\nif args.several:\n    device = f'cuda:{args.rank}'\nmodel.to(device)\n",
        "device = 'tpu'\nif args.several:\n    device = \"tpu\"\nmodel.to(device)\n",
    ),
    "what a device is called": (
        "kind = 'cuda' if 'cuda' in device else 'cpu'\nother = 'cuda' if device.startswith('cuda') else 'cpu'\nmodel.to(device)\n",
        "kind = 'tpu' if 'tpu' in device else 'cpu'\nother = 'tpu' if device.startswith('tpu') else 'cpu'\nmodel.to(device)\n",
    ),
    "a device where a tensor is": (
        "def f(x):\n    place = torch.device('cuda') if x.is_cuda else torch.device('cpu')\n"
        "    return torch.eye(2).to(place)\nf(torch.ones(1))\n",
        "def f(x):\n    place = x.device\n    return torch.eye(2).to(place)\nf(torch.ones(1))\n",
    ),
    "a question how many": (
        "if args.gpu and torch.cuda.is_available():\n    args.devices = torch.cuda.device_count()\n",
        "if args.gpu and torch.accelerator.is_available():\n    args.devices = torch.accelerator.device_count()\n",
    ),
    "of a device": ("with torch.cuda.device(0):\n    pass\n", "with torch.accelerator.device_index(0):\n    pass\n"),
    "a choice by a flag": (
        "fast = torch.cuda.is_available()\ndevice = torch.device('cuda' if fast else 'cpu')\n",
        "fast = torch.cuda.is_available()\ndevice = torch.device('tpu')\n",
    ),
    "a choice": (
        "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n",
        "device = torch.device('tpu')\n",
    ),
}


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE_ON_TPU.values(), ids=LEFT_ALONE_ON_TPU)
def test_left_alone_on_a_tpu(text: str, why: str) -> None:
    expect_left_alone(outcome(TPU + text, "XLA513", target="torch_tpu"), why)


@pytest.mark.parametrize(("before", "after"), FIXED_ON_TPU.values(), ids=FIXED_ON_TPU)
def test_fixed_on_a_tpu(before: str, after: str) -> None:
    expect_fixed(outcome(TPU + before, "XLA513", target="torch_tpu"), TPU + after, "unsafe")
