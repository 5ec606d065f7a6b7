"""What models give of which the use alone tells that they are models. The silent half first."""

from __future__ import annotations

import pytest

from tests.conftest import Findings

TRAIN = """
import torch

def train(net, loader, optimizer, device, names):
    net.train()
    for x, y in loader:
        x = x.to(device)
        {}
        loss = (net(x) - y.to(device)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
AGENT = """
import torch

class Agent:
    def __init__(self, config):
        self.net, self.kept = config.make(), config.keep()
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def step(self, states, old):
        {}
        loss = self.net(states)["value"].mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""
QUIET = {
    "what is no model": (TRAIN, "out = names(x)\n        out[out > 0]"),
    "several results": (TRAIN, "out, more = net(x)\n        more[more > 0]"),
    "results that are taken apart later": (TRAIN, "out = net(x)\n        first, more = out\n        out[out > 0]"),
    "a result that may be missing": (TRAIN, "out = net(x)\n        if out is not None:\n            out[out > 0]"),
    "a result that may be a list": (TRAIN, "out = net(x)\n        if isinstance(out, list):\n            out[out > 0]"),
    "one of several results": (TRAIN, "out = net(x)[0]\n        out[out > 0]"),
    "a result by its place": (TRAIN, "out = net(x)\n        y = out[0]\n        y[y > 0]"),
    "a result with fields": (TRAIN, "out = net(x)\n        y = out.first\n        y[y > 0]"),
    "a result with some fields that are not known": (
        TRAIN,
        "out = net(x)\n        y = out.logits if out.first else out.loss\n        y[y > 0]",
    ),
    "a result that is printed for its keys": (
        TRAIN,
        "out = net(x)\n        for key in out.keys():\n            print(key)",
    ),
    "a result that is gone through": (TRAIN, "out = net(x)\n        for y in out:\n            y[y > 0]"),
    "a result with a length": (
        TRAIN,
        "out = net(x)\n        for i in range(len(out)):\n            y = out[i]\n            y[y > 0]",
    ),
    "what is made of text": (TRAIN, "out = net('a text')\n        out[out > 0]"),
    "what is made of host memory": (TRAIN, "out = net(torch.zeros(3).cpu())\n        out[out > 0]"),
    "what else an object keeps": (
        AGENT,
        "out = self.kept(states)\n        if out['value'].mean() > 3:\n            return",
    ),
    "what another object keeps": (
        AGENT,
        "out = old.net(states)\n        if out['value'].mean() > 3:\n            return",
    ),
}
LOUD = {
    "a tensor, by its mask": (TRAIN, "out = net(x)\n        out[out > 0]", "XLA201"),
    "a tensor, behind a method": (TRAIN, "out = net(x)\n        out = out.sigmoid()\n        out[out > 0]", "XLA201"),
    "a table": (TRAIN, "out = net(x, names)\n        if out['value'].mean() > 3:\n            continue", "XLA101"),
    "a result with the fields of an output": (
        TRAIN,
        "out = net(x)\n        y = out.logits\n        y[y > 0]",
        "XLA201",
    ),
    "what an object keeps": (
        AGENT,
        "out = self.net(states)\n        if out['value'].mean() > 3:\n            return",
        "XLA101",
    ),
    "a difference with what is not known": (
        AGENT,
        "out = self.net(states)\n        kl = (old.value - out['value']).mean()\n        if kl > 3:\n            return",
        "XLA101",
    ),
}


def masks_and_branches(program: tuple[str, str], findings: Findings) -> list[str]:
    text, statements = program
    return [code for code, _ in findings(text.format(statements), "torch_xla") if code in ("XLA101", "XLA201")]


@pytest.mark.parametrize("name", QUIET)
def test_what_may_be_anything(name: str, findings: Findings) -> None:
    assert masks_and_branches(QUIET[name], findings) == []


@pytest.mark.parametrize("name", LOUD)
def test_what_a_model_gives(name: str, findings: Findings) -> None:
    text, statements, code = LOUD[name]
    assert masks_and_branches((text, statements), findings) == [code]
