"""Fixing texts in memory."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import NamedTuple

from xlalint.config import Settings
from xlalint.diagnostics.finding import Fix
from xlalint.project import Report, check_text
from xlalint.project.fixing import Fixed, fix
from xlalint.project.rewriting import Memory
from xlalint.source.reading import decode

PATH = "/project/module.py"


def fix_text(text: str, settings: Settings, *, unsafe: bool) -> tuple[str, Fixed]:
    """Fix a text by some settings: what it becomes, and what the rounds say."""

    def check(contents: Mapping[str, bytes], memory: Memory) -> Report:
        given = contents.get(PATH)
        return check_text(text if given is None else decode(given), PATH, settings, fixes=memory)

    done = fix(check, lambda _: text.encode(), unsafe=unsafe)
    return decode(done.files[PATH].after) if done.files else text, done


def fixed(text: str, *, unsafe: bool = True, target: str = "torch_xla") -> tuple[str, Fixed]:
    """A text with its fixes, and what the rounds say."""
    settings = Settings(target=target, python=None, show_info=True)
    return fix_text(text, settings, unsafe=unsafe)


class FixResult(NamedTuple):
    """What becomes of the findings of one code in a text. `fix` is that of the first."""

    text: str
    fix: Fix | None
    reason: str

    @property
    def applicability(self) -> str:
        """ "safe" or "unsafe"; "" without a fix."""
        return self.fix.applicability if self.fix is not None else ""

    @property
    def message(self) -> str:
        """What the fix does and assumes."""
        return self.fix.message if self.fix is not None else ""


def outcome(text: str, code: str, *, target: str = "torch_xla") -> FixResult:
    """What the first finding of a code is offered, and the text when all of that code are fixed."""
    settings = Settings(target=target, python=None, select=(code,), show_info=True)
    report = check_text(text, PATH, settings, fixes=Memory())
    assert not report.failures
    found = [finding for finding in report.findings if finding.code == code]
    assert found, f"nothing found in\n{text}"
    after, done = fix_text(text, settings, unsafe=True)
    assert not done.troubles
    return FixResult(after, found[0].fix, found[0].no_fix)


def expression(code: str) -> str:
    """A module whose `forward` gives what an expression gives; `x` is a tensor, `t` another."""
    return (
        "import torch\nfrom torch import nn\n\n\n"
        "class Model(nn.Module):\n"
        "    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:\n"
        f"        return {code}\n"
    )


def body(code: str) -> str:
    """A module whose `forward` consists of some lines; `x`, `t` and `n` are tensors. One line is as long as code may get."""
    lines = code.replace("\n", "\n        ")
    return (
        "import torch\nfrom torch import nn\n\n\n"
        "class Model(nn.Module):\n"
        "    def forward(self, x: torch.Tensor, t: torch.Tensor, n: torch.Tensor) -> torch.Tensor:\n"
        f'        {lines}\n\n\nLONG = "{"-" * 110}"\n'
    )


def append_indented(head: str, code: str, width: int = 4) -> str:
    """Append lines to the head of a function, indented by some columns."""
    return f"{head}{textwrap.indent(code, ' ' * width)}\n"


def expect_left_alone(made: FixResult, why: str) -> None:
    """Assert that a finding has no fix, and that its reason names the cause."""
    assert made.fix is None, made.text
    assert why in made.reason


def expect_unchanged(text: str, code: str, why: str = "", *, target: str = "torch_xla") -> None:
    """Assert that the findings of a code leave a text as it is, for a reason that names the cause."""
    made = outcome(text, code, target=target)
    assert made.text == text
    assert made.reason
    assert why in made.reason


def expect_fixed(made: FixResult, after: str, applicability: str, *assumed: str) -> None:
    """Assert what the fixes make of a text, how sure they are, and what their message assumes."""
    assert made.text == after
    assert made.applicability == applicability, made.message
    for assumption in assumed:
        assert assumption in made.message


def expect_settled(before: str, after: str, *, unsafe: bool = True, target: str = "torch_xla") -> None:
    """Assert what the rounds make of a text without any trouble, and that further rounds leave the result alone."""
    text, done = fixed(before, unsafe=unsafe, target=target)
    assert text == after
    assert not done.troubles
    assert fixed(text, target=target)[0] == text
