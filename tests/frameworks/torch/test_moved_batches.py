"""Batches that a loop over steps moves to a device which the program leaves open: they are tensors, and on that device."""

from __future__ import annotations

import pytest

from tests.conftest import Findings

EVALUATION = "import torch\ndef test(model, loader, device, names):\n    model.eval()\n"
LOUD = {
    "each part of a batch": EVALUATION
    + "    for x, y in loader:\n        x, y = x.to(device), y.to(device)\n        model(x)\n        y[y[:, 0] == 3]\n",
    "a part by its name": EVALUATION
    + "    for batch in loader:\n        model(batch)\n        y = batch['y'].to(device)\n        y[y[:, 0] == 3]\n",
    "a numbered batch": EVALUATION
    + "    for i, (x, y) in enumerate(loader):\n        model(x)\n        y = y.to(device)\n        y[y[:, 0] == 3]\n",
    "where a script trains": "import torch\nfor x, y in loader:\n"
    "    model(x).sum().backward()\n    optimizer.step()\n    y = y.to(device)\n    y[y[:, 0] == 3]\n",
}
QUIET = {
    "what is not moved": EVALUATION + "    for x, y in loader:\n        model(x.to(device))\n        y[y[:, 0] == 3]\n",
    "what is moved to host memory": EVALUATION
    + "    for x, y in loader:\n        model(x)\n        y = y.to('cpu')\n        y[y[:, 0] == 3]\n",
    "what no loop gives": EVALUATION
    + "    y = names.to(device)\n    for x in loader:\n        model(x)\n        y[y[:, 0] == 3]\n",
    "what another loop gives": EVALUATION
    + "    for x in loader:\n        model(x)\n    for net in names:\n        net = net.to(device)\n        net[net[0] == 3]\n",
    "what a function that holds no loop over steps moves": "import torch\ndef collect(nets, device):\n"
    "    for net in nets:\n        net = net.to(device)\n        net[net[0] == 3]\n",
}


@pytest.mark.parametrize("name", QUIET)
def test_what_may_be_anything(name: str, findings: Findings) -> None:
    assert [code for code, _ in findings(QUIET[name], "torch_xla") if code == "XLA201"] == []


@pytest.mark.parametrize("name", LOUD)
def test_what_is_moved_in_a_loop_over_steps(name: str, findings: Findings) -> None:
    assert [code for code, _ in findings(LOUD[name], "torch_xla") if code == "XLA201"] == ["XLA201"]


COPIED = "import torch\ndef train(model, optimizer, loader, device):\n    for batch in loader:\n"
STEP = "        loss = model(batch['x'].to(device)).sum()\n        loss.backward()\n        optimizer.step()\n"
ON_HOST = {
    "of a field that is sorted": "        order = torch.sort(batch['length'])[0].numpy()\n",
    "of what is made there": "        picked = torch.arange(8).numpy()\n",
    "of what NumPy takes": "        order = numpy.asarray(torch.sort(loss)[0])\n",
    "of a list that NumPy takes": "        mean = numpy.mean([loss, loss])\n",
    "of what NumPy took before": "        kept = torch.sort(loss)[0]\n        numpy.rot90(kept)\n        print(kept.tolist())\n",
}
ON_DEVICE = {
    "by way of the host": "        seen = loss.detach().cpu().numpy()\n",
    "with force": "        seen = torch.sort(loss)[0].numpy(force=True)\n",
    "into an array, element by element": "        seen = numpy.zeros(8)\n        seen[0] = loss\n",
}


@pytest.mark.parametrize("name", ON_HOST)
def test_what_numpy_gives_at_once_is_on_the_host(name: str, findings: Findings) -> None:
    text = "import numpy\n" + COPIED + STEP + ON_HOST[name]
    assert "XLA302" not in [code for code, _ in findings(text, "torch_xla")]


@pytest.mark.parametrize("name", ON_DEVICE)
def test_what_is_copied_for_numpy(name: str, findings: Findings) -> None:
    text = "import numpy\n" + COPIED + STEP + ON_DEVICE[name]
    assert "XLA302" in [code for code, _ in findings(text, "torch_xla")]


