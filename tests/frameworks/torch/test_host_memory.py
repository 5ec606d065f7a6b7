"""Tensors that are in host memory, by how they were made or copied: to read them waits for nothing."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.conftest import Findings

STEP = """
import numpy
import torch
from torch.autograd import Variable

def train(model, optimizer, batches, device):
    for x in batches:
        out = model(x.to(device))
        out.sum().backward()
        optimizer.step()
"""
COPY = "kept = out.cpu()\n"
SILENT = {
    "a variable of a host tensor": "sizes = Variable(torch.IntTensor([3, 4]))\nassert sizes.data.sum() == 7",
    "a draw from host numbers": "weights = torch.DoubleTensor([1.0, 2.0])\nprint(torch.multinomial(weights, 3).tolist())",
    "what gives an array at once": "kept = torch.relu(other)\nkept.data.numpy()\nif kept.sum() > 3:\n    print(kept.mean().item())",
    "what gives an array at once, cut from its gradients": "kept = torch.relu(other)\nkept.detach().numpy()\nprint(kept.sum().item())",
    "what is made where a host tensor is, by a name": "w = torch.rand(3).device\ntorch.zeros(3, device=w).sum().item()",
    "what is made where a host tensor is": "bar = torch.rand(4)\nif (torch.rand(4, device=bar.device) > bar).all():\n    print(x)",
    "a copy of what is made there": "kept = torch.zeros(8, 4)\nkept[0] = 1\nkept[:, 3].reshape(2, 4).data.cpu()",
    "a copy of what is computed with a draw": "kept = torch.randint(0, 9, (2, 8))\nkept[0, 1].cpu().item()",
    "what is copied where there is no GPU": "if torch.cuda.is_available():\n    x = x.cuda()\nelse:\n    kept = out.cpu()",
    "what is copied where a flag says that there is none": "if not args.use_cuda:\n    kept = out.cpu()",
    "what is copied where none is wanted": "if not args.no_cuda and torch.cuda.is_available():\n    x = 1\nelse:\n    kept = out.cpu()",
    "what is copied where it is on no GPU": "if out.is_cuda:\n    print(1)\nelse:\n    kept = out.cpu()",
}
ONCE = {
    "a copy that is copied": COPY + "again = kept.cpu()",
    "what is copied where there is a GPU, and read": "if args.num_gpus:\n    out = out.cpu()\nprint(out.sum().item(), out.tolist())",
    "what is copied where there is a GPU, and a list": "if args.cuda:\n    outs = [out.cpu()]\nelse:\n    outs = [out]\n"
    "print(outs[0].sum().item())",
    "a part of a copy that is copied": COPY + "first = kept[0].cpu().numpy()",
    "what a copy is computed with": "kept = out.cpu()\nother = (kept * other + 1).cpu()",
}
FOUND = {
    "what is copied where there is a GPU": ("if torch.cuda.is_available():\n    kept = out.cpu()", ["XLA302"]),
    "what is copied behind that question": (
        "if not torch.cuda.is_available():\n    print(1)\nkept = out.cpu()",
        ["XLA302"],
    ),
    "what is copied where it is not wanted that there is none": (
        "if not args.no_cuda:\n    kept = out.cpu()",
        ["XLA302"],
    ),
    "what is copied where it is not so that there is none": (
        "if not gpu:\n    x = 1\nelse:\n    kept = out.cpu()",
        ["XLA302"],
    ),
    "what is copied without a GPU or later": (
        "if use_cuda and i > 3:\n    x = 1\nelse:\n    kept = out.cpu()",
        ["XLA302"],
    ),
    "what is copied where no model is given": ("if not args.model:\n    kept = out.cpu()", ["XLA302"]),
    "what is copied where it is on a GPU": ("if out.is_cuda:\n    kept = out.cpu()", ["XLA302"]),
    "what is read where it is on no GPU, and on a TPU": (
        "if not out.is_cuda:\n    print(out.sum().item())",
        ["XLA301"],
    ),
    "what is read behind that question": ("if not out.is_cuda:\n    print(1)\nprint(out.sum().item())", ["XLA301"]),
    "what gave an array once, and is computed anew": (
        "kept = torch.relu(other)\nkept.numpy()\nkept = torch.relu(model(x.to(device)))\nif kept.sum() > 3:\n    print(x)",
        ["XLA101"],
    ),
    "a variable of what the device computes": ("wrapped = Variable(out)\nassert wrapped.data.sum() == 7", ["XLA103"]),
    "a draw from what the device computes": ("print(torch.multinomial(out, 3).tolist())", ["XLA302"]),
    "what is moved to where a device tensor is": (
        "bar = torch.rand(4)\nif (bar.to(out.device) > 0.5).all():\n    print(x)",
        ["XLA101"],
    ),
    "what is made where a device tensor is": (
        "if (torch.rand(4, device=out.device) > 0.5).all():\n    print(x)",
        ["XLA101"],
    ),
    "what fills rows of an array, and is computed here": (
        "kept = numpy.empty((4, 8))\nkept[:, 1] = torch.relu(out)",
        ["XLA302"],
    ),
    "what is computed with what may be anything": (
        "kept = torch.zeros(8) if i else other\ntorch.matmul(out, kept).cpu()",
        ["XLA302"],
    ),
    "what is made without a device, and moved": ("kept = torch.zeros(8, 4).to(device)\nkept[:, 3].cpu()", ["XLA302"]),
    "what is copied where something else is asked for, and read": (
        "if args.shown:\n    out = out.cpu()\nprint(out.sum().item())",
        ["XLA302", "XLA301"],
    ),
    "what is copied where there is none, and read": (
        "if not use_cuda:\n    out = out.cpu()\nprint(out.sum().item())",
        ["XLA301"],
    ),
    "what may be one or the other": ("kept = torch.zeros(8)\nif i > 3:\n    kept = out\nkept.cpu()", ["XLA302"]),
    "what is copied under the name of a copy": (
        "out = out.cpu()\nout = model(x.to(device))\nout.cpu()",
        ["XLA302"] * 2,
    ),
    "what is computed anew under the name": (COPY + "kept = model(x.to(device))\nkept.cpu()", ["XLA302"] * 2),
}


def found(findings: Findings, body: str) -> list[str]:
    """The codes of what is found in a step of training."""
    codes = ("XLA101", "XLA103", "XLA301", "XLA302", "XLA303")
    return [code for code, _ in findings(STEP + indent(body, " " * 8), "torch_xla") if code in codes]


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_what_is_in_host_memory_is_read_for_nothing(body: str, findings: Findings) -> None:
    assert found(findings, body) == []


@pytest.mark.parametrize("body", ONCE.values(), ids=ONCE)
def test_what_was_copied_is_copied_once(body: str, findings: Findings) -> None:
    assert found(findings, body) == ["XLA302"]


@pytest.mark.parametrize(("body", "codes"), FOUND.values(), ids=FOUND)
def test_what_is_on_the_device_is_waited_for(body: str, codes: list[str], findings: Findings) -> None:
    assert found(findings, body) == codes


MADE = "import torch\n{}def train(model, optimizer):\n    for i in range(9):\n        loss = model(torch.rand(8, 3).to('cuda')).sum()\n"
MADE += "        loss.backward()\n        optimizer.step()\n        if torch.rand(4).max() > 0.5:\n            model.train()\n"
DEFAULTS = {
    "in host memory": ("", []),
    "in host memory, as another kind of number": ("torch.set_default_tensor_type('torch.DoubleTensor')\n", []),
    "on a device that is chosen for all": ("torch.set_default_device('cuda')\n", ["XLA101"]),
    "in host memory, which is chosen for all": ("torch.set_default_device('cpu')\n", []),
    "in host memory, which is chosen by an object": ("torch.set_default_device(torch.device('cpu'))\n", []),
    "in host memory here, on a device elsewhere": (
        "torch.set_default_device('cpu')\ndef run(device):\n    torch.set_default_device(device)\n",
        ["XLA101"],
    ),
    "on a GPU, by a kind of tensor": ("torch.set_default_tensor_type('torch.cuda.FloatTensor')\n", ["XLA101"]),
    "on a GPU, where there is one": (
        "def choose(args):\n    if args.gpu:\n        torch.set_default_tensor_type(torch.cuda.FloatTensor)\n",
        ["XLA101"],
    ),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_where_tensors_are_made_that_nothing_places(name: str, findings: Findings) -> None:
    head, expected = DEFAULTS[name]
    found = [code for code, _ in findings(MADE.format(head), "torch_xla")]
    assert [code for code in found if code in ("XLA101", "XLA301")] == expected


PROGRAM = """import torch
{}
def train(model, optimizer, loader, device):
    for x in loader:
        loss = model(x.float().to(device)).sum()
        loss.backward()
        optimizer.step()
        {}
