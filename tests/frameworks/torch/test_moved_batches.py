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
}
ON_DEVICE = {
    "by way of the host": "        seen = loss.detach().cpu().numpy()\n",
    "with force": "        seen = torch.sort(loss)[0].numpy(force=True)\n",
    "by NumPy": "        seen = numpy.asarray(torch.sort(loss)[0])\n",
}


@pytest.mark.parametrize("name", ON_HOST)
def test_what_numpy_gives_at_once_is_on_the_host(name: str, findings: Findings) -> None:
    assert "XLA302" not in [code for code, _ in findings(COPIED + STEP + ON_HOST[name], "torch_xla")]


@pytest.mark.parametrize("name", ON_DEVICE)
def test_what_is_copied_for_numpy(name: str, findings: Findings) -> None:
    text = "import numpy\n" + COPIED + STEP + ON_DEVICE[name]
    assert "XLA302" in [code for code, _ in findings(text, "torch_xla")]


def test_a_program_that_leaves_the_device_open(findings: Findings) -> None:
    text = COPIED.replace(", device", "") + STEP.replace(".to(device)", "") + ON_HOST["of a field that is sorted"]
    assert "XLA302" in [code for code, _ in findings(text, "torch_xla")]