def test_a_program_that_leaves_the_device_open(findings: Findings) -> None:
    open_step = "import numpy\n" + COPIED.replace(", device", "") + STEP.replace(".to(device)", "")
    for name in ("of a field that is sorted", "of what NumPy takes"):
        assert "XLA302" in [code for code, _ in findings(open_step + ON_HOST[name], "torch_xla")]


STEPS = "import torch\ndef to_cuda(*given):\n    return [None if one is None else one.cuda() for one in given]\ndef train(model, optimizer, loader, device):\n    for "  # noqa: E501
LEARNS = "        model(x).sum().backward()\n        optimizer.step()\n"
UNMOVED = {
    "what is read before it is moved": "x, y in loader:\n        print(x.max().item())\n        x = x.to(device)\n",
    "what is not moved, beside what is": "x, y in loader:\n        x = x.to(device)\n        print(y.max().item())\n",
    "what is computed of it": "x, y in loader:\n        x = x.to(device)\n        n = (y != 0).sum(1)\n        print(n.max().item())\n",
    "a part by its name": "batch in loader:\n        x = batch['x'].to(device)\n        if batch['y'].any():\n            x = x + 1\n",
    "a part by its number": "i, batch in enumerate(loader):\n        x = batch[0].to(device)\n        print(batch[1].max().item())\n",
    "a part that is unpacked": "batch in loader:\n        x, y = batch\n        x = x.to(device)\n        print(y.max().item())\n",
    "a batch that is moved as a whole": "batch in loader:\n        print(batch[1].max().item())\n"
    "        x, y = tuple(one.to(device) for one in batch)\n",
    "a part that is named beside others": "batch in loader:\n        x, y = batch[0], batch[-1]\n        x = x.to(device)\n"
    "        print(y.max().item())\n",
    "a copy of what is not moved": "x, y in loader:\n        x = x.to(device)\n        print(y.cpu().numpy().max(), y.cpu().max())\n",
    "what is handed to what works with it": "batch in loader:\n        a, y = batch['a'], batch['y']\n"
    "        x = to_cuda(a, None)[0]\n        print(y.max().item())\n",
    "what is moved under another name": "x, y in loader:\n        x = torch.autograd.Variable(x).to(device)\n"
    "        z = torch.autograd.Variable(y).long().cuda()\n        print(y.max().item())\n",
    "what a function has yet to move": "x, y in loader:\n        print(y.max().item())\n        x, y = to_cuda(x, y)\n",
}
MOVED = {
    "what is moved": "x, y in loader:\n        x, y = x.to(device), y.to(device)\n        print(y.max().item())\n",
    "what has moved under another name": "x, y in loader:\n        x = torch.autograd.Variable(x).to(device)\n"
    "        z = torch.autograd.Variable(y.long()).cuda()\n        print(z.max().item())\n",
    "what is moved to where the model is": "x, y in loader:\n        x = x.to(device)\n        print(model(x).max().item())\n",
    "what a function has moved": "x, y in loader:\n        x, y = to_cuda(x, y)\n        print(y.max().item())\n",
    "what is named beside what is not moved": "batch in loader:\n        x, y = batch[0], batch[-1]\n"
    "        x, y = x.to(device), y.to(device)\n        print(y.max().item())\n",
    "what is handed to what moves nothing": "batch in loader:\n        x, y = batch['x'], batch['y']\n        print(abs(x))\n"
    "        print(y.max().item())\n        z = torch.relu(y)\n        print(z.max().item())\n",
    "all parts of a list": "batch in loader:\n        x, y = tuple(one.to(device) for one in batch)\n        print(y.max().item())\n",
    "all parts of a table": "batch in loader:\n        batch = {k: v.to(device) for k, v in batch.items()}\n"
    "        x = batch['x']\n        print(batch['y'].max().item())\n",
    "a part that is put back": "batch in loader:\n        for k in batch:\n            batch[k] = batch[k].to(device)\n"
    "        x = batch['x']\n        print(batch['y'].max().item())\n",
    "what moves itself": "batch in loader:\n        batch.to(device)\n        x = batch.x\n        print(x.max().item())\n",
    "what the loader may have moved": "x, y in loader:\n        print(y.max().item())\n",
    "what is given to a model, which may move it": "x, y in loader:\n        y = y.to(device)\n"
    "        print(model(x).max().item())\n",
    "what only gets another dtype": "x, y in loader:\n        x = x.to(torch.float32)\n        print(y.max().item())\n",
}


