"""What `fullgraph=True` makes of hazards, by the release of PyTorch."""

from __future__ import annotations

from typing import cast

import pytest

from xlalint.config.releases import TargetVersion
from xlalint.config.settings import Settings, Target
from xlalint.project import check_text

CODE = """
import time
import torch

{decorator}
def step(x: torch.Tensor, n: torch.Tensor):
    {body}
    return x
{after}
"""
WHOLE = "@torch.compile(fullgraph=True)"

CAPTURED = {
    "a number": ("x = x * n.sum().item()", "XLA301"),
    "an integer": ("x = x * int(n.sum())", "XLA301"),
    "a mask": ("x = x[x > 0]", "XLA201"),
    "positions": ("x = torch.nonzero(x)", "XLA202"),
    "distinct values": ("x = torch.unique(x)", "XLA203"),
    "selected values": ("x = torch.masked_select(x, x > 0)", "XLA204"),
}
RAISES = {
    "a branch": ("if x.sum() > 0:\n        x = x * 2", "XLA101"),
    "a clock": ("x = x * time.time()", "XLA701"),
}


def found_in(text: str, release: str = "torch2.14", target: str = "torch_compile") -> dict[str, str]:
    """The messages of findings by code."""
    settings = Settings(target=cast("Target", target), target_version=cast("TargetVersion", release))
    report = check_text(text, "step.py", settings)
    assert not report.failures
    return {one.code: one.message for one in report.findings}


def made(body: str, decorator: str = "", after: str = "") -> str:
    return CODE.format(decorator=decorator, body=body, after=after)


@pytest.mark.parametrize(("body", "code"), CAPTURED.values(), ids=CAPTURED)
def test_quiet_where_it_is_captured(body: str, code: str) -> None:
    assert code not in found_in(made(body, WHOLE))


@pytest.mark.parametrize("decorator", ["@torch.compile", "@torch.compile()", "@torch.compile(fullgraph=False)"])
@pytest.mark.parametrize(("body", "code"), CAPTURED.values(), ids=CAPTURED)
def test_found_with_breaks_allowed(body: str, code: str, decorator: str) -> None:
    assert code in found_in(made(body, decorator))


@pytest.mark.parametrize(("body", "code"), CAPTURED.values(), ids=CAPTURED)
def test_found_before_it_was_captured(body: str, code: str) -> None:
    assert code in found_in(made(body, WHOLE), "torch2.9")


@pytest.mark.parametrize("target", ["torch_xla", "torch_tpu"])
def test_other_targets_mind(target: str) -> None:
    body, code = CAPTURED["a mask"]
    assert code in found_in(made(body, WHOLE), target=target)


@pytest.mark.parametrize(("body", "code"), RAISES.values(), ids=RAISES)
def test_raises(body: str, code: str) -> None:
    for release in ("torch2.9", "torch2.14"):
        assert "raises an exception" in found_in(made(body, WHOLE), release)[code]
        assert "raises an exception" not in found_in(made(body, "@torch.compile"), release)[code]


def test_by_a_call() -> None:
    assert not found_in(made("x = x[x > 0]", after="compiled = torch.compile(step, fullgraph=True)"))
    assert found_in(made("x = x[x > 0]", after="compiled = torch.compile(step)"))


TPU_RAISES = {
    **{name: one for name, one in CAPTURED.items() if one[1] != "XLA301"},
    "a branch": RAISES["a branch"],
    "a size": ("x = x[: n.max()]", "XLA206"),
    "counts": ("x = torch.bincount(n)", "XLA207"),
}


@pytest.mark.parametrize(("body", "code"), TPU_RAISES.values(), ids=TPU_RAISES)
def test_tpu_takes_no_such_graph(body: str, code: str) -> None:
    found = found_in(made(body, WHOLE), target="torch_tpu")
    assert "TorchTPU's compiler raises an exception" in found[code]


@pytest.mark.parametrize("decorator", ["@torch.compile", "@torch.compile(fullgraph=False)"])
@pytest.mark.parametrize(("body", "code"), TPU_RAISES.values(), ids=TPU_RAISES)
def test_tpu_breaks_the_graph(body: str, code: str, decorator: str) -> None:
    assert "raises an exception" not in found_in(made(body, decorator), target="torch_tpu")[code]


def test_tpu_of_what_runs_at_once_too() -> None:
    """Of a function that is compiled whole and called by itself, what raises is told."""
    text = made("x = x[x > 0]", after="step(torch.ones(2), torch.ones(2))\nwhole = torch.compile(step, fullgraph=True)")
    assert "raises an exception" in found_in(text, target="torch_tpu")["XLA201"]


