"""XLA305 at calls into installed libraries: their code surely reads the value of a tensor that they are handed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from xlalint.config import Settings
from xlalint.project import check_text

LIBRARY = """
import torch


def shifted(x: torch.Tensor):
    return x + 1


def checked(x: torch.Tensor):
    if x.isnan().any():
        raise ValueError
    return x


def outer(x: torch.Tensor):
    return checked(x) + 1


def sometimes(x: torch.Tensor, options):
    if options.strict:
        checked(x)
    return x


def size(count):
    return count.item()


def called_back(x: torch.Tensor, function):
    return function(x)


def printed(x: torch.Tensor):
    print(x.shape)
    return x
"""
SILENT = {
    "no read": "return lib.shifted(x)",
    "a read that another branch does without": "return lib.sometimes(x, self.options)",
    "no tensor given": "return x + lib.size(self.count)",
    "a tensor of the host": "return x + lib.checked(torch.ones(3, device='cpu')).numpy().sum()",
    "the shape": "return lib.printed(x)",
    "no call": "return lib.checked",
}
FOUND = {
    "read in the function": ("return lib.checked(x)", "`lib.checked` (lib/__init__.py:10)"),
    "read further in": ("return lib.outer(x)", "`lib.checked` (lib/__init__.py:10)"),
    "read by a method": ("return lib.size(x.sum())", "`lib.size` (lib/__init__.py:26)"),
}


@pytest.fixture
def messages(tmp_path: Path) -> Callable[[str], list[str]]:
    """Return a function that gives the messages of XLA305 for the body of a `forward`."""
    packages = tmp_path / "env/lib/python3.11/site-packages/lib"
    packages.mkdir(parents=True)
    (packages / "__init__.py").write_text(LIBRARY, encoding="utf-8")
    settings = Settings(root=str(tmp_path), python=str(tmp_path / "env"))

    def check(body: str) -> list[str]:
        head = "import lib\nimport torch\nfrom torch import nn\n\n\nclass Model(nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        report = check_text(f"{head}        {body}\n", str(tmp_path / "model.py"), settings)
        assert not report.failures
        return [finding.message for finding in report.findings if finding.code == "XLA305"]

    return check


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_silent(messages: Callable[[str], list[str]], body: str) -> None:
    assert messages(body) == []


@pytest.mark.parametrize(("body", "inside"), FOUND.values(), ids=FOUND)
def test_found(messages: Callable[[str], list[str]], body: str, inside: str) -> None:
    (message,) = messages(body)
    assert inside in message