@pytest.mark.parametrize("name", UNMOVED)
def test_what_a_loop_has_not_moved_is_on_the_host(name: str, findings: Findings) -> None:
    found = [code for code, _ in findings(STEPS + UNMOVED[name] + LEARNS, "torch_xla")]
    assert {"XLA101", "XLA301"}.isdisjoint(found)


@pytest.mark.parametrize("name", MOVED)
def test_what_a_loop_has_moved_is_on_the_device(name: str, findings: Findings) -> None:
    assert "XLA301" in [code for code, _ in findings(STEPS + MOVED[name] + LEARNS, "torch_xla")]


GIVEN = "import torch\nclass Trainer:\n    def step(self, batch, x: torch.Tensor, y: torch.Tensor):\n        "
LEARNED = "\n        loss = self.model(x).sum()\n        loss.backward()\n        self.optimizer.step()\n"
GIVEN_UNMOVED = {
    "a part of a table": "x = batch['x'].to(self.device)\n        print(batch['y'].max().item())",
    "what is unpacked of a list": "a, b = batch\n        x = a.cuda()\n        print(b.max().item())",
    "what a copy holds of a table": "kept = {}\n        for key, one in batch.items():\n            kept[key] = one.cuda()\n"
    "        x = kept['x']\n        print(batch['y'].max().item())",
    "what is read before it is moved": "print(x.max().item())\n        x = x.to(self.device)",
}
GIVEN_MOVED = {
    "what is moved": "y = y.to(self.device)\n        print(y.max().item())",
    "another parameter": "x = x.to(self.device)\n        print(y.max().item())",
    "what is moved to where another is": "print(x.max().item())\n        x = x.to(y.device)",
    "what is moved to where something is": "place = y.device\n        print(x.max().item())\n        x = x.to(place)",
    "what is made another kind of number": "print(x.max().item())\n        x = x.to(torch.float32)",
    "what is made another's kind of number": "print(x.max().item())\n        x = x.to(y.dtype)",
    "what is made a kind of number by a name": "dtype = y.dtype\n        print(x.max().item())\n        x = x.to(dtype)",
    "what is made one by the name of it": "print(x.max().item())\n        x = x.to(dtype=torch.float32)",
    "what is moved in its place": "batch['y'] = batch['y'].cuda()\n        print(y.max().item())",
}


@pytest.mark.parametrize("name", GIVEN_UNMOVED)
def test_what_a_function_has_not_moved_of_what_it_is_given_is_on_the_host(name: str, findings: Findings) -> None:
    found = [code for code, _ in findings(GIVEN + GIVEN_UNMOVED[name] + LEARNED, "torch_xla")]
    assert "XLA301" not in found


@pytest.mark.parametrize("name", GIVEN_MOVED)
def test_what_a_function_is_given_may_be_on_the_device(name: str, findings: Findings) -> None:
    found = [code for code, _ in findings(GIVEN + GIVEN_MOVED[name] + LEARNED, "torch_xla")]
    assert "XLA301" in found


