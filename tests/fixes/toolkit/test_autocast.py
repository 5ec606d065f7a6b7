"""What autocast does to dtypes, on which a choice depends."""

from __future__ import annotations

import pytest

from tests.fixes.fixing import outcome

PROD = "if t.any():\n    s = x.prod()\nelse:\n    s = x.amax()\nreturn s"
EXP = "if t.any():\n    s = x.exp()\nelse:\n    s = x\nreturn s"
SQUARE = "if t.any():\n    s = x.abs() ** 2\nelse:\n    s = x\nreturn s"
TWICE = "if t.any():\n    s = -x\nelse:\n    s = x\nreturn s"
MEAN = "s = x[t].mean()\nreturn s"
STD = "s = x[t].std()\nreturn s"


def program(code: str, context: str = "", decorator: str = "@torch.no_grad()") -> str:
    """A function in which `x` is float; under a context, all but the last line."""
    *lines, last = code.split("\n")
    if context:
        lines = [f"with {context}:", *(f"    {line}" for line in lines)]
    body = "\n    ".join([*lines, last])
    return (
        "import torch\nfrom torch.amp import autocast, custom_fwd\nfrom torch import nn\n\n\nclass Model(nn.Module):\n"
        f"    {decorator}\n    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:\n"
        f"        x = torch.relu(x).float() * 2.0\n        t = torch.relu(t.float()).squeeze() > 0\n        "
        + body.replace("\n", "\n    ")
        + "\n"
    )


UNSURE = {
    "with": ('torch.autocast("cuda", dtype=torch.bfloat16)', "@torch.no_grad()"),
    "an older name": ("torch.cuda.amp.autocast()", "@torch.no_grad()"),
    "a name that was imported": ('autocast("xla")', "@torch.no_grad()"),
    "that of an accelerator": ("self.accelerator.autocast()", "@torch.no_grad()"),
    "next to another": ('torch.no_grad(), autocast("cuda")', "@torch.no_grad()"),
    "it may be on": ('autocast("cuda", enabled=self.training)', "@torch.no_grad()"),
    "a decorator": ("", '@torch.no_grad()\n    @torch.autocast("cuda")'),
    "a function's forward": ("", '@torch.no_grad()\n    @custom_fwd(device_type="cuda")'),
}

SURE = {
    "none": ("", "@torch.no_grad()"),
    "another context": ("torch.no_grad()", "@torch.no_grad()"),
    "off": ('autocast("cuda", enabled=False)', '@torch.no_grad()\n    @torch.autocast("cuda")'),
}


@pytest.mark.parametrize("code", [EXP, SQUARE, PROD], ids=["exp", "**", "prod"])
@pytest.mark.parametrize(("context", "decorator"), UNSURE.values(), ids=UNSURE)
def test_the_dtype_is_not_sure(code: str, context: str, decorator: str) -> None:
    made = outcome(program(code, context, decorator), "XLA101")
    assert made.applicability == "unsafe"
    assert "the same" in made.message
    assert "dtype" in made.message


@pytest.mark.parametrize("code", [EXP, SQUARE, PROD], ids=["exp", "**", "prod"])
@pytest.mark.parametrize(("context", "decorator"), SURE.values(), ids=SURE)
def test_the_dtype_is_sure(code: str, context: str, decorator: str) -> None:
    assert "dtype" not in outcome(program(code, context, decorator), "XLA101").message


@pytest.mark.parametrize(("context", "decorator"), UNSURE.values(), ids=UNSURE)
def test_what_keeps_its_dtype(context: str, decorator: str) -> None:
    assert outcome(program(TWICE, context, decorator), "XLA101").applicability == "safe"


def test_behind_the_region() -> None:
    code = EXP.replace("if t", 'with autocast("cuda"):\n    x = x + 1\nif t')
    assert "dtype" not in outcome(program(code), "XLA101").message


@pytest.mark.parametrize("code", [MEAN, STD], ids=["mean", "std"])
@pytest.mark.parametrize(("context", "told"), [('autocast("cuda")', True), ("torch.no_grad()", False)])
def test_what_becomes_a_sum(code: str, context: str, told: bool) -> None:
    text = program(code, context).replace(".squeeze() > 0", " > 0").replace("x[t]", "x[x > 0]")
    made = outcome(text, "XLA201")
    assert made.applicability == "unsafe"
    assert ("autocast leaves the dtype of a sum" in made.message) is told
