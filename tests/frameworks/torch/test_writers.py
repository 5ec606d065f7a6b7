"""Writers of summaries, known or handed around: what they are given is copied to the host. The silent half first."""

from __future__ import annotations

import pytest

from tests.conftest import Findings

STEP = """
import torch

class Kept:
    def add_scalar(self, tag, value, step):
        self.last = value

def train(model, loader, optimizer, writer, device, kept: Kept):
    for i, x in enumerate(loader):
        loss = model(x.to(device)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {}
"""
QUIET = {
    "a number": "writer.add_scalar('rate', 0.1, i)",
    "a number of the optimizer's": "writer.add_scalar('rate', optimizer.param_groups[0]['lr'], i)",
    "a size": "writer.add_scalar('size', x.shape[0], i)",
    "what is in host memory": "writer.add_scalar('cut', torch.ones(3).cpu().sum(), i)",
    "another method": "writer.keep(loss)",
    "what a class of the program keeps": "kept.add_scalar('loss', loss, i)",
    "a text": "writer.add_text('name', f'{i}', i)",
}
LOUD = {
    "a scalar": "writer.add_scalar('loss', loss, i)",
    "a scalar by its name": "writer.add_scalar('loss', scalar_value=loss, global_step=i)",
    "several": "writer.add_scalars('losses', {'all': loss, 'half': loss / 2}, i)",
    "a histogram": "writer.add_histogram('weights', loss, i)",
    "of a writer that is kept": "model.writer.add_scalar('loss', loss, i)",
}


def told(statement: str, findings: Findings) -> list[str]:
    return [code for code, _ in findings(STEP.format(statement), "torch_xla") if code in ("XLA301", "XLA302", "XLA303")]


@pytest.mark.parametrize("name", QUIET)
def test_what_a_writer_has_without_the_device(name: str, findings: Findings) -> None:
    assert told(QUIET[name], findings) == []


@pytest.mark.parametrize("name", LOUD)
def test_what_a_writer_copies(name: str, findings: Findings) -> None:
    assert told(LOUD[name], findings) == ["XLA303"]
