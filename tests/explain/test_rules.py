"""What is said to have become of a rule at a line: it fired, or which fact silenced it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.explain.conftest import Explain

IF = "import torch\n\n\ndef f(x: torch.Tensor):\n    if x.sum() > 0:  # <-\n        return x\n    return -x\n"

# name: code, settings, (code, status, a part of the reason)
CASES: dict[str, tuple[str, dict[str, Any], tuple[str, str, str]]] = {
    "fired": (IF, {}, ("XLA101", "fired", "")),
    "xlalint: ignore": (
        IF.replace("# <-", "# <- # xlalint: ignore[XLA101]"),
        {},
        ("XLA101", "suppressed", "`# xlalint: ignore[XLA101]` on line 5"),
    ),
    "noqa": (IF.replace("# <-", "# noqa: XLA101 # <-"), {}, ("XLA101", "suppressed", "on line 5")),
    "ignore-file": ("# xlalint: ignore-file\n" + IF, {}, ("XLA101", "suppressed", "on line 1")),
    "not selected": (IF, {"select": ("XLA2",)}, ("XLA101", "not-selected", "`select`")),
    "ignored": (IF, {"ignore": ("XLA101",)}, ("XLA101", "not-selected", "`select`")),
    "per-file-ignores": (
        IF,
        {"per_file_ignores": (("model.py", ("XLA1",)),)},
        ("XLA101", "ignored-in-file", "`per-file-ignores`"),
    ),
    "min-confidence": (IF, {"min_confidence": "certain"}, ("XLA101", "low-confidence", "its confidence is likely")),
    "untraced": (
        IF.replace("f(x: torch.Tensor):", "f(x: torch.Tensor, p):\n    open(p)"),
        {},
        ("XLA101", "untraced", "not traced"),
    ),
    "in host memory": (
        "import torch\n\n\ndef f(x: torch.Tensor):\n    n = torch.zeros(3)\n    return x, n.sum().item()  # <-\n",
        {},
        ("XLA301", "excused", "host memory"),
    ),
    "autograph": (
        "import tensorflow as tf\n\n\n@tf.function\ndef f(x):\n    y = x + tf.ones(3)\n    if tf.reduce_sum(y) > 0:  # <-\n"
        "        z = y\n    else:\n        z = -y\n    return z\n",
        {},
        ("XLA101", "info-hidden", "`--show-info`"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_became_of_a_rule(name: str, tell: Explain) -> None:
    code, settings, (rule, status, reason) = CASES[name]
    said = tell(code, **settings)
    found = [verdict for verdict in said.rules if verdict.code == rule]
    assert found, said.questions
    assert found[0].status == status
    assert reason in found[0].reason


def test_information_is_hidden(tell: Explain) -> None:
    code = (
        "import torch\n\n\ndef f(x: torch.Tensor, step: int):\n    if step % 100 == 0:\n        print(x.sum())  # <-\n"
    )
    hidden = tell(code)
    assert [verdict.status for verdict in hidden.rules] == ["info-hidden"]
    assert [verdict.status for verdict in tell(code, show_info=True).rules] == ["fired"]


def test_calls_say_more_than_unknown_arguments(tell: Explain) -> None:
    code = """
    import torch
    from torch import nn

    class M(nn.Module):
        def forward(self, x: torch.Tensor):
            return helper(None, x)

    def helper(mask: torch.Tensor, x: torch.Tensor):
        if mask:  # <-
            return x
        return -x
    """
    said = tell(code)
    assert "fired" not in {verdict.status for verdict in said.rules}


# name: code, silence, a part of the answer
SILENT = {
    "shape": ("    if x.shape[0] > 1:  # <-\n        pass", "host-value", "host value bool"),
    "identity": ("    if x is None:  # <-\n        pass", "host-value", "compares identities"),
    "unknown": ("    if other:  # <-\n        pass", "unknown-value", "nothing is reported of what is not known"),
    "unknown call": ("    if other.thing(3):  # <-\n        pass", "unknown-value", "unknown"),
    "index": ("    y = x[n]  # <-", "host-value", "host value int"),
    "cast": ("    y = int(n)  # <-", "host-value", "host value int"),
}


@pytest.mark.parametrize("name", SILENT)
def test_why_nothing_is_reported(name: str, tell: Explain) -> None:
    code, silence, text = SILENT[name]
    said = tell(f"import torch\n\n\ndef f(x: torch.Tensor, other, n: int):\n{code}\n")
    assert not [verdict for verdict in said.rules if verdict.status == "fired"]
    assert (silence, True) in [(question.silence, text in question.text) for question in said.questions], said.questions


def test_a_plain_line_asks_nothing(tell: Explain) -> None:
    said = tell("import torch\n\n\ndef f(x: torch.Tensor):\n    y = x + 1  # <-\n    return y\n")
    assert not said.rules
    assert not said.questions