model = torch.nn.Linear(3, 4).to(DEVICE)
train(model, torch.optim.SGD(model.parameters(), 0.1), [torch.rand(2, 3)], {})
"""
CHOSEN = {
    "by a text": ("DEVICE = 'cpu'", "loss.item()", "DEVICE", ["XLA301"]),
    "by an object": ("DEVICE = torch.device('cpu')", "loss.item()", "DEVICE", ["XLA301"]),
    "by an object of a text": ("name = 'cpu'\nDEVICE = torch.device(name)", "loss.item()", "device=DEVICE", ["XLA301"]),
    "by a setting": ("class C:\n    where = 'cpu'\nDEVICE = C.where", "loss.item()", "C.where", ["XLA301"]),
    "and moved to the host": ("DEVICE = 'cpu'", "loss.to('cpu')", "DEVICE", ["XLA302"]),
    "and moved to what is named for the host": ("DEVICE = cpu = 'cpu'", "loss.to(cpu)", "DEVICE", ["XLA302"]),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_a_device_that_the_program_has_set_is_judged_as_the_targets(name: str, findings: Findings) -> None:
    chosen, read, given, expected = CHOSEN[name]
    assert [code for code, _ in findings(PROGRAM.format(chosen, read, given), "torch_xla")] == expected


CLUSTER = """import torch
def cluster(x: torch.Tensor, {0}):
    x = x.to(device)
    if torch.isnan(x).any():
        return x * 2
    return x