REFUSED = {
    "a copy": ("y = x.cpu()", "XLA302"),
    "by device": ('y = x.to("cpu")', "XLA302"),
    "added through a mask": ("x[x > 0] += 1", "XLA205"),
    "an operator's predicate": ("x = torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t - 1, (x,))", "XLA101"),
    "a tensor made in host memory": ("x = x + torch.arange(8).to(x.device)", "XLA605"),
    "by name": ("places = torch.zeros(8)\n    x = x + places.to(x.device)", "XLA605"),
    "positions made in host memory": ("x = x[torch.arange(4)]", "XLA605"),
    "kept elsewhere": ("x = x + TABLE.type_as(x)", "XLA605"),
}
COMPILED = {
    "a number through a mask": ("x[x > 0] = 0.0", "XLA205"),
    "made on the device": ("x = x + torch.arange(8, device=x.device)", "XLA605"),
    "a constant of the graph": ("x = x + torch.tensor([1.0, 2.0]).to(x.device)", "XLA605"),
    "by name": ("places = torch.as_tensor([0, 2])\n    x = x[places]", "XLA605"),
    "a number made in host memory": ("x = x + torch.zeros(()).to(x.device)", "XLA605"),
    "another dtype": ("x = x + torch.ones(8).to(torch.float16).sum()", "XLA605"),
    "made like another": ("x = x + torch.zeros_like(x).to(x.device)", "XLA605"),
    "positions on the device": ("x = x[n]", "XLA605"),
}
_TABLE = "\nTABLE = torch.ones(8)\n"


@pytest.mark.parametrize("decorator", ["@torch.compile", WHOLE])
@pytest.mark.parametrize(("body", "code"), REFUSED.values(), ids=REFUSED)
def test_tpu_refuses(body: str, code: str, decorator: str) -> None:
    message = found_in(made(body, decorator, after=_TABLE), target="torch_tpu")[code]
    assert "TorchTPU's compiler" in message


@pytest.mark.parametrize(("body", "code"), REFUSED.values(), ids=REFUSED)
def test_tpu_runs_by_itself(body: str, code: str) -> None:
    text = made(body, after=_TABLE + "\nstep(torch.ones(8).tpu(), torch.ones(8).tpu())")
    assert "TorchTPU's compiler" not in found_in(text, target="torch_tpu").get(code, "")
    for target in ("torch_compile", "torch_xla"):
        assert "TorchTPU" not in found_in(made(body, "@torch.compile", after=_TABLE), target=target).get(code, "")


@pytest.mark.parametrize(("body", "code"), COMPILED.values(), ids=COMPILED)
def test_tpu_compiles(body: str, code: str) -> None:
    assert code not in found_in(made(body, "@torch.compile", after=_TABLE), target="torch_tpu")


_MODULE = """
import torch
from torch import nn
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.scale = torch.ones(8)
        self.register_buffer("shift", torch.ones(8))

    {decorator}
    def forward(self, x):
        return self.layer(x) * self.{name}.to(x.device)


def train(data):
    net = Net().to("tpu")
    step = {step}
    for x in DataLoader(data, drop_last=True):
        step(x.to("tpu")).sum().backward()
"""


@pytest.mark.parametrize(
    ("decorator", "step", "name", "told"),
    [
        ("", "torch.compile(net)", "scale", True),
        ("", "torch.compile(net, fullgraph=True)", "scale", True),
        ("@torch.compile", "net", "scale", True),
        ("", "net", "scale", False),
        ("", "torch.compile(net)", "shift", False),
        ("@torch.compile", "net", "shift", False),
    ],
)
def test_tpu_of_modules(decorator: str, step: str, name: str, told: bool) -> None:
    text = _MODULE.format(decorator=decorator, step=step, name=name)
    assert ("XLA605" in found_in(text, target="torch_tpu")) is told


@pytest.mark.parametrize(("given", "told"), [("x, device", True), ("x.to(device), device", False)])
def test_tpu_of_batches(given: str, told: bool) -> None:
    text = f"""
import torch
from torch import nn
from torch.utils.data import DataLoader


@torch.compile
def step(net, x, device):
    return net(x.to(device))


def train(data):
    device = torch.device("tpu")
    net = nn.Linear(8, 8).to(device)
    loader = DataLoader(data, drop_last=True)
    for x, y in loader:
        step(net, {given}).sum().backward()
"""
    assert ("XLA605" in found_in(text, target="torch_tpu")) is told
