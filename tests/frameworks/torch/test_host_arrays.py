"""Arrays of NumPy's, and assertions, in code that torch.compile traces. Each was run on torch 2.14.1 and 2.9.1."""

from __future__ import annotations

import pytest

from tests.conftest import Loud
from tests.frameworks.torch.test_draws import START

MORE = START.replace("class Block", "SIZES = np.array([2, 8])\nLIMITS = np.array([0.5, 2.0])\n\nclass Block")

FOUND = {
    "a branch": ("if (LIMITS > 1.0).any():\n            x = x + 1", ["XLA101"]),
    "a loop": ("while (SIZES > 9).any():\n            x = x + 1", ["XLA102"]),
    "both": ("both = (LIMITS > 0.0).all() and self.training\n        x = x * both", ["XLA104"]),
    "a ternary": ("x = x * (2.0 if (LIMITS > 1.0).any() else 3.0)", ["XLA105"]),
    "any of its elements": ("if any(LIMITS > 1.0):\n            x = x + 1", ["XLA106"]),
    "a list of its numbers": ("a, b = SIZES.tolist()\n        x = x[:a] * b", ["XLA301"]),
    "positions": ("x = x * np.argwhere(SIZES > 2).shape[0]", ["XLA202"]),
    "positions of what may be one": (
        "either = SIZES if self.training else None\n        x = x * np.argwhere(either).shape[0]",
        ["XLA202"],
    ),
    "distinct values": ("x = x * np.unique(SIZES).shape[0]", ["XLA203"]),
    "a computed message": ('assert (x > 0).all(), f"{x.shape}"', ["XLA103"]),
    "a negated assertion": ("assert not (x < 0).any()", ["XLA103"]),
}
OF_TENSORS = ("x = x * x.sum().detach().numpy().item()", "x = x * float(x.sum().detach().numpy())")
QUIET = {
    "its length": "x = x * len(SIZES)",
    "its sizes": "x = x * SIZES.shape[0] * SIZES.size",
    "a test of its length": "if len(SIZES) > 1:\n            x = x + 1",
    "a test of its rank": "if LIMITS.ndim == 1:\n            x = x + 1",
    "its sum as a factor": "x = x * torch.from_numpy(LIMITS).sum()",
    "positions in what is not known": "x = x * np.argwhere(self.places).shape[0]",
    "distinct sizes": "x = x * len(np.unique([x.shape[0], 2]))",
    "arithmetic": "x = x * torch.from_numpy(LIMITS * 2.0 + 1.0)[0]",
    "a choice by three arguments": "x = x + torch.from_numpy(np.where(LIMITS > 1.0, LIMITS, 0.0))[0]",
    "a number of a number": "x = x[: int(np.ceil(x.shape[0] / 3))]",
    "the root of a number": "x = x * int(np.sqrt(4.0))",
    "the root of a number, asked for": "x = x * np.sqrt(x.shape[0]).item()",
    "a number type": "x = x * float(np.float32(2.0))",
    "a test of None": "if LIMITS is not None:\n            x = x + 1",
    "a test of its type": "if isinstance(LIMITS, np.ndarray):\n            x = x + 1",
    "an assertion of its length": "assert len(SIZES) == 2",
}


@pytest.mark.parametrize(("body", "codes"), FOUND.values(), ids=FOUND)
def test_found(body: str, codes: list[str], loud: Loud) -> None:
    assert loud(MORE.replace("{body}", body), "torch_compile") == codes


@pytest.mark.parametrize("body", OF_TENSORS)
def test_found_of_a_tensor(body: str, loud: Loud) -> None:
    assert loud(MORE.replace("{body}", body), "torch_compile") == ["XLA301"]


@pytest.mark.parametrize("body", QUIET.values(), ids=QUIET)
def test_quiet(body: str, loud: Loud) -> None:
    assert loud(MORE.replace("{body}", body), "torch_compile") == []


@pytest.mark.parametrize("body", [one for one, codes in FOUND.values() if codes != ["XLA103"]], ids=str)
def test_only_dynamo_makes_them_tensors(body: str, loud: Loud) -> None:
    assert loud(MORE.replace("{body}", body), "torch_xla") == []