CUT = "import torch\ndef train(model, optimizer, rays, device, n):\n    {}at = 0\n    for i in range(1000):\n        {}\n        at += n\n"
CUT += "        model(batch).sum().backward()\n        optimizer.step()\n"
MOVE = "rays = torch.Tensor(rays).to(device)\n    "
CUTS = {
    "out of what is on the device": (MOVE, "batch = rays[at : at + n]", ["XLA403"]),
    "out of what is dealt anew": (
        MOVE,
        "batch = rays[at : at + n]\n        rays = rays[torch.randperm(9)]",
        ["XLA403"],
    ),
    "out of what is in host memory": ("rays = torch.Tensor(rays)\n    ", "batch = rays[at : at + n].to(device)", []),
    "and moved by the name of it": (MOVE, "batch = rays[at : at + n]\n        batch = batch.to(device)", []),
    "at a place that stays": (MOVE, "batch = rays[n : n + n]", []),
    "out of what may be anything": ("", "batch = rays[at : at + n]", []),
}


@pytest.mark.parametrize("name", CUTS)
def test_batches_that_are_cut_by_a_number_to_which_the_loop_adds(name: str, findings: Findings) -> None:
    before, cut, expected = CUTS[name]
    assert [code for code, _ in findings(CUT.format(before, cut), "torch_xla") if code == "XLA403"] == expected


HELPER = """
import torch
from torch.utils.data import DataLoader

def collect(loader, model, kept):
    {}
    return kept

def train(data, model, optimizer, steps):
    loader = {}
    model = torch.nn.Linear(4, 4).cuda()
    for x in DataLoader(data, 4, drop_last=True):
        collect(loader, model, [])
        optimizer.zero_grad()
        model(x.cuda()).sum().backward()
        optimizer.step()
"""
LOADER = "DataLoader(data, 4, drop_last=True)"
LOADED = {
    "of a batch that a loop takes": "for batch in loader:\n"
    "        model(batch[0].cuda())\n        labels = batch[1]\n        kept.append(labels.cpu())",
    "of a pair": "for x, labels in loader:\n        model(x.cuda())\n        kept.append(labels.cpu())",
    "of a batch that is counted": "for i, batch in enumerate(loader):\n"
    "        x, labels = batch['x'].cuda(), batch['y'].detach().cpu()\n        kept.append(labels)",
    "of the next batch": "batches = iter(loader)\n    for _ in range(len(loader)):\n        batch = next(batches)\n"
    "        model(batch[0].cuda())\n        labels = batch[1]\n        kept.append(labels.cpu())",
}
LOADED_AND_MOVED = {
    "of a batch that is moved": "for batch in loader:\n"
    "        x, labels = batch[0].cuda(), batch[1].cuda()\n        kept.append(labels.cpu())",
    "of a batch that is counted and moved": "for i, batch in enumerate(loader):\n"
    "        x, labels = batch['x'].cuda(), batch['y'].cuda()\n        kept.append(labels.cpu())",
    "of the next batch that is moved": "batches = iter(loader)\n    for _ in range(len(loader)):\n        batch = next(batches)\n"
    "        x, labels = batch[0].cuda(), batch[1].cuda()\n        kept.append(labels.cpu())",
    "of a batch of which nothing is moved": "for batch in loader:\n        labels = batch[1]\n        kept.append(labels.cpu())",
    "of what the model gives": "for x, labels in loader:\n        labels = model(x.cuda())\n        kept.append(labels.cpu())",
}


@pytest.mark.parametrize("name", LOADED)
def test_what_a_loader_has_loaded_is_on_the_host(name: str, findings: Findings) -> None:
    assert "XLA302" not in [code for code, _ in findings(HELPER.format(LOADED[name], LOADER), "torch_xla")]


@pytest.mark.parametrize("name", LOADED_AND_MOVED)
def test_what_a_loader_has_loaded_and_the_loop_moved(name: str, findings: Findings) -> None:
    assert "XLA302" in [code for code, _ in findings(HELPER.format(LOADED_AND_MOVED[name], LOADER), "torch_xla")]


@pytest.mark.parametrize("name", LOADED)
def test_what_may_be_loaded_anywhere(name: str, findings: Findings) -> None:
    assert "XLA302" in [code for code, _ in findings(HELPER.format(LOADED[name], "steps"), "torch_xla")]
