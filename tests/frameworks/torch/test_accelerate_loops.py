"""XLA301 to XLA303 in training and evaluation loops of Accelerate's: what waits for the device at each step."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.conftest import Findings

LOOP = """import torch
import torch_xla
from accelerate import Accelerator
from torch import nn

accelerator = Accelerator()
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters())
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
losses = []
for x, y in loader:
    loss = nn.functional.cross_entropy(model(x), y)
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
"""
QUIET = {
    "gathered": "gathered = accelerator.gather(loss)",
    "kept on the device": "losses.append(accelerator.gather_for_metrics(loss.detach()))",
    "reduced": "total = accelerator.reduce(loss, 'mean')",
    "both of a pair": "predictions, references = accelerator.gather_for_metrics((model(x).argmax(-1), y))",
    "clipped": "accelerator.clip_grad_norm_(model.parameters(), 1.0)",
    "clipped where it counts": "if accelerator.sync_gradients:\n    accelerator.clip_grad_norm_(model.parameters(), 1.0)",
    "text printed": "accelerator.print('a step')",
    "the number of processes": "accelerator.print(accelerator.num_processes)",
    "by the main process, no tensor": "if accelerator.is_main_process:\n    print('a step')",
    "its length": "accelerator.print(len(accelerator.gather(y)))",
    "after the loop": "pass\nprint(losses)",
}
LOUD = {
    "gathered": ("total = accelerator.gather(loss).mean().item()", "XLA301"),
    "gathered for metrics": ("total = accelerator.gather_for_metrics(loss.detach()).mean().item()", "XLA301"),
    "one of a pair": ("a, b = accelerator.gather_for_metrics((model(x).argmax(-1), y))\na.cpu()", "XLA302"),
    "the other of a pair": ("a, b = accelerator.gather_for_metrics((y, loss.detach()))\nb.tolist()", "XLA302"),
    "of a dict": ("accelerator.gather({'loss': loss})['loss'].tolist()", "XLA302"),
    "padded": ("accelerator.pad_across_processes(y, dim=0).cpu().numpy()", "XLA302"),
    "reduced": ("print(accelerator.reduce(loss, 'mean'))", "XLA303"),
    "printed": ("accelerator.print(loss)", "XLA303"),
    "formatted": ("accelerator.print(f'loss {loss}')", "XLA303"),
    "logged": ("accelerator.log({'loss': loss})", "XLA303"),
    "logged as a number": ("accelerator.log({'loss': loss.detach().item()})", "XLA301"),
    "by the main process": ("if accelerator.is_main_process:\n    losses.append(loss.item())", "XLA301"),
    "the norm": ("norm = accelerator.clip_grad_norm_(model.parameters(), 1.0).item()", "XLA301"),
}


def of_values(findings: Findings, lines: str) -> list[str]:
    return [code for code, _ in findings(LOOP + indent(lines, "    "), "torch_xla") if code.startswith("XLA3")]


@pytest.mark.parametrize("lines", QUIET.values(), ids=QUIET)
def test_what_stays_on_the_device(lines: str, findings: Findings) -> None:
    assert of_values(findings, lines) == []


@pytest.mark.parametrize(("lines", "code"), LOUD.values(), ids=LOUD)
def test_what_waits_for_the_device(lines: str, code: str, findings: Findings) -> None:
    assert of_values(findings, lines) == [code]
