"""Functions that drive a device: what a step costs counts, what an epoch costs does not, wherever their loops stand."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.conftest import Findings, Loud
from tests.published import as_published, beside_devices
from xlalint.config import Settings
from xlalint.project import check_text

SETUP = """
import torch
import torch_xla
import torch_xla.core.xla_model as xm
from torch import nn

device = torch_xla.device()
"""

STEP = """
loss = model(x.to(device)).sum()
loss.backward()
optimizer.step()
torch_xla.sync()
"""
STEPS = "for x in batches:" + indent(STEP, "    ")
ACCUMULATED = """
for x in batches:
    for part in x.split(4):
        loss = model(part.to(device)).sum()
        loss.backward()
    optimizer.step()
    torch_xla.sync()
"""


def train(body: str, head: str = "model, optimizer, batches, epochs") -> str:
    return f"def train({head}):" + indent("\n" + body, "    ") + "\n"


def epochs(body: str) -> str:
    return "for epoch in range(epochs):\n" + indent(body, "    ")


HANDED_ON = """
for i, x in enumerate(batches):
    loss = model(x.to(device)).sum()
    scaler(loss, optimizer, parameters=model.parameters())
    if (i + 1) % 2 == 0:
        optimizer.zero_grad()
"""
READ = "\n    total = loss.item()\n"

LOUD = {
    "at each step": train(STEPS + READ),
    "at each step of an epoch": train(epochs(STEPS + READ)),
    "at each step that is summed up": train(ACCUMULATED + READ),
    "at each part of a step": train(
        ACCUMULATED.replace("    optimizer.step()", "        print(loss.item())\n    optimizer.step()")
    ),
    "at each batch of an evaluation after the steps": train(
        epochs(STEPS + "with torch.no_grad():\n    for x in batches:\n        total = model(x).sum().item()\n")
        + "model.eval()\n"
    ),
    "of an optimizer that is handed to what steps it": train(HANDED_ON + READ, "model, optimizer, scaler, batches"),
    "of one that is handed on by its name": train(
        HANDED_ON.replace("loss, optimizer,", "loss, of=optimizer,") + READ, "model, optimizer, scaler, batches"
    ),
    "by a nested function": "def main(model, optimizer, batches):\n"
    + indent(train(STEPS + READ, "loader"), "    ")
    + "    for epoch in range(3):\n        train(batches)\n",
    "by a function nested in two": "def start(model, optimizer, batches):\n    def main():\n"
    + indent(train(STEPS + READ, "loader"), " " * 8)
    + "        train(batches)\n    main()\n",
    "by a nested function that evaluates": "def main(model, optimizer, batches):\n"
    + indent(train(STEPS, "loader"), "    ")
    + "    def test(loader):\n        model.eval()\n        seen = 0\n        for x in loader:\n"
    "            seen += torch.argmax(model(x), 1).eq(0).sum().item()\n        return seen\n"
    "    for epoch in range(3):\n        train(batches)\n        test(batches)\n",
    "by a script that only evaluates": "model = nn.Linear(8, 8)\nmodel.eval()\nfor x in batches:\n"
    + "    with torch.no_grad():\n        total = model(x.to(device)).sum().item()\n",
    "by a function that a script gives what it sets to evaluate": "def test(net, loader):\n    for x in loader:\n"
    + "        total = net(x.to(device)).sum().item()\nmodel = nn.Linear(8, 8)\nmodel.eval()\ntest(model, batches)\n",
    "by a function that only evaluates": "def test(net, loader):\n    net.eval()\n    seen = 0\n    with torch.no_grad():\n"
    "        for x in loader:\n            seen += torch.argmax(net(x), 1).sum().item()\n    return seen\n",
    "by a function that gives its model to another": "def tiled(x, net):\n    return net(x)\n"
    "def main(net, paths):\n    net.eval()\n    with open('log') as log:\n        for path in paths:\n"
    "            out = tiled(load(path).to(device), net)\n            log.write(str(out.sum().item()))\n",
    "by a method that evaluates": "class Runner:\n    def test(self, loader):\n        self.model.eval()\n"
    "        for x in loader:\n            seen = torch.argmax(self.model(x), 1).sum().item()\n",
    "now and then, but often": train(
        STEPS.replace("for x in", "for i, x in").replace("batches:", "enumerate(batches):")
    )
    + "        if i % 4 == 0:\n            print(loss.item())\n",
    "in a closure at each step": "def log(loss):\n    return loss.item()\n"
    + train(STEPS + "\n    xm.add_step_closure(log, args=(loss,))\n"),
}

SILENT = {
    "nothing": train(STEPS),
    "once an epoch": train(epochs(STEPS + "\ntotal = loss.item()\n")),
    "once an epoch, printed": train(epochs(STEPS + "\nprint(f'{epoch}: {loss:.3f}')\n")),
    "once an epoch, in a condition": train(epochs(STEPS + "\nif loss > 3:\n    break\n")),
    "once an epoch, with its schedule": train(
        epochs(STEPS + "\nscheduler.step()\nprint(loss.item())\n"), "model, optimizer, batches, epochs, scheduler"
    ),
    "once an epoch, with another order to run": train(epochs(STEPS + "\ntorch_xla.sync()\nprint(loss.item())\n")),
    "once an epoch, of steps that are summed up": train(epochs(ACCUMULATED + "\nprint(loss.item())\n")),
    "once an epoch, below a function that steps": train(STEPS, "model, optimizer, batches")
    + "def main(model, optimizer, batches, lr_schedule):\n    for epoch in range(3):\n"
    "        train(model, optimizer, batches)\n        lr_schedule.step()\n        print(model(batches[0]).sum().item())\n",
    "once an epoch, of an optimizer that is handed to what steps it": train(
        epochs("adjust(optimizer, epoch)\n" + HANDED_ON + "\nprint(loss.item())\n"),
        "model, optimizer, scaler, batches, epochs",
    ),
    "once an epoch, with an optimizer that is handed to a schedule and cleared before": train(
        "optimizer.zero_grad()\n" + epochs("adjust(optimizer, epoch)\n" + STEPS + "\nprint(loss.item())\n")
    ),
    "in a loop that saves an optimizer": train(
        "for x in batches:\n    save(model, optimizer)\n    print(x.mean().item())\n"
    ),
    "in a loop that clears each optimizer": train(
        "for one in optimizers:\n    one.zero_grad()\n    print(model.weight.mean().item())\n", "model, optimizers"
    ),
    "after the steps": train(STEPS + "\nprint(loss.item())\n"),
    "after the steps, of each parameter": train(STEPS + "\nfor p in model.parameters():\n    print(p.mean().item())\n"),
    "after the steps of a nested function": "def main(model, optimizer, batches):\n"
    + indent(train(STEPS + "\nprint(loss.item())\n", "loader"), "    ")
    + "    for epoch in range(3):\n        train(batches)\n",
    "after a nested function's evaluation": "def main(model, optimizer, batches):\n"
    + indent(train(STEPS, "loader"), "    ")
    + "    def test(loader):\n        model.eval()\n        seen = 0\n        for x in loader:\n"
    "            seen += torch.argmax(model(x), 1).eq(0).sum()\n        return seen.item()\n"
    "    for epoch in range(3):\n        train(batches)\n        test(batches)\n",
    "of what an evaluation ended with": "def test(net, loader):\n    net.eval()\n    for x in loader:\n"
    "        best = torch.argmax(net(x), 1)\n    for one in best:\n        print(one.item())\n",
    "in a loop beside what is evaluated": "def show(net, x):\n    net.eval()\n    for one in torch.argmax(net(x), 1):\n"
    "        print(one.item())\n",
    "of a closure that is called once in many steps": "def log(step, loss):\n    print(step, loss.item())\n"
    + train(
        "for step, x in enumerate(batches):"
        + indent(STEP, "    ")
        + "    if step % 10 == 0:\n        xm.add_step_closure(log, args=(step, loss))\n"
    ),
    "of a method that is called once in many steps": "class Trainer:\n    def log(self, loss):\n        print(loss.item())\n"
    + indent(
        train(
            "for step, x in enumerate(batches):"
            + indent(STEP, "    ")
            + "    if step % self.every == 0:\n        self.log(loss)\n",
            "self, model, optimizer, batches",
        ),
        "    ",
    ),
    "what a function called once in many steps calls": "def shown(loss):\n    return loss.item()\ndef log(loss):\n    print(shown(loss))\n"
    + train(
        "for step, x in enumerate(batches):" + indent(STEP, "    ") + "    if step % 100 == 0:\n        log(loss)\n"
    ),
}


@pytest.mark.parametrize("name", LOUD)
def test_what_a_step_reads_is_found(loud: Loud, name: str) -> None:
    found = loud(SETUP + LOUD[name], "torch_xla")
    assert len(found) == 1
    assert found[0].startswith("XLA30")


@pytest.mark.parametrize("name", SILENT)
def test_what_is_read_seldom_is_left_alone(loud: Loud, name: str) -> None:
    assert loud(SETUP + SILENT[name], "torch_xla") == []


@pytest.mark.parametrize("name", [name for name in LOUD if "closure" not in name])
def test_before_it_is_ported_the_same_is_found(loud: Loud, name: str) -> None:
    found = beside_devices(loud(as_published("import argparse\n" + SETUP + LOUD[name]), "torch_xla"))
    assert len(found) == 1
    assert found[0].startswith("XLA30")


@pytest.mark.parametrize("name", [name for name in SILENT if "closure" not in name])
def test_before_it_is_ported_the_same_is_left_alone(loud: Loud, name: str) -> None:
    assert beside_devices(loud(as_published("import argparse\n" + SETUP + SILENT[name]), "torch_xla")) == []


@pytest.mark.parametrize("name", LOUD)
def test_where_only_what_is_captured_is_compiled_loops_are_left_alone(loud: Loud, name: str) -> None:
    assert loud(as_published("import argparse\n" + SETUP + LOUD[name]), "torch_compile") == []


def test_what_is_read_once_in_many_steps_is_told_on_request(findings: Findings) -> None:
    code = SETUP + SILENT["what a function called once in many steps calls"]
    assert findings(code, "torch_xla") == [("XLA301", "info")]


def test_a_function_that_is_called_at_each_step_too_is_a_hazard(loud: Loud) -> None:
    both = SILENT["what a function called once in many steps calls"] + "        other = shown(loss)\n"
    assert loud(SETUP + both, "torch_xla") == ["XLA301"]


GROWING = dedent(
    """
    seen = torch.zeros(0, 2, device=device)
    for epoch in range(3):
        for x in batches:
            y = model(x.to(device))
            y.sum().backward()
            optimizer.step()
            torch_xla.sync()
            seen = torch.cat([seen, y])
    """
)


@pytest.mark.parametrize("text", [GROWING, train(GROWING)], ids=["of a script", "of a function"])
def test_what_grows_with_each_step_is_found(loud: Loud, text: str) -> None:
    assert loud(SETUP + text, "torch_xla") == ["XLA406"]


@pytest.mark.parametrize(
    "text",
    [
        GROWING.replace("for x in batches", "for x, seen in batches"),
        GROWING.replace("y = model", "first, seen = x\n        y = model"),
        GROWING.replace("y = model", "(first, seen), other = map(list, x)\n        y = model"),
        GROWING.replace("y = model", "first, seen = 1, torch.zeros(0, 2)\n        y = model"),
    ],
    ids=["by the loop", "by unpacking", "by nested unpacking", "one by one"],
)
def test_what_each_step_gets_anew_does_not_grow(loud: Loud, text: str) -> None:
    assert loud(SETUP + text, "torch_xla") == []


GENERATING = """
def generate(logits_of, ids: torch.Tensor, end: int, most: int):
    seen = ids
    for _ in range(most):
        logits = logits_of(seen)
        token = torch.softmax(logits[:, -1], -1).argmax(-1, keepdim=True)
        {read}
        seen = torch.cat([seen, token], dim=1)
    return seen
