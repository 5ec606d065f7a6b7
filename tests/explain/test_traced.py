"""Why code is said to be traced, or not."""

from __future__ import annotations

import pytest

from tests.explain.conftest import Explain

HEAD = "import torch\nfrom torch import nn\n"
SCRIPT = "import torch_xla\nfor x in [torch.ones(2)]:\n    torch_xla.sync()\n"
MODEL = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = 1

    def forward(self, x: torch.Tensor):
        return self.helper(x)

    def helper(self, x):
        return x.sum()
"""

# name: code, whether it is traced, how sure that is, a part of the reason
CASES: dict[str, tuple[str, bool, str | None, str]] = {
    "module's forward": (
        "class M(nn.Module):\n    def forward(self, x):\n        return x  # <-",
        True,
        "certain",
        "`M.forward` is a root: Module.forward",
    ),
    "called by forward": (MODEL.replace("x.sum()", "x.sum()  # <-"), True, "certain", "leads here in 1 call"),
    "decorated": ("@torch.compile\ndef f(x):\n    return x  # <-", True, "certain", "decorated with `torch.compile`"),
    "takes tensors": ("def f(x: torch.Tensor):\n    return x  # <-", True, "likely", "takes tensors"),
    "constructor": (MODEL.replace("self.a = 1", "self.a = 1  # <-"), False, None, "constructors run before"),
    "module level": ("LIMIT = 3  # <-", False, None, "module level runs once"),
    "a script's loop": (f"{SCRIPT}    print(x)  # <-", True, "likely", "`<module>` is a root: steps an XLA device"),
    "after a script's loop": (f"{SCRIPT}print(x)  # <-", False, None, "module level runs once"),
    "a loop that steps nothing": ("for n in range(3):\n    print(n)  # <-", False, None, "steps an XLA device"),
    "takes no tensors": (
        "def f(name: str):\n    return name  # <-",
        False,
        None,
        "nothing shows that it takes tensors",
    ),
    "opens files": (
        "def f(x: torch.Tensor, path):\n    open(path)\n    return x  # <-",
        False,
        None,
        "it calls `open`",
    ),
    "a script": (
        "import argparse\n\n\ndef f(x):\n    return x.sum()  # <-",
        False,
        None,
        "its file imports `argparse`",
    ),
    "a dataset": (
        "from torch.utils.data import Dataset\n\n\n"
        "class D(Dataset):\n    def __getitem__(self, i):\n        return i  # <-",
        False,
        None,
        "dataset class",
    ),
    "dead branch": (
        "def f(x: torch.Tensor):\n    if x is None:\n        y = 1  # <-\n    return x",
        False,
        None,
        "dead branch: `x is None` (line 4) is always False here",
    ),
    "after a return": (
        "def f(x: torch.Tensor):\n    if x is not None:\n        return x\n    return -x  # <-",
        False,
        None,
        "never reached: control leaves at line 4",
    ),
    "uncalled inner function": (
        "def f(x: torch.Tensor):\n    def g(y):\n        return y  # <-\n\n    return x",
        False,
        None,
        "neither calls it",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_traced(name: str, tell: Explain) -> None:
    code, traced, confidence, reason = CASES[name]
    told = tell(HEAD + code).traced
    assert (told.traced, told.confidence) == (traced, confidence), told.reason
    assert reason in told.reason


def test_without_a_framework_nothing_is_traced(tell: Explain) -> None:
    told = tell("def f(x):\n    return x.sum()  # <-").traced
    assert not told.traced
    assert "imports neither" in told.reason


def test_the_chain_leads_from_the_root(tell: Explain) -> None:
    told = tell(HEAD + MODEL.replace("x.sum()", "x.sum()  # <-")).traced
    assert [step.name for step in told.trace] == ["M.forward", "M.helper"]


def test_roots_of_the_configuration(tell: Explain) -> None:
    code = HEAD + "def f(x):\n    return x  # <-"
    assert not tell(code).traced.traced
    told = tell(code, roots=("model.f",)).traced
    assert told.traced
    assert "named by `roots`" in told.reason
