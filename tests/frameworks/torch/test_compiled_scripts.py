"""Of a script that names what torch.compile compiles, nothing else is traced."""

from __future__ import annotations

import pytest

from tests.conftest import Loud

READS = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 1)

    def forward(self, x: torch.Tensor):
        return self.layer(x)

def evaluate(model, x: torch.Tensor):
    losses = torch.zeros(4)
    losses[0] = model(x).mean().item()
    return losses

model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
LOOP = """
for step in range(100):
    loss = model(torch.randn(4, 8)).mean()
    loss.backward()
    optimizer.step()
"""
INDENTED = LOOP.replace("\n", "\n    ")
SILENT = {
    "at the top of a script": f"{READS}\nmodel = torch.compile(model)\n{LOOP}",
    "where a flag says so": f"{READS}\nimport sys\nif sys.argv[1:]:\n    model = torch.compile(model)\n{LOOP}",
    "in the function that trains": f"{READS}\ndef main(model):\n    model = torch.compile(model){INDENTED}\n",
}
FOUND = {
    "nothing is compiled": f"{READS}\n{LOOP}",
    "a library that compiles one function": f"{READS}\nstep = torch.compile(Model())\n",
    "patterns": f"import re\n{READS}\nword = re.compile('a')\n{LOOP}",
}


@pytest.mark.parametrize("code", SILENT.values(), ids=list(SILENT))
def test_host_code_of_a_compiled_program_is_silent(code: str, loud: Loud) -> None:
    assert "XLA301" not in loud(code, "torch_compile")


@pytest.mark.parametrize("code", FOUND.values(), ids=list(FOUND))
def test_what_anyone_may_compile_is_judged(code: str, loud: Loud) -> None:
    assert "XLA301" in loud(code, "torch_compile")


def test_what_the_compiled_callable_reaches_counts(loud: Loud) -> None:
    code = SILENT["at the top of a script"].replace(
        "return self.layer(x)", "return self.layer(x) if x.sum() > 0 else x"
    )
    assert "XLA105" in loud(code, "torch_compile")