"""


@pytest.mark.parametrize(
    ("read", "codes"),
    [
        ("if token.item() == end:\n            break", ["XLA301", "XLA406"]),
        ("if (token == end).all():\n            break", ["XLA101", "XLA406"]),
        ("token.tolist()", ["XLA302", "XLA406"]),
    ],
)
def test_what_grows_between_two_readings_is_found(loud: Loud, read: str, codes: list[str]) -> None:
    """torch_xla 2.9.0 compiles the first in each of 8 turns."""
    assert sorted(loud(SETUP + GENERATING.format(read=read), "torch_xla")) == codes


@pytest.mark.parametrize(
    ("read", "codes"),
    [
        ("pass", []),  # one graph
        ("seen = seen[:, -8:]\n        token.tolist()", ["XLA302"]),
        ("token = token.cpu()\n        seen = seen.cpu()", ["XLA302", "XLA302"]),
        ("kept = torch.cat([token, logits])\n        kept.tolist()\n        seen = kept", ["XLA302"]),
    ],
)
def test_what_does_not_grow_between_two_readings(loud: Loud, read: str, codes: list[str]) -> None:
    assert loud(SETUP + GENERATING.format(read=read), "torch_xla") == codes


def test_the_chain_leads_through_the_nested_function() -> None:
    text = SETUP + LOUD["by a nested function"]
    (finding,) = check_text(text, "train.py", Settings(target="torch_xla")).findings
    assert [step.name for step in finding.trace] == ["main", "main.train"]


UPDATE = """
import torch
from torch import nn