class Net(torch.nn.Module):
    def forward(self, x, where):
        return cluster(torch.relu(x){1})
"""
CLUSTERS = {
    "to the host, where nobody says more": ("device=torch.device('cpu')", "", ["XLA302"]),
    "to the host, by a name": ("device='cpu'", "", ["XLA302"]),
    "to where the call says": ("device=torch.device('cpu')", ", where", ["XLA101"]),
    "to a device": ("device=torch.device('cuda')", "", ["XLA101"]),
}


@pytest.mark.parametrize("name", CLUSTERS)
def test_where_a_default_moves_what_a_function_is_given(name: str, findings: Findings) -> None:
    default, given, expected = CLUSTERS[name]
    assert [code for code, _ in findings(CLUSTER.format(default, given), "torch_xla")] == expected


def test_a_default_says_nothing_of_who_calls_a_library(findings: Findings) -> None:
    text = CLUSTER.partition("class")[0].format("device=torch.device('cpu')")
    assert [code for code, _ in findings(text, "torch_xla")] == ["XLA101"]


PREDICT = """
import torch
from transformers import AutoTokenizer
known = AutoTokenizer.from_pretrained("some")

def predict(processor, model, texts, device):
    model.eval()
    for text in texts:
        model(text)
"""
ENCODED = {
    "an attribute": "x = processor(text, return_tensors='pt')\nprint(x.input_ids.max().item())",
    "a part by its name": "x = processor(text, return_tensors='pt')\nif x['mask'].any():\n    print(text)",
    "of a tokenizer": "x = known(text, return_tensors='pt')\nprint(x['input_ids'].max().item())",
    "all of it": "x = processor.encode(text, return_tensors='pt')\nprint(x.max().item())",
}
ENCODED_AND_MOVED = {
    "all of it": "x = processor(text, return_tensors='pt').to(device)\nprint(x['input_ids'].max().item())",
    "all of it, later": "x = known(text, return_tensors='pt')\nx = x.to(device)\nprint(x.input_ids.max().item())",
    "a part": "x = processor(text, return_tensors='pt').input_ids.to(device)\nprint(x.max().item())",
    "part by part": "x = processor(text, return_tensors='pt')\nx = {k: v.to(device) for k, v in x.items()}\nprint(x['ids'].max().item())",
    "in place": "x = processor(text, return_tensors='pt')\nx.to(device)\nprint(x.input_ids.max().item())",
    "what the model gives": "x = processor(text, return_tensors='pt').to(device)\nprint(model(**x).logits.max().item())",
}


@pytest.mark.parametrize("body", ENCODED.values(), ids=ENCODED)
def test_what_a_processor_gives_is_on_the_host(body: str, findings: Findings) -> None:
    found = [code for code, _ in findings(PREDICT + indent(body, " " * 8), "torch_xla")]
    assert {"XLA101", "XLA301"}.isdisjoint(found)


@pytest.mark.parametrize("body", ENCODED_AND_MOVED.values(), ids=ENCODED_AND_MOVED)
def test_what_is_moved_behind_a_processor_is_on_the_device(body: str, findings: Findings) -> None:
    assert "XLA301" in [code for code, _ in findings(PREDICT + indent(body, " " * 8), "torch_xla")]


FILL = """
def advantages(value, n):
    kept = numpy.empty((n, n))
    for t in range(n):
        kept[{index}] = value[:, t] {then}
    return kept
"""


@pytest.mark.parametrize(
    ("index", "then", "codes"),
    [
        (":, t", "", []),
        ("t, :", "+ kept[0]", []),
        ("0", "", ["XLA302"]),  # one number, which can be copied so
        (":, t", ".clamp(0)", []),
    ],
)
def test_what_fills_an_array_is_on_the_host(index: str, then: str, codes: list[str], findings: Findings) -> None:
    text = STEP + FILL.format(index=index, then=then)
    assert [code for code, _ in findings(text, "torch_xla") if code == "XLA302"] == codes


SHOWN = """
import torch
{}
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        shown = torch.matmul(x, x)
        return shown{}
"""


@pytest.mark.parametrize(
    ("imported", "read", "codes"),
    [
        ("", ".numpy()", ["XLA302"]),
        ("import numpy", ".detach().numpy()", ["XLA302"]),
        ("import lightning", ".numpy()", []),
        ("import pytorch_lightning as pl", ".detach().numpy()", []),
        ("import lightning", ".cpu().numpy()", ["XLA302"]),
        ("import lightning", ".sum().item()", ["XLA301"]),
        ("import lightning", ".numpy(force=True)", ["XLA302"]),
    ],
)
def test_what_gives_an_array_at_once_where_a_library_trains_on_what_is_there(
    imported: str, read: str, codes: list[str], findings: Findings
) -> None:
    assert [code for code, _ in findings(SHOWN.format(imported, read), "torch_xla")] == codes