class Agent:
    def __init__(self):
        self.policy = nn.Linear(4, 2)
        self.optimizer = torch.optim.Adam(self.policy.parameters())

    def update(self, states, returns):
        loss = (self.policy(states) * returns).mean()
        {body}
        print(loss.item())
"""
TAKEN = {
    "a method of a plain class": "self.optimizer.zero_grad()\n        loss.backward()\n        self.optimizer.step()",
    "under a condition": "if self.policy.training:\n            loss.backward()\n            self.optimizer.step()",
    "with a scaler": "scaler.scale(loss).backward()\n        scaler.step(self.optimizer)",
}
NOT_TAKEN = {
    "a schedule's step": "self.scheduler.step()",
    "an environment's step": "self.env.step(loss)",
    "gradients alone": "loss.backward()",
    "a step alone": "self.optimizer.step()",
    "a function that is only named": "self.hooks = [loss.backward, self.optimizer.step]",
}


@pytest.mark.parametrize("body", TAKEN.values(), ids=TAKEN)
def test_a_function_that_takes_a_step_is_called_for_each(body: str) -> None:
    report = check_text(UPDATE.format(body=body), "agent.py", Settings(target="torch_xla"))
    assert [(one.code, one.frequency) for one in report.findings] == [("XLA301", "step")]
    assert report.findings[0].trace[0].why == "takes a training step"


@pytest.mark.parametrize("body", NOT_TAKEN.values(), ids=NOT_TAKEN)
def test_one_that_takes_none_is_left_alone(body: str) -> None:
    code = (
        UPDATE.format(body=body).replace("(self, states, returns)", "(self)").replace("states) * returns", "self.seen)")
    )
    report = check_text(code, "agent.py", Settings(target="torch_xla"))
    assert not [one for one in report.findings if one.trace and one.trace[0].why == "takes a training step"]


@pytest.mark.parametrize("body", TAKEN.values(), ids=TAKEN)
def test_a_step_that_only_dynamo_captures_is_left_alone(body: str, loud: Loud) -> None:
    assert loud(UPDATE.format(body=body), "torch_compile") == []
